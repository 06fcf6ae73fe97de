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


def segments(waits: Waits) -> Iterator[Segment]:
    """Yield the pieces of the path, the last one first; each begins where the next one yielded ends."""
    schedule = waits.schedule
    if not schedule.graph.n_tasks:
        return
    first_s = float(schedule.start_s.min())
    task, running = int(schedule.finish_s.argmax()), True
    while True:
        begin_s, held_s = float(schedule.start_s[task]), float(waits.held_s[task])
        moment_s, after, other = _before(waits, task, first_s)
        pieces = [(begin_s, float(schedule.finish_s[task]), "run")] if running else []
        for start_s, end_s, part in [*pieces, (held_s, begin_s, "dispatch"), (moment_s, held_s, "queue")]:
            if end_s > max(start_s, first_s):
                yield Segment(max(start_s, first_s), end_s, part, task, after, other)
        if other < 0 or moment_s <= first_s:
            return
        task, running = other, after != "scheduler"


def _before(waits: Waits, task: int, first_s: float) -> tuple[float, str, int]:
    """Return until when a task had to wait at least, for what, and for which task."""
    ready_s, free_s = float(waits.ready_s[task]), float(waits.free_s[task])
    possible_s = max(ready_s, free_s)
    if possible_s < waits.decided_s[task] == waits.held_s[task]:
        return float(waits.decided_s[task]), "scheduler", int(waits.decided[task])
    if waits.depends_on[task] >= 0 and ready_s >= free_s:
        return ready_s, "dependence", int(waits.depends_on[task])
    if waits.freed_by[task] >= 0:
        return free_s, "no core", int(waits.freed_by[task])
    return min(first_s, float(waits.held_s[task])), "start", -1


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
