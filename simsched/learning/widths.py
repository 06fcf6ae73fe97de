"""Seconds by width of team, where recordings show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.costs.width_table import WidthTable
from simsched.graph import TaskGraph
from simsched.learning.rows import KindSeconds
from simsched.machine import Machine


def width_ratios(rows: Sequence[KindSeconds]) -> dict[int, float]:
    """Return seconds on each recorded width over those on one thread: the median of programs.

    Of a program, that over kinds and shapes, by their time.

    Examples
    --------
    >>> rows = [KindSeconds("p", "k", "", width, seconds, 0.1, 9) for width, seconds in ((1, 4.0), (2, 3.0))]
    >>> width_ratios(rows)
    {2: 0.75}
    """
    one = {(row.program, row.kind, row.shape): row.alone_s for row in rows if row.width == 1}
    found: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        alone_s = one.get((row.program, row.kind, row.shape), 0.0)
        if row.width > 1 and alone_s > 0:
            found[row.width, row.program].append((row.alone_s / alone_s, alone_s * row.samples))
    of_programs: dict[int, list[float]] = defaultdict(list)
    for (width, _), pairs in found.items():
        of_programs[width].append(weighted_median(*zip(*pairs, strict=True)))
    return {width: float(np.median(ratios)) for width, ratios in sorted(of_programs.items())}


def weighted_median(values: npt.ArrayLike, weights: npt.ArrayLike) -> float:
    """Return the value at which half of the weight is reached; between two values where that is at an edge.

    Examples
    --------
    >>> weighted_median([3.0, 1.0, 2.0], [1.0, 1.0, 1.0]), weighted_median([1.0, 2.0], [1.0, 1.0])
    (2.0, 1.5)
    """
    order = np.argsort(np.asarray(values, np.float64), kind="stable")
    ordered, reached = (
        np.asarray(values, np.float64)[order],
        np.cumsum(np.asarray(weights, np.float64)[order]),
    )
    half = reached[-1] / 2
    first = int(np.searchsorted(reached, half * (1 - 1e-12)))
    last = min(int(np.searchsorted(reached, half * (1 + 1e-12))), len(ordered) - 1)
    return float((ordered[first] + ordered[last]) / 2)


@dataclass(frozen=True, eq=False)
class LearnedWidths:
    """Measured seconds by width for a `CostModel`: those of one thread, times the ratio recorded on each width.

    Parameters
    ----------
    ratios : mapping of int to float
        By width, from 2.
    own : mapping
        The same of single kinds and shapes, by kind, shape and width.

    Examples
    --------
    >>> import simsched as ss
    >>> costs = ss.CostModel(measured=LearnedWidths({2: 0.75}))
    >>> costs.on(ss.TaskGraph.from_edges([4.0]), ss.machine("generic[cores=4]")).seconds(2).tolist()
    [3.0]
    """

    ratios: Mapping[int, float]
    own: Mapping[tuple[str, str, int], float] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Sequence[KindSeconds]) -> LearnedWidths:
        """Return the ratios that rows of several widths tell."""
        one = {(row.program, row.kind, row.shape): row.alone_s for row in rows if row.width == 1}
        own = {
            (row.kind, row.shape, row.width): row.alone_s / alone_s
            for row in rows
            if row.width > 1 and (alone_s := one.get((row.program, row.kind, row.shape), 0.0)) > 0
        }
        return cls(width_ratios(rows), own)

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of a graph's tasks; wider teams than recorded take as long as the widest recorded."""
        most = max([*self.ratios, 1])
        pairs = list(zip(graph.kinds.to_list(), graph.shapes.to_list(), strict=True))
        alone_s = graph.durations_s
        one_thread = (graph.widths == 1) & ~np.isnan(alone_s)
        seconds_s = np.zeros((graph.n_tasks, most + 1))
        seconds_s[:, 1] = np.nan_to_num(alone_s)
        for width in range(2, most + 1):
            nearest = max((w for w in self.ratios if w <= width), default=1)
            common = self.ratios.get(nearest, 1.0)
            ratio = np.array([self.own.get((*pair, nearest), common) for pair in pairs])
            seconds_s[:, width] = seconds_s[:, 1] * ratio
        rows: npt.NDArray[np.int32] = np.where(one_thread, np.arange(graph.n_tasks), -1).astype(np.int32)
        known = np.full(graph.n_tasks, most, np.int64)
        if not graph.n_tasks:
            seconds_s, known = np.zeros((1, most + 1)), np.ones(1, np.int64)
        table = WidthTable(rows, seconds_s, np.zeros(len(seconds_s)), known)
        return table, (f"seconds on up to {most} threads as recorded",)

    def sampled(self, generator: np.random.Generator) -> LearnedWidths:
        """Return the same: the uncertainty of recorded seconds is that of one thread."""
        return self
