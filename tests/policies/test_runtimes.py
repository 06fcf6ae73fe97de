"""Policies that decide as tasks become ready: dm, dmda, dmdas and heteroprio, by hand and by bounds."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import SpecError
from simsched.graph import Recording

from .planned import ESTEE, platform_of

TAKEN_OVER, AT_RUN_TIME = "heteroprio", "heteroprio[spoliation=false]"


def run(seconds, edges, policy, engine="auto", **options):
    """Return executors and starts: one core for each column of seconds, 1 B/s between any two."""
    table = np.array(seconds, np.float64)
    graph = ss.TaskGraph.from_edges(
        table, [edge[:2] for edge in edges], edge_bytes=[float(edge[2]) for edge in edges] or None
    )
    machine = f"generic[cores={table.shape[1]},kinds=each,link_Bps=1.0,data=sent]"
    schedule = ss.simulate(graph, machine, policy, layout=f"{table.shape[1]}x1", engine=engine, **options)
    return schedule.executor.tolist(), schedule.start_s.tolist()


@pytest.mark.rule("Pushed tasks")
def test_dm_looks_at_queues_not_at_data(engine):
    """0 (2 s, or 1 on the second), 1 after it with 9 s of data, 2: dm finds the idle first worker for 2, then for 1."""
    # 0 goes to the second (ends at 1); 2 to the first (4, not 5); at 1 the second is idle: 1 ends at 4 there, not at 7.
    assert run([[2, 1], [3, 3], [4, 4]], [(0, 1, 9)], "dm", engine) == ([1, 1, 0], [0, 1, 0])
    # 2 takes 1 s now, so the first ends 1 at 4, as the second does: the lower-numbered has it, and waits for its data.
    case = [[2, 1], [3, 3], [1, 9]], [(0, 1, 9)]
    assert run(*case, "dm", engine) == ([1, 0, 0], [0, 10, 0])
    assert run(*case, "dmda", engine) == ([1, 1, 0], [0, 1, 0])


def test_a_late_task_is_expected_to_end_now(engine):
    """0 is expected on the first until 4, and takes 8 s; 2 follows 1 on the second, until 4.

    At 4 the first is expected to be free: 3 goes there and waits until 8; 4 ends at 5 on the second, not at 6.
    """
    seconds, edges = [[4, 4], [2, 2], [2, 2], [1, 1], [1, 1]], [(1, 2, 0), (2, 3, 0), (2, 4, 0)]
    late = run(seconds, edges, "dm", engine, factors=np.array([2.0, 1.0, 1.0, 1.0, 1.0]))
    assert late == ([0, 1, 1, 0, 1], [0, 0, 2, 8, 4])


def test_a_task_that_ends_early_is_expected_until_its_time(engine):
    """As StarPU's exp_start: 0 ends at 1, and the first is expected to be free at 4: 2 ends at 4 on the second."""
    early = run([[4, 4], [2, 2], [2, 2]], [(1, 2, 0)], "dm", engine, factors=np.array([0.25, 1.0, 1.0]))
    assert early == ([0, 1, 1], [0, 0, 2])


def test_data_are_sent_to_the_queue(engine):
    """2 is pushed at 1 behind 1, which ends at 4: its 3 s of data leave at 1."""
    graph = ss.TaskGraph.from_edges([[1.0, 9.0], [9.0, 4.0], [10.0, 1.0]], [(0, 2)], edge_bytes=3.0)
    schedule = ss.simulate(graph, "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]", "dm", engine=engine)
    assert schedule.executor.tolist() == [0, 1, 1]
    assert schedule.start_s.tolist() == [0, 0, 4]
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[1, 4]]


def test_the_end_is_expected_anew_when_data_have_arrived(engine):
    """1 is taken at 1 by the second, which dm expects to be free at 2; its 4 s of data are there at 5: now at 6.

    So when 3 comes, at 5.25, the first ends it earlier: at 6.75, and not at 7. At 2, the second would have: at 6.25.
    """
    seconds = [[1, 99], [8.5, 1], [4.25, 99], [1.5, 1]]
    found = run(seconds, [(0, 1, 4), (2, 3, 0)], "dm", engine)
    assert found == ([0, 1, 0, 0], [0, 5, 1, 5.25])


def test_dmda_weighs_data_that_move(engine):
    """1 would end at 1 + 5 on its producer, at 1 + 2 + 1 elsewhere: 2 s earlier, for 2 s of data, which is a tie."""
    case = [[1, 9], [5, 1]], [(0, 1, 2)]
    assert run(*case, "dmda", engine)[0] == [0, 0]
    assert run(*case, "dmda[beta=0.5]", engine)[0] == [0, 1]
    assert run(*case, "dmda[alpha=1.5]", engine)[0] == [0, 1]
    assert run(*case, "dmda[beta=2.0]", engine)[0] == [0, 0]


def test_dmda_adds_messages_up(engine):
    """2 reads 3 s of data from the first, and 3 s from the second: on the third, 6 s, though both are there at 4."""
    edges = [(0, 2, 3), (1, 2, 3)]
    # On the first: 1 + 3 + 4 = 8; on the third 1 + 6 + 1 = 8: the first.
    assert run([[1, 9, 9], [9, 1, 9], [4, 4, 1]], edges, "dmda[beta=0.0]", engine)[0] == [0, 1, 0]
    third = run([[1, 9, 9], [9, 1, 9], [4, 4, 0.5]], edges, "dmda[beta=0.0]", engine)
    assert third == ([0, 1, 2], [0, 0, 4])


def test_dmdas_runs_the_highest_priority_of_its_queue(engine):
    """All on one worker: 1 and 2 came before 3, which has a chain of 5 s after it."""
    case = [[1], [1], [1], [1], [5]], [(0, 1, 0), (0, 2, 0), (0, 3, 0), (3, 4, 0)]
    assert run(*case, "dmda", engine)[1] == [0, 1, 2, 3, 4]
    assert run(*case, "dmdas", engine)[1] == [0, 7, 8, 1, 2]


def test_dmdas_takes_recorded_priorities(engine):
    """The program gave 2 the highest priority, then 1, and none to 3 for all of its chain; a note says which."""
    none = np.zeros(5)
    given = Recording(none, none + 1.0, none.astype(np.int32), ("a",), np.array([0.0, 1.0, 2.0, 0.0, 0.0]))
    for recording, order, note in (
        (given, [0, 2, 1, 3, 4], "priorities of tasks are the recorded ones"),
        (None, [0, 3, 4, 1, 2], "no priorities recorded: those of tasks are upward ranks"),
    ):
        graph = ss.TaskGraph.from_edges(
            [1.0, 1, 1, 1, 5], [(0, 1), (0, 2), (0, 3), (3, 4)], recording=recording
        )
        schedule = ss.simulate(graph, "generic[cores=1]", "dmdas", engine=engine)
        assert schedule.start_order.tolist() == order
        assert note in schedule.notes


def test_dmdas_runs_what_misses_fewest_bytes_of_equal_priorities(engine):
    """2 and 3 are alike, and wait for 0 until 4: the 6 B of 2 arrive at 7, the 1 B of 3 is there."""
    case = [[4, 99], [99, 1], [2, 99], [2, 99]], [(1, 2, 6), (1, 3, 1)]
    assert run(*case, "dmda", engine) == ([0, 1, 0, 0], [0, 0, 7, 9])
    assert run(*case, "dmdas", engine) == ([0, 1, 0, 0], [0, 0, 7, 4])


def test_dmdas_prefers_what_is_on_its_way(engine):
    """Nothing is sent before a task is placed. At 2, both 4 and 5 miss 4 B, but 2 beside them waits for those of 5.

    They are there at 5; those of 4 leave at 8, when 5 has run.
    """
    no = 99.0
    graph = ss.TaskGraph.from_edges(
        [
            [no, no, 1, no],
            [no, no, no, 1],
            [5, no, no, no],
            [no, 2, no, no],
            [no, 3, no, no],
            [no, 3, no, no],
        ],
        [(0, 2), (1, 4), (0, 5)],
        edge_bytes=4.0,
        edge_objects=[0, 1, 0],
    )
    machine = "generic[cores=4,cores.per_tile=2,kinds=each,link_Bps=1.0,data=sent,places=tile]"
    for policy, starts in ("dmda", [0, 0, 5, 0, 6, 9]), ("dmdas", [0, 0, 5, 0, 12, 5]):
        schedule = ss.simulate(graph, machine, policy, layout="4x1", engine=engine, memory_limit="wait")
        assert schedule.executor.tolist() == [2, 3, 0, 1, 1, 1]
        assert schedule.start_s.tolist() == starts


@pytest.mark.parametrize("policy", ["hlfet[online=true]", "t-level[online=true]"])
def test_list_schedulers_of_estee(policy, engine):
    """Estee looks at messages only: ready tasks go to the first worker, and all that follow have their data there."""
    seconds, edges = ESTEE
    executors, starts = run([[one, one] for one in seconds], edges, policy, engine)
    assert executors == [0] * 8
    assert starts[7] + seconds[7] == 17
    # Of those ready at 0 the levels say which goes first: 3 (8 s to the end) and 0; all t-levels are 0, and 0 and 1 go.
    assert np.argsort(starts[:4]).tolist() == ([3, 0, 1, 2] if policy.startswith("hlfet") else [0, 1, 3, 2])


@pytest.mark.parametrize("policy", ["mcp[online=true]", "etf[online=true]", "dls[online=true]"])
def test_schedulers_of_estee_by_earliest_start(policy, engine):
    """15, as its tests have it. All that is ready at 0 goes to the first worker, which runs nothing yet.

    At 3, 2 is sent to the second, as the first has work until 7. At 6, 4 could start at 13 on the first, and at 12 on
    the second, when 6 bytes are there.
    """
    seconds, edges = ESTEE
    executors, starts = run([[one, one] for one in seconds], edges, policy, engine)
    assert executors[4:] == [1, 0, 0, 0]
    assert starts[4:] == [12, 7, 6, 14]
    assert starts[7] + seconds[7] == 15


def test_etf_online_pushes_first_what_starts_first(engine):
    """At 11, core 0 has work until 21, core 1 until 23; 5 could start at 22 or 24, 6 at 21 or 23, and goes first.

    By level 5 would have, 10 s to the end and not 9, and 6 would have gone to core 1.
    """
    seconds = [1, 10, 10, 1, 19, 10, 9]
    edges = [(0, 3, 2), (3, 4, 1), (3, 5, 11), (1, 5, 13), (1, 6, 1)]
    executors, starts = run([[one, one] for one in seconds], edges, "etf[online=true]", engine)
    assert executors == [0, 0, 0, 1, 1, 1, 0]
    assert starts == [0, 1, 11, 3, 4, 24, 21]


@pytest.mark.rule("Pushed tasks")
def test_dls_online_pushes_first_what_is_highest_above_its_start(engine):
    """At 11, 5 could start at 22 on core 0 and has 10 s to the end, 6 at 21 and has 8: 22 - 10 is less than 21 - 8.

    So 5 goes to core 0, which is then expected to be free at 31, and 6 to core 1, which is at 23.
    """
    seconds = [1, 10, 10, 1, 19, 10, 8]
    edges = [(0, 3, 2), (3, 4, 1), (3, 5, 11), (1, 5, 13), (1, 6, 1)]
    executors, starts = run([[one, one] for one in seconds], edges, "dls[online=true]", engine)
    assert executors == [0, 0, 0, 1, 1, 0, 1]
    assert starts == [0, 1, 11, 3, 4, 22, 23]


@pytest.mark.parametrize("policy", ["mcp[online=true]", "etf[online=true]", "dls[online=true]"])
def test_many_tasks_that_are_ready_together(policy):
    """Each was compared with each, which of 100,000 would take hours. All go to the first, as nothing runs yet."""
    graph = ss.TaskGraph.from_edges(np.ones(100_000))
    schedule = ss.simulate(graph, "generic[cores=64]", policy, layout="64x1")
    assert (schedule.makespan_s, set(schedule.executor.tolist())) == (100_000, {0})


def in_order_of_readiness(platform):
    """Return what dm does without data: tasks by when they become ready, each where it would end first."""
    graph = platform.successors
    waiting, ends = np.bincount(graph.indices, minlength=graph.n).tolist(), np.zeros(platform.n_executors)
    ready_s, found = [0.0] * graph.n, [0] * graph.n
    ready = [(0.0, task) for task in range(graph.n) if not waiting[task]]
    heapify(ready)
    while ready:
        now_s, task = heappop(ready)
        finishes = np.maximum(ends, now_s) + platform.seconds(task)
        found[task] = int(finishes.argmin())
        ends[found[task]] = finishes[found[task]]
        for after in graph.neighbours(task).tolist():
            waiting[after] -= 1
            ready_s[after] = max(ready_s[after], float(finishes[found[task]]))
            if not waiting[after]:
                heappush(ready, (ready_s[after], after))
    return found, float(ends.max(initial=0))


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 12))
def test_dm_without_data_is_a_list_in_order_of_readiness(seed, p, n):
    """Random seconds, no two events at one instant: the same executors by a loop without queues."""
    rng = np.random.default_rng(seed)
    edges = [(i, j, 0) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.3]
    seconds = rng.random((n, p)) + 0.01
    executors, starts = run(seconds, edges, "dm")
    expected, ends_s = in_order_of_readiness(platform_of(seconds, edges, processors=p))
    assert executors == expected
    ends = np.array(starts) + seconds[np.arange(n), executors]
    assert ends.max(initial=0.0) == pytest.approx(ends_s)


@pytest.mark.rule("Accelerated tasks")
def test_a_kind_takes_what_it_accelerates_most(engine):
    """The second speeds 2 up 8 times, 1 thrice, 0 twice: it takes 2, the first 0, and 1 goes to who is idle first."""
    assert run([[4, 2], [9, 3], [8, 1]], [], AT_RUN_TIME, engine) == ([0, 1, 1], [0, 1, 0])


@pytest.mark.rule("Accelerated tasks")
def test_cores_of_equal_seconds_are_one_kind(engine):
    """A processor and two accelerators: these take 0 to 3, which they do ten times as fast, before 5, of 10/9.

    With the other accelerator as the best other kind, all would have the ratio 1, and 5 would go first by its rank.
    """
    found = run([[10, 1, 1]] * 4 + [[10, 9, 9]] * 2, [], AT_RUN_TIME, engine)
    assert found == ([1, 2, 1, 2, 0, 1], [0, 0, 1, 1, 0, 2])


@pytest.mark.parametrize("policy", [AT_RUN_TIME, TAKEN_OVER])
def test_equal_accelerations_go_by_rank(policy, engine):
    """On cores that are all alike it is list scheduling by upward rank."""
    assert run([[1], [1], [1], [4]], [(2, 3, 0)], policy, engine)[1] == [5, 6, 0, 1]


def test_weights_are_numbers():
    with pytest.raises(SpecError, match="a weight of 0 or more"):
        ss.policy("dmdas[beta=-1.0]")
