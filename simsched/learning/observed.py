"""Observations of each task in one recording, and executions by kind, shape and width, interrupted ones marked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from math import log

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.execute import Gaps
from simsched.execute.crosscheck.attribution import overlaps
from simsched.execute.recorded.gaps import DISPATCH, absences_s, free_s
from simsched.graph import Recording, TaskGraph
from simsched.graph.recording import dropped, team_widths
from simsched.graph.taskgraph import Seconds

#: Kind, shape, and the place among the tasks of the same kind and shape: the same task in each run of a program.
TaskKey = tuple[str, str, int]


@dataclass(frozen=True, eq=False)
class Observed:
    """A recorded graph, and the observations in its recording.

    Parameters
    ----------
    graph : TaskGraph
        With a recording.
    program : str
        Name shared by all recordings of the same program.
    """

    graph: TaskGraph
    program: str

    @property
    def run(self) -> Recording:
        """The recording."""
        if self.graph.recording is None or not self.graph.n_tasks:
            raise GraphError(
                f"graph {self.graph.name!r} has no recorded tasks; load one from the trace of a run"
                f"{dropped(self.graph)}"
            )
        return self.graph.recording

    @cached_property
    def seconds_s(self) -> Seconds:
        """Recorded seconds of each task, shape (n,)."""
        return self.run.finish_s - self.run.start_s

    @cached_property
    def widths(self) -> npt.NDArray[np.int32]:
        """Threads of each task's team, shape (n,): those that it had, whether or not all of them got work in time."""
        return team_widths(self.graph)

    @cached_property
    def gaps(self) -> Gaps:
        """Idle time before each task."""
        assert self.graph.recorded is not None  # noqa: S101 - narrows the type: `run` has checked it
        return Gaps.of(self.graph.recorded)

    @property
    def makespan_s(self) -> float:
        """Seconds from the first start to the last finish."""
        return float(self.run.finish_s.max() - self.run.start_s.min())

    @property
    def lanes(self) -> int:
        """Workers that ran tasks."""
        return len(np.unique(self.run.lanes))

    @property
    def width(self) -> int:
        """Threads of a worker's teams."""
        return int(self.widths.max(initial=1))

    @property
    def waiting(self) -> int:
        """Threads that wait busily: the caller of ONNX Runtime's parallel executor does."""
        return int(self.graph.report.facts.get("executor") == "parallel")

    @cached_property
    def away_s(self) -> Seconds:
        """Seconds for which each task's lane was absent before it, shape (n,)."""
        if self.graph.recorded is None:
            return np.zeros(self.graph.n_tasks)
        return absences_s(self.graph.recorded, self.gaps)

    @cached_property
    def starts_at_once(self) -> tuple[int, int]:
        """Starts less than half a usual gap after another lane's whose gap they overlap, and all of the latter.

        One dispatcher needs its time for each start: two starts of overlapping gaps are then at least that far apart.
        """
        schedule, gaps = self.graph.recorded, self.gaps
        assert schedule is not None  # noqa: S101 - narrows the type: `run` has checked it
        mine = (gaps.cause == DISPATCH) & (gaps.seconds > 0)
        if not mine.any():
            return 0, 0
        usual = float(np.median(gaps.seconds[mine]))
        since = np.fmax(free_s(schedule), schedule.ready_s)[mine]
        start, lane = schedule.start_s[mine], schedule.executor[mine]
        order = np.argsort(start, kind="stable")
        a, b = order[:-1], order[1:]
        both = (lane[a] != lane[b]) & (since[b] < start[a])
        return int(np.sum(start[b[both]] - start[a[both]] < usual / 2)), int(both.sum())

    @cached_property
    def company(self) -> Seconds:
        """Share of each task's seconds beside at least one other running task, in [0, 1], shape (n,)."""
        return overlaps(self.run)

    @cached_property
    def keys(self) -> list[TaskKey]:
        """The key of each task."""
        return task_keys(self.graph)


def task_keys(graph: TaskGraph) -> list[TaskKey]:
    """Return kind, shape and place among the tasks of the same kind and shape, for each task.

    Examples
    --------
    >>> graph = TaskGraph.from_edges([1.0, 2.0, 3.0], kinds=["a", "b", "a"])
    >>> task_keys(graph)
    [('a', '', 0), ('b', '', 0), ('a', '', 1)]
    """
    seen: Counter[tuple[str, str]] = Counter()
    keys = []
    for both in zip(graph.kinds.to_list(), graph.shapes.to_list(), strict=True):
        keys.append((*both, seen[both]))
        seen[both] += 1
    return keys


def observed(recordings: Sequence[TaskGraph]) -> list[Observed]:
    """Return observations of recordings, with one name for each program: graphs of the same kinds, shapes and edges.

    Raises
    ------
    GraphError
        If there are none, one has no recording, or two are the same run.
    """
    if isinstance(recordings, TaskGraph):
        recordings = [recordings]
    if not isinstance(recordings, Sequence) or not all(isinstance(one, TaskGraph) for one in recordings):
        raise GraphError(
            f"recordings are {recordings!r:.80}; expected a list of graphs, as [ss.load('run.json')]"
        )
    if not recordings:
        raise GraphError("there are no recordings; give at least one, as [ss.load('run.json')]")
    names: dict[object, str] = {}
    found = []
    for graph in recordings:
        name = names.setdefault(signature(graph), _unused(graph.name, names.values()))
        found.append(Observed(graph, name))
        _ = found[-1].run
    _check_distinct(found)
    return found


def _check_distinct(runs: Sequence[Observed]) -> None:
    """Raise `GraphError` where a run is given twice: that would pass for two runs that hardly differ."""
    first: dict[object, int] = {}
    for i, one in enumerate(runs):
        times = (one.program, one.run.start_s.tobytes(), one.run.finish_s.tobytes(), one.run.lanes.tobytes())
        if (other := first.setdefault(times, i)) != i:
            raise GraphError(
                f"recordings {other} and {i} ({one.graph.name!r:.60}) are the same run, with the same times of all "
                "tasks; give each run once"
            )


def signature(graph: TaskGraph) -> object:
    """Return what all recordings of a program have in common: its tasks by kind and shape, and its number of edges."""
    counts = Counter(zip(graph.kinds.to_list(), graph.shapes.to_list(), strict=True))
    return graph.n_edges, frozenset(counts.items())


def _unused(name: str, names: Iterable[str]) -> str:
    taken = set(names)
    return next(n for n in (name, *(f"{name} ({i})" for i in range(2, len(taken) + 3))) if n not in taken)


#: From the median absolute deviation to a normal distribution's standard deviation.
TO_SIGMA = 1.4826
#: A task longer than its group's median by more than so many deviations, and by `LEAST`, was interrupted.
DEVIATIONS = 3.0
#: Logarithm of the least such ratio: less may be chance.
LEAST = log(1.4)
#: Executions from which a group's scatter is known.
ENOUGH = 8
SHORTEST_S = 1e-9

Group = tuple[str, str, str, int]


@dataclass(frozen=True, eq=False)
class Samples:
    """Executions of one program's tasks of one kind, shape and width, from all recordings.

    Parameters
    ----------
    seconds_s, company : list of float
    recordings : list of int
        Which recording each is of.
    keys : list of TaskKey
    elsewhere : dict
        What recordings on other widths tell of a task: the logarithm of its seconds, and of the most that it may take.
    """

    seconds_s: list[float] = field(default_factory=list)
    company: list[float] = field(default_factory=list)
    recordings: list[int] = field(default_factory=list)
    keys: list[TaskKey] = field(default_factory=list)
    elsewhere: dict[TaskKey, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def logs(self) -> npt.NDArray[np.float64]:
        """Logarithms of the seconds."""
        return np.log(np.maximum(self.seconds_s, SHORTEST_S))

    @cached_property
    def least(self) -> dict[TaskKey, float]:
        """The least of these of each task."""
        least: dict[TaskKey, float] = {}
        for key, value in zip(self.keys, self.logs.tolist(), strict=True):
            least[key] = min(value, least.get(key, np.inf))
        return least

    @cached_property
    def undisturbed(self) -> npt.NDArray[np.bool_]:
        """Which executions were not interrupted.

        A long one shows against its group where that is large, and against the same task in other recordings, of the
        same width or of another.
        """
        if len(self.logs) >= ENOUGH:
            middle, scatter = middle_of(self.logs)
            limit = middle + max(DEVIATIONS * scatter, LEAST)
        else:
            limit = float(self.logs.min()) + 2 * LEAST
        nothing = (0.0, np.inf)
        most = {
            key: min(own + 2 * LEAST, self.elsewhere.get(key, nothing)[1]) for key, own in self.least.items()
        }
        return np.asarray(self.logs <= np.minimum(limit, [most[key] for key in self.keys]))

    def of_company(self, factor: float) -> Seconds:
        """Return the seconds of each execution without the slow-down by other tasks, given its factor."""
        return np.array(self.seconds_s) * (1.0 - np.array(self.company) * (1.0 - 1.0 / factor))


def middle_of(logs: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the median, and the scatter around it as a standard deviation."""
    middle = float(np.median(logs))
    return middle, TO_SIGMA * float(np.median(np.abs(logs - middle)))


def grouped(runs: Sequence[Observed]) -> dict[Group, Samples]:
    """Return the executions of all recordings by program, kind, shape and width."""
    groups: dict[Group, Samples] = defaultdict(Samples)
    for i, run in enumerate(runs):
        columns = (run.keys, run.seconds_s.tolist(), run.company.tolist(), run.widths.tolist())
        for key, seconds_s, company, width in zip(*columns, strict=True):
            group = groups[run.program, key[0], key[1], width]
            group.seconds_s.append(seconds_s)
            group.company.append(company)
            group.recordings.append(i)
            group.keys.append(key)
    _compare_widths(groups)
    return dict(groups)


def _compare_widths(groups: dict[Group, Samples]) -> None:
    """Set what the tasks of each group take on other widths tells of them, where programs have several widths.

    A task is expected to take as much more or less as its program's tasks do in the median. It may take longer by three
    scatters of that ratio and by 2 `LEAST`, and as long as one that more threads do not speed up, or speed up fully.
    """
    of_width: dict[tuple[str, int], dict[TaskKey, float]] = defaultdict(dict)
    for (program, _, _, width), samples in groups.items():
        of_width[program, width].update(samples.least)
    ratios: dict[tuple[str, int, int], tuple[float, float]] = {}
    for (program, width), (other, narrow) in permutations(of_width, 2):
        here, there = of_width[program, width], of_width[other, narrow]
        if program == other and len(both := here.keys() & there.keys()) >= ENOUGH:
            middle, scatter = middle_of(np.array([here[key] - there[key] for key in both]))
            usual = middle + max(DEVIATIONS * scatter, 2 * LEAST)
            ratios[program, width, narrow] = middle, max(usual, max(log(narrow / width), 0.0) + 2 * LEAST)
    for (program, width, narrow), (middle, most) in ratios.items():
        for (name, _, _, own), samples in groups.items():
            if (name, own) == (program, width):
                there = of_width[program, narrow]
                for key in samples.least.keys() & there.keys():
                    told = there[key] + middle, there[key] + most
                    samples.elsewhere[key] = min(told, samples.elsewhere.get(key, told))
