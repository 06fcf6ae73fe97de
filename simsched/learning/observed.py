"""Observations of each task in one recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.execute import Gaps
from simsched.execute.recorded.gaps import absences_s
from simsched.graph import Recording, TaskGraph
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
            )
        return self.graph.recording

    @cached_property
    def seconds_s(self) -> Seconds:
        """Recorded seconds of each task, shape (n,)."""
        return self.run.finish_s - self.run.start_s

    @cached_property
    def widths(self) -> npt.NDArray[np.int32]:
        """Threads of each task's team, shape (n,): those that it had, whether or not all of them got work in time."""
        team = self.graph.report.facts.get("intra_op_threads")
        return np.full(self.graph.n_tasks, team, np.int32) if isinstance(team, int) else self.graph.widths

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

    @property
    def away_s(self) -> Seconds:
        """Seconds for which each task's lane was absent before it, shape (n,)."""
        if self.graph.recorded is None:
            return np.zeros(self.graph.n_tasks)
        return absences_s(self.graph.recorded, self.gaps)

    @cached_property
    def company(self) -> Seconds:
        """Share of each task's seconds beside at least one other running task, in [0, 1], shape (n,)."""
        return shared_time(self.run)

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


def shared_time(run: Recording) -> npt.NDArray[np.float64]:
    """Return the share of each task's seconds in which at least one other task runs, shape (n,).

    Examples
    --------
    >>> lanes = np.array([0, 1], np.int32)
    >>> shared_time(Recording(np.array([0.0, 3.0]), np.array([4.0, 5.0]), lanes, ("a", "b"))).tolist()
    [0.25, 0.5]
    """
    times = np.concatenate([run.start_s, run.finish_s])
    steps = np.repeat([1, -1], len(run.start_s))
    order = np.lexsort((steps, times))
    at, running = times[order], np.cumsum(steps[order])
    together = np.append(0.0, np.cumsum(np.diff(at) * (running[:-1] > 1)))
    shared = np.interp(run.finish_s, at, together) - np.interp(run.start_s, at, together)
    length = run.finish_s - run.start_s
    share = np.zeros(len(length))
    np.divide(shared, length, out=share, where=length > 0)
    return share.clip(0.0, 1.0)


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
