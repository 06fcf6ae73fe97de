"""Ops of the training steps of published networks: kind, shape, FLOPs, bytes and one-core seconds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.costs import Curve, curve_through
from simsched.costs.fitting.points import Op
from simsched.costs.kernels import Convolution, Team, convolution_s, elementwise_s, gemm_s, parameters
from simsched.errors import CostError
from simsched.machine import Machine

#: Table II of concurrency control (use = "input"): best thread count, seconds of a run there, how much slower 68 are.
PUBLISHED = {
    ("Conv2DBackpropFilter", 384, 8): (26, 7.2e-3, 0.173),
    ("Conv2DBackpropFilter", 384, 17): (42, 11.1e-3, 0.102),
    ("Conv2DBackpropFilter", 2048, 8): (68, 20.3e-3, 0.0),
    ("Conv2DBackpropInput", 384, 8): (36, 5.8e-3, 0.098),
    ("Conv2DBackpropInput", 384, 17): (56, 8.7e-3, 0.023),
    ("Conv2DBackpropInput", 2048, 8): (68, 19.6e-3, 0.0),
}
_DIRECTIONS = {"Conv2D": "forward", "Conv2DBackpropInput": "data", "Conv2DBackpropFilter": "weights"}
_GRADIENTS = {"FusedBatchNormV3": "FusedBatchNormGradV3", "Relu": "ReluGrad"}
_ARRAYS = {"FusedBatchNormV3": 3, "FusedBatchNormGradV3": 4, "Relu": 2, "ReluGrad": 3}


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


def networks() -> tuple[str, ...]:
    """Return the names of the networks."""
    return tuple(name for name in _table() if name != "schema")


def op_mix(network: str, machine: Machine) -> tuple[MixedOp, ...]:
    """Return the ops of a training step on a machine.

    Raises
    ------
    CostError
        If there is no such network.
    """
    if network not in networks():
        raise CostError(f"there is no network {network!r}; there are {', '.join(networks())}")
    rows = _table()[network]
    found = [*_convolutions(rows, machine), *_products(rows, machine)]
    for kind, count, elements, arrays in rows["each"]:
        found.append(_elementwise(kind, count, elements, arrays, machine))
    return (*found, *(_published(machine) if rows.get("published") else ()))


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "op_mixes.toml").read_text("utf-8"))


def _convolutions(rows: dict[str, Any], machine: Machine) -> Iterator[MixedOp]:
    team, software = Team(machine, 1), parameters("framework")
    for count, channels, size, filters, high, wide, stride in rows["conv"]:
        conv = Convolution(
            rows["batch"], channels, size, size, filters, high, wide, (stride, stride), (high // 2, wide // 2)
        )
        shape = f"{conv.batch}x{channels}x{size}x{size};{filters}x{channels}x{high}x{wide}"
        moved_B = conv.input_B + conv.output_B + conv.weights_B
        for kind, direction in _DIRECTIONS.items():
            seconds = convolution_s(conv, team, direction, software)  # type: ignore[arg-type] # one of the three
            yield MixedOp(Op(kind, shape, conv.flops, moved_B), count, seconds)
        for kind in (k for name in rows["after"] for k in (name, _GRADIENTS[name])):
            yield _elementwise(kind, count, int(conv.output_B / 4), _ARRAYS[kind], machine)


def _products(rows: dict[str, Any], machine: Machine) -> Iterator[MixedOp]:
    team, software = Team(machine, 1), parameters("framework")
    for count, m, n, k in rows["product"]:
        for a, b, c in ((m, n, k), (m, k, n), (k, n, m)):
            op = Op("MatMul", f"{a}x{c};{c}x{b}", 2.0 * a * b * c, 4.0 * (a * c + c * b + a * b))
            yield MixedOp(op, count, gemm_s(a, b, c, team, params=software))


def _elementwise(kind: str, count: int, elements: int, arrays: int, machine: Machine) -> MixedOp:
    seconds = elementwise_s(elements, Team(machine, 1), arrays, parameters("framework"))
    return MixedOp(Op(kind, f"{elements}", float(elements), 4.0 * arrays * elements), count, seconds)


def _published(machine: Machine) -> Iterator[MixedOp]:
    """Yield the convolutions whose thread counts are published, with the curves through them."""
    for (kind, channels, size), (best, best_s, slower) in PUBLISHED.items():
        one_core_s, curve = curve_through(best, best_s, machine.n_cores, slower, machine.runtime)
        op = Op(kind, f"32x{channels}x{size}x{size}", one_core_s * machine.core_flops, None)
        yield MixedOp(op, 1, one_core_s, curve)
