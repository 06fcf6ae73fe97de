"""Why each task of a schedule started when it did."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from simsched.schedule import Schedule

#: Seconds of a wait, by what was waited for, and how a reader is told.
PARTS = {"no_core_s": "no core was free", "queue_s": "in the queue", "dispatch_s": "dispatch"}
REASONS = ("none", "dependence", "no core", "queue", "dispatch")


def waits(schedule: Schedule) -> pd.DataFrame:
    """Return one row a task: depends_on (-1 for none), no_core_s, queue_s, dispatch_s, reason (one of `REASONS`)."""
    explain = getattr(import_module("simsched.schedule"), "explain", None)
    if explain is not None:
        frame: pd.DataFrame = explain(schedule).tasks
        return frame
    waited_s = schedule.start_s - schedule.ready_s
    depends_on = _last_predecessor(schedule)
    reason = np.where(waited_s > 0, REASONS.index("queue"), (depends_on >= 0).astype(np.int64))
    return pd.DataFrame({
        "depends_on": depends_on,
        "no_core_s": 0.0,
        "queue_s": waited_s,
        "dispatch_s": 0.0,
        "reason": pd.Categorical.from_codes(reason, pd.Index(REASONS, dtype=object)),
    })  # fmt: skip


def _last_predecessor(schedule: Schedule) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Return the predecessor that finished last, of several the one with the highest index; -1 for none."""
    before = schedule.graph.predecessors
    last = np.full(schedule.graph.n_tasks, -1, np.int32)
    some = before.degrees() > 0
    if some.any():
        finish_s = schedule.finish_s[before.indices]
        latest_s = np.maximum.reduceat(finish_s, before.indptr[:-1][some])
        latest = finish_s == np.repeat(latest_s, before.degrees()[some])
        last[before.sources()[latest]] = before.indices[latest]
    return last
