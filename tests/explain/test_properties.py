"""Parts add up, on random graphs, machines, policies and recordings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

import simsched as ss
from simsched.errors import EngineError
from simsched.explain.team_time import costs_of
from simsched.replay import simpy_engine
from simsched.replay.replay import Replay
from simsched.replay.sharing_replay import SharingReplay
from simsched.schedule.runs import first_start_s
from simsched.testing.equivalence import LIMITS, cases
from simsched.testing.invariants import RELATIVE

#: Start, length and lane of a recorded task.
SPANS = st.tuples(st.sampled_from([0, 0.5, 1, 2, 2.5]), st.sampled_from([0, 0.5, 1, 3]), st.integers(0, 2))


def check(schedule):
    why = schedule.explain()
    scale = max(float(schedule.finish_s.max(initial=0.0)), 1e-300)
    check_tasks(why, scale)
    check_path(why)
    total_s = schedule.n_cores * schedule.makespan_s
    assert why.core_time["core_s"].sum() == pytest.approx(total_s, rel=RELATIVE, abs=RELATIVE * scale)
    slower = schedule.finish_s - schedule.start_s - schedule.alone_s
    assert why.slow_downs.sum(axis=1).to_numpy() == pytest.approx(slower, rel=1e-6, abs=RELATIVE * scale)
    negative = why.core_time[why.core_time["core_s"] < -RELATIVE * scale * schedule.n_cores]
    assert set(negative["cause"]) <= {"noise", "cause unknown", "threads of one core"}
    check_teams(why)
    return why


def check_teams(why):
    """What a team takes is split without rest; its work is what one core needs, and so its share is the efficiency."""
    schedule, time = why.schedule, why.team_time
    parts = np.stack([time.work_s, time.memory_s, time.overhead_s, time.idle_s])
    taken = schedule.alone_s * schedule.widths
    assert (parts >= -1e-12 * taken).all()
    assert parts.sum(axis=0) == pytest.approx(taken, rel=1e-12)
    work = why.core_time.set_index("cause").loc["work", "share"]
    if schedule.inputs is not None and schedule.makespan_s and schedule.inputs.costs.measured is None:
        one_core_s = costs_of(schedule).one_core_s.sum()
        assert work == pytest.approx(one_core_s / schedule.makespan_s / schedule.n_cores)


def check_tasks(why, scale):
    tasks, parts = why.tasks, ["dependency_s", "no_core_s", "queue_s", "dispatch_s", "data_s", "aborted_s"]
    assert (tasks[parts[1:]].to_numpy() >= 0).all()
    assert tasks[parts].sum(axis=1).to_numpy() == pytest.approx(
        why.schedule.start_s, rel=1e-12, abs=1e-15 * scale
    )
    waits = (tasks[parts[1:]] > 0).any(axis=1)
    assert waits.equals(tasks["reason"].isin(["no core", "queue", "dispatch", "data", "aborted"]))


def check_path(why):
    path, schedule = why.critical_path, why.schedule
    if not schedule.makespan_s:
        assert len(path) == 0
        return
    begin_s, end_s = first_start_s(schedule), schedule.finish_s.max()
    if schedule.messages is not None:
        begin_s, end_s = schedule.messages.span(begin_s, end_s)
    assert path["begin_s"].iloc[0] == begin_s
    assert path["end_s"].iloc[-1] == end_s
    assert (path["begin_s"].to_numpy()[1:] == path["end_s"].to_numpy()[:-1]).all()
    assert (path["seconds_s"] > 0).all()


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(cases())
def test_simulated_schedules(case):
    schedule = ss.simulate(**case)
    why = check(schedule)
    assert why.tasks["dependency_s"].to_numpy().tolist() == schedule.ready_s.tolist()
    check(replace(schedule, inputs=None, engine="measured"))
    # What the walk through the schedule leaves over is rounding: it takes the engine's rates.
    left = why.slow_downs["cause unknown"].abs().max() if schedule.graph.n_tasks else 0.0
    assert left <= RELATIVE * max(float(schedule.finish_s.max(initial=0.0)), 1e-300)


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(cases(LIMITS, st.just(ss.policy("heteroprio"))))
def test_schedules_with_aborted_runs(case):
    """The core-seconds of aborted runs are those of `metrics()`; nothing is negative, and nothing counted twice."""
    try:
        schedule = ss.simulate(**case)
    except EngineError:
        assume(False)
    why = check(schedule)
    left = why.slow_downs["cause unknown"].abs().max() if schedule.graph.n_tasks else 0.0
    assert left <= RELATIVE * max(float(schedule.finish_s.max(initial=0.0)), 1e-300)
    aborted = why.core_time.set_index("cause")["core_s"].get("aborted", 0.0)
    assert aborted == pytest.approx(schedule.metrics()["lost_core_s"])
    runs = schedule.lost_runs
    seconds = np.bincount(runs["task"], runs["end_s"] - runs["start_s"], schedule.graph.n_tasks)
    assert why.tasks["aborted_s"].to_numpy() == pytest.approx(seconds)


@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(cases())
def test_decisions_cost_what_the_engine_says(case):
    """Buffers hide decisions, and those that fill them from a shared queue look like those of others."""
    cost_s = {}
    # Replays that look for a layout are not listened to.
    case["layout"] = ss.simulate(**case, engine="simpy").layout

    class Listening(Replay):
        def begin(self, decision):
            cost_s[decision.task] = decision.delay_s
            super().begin(decision)

    class ListeningSharing(SharingReplay, Listening):
        pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simpy_engine, "Replay", Listening)
        patch.setattr(simpy_engine, "SharingReplay", ListeningSharing)
        schedule = ss.simulate(**case, engine="simpy")
    assert len(cost_s) == schedule.graph.n_tasks
    costs = [cost_s[task] for task in range(len(cost_s))]
    dispatch_s = schedule.waits["dispatch_s"].to_numpy()
    if "buffered" in schedule.policy:
        assert (
            dispatch_s <= max(costs, default=0.0) * (1 + RELATIVE) + np.spacing(schedule.start_s) * 4
        ).all()
    elif "pooled" not in schedule.policy:
        assert dispatch_s == pytest.approx(costs, rel=RELATIVE, abs=1e-15 * max([*schedule.start_s, 1.0]))


@settings(max_examples=20)
@given(st.lists(SPANS, max_size=12), st.sampled_from([0.0, 0.3]), st.integers(0, 99))
def test_recorded_runs(tasks, density, seed):
    """Tasks anywhere on three lanes, over each other or apart, whatever they depend on."""
    starts, lengths, lanes = (np.array([task[i] for task in tasks], np.float64) for i in range(3))
    generator = np.random.default_rng(seed)
    edges = np.argwhere(np.triu(generator.random((len(tasks),) * 2) < density, 1))
    recording = ss.graph.Recording(starts, starts + lengths, lanes.astype(np.int32), ("a", "b", "c"))
    check(ss.TaskGraph.from_edges(lengths, edges, recording=recording).recorded)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(cases())
def test_both_engines_are_explained_alike(case):
    one, other = (ss.simulate(**case, engine=engine).explain() for engine in ("simpy", "auto"))
    assert one.tasks.equals(other.tasks)
    assert one.critical_path.equals(other.critical_path)
    assert one.core_time.equals(other.core_time)


@pytest.mark.parametrize("data", ["sent", "sent,route=host", "sent,home=host", "read"])
def test_a_task_on_the_path_that_takes_longer_lengthens_the_makespan_as_much(data):
    """Of plans, in which nothing changes its order: the path is a longest one through tasks, cores and messages."""
    random, n = np.random.default_rng(0), 12
    for _ in range(5):
        edges = np.argwhere(np.triu(random.random((n, n)) < 0.25, 1))
        seconds, bytes_B = random.integers(5, 20, n) * 1.0, random.integers(5, 30, len(edges))
        graph = ss.TaskGraph.from_edges(seconds, edges, edge_bytes=bytes_B)
        arguments = graph, f"generic[cores=3,data={data},link_Bps=1,link_latency_s=1]", "heft", "3x1"
        schedule = ss.simulate(*arguments)
        path = schedule.explain().critical_path
        for task in path["task"][path["part"] == "run"]:
            longer = ss.simulate(*arguments, factors=1 + 1e-3 * (np.arange(n) == task)).makespan_s
            assert longer - schedule.makespan_s == pytest.approx(1e-3 * seconds[task], rel=1e-6)
