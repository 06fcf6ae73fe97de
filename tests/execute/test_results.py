"""What tasks write is what their followers read."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import simsched as ss
from simsched.execute.kernels.work import Operands, Work

pytestmark = pytest.mark.usefixtures("native")


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


def test_unknown_kinds_spin_or_copy_and_are_counted(once: Any) -> None:
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
