"""Real runs: every task once, in order, under every policy."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.testing.invariants import check_bounds, check_cores

pytestmark = pytest.mark.usefixtures("native")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
TWO = pytest.mark.skipif(CORES < 2, reason="needs two cores")


@pytest.mark.parametrize("n", [200_000])
def test_many_tasks_each_run_once(check: Any, once: Any, n: int) -> None:
    # The executor itself adds up what ran and refuses a run in which a task was lost or doubled.
    graph = ss.TaskGraph.from_edges(
        np.zeros(n), np.stack([np.arange(n - 8), np.arange(8, n)], axis=1), kinds="spin"
    )
    layout, policy = ("2x1", "fifo") if CORES > 1 else ("1x1", "fifo")
    check(once(graph, policy, layout))


@pytest.mark.parametrize(
    "policy",
    [
        "critical-path",
        "fifo",
        "fifo[order=lifo]",
        "fifo[order=random]",
        "wavefront",
        "critical-path[prefer=producer]",
    ],
)
def test_static_policies(layered: Any, check: Any, once: Any, policy: str) -> None:
    for layout in ("1x1", "2x1") if CORES > 1 else ("1x1",):
        schedule = once(layered(3000, 12), policy, layout)
        check(schedule)
        check_cores(schedule)
        check_bounds(schedule)
        assert (schedule.layout, schedule.policy) == (layout, policy)


def test_sequential_runs_in_order(layered: Any, check: Any, once: Any) -> None:
    schedule = once(layered(500, 7), "sequential")
    check(schedule)
    assert (schedule.start_order == np.arange(500)).all()
    assert (schedule.widths == CORES).all()


@TWO
def test_wide_teams_and_corun(layered: Any, check: Any, once: Any) -> None:
    graph = layered(600, 6, seconds=2e-6)
    check(once(graph, "critical-path", "1x2"))
    schedule = once(graph, "corun")
    check(schedule)
    check_cores(schedule)
    products = ss.TaskGraph.from_edges(
        [1e-3] * 8, [(0, 7)], kinds="MatMul", shapes="64x128;128x256", flops=[4.2e8] * 8
    )
    widths = once(products, "corun").widths
    assert set(widths.tolist()) <= {1, 2}


@TWO
@pytest.mark.parametrize(
    "policy", ["corun[corun=false]", "corun[fastest=false,corun=false]", "corun[per_kind=true]"]
)
def test_strategies_of_corun(layered: Any, check: Any, once: Any, policy: str) -> None:
    graph = layered(600, 6, seconds=2e-6)
    schedule = once(graph, policy)
    check(schedule)
    check_cores(schedule)
    if "corun=" in policy:
        assert schedule.metrics()["max_corunning"] == 1
    if "fastest" in policy:
        assert (schedule.widths == CORES).all()


def test_second_hardware_threads_run_small_tasks_or_are_refused(layered: Any, once: Any) -> None:
    host = ss.machine("host")
    if host.smt_ways < 2:
        with pytest.raises(
            MachineError, match="needs the second hardware threads of host: this machine has one"
        ):
            once(layered(10, 2), "corun[smt=true]")
        return
    # One task holds all cores while the other, a tenth as long and serial, is ready.
    graph = ss.TaskGraph.from_edges([0.02 * host.n_cores, 0.002], kinds=["wide", "serial"])
    costs = ss.CostModel(curves={"wide": ss.Curve(0.0), "serial": ss.Curve(1.0)})
    schedule = once(graph, "corun[smt=true]", machine="host[smt=2]", costs=costs)
    assert schedule.cores(0).tolist() == list(range(host.n_cores))
    assert schedule.cores(1).min() >= host.n_cores


def test_one_executor_starts_tasks_as_the_simulator_does(once: Any) -> None:
    generator = np.random.default_rng(1)
    seconds = generator.uniform(1e-7, 1e-6, 400)
    edges = [(i, j) for i, j in generator.integers(0, 400, (900, 2)).tolist() if i < j]
    graph = ss.TaskGraph.from_edges(seconds, edges)
    for policy in ("critical-path", "fifo", "fifo[order=lifo]", "fifo[order=random]", "wavefront"):
        simulated = ss.simulate(graph, "host", policy, layout="1x1", seed=3)
        assert (once(graph, policy, "1x1", seed=3).start_order == simulated.start_order).all()


def test_spinning_takes_its_time(once: Any) -> None:
    graph = ss.TaskGraph.from_edges([2e-4, 3e-4], [(0, 1)], kinds="spin")
    schedule = once(graph, "fifo", "1x1")
    assert (schedule.finish_s - schedule.start_s >= [2e-4, 3e-4]).all()
    assert schedule.notes[0] == "kernels: 2 spin"


@pytest.mark.parametrize("layout", ["4x1", "2x3", "1x5"])
def test_more_threads_than_cores(layered: Any, check: Any, layout: str) -> None:
    graph = layered(300, 6)
    measured = ss.execute(graph, "fifo[oversubscribe=true]", layout, repeats=2, warmup=0)
    check(measured[1])
    assert np.isnan(measured.table["stolen"]).all()
    assert measured.n_dropped == 0


@TWO
def test_a_scheduler_thread_on_its_own_core(layered: Any, check: Any, once: Any) -> None:
    check(once(layered(2000, 6), "critical-path", f"{CORES - 1}x1", scheduler="thread"))


def test_threads_that_are_not_pinned(layered: Any, check: Any, once: Any) -> None:
    check(once(layered(200, 6), "fifo[pinned=false]", "1x1"))


def test_empty_and_single(check: Any, once: Any) -> None:
    empty = once(ss.TaskGraph.from_edges([]), "critical-path", "1x1")
    assert (empty.makespan_s, len(empty.tasks)) == (0, 0)
    check(once(ss.TaskGraph.from_edges([0.0]), "wavefront", "1x1"))


def test_one_core() -> None:
    code = """
        import os
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import simsched as ss
        graph = ss.TaskGraph.from_edges([1e-6] * 50, [(i, i + 5) for i in range(45)], kinds="spin")
        for policy in ("critical-path", "fifo", "wavefront", "sequential", "corun", "fifo[oversubscribe=true]"):
            layout = "3x1" if "over" in policy else None
            print(len(ss.execute(graph, policy, layout, repeats=2)))
        try:
            ss.execute(graph, "fifo", "2x1")
        except ss.SimschedError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    *ran, refused = done.stdout.splitlines()
    assert ran == ["2"] * 6
    assert "2x1 needs 2 cores" in refused
