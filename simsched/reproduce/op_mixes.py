"""Ops of the training steps of published networks: kind, shape, FLOPs, bytes and one-core seconds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from simsched.costs import CostModel, Curve, curve_through
from simsched.costs.fitting.points import Op
from simsched.costs.kernels import Team
from simsched.errors import CostError
from simsched.machine import Machine
from simsched.reproduce.one_core_seconds import LIBRARY, one_core_s, ops_of
from simsched.reproduce.published import Published, read_published
from simsched.workloads import workload

#: The networks of the paper (Sec. IV-A: data sets and batches), as workloads.
NETWORKS = {
    "resnet50": "resnet50[size=cifar10]",
    "dcgan": "dcgan[size=mnist]",
    "inception_v3": "inception_v3[size=imagenet]",
    "lstm": "lstm[size=ptb]",
}
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

    Ops that software does not divide, of less than two grains of their cost curve, are left out: they have no thread
    count to choose.

    Raises
    ------
    CostError
        If there is no such network.
    """
    if network not in NETWORKS:
        raise CostError(f"there is no network {network!r}; there are {', '.join(NETWORKS)}")
    counts = Counter(ops_of(workload(NETWORKS[network])))
    team, model = Team(machine, 1), CostModel(library=LIBRARY)
    divided = [(op, count) for op, count in counts.items() if _pieces(op, model.curve(op.kind)) >= 2]
    found = tuple(MixedOp(op, count, one_core_s(op, team)) for op, count in divided)
    return (*found, *(published_ops(machine) if network == "inception_v3" else ()))


def _pieces(op: Op, curve: Curve) -> float:
    """Return how many grains an op holds; without end where its curve has none."""
    if curve.grain_B:
        return (op.bytes_B or 0.0) / curve.grain_B
    return (op.flops or 0.0) / curve.grain_flops if curve.grain_flops else math.inf


def paper() -> Published:
    """Return what the paper of concurrency control says."""
    return read_published(files("simsched.reproduce") / "papers" / "concurrency-control.toml")


def published_ops(machine: Machine) -> Iterator[MixedOp]:
    """Yield the convolutions whose thread counts are published (Table II, inputs), with the curves through them."""
    for name, kind in KINDS.items():
        for row in paper().inputs["op_curves"][name]:
            batch, height, width, channels = row["input"]
            best_s, slower = float(row["time_s"]) / 1000, float(row["gain_over_68"])
            seconds, curve = curve_through(
                row["best_threads"], best_s, machine.n_cores, slower, machine.runtime
            )
            op = Op(kind, f"{batch}x{channels}x{height}x{width}", seconds * machine.core_flops, None)
            yield MixedOp(op, 1, seconds, curve)
