"""What runs past the queue, by hand: small tasks inline, the light-weight executor, buffers, a pool of threads."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import LayoutError, PolicyError, SpecError
from simsched.policies.tensorflow import BYTE_CYCLES, chunked, one_threaded
from simsched.policy import Shortcuts

HALF = ss.RuntimeProfile(dispatch_s=0.5)
#: Bytes of an op that Eigen takes for 239,000 cycles: four chunks of at most 60,000, two of 120,000.
BYTES = 239_000 / BYTE_CYCLES
DIVIDES = ss.CostModel(default=ss.Curve(serial_share=0.0))


@pytest.mark.rule("Small tasks inline")
def test_small_tasks_run_where_they_are_released(replay):
    """Dispatch 0.5 s. 0 runs from 0.5 to 1.5 on executor 0, which then runs 1, of 0.1 s, at once.

    2 (5 s) is dispatched meanwhile, to executor 1, the only idle one: it starts at 2.
    """
    edges = [(0, 1), (0, 2)]
    schedule = replay([1, 0.1, 5], edges, "critical-path[small_s=0.2]", runtime=HALF)
    assert schedule.start_s.tolist() == [0.5, 1.5, 2]
    assert schedule.executor.tolist() == [0, 0, 1]
    # Without: 2 has the higher level and executor 0 is idle; 1 is the third decision.
    assert replay([1, 0.1, 5], edges, runtime=HALF).start_s.tolist() == [0.5, 2.5, 2]


@pytest.mark.rule("Small tasks inline")
def test_small_tasks_of_one_executor_follow_each_other(replay):
    """0 (1 s) releases 1, 2 (0.1 s each) and 3 (0.2 s); 1 releases 4 (0.1 s), behind the others; 5 (9 s) waits for 4.

    All run on executor 0, though executor 1 idles; 5 is not small and takes executor 0 at 1.5, idle again.
    """
    seconds, edges = [1, 0.1, 0.1, 0.2, 0.1, 9], [(0, 1), (0, 2), (0, 3), (1, 4), (4, 5)]
    schedule = replay(seconds, edges, "critical-path[small_s=0.2]")
    assert schedule.executor.tolist() == [0] * 6
    np.testing.assert_allclose(schedule.start_s, [0, 1, 1.1, 1.2, 1.4, 1.5], rtol=1e-12)


def test_small_tasks_of_a_shared_queue(replay):
    """A pop takes 0.5 s. 0 (1 s) runs from 0.5 to 1.5 and releases 1 and 3 (0.1 s), small, and 2 (1 s).

    Executor 0 runs 1 and 3 at once; 2 is popped meanwhile by executor 1. Without: 1, 2 and 3 are popped in this order.
    """
    pops = ss.RuntimeProfile(pop_s=0.5)
    seconds, edges = [1, 0.1, 1, 0.1], [(0, 1), (0, 2), (0, 3)]
    schedule = replay(seconds, edges, "fifo[small_s=0.2]", runtime=pops)
    assert schedule.executor.tolist() == [0, 0, 1, 0]
    np.testing.assert_allclose(schedule.start_s, [0.5, 1.5, 2, 1.6], rtol=1e-12)
    np.testing.assert_allclose(
        replay(seconds, edges, "fifo", runtime=pops).start_s, [0.5, 2, 2.5, 3], rtol=1e-12
    )


def test_last_come_first_served_with_small_tasks(replay):
    """One core. 0 (1 s) releases 1 and 2 (1 s) and 3 (0.1 s), which is small; then the queue's last come."""
    one = {"machine": "generic[cores=1]"}
    schedule = replay([1, 1, 1, 0.1], [(0, 1), (0, 2), (0, 3)], "fifo[order=lifo,small_s=0.2]", **one)
    assert schedule.start_order.tolist() == [0, 3, 1, 2]


def test_what_nothing_releases_is_popped(replay):
    """Both tasks are small, and both stand in the queue of one executor that pops for 0.5 s each."""
    one = {"machine": "generic[cores=1]", "runtime": ss.RuntimeProfile(pop_s=0.5)}
    schedule = replay([0.1, 0.1], [], "fifo[small_s=0.2]", **one)
    np.testing.assert_allclose(schedule.start_s, [0.5, 1.1], rtol=1e-12)


@pytest.mark.rule("Small tasks inline")
def test_the_last_predecessor_releases(replay):
    """2, small, runs where the later of 0 and 1 did; of one instant, where 1 did. The longer one has executor 0."""
    for seconds, executor in (([1, 2, 0.1], 0), ([2, 1, 0.1], 0), ([1, 1, 0.1], 1)):
        schedule = replay(seconds, [(0, 2), (1, 2)], "critical-path[small_s=0.2]")
        assert schedule.executor[2] == executor


@pytest.mark.rule("Single-threaded executors")
def test_the_light_weight_executor_starts_what_nothing_releases(replay):
    """Three cores, one reserved, one executor of two: 0 (0.1 s) and its small follower 2 run on core 2, on one thread.

    1 (2 s) runs on the executor meanwhile: 1 s. Without a reserved core 0 is a task of the queue.
    """
    seconds, edges = [0.1, 2, 0.1], [(0, 2)]
    small = {"machine": "generic[cores=3]", "layout": "1x2", "costs": DIVIDES}
    schedule = replay(seconds, edges, "critical-path[small_s=0.2,reserved=1]", **small)
    assert [schedule.cores(task).tolist() for task in range(3)] == [[2], [0, 1], [2]]
    assert schedule.start_s.tolist() == [0, 0, 0.1]
    assert schedule.finish_s.tolist() == [0.1, 1, 0.2]
    assert schedule.alone_s.tolist() == [0.1, 1, 0.1]
    queued = replay(seconds, edges, "critical-path[small_s=0.2]", **small)
    assert queued.executor.tolist() == [0, 0, 0]
    assert queued.start_s.tolist() == [1, 0, 1.05]


@pytest.mark.rule("Single-threaded executors")
def test_dispatching_to_the_light_weight_executor_comes_after_the_others(replay):
    """Dispatch 0.5 s; 1 (2 s) to executor 0 first, then 0 (0.1 s) to the light-weight one."""
    schedule = replay(
        [0.1, 2], [], "critical-path[small_s=0.2,reserved=1]", "generic[cores=2]", runtime=HALF, layout="1x1"
    )
    assert schedule.start_s.tolist() == [1, 0.5]
    assert schedule.executor.tolist() == [1, 0]


def test_shortcuts_on_cores_of_several_kinds(replay):
    """Kinds fast and slow, one core each, take 0.1 and 0.3 s for a small task: it runs where it became ready.

    0 (fast 2 s) and 1 (slow 3 s) start at once; 2 follows 0 on the fast core, 3 follows 1 on the slow one.
    """
    seconds = [[2, 4], [2, 3], [0.1, 0.3], [0.1, 0.3]]
    two = {"machine": "generic[cores=2,kinds=each]", "layout": "2x1"}
    inline = replay(seconds, [(0, 2), (1, 3)], "fifo[small_s=0.25]", **two)
    assert inline.executor.tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(inline.finish_s, [2, 3, 2.1, 3.3], rtol=1e-12)
    np.testing.assert_allclose(inline.alone_s, [2, 3, 0.1, 0.3], rtol=1e-12)


def test_a_light_weight_executor_of_another_kind(replay):
    """The slow core is reserved: 0, small, takes 0.3 s there, 1 its 2 s on the fast core, 2 lies in its buffer."""
    two = {"machine": "generic[cores=2,kinds=each]", "layout": "1x1"}
    light = "critical-path[small_s=0.25,reserved=1,buffered=true]"
    schedule = replay([[0.1, 0.3], [2, 3], [1, 2]], [], light, **two)
    assert schedule.executor.tolist() == [1, 0, 0]
    assert schedule.finish_s.tolist() == [0.3, 2, 3]
    assert schedule.alone_s.tolist() == [0.3, 2, 1]


@pytest.mark.rule("Buffers")
def test_a_buffer_hides_the_dispatch(replay):
    """One core, dispatch 0.5 s: 0 (2 s) from 0.5 to 2.5; 1 (1 s) lies in the buffer at 1 and starts at 2.5.

    2 (1 s) is handed over from 2.5 to 3 and starts at 3.5. Without a buffer they start at 3 and 4.5.
    """
    one = {"machine": "generic[cores=1]", "runtime": HALF}
    assert replay([2, 1, 1], [], "critical-path[buffered=true]", **one).start_s.tolist() == [0.5, 2.5, 3.5]
    assert replay([2, 1, 1], [], **one).start_s.tolist() == [0.5, 3, 4.5]


@pytest.mark.rule("Buffers")
def test_a_buffer_binds_early(replay):
    """Two cores: 0 (5 s) and 1 (4 s) run; 2 (3 s) is handed to executor 0, the lowest, and waits there beyond 4 s."""
    buffered = replay([5, 4, 3], [], "critical-path[buffered=true]")
    assert buffered.start_s.tolist() == [0, 0, 5]
    assert replay([5, 4, 3], []).start_s.tolist() == [0, 0, 4]


@pytest.mark.rule("Buffers")
def test_an_executor_waits_for_what_is_on_the_way_to_it(replay):
    """One core, dispatch 2 s: 0 (1 s) runs from 2 to 3; 1 is handed over from 2 to 4, starts then and ends at 5.

    2 is handed over from 4 to 6: it starts at 6.
    """
    schedule = replay(
        [1, 1, 1],
        [],
        "critical-path[buffered=true]",
        "generic[cores=1]",
        runtime=ss.RuntimeProfile(dispatch_s=2),
    )
    assert schedule.start_s.tolist() == [2, 4, 6]


@pytest.mark.rule("Buffers")
def test_small_tasks_come_before_the_buffer(replay):
    """One core: 1 (1 s) waits in the buffer while 0 (1 s) runs; 0 releases 2 (0.1 s), which runs first."""
    schedule = replay([1, 1, 0.1], [(0, 2)], "critical-path[small_s=0.2,buffered=true]", "generic[cores=1]")
    assert schedule.start_order.tolist() == [0, 2, 1]


def test_chunks_run_on_the_pool(engine):
    """A product of 4 chunks, 4 s, and another task of 2 s on two cores.

    A pop takes 0.5 s and 0.25 s a further poller. The op is popped by the one team, to 0.5, and the other task, to 1;
    it runs until 3 on one thread. Chunks are popped by two threads: to 1.75 (two idle) and 2.25 (one), 1 s each; the
    others to 3.25 (one idle at 2.75) and to 3.75 (one idle, from 3.25 on).
    """
    graph = ss.TaskGraph.from_edges(
        [4.0, 2.0], kinds=["Mul", "mine"], bytes_B=[BYTES, 0.0], names=["product", "other"]
    )
    cut = chunked(graph, chunk_cycles=60_000)
    assert cut.kinds.to_list() == ["shard::Mul", "mine", *["chunk::Mul"] * 4]
    runtime = ss.RuntimeProfile(pop_s=0.5, pop_per_poller_s=0.25)
    schedule = ss.simulate(cut, "generic[cores=2]", "tensorflow", "1x2", runtime=runtime, engine=engine)
    assert schedule.start_s.tolist() == [0.5, 1.0, 1.75, 2.25, 3.25, 3.75]
    assert schedule.cores(1).tolist() == [0, 1]
    assert [schedule.cores(task).tolist() for task in (2, 3, 4, 5)] == [[1], [0], [1], [0]]


def test_the_pools_threads_share_cores_with_the_teams(engine):
    """One core with threads that take turns: a chunk of 2 s beside a task of 2 s; both take 4 s."""
    machine = ss.machine("generic[cores=1,share_cores=true]")
    graph = ss.TaskGraph.from_edges([4.0, 2.0], kinds=["Mul", "mine"], bytes_B=[BYTES, 0.0])
    cut = chunked(graph, chunk_cycles=120_000)
    schedule = ss.simulate(
        cut, machine, "tensorflow[pool=1]", "1x1", runtime=ss.RuntimeProfile(), engine=engine
    )
    assert schedule.finish_s.tolist() == [0, 4, 4, 6]


def test_chunks_keep_work_and_order():
    """A product between two others, one of which is too small to cut: edges go around the chunks, sums stay."""
    graph = ss.TaskGraph.from_edges(
        [np.nan, 3.0, 1.0],
        [(0, 1), (1, 2)],
        kinds="Mul",
        flops=[1, 6, 1],
        bytes_B=[BYTES, BYTES, np.nan],
        shapes="2x2",
    )
    cut = chunked(graph, chunk_cycles=120_000)
    assert cut.n_tasks == 3 + 2 + 2
    assert sorted(zip(cut.successors.sources().tolist(), cut.successors.indices.tolist(), strict=True)) == [
        (0, 3), (0, 4), (1, 5), (1, 6), (3, 1), (4, 1), (5, 2), (6, 2),
    ]  # fmt: skip
    assert cut.shapes.to_list() == ["2x2"] * 3 + [""] * 4
    assert cut.flops.tolist() == [0, 0, 1, 0.5, 0.5, 3, 3]
    assert cut.durations_s[[1, 2, 5, 6]].tolist() == [0, 1, 1.5, 1.5]
    assert np.isnan(cut.durations_s[3])
    assert "2 element-wise ops were cut into 4 chunks" in cut.report.notes


@pytest.mark.parametrize(
    ("cycles", "threads", "chunks"),
    [
        (209_000, 64, 1),  # worth one thread: (209,000 - 100,000) / 100,000 + 0.9 is below 2
        (211_000, 64, 6),  # worth two, in blocks of 40,000
        (211_000, 1, 1),  # a pool of one thread gets nothing
        (50e6, 64, 256),  # at most four blocks a thread
        (50e6, 2, 8),
    ],
)
def test_chunks_are_those_of_eigen(cycles, threads, chunks):
    """Half of the cycles are those of bytes, half of operations, 16 a cycle."""
    graph = ss.TaskGraph.from_edges(
        [np.nan], kinds="Mul", flops=[16 * cycles / 2], bytes_B=[cycles / 2 / BYTE_CYCLES]
    )
    cut = chunked(graph, threads)
    assert cut.n_tasks == (1 + chunks if chunks > 1 else 1)
    assert cut.flops.sum() == pytest.approx(graph.flops.sum())


def test_what_is_not_cut_runs_on_one_thread():
    """Element-wise ops take as long on all cores as on one; products do not."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["Mul", "MatMul"], flops=[1e9] * 2, bytes_B=[1e9] * 2)
    costs = ss.CostModel(curves=one_threaded()).on(graph, ss.machine("generic[cores=8]"))
    wide, narrow = costs.seconds(8), costs.seconds(1)
    assert wide[0] == narrow[0]
    assert wide[1] < narrow[1]


def test_what_cannot_be_cut():
    graph = ss.TaskGraph.from_edges([1.0], kinds="Mul", bytes_B=[1e9], widths=2)
    with pytest.raises(ss.errors.GraphError, match="task 0 was recorded on 2 threads"):
        chunked(graph)
    with pytest.raises(ss.errors.GraphError, match="the least is 1"):
        chunked(graph, threads=0)
    with pytest.raises(ss.errors.GraphError, match="the least is 1"):
        chunked(graph, chunk_cycles=0)


@pytest.mark.parametrize("spec", ["small_s=-1", "small_s=inf", "reserved=-1"])
def test_impossible_parameters(spec):
    with pytest.raises(SpecError, match=r"fifo\[small_s=nan\]: expected seconds"):
        ss.policy("fifo[small_s=nan]")
    with pytest.raises(SpecError, match=r"critical-path\[" + spec.split("=", maxsplit=1)[0]):
        ss.policy(f"critical-path[{spec}]")
    for pool in (-1, 2_000_000_000):
        with pytest.raises(SpecError, match=rf"tensorflow\[pool={pool}\]: expected a number of threads"):
            ss.policy(f"tensorflow[pool={pool}]")


@pytest.mark.rule("Pinned")
def test_reserved_cores_are_the_last(replay):
    """Scattered over tiles of two, and with two ways: executors take no way of cores 2 and 3."""
    policy = "critical-path[reserved=2,placement=scatter]"
    schedule = replay(
        [1] * 4, [], policy, "knl-7250[cores=4,smt=2]", layout="4x1", runtime=ss.RuntimeProfile()
    )
    assert sorted(schedule.cores(task).tolist() for task in range(4)) == [[0], [1], [4], [5]]
    with pytest.raises(LayoutError, match="has 2 besides the 2 reserved"):
        replay([1], [], policy, "knl-7250[cores=4]", layout="4x1")
    with pytest.raises(LayoutError, match="leaves no core"):
        replay([1], [], "critical-path[reserved=4]", "knl-7250[cores=4]")
    assert replay([1] * 99, [], policy, "knl-7250").layout == "66x1"


class Wrong(ss.RankPolicy):
    """Shortcuts that do not fit."""

    name = "wrong"

    def rank(self, problem):
        return problem.seconds

    def shortcuts(self, problem):
        return self.given


@pytest.mark.parametrize(
    ("shortcuts", "message"),
    [
        (Shortcuts(np.zeros(3, bool), np.zeros(2, bool)), "single_threaded of bool and shape"),
        (Shortcuts(np.zeros(2, bool), np.zeros(2)), "inline of float64"),
        (Shortcuts(np.zeros(2, bool), np.zeros(2, bool), np.array([2], np.int32)), "threads are 0 to 1"),
    ],
    ids=["length", "type", "thread"],
)
def test_shortcuts_that_do_not_fit(replay, shortcuts, message):
    Wrong.given = shortcuts
    with pytest.raises(PolicyError, match=message):
        replay([1, 1], [], Wrong)


def test_tasks_that_nobody_could_run():
    with pytest.raises(PolicyError, match="2 tasks are kept for single-threaded executors"):
        Shortcuts(np.ones(2, bool), np.zeros(2, bool))
