"""The critical path through time: from the last finish back to the first start, without a gap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.explain.waits import Waits
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Index
from simsched.graph.taskgraph import Seconds
from simsched.schedule.runs import first_start_s
from simsched.schedule.schedule import Schedule

#: Kinds of segments, and of their predecessors.
SEGMENTS = ("run", "data", "dispatch", "queue", "aborted")
CAUSES = ("start", "dependency", "no core", "scheduler", "aborted")

Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Path:
    """The segments of a critical path through time, the first one first. All arrays of shape (segments,).

    Parameters
    ----------
    begin_s, end_s : float64 array
        Each begins where the one before ends.
    part : int8 array
        Kind of each, as a place in `SEGMENTS`.
    task : int32 array
        Whose.
    after : int8 array
        What had made its task, or what that reads, wait until then, as a place in `CAUSES`.
    other : int32 array
        The task that ended the wait: a predecessor, the one that had its place, the one decided before, or the one that
        wrote what it waited for; itself after its aborted run; -1 for none.
    """

    begin_s: Seconds
    end_s: Seconds
    part: Codes
    task: Index
    after: Codes
    other: Index

    @classmethod
    def of(cls, waits: Waits) -> Path:
        """Return the path of a schedule."""
        schedule, runs, leads = waits.schedule, waits.runs, waits.arrivals.leads
        if not schedule.graph.n_tasks:
            none, codes, tasks = np.empty(0), np.empty(0, np.int8), np.empty(0, np.int32)
            return cls(none, none, codes, tasks, codes, tasks)
        first_s = first_start_s(schedule)
        if schedule.messages is not None:
            first_s, _ = schedule.messages.span(first_s, np.inf)
        moment_s, after, other = _before(waits, first_s)
        last, last_s = _last(schedule)
        run, running = _chain(last, other, after, (other < 0) | (moment_s <= first_s))
        # For each run on the path, backwards: what it wrote on its way home, where the path ends with that; itself; its
        # wait for data, its dispatch, and the cause of the wait.
        home_s = runs.end_s[run]
        home_s[0] = last_s
        placed_s, held_s = (np.where(leads, moment_s, one)[run] for one in (waits.placed_s, waits.held_s))
        moments_s = (home_s, runs.end_s[run], runs.start_s[run], placed_s, held_s, moment_s[run])
        begin_s, end_s = np.stack(moments_s[1:], axis=1), np.stack(moments_s[:-1], axis=1)
        begin_s = np.maximum(begin_s, first_s)
        lasts = end_s > begin_s
        lasts[:, :3] &= running[:, None]
        row, column = (places[::-1] for places in np.nonzero(lasts))
        run, begin_s, end_s = run[row], begin_s[row, column], end_s[row, column]
        part = np.array([SEGMENTS.index(one) for one in ("data", "run", "data", "dispatch", "queue")])[column]
        part = np.where((part == 0) & (run >= schedule.graph.n_tasks), SEGMENTS.index("aborted"), part)
        found = waits.tasks_of(other[run])
        return cls(begin_s, end_s, part.astype(np.int8), runs.task[run], after[run], found)

    @property
    def seconds_s(self) -> Seconds:
        """The length of each segment."""
        return self.end_s - self.begin_s

    def frame(self, waits: Waits) -> pd.DataFrame:
        """Return the table of `Explanation.critical_path`."""
        graph = waits.schedule.graph
        return pd.DataFrame({
            "begin_s": self.begin_s,
            "end_s": self.end_s,
            "seconds_s": self.seconds_s,
            "part": pd.Categorical.from_codes(self.part, pd.Index(SEGMENTS)),
            "task": self.task,
            "name": task_names(graph, self.task.tolist()),
            "kind": [graph.kinds.labels[code] for code in graph.kinds.codes[self.task].tolist()],
            "after": pd.Categorical.from_codes(self.after, pd.Index(CAUSES)),
            "other": self.other,
        })  # fmt: skip


def _before(waits: Waits, first_s: float) -> tuple[Seconds, Codes, Index]:
    """Return until when each run, or what it reads, had to wait at least, for what, and for which run."""
    ready_s, free_s, held_s, came = waits.ready_s, waits.free_s, waits.held_s, waits.arrivals
    decided = (np.maximum(ready_s, free_s) < waits.decided_s) & (waits.decided_s == held_s)
    depends = (waits.depends_on >= 0) & (ready_s >= free_s)
    start_s = np.minimum(first_s, held_s)
    sent = came.leads & (came.written >= 0), came.leads & (came.decided >= 0), came.leads
    which = [*sent, waits.before >= 0, decided, depends, waits.freed_by >= 0]
    moment_s = np.select(
        which, [came.left_s, came.left_s, start_s, ready_s, waits.decided_s, ready_s, free_s], start_s
    )
    causes = ("dependency", "scheduler", "start", "aborted", "scheduler", "dependency", "no core")
    after = np.select(which, [CAUSES.index(cause) for cause in causes], 0)
    nobody = np.full(len(ready_s), -1)
    others = [
        came.written,
        came.decided,
        nobody,
        waits.before,
        waits.decided,
        waits.depends_on,
        waits.freed_by,
    ]
    return moment_s, after.astype(np.int8), np.select(which, others, -1).astype(np.int32)


def _last(schedule: Schedule) -> tuple[int, float]:
    """Return the run with which a schedule ends, and when it ends: when what that run wrote has got home, if later."""
    last = int(schedule.finish_s.argmax())
    last_s, sent, data = float(schedule.finish_s[last]), schedule.messages, schedule.graph.data
    if sent is None or data is None or not len(sent.arrive_s) or sent.arrive_s.max() <= last_s:
        return last, last_s
    message = int(sent.arrive_s.argmax())
    producer = int(data.producer[sent.object[message]])
    if producer < 0 or schedule.finish_s[producer] != sent.depart_s[message]:
        return last, last_s
    return producer, float(sent.arrive_s[message])


def _chain(
    last: int, other: Index, after: Codes, ends: npt.NDArray[np.bool_]
) -> tuple[Index, npt.NDArray[np.bool_]]:
    """Return the runs on the path to a run, the last one first, and whether it leads through them."""
    # As a list: a long path reads its items one by one.
    before, task, chain = np.where(ends, -1, other).tolist(), last, []
    while task >= 0:
        chain.append(task)
        task = before[task]
    tasks = np.array(chain, np.int32)
    # The scheduler only decided on the other task: the path does not go through its run, nor through its wait for data.
    return tasks, np.append(True, after[tasks[:-1]] != CAUSES.index("scheduler"))


def task_names(graph: TaskGraph, tasks: Iterable[int]) -> list[str]:
    """Return the names of some tasks; an empty name for -1."""
    return [graph.task_name(int(task)) if task >= 0 else "" for task in tasks]
