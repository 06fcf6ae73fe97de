"""Running tasks that idle cores of another kind take over: by hand, and by the invariants of random cases."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import simsched as ss
from simsched.errors import EngineError
from simsched.machine.build import built
from simsched.spec import parse
from simsched.testing import check_schedule
from simsched.testing.equivalence import LIMITS, cases, check_same

GOLDEN = (1 + 5**0.5) / 2
TWO = "generic[cores=2,kinds=each]"
SENT = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"


def of_kinds(*counts):
    """Return a machine with so many cores of each kind, which share nothing."""
    cores = {"value": [*counts], "unit": "core", "source": "for tests", "confidence": "low"}
    kinds = {"names": [f"kind{kind}" for kind in range(len(counts))], "cores": cores}
    return built({**ss.machine("generic").content, "kinds": kinds}, parse(f"generic[cores={sum(counts)}]"))


def replayed(seconds, edges=(), machine=TWO, engine="auto", policy="heteroprio", **options):
    """Return the replay of tasks with seconds on each kind of core; edges with bytes, on executors of one core."""
    graph = ss.TaskGraph.from_edges(
        np.array(seconds, np.float64),
        [edge[:2] for edge in edges],
        edge_bytes=[float(edge[2]) for edge in edges] or None,
    )
    found = ss.machine(machine) if isinstance(machine, str) else machine
    return ss.simulate(graph, found, policy, layout=f"{found.n_cores}x1", engine=engine, **options)


def lost(schedule):
    return schedule.lost_runs[["task", "start_s", "end_s", "executor"]].values.tolist()


@pytest.mark.rule("Tasks that are taken over")
def test_an_idle_core_takes_over(engine):
    """Core 1 ends its own task at 1, and 0, expected at 100, at 2; the second that core 0 spent on it is lost."""
    schedule = replayed([[100, 1], [100, 1]], engine=engine)
    assert schedule.executor.tolist() == [1, 1]
    assert schedule.start_s.tolist() == [1, 0]
    assert schedule.finish_s.tolist() == [2, 1]
    assert schedule.start_order.tolist() == [1, 0]
    assert lost(schedule) == [[0, 0, 1, 0]]
    assert (
        replayed([[100, 1], [100, 1]], engine=engine, policy="heteroprio[spoliation=false]").makespan_s == 100
    )


@pytest.mark.rule("Tasks that are taken over")
def test_only_what_ends_earlier_is_taken_over(engine):
    """Core 1 is idle at 3, and would end 0 at 5, as core 0 does; at 2.5 it would at 4.5."""
    assert lost(replayed([[5, 2], [12, 3]], engine=engine)) == []
    assert lost(replayed([[5, 2], [12, 2.5]], engine=engine)) == [[0, 0, 2.5, 0]]


@pytest.mark.rule("Tasks that are taken over")
def test_the_last_to_end_is_taken_over_first(engine):
    """At 1 the third core takes 1, expected at 12, and at 2.2 the other; of equal ones the lower index goes first."""
    machine = of_kinds(2, 1)
    schedule = replayed([[10, 1], [12, 1.2], [13, 1]], machine=machine, engine=engine)
    assert lost(schedule) == [[1, 0, 1, 0], [0, 0, 2.2, 1]]
    assert schedule.finish_s.tolist() == [3.2, 2.2, 1]
    assert lost(replayed([[10, 1]] * 3, machine=machine, engine=engine)) == [[0, 0, 1, 0], [1, 0, 2, 1]]


@pytest.mark.rule("Tasks that are taken over")
def test_who_loses_a_task_may_take_one_over(engine):
    """At 3 core 2 takes 0 from core 0, which takes 3, expected at 13, from core 1 and ends it at 8.

    Core 1 may not take 3 back. Core 2, at 5, would end it at 25.
    """
    seconds = [[10, 20, 2], [50, 50, 3], [50, 1, 50], [5, 12, 20]]
    schedule = replayed(seconds, [(2, 3, 0)], "generic[cores=3,kinds=each]", engine)
    assert lost(schedule) == [[0, 0, 3, 0], [3, 1, 3, 1]]
    assert schedule.start_s.tolist() == [3, 0, 0, 3]
    assert schedule.finish_s.tolist() == [5, 3, 1, 8]
    assert schedule.executor.tolist() == [2, 2, 1, 0]


@pytest.mark.rule("Tasks that are taken over")
def test_a_start_costs_what_it_costs(engine):
    """Decisions take half a second: 0 starts at 0.5, and 1 on core 1 at 1; at 2, 0 is aborted, and starts at 2.5.

    It ends at 3.5 there: a task that is expected then is left alone.
    """
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    schedule = replayed([[100, 1], [100, 1]], engine=engine, runtime=runtime)
    assert lost(schedule) == [[0, 0.5, 2, 0]]
    assert schedule.start_s.tolist() == [2.5, 1]
    assert schedule.makespan_s == 3
    assert lost(replayed([[3, 1], [100, 1]], engine=engine, runtime=runtime)) == []


@pytest.mark.rule("Tasks that are taken over")
def test_estimates_decide_and_noise_stays(engine):
    """0 really takes twice its 4 s: expected at 4, it stays at 3, when core 1 would end it at 5 by estimate.

    At 1 it is taken over, to end at 3 by estimate: it then takes twice 2 s, until 5.
    """
    factors = np.array([2.0, 1.0])
    late = replayed([[4, 2], [12, 3]], engine=engine, factors=factors)
    assert (lost(late), late.finish_s.tolist()) == ([], [8, 3])
    early = replayed([[4, 2], [12, 1]], engine=engine, factors=factors)
    assert (lost(early), early.finish_s.tolist()) == ([[0, 0, 1, 0]], [5, 1])


@pytest.mark.rule("Tasks that are taken over")
@pytest.mark.parametrize(("until", "taken"), [(4, True), (5, False)])
def test_data_are_sent_once_more(until, taken, engine):
    """1 reads 3 bytes of 0 and is expected at 10 on core 0; on core 1 it would end 3 + 2 s after that is idle."""
    schedule = replayed([[1, 99], [9, 2], [99, until]], [(0, 1, 3)], SENT, engine)
    if not taken:
        assert lost(schedule) == []
        return
    assert lost(schedule) == [[1, 1, 4, 0]]
    assert schedule.start_s.tolist() == [0, 7, 0]
    assert schedule.transfers[["depart_s", "arrive_s"]].values.tolist() == [[4, 7]]


@pytest.mark.rule("Tasks that are taken over")
def test_what_waits_for_data_is_not_taken_over(engine):
    """Core 1 takes 1 at 1, and its 8 bytes are there at 9. Core 0, idle at 3, would end it at 6, where its data are.

    At 9 it would end it at 12, and not at 11.
    """
    schedule = replayed([[1, 99], [3, 2], [2, 99]], [(0, 1, 8), (0, 2, 0)], SENT, engine)
    assert schedule.start_s.tolist() == [0, 9, 1]
    assert lost(schedule) == []


@pytest.mark.rule("Tasks that are taken over")
@pytest.mark.parametrize(("limit", "start_s"), [("note", 1), ("wait", 4)])
def test_an_aborted_run_gives_its_room_back(limit, start_s, engine):
    """Cores 0 and 1 share a place of 10 bytes, where 0 would write 6 until core 2 takes it over at 4.

    1 would write 6 there, too, from 1 on; it has room at 4, in the instant in which 0 starts on core 2.
    """
    ways = "data=sent,places=tile,place_B=10.0,link_Bps=1.0"
    machine = ss.machine(f"generic[cores=4,cores.per_tile=2,kinds=each,{ways}]")
    no = 999.0
    seconds = [[99, no, 2, no], [no, 7, no, no], [no, 1, no, no], [no, no, 4, no], [no, no, no, 1]]
    graph = ss.graph.with_data(
        ss.TaskGraph.from_edges(seconds, [(2, 1)]), ss.graph.DataObjects.from_lists([6, 6], [0, 1], [[], []])
    )
    schedule = ss.simulate(graph, machine, "heteroprio", layout="4x1", engine=engine, memory_limit=limit)
    assert lost(schedule) == [[0, 0, 4, 0]]
    assert schedule.start_s[:2].tolist() == [4, start_s]


@pytest.mark.rule("Limits of memory")
@pytest.mark.parametrize(("limit", "start_s"), [("note", [0, 7, 1]), ("wait", [0, 7, 27])])
def test_what_may_be_read_again_stays(limit, start_s, engine):
    """0's 6 bytes are at core 1 at 7, where 1 reads them until 27; core 0 could take 1 over, so they stay there, too.

    2 waits there for room for its own 6 bytes. It had it at 7, and then core 0 took 1 over without the 6 it needs.
    """
    tasks = ss.TaskGraph.from_edges(np.array([[1, 99], [4, 20], [3, 99]], float), [(0, 1), (0, 2)])
    graph = ss.graph.with_data(tasks, ss.graph.DataObjects.from_lists([6, 6], [0, 2], [[1], []]))
    machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent,place_B=10.0]"
    schedule = ss.simulate(graph, machine, "heteroprio", layout="2x1", engine=engine, memory_limit=limit)
    assert schedule.start_s.tolist() == start_s
    assert bool(schedule.memory().peak["peak_B"].max() > 10) is (limit == "note")


def test_kinds_that_are_alike_take_nothing_over(engine):
    """On cores of one kind it is list scheduling, and so it is where none is faster."""
    assert lost(replayed([3, 1, 1], machine="generic[cores=2]", engine=engine)) == []
    assert lost(replayed([[3, 3], [1, 1]], engine=engine)) == []


def shortest_s(seconds, kinds):
    """Return the shortest makespan of independent tasks: of all assignments to executors of these kinds."""
    table, every = np.array(seconds, np.float64), np.array([*product(range(len(kinds)), repeat=len(seconds))])
    taken_s = table[np.arange(len(seconds)), np.array(kinds)[every]]
    return np.max([(taken_s * (every == one)).sum(axis=1) for one in range(len(kinds))], axis=0).min()


#: Beaumont, Eyraud-Dubois, Kumar, Theorems 7, 9 and 12: at most so many times the optimum of independent tasks.
BOUNDS = {(1, 1): GOLDEN, (3, 1): 1 + GOLDEN, (2, 2): 2 + 2**0.5}


@pytest.mark.parametrize("counts", BOUNDS, ids=str)
@settings(max_examples=20)
@given(seconds=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=6))
def test_published_bounds(counts, seconds):
    """Of processors and accelerators, for tasks that do not wait for each other."""
    schedule = replayed(seconds, machine=of_kinds(*counts))
    assert schedule.makespan_s <= BOUNDS[counts] * shortest_s(seconds, np.repeat([0, 1], counts)) * (1 + 1e-9)


def test_the_golden_ratio_is_tight(engine):
    """The same, Sec. IV: two tasks of one acceleration, the shorter on the accelerator.

    The optimum, each on the other's, is 1; the accelerator is idle at 1/phi, and would end the other no earlier.
    """
    seconds = [[GOLDEN, 1 + 1e-9], [1 + 1e-9, 1 / GOLDEN]]
    schedule = replayed(seconds, engine=engine)
    assert (schedule.executor.tolist(), lost(schedule), schedule.makespan_s) == ([0, 1], [], GOLDEN)
    assert shortest_s(seconds, [0, 1]) == pytest.approx(1)


@settings(max_examples=50)
@given(case=cases(LIMITS, st.sampled_from([ss.policy("heteroprio"), ss.policy("heteroprio[pinned=false]")])))
def test_random_cases(case):
    """Both engines do the same, to the bit; every task ends once, and has run on each kind of cores at most once."""
    try:
        schedule = ss.simulate(**case, engine="simpy")
    except EngineError:
        assume(False)
    check_same(schedule, ss.simulate(**case))
    if case["policy"].pinned and not case["costs"].noise:
        check_schedule(schedule)
    runs, kind_of = schedule.lost, case["machine"].kind_of
    assert (runs.start_s <= runs.end_s).all()
    assert (runs.end_s <= schedule.start_s[runs.task]).all()
    assert (schedule.ready_s[runs.task] <= runs.start_s).all()
    home = case["policy"].executors(case["machine"], schedule.inputs.layout)
    kinds = kind_of[home.indices[home.indptr[:-1]] % case["machine"].n_cores]
    ran = [*zip(runs.task.tolist(), kinds[runs.executor].tolist(), strict=True)]
    ran += enumerate(kinds[schedule.executor].tolist())
    assert len(ran) == len(set(ran))
