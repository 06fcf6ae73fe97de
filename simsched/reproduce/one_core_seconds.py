"""One-core seconds of ops by the kernel model: convolutions, matrix products and streams by their shapes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from simsched.costs.fitting.points import Op
from simsched.costs.kernels import Convolution, Team, convolution_s, elementwise_s, gemm_s, parameters
from simsched.costs.kernels.convolution import Direction
from simsched.errors import CostError
from simsched.execute.kernels.operators import sizes
from simsched.graph import TaskGraph
from simsched.graph.shapes import parse_shape
from simsched.machine import Machine

#: Library of TensorFlow's ops on a Xeon Phi, as in the published systems.
LIBRARY = "tensorflow-1.9"

_DIRECTIONS: dict[str, Direction] = {
    "Conv2D": "forward",
    "Conv2DBackpropInput": "data",
    "Conv2DBackpropFilter": "weights",
}


def ops_of(graph: TaskGraph) -> list[Op]:
    """Return the op of each task of a graph."""
    columns = (graph.kinds.to_list(), graph.shapes.to_list(), graph.flops.tolist(), graph.bytes_B.tolist())
    return [Op(*row) for row in zip(*columns, strict=True)]


def with_kernel_seconds(graph: TaskGraph, machine: Machine) -> TaskGraph:
    """Return a graph with the kernel model's one-core seconds, and zero for tasks that move nothing.

    Raises
    ------
    CostError
        If a task's shapes do not fit its kind.
    """
    team, ops = Team(machine, 1), ops_of(graph)
    seconds = {op: one_core_s(op, team) if op.flops or op.bytes_B else 0.0 for op in dict.fromkeys(ops)}
    return replace(
        graph,
        durations_s=np.array([seconds[op] for op in ops]),
        widths=np.ones(graph.n_tasks, np.int32),
        recorded_on=None,
    )


def one_core_s(op: Op, team: Team) -> float:
    """Return the seconds of the kernel of an op's kind: a convolution, a matrix product, else an element-wise op.

    Raises
    ------
    CostError
        If the op's shapes are not those of its kind.
    """
    library = parameters(LIBRARY)
    shape = parse_shape(op.shape)
    if op.kind in _DIRECTIONS:
        return convolution_s(_convolution_of(op), team, _DIRECTIONS[op.kind], library, resident=False)
    if op.kind == "MatMul":
        (m, k), (_, n) = shape
        # Rows of a framework's matrices are contiguous, to BLAS its columns.
        return gemm_s(n, m, k, team, params=library)
    elements = max(map(math.prod, shape))
    arrays = max(round((op.bytes_B or 0.0) / (4 * elements)), 2)
    return elementwise_s(elements, team, arrays, library, resident=False)


def _convolution_of(op: Op) -> Convolution:
    """Return the sizes of a convolution's kernel in a real run.

    Raises
    ------
    CostError
        If the op's shapes are not those of one.
    """
    found = sizes(op.kind, op.shape, op.flops or math.nan, {}, op.bytes_B or math.nan)
    if found is None:
        raise CostError(f"{op.kind} of {op.shape}: these are not the shapes of a convolution")
    batch, channels, high, wide, filters, rows, columns, down, across, *padding = found[1][:11]
    return Convolution(
        batch, channels, high, wide, filters, rows, columns, (down, across), (padding[0], padding[1])
    )
