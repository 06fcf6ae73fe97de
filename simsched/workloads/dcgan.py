"""A deep convolutional generative adversarial network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.layers import BatchNorm, Convolution, Dense, flat
from simsched.workloads.ops import (
    bias_add,
    concat,
    conv2d_transpose,
    leaky_relu,
    multiply,
    relu,
    reshaped,
    sigmoid,
    sigmoid_cross_entropy,
)
from simsched.workloads.optimizers import OPTIMIZERS
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, one_of, whole

Function = Callable[["Tensor"], "Tensor"]

#: Height and width of all filters, and their stride.
WINDOW, STRIDE = 5, 2


@dataclass(frozen=True)
class DCGAN(Workload):
    """DCGAN for labelled digits: generator and discriminator, both updated in one step.

    The network and sizes of the public program carpedm20/DCGAN-tensorflow for MNIST: labels are appended to the inputs
    of every layer, biases are everywhere. Both losses share the forward passes, as in one run of both updates;
    the program runs that of the generator twice, to keep up.

    Parameters
    ----------
    image, channels : int
        Height and width, and channels, of the images.
    classes : int
        Labels.
    noise : int
        Random inputs of the generator.
    filters, units : int
        Outputs of a convolution and of a dense layer.
    batch : int
        Images of a step, real ones and made ones.
    optimizer : {"adam", "sgd", "momentum", "rmsprop"}
        Update of the parameters.
    training : bool
        Whether both are trained; else the generator makes images.

    References
    ----------
    Unsupervised representation learning with deep convolutional generative adversarial networks. ICLR 2016.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("dcgan", batch=8)
    <TaskGraph 'dcgan[batch=8]': 175 tasks, 228 edges>
    """

    name = "dcgan"

    image: int = whole(28, least=2)
    channels: int = whole(1)
    classes: int = whole(10)
    noise: int = whole(100)
    filters: int = whole(64)
    units: int = whole(1024)
    batch: int = whole(64)
    optimizer: str = one_of("adam", *(name for name in OPTIMIZERS if name != "adam"))
    training: bool = True

    def graph(self) -> TaskGraph:
        """Return the task graph."""
        return self.built().graph(str(self))

    def built(self) -> Builder:
        """Return the networks, trained where asked."""
        net = Builder(self.training)
        generator = Generator(net, self)
        made = generator(net.input(self.batch, self.noise))
        if self.training:
            self._train(net, made, [parameter for parameter, _ in net.parameters])
        return net

    def _train(self, net: Builder, made: Tensor, generator: list[Tensor]) -> None:
        discriminator = Discriminator(net, self)
        own = [parameter for parameter, _ in net.parameters if parameter not in generator]
        with net.within("loss"):
            with net.within(label="real"):
                real = sigmoid_cross_entropy(discriminator(net.input(*made.dims)))
            with net.within(label="made"):
                judged = discriminator(made)
                fake, taken_in = sigmoid_cross_entropy(judged), sigmoid_cross_entropy(judged)
        net.train([real, fake], self.optimizer, own)
        net.train([taken_in], self.optimizer, generator)


def _halved(image: int) -> tuple[int, int]:
    """Return half and a quarter of the pixels, as strides of 2 leave them."""
    half = (image + 1) // 2
    return half, (half + 1) // 2


def _labelled(x: Tensor, classes: int) -> Tensor:
    """Return rows or images with their labels; for images the labels are spread over the pixels."""
    labels = x.net.input(x.dims[0], *(1,) * (len(x.dims) - 2), classes)
    if len(x.dims) > 2:
        labels = multiply(x.net.input(*x.dims[:-1], classes), labels)
    return concat([x, labels])


class Normalised:
    """A layer, batch normalisation, an activation."""

    def __init__(
        self,
        net: Builder,
        scope: str,
        layer: Callable[[Tensor], Tensor],
        outputs: int,
        activation: Callable[[Tensor], Tensor],
    ) -> None:
        self._net, self._scope, self._layer, self._activation = net, scope, layer, activation
        self._norm = BatchNorm(net, scope, outputs)

    def __call__(self, x: Tensor) -> Tensor:
        """Return the activations."""
        y = self._norm(self._layer(x))
        with self._net.within(self._scope):
            return self._activation(y)


class Transposed:
    """A transposed convolution and a bias, to images of a size."""

    def __init__(self, net: Builder, scope: str, channels: int, outputs: int, image: int) -> None:
        self._net, self._scope, self._image = net, scope, image
        with net.within(scope):
            self.filters, self.bias = net.parameter(WINDOW, WINDOW, outputs, channels), net.parameter(outputs)

    def __call__(self, x: Tensor) -> Tensor:
        """Return images of (n, image, image, outputs)."""
        with self._net.within(self._scope):
            return bias_add(conv2d_transpose(x, self.filters, STRIDE, self._image, self._image), self.bias)


class Generator:
    """From noise to images: two dense layers, two transposed convolutions."""

    def __init__(self, net: Builder, sizes: DCGAN) -> None:
        self._classes, self._channels = sizes.classes, 2 * sizes.filters
        half, self._quarter = _halved(sizes.image)
        pixels = self._quarter**2 * self._channels
        with net.within("generator"):
            self._dense = [
                _dense(net, "h0", sizes.noise + sizes.classes, sizes.units, relu),
                _dense(net, "h1", sizes.units + sizes.classes, pixels, relu),
            ]
            inner = self._channels + sizes.classes
            self._grow = Normalised(
                net, "h2", Transposed(net, "h2", inner, self._channels, half), self._channels, relu
            )
            self._image = Transposed(net, "h3", inner, sizes.channels, sizes.image)

    def __call__(self, noise: Tensor) -> Tensor:
        """Return images made of noise of (n, noise)."""
        with noise.net.within("generator"):
            y = noise
            for layer in self._dense:
                y = layer(_labelled(y, self._classes))
            y = reshaped(y, noise.dims[0], self._quarter, self._quarter, self._channels)
            y = self._grow(_labelled(y, self._classes))
            return sigmoid(self._image(_labelled(y, self._classes)))


class Discriminator:
    """Classifier of real images: two convolutions, two dense layers."""

    def __init__(self, net: Builder, sizes: DCGAN) -> None:
        self._classes = sizes.classes
        first, second = sizes.channels + sizes.classes, sizes.filters + sizes.classes
        _, quarter = _halved(sizes.image)
        with net.within("discriminator"):
            self._first = Convolution(net, "h0", (WINDOW, WINDOW, first, first), STRIDE)
            convolution = Convolution(net, "h1", (WINDOW, WINDOW, first + sizes.classes, second), STRIDE)
            self._second = Normalised(net, "h1", convolution, second, leaky_relu)
            self._dense = _dense(net, "h2", quarter**2 * second + sizes.classes, sizes.units, leaky_relu)
            self._last = Dense(net, "h3", sizes.units + sizes.classes, 1)

    def __call__(self, images: Tensor) -> Tensor:
        """Return logits of (n, 1)."""
        with images.net.within("discriminator"):
            y = leaky_relu(self._first(_labelled(images, self._classes)))
            y = flat(self._second(_labelled(y, self._classes)))
            y = self._dense(_labelled(y, self._classes))
            return self._last(_labelled(y, self._classes))


def _dense(net: Builder, scope: str, inputs: int, outputs: int, activation: Function) -> Normalised:
    return Normalised(net, scope, Dense(net, scope, inputs, outputs), outputs, activation)
