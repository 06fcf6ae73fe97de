"""PathNet: layers of small convolutional modules, those on the active paths side by side."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.layers import Convolution, Dense
from simsched.workloads.ops import add_n, cross_entropy, max_pool, relu, reshaped
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, whole


@dataclass(frozen=True)
class PathNet(Workload):
    """Modules of a 3x3 convolution, ReLU and 2x2 pooling; the active ones of a layer read the sum of those before.

    Only active modules are part of the graph: others neither run nor are trained. A dense layer on the
    sum of the last layer gives the logits.

    Parameters
    ----------
    layers, modules : int
        Layers, and active modules of each.
    image, channels : int
        Height and width of the images, and their channels.
    neurons : int
        Filters of a module.
    classes : int
        Logits.
    batch : int
        Images of a step of training.
    training : bool
        Whether a backward pass and a weight update follow the forward pass.

    References
    ----------
    PathNet: evolution channels gradient descent in super neural networks, 2017, Sec. 2. Modules and sizes: Graphi,
    Sec. 7.1.

    Examples
    --------
    >>> import simsched as ss
    >>> ss.workload("pathnet", training=False)
    <TaskGraph 'pathnet[training=false]': 77 tasks, 86 edges>
    """

    name = "pathnet"

    layers: int = whole(3)
    modules: int = whole(6)
    image: int = whole(32)
    channels: int = whole(3)
    neurons: int = whole(16)
    classes: int = whole(10)
    batch: int = whole(64)
    training: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image >> self.layers == 0:
            raise self.refused(
                "image", f"at least 2 to the power of layers, {self.layers}, as each halves it"
            )

    def graph(self) -> TaskGraph:
        """Return the task graph."""
        net = Builder(self.training)
        x = net.input(self.batch, self.image, self.image, self.channels)
        for layer in range(self.layers):
            with net.within(f"layer{layer}"):
                x = add_n([self._module(net, module, x) for module in range(self.modules)])
        features = x.elements // self.batch
        logits = Dense(net, "head", features, self.classes)(reshaped(x, self.batch, features))
        if self.training:
            net.train([cross_entropy(logits)])
        return net.graph(str(self))

    def _module(self, net: Builder, module: int, x: Tensor) -> Tensor:
        with net.within(f"module{module}"):
            return max_pool(relu(Convolution(net, "filters", (3, 3, x.dims[-1], self.neurons))(x)), 2, 2)
