"""What Graphi's paper states in words, judged on the simulation."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from simsched.reproduce.graphi.runs import RECURRENT

if TYPE_CHECKING:
    import numpy.typing as npt

    from simsched.reproduce.graphi.runs import Runs
    from simsched.reproduce.system import Predicted, Verdict
    from simsched.schedule import Schedule

RATIO = "critical-path time over naive-queue time"
AGAINST = "share of pairs of cells that finish against the diagonals"
#: Layouts of 8 to 16 executors.
FEW = ("8x8", "16x4")
#: A forward op of a cell is called stepT/layerL/...
CELL = re.compile(r"step(\d+)/layer(\d+)/")


def critical_path_first_wins(predicted: Predicted) -> Verdict:
    """All ratios of Table 2 are below 1."""
    quantity = next(q for q in predicted.system.published().quantities if q.name == RATIO)
    found = {
        f"{case['network']} {case['layout']}": predicted("Table 2", RATIO, **case)
        for case, *_ in quantity.asked()
    }
    most = max(found, key=found.__getitem__)
    above = sum(value >= 1 for value in found.values())
    return (
        not above,
        f"{above} of {len(found)} ratios are not below 1; the largest is {most}, {found[most]:.4g}",
    )


def small_gains_more(predicted: Predicted) -> Verdict:
    """The best speed-up falls from small to large."""
    found = {
        network: [
            predicted("Fig. 6", "best speed-up over sequential", network=network, size=size) for size in sizes
        ]
        for network in RECURRENT
        for sizes in [("small", "large")]
    }
    said = "; ".join(f"{network} {small:.3g} and {large:.3g}" for network, (small, large) in found.items())
    return all(small > large for small, large in found.values()), said


def best_between_8_and_16(runs: Runs) -> Verdict:
    """The best layout of both recurrent networks in every size."""
    said, holds = [], True
    for network, size in product(RECURRENT, ("small", "medium", "large")):
        best = runs.best_layout(network, size)
        said.append(f"{network} {size} {best}")
        if best not in FEW:
            holds = False
            few = min(runs.graphi_s(network, size, layout) for layout in FEW)
            said[-1] += (
                f" (the better of {' and '.join(FEW)} takes {few / runs.best_s(network, size) - 1:.1%} longer)"
            )
    return holds, ", ".join(said)


def recovers_the_diagonal(predicted: Predicted) -> Verdict:
    """Under critical path first no cell finishes before one of an earlier diagonal, in no layout."""
    found = _against(predicted, "critical path first")
    return max(found.values()) == 0, _said(found)


def naive_leaves_the_diagonal(predicted: Predicted) -> Verdict:
    """Under the naive queue some do, wherever more ops are ready than executors are idle."""
    found = _against(predicted, "naive queue")
    return max(found.values()) > 0, _said(found)


def _against(predicted: Predicted, engine: str) -> dict[str, float]:
    """Return the rows of Sec. 7.4 of an engine, by layout."""
    quantity = next(q for q in predicted.system.published().quantities if q.name == AGAINST)
    cases = [case for case, *_ in quantity.asked() if case["engine"] == engine]
    return {str(case["layout"]): predicted("Sec. 7.4", AGAINST, **case) for case in cases}


def against_the_diagonal(schedule: Schedule) -> float:
    """Return the share of pairs of forward cells on different diagonals that finish in the wrong order.

    A cell is on diagonal layer + step; it finishes with the last of its forward ops.
    """
    cells: dict[tuple[int, int], float] = {}
    names = schedule.graph.names
    for task, name in enumerate(names.to_list() if names is not None else ()):
        if match := CELL.match(name):
            cell = int(match[1]), int(match[2])
            cells[cell] = max(cells.get(cell, 0.0), float(schedule.finish_s[task]))
    diagonal: npt.NDArray[np.int64] = np.array([sum(cell) for cell in cells])
    finish_s = np.array(list(cells.values()))
    earlier = diagonal[:, None] < diagonal
    return float((finish_s[:, None] > finish_s)[earlier].mean())


def _said(shares: dict[str, float]) -> str:
    said = ", ".join(f"{layout} {share:.2%}" for layout, share in shares.items())
    return f"pairs of cells that finish against the diagonals: {said}"
