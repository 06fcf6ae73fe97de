"""Graphi: critical path first on symmetric executors, beside a naive queue, one executor, and TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import TYPE_CHECKING

from simsched.parameters import one_of, positive, text
from simsched.reproduce.graphi import claims
from simsched.reproduce.graphi.runs import Runs
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Graphi(System):
    """Critical path first on symmetric executors, beside a naive queue, one executor with all cores, and TensorFlow.

    Parameters
    ----------
    machine : str
        With the 400 GB/s that the paper gives its MCDRAM; see `simsched.machine`.
    software : float
        Factor on the machine's seconds of a dispatch and a pop, which are those of two cache lines.
    gates : {"own", "shared", "joined"}
        Whether each gate of a recurrent cell has two matrix products of its own, one of its input and one of its state;
        all share two such; or one of both side by side.
    library : str
        What divides the ops over threads, by their shapes; see docs/costs.md.
    order : {"random", "fifo", "lifo"}
        Which ready op the naive queue gives.
    small_s : float
        Most estimated seconds of a small op.
    buffered : bool
        Whether busy executors are handed one op in advance.
    idle : {"parked", "polling"}
        Whether TensorFlow's idle threads are parked, as Eigen's are, or poll a lock like those of the naive queue.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("graphi").published().tables
    ('Table 2', 'Fig. 5', 'Fig. 6', 'Sec. 7.4')
    """

    name = "graphi"

    machine: str = text("knl-7250[bandwidth_Bps=4e11]")
    software: float = positive(1.0)
    gates: str = one_of("own", "shared", "joined")
    library: str = text("graphi")
    order: str = one_of("random", "fifo", "lifo")
    small_s: float = positive(1e-6)
    buffered: bool = False
    idle: str = one_of("parked", "polling")

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return ratios of batch times."""
        runs = Runs(self)

        def over_naive(network: str, size: str, layout: str) -> float:
            return runs.graphi_s(network, size, layout) / runs.naive_s(network, size, layout)

        def over_sequential(network: str, size: str, layout: str) -> float:
            return runs.graphi_s(network, size, layout) / runs.sequential_s(network, size)

        def over_graphi(network: str, size: str) -> float:
            return runs.tensorflow_s(network, size) / runs.best_s(network, size)

        def speed_up(network: str, size: str) -> float:
            return runs.sequential_s(network, size) / runs.best_s(network, size)

        def against(network: str, size: str, engine: str, layout: str) -> float:
            own = engine == "critical path first"
            found = [runs.graphi(network, size, layout)] if own else runs.naive(network, size, layout)
            return mean(claims.against_the_diagonal(run) for run in found)

        def extreme(networks: tuple[str, ...], bound: str) -> float:
            found = [speed_up(network, size) for network in networks for size in SIZES]
            return min(found) if bound == "least" else max(found)

        return {
            ("Table 2", claims.RATIO): over_naive,
            ("Fig. 5", "TensorFlow time over Graphi time, best layout of each"): over_graphi,
            ("Fig. 6", "time over sequential time"): over_sequential,
            ("Fig. 6", "best speed-up over sequential"): speed_up,
            ("Fig. 6", "best speed-up over sequential, range over networks and sizes"): extreme,
            ("Sec. 7.4", claims.AGAINST): against,
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return what judges signs, best layouts and the recovered diagonal."""
        runs = Runs(self)
        return {
            "critical_path_first_wins": claims.critical_path_first_wins,
            "recovers_the_diagonal": claims.recovers_the_diagonal,
            "naive_leaves_the_diagonal": claims.naive_leaves_the_diagonal,
            "small_gains_more": claims.small_gains_more,
            "best_between_8_and_16": lambda _: claims.best_between_8_and_16(runs),
        }

    def pictures(self) -> Mapping[str, Drawing]:
        """Return bars by network in the paper's form."""
        return {
            "Table 2": partial(_bars, "network", "layout", claims.RATIO),
            "Fig. 5": partial(
                _bars, "network", "size", "TensorFlow time over Graphi time, best layout of each"
            ),
            "Fig. 6": partial(_bars, "of", "layout", "time over sequential time"),
        }


def _bars(label: str, group: str, quantity: str, frame: pd.DataFrame, ax: Axes | None = None) -> Axes:
    from simsched.plots.published import grouped_bars

    rows = frame[frame["quantity"] == quantity]
    rows = rows.assign(of=rows["network"] + " " + rows["size"])
    return grouped_bars(rows, label, group, quantity, ax, log=False)
