"""Ops of the training steps of published networks, and their seconds by width and sharing on a simulated machine."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from simsched.costs import CostModel, Curve, two_point_curve
from simsched.costs.fitting.climbing import widest
from simsched.costs.fitting.points import Op, Sharing
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.machine import Machine
from simsched.replay import simulate
from simsched.reproduce.concurrency_control.op_times import (
    NETWORKS,
    controlled,
    network_graph,
    paper,
    times_of,
)
from simsched.reproduce.one_core_seconds import LIBRARY, ops_of

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
        Its own curve, if its thread counts are published; else that of its kind.
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
    """Return the number of grains of an op; infinite where its curve has none."""
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


#: Placements that let threads share tiles, or not.
PLACEMENTS: dict[Sharing, str] = {"shared": "compact", "apart": "scatter"}


@dataclass(frozen=True)
class OpCurve:
    """One instance of an op and its seconds.

    Parameters
    ----------
    op : Op
    seconds : mapping of Sharing to float64 array
        Seconds on 1, 2, 3, ... threads, without noise.
    """

    op: Op
    seconds: Mapping[Sharing, Floats]

    @property
    def best_s(self) -> float:
        """Seconds on the fastest width and sharing."""
        return min(float(row.min()) for row in self.seconds.values())


def op_curves(mix: Sequence[MixedOp], machine: Machine) -> list[OpCurve]:
    """Return the curve of every instance of a mix: each op replayed alone, on every width, in both placements."""
    distinct = _replayed(mix, machine)
    return [OpCurve(one.op, distinct[i]) for i, one in enumerate(mix) for _ in range(one.count)]


def _replayed(mix: Sequence[MixedOp], machine: Machine) -> list[dict[Sharing, Floats]]:
    graph, costs = _chain(mix)
    found: list[dict[Sharing, Floats]] = [{} for _ in mix]
    for sharing, most in widest(machine).items():
        policy, columns = f"fifo[placement={PLACEMENTS[sharing]}]", []
        for width in range(1, most + 1):
            run = simulate(graph, machine, policy, (1, width), costs)
            columns.append(run.finish_s - run.start_s)
        for rows, row in zip(found, np.stack(columns, axis=1), strict=True):
            rows[sharing] = row
    return found


def _chain(mix: Sequence[MixedOp]) -> tuple[TaskGraph, CostModel]:
    """Return a chain of the ops, so that each runs alone, and the cost model of their curves."""
    kinds = [one.op.kind if one.curve is None else f"published {i}" for i, one in enumerate(mix)]
    graph = TaskGraph.from_edges(
        [one.one_core_s for one in mix],
        [(i, i + 1) for i in range(len(mix) - 1)],
        kinds=kinds,
        flops=[np.nan if one.op.flops is None else one.op.flops for one in mix],
        bytes_B=[np.nan if one.op.bytes_B is None else one.op.bytes_B for one in mix],
    )
    own = {kind: one.curve for kind, one in zip(kinds, mix, strict=True) if one.curve is not None}
    return graph, CostModel(curves=own, library=LIBRARY)
