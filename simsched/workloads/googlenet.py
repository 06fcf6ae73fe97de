"""GoogLeNet."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.layers import Dense, convolved, flat
from simsched.workloads.ops import average_pool, concat, dropout, local_response_norm, max_pool, relu
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import ImageNetwork, whole

#: Outputs of each module: 1 x 1; 3 x 3 reduced, 3 x 3; 5 x 5 reduced, 5 x 5; projected pool. A pool precedes 3, 4, 5.
MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
#: Modules whose outputs feed a helper's logits.
HELPED = ("4a", "4d")


@dataclass(frozen=True)
class GoogLeNet(ImageNetwork):
    """GoogLeNet: nine inception modules, local response normalisation; 6,998,552 parameters.

    Parameters
    ----------
    width : int
        Factor on the outputs of every convolution.
    auxiliary : bool
        Whether two helpers with their own losses are attached to modules 4a and 4d in training, 13,378,280 parameters
        then. Their losses are added without weights, which cost nothing.

    References
    ----------
    Going deeper with convolutions. CVPR 2015, Table 1; it lists 6.8 million parameters, biases left out.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.workload("googlenet", batch=1, training=False)
    >>> graph.kinds.to_list().count("Conv2D")
    57
    """

    name = "googlenet"

    batch: int = whole(32)
    width: int = whole(1)
    auxiliary: bool = False

    @property
    def least_image(self) -> int:
        """Pixels below which nothing would be left to pool."""
        return 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.auxiliary and self.image <= 64:
            raise self.refused("image", "at least 65 with auxiliary=true, whose pools are 5 pixels wide")

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        net, x, helpers = images.net, self._stem(images), []
        for module, outputs in MODULES.items():
            with net.within(f"inception_{module}"):
                x = self._module(max_pool(x, 3, 2, "same") if module in ("4a", "5a") else x, outputs)
            if self.auxiliary and self.training and module in HELPED:
                with net.within(f"auxiliary_{module}"):
                    helpers.append(self._helper(x))
        with net.within("pool"):
            x = dropout(flat(average_pool(x, x.dims[1], 1)))
        return [Dense(net, "fc", x.dims[1], self.classes)(x), *helpers]

    def _stem(self, images: Tensor) -> Tensor:
        net, x = images.net, convolved(images, "conv1", 64 * self.width, 7, 2)
        with net.within("conv1"):
            x = local_response_norm(max_pool(x, 3, 2, "same"))
        x = convolved(x, "conv2/reduce", 64 * self.width, 1)
        x = convolved(x, "conv2", 192 * self.width, 3)
        with net.within("conv2"):
            return max_pool(local_response_norm(x), 3, 2, "same")

    def _module(self, x: Tensor, outputs: tuple[int, ...]) -> Tensor:
        one, reduced3, three, reduced5, five, projected = (self.width * n for n in outputs)
        branches = [
            convolved(x, "1x1", one, 1),
            convolved(convolved(x, "3x3_reduce", reduced3, 1), "3x3", three, 3),
            convolved(convolved(x, "5x5_reduce", reduced5, 1), "5x5", five, 5),
            convolved(max_pool(x, 3, 1, "same"), "pool", projected, 1),
        ]
        return concat(branches)

    def _helper(self, x: Tensor) -> Tensor:
        net = x.net
        y = flat(convolved(average_pool(x, 5, 3), "conv", 128 * self.width, 1))
        hidden = 1024 * self.width
        y = dropout(relu(Dense(net, "hidden", y.dims[1], hidden)(y)))
        return Dense(net, "fc", hidden, self.classes)(y)
