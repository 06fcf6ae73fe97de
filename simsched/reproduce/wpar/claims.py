"""What W-Par's figures say in words, and whether the simulation agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from simsched.reproduce.system import Predicted, Verdict

LAYERS = (8, 12)
MINI_BATCHES = (1, 2, 4, 6)
CORES = (1, 2, 4, 8, 16, 24, 32, 48)

FIGURES, SPEEDUP = "Fig. 10, 11", "speed-up over Seq on one core"


def _speedup(predicted: Predicted, layers: int, mini_batches: int, cores: int, system: str = "wpar") -> float:
    return predicted(
        FIGURES, SPEEDUP, cell="lstm", layers=layers, batch=128, input=256, hidden=512, steps=100,
        mini_batches=mini_batches, cores=cores, system=system,
    )  # fmt: skip


def _best(predicted: Predicted, layers: int) -> list[float]:
    """Return the best speed-up of each number of mini-batches over all numbers of cores."""
    return [max(_speedup(predicted, layers, parts, n) for n in CORES) for parts in MINI_BATCHES]


def _grows(predicted: Predicted) -> Verdict:
    rows = [_best(predicted, layers) for layers in LAYERS]
    found = "; ".join(" < ".join(f"{s:.1f}" for s in row) for row in rows)
    return all(row == sorted(row) for row in rows), found


def _six_are_best(predicted: Predicted) -> Verdict:
    rows = [_best(predicted, layers) for layers in LAYERS]
    best = [MINI_BATCHES[row.index(max(row))] for row in rows]
    found = ", ".join(f"{parts} of {layers} layers" for parts, layers in zip(best, LAYERS, strict=True))
    return best == [6, 6], found


def _seq_is_bound(predicted: Predicted) -> Verdict:
    most = [
        max(_speedup(predicted, layers, parts, n, "seq") for layers in LAYERS for n in CORES)
        for parts in MINI_BATCHES
    ]
    found = "; ".join(f"{s:.2f} of {parts}" for s, parts in zip(most, MINI_BATCHES, strict=True))
    return all(s <= parts for s, parts in zip(most, MINI_BATCHES, strict=True)), found


def _over_the_socket(predicted: Predicted) -> list[list[float]]:
    """Return W-Par's speed-ups on 24 and 32 cores, for each number of layers and of mini-batches."""
    return [
        [_speedup(predicted, layers, parts, n) for n in (24, 32)]
        for layers in LAYERS
        for parts in MINI_BATCHES
    ]


def _efficiency_drops(predicted: Predicted) -> Verdict:
    kept = [many / few * 24 / 32 for few, many in _over_the_socket(predicted)]
    return max(kept) < 1, " ".join(f"{share:.0%}" for share in kept) + " of the efficiency left"


def _six_still_gain(predicted: Predicted) -> Verdict:
    rows = _over_the_socket(predicted)[len(MINI_BATCHES) - 1 :: len(MINI_BATCHES)]
    return all(few < many for few, many in rows), "; ".join(f"{few:.1f} < {many:.1f}" for few, many in rows)


def _cores_are_busy_longer(predicted: Predicted) -> Verdict:
    times = [
        predicted(
            "Table 6", "busy time of a core", cell="lstm", batch=128, input=256, hidden=512, steps=100,
            mini_batches=6, cores=48, layers=layers,
        )
        for layers in (2, 8)
    ]  # fmt: skip
    return all(few < many for few, many in pairwise(times)), " < ".join(f"{t:.3g}" for t in times) + " ms"


VERDICTS: Mapping[str, Callable[[Predicted], Verdict]] = {
    "speedup_grows_with_mbs": _grows,
    "best_mbs": _six_are_best,
    "seq_never_uses_more_cores_than_mbs": _seq_is_bound,
    "efficiency_drops_from_24_to_32_cores": _efficiency_drops,
    "mbs6_still_gains_from_24_to_32": _six_still_gain,
    "cores_busy_longer_with_layers": _cores_are_busy_longer,
}
