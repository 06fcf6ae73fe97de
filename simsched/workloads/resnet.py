"""ResNet-50."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.workloads.builder import Builder
from simsched.workloads.layers import Layers, flat
from simsched.workloads.ops import average_pool, max_pool
from simsched.workloads.tensor import Tensor
from simsched.workloads.tensorflow_step import TensorFlowLayers, TensorFlowStep
from simsched.workloads.workload import ImageNetwork, one_of, whole

#: Blocks of each stage.
STAGES = (3, 4, 6, 3)
#: A block's outputs over its inner channels.
EXPANSION = 4
#: Pixels and classes of the data sets.
DATA = {"imagenet": (224, 1000), "cifar10": (32, 10)}


@dataclass(frozen=True)
class ResNet50(ImageNetwork):
    """ResNet-50: a stem, 16 bottleneck blocks, batch normalisation throughout; 25,557,032 parameters on ImageNet.

    Parameters
    ----------
    variant : {"imagenet", "cifar10"}
        A stem of 7 x 7 with stride 2 and a pool; or of 3 x 3 with neither, for small images. The stages are the
        same.
    image, classes : int
        0 for those of the data set: 224 pixels and 1,000 classes, or 32 and 10.
    strided : {"3x3", "1x1"}
        Which convolution of a stage's first block has the stride: the second, as today's programs (4.1 G multiply-adds
        on ImageNet), or the first, as published (3.8 G).
    granularity : {"op", "tensorflow"}
        One task per layer op; or all that TensorFlow 1 runs in a training step of its public program of 2016
        (tensorflow/models, research/resnet; docs/workloads.md), whose batch normalisation is composed of single ops.

    References
    ----------
    Deep residual learning for image recognition. CVPR 2016, Table 1.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.workload("resnet50", batch=1, training=False)
    >>> graph.kinds.to_list().count("Conv2D")
    53
    """

    name = "resnet50"

    image: int = whole(0, least=0)
    classes: int = whole(0, least=0)
    optimizer: str = one_of("momentum", "sgd", "rmsprop", "adam")
    variant: str = one_of("imagenet", "cifar10")
    strided: str = one_of("3x3", "1x1")
    granularity: str = one_of("op", "tensorflow")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.granularity == "tensorflow" and not self.training:
            raise self.refused("granularity", "op, for what is not trained")

    @property
    def pixels(self) -> int:
        """Height and width of the images."""
        return self.image or DATA[self.variant][0]

    def built(self) -> Builder:
        """Return the network, trained where asked."""
        if self.granularity == "op":
            return super().built()
        step, pixels = TensorFlowStep(averages=False), self.pixels
        layers = TensorFlowLayers(step, scaled=True)
        (logits,) = self._logits(layers, step.input(self.batch, pixels, pixels, self.channels))
        step.minimise([layers.loss(logits)], self.optimizer)
        return step

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass."""
        return self._logits(Layers(images.net), images)

    def _logits(self, layers: Layers, images: Tensor) -> list[Tensor]:
        net, x = layers.net, self._stem(layers, images)
        for stage, blocks in enumerate(STAGES):
            for block in range(blocks):
                with net.within(f"stage{stage + 1}/block{block}"):
                    x = self._bottleneck(layers, x, 64 << stage, 2 if stage and not block else 1)
        with net.within("pool"):
            x = flat(average_pool(x, x.dims[1], 1))
        return [layers.dense(x, "fc", self.classes or DATA[self.variant][1])]

    def _stem(self, layers: Layers, images: Tensor) -> Tensor:
        if self.variant == "cifar10":
            return layers.convolution(images, "stem", (3, 3, 64))
        x = layers.convolution(images, "stem", (7, 7, 64), 2)
        with x.net.within("stem"):
            return max_pool(x, 3, 2, "same")

    def _bottleneck(self, layers: Layers, x: Tensor, filters: int, stride: int) -> Tensor:
        """Return 1 x 1, 3 x 3, 1 x 1 added to the input, which is projected where its shape changes."""
        first, second = (stride, 1) if self.strided == "1x1" else (1, stride)
        outputs, way = EXPANSION * filters, x
        if x.dims[-1] != outputs:
            way = layers.convolution(x, "shortcut", (1, 1, outputs), stride, rectified=False)
        y = layers.convolution(x, "conv1", (1, 1, filters), first)
        y = layers.convolution(y, "conv2", (3, 3, filters), second)
        y = layers.convolution(y, "conv3", (1, 1, outputs), rectified=False)
        return layers.added(y, way)
