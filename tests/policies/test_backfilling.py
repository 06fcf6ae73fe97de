"""Rigid tasks, first come, first served, with and without backfilling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import LayoutError, SpecError

#: Estee's rigid tasks (seconds, cores), and makespans by the cores of the one worker.
RIGID = [
    ([(1, 1), (1, 2)], {2: 2, 3: 1}),
    ([(1, 1), (2, 1), (1, 1)], {2: 2}),
    ([(3, 1), (1, 2), (1, 1), (1, 3), (1, 1), (1, 1)], {3: 4, 4: 3, 5: 3}),
]


def run(tasks, cores, mode="easy", edges=(), engine="auto", **options):
    seconds, widths = zip(*tasks, strict=True)
    graph = ss.TaskGraph.from_edges(seconds, edges, widths=widths)
    return ss.simulate(
        graph, f"generic[cores={cores}]", f"backfilling[mode={mode}]", engine=engine, **options
    )


@pytest.mark.parametrize("mode", ["easy", "conservative"])
@pytest.mark.parametrize(("tasks", "makespans"), RIGID)
def test_makespans_of_estee(engine, tasks, makespans, mode):
    for cores, makespan_s in makespans.items():
        assert run(tasks, cores, mode, engine=engine).makespan_s == makespan_s


def test_nobody_passes(engine):
    """1 needs all three cores and waits until 4; 2 would fit beside 0, and waits behind it."""
    assert run([(4, 2), (1, 3), (1, 1)], 3, "none", engine=engine).start_s.tolist() == [0, 4, 5]
    assert run([(4, 2), (1, 3), (1, 1)], 3, "easy", engine=engine).start_s.tolist() == [0, 4, 0]


def test_easy_delays_the_second_in_the_queue_and_conservative_does_not(engine):
    """Four cores, 0 on two until 2. 1 (3 cores) has to wait for it, and 2 (2 cores, 2 s) for the end of 1 at 4.

    3 (1 core, 5 s) delays neither 1, which leaves a core free, nor 2 under EASY, which only looks at 1: but then at 4
    only 3 cores are free, enough for 2 (2 cores). With 4 cores wanted by 2, it starts at 5 in place of 4.
    """
    tasks = [(2, 2), (2, 3), (2, 4), (5, 1)]
    assert run(tasks, 4, "easy", engine=engine).start_s.tolist() == [0, 2, 5, 0]
    assert run(tasks, 4, "conservative", engine=engine).start_s.tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("mode", ["easy", "conservative"])
def test_tasks_that_end_together_leave_their_cores_together(engine, mode):
    """Four cores: 0 on two and 1 on one until 4, when 2, which needs all four, starts. 3 (5 s) would delay it to 5."""
    tasks = [(4, 2), (4, 1), (3, 4), (5, 1)]
    assert run(tasks, 4, mode, engine=engine).start_s.tolist() == [0, 0, 4, 7]


def test_tasks_come_when_they_are_ready(engine):
    """2 is ready at 1, and behind 1 in the queue."""
    schedule = run([(1, 1), (2, 2), (1, 1)], 2, "none", edges=[(0, 2)], engine=engine)
    assert schedule.start_s.tolist() == [0, 1, 3]


def test_what_is_impossible():
    with pytest.raises(LayoutError, match=r"task 1 was recorded on 5 threads; generic.* has 4"):
        run([(1, 1), (1, 5)], 4)
    with pytest.raises(SpecError, match="expected one of easy, conservative, none"):
        ss.policy("backfilling[mode=hard]")


JOBS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=12)


@settings(deadline=None)
@given(JOBS, st.sampled_from(["easy", "conservative", "none"]))
def test_engines_agree_and_nobody_delays_the_first(tasks, mode):
    """With exact estimates the first that waits starts no later than with nobody passing."""
    one, other = (run(tasks, 4, mode, engine=engine) for engine in ("simpy", "native"))
    assert one.start_s.tolist() == other.start_s.tolist()
    alone = run(tasks, 4, "none")
    if waiting := [task for task in range(len(tasks)) if alone.start_s[task] > 0]:
        assert one.start_s[waiting[0]] <= alone.start_s[waiting[0]]


#: WRENCH's batch service: hosts and cores on each, all for 60 s, and ends on 4 hosts of 10 cores.
HOSTS = [(2, 10), (4, 5), (2, 10), (2, 10), (4, 5), (2, 5), (1, 5), (4, 5)]
ENDS_S = [60, 120, 180, 180, 240, 240, 240, 300]


#: WRENCH's EASY service of depth 1 (BatchServiceEASYBFTest): nodes, and (nodes, seconds, end) of each job.
EASY = [
    (4, [(2, 60, 60), (4, 30, 90), (2, 30, 30), (2, 50, 140)]),
    (6, [(1, 6000, 6000), (2, 70, 70), (4, 20, 90), (5, 20, 6020), (1, 6000, 6000)]),
]


@pytest.mark.parametrize(("nodes", "jobs"), EASY)
def test_easy_of_wrench(engine, nodes, jobs):
    widths, seconds, ends = zip(*jobs, strict=True)
    schedule = run(zip(seconds, widths, strict=True), nodes, "easy", engine=engine)
    assert schedule.finish_s.tolist() == list(ends)


def on_hosts(tasks, mode, engine="auto", seconds=60.0):
    graph = ss.TaskGraph.from_edges([seconds] * len(tasks), widths=[hosts * cores for hosts, cores in tasks])
    spread = ";".join(str(hosts) for hosts, _ in tasks)
    machine = "generic[cores=40,domains=4]"
    return ss.simulate(graph, machine, f"backfilling[mode={mode},hosts={spread}]", engine=engine)


def test_hosts_of_wrench(engine):
    """1 needs 5 cores on each host, and 0 has two: it waits, and so do all after it, though 2 would fit beside 0."""
    assert on_hosts(HOSTS, "none", engine).finish_s.tolist() == ENDS_S


def test_others_pass_on_the_other_hosts(engine):
    """2 fits on the two hosts that 0 leaves until 60, when 1 starts; 3 waits for whole hosts, and 4 passes it beside 1.

    At 120, 3 has hosts 0 and 1, 5 and 6 are beside it, and 7, which needs all hosts, follows at 180.
    """
    schedule = on_hosts(HOSTS, "easy", engine)
    assert schedule.finish_s.tolist() == [60, 120, 60, 180, 120, 180, 180, 240]
    teams = [set(schedule.teams.neighbours(team).tolist()) for team in schedule.team]
    assert teams[3] == set(range(20))
    assert [sorted({core // 10 for core in teams[task]}) for task in (4, 5, 6)] == [[0, 1, 2, 3], [2, 3], [2]]


def test_hosts_that_are_impossible():
    graph = ss.TaskGraph.from_edges([1.0], widths=[6])
    for hosts, message in (
        ("1;2", "2 numbers of hosts for 1 task"),
        ("4", "6 threads, which 4 hosts"),
        ("1", "6 threads, which 1 hosts of 4"),
    ):
        with pytest.raises(LayoutError, match=message):
            ss.simulate(graph, "generic[cores=8,domains=2]", f"backfilling[hosts={hosts}]")
    with pytest.raises(SpecError, match="expected numbers of hosts"):
        ss.policy("backfilling[hosts=many]")
