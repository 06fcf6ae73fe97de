"""The networks of CHAOS (Table 2): the work of a layer, and its part of the measured seconds of an image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

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
