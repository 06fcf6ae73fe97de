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
        What had made its task wait until then, as a place in `CAUSES`.
    other : int32 array
        The task that ended the wait: a predecessor, the one that had its place, or the one decided before; itself after
        its aborted run; -1 for none.
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
        schedule, runs = waits.schedule, waits.runs
        if not schedule.graph.n_tasks:
            none, codes, tasks = np.empty(0), np.empty(0, np.int8), np.empty(0, np.int32)
            return cls(none, none, codes, tasks, codes, tasks)
        first_s = first_start_s(schedule)
        moment_s, after, other = _before(waits, first_s)
        run, running = _chain(waits, other, after, (other < 0) | (moment_s <= first_s))
        # For each run on the path, backwards: itself, its wait for data, its dispatch, and the cause of the wait.
        begin_s = np.stack([runs.start_s[run], waits.placed_s[run], waits.held_s[run], moment_s[run]], axis=1)
        end_s = np.stack([runs.end_s[run], runs.start_s[run], waits.placed_s[run], waits.held_s[run]], axis=1)
        begin_s = np.maximum(begin_s, first_s)
        lasts = end_s > begin_s
        lasts[:, :2] &= running[:, None]
        row, part = (places[::-1] for places in np.nonzero(lasts))
        run, begin_s, end_s = run[row], begin_s[row, part], end_s[row, part]
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
    """Return until when each run had to wait at least, for what, and for which run."""
    ready_s, free_s, held_s = waits.ready_s, waits.free_s, waits.held_s
    decided = (np.maximum(ready_s, free_s) < waits.decided_s) & (waits.decided_s == held_s)
    depends = (waits.depends_on >= 0) & (ready_s >= free_s)
    which = [waits.before >= 0, decided, depends, waits.freed_by >= 0]
    moment_s = np.select(which, [ready_s, waits.decided_s, ready_s, free_s], np.minimum(first_s, held_s))
    causes = ("aborted", "scheduler", "dependency", "no core")
    after = np.select(which, [CAUSES.index(cause) for cause in causes], 0)
    other = np.select(which, [waits.before, waits.decided, waits.depends_on, waits.freed_by], -1)
    return moment_s, after.astype(np.int8), other.astype(np.int32)


def _chain(
    waits: Waits, other: Index, after: Codes, ends: npt.NDArray[np.bool_]
) -> tuple[Index, npt.NDArray[np.bool_]]:
    """Return the runs on the path, the last one first, and whether it leads through them."""
    # As a list: a long path reads its items one by one.
    before, task, chain = np.where(ends, -1, other).tolist(), int(waits.schedule.finish_s.argmax()), []
    while task >= 0:
        chain.append(task)
        task = before[task]
    tasks = np.array(chain, np.int32)
    # The scheduler only decided on the other task: the path does not go through its run, nor through its wait for data.
    return tasks, np.append(True, after[tasks[:-1]] != CAUSES.index("scheduler"))


def task_names(graph: TaskGraph, tasks: Iterable[int]) -> list[str]:
    """Return the names of some tasks; an empty name for -1."""
    return [graph.task_name(int(task)) if task >= 0 else "" for task in tasks]
