"""TensorFlow in Graphi's reproduction: replays put together by hand, threads that spin, choices."""

from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.loads import Loads
from simsched.policies.tensorflow import chunked, is_chunk, one_threaded
from simsched.reproduce.graphi import Graphi
from simsched.reproduce.graphi_runs import Runs
from simsched.reproduce.graphi_tensorflow import TensorFlowRuns
from simsched.reproduce.spinning import among_spinning

MACHINE = ss.machine("knl-7250[bandwidth_Bps=4e11]")
COSTS = ss.CostModel(library="graphi")
LAYOUTS = ["1x64", "2x32", "4x16", "8x8", "16x4", "32x2", "3x10"]
#: Throughput of a core with two threads, in computing and in waiting for memory.
COMPUTE, MEMORY = 1.17, 1.48


def best_s(**choices):
    return Runs(Graphi(**choices)).tensorflow_s("googlenet", "small")


def replays(**choices):
    """Where no thread strays from its place."""
    return TensorFlowRuns(Graphi(**choices), MACHINE, COSTS, replace(MACHINE.runtime, misplaced=0.0))


def test_it_is_the_best_of_replays():
    """A job takes the lock twice, nobody polls it, small ops run on one thread."""
    cut = chunked(ss.workload("googlenet[size=small]"))
    parked = replace(MACHINE.runtime, pop_s=2 * MACHINE.runtime.pop_s, pop_per_poller_s=0.0)
    alone = replace(COSTS, curves=one_threaded())
    found = [ss.simulate(cut, MACHINE, "tensorflow", layout, alone, parked).makespan_s for layout in LAYOUTS]
    assert best_s(waiting="sleep") == min(found)


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
    schedule = replays().run(cut, "8x8")
    took = (schedule.finish_s - schedule.start_s)[is_chunk(cut)]
    assert len(took) == 6
    assert took == pytest.approx(2 / MEMORY * schedule.alone_s[is_chunk(cut)], rel=0.02)


def test_a_team_has_its_cores_where_no_chunk_runs():
    """One product beside a team that has nothing to do, on other cores."""
    product = ss.TaskGraph.from_edges(
        [np.nan], kinds=["MatMul"], shapes=["4096x4096x4096"], flops=[2 * 4096.0**3]
    )
    took = [replays(waiting=waiting).run(product, "2x32").makespan_s for waiting in ("sleep", "spin")]
    assert took[0] == took[1]


def test_nothing_spins_where_cores_are_not_shared():
    machine = "knl-7250[contention=false]"
    assert best_s(machine=machine) == best_s(machine=machine, waiting="sleep")


def test_choices():
    default = best_s()
    assert best_s(waiting="sleep") < default < best_s(idle="polling")
    assert default > Runs(Graphi()).best_s("googlenet", "small")
