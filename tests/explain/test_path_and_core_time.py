"""The critical path through time and where the cores' time went, by hand on both engines."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError


def path(schedule):
    frame = schedule.explain().critical_path
    return list(
        zip(frame["part"], frame["task"], frame["seconds_s"], frame["after"], frame["other"], strict=True)
    )


def core_time(schedule):
    frame = schedule.explain().core_time
    assert not np.signbit(frame["core_s"][frame["core_s"].abs() < 1e-9]).any(), "a rounding error, or -0.0"
    return {cause: seconds for cause, seconds in zip(frame["cause"], frame["core_s"], strict=True) if seconds}


def test_through_a_dependency_and_through_a_core(replay):
    """One core: 0, then 1 has it, which 2 waits for. Two cores: 2 follows 0."""
    one = replay([1, 2, 3], [(0, 2)], "fifo", "generic[cores=1]")
    assert path(one) == [("run", 0, 1, "start", -1), ("run", 1, 2, "no core", 0), ("run", 2, 3, "no core", 1)]
    two = replay([1, 2, 3], [(0, 2)], "fifo")
    assert path(two) == [("run", 0, 1, "start", -1), ("run", 2, 3, "dependency", 0)]


def test_through_the_scheduler(replay):
    """Dispatch 0.5 s, three cores: task 2 waits for the decisions on 1 and 0; the first start is at 0.5 s."""
    schedule = replay([9, 9, 9], [], machine="generic[cores=3]", runtime=ss.RuntimeProfile(dispatch_s=0.5))
    assert path(schedule) == [
        ("dispatch", 1, 0.5, "scheduler", 0), ("dispatch", 2, 0.5, "scheduler", 1), ("run", 2, 9, "scheduler", 1)
    ]  # fmt: skip
    assert schedule.makespan_s == 10


def test_through_a_decision_on_a_task_that_waits_for_data(engine):
    """Task 3 waits for the decision on 2 alone: the 0.4 s that 2 waits for its bytes are not on the path."""
    graph = ss.TaskGraph.from_edges([1, 9, 9, 9], [(0, 1), (0, 2), (0, 3)], edge_bytes=[0, 0.4, 0])
    machine, runtime = "generic[cores=3,data=sent,link_Bps=1.0]", ss.RuntimeProfile(dispatch_s=0.5)
    schedule = ss.simulate(graph, machine, "critical-path", engine=engine, runtime=runtime)
    assert schedule.start_s.tolist() == [0.5, 2, 2.9, 3]
    assert path(schedule) == [
        ("run", 0, 1, "start", -1), ("dispatch", 1, 0.5, "dependency", 0), ("dispatch", 2, 0.5, "scheduler", 1),
        ("dispatch", 3, 0.5, "scheduler", 2), ("run", 3, 9, "scheduler", 2),
    ]  # fmt: skip


class Planned(ss.PlannedPolicy):
    name = "planned"

    def plan(self, platform, seed):
        return ss.Assignment(np.array([1, 0, 0]), np.arange(3))


@pytest.mark.parametrize(("route", "seconds"), [("", 20), (",route=host", 40)])
def test_through_the_object_that_arrived_last(engine, route, seconds):
    """0 ends at 1 s, and its 20 B come at 21, or at 41 by way of the host; 2 has had its core since 10 s."""
    graph = ss.TaskGraph.from_edges(
        [1.0, 10, 1], [(0, 2), (1, 2)], edge_bytes=[20.0, 0], names=["a", "b", "c"]
    )
    machine = f"generic[cores=2,data=sent{route},link_Bps=1,link_latency_s=0]"
    schedule = ss.simulate(graph, machine, Planned, "2x1", engine=engine)
    assert path(schedule) == [
        ("run", 0, 1, "start", -1), ("data", 2, seconds, "dependency", 0), ("run", 2, 1, "dependency", 0)
    ]  # fmt: skip
    why = schedule.explain(2)
    assert (why.data_object, why.data_from, why.data_B, why.data_left_s) == (0, 0, 20, 1)
    assert "object 0        20 B of a, sent at 1 s" in str(why)
    assert schedule.explain(0).data_left_s is None
    # A task that reads its objects on its core begins with that when 1 has ended.
    read = ss.simulate(graph, machine.replace("sent", "read"), Planned, "2x1", engine=engine)
    assert path(read)[0] == ("run", 1, 10, "start", -1)


def test_through_the_decision_with_which_an_object_was_sent(engine):
    """Cores 2 and 3 are one place: 3 has core 2 at 3 s, from when on 9 B of 0 are under way to 4, too, placed at 6."""
    first_core = {0: 0, 1: 2, 2: 3, 3: 2, 4: 3}

    class There(ss.Policy):
        name = "there"

        def decide(self, view):
            for task in view.ready:
                if first_core[task] in view.idle_cores:
                    yield ss.Start(task, cores=(first_core[task],))

    graph = ss.TaskGraph.from_edges([1, 3, 6, 2, 5], [(0, 3), (0, 4)], edge_bytes=9, edge_objects=[0, 0])
    machine = "generic[cores=4,cores.per_tile=2,places=tile,data=sent,link_Bps=1,link_latency_s=0]"
    schedule = ss.simulate(graph, machine, There, engine=engine)
    assert path(schedule) == [
        ("run", 1, 3, "start", -1), ("data", 4, 9, "scheduler", 3), ("run", 4, 5, "scheduler", 3)
    ]  # fmt: skip


@pytest.mark.parametrize("policy", ["heft", "dmda", "fifo"])
def test_from_the_departure_of_an_input_to_the_arrival_of_an_output(engine, policy):
    """3 B of an input come from the host; 1 s and 1 s on one core; 5 B of an output go there: 10 s, as the makespan."""
    graph = ss.TaskGraph.from_edges([1.0, 1], [(0, 1)], edge_bytes=4, input_bytes=[3, 0], output_bytes=[0, 5])
    machine = "generic[cores=2,home=host,data=sent,link_Bps=1,link_latency_s=0]"
    schedule = ss.simulate(graph, machine, policy, "2x1", engine=engine)
    assert [row[:3] for row in path(schedule)] == [
        ("data", 0, 3),
        ("run", 0, 1),
        ("run", 1, 1),
        ("data", 1, 5),
    ]
    assert schedule.makespan_s == 10


def test_work_dependencies_and_tail(replay):
    """Two cores for 4 s: 6 s work; until 1 s all busy, then core 1 until 2 s; after the last start at 1 s, 2 s tail."""
    schedule = replay([1, 2, 3], [(0, 2)], "fifo")
    assert core_time(schedule) == {"work": 6, "tail": 2}
    late = replay([3, 1, 1], [(0, 2)], "fifo")
    # Core 1 is idle from 1 to 3 s, as 2 waits for 0, and from 3 to 4 s, after the last start.
    assert core_time(late) == {"work": 5, "dependencies": 2, "tail": 1}


def test_queue_and_dispatch(replay):
    """Dispatch 1 s, two cores, tasks of 9 s start at 1 and 2 s: from 1 to 2 s one core is held; the tail is 1 s."""
    schedule = replay([9, 9], [], runtime=ss.RuntimeProfile(dispatch_s=1.0))
    assert core_time(schedule) == {"work": 18, "dispatch": 1, "tail": 1}
    three = replay([9, 9, 9], [], machine="generic[cores=3]", runtime=ss.RuntimeProfile(dispatch_s=1.0))
    assert core_time(three) == {"work": 27, "dispatch": 2, "queue": 1, "tail": 3}


def test_cores_that_no_executor_owns(replay):
    """Four cores, one executor of two, one core reserved: 1 s each of work, of a member without, idle and reserved."""
    schedule = replay([1], [], "critical-path[reserved=1]", "generic[cores=4]", layout="1x2")
    seconds = schedule.makespan_s
    parts = {"work": seconds, "members without work": seconds, "reserved": seconds, "layout": seconds}
    assert core_time(schedule) == pytest.approx(parts)


def test_what_a_team_takes_beyond_what_one_core_would_need(engine):
    """Four cores. Half serial: 1 s takes 5/8 s, 1.5 core-seconds lost; two pieces of it: 3/4 s, two members idle."""
    machine, halves = "generic[cores=4]", ss.Curve(0.5)
    divided = {"half": halves, "pieces": ss.Curve(0.0, grain_flops=1e9)}
    costs = ss.CostModel(divided)

    def parts(kind):
        graph = ss.TaskGraph.from_edges([1.0], kinds=kind, flops=[2e9])
        schedule = ss.simulate(
            graph, machine, "sequential", costs=costs, runtime=ss.RuntimeProfile(), engine=engine
        )
        return schedule.makespan_s, core_time(schedule)

    assert parts("half") == (0.625, {"work": 1, "overhead": 1.5})
    assert parts("pieces") == (0.5, {"work": 1, "members without work": 1})
    # On kinds that do not divide at all one member works, and three have nothing to do.
    assert parts("unknown") == (1, {"work": 1, "members without work": 3})


def test_a_team_that_waits_for_its_bytes_and_a_noisy_one(engine):
    """1 s moves 10 GB, which four cores get at 20 GB/s: 1/2 s, 2 core-seconds; twice as long by noise: 2 more."""
    graph = ss.TaskGraph.from_edges([1.0], kinds=["MatMul"], bytes_B=[1e10], flops=[1e12])
    machine = "generic[cores=4,core_bandwidth_Bps=1e10,bandwidth_Bps=2e10]"
    schedule = ss.simulate(
        graph, machine, "sequential", factors=[2.0], runtime=ss.RuntimeProfile(), engine=engine
    )
    assert core_time(schedule) == pytest.approx({"work": 1, "waiting for memory": 1, "noise": 2})


def test_threads_of_one_core_are_counted_once(replay):
    """Two executors on one core take turns: 2 s each, 2 s of them slow-down, and 2 s counted twice."""
    policy = "fifo[oversubscribe=true]"
    schedule = replay([1, 1], [], policy, "generic[cores=1,share_cores=true]", layout="2x1")
    assert schedule.makespan_s == 2
    assert core_time(schedule) == {"work": 2, "hardware threads": 2, "threads of one core": -2}


def test_threads_with_equal_shares_of_all_cores_keep_all_busy(replay):
    """Three threads on two cores take 1.5 times as long until 1.5 s; then two go on, alone on a core each, to 5.5 s."""
    machine, policy = "generic[cores=2,share_cores=true]", "fifo[oversubscribe=fair]"
    schedule = replay([5, 1, 5], [], policy, machine, layout="3x1")
    assert schedule.makespan_s == 5.5
    assert core_time(schedule) == {"work": 11, "hardware threads": 1.5, "threads of one core": -1.5}


def test_noise_and_team_changes(engine):
    """Twice as long as estimated: 1 s noise. A team of two after one of one: 0.5 s."""
    graph = ss.TaskGraph.from_edges([1], [])
    noisy = ss.simulate(graph, "generic[cores=1]", "fifo", factors=[2.0], engine=engine)
    assert core_time(noisy) == {"work": 1, "noise": 1}

    class Growing(ss.Policy):
        name = "growing"

        def decide(self, view):
            if view.ready:
                yield ss.Start(view.ready[0], width=view.ready[0] + 1)

    chain = ss.TaskGraph.from_edges([1, 1], [(0, 1)])
    resized = ss.simulate(
        chain, "generic[cores=2]", Growing, runtime=ss.RuntimeProfile(resize_s=0.5), engine=engine
    )
    assert core_time(resized)["team changes"] == pytest.approx(2 * 0.5)


def test_memory_bandwidth(engine):
    """Two tasks that ask for all of the bandwidth each take 2 s instead of 1."""
    machine = (
        "generic[cores=2,core_bandwidth_Bps=1e10,bandwidth_Bps=1e10,contention=false,share_bandwidth=true]"
    )
    graph = ss.TaskGraph.from_edges([1, 1], [], bytes_B=[1e10, 1e10])
    schedule = ss.simulate(graph, machine, "fifo", layout="2x1", engine=engine)
    assert schedule.makespan_s == pytest.approx(2)
    assert core_time(schedule) == pytest.approx({"work": 2, "memory bandwidth": 2})
    told = schedule.explain().slow_downs["memory bandwidth"]
    assert told.tolist() == pytest.approx([1, 1])


def test_an_empty_graph(replay):
    why = replay([], []).explain()
    assert len(why.tasks) == len(why.critical_path) == len(why.what_if()) == 0
    assert why.core_time["core_s"].sum() == 0
    assert "0 s" in str(why)
    assert why._repr_html_()


def recorded():
    """Lane 0: 0 from 1 to 3, 1 within it from 2 to 2.5, 2 from 4 to 5; lane 1: 3 from 2 to 6, before 0 has finished."""
    starts, finishes = np.array([1, 2, 4, 2.0]), np.array([3, 2.5, 5, 6.0])
    recording = ss.graph.Recording(starts, finishes, np.array([0, 0, 0, 1], np.int32), ("a", "b"))
    return ss.TaskGraph.from_edges(finishes - starts, [(0, 2), (0, 3)], recording=recording).recorded


def test_a_recorded_run_with_overlaps_and_gaps():
    why = recorded().explain()
    assert "what decisions cost is not known" in why.notes[0]
    # 2 is ready at 3 s and its lane is idle; 3 starts before its predecessor has finished: only its lane is known.
    assert why.tasks["depends_on"].tolist() == [-1, -1, 0, -1]
    assert why.tasks["queue_s"][2] == 1
    assert why.critical_path["seconds_s"].sum() == recorded().makespan_s == 5
    # On two lanes from 1 to 6 s: 7.5 s of tasks, half a second of it under another one.
    parts = core_time(recorded())
    assert parts["work"] == 7.5
    assert parts["threads of one core"] == -0.5
    assert sum(parts.values()) == 10


def test_what_a_recorded_run_cannot_tell():
    with pytest.raises(SimschedError, match="real run"):
        recorded().explain().what_if()
    with pytest.raises(SimschedError, match="simulated schedules only"):
        _ = ss.explain(recorded(), causes=True).core_time


def test_a_graphs_name_is_printed_without_controls():
    graph = ss.TaskGraph.from_edges([1.0], name="a\x1b[2Jb")
    assert str(ss.simulate(graph, "generic", "fifo").explain()).startswith("a\\x1b[2Jb\n")
