"""`ImageNetwork`: base of the networks that classify images."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.errors import SpecError
from simsched.graph import TaskGraph
from simsched.workloads.builder import Builder
from simsched.workloads.ops import cross_entropy
from simsched.workloads.optimizers import OPTIMIZERS
from simsched.workloads.tensor import Tensor
from simsched.workloads.workload import Workload, one_of, whole


@dataclass(frozen=True)
class ImageNetwork(Workload):
    """Base of image classifiers; subclass it and write `logits`.

    Parameters
    ----------
    image : int
        Height and width of the images.
    channels : int
        Channels of the images.
    classes : int
        Outputs.
    batch : int
        Images of a step.
    optimizer : {"sgd", "momentum", "rmsprop", "adam"}
        Update of the parameters.
    training : bool
        Whether a backward pass and a weight update follow the forward pass.
    """

    image: int = whole(224)
    channels: int = whole(3)
    classes: int = whole(1000)
    batch: int = whole(64)
    optimizer: str = one_of(*OPTIMIZERS)
    training: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pixels < self.least_image:
            raise self.refused("image", f"at least {self.least_image}, for its filters and pools to fit")

    @property
    def least_image(self) -> int:
        """Pixels below which a filter or pool does not fit."""
        return 1

    @property
    def pixels(self) -> int:
        """Height and width of the images."""
        return self.image

    def logits(self, images: Tensor) -> list[Tensor]:
        """Add the forward pass; return logits of (n, classes): the network's first, then those of helpers."""
        raise SpecError(f"workload {self} has no logits(); write one that returns them")

    def built(self) -> Builder:
        """Return the network, trained where asked."""
        net, pixels = Builder(self.training), self.pixels
        outputs = self.logits(net.input(self.batch, pixels, pixels, self.channels))
        if self.training:
            with net.within("loss"):
                losses = [cross_entropy(output) for output in outputs]
            net.train(losses, self.optimizer)
        return net

    def graph(self) -> TaskGraph:
        """Return the task graph."""
        return self.built().graph(str(self))
