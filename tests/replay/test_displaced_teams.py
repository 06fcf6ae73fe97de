"""The teams of tasks whose threads are not pinned: each is listed once, in the order of its threads."""

import numpy as np

import simsched as ss


def test_teams_are_distinct_and_in_order():
    graph = ss.TaskGraph.from_edges(np.ones(300), [(task, task + 3) for task in range(297)])
    for layout in ("4x4", "16x1"):
        schedule = ss.simulate(graph, "knl-7250[cores=16]", "critical-path[pinned=false]", layout)
        width = int(layout.partition("x")[2])
        rows = schedule.teams.indices.reshape(-1, width)
        distinct, row = np.unique(rows, axis=0, return_inverse=True)
        assert len(rows) > 2
        assert np.array_equal(distinct, rows)
        assert np.array_equal(row.ravel(), np.arange(len(rows)))
        assert {*schedule.team.tolist()} == {*range(len(rows))}
