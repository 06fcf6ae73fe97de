"""Tensors, which ops read and write, and the place of an op in the program."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from simsched.workloads.builder import Builder

Dims = tuple[int, ...]

#: FP32.
ELEMENT_B = 4

#: Task of a tensor that no task makes: inputs and parameters.
NO_TASK = -1


class Tensor:
    """A value of a network while it is built.

    Parameters
    ----------
    net : Builder
        The network.
    dims : tuple of int
        Its shape.
    task : int
        The task that makes it; `NO_TASK` where it exists from the beginning.
    trained : bool
        Whether it depends on parameters, so that it has a gradient.
    storage : Tensor, optional
        The tensor whose memory it is a view of; itself when not given.

    Examples
    --------
    >>> from simsched.workloads import Builder
    >>> from simsched.workloads.ops import matmul
    >>> net = Builder()
    >>> y = matmul(net.input(64, 20), net.parameter(20, 10))
    >>> y.dims, y.elements, y.size_B, y.trained
    ((64, 10), 640, 2560, True)
    """

    __slots__ = ("dims", "elements", "net", "storage", "task", "trained")

    def __init__(
        self, net: Builder, dims: Dims, task: int, trained: bool, storage: Tensor | None = None
    ) -> None:
        self.net, self.dims, self.task, self.trained = net, dims, task, trained
        self.elements = math.prod(dims)
        self.storage = self if storage is None else storage

    @property
    def size_B(self) -> int:
        """Bytes of its elements."""
        return ELEMENT_B * self.elements


#: From the gradients of an op's outputs (None where nothing depends on one) to those of its inputs, in their order;
#: None for an input that is not trained.
Gradient = Callable[..., Iterable[Tensor | None]]


Phase = Literal["forward", "gradients", "update"]


class Place(NamedTuple):
    """Place of an op in the program.

    Parameters
    ----------
    scope : str
        The module, outermost first (`layer0/forget`); ops of one scope share parameters.
    label : str
        Label that distinguishes ops of one module (`step3`).
    cell : tuple of int or None
        The cell of a coarser graph that the op belongs to.
    """

    scope: str = ""
    label: str = ""
    cell: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An op or a view on the tape, with all data for its gradient."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    gradient: Gradient
    place: Place
