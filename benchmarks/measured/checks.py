"""What Graphi publishes of single ops and of small ops side by side (Sec. 3.2), beside the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from measured.table import machine
from simsched.costs.kernels import Parameters, Team, elementwise_s, gemm_s, parameters

CORES = 64
GEMM, ELEMENTS = (64, 512, 512), 32_768
#: Gain beyond which an op counts as not saturated.
GAIN = 0.10
LEAST_RATIO = 6.0

Seconds = Callable[[Team, Parameters], float]


@dataclass(frozen=True)
class Check:
    """One published statement: what the model says, what was published, whether they agree."""

    what: str
    modelled: str
    published: str
    holds: bool


def checks() -> list[Check]:
    """Return the statements on a 7250 for ops inside a framework."""
    params = parameters("tensorflow-1.9")
    return [
        _saturation("product of 64x512 and 512x512", _gemm_s, 8, params),
        _saturation("product of 32,768 elements", _elementwise_s, 16, params),
        _ratio("product of 64x512 and 512x512", _gemm_s, params),
        _ratio("product of 32,768 elements", _elementwise_s, params),
    ]


def _gemm_s(team: Team, params: Parameters) -> float:
    return gemm_s(*GEMM, team, params=params)


def _elementwise_s(team: Team, params: Parameters) -> float:
    return elementwise_s(ELEMENTS, team, params=params, resident=False)


def _saturation(what: str, seconds: Seconds, threads: int, params: Parameters) -> Check:
    at = {w: seconds(Team(machine("knl-7250"), w), params) for w in (1, 2, 4, 8, 16, 32, CORES)}
    best = min(at.values())
    first = next(w for w in at if at[w] <= best * (1 + GAIN))
    curve = ", ".join(f"{w}: {s * 1e6:.1f}" for w, s in at.items())
    return Check(
        f"{what}, threads at which it saturates",
        f"{first} (us by threads: {curve})",
        str(threads),
        first == threads,
    )


def _ratio(what: str, seconds: Seconds, params: Parameters) -> Check:
    chip = machine("knl-7250")
    one = 1 / seconds(Team(chip, CORES), params)
    rates = {
        CORES // w: CORES // w / seconds(Team(chip, w, executors=CORES // w), params) / one
        for w in (1, 2, 4, 8)
    }
    shown = ", ".join(f"{n}x{CORES // n}: {ratio:.1f}" for n, ratio in rates.items())
    best = max(rates.values())
    return Check(
        f"{what}, FLOP/s of many at once over one on {CORES} cores",
        shown,
        f"{LEAST_RATIO:g} or more",
        best >= LEAST_RATIO,
    )
