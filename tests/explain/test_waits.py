"""Why tasks start when they do, by hand on both engines."""

import pytest

import simsched as ss
from simsched.errors import SimschedError

ONE_CORE = "generic[cores=1]"


def rows(schedule):
    frame = schedule.waits
    columns = ["dependency_s", "no_core_s", "queue_s", "dispatch_s", "reason"]
    return [tuple(row) for row in frame[columns].itertuples(index=False)]


def test_dependency(replay):
    """0 (1 s) and 1 (2 s) side by side, 2 starts the moment 1 finishes."""
    schedule = replay([1, 2, 3], [(0, 2), (1, 2)])
    assert rows(schedule) == [(0, 0, 0, 0, "none"), (0, 0, 0, 0, "none"), (2, 0, 0, 0, "dependency")]
    assert schedule.waits["depends_on"].tolist() == [-1, -1, 1]


def test_of_predecessors_that_finish_together_the_last_index_counts(replay):
    assert replay([1, 1, 3], [(0, 2), (1, 2)]).waits["depends_on"].tolist() == [-1, -1, 1]


def test_no_core(replay):
    """One core: 0 for 1 s, 1 for 2 s, then 2, which is ready since 1 s."""
    schedule = replay([1, 2, 3], [(0, 2)], "fifo", ONE_CORE)
    assert rows(schedule)[1:] == [(0, 1, 0, 0, "no core"), (1, 2, 0, 0, "no core")]
    assert schedule.waits["freed_by"].tolist() == [-1, 0, 1]
    one = schedule.explain(2)
    assert one.holders.to_dict("records") == [{"task": 1, "name": "task 1", "n_cores": 1, "seconds_s": 2.0}]
    assert (one.ready_s, one.no_core_s, one.start_s, one.depends_on) == (1, 2, 3, 0)


def test_cores_that_no_executor_owns_are_not_idle_cores(replay):
    """A layout of one executor on three cores: the two others are of no use to task 1."""
    schedule = replay([1, 2], [], "fifo", "generic[cores=3]", layout="1x1")
    assert rows(schedule)[1] == (0, 1, 0, 0, "no core")


def test_dispatch_and_the_queue_behind_others(replay):
    """A central scheduler of 0.5 s a start and three idle cores: each task waits for the decisions before its own."""
    schedule = replay([9, 9, 9], [], machine="generic[cores=3]", runtime=ss.RuntimeProfile(dispatch_s=0.5))
    assert rows(schedule) == [
        (0, 0, 0, 0.5, "dispatch"), (0, 0, 0.5, 0.5, "queue"), (0, 0, 1.0, 0.5, "queue")
    ]  # fmt: skip


def test_pollers_make_decisions_dearer(replay):
    """Pop 1 s plus 0.5 s a further poller, three cores: decisions of 2, 1.5 and 1 s."""
    runtime = ss.RuntimeProfile(pop_s=1.0, pop_per_poller_s=0.5)
    schedule = replay([10, 10, 10], [], "fifo", "generic[cores=3]", runtime=runtime)
    assert schedule.waits["dispatch_s"].tolist() == [2, 1.5, 1]
    assert schedule.waits["queue_s"].tolist() == [0, 2, 3.5]


def test_a_core_is_held_while_a_decision_for_it_is_taken(replay):
    """One core, dispatch 1 s. 0: decided until 1, runs until 2 s. 1 waits 2 s for the core, 1 s for its dispatch."""
    schedule = replay([1, 1], [], machine=ONE_CORE, runtime=ss.RuntimeProfile(dispatch_s=1.0))
    assert rows(schedule) == [(0, 0, 0, 1, "dispatch"), (0, 2, 0, 1, "no core")]


class Patient(ss.Policy):
    """Starts a task once nothing else runs, on one core."""

    name = "patient"

    def decide(self, view):
        if not view.running and view.ready:
            yield ss.Start(view.ready[0])


def test_a_policy_that_holds_a_task_back(engine):
    """Two idle cores; the policy lets task 1 wait 2 s for nothing."""
    graph = ss.TaskGraph.from_edges([2, 1], [])
    schedule = ss.simulate(graph, "generic[cores=2]", Patient, engine=engine)
    assert rows(schedule)[1] == (0, 0, 2, 0, "queue")


class Wide(ss.Policy):
    """Task 0 on one core, task 1 on two."""

    name = "wide"

    def decide(self, view):
        for task in view.ready:
            if task + 1 <= len(view.idle_cores):
                yield ss.Start(task, width=task + 1)
                return


def test_fewer_idle_cores_than_a_task_needs_are_no_core(engine):
    """Task 1 needs two cores, one is idle for 2 s."""
    graph = ss.TaskGraph.from_edges([2, 1], [])
    schedule = ss.simulate(graph, "generic[cores=2]", Wide, engine=engine)
    assert rows(schedule)[1] == (0, 2, 0, 0, "no core")
    assert schedule.explain(1).holders["task"].tolist() == [0]


def test_small_tasks_run_inline_without_a_decision(replay):
    """Dispatch 0.25 s. 0 until 1.25 s; 1 is small and runs there at once; no decision is charged to it."""
    policy = "critical-path[small_s=0.5]"
    schedule = replay([1, 0.25], [(0, 1)], policy, ONE_CORE, runtime=ss.RuntimeProfile(dispatch_s=0.25))
    assert rows(schedule) == [(0, 0, 0, 0.25, "dispatch"), (1.25, 0, 0, 0, "dependency")]


def test_a_buffer_hides_the_decision(replay):
    """Dispatch 1 s. 0 decided until 1, runs 4 s; 1 is handed over meanwhile and starts at 5 s: 5 s without a core."""
    policy, runtime = "critical-path[buffered=true]", ss.RuntimeProfile(dispatch_s=1.0)
    schedule = replay([4, 4], [], policy, ONE_CORE, runtime=runtime)
    assert rows(schedule)[1] == (0, 5, 0, 0, "no core")


def test_tasks_by_name_and_those_that_are_not_there():
    graph = ss.TaskGraph.from_edges([1, 1, 1], [], names=["a", "b", "b"])
    schedule = ss.simulate(graph, ONE_CORE, "fifo")
    assert schedule.explain("a").task == 0
    for wrong, message in (("c", "no task is called 'c'"), ("b", "2 tasks are called"), (3, "there is no task 3"),
                           (-1, "tasks are 0 to 2"), (True, "no task True")):  # fmt: skip
        with pytest.raises(SimschedError, match=message):
            schedule.explain(wrong)


def test_names_are_escaped_in_cards():
    graph = ss.TaskGraph.from_edges([1, 1], [], names=["<script>x</script>", "\x1b[2J"], kinds="<b>")
    schedule = ss.simulate(graph, ONE_CORE, "fifo")
    html = (
        schedule.explain(1)._repr_html_()
        + schedule.explain(0)._repr_html_()
        + schedule.explain()._repr_html_()
    )
    assert "<script" not in html
    assert "<b>" not in html.replace("<b>Where", "").replace("<b>&lt;script", "").replace("<b>\\x1b", "")
    assert "\x1b" not in html + str(schedule.explain(1))


def test_a_wait_for_data(engine):
    """0 ends at 1.5; 1 is decided until 2, 2 until 2.5; from then on its 4 bytes need 2 s."""
    graph = ss.TaskGraph.from_edges([1, 9, 1], [(0, 1), (0, 2)], edge_bytes=[4, 4])
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    schedule = ss.simulate(
        graph, "generic[cores=2,link_Bps=2.0,data=sent]", "critical-path", engine=engine, runtime=runtime
    )
    assert schedule.start_s.tolist() == [0.5, 2, 4.5]
    assert schedule.waits[["queue_s", "dispatch_s", "data_s"]].values.tolist()[2] == [0.5, 0.5, 2]
    assert schedule.waits["reason"].tolist()[2] == "data"
    why = schedule.explain()
    assert dict(zip(why.core_time["cause"], why.core_time["core_s"], strict=True))["data"] == 2
    assert "waited for data" in str(schedule.explain(2))


def test_the_path_goes_through_waits_for_data(engine):
    """A chain over two cores: 1 s, 3 s on the way, 1 s."""
    graph = ss.TaskGraph.from_edges([1, 5, 1], [(0, 2)], edge_bytes=6)
    machine = "generic[cores=2,link_Bps=2.0,data=sent]"
    schedule = ss.simulate(graph, machine, "fifo", engine=engine)
    path = ss.explain(schedule).critical_path
    assert path["seconds_s"].sum() == schedule.makespan_s


def test_reading_from_afar_is_a_cause(engine):
    """2 reads 4 bytes for 2 s on core 1."""
    graph = ss.TaskGraph.from_edges([1, 1, 1], [(0, 1), (0, 2)], edge_bytes=4)
    machine = "generic[cores=2,link_Bps=2.0,data=read]"
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", engine=engine)
    why = schedule.explain()
    assert why.slow_downs["reading from afar"].tolist() == [0, 0, 2]
    assert why.slow_downs["cause unknown"].tolist() == [0, 0, 0]


def test_a_task_that_was_taken_over_ran_in_vain(engine):
    """Decisions of 0.5 s: 0 ran on core 0 from 0.5 to 2, when core 1, done with 1, takes it over, to start at 2.5."""
    graph = ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    schedule = ss.simulate(
        graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1", runtime=runtime, engine=engine
    )
    assert rows(schedule) == [(0, 0, 0, 1.0, "aborted"), (0, 0, 0.5, 0.5, "queue")]
    assert schedule.waits["aborted_s"].tolist() == [1.5, 0]
    assert "ran, and was aborted         1.5 s" in str(schedule.explain(0))
    path = schedule.explain().critical_path
    assert path[["begin_s", "end_s", "part", "task"]].values.tolist() == [
        [0.5, 2.0, "aborted", 0], [2.0, 2.5, "dispatch", 0], [2.5, 3.5, "run", 0]
    ]  # fmt: skip
    assert path["other"].tolist() == [-1, 0, 0]
    parts = schedule.explain().core_time.set_index("cause")["core_s"]
    assert (parts["work"], parts["aborted"], parts["dispatch"]) == (2.0, 1.5, 1.0)
