"""Pairs of ops measured side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import pandas as pd

from simsched.costs.fitting.points import MOST, STRICT
from simsched.errors import CostError


@dataclass(frozen=True)
class Pair:
    """Two ops that ran side by side, each on its own team.

    Parameters
    ----------
    kinds, shapes : pair of str
        Their kinds and shapes.
    widths : pair of int
        Threads of each team.
    slowdowns : pair of float
        Seconds of each next to the other over its seconds alone; the median of the runs.
    runs, dropped : int
        Runs that counted, and that did not.
    spreads : pair of float or None
        Half the interquartile range of the runs' slowdowns; None where unknown.

    Examples
    --------
    >>> from simsched.costs.fitting import Pair
    >>> pair = Pair(("MatMul", "Add"), ("64x64;64x64", "512x512;512x512"), widths=(4, 4), slowdowns=(1.3, 1.1))
    >>> dict(zip(pair.kinds, pair.slowdowns))
    {'MatMul': 1.3, 'Add': 1.1}
    """

    __pydantic_config__ = STRICT

    kinds: tuple[str, str]
    shapes: tuple[str, str]
    widths: tuple[int, int]
    slowdowns: tuple[float, float]
    runs: int = 1
    dropped: int = 0
    spreads: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not all(1 <= w <= MOST for w in self.widths) or not all(0 < s < inf for s in self.slowdowns):
            raise CostError(
                f"{self} has a width below 1 or too large, or a slowdown that is not above zero and finite"
            )
        if not (1 <= self.runs <= MOST and 0 <= self.dropped <= MOST):
            raise CostError(
                f"{self} has {self.runs} runs, {self.dropped} dropped; expected from 1 and 0 to {MOST}"
            )
        if self.spreads is not None and not all(0 <= s < inf for s in self.spreads):
            raise CostError(f"{self} has a spread that is below zero or not finite")


def pairs_frame(pairs: Sequence[Pair]) -> pd.DataFrame:
    """Return two rows per pair, one for each of its ops: the op, its neighbour, and its slowdown.

    Columns: kind, shape, width, beside_kind, beside_shape, beside_width, slowdown, spread, runs, dropped.
    """
    rows = []
    for pair in pairs:
        for own, other in ((0, 1), (1, 0)):
            row: dict[str, object] = {
                f"{said}{name}": getattr(pair, f"{name}s")[place]
                for said, place in (("", own), ("beside_", other))
                for name in ("kind", "shape", "width")
            }
            spread = None if pair.spreads is None else pair.spreads[own]
            counts = {"runs": pair.runs, "dropped": pair.dropped}
            rows.append(row | {"slowdown": pair.slowdowns[own], "spread": spread} | counts)
    described = [f"{said}{name}" for said in ("", "beside_") for name in ("kind", "shape", "width")]
    return pd.DataFrame(rows, columns=[*described, "slowdown", "spread", "runs", "dropped"])
