"""The critical path through time: from the last finish back to the first start, without a gap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simsched.schedule.explanation.names import task_names

if TYPE_CHECKING:
    import pandas as pd

    from simsched.schedule.explanation.waits import Waits

#: What a segment is, and what it came after.
SEGMENTS = ("run", "dispatch", "queue")
CAUSES = ("start", "dependence", "no core", "scheduler")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the path.

    Parameters
    ----------
    begin_s, end_s : float
    part : str
        One of `SEGMENTS`.
    task : int
        Whose.
    after : str
        What had made its task wait until then, one of `CAUSES`.
    other : int
        The task that ended the wait: a predecessor, the one that had its place, or the one decided before; -1 for none.
    """

    begin_s: float
    end_s: float
    part: str
    task: int
    after: str
    other: int


class _Moments:
    """The moments of all tasks as lists: what a long path looks at, one by one."""

    def __init__(self, waits: Waits) -> None:
        schedule = waits.schedule
        self.first_s = float(schedule.start_s.min())
        self.start_s: list[float] = schedule.start_s.tolist()
        self.finish_s: list[float] = schedule.finish_s.tolist()
        self.held_s: list[float] = waits.held_s.tolist()
        self._ready_s, self._depends_on = waits.ready_s.tolist(), waits.depends_on.tolist()
        self._free_s, self._freed_by = waits.free_s.tolist(), waits.freed_by.tolist()
        self._decided_s, self._decided = waits.decided_s.tolist(), waits.decided.tolist()

    def before(self, task: int) -> tuple[float, str, int]:
        """Return until when a task had to wait at least, for what, and for which task."""
        ready_s, free_s = self._ready_s[task], self._free_s[task]
        if max(ready_s, free_s) < self._decided_s[task] == self.held_s[task]:
            return self._decided_s[task], "scheduler", self._decided[task]
        if self._depends_on[task] >= 0 and ready_s >= free_s:
            return ready_s, "dependence", self._depends_on[task]
        if self._freed_by[task] >= 0:
            return free_s, "no core", self._freed_by[task]
        return min(self.first_s, self.held_s[task]), "start", -1


def segments(waits: Waits) -> Iterator[Segment]:
    """Yield the pieces of the path, the last one first; each begins where the next one yielded ends."""
    schedule = waits.schedule
    if not schedule.graph.n_tasks:
        return
    moments = _Moments(waits)
    task, running = int(schedule.finish_s.argmax()), True
    while True:
        begin_s, held_s = moments.start_s[task], moments.held_s[task]
        moment_s, after, other = moments.before(task)
        pieces = [(begin_s, moments.finish_s[task], "run")] if running else []
        for start_s, end_s, part in [*pieces, (held_s, begin_s, "dispatch"), (moment_s, held_s, "queue")]:
            if end_s > max(start_s, moments.first_s):
                yield Segment(max(start_s, moments.first_s), end_s, part, task, after, other)
        if other < 0 or moment_s <= moments.first_s:
            return
        # The scheduler only decided on the other task: the path does not go through its run.
        task, running = other, after != "scheduler"


def path_frame(waits: Waits) -> pd.DataFrame:
    """Return the table of `Explanation.critical_path`."""
    import pandas as pd

    pieces = list(segments(waits))[::-1]
    tasks = np.array([piece.task for piece in pieces], np.int32)
    graph = waits.schedule.graph
    return pd.DataFrame({
        "begin_s": np.array([piece.begin_s for piece in pieces], np.float64),
        "end_s": np.array([piece.end_s for piece in pieces], np.float64),
        "seconds_s": np.array([piece.end_s - piece.begin_s for piece in pieces], np.float64),
        "part": pd.Categorical([piece.part for piece in pieces], SEGMENTS),
        "task": tasks,
        "name": task_names(graph, tasks),
        "kind": [graph.kinds[int(task)] for task in tasks],
        "after": pd.Categorical([piece.after for piece in pieces], CAUSES),
        "other": np.array([piece.other for piece in pieces], np.int32),
    })  # fmt: skip
