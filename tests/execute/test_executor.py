"""Real runs: every task once, in order, under every policy; what cannot run, and what does not end."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import simsched as ss
from simsched.errors import EngineError, LayoutError, MachineError, SimschedError
from simsched.execute import Case, Execution, Settings, interleaved, prepared
from simsched.execute.memory import Operands
from simsched.execute.work import Work
from simsched.testing.invariants import check_bounds, check_cores

pytestmark = pytest.mark.usefixtures("native")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
TWO = pytest.mark.skipif(CORES < 2, reason="needs two cores")
#: Runs on any machine: two executors, on one core if need be.
SHARED = "[oversubscribe=true]"


def layered(n: int, width: int, seed: int = 0, seconds: float = 0.0) -> ss.TaskGraph:
    """Return a graph of layers, each task after up to three of the layer before."""
    generator = np.random.default_rng(seed)
    after = np.arange(width, n)
    chosen = [(after // width - 1) * width + generator.integers(0, width, len(after)) for _ in range(3)]
    edges = np.concatenate([np.stack([before, after], axis=1) for before in chosen])
    return ss.TaskGraph.from_edges(np.full(n, seconds), np.unique(edges, axis=0), kinds="spin")


def check(schedule: ss.Schedule) -> None:
    graph = schedule.graph
    ready = np.zeros(graph.n_tasks)
    np.maximum.at(ready, graph.successors.indices, schedule.finish_s[graph.successors.sources()])
    assert (schedule.ready_s == ready).all()
    assert (schedule.start_s >= ready).all()
    assert (schedule.finish_s >= schedule.start_s).all()
    assert (np.sort(schedule.start_order) == np.arange(graph.n_tasks)).all()
    assert schedule.engine == "measured"
    assert schedule.machine is not None
    assert schedule.machine.spec == "host"


def once(graph: ss.TaskGraph, policy: str, layout: str | None = None, **options: Any) -> ss.Schedule:
    return ss.execute(graph, policy, layout, repeats=1, warmup=0, **options)[0]


@pytest.mark.parametrize("n", [1_000_000])
def test_a_million_tasks_each_run_once(n: int) -> None:
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
def test_static_policies(policy: str) -> None:
    for layout in ("1x1", "2x1") if CORES > 1 else ("1x1",):
        schedule = once(layered(3000, 12), policy, layout)
        check(schedule)
        check_cores(schedule)
        check_bounds(schedule)
        assert (schedule.layout, schedule.policy) == (layout, policy)


def test_sequential_runs_in_order() -> None:
    schedule = once(layered(500, 7), "sequential")
    check(schedule)
    assert (schedule.start_order == np.arange(500)).all()
    assert (schedule.widths == CORES).all()


@TWO
def test_wide_teams_and_corun() -> None:
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
    "policy", ["corun[beside=false]", "corun[fastest=false,beside=false]", "corun[per_kind=true]"]
)
def test_strategies_of_corun(policy: str) -> None:
    graph = layered(600, 6, seconds=2e-6)
    schedule = once(graph, policy)
    check(schedule)
    check_cores(schedule)
    if "beside" in policy:
        assert schedule.metrics()["max_corunning"] == 1
    if "fastest" in policy:
        assert (schedule.widths == CORES).all()


def test_second_hardware_threads_run_small_tasks_or_are_refused() -> None:
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


def test_one_executor_starts_tasks_as_the_simulator_does() -> None:
    generator = np.random.default_rng(1)
    seconds = generator.uniform(1e-7, 1e-6, 400)
    edges = [(i, j) for i, j in generator.integers(0, 400, (900, 2)).tolist() if i < j]
    graph = ss.TaskGraph.from_edges(seconds, edges)
    for policy in ("critical-path", "fifo", "fifo[order=lifo]", "fifo[order=random]", "wavefront"):
        simulated = ss.simulate(graph, "host", policy, layout="1x1", seed=3)
        assert (once(graph, policy, "1x1", seed=3).start_order == simulated.start_order).all()


def test_spinning_takes_its_time() -> None:
    graph = ss.TaskGraph.from_edges([2e-4, 3e-4], [(0, 1)], kinds="spin")
    schedule = once(graph, "fifo", "1x1")
    assert (schedule.finish_s - schedule.start_s >= [2e-4, 3e-4]).all()
    assert schedule.notes[0] == "kernels: 2 spin"


@pytest.mark.parametrize("layout", ["4x1", "2x3", "1x5"])
def test_more_threads_than_cores(layout: str) -> None:
    graph = layered(300, 6)
    measured = ss.execute(graph, f"fifo{SHARED}", layout, repeats=2, warmup=0)
    check(measured[1])
    assert np.isnan(measured.table["stolen"]).all()
    assert measured.n_dropped == 0


def test_layouts_larger_than_the_machine_are_refused() -> None:
    with pytest.raises(LayoutError, match=f"needs {CORES + 1} cores.*oversubscribe=true"):
        ss.execute(layered(3, 1), "fifo", f"{CORES + 1}x1")


def test_a_scheduler_thread_needs_a_core() -> None:
    graph = layered(2000, 6)
    with pytest.raises(LayoutError, match="scheduler='thread' needs a core"):
        ss.execute(graph, "critical-path", f"{CORES}x1", scheduler="thread")
    check(once(graph, f"critical-path{SHARED}", f"{CORES + 1}x1", scheduler="thread"))


@TWO
def test_a_scheduler_thread_on_its_own_core() -> None:
    check(once(layered(2000, 6), "critical-path", f"{CORES - 1}x1", scheduler="thread"))


def test_threads_that_are_not_pinned() -> None:
    check(once(layered(200, 6), "fifo[pinned=false]", "1x1"))


def test_empty_and_single() -> None:
    empty = once(ss.TaskGraph.from_edges([]), "critical-path", "1x1")
    assert (empty.makespan_s, len(empty.tasks)) == (0, 0)
    check(once(ss.TaskGraph.from_edges([0.0]), "wavefront", "1x1"))


def test_a_run_that_does_not_end_is_stopped_with_its_story() -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0, 1e6, 0.0], [(0, 1), (1, 2)], kinds="spin", names=["a", "stuck", "b"]
    )
    with pytest.raises(
        EngineError, match=r"did not end within 200 ms.*1 of 3 tasks.*worker 0 runs task 1 \('stuck', spin\)"
    ):
        once(graph, "fifo", "1x1", timeout_s=0.2)
    check(once(layered(50, 5), "fifo", "1x1"))


def test_a_kernel_that_does_not_end_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "GRACE_S", 0.02)
    graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="2048x4096;4096x4096")
    with pytest.raises(EngineError, match=r"could not be stopped; its threads were left behind.*runs task 0"):
        once(graph, "fifo", "1x1", timeout_s=0.05)
    check(once(layered(50, 5), "fifo", "1x1"))


def test_ctrl_c_stops_a_run() -> None:
    code = """
        import signal, threading, os, simsched as ss
        graph = ss.TaskGraph.from_edges([1e6], kinds="spin")
        ss.execute(ss.TaskGraph.from_edges([0.0], kinds="spin"), "fifo", "1x1", repeats=1)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0)
        except KeyboardInterrupt:
            print("stopped")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "stopped\n"


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


def test_interleaved_cases_share_their_graph() -> None:
    graph, other = layered(200, 5), layered(100, 4, seed=1)
    turns: list[object] = []
    cases = [Case(graph, "fifo", "1x1"), Case(graph, "critical-path", "1x1"), Case(other, "wavefront", "1x1")]
    found = interleaved(cases, 3, Settings(warmup=1), turns.append)
    assert len(turns) == 12
    assert [len(each) for each in found] == [3, 3, 3]
    assert [each[0].policy for each in found] == ["fifo", "critical-path", "wavefront"]
    assert found[2][0].graph is other


def test_figures_of_an_execution() -> None:
    graph = ss.TaskGraph.from_edges([1e-4, 1e-4], [(0, 1)], kinds="spin")
    measured = ss.execute(graph, "fifo", "1x1", repeats=5)
    assert isinstance(measured, Execution)
    assert list(measured.table.columns) == ["makespan_s", "stolen", "preemptions", "latency_s", "kept"]
    assert (
        measured.makespans_s[measured.kept].min()
        <= measured.median_s
        <= measured.makespans_s[measured.kept].max()
    )
    assert measured.median_s >= 2e-4
    assert measured.spread_s >= 0
    assert measured.schedule in list(measured)
    assert (measured.median_tasks_s >= 1e-4).all()
    assert len(measured[1:3]) == 2
    assert all(len(run.wall_s) == len(run.cpu_s) == 1 for run in measured.runs)
    assert all(run.wall_s[0] >= 2e-4 for run in measured.runs)
    assert "OpenBLAS" in measured.notes[1]
    assert "fifo" in repr(measured)
    assert "Execution" in measured._repr_html_()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"repeats": 0}, "repeats is 0"), ({"warmup": -1}, "warmup is -1"), ({"scheduler": "none"}, "scheduler='none'"),
        ({"unknown": "guess"}, "unknown='guess'"), ({"instruction_set": "mmx"}, "instruction set mmx"),
        ({"backend": "mkl"}, "backend='mkl'"),
        ({"options": {"add": {"colour": 1}}}, "colour"), ({"options": {"mystery": {}}}, "no kernel runs"),
        ({"machine": "generic[cores=4096]"}, "really run on this system"), ({"memory_B": 10}, "memory_B="),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(options: dict[str, Any], why: str) -> None:
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["add", "mystery"], shapes="8x8;8x8")
    with pytest.raises(SimschedError, match=why):
        ss.execute(graph, "fifo", "1x1", **options)


def test_policies_that_decide_in_python_are_refused() -> None:
    class Mine(ss.Policy):
        name = "mine"

    with pytest.raises(EngineError, match="decides in Python"):
        ss.execute(layered(3, 1), Mine)


def results(
    graph: ss.TaskGraph, layout: str, native: Any
) -> tuple[list[npt.NDArray[np.float32]], list[Any], Work, Operands]:
    """Run a graph by the compiled module itself, and return what each task wrote."""
    work = Work.of(graph)
    operands = Operands.of(graph, work)
    arena = np.empty(operands.size, np.float32)
    native.fill(arena)
    program = native.Program(work.kernels, work.kernel_of, operands.starts, arena)
    k, w = map(int, layout.split("x"))
    crew = native.Crew([[min(os.sched_getaffinity(0))]] * (k * w))
    empty = np.zeros(1, np.int64), np.empty(0, np.int32)
    native.execute_list(
        crew,
        program,
        graph.successors.indptr,
        graph.successors.indices,
        np.zeros(graph.n_tasks),
        "fifo",
        np.empty(0, np.int32),
        np.arange(k + 1, dtype=np.int64) * w,
        np.zeros(k * w, np.int32),
        *empty,
        scheduler_thread=False,
        shares_cpus=True,
        measures_latency=False,
        timeout_s=30.0,
        grace_s=1.0,
        tick=None,
    )
    starts, place, inputs = iter(operands.starts.tolist()), [], []
    for task in range(graph.n_tasks):
        kernel = work.kernels[work.kernel_of[task]]
        begin = next(starts)
        place.append(arena[begin : begin + kernel.output])
        inputs.append([arena[at : at + size] for size in kernel.inputs for at in [next(starts)]])
    return place, inputs, work, operands


@pytest.mark.parametrize("layout", ["1x1", "2x1", "1x2", "1x3"])
def test_results_go_from_task_to_task(native: Any, layout: str) -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 5, [(0, 2), (1, 2), (2, 3), (3, 4)], kinds=["MatMul", "MatMul", "Add", "aten::tanh", "softmax"],
        shapes=["31x20;20x65", "31x20;20x65", "31x65;31x65", "31x65", "31x65"],
    )  # fmt: skip
    outputs, inputs, work, _ = results(graph, layout, native)
    assert (work.kernel_of >= 0).all()
    (a, b), (c, d) = inputs[0], inputs[1]
    assert np.shares_memory(a, c)  # both read one buffer: weights are shared by shape
    assert np.shares_memory(inputs[2][0], outputs[0])
    assert np.shares_memory(inputs[2][1], outputs[1])
    first, second = (x.reshape(31, 20).astype(float) @ y.reshape(20, 65) for x, y in ((a, b), (c, d)))
    y = np.tanh(first + second)
    np.testing.assert_allclose(outputs[3].reshape(31, 65), y, atol=1e-4)
    np.testing.assert_allclose(
        outputs[4].reshape(31, 65), np.exp(y) / np.exp(y).sum(axis=1, keepdims=True), atol=1e-4
    )


def test_unknown_kinds_spin_or_copy_and_are_counted() -> None:
    graph = ss.TaskGraph.from_edges(
        [1e-5] * 4,
        kinds=["mystery", "mystery", "add", "memory"],
        shapes=["", "3", "4;4", ""],
        bytes_B=[800.0, np.nan, 48.0, 1600.0],
    )
    assert once(graph, "fifo", "1x1").notes[:2] == (
        "kernels: 2 spin, 1 add, 1 memory",
        "2 tasks have no kernel of their kind and shapes, and spin for their estimated seconds: mystery (2)",
    )
    assert "2 memory, 1 spin, 1 add" in once(graph, "fifo", "1x1", unknown="memory").notes[0]


def test_arrays_that_do_not_fit_are_refused(native: Any) -> None:
    kernel, arena = native.kernel("relu", [4]), np.zeros(16, np.float32)
    one, i64 = np.zeros(1, np.int32), np.int64
    for operands in ([13, 0], [0, -1], [0], [0, 4, 8]):
        with pytest.raises(ValueError, match="operand"):
            native.Program([kernel], one, np.array(operands, i64), arena)
    with pytest.raises(ValueError, match="share memory"):
        native.Program([kernel], np.zeros(2, np.int32), np.array([0, 8, 2, 8], i64), arena)
    with pytest.raises(ValueError, match="does not exist"):
        native.Program([kernel], one + 1, np.array([0, 4], i64), arena)
    with pytest.raises(RuntimeError, match="does not let a thread run on CPU"):
        native.Crew([[0], [4095]])
