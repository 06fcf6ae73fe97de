"""Single convolutions of concurrency control: by thread count, and two of them at a time."""

from __future__ import annotations

from functools import cache

from simsched.costs import CostModel
from simsched.graph import TaskGraph
from simsched.machine import machine as machine_of
from simsched.replay import simulate
from simsched.reproduce.concurrency_control.op_mixes import KINDS, MixedOp, op_curves, published_ops
from simsched.reproduce.concurrency_control.op_times import MACHINE
from simsched.reproduce.concurrency_control.runs import TWO_WAYS
from simsched.reproduce.one_core_seconds import LIBRARY

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
