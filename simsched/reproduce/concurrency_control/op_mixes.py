"""Ops of the training steps of published networks: kind, shape, FLOPs, bytes and one-core seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from simsched.costs import Curve, two_point_curve
from simsched.costs.fitting.points import Op
from simsched.errors import CostError
from simsched.machine import Machine
from simsched.reproduce.concurrency_control.op_times import (
    NETWORKS,
    controlled,
    network_graph,
    paper,
    times_of,
)
from simsched.reproduce.one_core_seconds import ops_of

#: Kinds of the ops whose curves are published.
KINDS = {"conv2d_backprop_filter": "Conv2DBackpropFilter", "conv2d_backprop_input": "Conv2DBackpropInput"}


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

    Ops that have no thread count to choose are left out: those that are not controlled, and those that software does
    not divide, of less than two grains of their cost curve.

    Raises
    ------
    CostError
        If there is no such network.
    """
    if network not in NETWORKS:
        raise CostError(f"there is no network {network!r}; there are {', '.join(NETWORKS)}")
    times = times_of(network)
    found = tuple(
        MixedOp(op, count, times.one_core_s(op), curve)
        for op, count in Counter(ops_of(network_graph(network))).items()
        if controlled(op.kind) and _pieces(op, curve := times.of(op.kind).curve) >= 2 and op.bytes_B
    )
    return (*found, *(published_ops(machine) if network == "inception_v3" else ()))


def _pieces(op: Op, curve: Curve) -> float:
    """Return how many grains an op holds; without end where its curve has none."""
    if curve.grain_B:
        return (op.bytes_B or 0.0) / curve.grain_B
    return (op.flops or 0.0) / curve.grain_flops if curve.grain_flops else math.inf


def published_ops(machine: Machine) -> Iterator[MixedOp]:
    """Yield the convolutions whose thread counts are published (Table II, inputs), with the curves through them."""
    for name, kind in KINDS.items():
        for row in paper().inputs["op_curves"][name]:
            batch, height, width, channels = row["input"]
            best_s, slower = float(row["time_s"]) / 1000, float(row["gain_over_68"])
            seconds, curve = two_point_curve(
                row["best_threads"], best_s, machine.n_cores, slower, machine.runtime
            )
            op = Op(kind, f"{batch}x{channels}x{height}x{width}", seconds * machine.core_flops, None)
            yield MixedOp(op, 1, seconds, curve)
