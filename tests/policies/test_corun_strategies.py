"""The four strategies of concurrency control (Sec. III-D), each by hand and on both engines."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs import Curve
from simsched.errors import LayoutError, MachineError
from simsched.policies.corun import CoRun, kind_widths
from simsched.policy import Problem

#: 1 s takes 1/w + (w-1)/64 s on w threads: least on 8. 1/16 s: least on 4.
CONVEX = ss.CostModel(default=Curve(0.0, thread_overhead=1 / 64 / np.sqrt(1e-3)))
#: Perfectly parallel, or not at all.
EITHER = ss.CostModel(curves={"wide": Curve(0.0), "serial": Curve(1.0)})
FREE = ss.RuntimeProfile()
TWO_WAYS = "knl-7250[cores=2,smt=2,contention=false]"


def replay(engine, seconds, kinds, policy, machine, costs=EITHER, edges=(), layout=None, bytes_B=None):
    graph = ss.TaskGraph.from_edges(seconds, edges, kinds=kinds, bytes_B=bytes_B)
    target = ss.machine(machine)
    no_cap = (target.n_threads, target.n_cores if "smt=true" in str(policy) else target.n_threads)
    return ss.simulate(graph, machine, policy, layout or no_cap, costs, FREE, engine)


# --- 1: each instance at its fastest width; 2: one width a kind ---


def test_each_task_at_its_fastest_width_one_after_another(engine):
    """1 s and 1/16 s of one kind: 8 and 4 threads of 16, although both would fit."""
    schedule = replay(
        engine, [1.0, 1 / 16], ["a", "a"], "corun[corun=false,interval=1]", "generic[cores=16]", CONVEX
    )
    assert schedule.widths.tolist() == [8, 4]
    assert schedule.start_s.tolist() == [0, schedule.finish_s[0]]


def test_one_width_a_kind(engine):
    """The 1/16 s of kind a take the 8 threads of the 1 s; those of kind b their own 4."""
    schedule = replay(
        engine,
        [1 / 16, 1.0, 1 / 16],
        ["a", "a", "b"],
        "corun[per_kind=true,corun=false,interval=1]",
        "generic[cores=16]",
        CONVEX,
    )
    assert schedule.widths.tolist() == [8, 8, 4]
    assert (schedule.start_s[1:] == schedule.finish_s[:-1]).all()


def test_kinds_that_are_not_controlled_have_all_cores_or_one(engine):
    """Both are fastest on 8 threads; of b, which is left alone, 1 s gains from 16 threads, 1/512 s does not."""
    schedule = replay(
        engine,
        [1.0, 1.0, 1 / 512],
        ["a", "b", "b"],
        "corun[corun=false,interval=1,controlled=a]",
        "generic[cores=16]",
        CONVEX,
    )
    assert schedule.widths.tolist() == [8, 16, 1]


def test_of_equally_long_tasks_the_lower_index_gives_the_width():
    kinds, fastest = np.array([1, 0, 1, 1], np.int32), np.array([2, 5, 7, 9], np.int32)
    assert kind_widths(kinds, fastest, np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [2, 5, 2, 2]


def test_one_after_another_is_first_come_first_served(engine):
    """2 and 3 are ready at 0 s, 1 when 0 has finished: it comes last."""
    schedule = replay(
        engine, [1, 1, 1, 1], ["serial"] * 4, "corun[corun=false]", "generic[cores=4]", edges=[(0, 1)]
    )
    assert schedule.start_order.tolist() == [0, 2, 3, 1]
    assert schedule.start_s.tolist() == [0, 3, 1, 2]


def test_without_strategies_it_is_the_recommended_baseline(engine):
    """One executor with all cores, first come, first served (inter 1, intra all)."""
    seconds, edges = [1.0, 2.0, 0.5, 4.0], [(0, 1), (2, 3)]
    off = replay(
        engine,
        seconds,
        ["wide"] * 4,
        "corun[fastest=false,corun=false]",
        "generic[cores=4]",
        edges=edges,
    )
    fifo = replay(engine, seconds, ["wide"] * 4, "fifo", "generic[cores=4]", edges=edges, layout="1x4")
    assert off.start_s.tolist() == fifo.start_s.tolist() == [0, 0.375, 0.25, 0.875]
    assert off.widths.tolist() == [4] * 4


# --- 3: beside others ---


def test_a_candidate_far_from_its_kind_falls_back_to_it(engine):
    """1 s runs on 8 of 12 cores. Its sister of 1/16 s offers 4, 5 and 3: it starts beside; of one kind, 8: it waits."""
    for policy, start_s in (("corun[interval=1]", 0.0), ("corun[interval=1,per_kind=true]", 15 / 64)):
        schedule = replay(engine, [1.0, 1 / 16], ["a", "a"], policy, "generic[cores=12]", CONVEX)
        assert schedule.start_s.tolist() == [0, pytest.approx(start_s, rel=1e-12)]


def test_candidates_near_their_kind_are_offered():
    """1/4 s takes 1/(4w) + (w-1)/128 s: 6, 5 and 7 are fastest; 5 is more than 2 from the kind's 8."""
    graph, machine = ss.TaskGraph.from_edges([1.0, 1 / 4], kinds="a"), ss.machine("generic[cores=16]")
    problem = Problem(graph, machine, CONVEX.on(graph, machine))
    rule = CoRun(interval=1, per_kind=True).prepared(problem)
    assert rule.widths.tolist() == [[8, 8, 9, 7], [8, 6, 8, 7]]
    for width, seconds in zip(rule.widths.T, rule.estimates_s.T, strict=True):
        assert seconds.tolist() == problem.costs.seconds(width).tolist()


def test_without_widths_of_their_own_tasks_take_all_cores(engine):
    """1 s and 1/16 s on all 16 cores each. A cap of 8 cores leaves room beside the first: 8, 4, 6 and 2 are offered."""
    alone = replay(engine, [1.0, 1 / 16], "a", "corun[fastest=false]", "generic[cores=16]", CONVEX)
    assert alone.widths.tolist() == [16, 16]
    assert alone.start_s.tolist() == [0, alone.finish_s[0]]
    capped = replay(
        engine, [1.0, 1 / 16], "a", "corun[fastest=false]", "generic[cores=16]", CONVEX, layout="2x8"
    )
    assert capped.widths.tolist() == [8, 2]
    assert capped.start_s.tolist() == [0, 0]


def test_where_nothing_fits_the_most_time_consuming_takes_the_idle_cores(engine):
    """Both want 8 of 12 cores: the second waits, or takes the idle 4, where it needs 1/4 + 3/64 s."""
    for policy, start_s, width in (("corun[interval=1]", 15 / 64, 8), ("corun[interval=1,fill=true]", 0, 4)):
        schedule = replay(engine, [1.0, 1.0], ["a", "a"], policy, "generic[cores=12]", CONVEX)
        assert schedule.start_s.tolist() == [0, pytest.approx(start_s, rel=1e-12)]
        assert schedule.widths.tolist() == [8, width]
    assert schedule.finish_s[1] == pytest.approx(1 / 4 + 3 / 64, rel=1e-12)


def test_what_fits_without_outlasting_goes_before_what_takes_the_rest(engine):
    """Beside 1 s on 8 of 12 cores its sister would outlast it on the idle 4: 1/16 s goes first, on 3 of them."""
    schedule = replay(
        engine, [1.0, 1.0, 1 / 16], "a", "corun[interval=1,fill=true]", "generic[cores=12]", CONVEX
    )
    assert schedule.start_order.tolist() == [0, 2, 1]
    assert schedule.widths.tolist() == [8, 1, 3]


# --- 4: second hardware threads ---


def test_small_tasks_on_second_hardware_threads(engine):
    """0 (40 s) takes 20 s on both cores. 2 (1 s) and 1 (3 s) start beside it, the smaller first.

    3 (19.5 s) is ready at 1 s and would end at 20.5: it waits for the cores. Threads 2 and 3 are the second ones.
    """
    for policy in ("corun[smt=true]", "corun[smt=true,corun=false]"):
        schedule = replay(
            engine, [40, 3, 1, 19.5], ["wide", "serial", "serial", "serial"], policy, TWO_WAYS, edges=[(2, 3)]
        )
        if "corun=" in policy:
            assert schedule.start_order.tolist() == [0, 2, 1, 3]
        assert [schedule.cores(task).tolist() for task in range(4)] == [[0, 1], [3], [2], [0]]
        assert schedule.start_s.tolist() == [0, 0, 0, 20]


def test_without_the_strategy_second_threads_are_threads_like_others(engine):
    schedule = replay(engine, [40, 1], ["wide", "serial"], "corun", TWO_WAYS)
    assert schedule.cores(0).tolist() == [0, 1, 2, 3]
    assert schedule.start_s.tolist() == [0, 10]


def test_a_task_that_leaves_cores_idle_has_nobody_on_its_second_threads(engine):
    """Serial tasks of 9 and 8 s on two cores: the third waits for a core, although second threads idle."""
    schedule = replay(engine, [9, 8, 1], ["serial"] * 3, "corun[smt=true]", TWO_WAYS)
    assert [schedule.cores(task).tolist() for task in range(3)] == [[0], [1], [1]]
    assert schedule.start_s.tolist() == [0, 0, 8]


def test_both_are_slowed_by_the_throughput_of_the_core(engine):
    """20 s on both cores beside 1 s on a second thread: each takes 2 / throughput as long while both run."""
    knl = ss.machine(TWO_WAYS).varied({"share_cores": True})
    slowed = 2 / knl.compute_throughput[1]
    schedule = replay(engine, [40, 1], ["wide", "serial"], "corun[smt=true]", knl)
    assert schedule.finish_s.tolist() == [pytest.approx(slowed + 19, rel=1e-12), slowed]


def test_the_next_task_does_not_wait_for_second_threads(engine):
    """0 only waits for the memory, 1 only computes and is slowed more: it still runs when 0 makes way for 2."""
    knl = ss.machine(TWO_WAYS).varied(
        {"share_cores": True, "core_bandwidth_Bps": 1e10, "bandwidth_Bps": 1e15}
    )
    schedule = replay(
        engine,
        [40, 19, 1],
        ["wide", "serial", "serial"],
        "corun[smt=true,corun=false]",
        knl,
        edges=[(0, 2)],
        bytes_B=[4e11, 0, 0],
    )
    assert schedule.start_s[2] == schedule.finish_s[0] < schedule.finish_s[1]
    assert [schedule.cores(task).tolist() for task in range(3)] == [[0, 1], [2], [0]]


@pytest.mark.parametrize(
    ("machine", "advice"),
    [("knl-7250", "write smt=2"), ("generic[cores=4]", "this machine has one")],
)
def test_second_threads_must_be_in_use(machine, advice):
    with pytest.raises(MachineError, match=rf"corun\[smt=true\] needs the second .*{advice}"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), machine, "corun[smt=true]")


def test_a_cap_is_on_the_cores():
    with pytest.raises(LayoutError, match="a cap of 1x3 is beyond the 2 cores"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), TWO_WAYS, "corun[smt=true]", "1x3")
