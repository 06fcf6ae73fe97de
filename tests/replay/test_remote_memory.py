"""Where data are, and what it costs to fetch them, by hand (rules 5 and 6)."""

from functools import partial

import pytest

import simsched as ss

# Endless bandwidth, 10 GB/s a core: a task of 1 s and 10 GB waits for the memory all the time, and for nobody.
WIDE = "core_bandwidth_Bps=1e10,bandwidth_Bps=1e15"
TWO_SOCKETS = f"xeon-8160x2[cores=4,{WIDE},contention=false,remote_memory=true]"


def under_fifo(replay):
    """Return a replay under fifo, without software costs."""
    return partial(replay, policy="fifo", runtime=ss.RuntimeProfile())


@pytest.mark.rule("Remote memory")
def test_data_of_the_other_socket_take_longer(replay):
    """Task 3 reads what 0 (socket 0) and 2 (socket 1) made, half each, on core 0: half of its traffic is remote."""
    run = under_fifo(replay)
    xeon = ss.machine(TWO_SOCKETS)
    penalty = xeon.memory.remote_latency_s / xeon.memory.latency_s
    schedule = run([2, 2, 1, 1], [(0, 3), (2, 3)], machine=xeon, bytes_B=[0, 0, 0, 1e10], layout="4x1")
    assert schedule.cores(2).tolist() == [2]
    assert schedule.cores(3).tolist() == [0]
    assert schedule.finish_s[3] == 2 + (0.5 + 0.5 * penalty)


@pytest.mark.rule("Remote memory")
def test_the_link_between_sockets_is_shared(replay):
    """Tasks 3 and 4 read 10 GB from socket 1 on socket 0: 20 GB/s over a link of 5: 4 times the penalty."""
    run = under_fifo(replay)
    xeon = ss.machine(TWO_SOCKETS).varied({"memory.modes.ddr.link_bandwidth": 5, "share_bandwidth": True})
    penalty = xeon.memory.remote_latency_s / xeon.memory.latency_s
    remote = run([1] * 5, [(2, 3), (2, 4)], machine=xeon, bytes_B=[0, 0, 0, 1e10, 1e10], layout="3x1")
    assert [remote.cores(t).tolist() for t in (3, 4)] == [[0], [1]]
    assert remote.finish_s[3:] == pytest.approx([1 + 4 * penalty] * 2, rel=1e-9)  # demands are whole bytes


@pytest.mark.rule("Which executor")
def test_a_consumer_on_its_producers_executor_finds_its_data(replay):
    """Task 3 reads what 2 made on socket 1. Preferring the producer's executor it runs there, in 1 s."""
    run = under_fifo(replay)
    xeon = ss.machine(TWO_SOCKETS)
    far = partial(run, [1] * 4, [(2, 3)], machine=xeon, bytes_B=[0, 0, 0, 1e10], layout="4x1")
    near = far(policy="fifo[prefer=producer]")
    assert (near.cores(3).tolist(), near.makespan_s) == ([2], 2.0)
    assert (far().cores(3).tolist(), far().makespan_s) == ([0], 1 + xeon.memory.remote_penalty)


@pytest.mark.rule("Which executor")
@pytest.mark.parametrize(
    ("seconds", "edges", "executors"),
    [
        # 0 and 2 finish together, and 2 is the last of them.
        ([2, 1, 2, 1], [(0, 3), (2, 3)], [0, 1, 2, 2]),
        # 4 follows 1, whose executor has taken 3 meanwhile: the lowest idle one has it.
        ([2, 1, 9, 9, 1], [(1, 4)], [0, 1, 2, 1, 0]),
    ],
)
def test_the_producer_is_the_predecessor_that_finished_last(replay, seconds, edges, executors):
    run = under_fifo(replay)
    schedule = run(seconds, edges, policy="fifo[prefer=producer]", machine="generic[cores=3]", layout="3x1")
    assert schedule.executor.tolist() == executors


@pytest.mark.rule("Memory bandwidth")
def test_each_domain_has_its_own_bandwidth(replay):
    """Each socket moves 10 GB/s. Two memory-bound tasks on one socket take 2 s each, on two sockets 1 s each."""
    run = under_fifo(replay)
    xeon = ss.machine(
        "xeon-8160x2[cores=4,core_bandwidth_Bps=1e10,memory.modes.ddr.sharpness=300,contention=false]"
    ).varied({"bandwidth_Bps": 2e10, "share_bandwidth": True})
    one = run([1, 1], [], machine=xeon, bytes_B=[1e10, 1e10], layout="4x1")
    two = run([1, 1, 1], [], machine=xeon, bytes_B=[1e10, 0, 1e10], layout="3x1")
    assert one.finish_s.tolist() == pytest.approx([2, 2], rel=1e-2)
    assert two.finish_s.tolist() == pytest.approx([1, 1, 1], rel=1e-2)
