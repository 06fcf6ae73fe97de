"""Ops of the training steps of published networks: kind, shape, FLOPs, bytes and one-core seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from simsched.costs import CostModel, Curve, curve_through
from simsched.costs.fitting.points import Op
from simsched.costs.kernel_convolution import Direction
from simsched.costs.kernels import Convolution, Team, convolution_s, elementwise_s, gemm_s, parameters
from simsched.errors import CostError
from simsched.execute.operators import sizes
from simsched.graph.shapes import parse_shape
from simsched.machine import Machine
from simsched.workloads import workload

#: Table II of concurrency control (use = "input"): best thread count, seconds of a run there, how much slower 68 are.
PUBLISHED = {
    ("Conv2DBackpropFilter", 384, 8): (26, 7.2e-3, 0.173),
    ("Conv2DBackpropFilter", 384, 17): (42, 11.1e-3, 0.102),
    ("Conv2DBackpropFilter", 2048, 8): (68, 20.3e-3, 0.0),
    ("Conv2DBackpropInput", 384, 8): (36, 5.8e-3, 0.098),
    ("Conv2DBackpropInput", 384, 17): (56, 8.7e-3, 0.023),
    ("Conv2DBackpropInput", 2048, 8): (68, 19.6e-3, 0.0),
}
#: The networks of the paper (Sec. IV-A: data sets and batches), as workloads.
NETWORKS = {
    "resnet50": "resnet50[size=cifar10]",
    "dcgan": "dcgan[size=mnist]",
    "inception_v3": "inception_v3[size=imagenet]",
    "lstm": "lstm[size=ptb]",
}
_DIRECTIONS: dict[str, Direction] = {
    "Conv2D": "forward",
    "Conv2DBackpropInput": "data",
    "Conv2DBackpropFilter": "weights",
}


@dataclass(frozen=True)
class MixedOp:
    """An op of a network.

    Parameters
    ----------
    op : Op
    count : int
        How often a training step runs it.
    one_core_s : float
        Its seconds on one core of the machine.
    curve : Curve or None
        A curve of its own, where its thread counts are published; else that of its kind.
    """

    op: Op
    count: int
    one_core_s: float
    curve: Curve | None = None


def op_mix(network: str, machine: Machine) -> tuple[MixedOp, ...]:
    """Return the ops of a training step on a machine, those of one kind, shape and size together.

    Ops that software does not divide, of less than two grains of their cost curve, are left out: they have no thread
    count to choose.

    Raises
    ------
    CostError
        If there is no such network.
    """
    if network not in NETWORKS:
        raise CostError(f"there is no network {network!r}; there are {', '.join(NETWORKS)}")
    graph = workload(NETWORKS[network])
    columns = (graph.kinds.to_list(), graph.shapes.to_list(), graph.flops.tolist(), graph.bytes_B.tolist())
    counts = Counter(Op(*row) for row in zip(*columns, strict=True))
    team, model = Team(machine, 1), CostModel()
    divided = [(op, count) for op, count in counts.items() if _pieces(op, model.curve(op.kind)) >= 2]
    found = tuple(MixedOp(op, count, _one_core_s(op, team)) for op, count in divided)
    return (*found, *(_published(machine) if network == "inception_v3" else ()))


def _pieces(op: Op, curve: Curve) -> float:
    """Return how many grains an op holds; without end where its curve has none."""
    if curve.grain_B:
        return (op.bytes_B or 0.0) / curve.grain_B
    return (op.flops or 0.0) / curve.grain_flops if curve.grain_flops else math.inf


def _one_core_s(op: Op, team: Team) -> float:
    """Return the seconds of the kernel of an op's kind: a convolution, a matrix product, else an element-wise op."""
    software = parameters("framework")
    shape = parse_shape(op.shape)
    if op.kind in _DIRECTIONS:
        return convolution_s(_convolution(op), team, _DIRECTIONS[op.kind], software)
    if op.kind == "MatMul":
        (m, k), (_, n) = shape
        return gemm_s(m, n, k, team, params=software)
    elements = max(map(math.prod, shape))
    arrays = max(round((op.bytes_B or 0.0) / (4 * elements)), 2)
    return elementwise_s(elements, team, arrays, software)


def _convolution(op: Op) -> Convolution:
    """Return the sizes that a real run gives the op's kernel."""
    found = sizes(op.kind, op.shape, op.flops or math.nan, {}, op.bytes_B or math.nan)
    if found is None:
        raise CostError(f"{op.kind} of {op.shape}: these are not the shapes of a convolution")
    batch, channels, high, wide, filters, rows, columns, down, across, *padding = found[1][:11]
    return Convolution(
        batch, channels, high, wide, filters, rows, columns, (down, across), (padding[0], padding[1])
    )


def _published(machine: Machine) -> Iterator[MixedOp]:
    """Yield the convolutions whose thread counts are published, with the curves through them."""
    for (kind, channels, size), (best, best_s, slower) in PUBLISHED.items():
        one_core_s, curve = curve_through(best, best_s, machine.n_cores, slower, machine.runtime)
        op = Op(kind, f"32x{channels}x{size}x{size}", one_core_s * machine.core_flops, None)
        yield MixedOp(op, 1, one_core_s, curve)
