"""`Workload`, a family of generated task graphs; `ImageNetwork`, those that classify images; `workload` makes one."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from simsched.errors import FormatError, SpecError
from simsched.graph import TaskGraph
from simsched.parameters import Parameters, one_of, whole
from simsched.plugins import meant, named, registered
from simsched.spec import Scalar, Spec, made, parse_with
from simsched.workloads.builder import Builder
from simsched.workloads.ops import cross_entropy
from simsched.workloads.optimizers import OPTIMIZERS
from simsched.workloads.tensor import Tensor

__all__ = ["Workload", "family", "is_workload", "no_graph", "one_of", "whole", "workload"]


@dataclass(frozen=True)
class Workload(Parameters):
    """Base of all families: a frozen dataclass whose fields are the parameters; subclass it and write `graph`.

    Fields are made by `whole` and `one_of`, or are switches with a default; their values are checked.

    Attributes
    ----------
    name : str
        Name in specs.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> @dataclass(frozen=True)
    ... class Chain(Workload):
    ...     name = "chain"
    ...     length: int = whole(3)
    ...
    ...     def graph(self):
    ...         tasks = np.arange(self.length)
    ...         return ss.TaskGraph.from_edges(tasks * 1.0, np.stack([tasks[:-1], tasks[1:]], 1), name=str(self))
    >>> Chain(length=5).graph()
    <TaskGraph 'chain[length=5]': 5 tasks, 4 edges>
    """

    def graph(self) -> TaskGraph:
        """Return the task graph.

        Raises
        ------
        SpecError
            If the parameters do not fit each other.
        """
        raise SpecError(f"workload {self} has no graph(); write one that returns a TaskGraph")

    @classmethod
    def sizes(cls) -> Mapping[str, Mapping[str, Scalar]]:
        """Return the parameters of each published size, by its name; see `sizes.toml`."""
        return {size: row["parameters"] for size, row in _sizes().get(cls.name, {}).items()}


@cache
def _sizes() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "sizes.toml").read_text("utf-8"))


def family(source: str | Workload, /, **parameters: Scalar) -> Workload:
    """Return a workload that has not made its graph yet.

    Parameters
    ----------
    source, **parameters
        As in `workload`; a Workload is returned unchanged.

    Returns
    -------
    Workload

    Raises
    ------
    SpecError
        As `workload` does.

    Examples
    --------
    >>> str(family("lstm[size=medium]", batch=8))
    'lstm[steps=30,batch=8]'
    """
    if isinstance(source, Workload):
        if parameters:
            raise SpecError(
                f"{source} has its parameters already; give a name to choose {', '.join(parameters)}"
            )
        return source
    if not isinstance(source, str):
        raise SpecError(f"{source!r:.60} is not a workload; give a name, as in lstm[layers=4], or a Workload")
    spec = parse_with(source, parameters)
    cls: type[Workload] = named("workloads", spec.name)
    return made(cls, "workload", Spec(spec.name, _sized(cls, spec.params)))


def _sized(cls: type[Workload], parameters: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    """Return the parameters with those of a published size, if named, overridden by the explicit ones."""
    rest = {key: value for key, value in parameters.items() if key != "size"}
    if len(rest) == len(parameters):
        return rest
    sizes, size = cls.sizes(), str(parameters["size"])
    if size not in sizes:
        own = ", ".join(one.name for one in fields(cls))
        known = f"it has {', '.join(sizes)}" if sizes else f"it has none; give its parameters: {own}"
        raise SpecError(f"workload {cls.name} has no size {size!r:.60}; {known}")
    return {**sizes[size], **rest}


def workload(source: str | Workload, /, **parameters: Scalar) -> TaskGraph:
    """Generate the task graph of a workload.

    Parameters
    ----------
    source : str or Workload
        A spec (`lstm`, `lstm[layers=4,hidden=512]`, `lstm[size=medium]`) or an object.
    **parameters
        Parameters that are not in the spec. `size` names a published set of them, which the others override.

    Returns
    -------
    TaskGraph
        Its tasks have FLOPs, bytes and shapes; their durations are unknown.

    Raises
    ------
    SpecError
        If there is no such workload, it has no such parameter or size, or a value is impossible.

    Examples
    --------
    >>> workload("lstm", layers=1, steps=2, hidden=8, batch=4, training=False)
    <TaskGraph 'lstm[layers=1,steps=2,hidden=8,batch=4,training=false]': 50 tasks, 53 edges>
    """
    return family(source, **parameters).graph()


def is_workload(source: str) -> bool:
    """Return whether a text names a registered workload, whatever its parameters.

    Parameters
    ----------
    source : str
        A spec: `lstm[layers=4]`.

    Returns
    -------
    bool

    Examples
    --------
    >>> from simsched.workloads import is_workload
    >>> is_workload("lstm[layers=4]"), is_workload("trace.json")
    (True, False)
    """
    return source.partition("[")[0].strip() in registered("workloads")


def no_graph(graph: str) -> FormatError:
    """Return the error that there is neither such a file nor such a workload, and what may have been meant.

    Examples
    --------
    >>> from simsched.workloads import no_graph
    >>> print(no_graph("lsmt"))
    lsmt: no such file, and no such workload (`simsched list workloads` names them); did you mean lstm?
    """
    said = meant("workloads", graph.partition("[")[0])
    return FormatError(
        f"{graph}: no such file, and no such workload (`simsched list workloads` names them){said}"
    )


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
