"""Tasks that run on some kinds of cores only (docs/semantics.md, rule 11), by hand, on both engines."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import simsched as ss
from simsched.errors import LayoutError, PolicyError

MACHINE = "generic[cores=2,kinds=each]"
#: Five tasks: 0 and 1 run on core 1 only, 2 on core 0 only, 3 and 4 anywhere.
SECONDS = [[inf, 2.0], [inf, 1.0], [3.0, inf], [1.0, 1.0], [1.0, 1.0]]


@pytest.mark.rule("Kinds of cores")
@pytest.mark.parametrize(
    ("policy", "executor", "start_s"),
    [
        # At 0, core 0 takes 2, the first that it can run, and core 1 takes 0, then 1; 3 and 4 start when these end.
        ("fifo", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # Of one instant, the lower index first.
        ("fifo[order=lifo]", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # By levels of mean seconds, 3, 2, 1, 1, 1: core 0 takes 2, core 1 takes 0, 1; then 3 and 4.
        ("critical-path", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # Each is pushed where it ends first: 3 after 2 at 4 on both, to core 0; 4 to core 1.
        ("dm", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # The ratio of tasks that no other kind can run is 0: they go first; by levels 0 before 1.
        ("heteroprio[spoliation=false]", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # By upward ranks; each where it finishes first, also in idle time.
        ("heft", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # Where it starts first of those that can run it.
        ("hlfet", [1, 1, 0, 0, 1], [0, 2, 0, 3, 3]),
        # Dealt in turn, but for what a core cannot run: core 0 has 2 and 4, core 1 has 0, 1 and 3.
        # Core 0 runs 4, the newest, then 2; core 1 runs 3, 1 and 0.
        ("work-stealing", [1, 1, 0, 1, 0], [2, 1, 1, 0, 0]),
    ],
)
def test_idle_executors_take_the_first_task_that_they_can_run(policy, executor, start_s, replay):
    schedule = replay(SECONDS, [], policy, MACHINE, layout="2x1")
    assert schedule.executor.tolist() == executor
    assert schedule.start_s.tolist() == start_s


@pytest.mark.rule("Kinds of cores")
def test_a_worker_steals_the_oldest_task_that_it_can_run(replay):
    """0 makes 1, 2 and 3 ready on core 0; core 1 cannot run 1, the oldest, and steals 2; core 0 runs 3, then 1."""
    seconds = [[1.0, 9.0], [1.0, inf], [2.0, 2.0], [1.0, 1.0]]
    schedule = replay(seconds, [(0, 1), (0, 2), (0, 3)], "work-stealing", MACHINE, layout="2x1")
    assert schedule.executor.tolist() == [0, 0, 1, 0]
    assert schedule.start_s.tolist() == [0, 2, 1, 1]


@pytest.mark.rule("Kinds of cores")
def test_shortcuts_are_off(replay):
    """With small tasks inline, core 0 would run 1 after 0; it cannot run it."""
    seconds = [[1.0, 1.0], [inf, 1.0], [9.0, 9.0]]
    schedule = replay(seconds, [(0, 1)], "critical-path[small_s=5]", MACHINE, layout="2x1")
    assert schedule.executor.tolist() == [1, 1, 0]


@pytest.mark.rule("Kinds of cores")
@pytest.mark.parametrize(
    ("policy", "layout", "message"),
    [
        (
            "fifo",
            "1x1",
            "layout 1x1 has no executor for task 0, which runs on cores of kind core 1 only: take more",
        ),
        ("heft", "1x1", "the layout 1x1 has no executor for task 0"),
        ("lws", "1x1", "the layout 1x1 has no executor for task 0"),
        ("sequential", None, "the layout 1x1 has no executor for task 0"),
        ("corun", None, "corun lets each task run on any core, and task 0 cannot run on all kinds"),
    ],
)
def test_layouts_and_policies_that_cannot_run_all_tasks_are_errors(policy, layout, message, replay):
    with pytest.raises((LayoutError, PolicyError), match=message):
        replay(SECONDS, [], policy, MACHINE, layout=layout)


@pytest.mark.rule("Kinds of cores")
def test_a_policy_sees_where_tasks_can_run(engine):
    """It fills widths from cores that can run a task; naming another one is an error."""

    class Named(ss.Policy):
        core = None

        def decide(self, view):
            if view.ready and view.idle_cores:
                task = view.ready[0]
                assert [view.seconds(task, core=core) for core in (0, 1)] == SECONDS[task]
                yield ss.Start(task, cores=() if self.core is None else (self.core,))

    graph = ss.TaskGraph.from_edges(SECONDS, [(i, i + 1) for i in range(4)], kinds="MatMul")
    schedule = ss.simulate(graph, MACHINE, Named(), engine=engine)
    assert [schedule.cores(task).tolist() for task in range(3)] == [[1], [1], [0]]
    Named.core = 0
    with pytest.raises(
        PolicyError, match=r"task 0 \(MatMul 0\) on core 0, of kind core 0, which cannot run it"
    ):
        ss.simulate(graph, MACHINE, Named(), engine=engine)


@pytest.mark.rule("Kinds of cores")
def test_what_is_told_of_such_graphs_is_finite(engine):
    """The longest path is task 2; core 1 runs it from 0 on, so that core 0 runs 1 after 0."""
    graph = ss.TaskGraph.from_edges([[2.0, inf], [3.0, 1.0], [inf, 4.0]], [(0, 1)])
    schedule = ss.simulate(graph, MACHINE, "fifo", engine=engine)
    assert (schedule.layout, schedule.makespan_s) == ("2x1", 5.0)
    assert ss.simulate(graph, MACHINE, "critical-path", layout="best", engine=engine).makespan_s == 5.0
    bounds = ss.bounds(graph, MACHINE, thorough=True)
    assert bounds.critical_path_s == 4.0
    assert np.isfinite(bounds.bound_s)
    assert all(np.isfinite(value) for value in schedule.metrics().values() if isinstance(value, float))
    # In sequence on core 1, but for task 0: 2 + 1 + 4; on core 0: 2 + 3 + 4. One executor cannot run all of them.
    frame = ss.compare(graph, MACHINE, samples=1)
    assert set(frame["speedup"]) == {7 / 5}
    assert frame["over_sequential"].isna().all()
    assert frame.notes[0] == (
        "left out, as they have no core for tasks that only some kinds of cores can run: sequential, corun, kind-widths"
    )
    assert ss.tune(graph, MACHINE, "fifo", samples=1)["layout"].tolist() == ["2x1"]
