"""The networks of CHAOS (Table 2), and its workers on a Knights Corner: their costs of waiting, writing and meeting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil

from simsched.machine import Machine, machine as machine_of
from simsched.reproduce.published import Published

#: Floats of a cache line.
LINE = 16
#: Kinds of fully connected layers.
CONNECTED = {"full", "output"}


@dataclass(frozen=True)
class Layer:
    """A layer of a network.

    Parameters
    ----------
    kind : str
        conv, maxpool, full or output.
    forward_ops, backward_ops : int
        Multiply-adds of an image, or comparisons; only their shares of a network's are used.
    weights : int
    inputs : int
        Values that an image hands to it.
    """

    kind: str
    forward_ops: int
    backward_ops: int
    weights: int
    inputs: int

    @property
    def connected(self) -> bool:
        """Whether it is fully connected."""
        return self.kind in CONNECTED


def layers(published: Published, network: str) -> list[Layer]:
    """Return the layers after the input, from the input to the output.

    Backwards a layer computes the gradients of its weights and of its inputs, as much work each as forward; the first
    one needs no gradient of its inputs.
    """
    rows = published.inputs["networks"][network]
    return [_layer(before, row, first=i == 0) for i, (before, row) in enumerate(pairwise(rows))]


def _layer(before: Sequence[int], row: Sequence[int], *, first: bool) -> Layer:
    kind, (maps, side, kernel, weights) = str(row[0]), row[1:]
    ops = weights * side**2 if weights else maps * side**2 * kernel**2
    # Units of a connected layer have a weight per input and a bias: Table 2's last pool of the large network hands on
    # 900 values by these, 400 by its printed side.
    inputs = weights // maps - 1 if kind in CONNECTED else before[1] * before[2] ** 2
    return Layer(kind, ops, ops if first or not weights else 2 * ops, weights, inputs)


@dataclass(frozen=True)
class Image:
    """Seconds of an image on one thread, by layer.

    Parameters
    ----------
    layers : sequence of Layer
    forward_s, backward_s : sequence of float
        By layer.
    """

    layers: Sequence[Layer]
    forward_s: Sequence[float]
    backward_s: Sequence[float]

    @classmethod
    def of(cls, published: Published, network: str) -> Image:
        """Return the measured seconds of an image, divided by the layers' operations."""
        found, measured = layers(published, network), published.inputs["measured"]
        return cls(
            found,
            _divided(float(measured["fprop_s"][network]), [layer.forward_ops for layer in found]),
            _divided(float(measured["bprop_s"][network]), [layer.backward_ops for layer in found]),
        )

    @property
    def weights(self) -> int:
        """All weights."""
        return sum(layer.weights for layer in self.layers)

    def backwards(self) -> Iterator[tuple[Layer, float]]:
        """Yield layers from the output to the input, with the seconds of their back-propagation."""
        return zip(reversed(self.layers), reversed(self.backward_s), strict=True)


def _divided(whole_s: float, ops: Sequence[int]) -> list[float]:
    return [whole_s * part / sum(ops) for part in ops]


MACHINE = "knc-7120p"


@dataclass(frozen=True, eq=False)
class Team:
    """Some workers, one hardware thread each.

    Parameters
    ----------
    network : str
        small, medium or large.
    image : Image
    threads : int
    waiting : {"weights", "layers", "none"}
        How the measured waiting of an image's updates divides among layers: by weights, evenly; or no waiting.
    """

    network: str
    image: Image
    threads: int
    waiting: str = "weights"

    @cached_property
    def machine(self) -> Machine:
        """The machine; with more workers than hardware threads, one of more cores on a longer ring."""
        plain = machine_of(MACHINE)
        if self.threads <= plain.n_cores * plain.smt_ways:
            return machine_of(f"{MACHINE}[smt={plain.smt_ways}]")
        return machine_of(f"{MACHINE}[cores={ceil(self.threads / plain.smt_ways)},smt={plain.smt_ways}]")

    @cached_property
    def slowdown(self) -> float:
        """Mean slowdown of a worker over running alone on its core."""
        full, more = divmod(self.threads, self.machine.n_cores)
        throughput = (0.0, *self.machine.compute_throughput)
        whole = (self.machine.n_cores - more) * throughput[full]
        return self.threads / (whole + (more * throughput[full + 1] if more else 0.0))

    def waits_s(self, layer: Layer) -> float:
        """Return the wait of a layer's update (Table 4, measured with all workers writing), alone on a core.

        The measurements are wall-clock seconds; a replay slows tasks that share a core, so they are divided by that.
        """
        if self.waiting == "none" or not layer.weights:
            return 0.0
        shared = sum(1 for other in self.image.layers if other.weights)
        share = layer.weights / self.image.weights if self.waiting == "weights" else 1 / shared
        return share * self._contention_s(self.threads) / self.slowdown

    def writes_s(self, layer: Layer) -> float:
        """Return one writer's time for a layer: as measured alone, plus its lines from another core."""
        alone_s = self._contention_s(1) * layer.weights / self.image.weights
        return alone_s + self.fetches_s(layer.weights)

    def fetches_s(self, values: float) -> float:
        """Return the seconds of values from another core's cache, line by line, over the ring; 0 for one worker."""
        return 0.0 if self.threads == 1 else values / LINE * self._line_s

    def meets_s(self) -> float:
        """Return the seconds of a barrier of all workers; 0 for one."""
        runtime = self.machine.runtime
        return (runtime.barrier_s + self.threads * runtime.barrier_per_thread_s) * (self.threads > 1)

    @cached_property
    def _line_s(self) -> float:
        return float(self.machine.transfer_s(0)[1:].mean())

    def _contention_s(self, writers: int) -> float:
        return float(self.machine.tables["contention"].contention_s(writers, self.network))
