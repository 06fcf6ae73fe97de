"""Real runs are explained, too, as far as they can be."""

import pytest

import simsched as ss


def test_an_executed_schedule():
    graph = ss.TaskGraph.from_edges([1e-3, 2e-3, 1e-3], [(0, 2), (1, 2)])
    schedule = ss.execute(graph, "fifo", layout="1x1", repeats=1)[0]
    why = schedule.explain()
    assert "what decisions cost is not known" in why.notes[0]
    assert why.critical_path["seconds_s"].sum() == pytest.approx(schedule.makespan_s)
    assert why.core_time["core_s"].sum() == pytest.approx(schedule.n_cores * schedule.makespan_s)
    waits = why.tasks[["dependency_s", "no_core_s", "queue_s", "dispatch_s"]].sum(axis=1)
    assert waits.to_numpy() == pytest.approx(schedule.start_s)
    assert why.tasks["depends_on"][2] in {0, 1}
