"""Three-task graphs whose schedules are worked out by hand."""

import numpy as np
import pytest

import simsched as ss

FORK = [(0, 1), (0, 2)]
JOIN = [(0, 2), (1, 2)]


@pytest.mark.rule("Time")
def test_join(replay):
    """0 (1 s) and 1 (2 s) start at 0 on two cores; 2 (3 s) waits for 1: 2 + 3 = 5 s."""
    schedule = replay([1, 2, 3], JOIN)
    assert schedule.start_s.tolist() == [0, 0, 2]
    assert schedule.finish_s.tolist() == [1, 2, 5]
    assert schedule.ready_s.tolist() == [0, 0, 2]
    assert schedule.makespan_s == 5
    assert schedule.utilization == (1 + 2 + 3) / (2 * 5)


def test_fork(replay):
    """0 (1 s), then 1 (2 s) and 2 (3 s) side by side: 1 + 3 = 4 s; 2 has the higher level and takes executor 0."""
    schedule = replay([1, 2, 3], FORK)
    assert schedule.start_s.tolist() == [0, 1, 1]
    assert schedule.makespan_s == 4
    assert schedule.executor.tolist() == [0, 1, 0]
    assert schedule.start_order.tolist() == [0, 2, 1]


@pytest.mark.rule("One instant")
@pytest.mark.parametrize(
    ("policy", "order"), [("sequential", [0, 1, 2]), ("fifo", [0, 2, 1]), ("fifo[order=lifo]", [0, 1, 2])]
)
def test_what_a_task_of_no_length_makes_ready_has_come_later(replay, policy, order):
    """All are ready at 0: 1 after 0, which takes no time, and so after 2. By rank that does not matter."""
    schedule = replay([0, 1, 1], [(0, 1)], policy, "generic[cores=1]")
    assert schedule.ready_s.tolist() == [0, 0, 0]
    assert schedule.start_order.tolist() == order


def test_one_core_takes_the_sum(replay):
    """1 + 2 + 3 = 6 s, the longer of 1 and 2 first."""
    schedule = replay([1, 2, 3], FORK, machine="generic[cores=1]")
    assert schedule.makespan_s == 6
    assert schedule.start_order.tolist() == [0, 2, 1]


def test_critical_path_goes_first_and_fifo_does_not(replay):
    """Tasks 0, 1 (1 s each) and the chain 2 -> 3 (1 + 2 s) on two cores.

    Critical path: 2 (level 3) and 0 start at 0; 3 and 1 start at 1; 3 ends at 3 s. FIFO: 0 and 1 start at 0, 2 at 1,
    3 at 2; it ends at 4 s.
    """
    seconds, edges = [1, 1, 1, 2], [(2, 3)]
    assert replay(seconds, edges).makespan_s == 3
    fifo = replay(seconds, edges, "fifo")
    assert fifo.makespan_s == 4
    assert fifo.start_s.tolist() == [0, 0, 1, 2]


def test_wavefront_takes_the_lower_depth(replay):
    """Chain 0 -> 1 and tasks 2, 3, one second each, on one core: depth 0 is 0, 2, 3; depth 1 is 1."""
    schedule = replay([1, 1, 1, 1], [(0, 1)], "wavefront", "generic[cores=1]")
    assert schedule.start_order.tolist() == [0, 2, 3, 1]


@pytest.mark.rule("One instant")
def test_ties_go_to_the_lower_index(replay):
    """Four equal tasks on two cores: 0, 1 at 0 s, then 2, 3 at 1 s."""
    schedule = replay([1, 1, 1, 1], [])
    assert schedule.start_order.tolist() == [0, 1, 2, 3]
    assert schedule.start_s.tolist() == [0, 0, 1, 1]
    assert schedule.executor.tolist() == [0, 1, 0, 1]


@pytest.mark.rule("One instant")
def test_all_completions_of_an_instant_come_before_the_decision(replay):
    """0 and 1 (1 s) end together at 1 s and release 2 (by 0, level 1) and 3 (by 1, level 5), on executor 0 of two.

    If completions were handled one by one, 2 would start first, on executor 0.
    """
    schedule = replay([1, 1, 1, 5], [(0, 2), (1, 3)])
    assert schedule.start_order.tolist() == [1, 0, 3, 2]
    assert schedule.executor[3] == 0


@pytest.mark.rule("One instant")
def test_a_task_whose_decision_ends_starts_before_the_completions_of_that_instant(replay):
    """A pop takes 1 s: 0 (1 s) starts at 1 s; 1, of no length, at 2 s, when 0 ends. Both end in one round.

    So what they release, 3 and 2, is popped by index. Were the completion of 0 handled first, 3 would be older than 2.
    """
    pops = ss.RuntimeProfile(pop_s=1.0)
    schedule = replay([1, 0, 1, 1], [(0, 3), (1, 2)], "fifo", runtime=pops)
    assert schedule.start_s.tolist() == [1, 2, 3, 4]
    assert schedule.start_order.tolist() == [0, 1, 2, 3]


def test_lifo(replay):
    """One core, 0 (1 s) first: it releases 3 and 4, which overtake 1 and 2, lower index first."""
    schedule = replay([1] * 5, [(0, 3), (0, 4)], "fifo[order=lifo]", "generic[cores=1]")
    assert schedule.start_order.tolist() == [0, 3, 4, 1, 2]


@pytest.mark.rule("One instant")
def test_zero_durations_chain_through_one_instant(replay):
    """0 -> 1 -> 2 of 0, 0 and 1 s: all start at 0."""
    schedule = replay([0, 0, 1], [(0, 1), (1, 2)])
    assert schedule.start_s.tolist() == [0, 0, 0]
    assert schedule.makespan_s == 1


def test_empty_graph(replay):
    schedule = replay([], [])
    assert schedule.makespan_s == 0
    assert schedule.utilization == 0
    assert len(schedule.tasks) == 0
    assert schedule.metrics()["max_corunning"] == 0


def test_more_executors_than_tasks(replay):
    schedule = replay([1], [], machine="generic[cores=64]")
    assert schedule.makespan_s == 1
    assert schedule.utilization == 1 / 64


@pytest.mark.rule("Time")
def test_the_first_decision_is_no_part_of_the_makespan(replay):
    """0 (1 s) starts when its dispatch of 0.25 s ends, 1 (2 s) a dispatch after that: from 0.25 s to 3.5 s."""
    schedule = replay([1, 2], [(0, 1)], runtime=ss.RuntimeProfile(dispatch_s=0.25))
    assert (schedule.start_s[0], schedule.finish_s[1], schedule.makespan_s) == (0.25, 3.5, 3.25)


@pytest.mark.rule("Central scheduler")
def test_central_dispatch_is_serial(replay):
    """Dispatch takes 0.5 s a start. 0, 1 and 2 (1 s each) on three cores start at 0.5, 1.0 and 1.5 s; end 2.5 s."""
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    schedule = replay([1, 1, 1], [], machine="generic[cores=3]", runtime=runtime)
    assert schedule.start_s.tolist() == [0.5, 1.0, 1.5]
    assert schedule.finish_s.max() == 2.5
    assert schedule.makespan_s == 2.0


@pytest.mark.parametrize(("policy", "starts"), [("critical-path", [0.5, 1.0]), ("corun", [2.0, 4.0])])
@pytest.mark.rule("Central scheduler")
def test_choosing_widths_has_its_own_cost(replay, policy, starts):
    """A start costs 0.5 s, but 2 s where widths are chosen; two tasks of 9 s that do not gain from a second core."""
    runtime = ss.RuntimeProfile(dispatch_s=0.5, decide_s=2.0)
    schedule = replay([9, 9], [], policy, runtime=runtime)
    assert schedule.start_s.tolist() == starts


@pytest.mark.rule("Central scheduler")
def test_central_dispatch_sees_what_happened_meanwhile(replay):
    """One core, dispatch 1 s: 0 (level 3) starts at 1 and ends at 2; its follower 1 (2 s) is dispatched from 2 to 3."""
    runtime = ss.RuntimeProfile(dispatch_s=1.0)
    schedule = replay([1, 2], [(0, 1)], machine="generic[cores=1]", runtime=runtime)
    assert schedule.start_s.tolist() == [1, 3]
    assert schedule.finish_s.tolist() == [2, 5]


@pytest.mark.rule("Shared queue")
def test_shared_queue_pops_cost_more_with_more_pollers(replay):
    """Pop 1 s plus 0.5 s a further poller, three cores, three tasks of 10 s.

    First pop: 3 idle, 1 + 2 x 0.5 = 2 s. Second: 2 idle, 1.5 s, at 3.5. Third: 1 idle, 1 s, at 4.5.
    """
    runtime = ss.RuntimeProfile(pop_s=1.0, pop_per_poller_s=0.5)
    schedule = replay([10, 10, 10], [], "fifo", "generic[cores=3]", runtime=runtime)
    assert schedule.start_s.tolist() == [2.0, 3.5, 4.5]


@pytest.mark.rule("One instant")
def test_completion_at_the_instant_of_a_dispatch_is_handled_before_the_decision(replay):
    """Dispatch takes 1 s; two cores.

    0 (1 s) runs from 1 to 2, when the dispatch of 1 (9 s) ends. 2 (8 s), released by 0, has a higher level than 3, must
    be chosen before it at 2 s and starts at 3. Both cores are free again at 11; 3 starts at 12.
    """
    runtime = ss.RuntimeProfile(dispatch_s=1.0)
    schedule = replay([1, 9, 8, 1], [(0, 2)], runtime=runtime)
    assert schedule.start_order.tolist() == [0, 1, 2, 3]
    assert schedule.start_s.tolist() == [1, 2, 3, 12]


@pytest.mark.rule("Cost curve")
def test_layout_width_uses_the_cost_curve(replay):
    """A 1 s task with half of it serial takes 0.5 + 0.5 / 4 = 0.625 s on four cores."""
    costs = ss.CostModel(default=ss.Curve(serial_share=0.5))
    schedule = replay([1], [], machine="generic[cores=4]", layout="1x4", costs=costs)
    assert schedule.makespan_s == 0.625
    assert schedule.cores(0).tolist() == [0, 1, 2, 3]


@pytest.mark.rule("Teams that change size")
def test_resized_teams_pay(replay):
    """Half of the work is serial, a resize costs 0.25 s; two cores.

    0 runs on both cores: 0.5 + 0.5 / 2 = 0.75 s. 1 runs on one of them: a team of another size, 1 + 0.25 s.
    """

    class Narrowing(ss.Policy):
        def decide(self, view):
            for task in view.ready:
                yield ss.Start(task, width=2 - task)

    costs = ss.CostModel(default=ss.Curve(serial_share=0.5))
    schedule = replay([1, 1], [(0, 1)], Narrowing, runtime=ss.RuntimeProfile(resize_s=0.25), costs=costs)
    assert schedule.start_s.tolist() == [0, 0.75]
    assert schedule.finish_s.tolist() == [0.75, 0.75 + 1 + 0.25]


@pytest.mark.rule("Pinned")
def test_scatter_takes_one_core_of_every_tile(replay):
    """Two tiles of two cores, two executors of one: cores 0 and 2."""
    schedule = replay(
        [1, 1],
        [],
        "critical-path[placement=scatter]",
        "knl-7250[cores=4]",
        layout="2x1",
        runtime=ss.RuntimeProfile(),
    )
    assert [schedule.cores(t).tolist() for t in (0, 1)] == [[0], [2]]


@pytest.mark.rule("Randomness")
def test_noise_and_random_order_come_from_the_seed(engine):
    graph = ss.TaskGraph.from_edges(np.ones(50))
    costs = ss.CostModel(noise=0.3)
    runs = [
        ss.simulate(graph, "generic[cores=4]", "fifo[order=random]", costs=costs, engine=engine, seed=s)
        for s in (1, 1, 2)
    ]
    assert runs[0].finish_s.tobytes() == runs[1].finish_s.tobytes()
    assert runs[0].finish_s.tobytes() != runs[2].finish_s.tobytes()
    busy = runs[0].finish_s - runs[0].start_s
    assert 0.15 < np.log(busy).std() < 0.45
    # The noise belongs to the task, whatever the policy.
    other = ss.simulate(graph, "generic[cores=2]", "critical-path", costs=costs, engine=engine, seed=1)
    np.testing.assert_allclose(other.finish_s - other.start_s, busy, rtol=1e-12)


@pytest.mark.rule("Information")
def test_estimates_carry_no_noise(engine):
    """Under noise the critical path is still ranked by the estimates: the order of equal tasks is by index."""
    schedule = ss.simulate(
        ss.TaskGraph.from_edges(np.ones(20)),
        "generic[cores=1]",
        "critical-path",
        engine=engine,
        costs=ss.CostModel(noise=1.0),
    )
    assert schedule.start_order.tolist() == list(range(20))


@pytest.mark.parametrize("policy", ["sequential", "fifo", "critical-path", "corun", "wavefront"])
def test_disconnected_and_chain(policy, replay):
    """A chain takes its sum under every policy, and the machine has room for the rest beside it or after it."""
    schedule = replay([1, 1, 1, 0.5], [(0, 1), (1, 2)], policy, "generic[cores=1]")
    assert schedule.makespan_s == 3.5


def test_a_policy_reads_seconds_as_floats_from_the_beginning(engine):
    """Task 1 after task 0, of 1 s: the policy is asked at 0.0 and at 1.0."""
    seen = []

    class Telling(ss.Policy):
        def decide(self, view):
            seen.append(repr(view.now_s))
            return [ss.Start(task) for task in view.ready]

    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    ss.simulate(graph, "generic[cores=1]", Telling, engine=engine)
    assert list(dict.fromkeys(seen)) == ["0.0", "1.0"]
