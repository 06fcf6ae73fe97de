"""What running tasks do to each other, each effect by hand (rules 5 and 6)."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs import Curve
from simsched.machine.effects import NAMES
from simsched.testing.strategies import graphs, layouts, machines

FREE = ss.RuntimeProfile()
# Endless bandwidth, 10 GB/s a core: a task of 1 s and 10 GB waits for the memory all the time, and for nobody.
WIDE = "core_bandwidth_Bps=1e10,bandwidth_Bps=1e15"


def run(engine, seconds, machine, policy="fifo", bytes_B=None, edges=(), runtime=FREE, **options):
    graph = ss.TaskGraph.from_edges(seconds, edges, bytes_B=bytes_B, kinds=options.pop("kinds", None))
    return ss.simulate(graph, machine, policy, runtime=runtime, engine=engine, **options)


# --- tiles ---


@pytest.mark.parametrize(("placement", "finish_s"), [("compact", 1.5), ("scatter", 1.0)])
@pytest.mark.rule("Tiles")
def test_teams_on_one_tile_wait_longer_for_the_memory(engine, placement, finish_s):
    """Two memory-bound tasks of 1 s: on the two cores of a tile each takes 1.5 times as long, on two tiles 1 s."""
    machine = f"knl-7250[cores=4,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    policy = f"fifo[placement={placement}]"
    schedule = run(engine, [1, 1], machine, policy, [1e10, 1e10], layout="4x1")
    assert schedule.finish_s.tolist() == [finish_s] * 2


@pytest.mark.rule("Tiles")
def test_a_team_is_slowed_by_the_share_of_its_threads_on_crowded_tiles(engine):
    """1 s on three cores, the third alone on its tile: 1 + 0.5 x 2 / 3. Beside another three none is alone: 1.5."""
    machine = f"knl-7250[cores=6,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    alone = run(engine, [3], machine, "fifo", [3e10], layout="2x3", kinds="add")
    assert alone.makespan_s == pytest.approx(4 / 3, rel=1e-9)
    beside = run(engine, [3, 3], machine, "fifo", [3e10, 3e10], layout="2x3", kinds="add")
    assert beside.finish_s == pytest.approx([1.5, 1.5], rel=1e-9)


@pytest.mark.parametrize(("placement", "finish_s"), [("compact", 1.5), ("scatter", 1.0)])
def test_two_threads_of_a_team_share_a_tile_or_not(engine, placement, finish_s):
    """1 s on a team of two: on the cores of a tile 1.5 s, on two tiles 1 s."""
    machine = f"knl-7250[cores=4,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    schedule = run(engine, [2], machine, f"fifo[placement={placement}]", [2e10], layout="1x2", kinds="add")
    assert schedule.makespan_s == pytest.approx(finish_s, rel=1e-9)


@pytest.mark.rule("Tiles")
def test_where_the_chip_is_slower_than_a_crowded_tile_the_tile_does_not_matter(engine):
    """Four cores reach 20 GB/s together, 5 each; a crowded tile lets 10 / 1.5 through to each."""
    machine = "knl-7250[cores=4,core_bandwidth_Bps=1e10,bandwidth_Bps=2e10,contention=false,share_tiles=true]"
    knl = ss.machine(machine).varied({"caches.tile_slowdown": 1.5, "memory.modes.mcdram.sharpness": 300})
    assert run(engine, [2], knl, "fifo", [2e10], layout="1x4", kinds="add").makespan_s == pytest.approx(
        1, rel=1e-2
    )
    assert knl.tile_slowdowns == pytest.approx([1, 1.5, 1.5, 1, 1], rel=1e-2)


@pytest.mark.rule("Tiles")
def test_only_the_memory_bound_part_knows_the_tile(engine):
    """Half of 1 s waits for the memory: 0.5 + 0.5 x 1.5."""
    machine = f"knl-7250[cores=2,{WIDE},contention=false,share_tiles=true,caches.tile_slowdown=1.5]"
    assert run(engine, [1, 1], machine, "fifo", [5e9, 5e9], layout="2x1").finish_s.tolist() == [1.25, 1.25]


# --- cores ---


@pytest.mark.rule("Cores", "Pinned")
def test_two_ways_of_a_core_divide_it(engine):
    """Dense: threads 0 and 2 are the ways of core 0; each task takes 2 / throughput. Compact: two cores, 1 s."""
    knl = ss.machine(f"knl-7250[cores=2,{WIDE},smt=2,contention=false,share_cores=true]")
    dense = run(engine, [1, 1], knl, "fifo[placement=dense]", layout="4x1")
    assert dense.finish_s.tolist() == [2 / knl.compute_throughput[1]] * 2
    assert [dense.cores(task).tolist() for task in (0, 1)] == [[0], [2]]
    assert run(engine, [1, 1], knl, layout="4x1").finish_s.tolist() == [1, 1]


@pytest.mark.rule("Cores")
def test_ways_that_wait_for_the_memory_divide_it_less(engine):
    """Where a task only waits for memory, a core with two threads does memory_throughput times the work of one."""
    knl = ss.machine(f"knl-7250[cores=2,{WIDE},smt=2,contention=false,share_cores=true]")
    dense = run(engine, [1, 1], knl, "fifo[placement=dense]", [1e10, 1e10], layout="4x1")
    assert dense.finish_s.tolist() == [2 / knl.memory_throughput[1]] * 2
    assert knl.memory_throughput[1] > knl.compute_throughput[1]


@pytest.mark.parametrize(("one_core_s", "finish_s"), [(1.25, 1), (3.7, 1.25), (4, 2 / 1.48)])
@pytest.mark.rule("Cores")
def test_ways_slow_down_waiting_only_as_far_as_cores_limit_it(engine, one_core_s, finish_s):
    """1 s at what two cores reach, 12.5 GB/s, by two threads on each, whose cores take 1.25, 3.7 or 4 s over 4 of it.

    Throughput of two that wait is 1.48: k 2 / 1.48 is 0.42, 1.25 and 1.35.
    """
    knl = ss.machine(
        "knl-7250[cores=2,core_bandwidth_Bps=1e10,bandwidth_Bps=1.25e10,contention=false,share_cores=true]"
    )
    policy = "fifo[oversubscribe=true]"
    schedule = run(engine, [one_core_s], knl, policy, [1.25e10], layout="1x4", kinds="add")
    assert schedule.makespan_s == pytest.approx(finish_s, rel=1e-12)


@pytest.mark.rule("Cores")
def test_a_stream_beside_a_product_has_the_memory(engine):
    """Teams of two on the same two cores. Of 1 s at 12.5 GB/s, cores take 0.625 s: k 2 / 1.48 is below 1.

    The other computes 1 s, until then at 1.17 / 2 of its speed.
    """
    knl = ss.machine(
        "knl-7250[cores=2,core_bandwidth_Bps=1e10,bandwidth_Bps=1.25e10,contention=false,share_cores=true]"
    )
    both = run(
        engine,
        [1.25, 2],
        knl,
        "fifo[oversubscribe=true]",
        [1.25e10, np.nan],
        layout="2x2",
        kinds=["add", "mm"],
    )
    assert both.finish_s == pytest.approx([1, 2 - 1.17 / 2], rel=1e-12)


@pytest.mark.rule("Cores", "Oversubscribed")
def test_threads_beyond_the_ways_take_turns(engine):
    """Three executors on one core of one way: 3 s each; when the first has done its 0.5 s, two share, then one.

    Until 1.5 s each does 0.5 s of work. The others have 0.5 and 1.5 s left: at half speed until 2.5 s, then alone: 3.5.
    """
    schedule = run(
        engine,
        [0.5, 1, 2],
        "generic[cores=1,share_cores=true]",
        "fifo[oversubscribe=true]",
        layout="3x1",
    )
    assert schedule.finish_s.tolist() == [1.5, 2.5, 3.5]


@pytest.mark.rule("Cores", "Oversubscribed")
def test_an_oversubscribed_layout_has_all_ways_of_a_core(engine):
    """One of four ways is in use, two executors on each of two cores: each task takes 2 / throughput of two."""
    knl = ss.machine(f"knl-7250[cores=2,{WIDE},contention=false,share_cores=true]")
    schedule = run(engine, [1] * 4, knl, "fifo[oversubscribe=true]", layout="4x1")
    assert knl.smt == 1
    assert schedule.finish_s.tolist() == [2 / knl.compute_throughput[1]] * 4


def test_oversubscribed_cores_cost_nothing_where_the_switch_is_off(engine):
    schedule = run(engine, [1, 1], "generic[cores=1]", "fifo[oversubscribe=true]", layout="2x1")
    assert schedule.finish_s.tolist() == [1, 1]


def test_layouts_beyond_the_threads_ask_to_oversubscribe():
    with pytest.raises(
        ss.SimschedError, match=r"needs 3 cores; .* has 2, 4 hardware threads each .*oversubscribe=true"
    ):
        run("simpy", [1], "knl-7250[cores=2]", layout="3x1")


# --- threads that are not pinned ---


@pytest.mark.rule("Not pinned")
def test_misplaced_threads_meet_on_cores(engine):
    """All threads are misplaced: on two cores, tasks of one team of two meet with themselves half the time."""
    graph = ss.TaskGraph.from_edges(np.ones(64))
    machine, runtime = "generic[cores=2,share_cores=true]", ss.RuntimeProfile(misplaced=1.0)
    loose = ss.simulate(graph, machine, "fifo[pinned=false]", "1x2", runtime=runtime, engine=engine)
    together = np.array([len(set(loose.cores(task).tolist())) == 1 for task in range(64)])
    assert 16 < together.sum() < 48
    np.testing.assert_allclose(loose.finish_s - loose.start_s, np.where(together, 2.0, 1.0))


def test_threads_that_stay_are_as_good_as_pinned(engine):
    graph = ss.TaskGraph.from_edges(np.ones(9), [(0, 5), (1, 5), (5, 8)])
    machine = "generic[cores=4,share_cores=true]"
    pinned, loose = (
        ss.simulate(graph, machine, policy, "2x2", runtime=FREE, engine=engine)
        for policy in ("fifo", "fifo[pinned=false]")
    )
    assert pinned.finish_s.tobytes() == loose.finish_s.tobytes()
    assert [loose.cores(t).tolist() for t in range(9)] == [pinned.cores(t).tolist() for t in range(9)]


@pytest.mark.rule("Not pinned")
def test_regions_of_threads_that_are_not_pinned_take_longer(engine):
    """16 s on 2 cores: 8 s, and a region of 1 s; not pinned 1.5 s."""
    runtime = ss.RuntimeProfile(fork_join_s=0.75, barrier_s=0.25, unpinned_region=1.5)
    for policy, finish_s in (("fifo", 9.0), ("fifo[pinned=false]", 9.5)):
        schedule = run(engine, [16], "generic[cores=2]", policy, runtime=runtime, layout="1x2", kinds="add")
        assert schedule.makespan_s == finish_s


def test_where_threads_run_is_drawn_from_the_seed(engine):
    graph = ss.TaskGraph.from_edges(np.ones(20))
    runtime = ss.RuntimeProfile(misplaced=0.5)
    a, b, c = (
        ss.simulate(
            graph,
            "generic[share_cores=true]",
            "fifo[pinned=false]",
            "4x4",
            runtime=runtime,
            engine=engine,
            seed=s,
        )
        for s in (1, 1, 2)
    )
    assert a.finish_s.tobytes() == b.finish_s.tobytes()
    assert a.finish_s.tobytes() != c.finish_s.tobytes()


# --- the interconnect ---


@pytest.mark.rule("Interconnect")
def test_the_overhead_of_a_thread_grows_with_all_that_run(engine):
    """Curve: 1 s on two threads takes 0.5 s and 0.25 s of overhead. Beside another such team, four threads run.

    The overhead then takes (4 - 1) / (2 - 1) times as long: 0.5 + 3 x 0.25 = 1.25 s.
    """
    overhead = 0.25 / np.sqrt(1e-3)  # the overhead of 1 s of work is sqrt(1 ms x 1 s) times this
    costs = ss.CostModel(default=Curve(0.0, overhead))
    machine = "generic[cores=4,share_interconnect=true]"
    both = run(engine, [1, 1], machine, layout="2x2", costs=costs)
    alone = run(engine, [1], machine, layout="2x2", costs=costs)
    assert alone.makespan_s == pytest.approx(0.75, rel=1e-12)
    assert both.finish_s == pytest.approx([1.25, 1.25], rel=1e-12)


@pytest.mark.parametrize(("threads", "core", "turns"), [(4, 2 / 1.17, 1), (16, 8 / 1.17, 2)])
@pytest.mark.rule("Cores")
def test_ways_of_a_core_wait_at_once(engine, threads, core, turns):
    """Two cores of four ways, overhead 0.02 s a thread: as long as alone, twice that where eight a core take turns."""
    knl = ss.machine("knl-7250[cores=2,smt=4,contention=false,share_cores=true,share_interconnect=true]")
    costs = ss.CostModel(default=Curve(0.0, 0.02 / np.sqrt(1e-3)))
    schedule = run(engine, [1], knl, "fifo[oversubscribe=true]", layout=f"1x{threads}", costs=costs)
    assert schedule.makespan_s == pytest.approx(core / threads + turns * 0.02 * (threads - 1), rel=1e-12)


@pytest.mark.rule("Interconnect")
def test_threads_of_another_socket_load_another_interconnect(engine):
    """Overhead 0.1 s a thread. On a socket each, 0.5 + 0.1 s; across both, four threads each: 0.25 + 0.3 x 7 / 3 s."""
    costs = ss.CostModel(default=Curve(0.0, 0.1 / np.sqrt(1e-3)))
    xeon = ss.machine("xeon-8160x2[cores=4,contention=false,share_interconnect=true]")
    apart = run(engine, [1, 1], xeon, layout="2x2", costs=costs)
    assert apart.finish_s == pytest.approx([0.6, 0.6], rel=1e-12)
    wide = run(engine, [1, 1], xeon.varied({"smt": 2}), layout="2x4", costs=costs)
    assert wide.finish_s == pytest.approx([0.95, 0.95], rel=1e-12)


# --- teams that change size ---


@pytest.mark.parametrize(("reuse", "start_of_second_s"), [(True, 0.5), (False, 4.0)])
@pytest.mark.rule("Teams that change size")
def test_teams_are_resized_or_created(engine, reuse, start_of_second_s):
    """0 on one core, then 1 on both: resizing costs 0.5 s, creating 1 s and 1.5 s a thread."""
    runtime = ss.RuntimeProfile(
        resize_s=0.5, team_creation_s=1.0, team_creation_per_thread_s=1.5, reuse_teams=reuse
    )
    graph = ss.TaskGraph.from_edges([1, 2], [(0, 1)], kinds=["view", "MatMul"])
    costs = ss.CostModel(curves={"MatMul": Curve(0.0)})
    schedule = ss.simulate(graph, "generic[cores=2]", "corun", "2x2", costs, runtime, engine)
    assert schedule.widths.tolist() == [1, 2]
    assert schedule.finish_s[1] - schedule.start_s[1] == 1 + start_of_second_s


@pytest.mark.rule("Teams that change size")
def test_resizing_is_slowed_down_like_the_task(engine):
    """0 on both ways of a core, then 1 and 2 on one each: 0.5 s of resizing and 1 s, times 2 / throughput of two."""

    class Halved(ss.Policy):
        def decide(self, view):
            teams = {0: (0, 2), 1: (0,), 2: (2,)}
            return [ss.Start(task, cores=teams[task]) for task in view.ready]

    knl = ss.machine(f"knl-7250[cores=2,{WIDE},smt=2,contention=false,share_cores=true]")
    runtime = ss.RuntimeProfile(resize_s=0.5)
    schedule = run(engine, [1, 1, 1], knl, Halved, edges=[(0, 1), (0, 2)], runtime=runtime)
    took_s = schedule.finish_s - schedule.start_s
    assert took_s[1:] == pytest.approx([1.5 * 2 / knl.compute_throughput[1]] * 2, rel=1e-12)


# --- all of them ---


@settings(max_examples=20)
@given(graphs(), machines(), st.data())
def test_nothing_gets_faster_and_every_switch_can_be_off(graph, machine, data):
    layout = data.draw(layouts(machine))
    alone = ss.simulate(graph, machine.varied({"contention": False}), "fifo", layout)
    assert (alone.finish_s >= (alone.start_s + alone.alone_s) * (1 - 1e-9)).all()
    for switches in ({"contention": True}, {data.draw(st.sampled_from(NAMES)): True}):
        shared = ss.simulate(graph, machine.varied({"contention": False, **switches}), "fifo", layout)
        assert (shared.finish_s >= (shared.start_s + shared.alone_s) * (1 - 1e-9)).all()
