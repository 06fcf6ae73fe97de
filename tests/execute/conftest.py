"""What the tests of real runs share."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.costs import CostModel
from simsched.costs.fitting import Calibration, MeasuredOp, Op, Point
from simsched.errors import SimschedError
from simsched.execute.crosscheck.checked import Checked, CrossCheck
from simsched.execute.kernels.module import module
from simsched.execute.run.execution import Execution, MeasuredRun
from simsched.graph.adjacency import Csr
from simsched.machine import RuntimeProfile
from simsched.schedule import Schedule


@pytest.fixture(scope="session")
def native() -> Any:
    """The compiled module of real runs."""
    try:
        return module()
    except SimschedError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def made_up() -> SimpleNamespace:
    """What makes executions and cross-checks without running anything."""
    return SimpleNamespace(measured=_measured, run=_run, checked=_checked, crosscheck=_crosscheck)


def _measured(graph, start, finish, executor=None, cores=2):
    """Return a measured schedule of tasks on one core each."""
    start, finish = np.array(start, np.float64), np.array(finish, np.float64)
    executor = np.array(executor if executor is not None else np.zeros(graph.n_tasks), np.int32)
    return Schedule(
        graph=graph, ready_s=start.copy(), start_s=start, finish_s=finish,
        teams=Csr(np.arange(cores + 1), np.arange(cores, dtype=np.int32)), team=executor, executor=executor,
        start_order=np.argsort(start, kind="stable").astype(np.int32), alone_s=finish - start, n_cores=cores,
        machine=ss.machine(f"generic[cores={cores}]"), engine="measured", notes=("kernels: made up",),
    )  # fmt: skip


def _run(schedule, stolen=0.0, latency_s=1e-7):
    """Return a run of which a share was stolen."""
    return MeasuredRun(schedule, stolen, 0, latency_s, (1.0,), (1.0,))


def _checked(graph, runs, policy="fifo", layout="2x1", name="graph"):
    """Return a case: these runs beside what the graph's own seconds predict."""
    costs, runtime = CostModel(), RuntimeProfile()
    simulated = ss.simulate(graph, "generic[cores=2]", policy, layout, costs, runtime)
    return Checked(name, Execution(tuple(runs)), simulated, costs, runtime)


def _crosscheck(*cases):
    """Return a cross-check of cases."""
    calibration = Calibration.of(
        [MeasuredOp(Op("MatMul", "8x8"), (Point(1, 1e-3),))],
        "made up",
        facts={"runs": 4, "core_to_core_s": 6e-8},
    )
    return CrossCheck(cases, calibration)


@pytest.fixture(scope="session")
def layered() -> Callable[..., Any]:
    """Makes graphs of layers."""
    return _layered


def _layered(n: int, width: int, seed: int = 0, seconds: float = 0.0) -> ss.TaskGraph:
    """Return a graph of layers, each task after up to three of the layer before."""
    generator = np.random.default_rng(seed)
    after = np.arange(width, n)
    chosen = [(after // width - 1) * width + generator.integers(0, width, len(after)) for _ in range(3)]
    edges = np.concatenate([np.stack([before, after], axis=1) for before in chosen])
    return ss.TaskGraph.from_edges(np.full(n, seconds), np.unique(edges, axis=0), kinds="spin")


@pytest.fixture(scope="session")
def check() -> Callable[..., Any]:
    """Checks that a measured schedule ran every task, in order."""
    return _check


def _check(schedule: ss.Schedule) -> None:
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


@pytest.fixture(scope="session")
def once() -> Callable[..., Any]:
    """Runs a graph once."""
    return _once


def _once(graph: ss.TaskGraph, policy: str, layout: str | None = None, **options: Any) -> ss.Schedule:
    return ss.execute(graph, policy, layout, repeats=1, warmup=0, **options)[0]
