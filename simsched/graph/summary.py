"""What a graph is, in a few numbers for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph


def summary(graph: TaskGraph) -> dict[str, object]:
    """Return tasks, edges, work, critical path, average parallelism, depth, kinds; no seconds where one is unknown."""
    facts: dict[str, object] = {"tasks": graph.n_tasks, "edges": graph.n_edges}
    if graph.n_tasks and not np.isnan(graph.work_s):
        facts["work_s"] = round(graph.work_s, 9)
        facts["critical_path_s"] = round(graph.critical_path_s, 9)
        if graph.critical_path_s:
            facts["average_parallelism"] = round(graph.average_parallelism, 3)
    facts["depth"] = int(graph.depths.max(initial=-1)) + 1
    facts["kinds"] = len(graph.kinds.labels)
    return facts
