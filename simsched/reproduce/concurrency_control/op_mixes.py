"""Ops of the training steps of published networks, their seconds by width and sharing, and Table V: hill climbing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from simsched.costs import CostModel, Curve, two_point_curve
from simsched.costs.fitting.climbing import Climb, accuracy, errors_together, hill_climb, most_steps, widest
from simsched.costs.fitting.interpolation import Method
from simsched.costs.fitting.points import Op, Sharing
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.columns import Floats
from simsched.machine import Machine, machine as machine_of
from simsched.replay import simulate
from simsched.reproduce.concurrency_control.op_times import (
    MACHINE,
    NETWORKS,
    controlled,
    network_graph,
    paper,
    times_of,
)
from simsched.reproduce.concurrency_control.runs import TWO_WAYS
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


#: Runs of each convolution in a replay.
RUNS = 50
CORES = 68
#: Machine, policy and layout of the strategies of Table III.
STRATEGIES = {
    "serial 68": (MACHINE, "sequential", (1, CORES)),
    "SMT 68+68": (TWO_WAYS, "fifo", (2, CORES)),
    "split 34+34": (MACHINE, "fifo", (2, CORES // 2)),
}
#: The pair of Table III.
PAIR = ("conv2d_backprop_filter", "conv2d_backprop_input")
PAIR_INPUT = (32, 8, 8, 2048)


class PublishedOps:
    """The convolutions of Tables II and III.

    The two gradients have the curves through their published numbers. Nothing is published of the forward convolution:
    on one core it takes as long as the gradient of its data, as both have its FLOPs, and has the curve of its kind.
    """

    def __init__(self) -> None:
        self._machine = machine_of(MACHINE)
        gradients = {(one.op.kind, one.op.shape): one for one in published_ops(self._machine)}
        self._ops = {
            **gradients,
            **{
                ("Conv2D", shape): _forward(one)
                for (kind, shape), one in gradients.items()
                if "Input" in kind
            },
        }
        self._seconds = cache(self._curve)
        self._pair_ms = cache(self._replayed_ms)

    def _op(self, op: str, image: tuple[int, ...]) -> MixedOp:
        batch, height, width, channels = image
        return self._ops[KINDS.get(op, "Conv2D"), f"{batch}x{channels}x{height}x{width}"]

    def _curve(self, op: str, image: tuple[int, ...]) -> list[float]:
        """Return the seconds of an op on 1, 2, ... 68 threads."""
        (found,) = op_curves([self._op(op, image)], self._machine)
        return [float(seconds) for seconds in found.seconds["shared"]]

    def best_threads(self, op: str, input: tuple[int, ...]) -> int:
        """Return the thread count on which an op is fastest."""
        seconds = self._seconds(op, input)
        return seconds.index(min(seconds)) + 1

    def best_ms(self, op: str, input: tuple[int, ...]) -> float:
        """Return the milliseconds of an op on its fastest thread count, equal to the seconds of 1,000 runs."""
        return 1e3 * min(self._seconds(op, input))

    def gain(self, op: str, input: tuple[int, ...]) -> float:
        """Return the slowdown of an op on all cores."""
        return self._seconds(op, input)[CORES - 1] / min(self._seconds(op, input)) - 1

    def loss_of_half(self, op: str) -> float:
        """Return the slowdown of an op of Table III on half of the cores, alone, over all."""
        seconds = self._seconds(op, PAIR_INPUT)
        return seconds[CORES // 2 - 1] / seconds[CORES - 1] - 1

    def pair_ms(self, strategy: str) -> float:
        """Return the milliseconds of a run of both convolutions."""
        return self._pair_ms(strategy)

    def pair_speedup(self, strategy: str) -> float:
        """Return the speed-up of both convolutions side by side over running them in sequence."""
        return self._pair_ms("serial 68") / self._pair_ms(strategy)

    def _replayed_ms(self, strategy: str) -> float:
        target, policy, layout = STRATEGIES[strategy]
        pair = [self._op(op, PAIR_INPUT) for op in PAIR]
        chains = [(i, i + 1) for i in range(2 * RUNS - 1) if i != RUNS - 1]
        graph = TaskGraph.from_edges(
            [one.one_core_s for one in pair for _ in range(RUNS)],
            chains,
            kinds=[one.op.kind for one in pair for _ in range(RUNS)],
        )
        costs = CostModel(
            curves={one.op.kind: one.curve for one in pair if one.curve is not None}, library=LIBRARY
        )
        return 1e3 * simulate(graph, target, policy, layout, costs).makespan_s / RUNS


def _forward(gradient: MixedOp) -> MixedOp:
    """Return the forward convolution of a gradient of data."""
    op = type(gradient.op)("Conv2D", gradient.op.shape, gradient.op.flops, None)
    return MixedOp(op, 1, gradient.one_core_s)


STEPS = (2, 4, 8, 16)


def published() -> dict[tuple[str, int], float]:
    """Return the accuracies of Table V, by network and interval: for comparison, never fitted."""
    asked = next(q for q in paper().quantities if q.table == "Table V").asked()
    return {(one.case["network"], one.case["x"]): one.paper for one in asked if one.paper is not None}


def curves(network: str, machine: str | Machine = MACHINE) -> list[OpCurve]:
    """Return the simulated curves of a network's ops."""
    target = machine_of(machine)
    return op_curves(op_mix(network, target), target)


def measured(
    ops: Sequence[OpCurve], noise: float, generator: np.random.Generator
) -> list[Mapping[Sharing, Floats]]:
    """Return a profiler's measurements: each number once, with its own log-normal noise."""
    return [
        {s: row * np.exp(noise * generator.standard_normal(len(row))) for s, row in one.seconds.items()}
        for one in ops
    ]


def climbs(rows: Sequence[Mapping[Sharing, Floats]], machine: Machine, step: int) -> list[Climb]:
    """Return the climb of each op through its measured seconds."""
    most = widest(machine)

    def measure(row: Mapping[Sharing, Floats], width: int, sharing: Sharing) -> float:
        return float(row[sharing][width - 1])

    return [hill_climb(row, measure, most, step) for row in rows]


def hill_climbing(
    names: Sequence[str] = (),
    noise: float = 0.01,
    seed: int = 0,
    method: Method = "linear",
    machine: str = MACHINE,
) -> pd.DataFrame:
    """Return the quality of hill climbing, one row per network and interval.

    Parameters
    ----------
    names : sequence of str
        Networks; all when not given.
    noise : float
        Standard deviation of the log of a measured time.
    seed : int
        Of the noise.
    method : {"linear", "pchip"}
        How untried counts are filled; the paper's is "linear".
    machine : str
        The simulated machine.

    Returns
    -------
    DataFrame
        network, x, ops, steps (mean profiling steps an op), steps_limit, accuracy, within (accuracy of the counts below
        the widest tried), optimum (mean share by which the found width is slower than the fastest), optimum_95 (that of
        95 % of the ops), paper (accuracy, where published), error (accuracy less paper).
    """
    target, known, rows = machine_of(machine), published(), []
    for name in names or NETWORKS:
        ops = curves(name, target)
        seen = measured(ops, noise, np.random.default_rng([seed, list(NETWORKS).index(name)]))
        for step in STEPS:
            found = climbs(seen, target, step)
            slower = [_slower(one, climb) for one, climb in zip(ops, found, strict=True)]
            errors = errors_together(found, seen, method)
            (ours, within), printed = (accuracy([each]) for each in errors), known.get((name, step), np.nan)
            rows.append({
                "network": name,
                "x": step,
                "ops": len(ops),
                "steps": float(np.mean([climb.steps for climb in found])),
                "steps_limit": most_steps(target.n_cores, step),
                "accuracy": ours,
                "within": within,
                "optimum": float(np.mean(slower)),
                "optimum_95": float(np.quantile(slower, 0.95)),
                "paper": printed,
                "error": ours - printed,
            })  # fmt: skip
    return pd.DataFrame(rows)


def _slower(one: OpCurve, climb: Climb) -> float:
    """Return the slowdown of the found width over the fastest one, without noise."""
    width, sharing, _ = climb.best
    return float(one.seconds[sharing][width - 1]) / one.best_s - 1
