"""The networks of CHAOS."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.layers import Convolution, Dense, flat
from simsched.workloads.ops import max_pool, tanh
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import ImageNetwork, one_of, whole

#: Maps and filter of each convolution, window of the pool that follows; units of the dense layer.
NETWORKS = {
    "small": (((5, 4, 2), (10, 5, 3)), 50),
    "medium": (((20, 4, 2), (40, 5, 3)), 150),
    "large": (((20, 4, 1), (60, 5, 2), (100, 6, 2)), 150),
}


@dataclass(frozen=True)
class Chaos(ImageNetwork):
    """Small networks for handwritten digits of 29 x 29, trained image by image; hyperbolic tangents.

    Parameters
    ----------
    network : {"small", "medium", "large"}
        The last pool of "large" is of 2 pixels: the table prints 3, but weights and connections of 3 x 3 maps.

    References
    ----------
    CHAOS: a parallelization scheme for training convolutional neural networks on Intel Xeon Phi. The Journal of
    Supercomputing, 2017, Table 2.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("chaos[size=small]")
    <TaskGraph 'chaos': 39 tasks, 48 edges>
    """

    name = "chaos"
    image: int = whole(29)
    channels: int = whole(1)
    classes: int = whole(10)
    batch: int = whole(1)
    network: str = one_of(*NETWORKS)

    @property
    def least_image(self) -> int:
        """Pixels below which a filter or pool does not fit: those that leave one, layer by layer from the last."""
        pixels = 1
        for _, window, pool in reversed(NETWORKS[self.network][0]):
            pixels = pixels * pool + window - 1
        return pixels

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        net, x = images.net, images
        convolutions, units = NETWORKS[self.network]
        for layer, (maps, window, pool) in enumerate(convolutions, 1):
            y = Convolution(net, f"conv{layer}", (window, window, x.dims[-1], maps), padding="valid")(x)
            with net.within(f"conv{layer}"):
                x = max_pool(tanh(y), pool, pool)
        x = flat(x)
        y = Dense(net, "full", x.dims[1], units)(x)
        with net.within("full"):
            y = tanh(y)
        return [Dense(net, "output", units, self.classes)(y)]
