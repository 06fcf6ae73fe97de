"""VGG-19."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.layers import Dense, convolved, flat
from simsched.workloads.ops import dropout, max_pool, relu
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import ImageNetwork

#: Convolutions of each stage, and their outputs; a pool follows each stage.
STAGES = ((2, 64), (2, 128), (4, 256), (4, 512), (4, 512))
UNITS = 4096


@dataclass(frozen=True)
class VGG19(ImageNetwork):
    """VGG-19: sixteen convolutions of 3 x 3, three dense layers; 143,667,240 parameters.

    Parameters
    ----------
    image, channels, classes, batch, optimizer, training
        As in `ImageNetwork`.

    References
    ----------
    Very deep convolutional networks for large-scale image recognition. ICLR 2015, Table 1, column E.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.workload("vgg19", batch=1, training=False)
    >>> graph.kinds.to_list().count("Conv2D"), graph.kinds.to_list().count("MatMul")
    (16, 3)
    """

    name = "vgg19"

    @property
    def least_image(self) -> int:
        """Pixels below which a filter or pool does not fit."""
        return 32

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        x, net = images, images.net
        for stage, (count, filters) in enumerate(STAGES, 1):
            for layer in range(1, count + 1):
                x = convolved(x, f"conv{stage}_{layer}", filters, 3)
            with net.within(f"pool{stage}"):
                x = max_pool(x, 2, 2)
        x = flat(x)
        for scope in ("fc6", "fc7"):
            x = Dense(net, scope, x.dims[1], UNITS)(x)
            with net.within(scope):
                x = dropout(relu(x))
        return [Dense(net, "fc8", UNITS, self.classes)(x)]
