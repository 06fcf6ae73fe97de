"""Numbers learned from recordings, as rows of tables, and seconds by width of team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, inf

import numpy as np
import numpy.typing as npt

from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.multimap import multimap
from simsched.parameters import is_number, is_whole

#: Half the width of a 95 % interval, in standard deviations.
Z = 1.96
#: Least logarithm's scatter that a single recording may claim: medians of two recordings differ by more.
BETWEEN = 0.05


def _check(row: object, **numbers: tuple[object, float, float]) -> None:
    for name, (value, least, most) in numbers.items():
        if not is_number(value) or not least <= value <= most or value == inf:
            raise CostError(
                f"{type(row).__name__}: {name} is {value!r:.60}, expected a finite number from {least:g}"
            )


@dataclass(frozen=True)
class KindSeconds:
    """Seconds of the tasks of one kind and shape of a program, alone and undisturbed.

    Parameters
    ----------
    program : str
        The program.
    kind, shape : str
        As its graph spells them; the shape is "" where unknown.
    width : int
        Threads of the team.
    alone_s : float
        Median seconds of a task while nothing else runs, without a start's cost and without interruptions.
    sigma : float
        Standard error of the logarithm of `alone_s`.
    samples : int
        Executions seen.

    Examples
    --------
    >>> row = KindSeconds("lu", "gemm", "", 1, alone_s=1e-3, sigma=0.1, samples=20)
    >>> round(row.low_s, 6), round(row.high_s, 6)
    (0.000822, 0.001217)
    """

    program: str
    kind: str
    shape: str
    width: int
    alone_s: float
    sigma: float
    samples: int

    def __post_init__(self) -> None:
        _check(
            self, alone_s=(self.alone_s, 0, inf), sigma=(self.sigma, 0, 50), samples=(self.samples, 1, inf)
        )
        if not is_whole(self.width, 1):
            raise CostError(f"KindSeconds: width is {self.width!r:.60}, expected at least 1")

    @property
    def low_s(self) -> float:
        """Lower end of the 95 % interval of `alone_s`."""
        return self.alone_s * exp(-Z * self.sigma)

    @property
    def high_s(self) -> float:
        """Upper end of the 95 % interval of `alone_s`."""
        return self.alone_s * exp(Z * self.sigma)


@dataclass(frozen=True)
class Slowdown:
    """How much longer tasks of a kind take while other threads run tasks.

    Parameters
    ----------
    program, kind : str
        The kind; both "" for all kinds of the host together.
    factor : float
        Seconds beside at least one other running task over seconds alone, interruptions left out; at least 1.
    sigma : float
        Standard error of its logarithm.
    samples : int
        Executions in company that it comes from; 0 where it is that of the whole host.

    Examples
    --------
    >>> Slowdown("lu", "gemm", factor=1.1, sigma=0.05, samples=40).factor
    1.1
    """

    program: str
    kind: str
    factor: float
    sigma: float
    samples: int

    def __post_init__(self) -> None:
        _check(self, factor=(self.factor, 1, 1e6), sigma=(self.sigma, 0, 50), samples=(self.samples, 0, inf))


@dataclass(frozen=True)
class StartCost:
    """Cost of a start in the runtime of a program.

    Parameters
    ----------
    program : str
    start_s : float
        Mean seconds between the end of a task and the start of the next on the same lane, where that was ready; of
        several recordings the median.
    sigma : float
        Standard error of its logarithm.
    serial : bool or None
        Whether one dispatcher serves one start after another; None where no recording shows two starts at once, and
        then each executor pays its own.

    Examples
    --------
    >>> StartCost("lu", start_s=1e-5, sigma=0.1, serial=False).start_s
    1e-05
    """

    program: str
    start_s: float
    sigma: float
    serial: bool | None = None

    def __post_init__(self) -> None:
        _check(self, start_s=(self.start_s, 0, inf), sigma=(self.sigma, 0, 50))


@dataclass(frozen=True)
class Run:
    """One recording: its size, and the time that the host took from it by running something else on its cores.

    Parameters
    ----------
    program : str
    lanes, width, waiting : int
        Workers that ran tasks; threads of each one's teams; further threads that wait busily.
    makespan_s : float
    interrupted : float
        Seconds lost over the undisturbed seconds of all tasks.
    each_s : float
        Usual seconds of one interruption, the median by time lost; 0 where there are none.
    known : float
        Share of the work in which an interruption would show, in [0, 1].
    pace : float
        Median over its work of recorded seconds over those expected: how much slower this run was as a whole.

    Examples
    --------
    >>> run = Run("lu", lanes=2, width=1, waiting=0, makespan_s=0.1, interrupted=0.7, each_s=4e-3)
    >>> run.threads
    2
    """

    program: str
    lanes: int
    width: int
    waiting: int
    makespan_s: float
    interrupted: float
    each_s: float
    known: float = 1.0
    pace: float = 1.0

    def __post_init__(self) -> None:
        _check(
            self, known=(self.known, 0, 1 + 1e-9), pace=(self.pace, 1e-9, 1e9),
            lanes=(self.lanes, 1, inf), width=(self.width, 1, inf),
            waiting=(self.waiting, 0, inf), makespan_s=(self.makespan_s, 0, inf),
            interrupted=(self.interrupted, 0, 1e9), each_s=(self.each_s, 0, inf),
        )  # fmt: skip

    @property
    def threads(self) -> int:
        """Threads that ran tasks or waited busily."""
        return self.lanes * self.width + self.waiting


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
    of_programs = multimap(
        (width, weighted_median(*zip(*pairs, strict=True))) for (width, _), pairs in found.items()
    )
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
