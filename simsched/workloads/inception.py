"""Inception-v3."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.layers import Layers, flat
from simsched.workloads.ops import average_pool, concat, dropout, max_pool
from simsched.workloads.tensor import Tensor
from simsched.workloads.tensorflow_step import TensorFlowLayers, TensorFlowStep
from simsched.workloads.workload import ImageNetwork, one_of, whole

#: Inner channels of the modules with filters of 1 x 7 and 7 x 1.
INNER = {"6b": 128, "6c": 160, "6d": 160, "6e": 192}
#: Outputs of the projected pool of the modules with filters of 5 x 5.
PROJECTED = {"5b": 32, "5c": 64, "5d": 64}


@dataclass(frozen=True)
class InceptionV3(ImageNetwork):
    """Inception-v3: 94 convolutions, batch normalisation throughout; 23,834,568 parameters.

    Parameters
    ----------
    auxiliary : bool
        Whether a helper with its own loss is attached to module 6e in training; 27,161,264 parameters then.
    granularity : {"op", "tensorflow"}
        One task per layer op; or all that TensorFlow 1 runs in a training step of its public Inception program, with
        variables, gradients' book-keeping and averages (docs/workloads.md): no scale in batch normalisation, the
        helper, RMSProp.

    References
    ----------
    Rethinking the inception architecture for computer vision. CVPR 2016, Table 1 and Figs. 5 to 7.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.workload("inception_v3", batch=1, training=False)
    >>> graph.kinds.to_list().count("Conv2D")
    94
    """

    name = "inception_v3"

    image: int = whole(299)
    batch: int = whole(16)
    optimizer: str = one_of("rmsprop", "sgd", "momentum", "adam")
    auxiliary: bool = False
    granularity: str = one_of("op", "tensorflow")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.granularity == "tensorflow" and not self.training:
            raise self.refused("granularity", "op, for what is not trained")
        if self.granularity == "tensorflow" and self.optimizer != "rmsprop":
            raise self.refused("optimizer", "rmsprop with granularity=tensorflow, whose program has it")

    @property
    def helped(self) -> bool:
        """Whether there is a helper."""
        return self.training and (self.auxiliary or self.granularity == "tensorflow")

    @property
    def least_image(self) -> int:
        """Pixels below which a filter or pool does not fit; a helper pools 5 of them at module 6e."""
        return 107 if self.helped else 75

    def built(self) -> Builder:
        """Return the network, trained where asked."""
        if self.granularity == "op":
            return super().built()
        step = TensorFlowStep()
        layers = TensorFlowLayers(step)
        logits = self._logits(layers, step.input(self.batch, self.image, self.image, self.channels))
        step.minimise([layers.loss(output) for output in logits])
        return step

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        return self._logits(Layers(images.net), images)

    def _logits(self, layers: Layers, images: Tensor) -> list[Tensor]:
        net, x, helper = layers.net, _stem(layers, images), []
        for module, projected in PROJECTED.items():
            with net.within(f"mixed_{module}"):
                x = _module5(layers, x, projected)
        with net.within("mixed_6a"):
            x = _module6a(layers, x)
        for module, inner in INNER.items():
            with net.within(f"mixed_{module}"):
                x = _module6(layers, x, inner)
        if self.helped:
            with net.within("auxiliary"):
                helper.append(self._helper(layers, x))
        with net.within("mixed_7a"):
            x = _module7a(layers, x)
        for module in ("7b", "7c"):
            with net.within(f"mixed_{module}"):
                x = _module7(layers, x)
        with net.within("logits"):
            x = dropout(flat(average_pool(x, x.dims[1], 1)))
        return [layers.dense(x, "logits", self.classes), *helper]

    def _helper(self, layers: Layers, x: Tensor) -> Tensor:
        y = layers.convolution(average_pool(x, 5, 3), "proj", (1, 1, 128))
        y = layers.convolution(y, "conv", (y.dims[1], y.dims[2], 768), padding="valid")
        return layers.dense(flat(y), "logits", self.classes)


def _stem(layers: Layers, images: Tensor) -> Tensor:
    x = layers.convolution(images, "conv0", (3, 3, 32), 2, "valid")
    x = layers.convolution(x, "conv1", (3, 3, 32), 1, "valid")
    x = max_pool(layers.convolution(x, "conv2", (3, 3, 64)), 3, 2)
    x = layers.convolution(x, "conv3", (1, 1, 80), 1, "valid")
    return max_pool(layers.convolution(x, "conv4", (3, 3, 192), 1, "valid"), 3, 2)


def _module5(layers: Layers, x: Tensor, projected: int) -> Tensor:
    return concat([
        layers.chain(x, "branch0", (1, 1, 64)),
        layers.chain(x, "branch1", (1, 1, 48), (5, 5, 64)),
        layers.chain(x, "branch2", (1, 1, 64), (3, 3, 96), (3, 3, 96)),
        layers.chain(average_pool(x, 3, 1, "same"), "pool", (1, 1, projected)),
    ])  # fmt: skip


def _module6a(layers: Layers, x: Tensor) -> Tensor:
    y = layers.chain(x, "branch1", (1, 1, 64), (3, 3, 96))
    return concat([
        layers.convolution(x, "branch0", (3, 3, 384), 2, "valid"),
        layers.convolution(y, "branch1/reduce", (3, 3, 96), 2, "valid"),
        max_pool(x, 3, 2),
    ])  # fmt: skip


def _module6(layers: Layers, x: Tensor, inner: int) -> Tensor:
    wide, high = (1, 7, inner), (7, 1, inner)
    return concat([
        layers.chain(x, "branch0", (1, 1, 192)),
        layers.chain(x, "branch1", (1, 1, inner), wide, (7, 1, 192)),
        layers.chain(x, "branch2", (1, 1, inner), high, wide, high, (1, 7, 192)),
        layers.chain(average_pool(x, 3, 1, "same"), "pool", (1, 1, 192)),
    ])  # fmt: skip


def _module7a(layers: Layers, x: Tensor) -> Tensor:
    one = layers.chain(x, "branch0", (1, 1, 192))
    two = layers.chain(x, "branch1", (1, 1, 192), (1, 7, 192), (7, 1, 192))
    return concat([
        layers.convolution(one, "branch0/reduce", (3, 3, 320), 2, "valid"),
        layers.convolution(two, "branch1/reduce", (3, 3, 192), 2, "valid"),
        max_pool(x, 3, 2),
    ])  # fmt: skip


def _module7(layers: Layers, x: Tensor) -> Tensor:
    one = layers.chain(x, "branch1", (1, 1, 384))
    two = layers.chain(x, "branch2", (1, 1, 448), (3, 3, 384))
    return concat([
        layers.chain(x, "branch0", (1, 1, 320)),
        concat([layers.convolution(one, f"branch1/{h}x{w}", (h, w, 384)) for h, w in ((1, 3), (3, 1))]),
        concat([layers.convolution(two, f"branch2/{h}x{w}", (h, w, 384)) for h, w in ((1, 3), (3, 1))]),
        layers.chain(average_pool(x, 3, 1, "same"), "pool", (1, 1, 192)),
    ])  # fmt: skip
