"""AlexNet."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.layers import Dense, convolved, flat
from simsched.workloads.ops import concat, dropout, local_response_norm, max_pool, relu
from simsched.workloads.ops.convolution import Padding
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import ImageNetwork, one_of, whole

UNITS = 4096


@dataclass(frozen=True)
class AlexNet(ImageNetwork):
    """AlexNet: five convolutions, three dense layers.

    Parameters
    ----------
    towers : {"two", "one"}
        Two halves of the convolutions, which see each other's outputs only in the third and after the last, as
        published (60,965,224 parameters); or one tower of the same width (62,378,344).

    References
    ----------
    ImageNet classification with deep convolutional neural networks. NIPS 2012, Sec. 3; on 227 pixels, of which its
    filters leave the 55 x 55 outputs it names.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.workload("alexnet[towers=one]", batch=8, training=False)
    >>> graph.kinds.to_list().count("Conv2D"), graph.kinds.to_list().count("MatMul")
    (5, 3)
    """

    name = "alexnet"

    image: int = whole(227)
    batch: int = whole(128)
    towers: str = one_of("two", "one")

    @property
    def least_image(self) -> int:
        """Pixels below which a filter or pool does not fit."""
        return 67

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        n = 2 if self.towers == "two" else 1
        x = _towers([images] * n, "conv1", 96, 11, 4, "valid", pooled=True, normalised=True)
        x = _towers(x, "conv2", 256, 5, pooled=True, normalised=True)
        x = _towers([_joined(x, "conv3")] * n, "conv3", 384, 3)
        x = _towers(x, "conv4", 384, 3)
        x = _towers(x, "conv5", 256, 3, pooled=True)
        y = flat(_joined(x, "fc6"))
        for layer in ("fc6", "fc7"):
            y = Dense(y.net, layer, y.dims[1], UNITS)(y)
            with y.net.within(layer):
                y = dropout(relu(y))
        return [Dense(y.net, "fc8", UNITS, self.classes)(y)]


def _towers(
    parts: list[Tensor],
    scope: str,
    filters: int,
    window: int,
    stride: int = 1,
    padding: Padding = "same",
    pooled: bool = False,
    normalised: bool = False,
) -> list[Tensor]:
    """Return the outputs of a layer, whose filters are divided among the towers."""
    outputs = []
    for tower, x in enumerate(parts):
        with x.net.within(f"tower{tower}"):
            y = convolved(x, scope, filters // len(parts), window, stride, padding)
            with x.net.within(scope):
                y = local_response_norm(y) if normalised else y
                outputs.append(max_pool(y, 3, 2) if pooled else y)
    return outputs


def _joined(parts: list[Tensor], scope: str) -> Tensor:
    if len(parts) == 1:
        return parts[0]
    with parts[0].net.within(scope):
        return concat(parts)
