"""Numbers of schedules that no replay makes."""

import numpy as np

import simsched as ss
from simsched.graph import Recording


def test_a_recorded_task_that_started_too_early_makes_up_for_no_wait():
    """Task 1 starts 1 s before task 0 finishes, which it depends on; 2 starts 1 s after it could."""
    start_s, finish_s = np.array([0.0, 1.0, 3.0]), np.array([2.0, 3.0, 4.0])
    run = Recording(start_s, finish_s, np.array([0, 1, 0], np.int32), ("main", "worker"))
    graph = ss.TaskGraph.from_edges([2.0, 2.0, 1.0], [(0, 1), (0, 2)], recording=run)
    assert graph.recorded.metrics()["queue_wait_s"] == 1.0


def test_two_threads_of_a_core_use_one_core():
    graph = ss.TaskGraph.from_edges([1.0, 1.0])
    schedule = ss.simulate(graph, "knl-7250[cores=2,smt=2]", "fifo[placement=dense]", "2x1")
    assert schedule.metrics()["cores_used"] == 1
