"""The table of a schedule: one row per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from simsched.schedule.names import name_column

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.schedule.schedule import Schedule


def tasks_frame(schedule: Schedule) -> pd.DataFrame:
    """Return task, name, kind, ready_s, start_s, finish_s, width, executor, first_core and n_cores of every task."""
    graph = schedule.graph
    teams, widths = schedule.teams, schedule.widths
    first = np.full(teams.n, -1, np.int32)
    held = teams.degrees() > 0
    first[held] = teams.indices[teams.indptr[:-1][held]]
    return pd.DataFrame(
        {
            "task": np.arange(graph.n_tasks, dtype=np.int32),
            "name": name_column(graph),
            "kind": _kinds(graph),
            "ready_s": schedule.ready_s,
            "start_s": schedule.start_s,
            "finish_s": schedule.finish_s,
            "width": widths,
            "executor": schedule.executor,
            "first_core": first[schedule.team],
            "n_cores": widths,
        }
    )


def _kinds(graph: TaskGraph) -> pd.Categorical[str]:
    return pd.Categorical.from_codes(graph.kinds.codes, pd.Index(graph.kinds.labels, dtype=object))
