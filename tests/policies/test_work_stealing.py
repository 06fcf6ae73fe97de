"""Work stealing on small graphs, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import simsched as ss
from simsched.errors import LayoutError, SpecError
from simsched.graph import Recording
from simsched.testing.strategies import graphs

FAN = [(0, task) for task in range(1, 5)]


def run(seconds, edges, machine, victims="random", engine="auto", seed=0):
    graph = ss.TaskGraph.from_edges(seconds, edges)
    return ss.simulate(graph, machine, f"work-stealing[victims={victims}]", engine=engine, seed=seed)


def test_own_tasks_newest_first_stolen_ones_oldest_first(engine):
    """0 leaves 1 to 4 on core 0: it runs 4, then 3; core 1 steals 1, then 2."""
    schedule = run([1, 1, 1, 1, 1], FAN, "generic[cores=2]", engine=engine)
    assert schedule.executor.tolist() == [0, 1, 1, 0, 0]
    assert schedule.start_s.tolist() == [0, 1, 2, 2, 1]


def test_whoever_made_a_task_ready_runs_it(engine):
    """1 ends on core 1 at 9 s, 2 on core 0 at 5 s, when nothing is ready: 3 is core 1's, and core 0 steals nothing."""
    graph = ss.TaskGraph.from_edges([2, 3, 3, 2], [(0, 1), (0, 2), (1, 3), (2, 3)], edge_bytes=[4, 6, 5, 7])
    machine = "generic[cores=2,link_Bps=1.0,data=sent]"
    schedule = ss.simulate(graph, machine, "work-stealing", "2x1", engine=engine)
    assert schedule.tasks["first_core"].tolist() == [0, 1, 0, 1]
    assert schedule.finish_s.tolist() == [2, 9, 5, 18]


def test_sources_are_dealt_in_turn(engine):
    assert run([1] * 4, [], "generic[cores=2]", engine=engine).executor.tolist() == [0, 1, 0, 1]


def test_thieves_come_to_the_nearest(engine):
    """Sources on cores 0 and 3 make tasks ready there; on the ring core 2 is nearer to 3, core 1 to 0."""
    machine = "knc-7120p[cores=4,contention=false]"
    seconds, edges = [1, 0.5, 0.5, 1, 5, 5, 5, 5], [(0, 4), (0, 5), (3, 6), (3, 7)]
    graph = ss.TaskGraph.from_edges(seconds, edges)
    schedule = ss.simulate(
        graph, machine, "work-stealing[victims=near]", engine=engine, runtime=ss.RuntimeProfile()
    )
    hops = ss.machine(machine).hops(1)
    assert hops[0] < hops[3]
    assert schedule.executor[[4, 5]].tolist() == [1, 0]
    assert schedule.executor[[6, 7]].tolist() == [2, 3]


def test_thieves_stay_on_their_tile(engine):
    """Tiles of two: core 1 steals on core 0's tile, core 3 on core 2's."""
    machine = "knl-7250[cores=4,contention=false]"
    graph = ss.TaskGraph.from_edges([1, 0.5, 1, 0.5, 5, 5, 5, 5], [(0, 4), (0, 5), (2, 6), (2, 7)])
    policy = "work-stealing[victims=hierarchical]"
    schedule = ss.simulate(graph, machine, policy, engine=engine, runtime=ss.RuntimeProfile())
    assert {int(schedule.executor[task]) for task in (4, 5)} == {0, 1}
    assert {int(schedule.executor[task]) for task in (6, 7)} == {2, 3}


def test_the_executor_is_the_worker(engine):
    """1 runs on core 2, as 3 before it, when core 1 is idle, too, and would be the lowest number that is free."""
    seconds = [[3.0, 1, 1], [2, 4, 2], [2, 1, 2], [3, 1, 2]]
    graph = ss.TaskGraph.from_edges(seconds, [(3, 1)], edge_bytes=[2.0])
    machine = "generic[cores=3,kinds=each,link_Bps=1.0,data=sent]"
    tasks = ss.simulate(graph, machine, "work-stealing", engine=engine).tasks
    assert tasks["executor"].tolist() == tasks["first_core"].tolist() == [0, 2, 1, 2]


def test_victims_are_those_named():
    with pytest.raises(SpecError, match="expected one of random, near, hierarchical"):
        ss.policy("work-stealing[victims=rich]")


@settings(deadline=None)
@given(graphs())
def test_no_core_idles_beside_a_ready_task(graph):
    """Graham's bound, for tasks of one core; the same on both engines, and for the same seed."""
    one, other = (
        ss.simulate(graph, "generic[cores=3]", "work-stealing", engine=engine, seed=4)
        for engine in ("simpy", "native")
    )
    assert one.start_s.tolist() == other.start_s.tolist()
    assert one.executor.tolist() == other.executor.tolist()
    assert one.makespan_s <= (graph.work_s / 3 + graph.critical_path_s) * (1 + 1e-12)


def test_workers_of_a_layout(engine):
    """Two workers of two cores each: both are dealt two tasks, and run the newest on both cores; five do not fit."""
    graph = ss.TaskGraph.from_edges([2.0] * 4, kinds=["even"] * 4)
    even = ss.CostModel(curves={"even": ss.Curve(0.0)})
    schedule = ss.simulate(
        graph, "generic[cores=4]", "work-stealing", layout="2x2", costs=even, engine=engine
    )
    assert schedule.tasks[["width", "first_core", "start_s", "executor"]].to_numpy().tolist() == [
        [2, 0, 1, 0], [2, 2, 1, 1], [2, 0, 0, 0], [2, 2, 0, 1]
    ]  # fmt: skip
    with pytest.raises(LayoutError, match="the layout 5x1 needs 5 cores"):
        ss.simulate(graph, "generic[cores=4]", "work-stealing", layout="5x1", engine=engine)


def test_lws_runs_the_oldest_and_steals_the_newest(engine):
    """0 leaves 1 to 4, of levels 2, 5, 5 and 1: core 0 runs the older of the highest, 2, and core 1 steals 3.

    By age alone, core 0 runs 1 and then 2 of 5 s, and core 1 steals 4 and then 3.
    """
    graph = ss.TaskGraph.from_edges([1, 2, 5, 5, 1], FAN)
    for policy, starts in ("lws", [0, 6, 1, 1, 6]), ("lws[priorities=false]", [0, 1, 3, 2, 1]):
        schedule = ss.simulate(graph, "generic[cores=2]", policy, engine=engine)
        assert schedule.tasks["first_core"].tolist() == [0, 0, 0, 1, 1]
        assert schedule.start_s.tolist() == starts


def test_lws_takes_recorded_priorities_and_is_starpus(engine):
    """On one core the recorded priorities decide, and levels without any; a note says which.

    `runtime[system=starpu-lws]` is the same rule.
    """
    none = np.zeros(5)
    run = Recording(none, none + 1.0, none.astype(np.int32), ("a",), np.array([9.0, 1.0, 5.0, 5.0, 2.0]))
    for recording, order, note in (
        (run, [0, 2, 3, 4, 1], "priorities of tasks are the recorded ones"),
        (None, [0, 1, 4, 2, 3], "no priorities recorded: those of tasks are levels"),
    ):
        graph = ss.TaskGraph.from_edges([1, 9, 1, 1, 2], FAN, recording=recording)
        found = ss.simulate(graph, "generic[cores=1]", "lws", engine=engine)
        assert found.start_order.tolist() == order
        assert note in found.notes
        same = ss.simulate(graph, "generic[cores=3]", "runtime[system=starpu-lws]", engine=engine)
        as_lws = "lws" if recording else "lws[priorities=false]"
        assert same.start_s.tolist() == ss.simulate(graph, "generic[cores=3]", as_lws).start_s.tolist()
