"""TensorFlow in Graphi's reproduction: replays put together by hand, threads that spin, choices."""

from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.loads import Loads
from simsched.policies.tensorflow import chunked, is_chunk, one_threaded
from simsched.policy import Layout
from simsched.reproduce.graphi import Graphi
from simsched.reproduce.graphi_runs import Runs
from simsched.reproduce.graphi_tensorflow import TensorFlowRuns
from simsched.reproduce.kernel_seconds import KernelSeconds
from simsched.reproduce.spinning import among_spinning

MACHINE = ss.machine("knl-7250[bandwidth_Bps=4e11]")
COSTS = ss.CostModel(measured=KernelSeconds(), library="tensorflow-1.9")
LAYOUTS = ["1x64", "2x32", "4x16", "8x8", "16x4", "32x2", "3x10"]
#: Throughput of a core with two threads, in computing and in waiting for memory.
COMPUTE, MEMORY = 1.17, 1.48


def best_s(**choices):
    return Runs(Graphi(**choices)).tensorflow_s("googlenet", "small")


def replays(**choices):
    """Where no thread strays from its place."""
    return TensorFlowRuns(Graphi(**choices), MACHINE, COSTS, replace(MACHINE.runtime, misplaced=0.0))


@pytest.mark.parametrize(("teams", "pool"), [("split", 0), ("whole", 64)])
def test_it_is_the_best_of_replays(teams, pool):
    """A job takes the lock twice, nobody polls it, small ops run on one thread."""
    cut = chunked(ss.workload("googlenet[size=small]"))
    parked = replace(MACHINE.runtime, pop_s=2 * MACHINE.runtime.pop_s, pop_per_poller_s=0.0)
    layouts = LAYOUTS if teams == "split" else [f"{layout.split('x')[0]}x64" for layout in LAYOUTS]
    alone = replace(COSTS, curves=one_threaded())
    found = [
        ss.simulate(cut, MACHINE, f"tensorflow[pool={pool}]", layout, alone, parked).makespan_s
        for layout in layouts
    ]
    assert best_s(teams=teams, waiting="sleep") == min(found)


def test_what_spinning_threads_take():
    """Code that computes, waits for memory, and waits for its own team; beyond four ways threads yield."""
    asked = Loads(np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.zeros(3, np.int64))
    assert among_spinning(asked, MACHINE, 1).tolist() == [1, 1, 1]
    assert among_spinning(asked, MACHINE, 2) == pytest.approx([2 / COMPUTE, 2 / MEMORY, 1])
    assert among_spinning(asked, MACHINE, 9).tolist() == among_spinning(asked, MACHINE, 4).tolist()


def test_a_chunk_shares_its_core_with_a_thread_that_spins():
    """Six chunks that wait for memory, on cores whose team has nothing to do."""
    op = ss.TaskGraph.from_edges([np.nan], kinds=["Mul"], bytes_B=[1.3e6], flops=[1e5])
    cut = chunked(op)
    schedule = replays().run(cut, Layout(8, 8))
    took = (schedule.finish_s - schedule.start_s)[is_chunk(cut)]
    assert len(took) == 6
    assert took == pytest.approx(2 / MEMORY * schedule.alone_s[is_chunk(cut)], rel=0.02)


def test_a_team_shares_its_cores_with_one_that_spins():
    """One product on all cores beside a team that has nothing to do; it computes and waits for itself."""
    product = ss.TaskGraph.from_edges(
        [np.nan], kinds=["MatMul"], shapes=["4096x4096x4096"], flops=[2 * 4096.0**3]
    )
    alone, beside = (replays(waiting=waiting).run(product, Layout(2, 64)) for waiting in ("sleep", "spin"))
    ratio = beside.makespan_s / alone.makespan_s
    assert 2 / MEMORY < ratio <= 2 / COMPUTE
    split = [replays(waiting=waiting).run(product, Layout(2, 32)).makespan_s for waiting in ("sleep", "spin")]
    assert split[0] == split[1]


def test_nothing_spins_where_cores_are_not_shared():
    machine = "knl-7250[contention=false]"
    assert best_s(machine=machine) == best_s(machine=machine, waiting="sleep")


def test_choices():
    default = best_s()
    assert best_s(waiting="sleep") < default < best_s(teams="whole")
    assert default < best_s(ways="one")
    assert default < best_s(pool=8)
    assert best_s(locks=1) < default < best_s(idle="polling")
    assert best_s(chunk_cycles=1e5) != default
    assert default > Runs(Graphi()).best_s("googlenet", "small")
