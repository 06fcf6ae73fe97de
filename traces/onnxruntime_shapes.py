"""Shapes and bytes of the tensors of a run, from its events and from the model, which must agree."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.onnx_model import Model, Tensor
from simsched.traces.onnxruntime_fields import shown
from simsched.traces.onnxruntime_join import ADVICE, Task

#: Bytes of one element, under the names that ONNX Runtime gives the types.
ITEMSIZE_B = {
    **dict.fromkeys(["bool", "int8", "uint8"], 1),
    **dict.fromkeys(["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"], 1),
    **dict.fromkeys(["int16", "uint16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["float", "int32", "uint32"], 4),
    **dict.fromkeys(["double", "int64", "uint64", "complex64"], 8),
    "complex128": 16,
}


@dataclass(frozen=True)
class Sizes:
    """What one task reads and writes.

    Parameters
    ----------
    inputs, outputs : tuples of Tensor
        Shapes; () where not told.
    packed_bytes : float
        Bytes of the constants among the inputs that the event leaves out.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    packed_bytes: float


def sizes(file: Path, model: Model, tasks: Sequence[Task | None]) -> list[Sizes | None]:
    """Return the sizes of each task, None for a node that did not run.

    A tensor has one shape: that of the constant, or that which its maker wrote and all its readers read,
    within what the model declares.

    Raises
    ------
    FormatError
        If a tensor has two shapes.
    """
    known = dict(model.initialisers)
    return [None if task is None else _View(file, model, known, task).sizes() for task in tasks]


@dataclass(frozen=True)
class _View:
    """One task, and what is known of all tensors when its turn comes."""

    file: Path
    model: Model
    known: dict[str, Tensor]
    task: Task

    def sizes(self) -> Sizes:
        inputs, packed_B = self._inputs()
        outputs = self.task.event.outputs or ()
        if len(outputs) == len(self.task.node.outputs):
            self._see(self.task.node.outputs, outputs)
        return Sizes(inputs, outputs, packed_B)

    def _see(self, names: Sequence[str], tensors: Sequence[Tensor]) -> None:
        """Remember the shapes of tensors, or refuse one that contradicts what is known."""
        for name, tensor in zip(names, tensors, strict=True):
            for other in (self.known.get(name), self.model.declared.get(name)):
                if other is not None and not _agree(tensor, other):
                    raise self._contradiction(f"tensor {shown(name)} is {tensor}", f"it is {other}")
            self.known.setdefault(name, tensor)

    def _inputs(self) -> tuple[tuple[Tensor, ...], float]:
        """Return all inputs, and the bytes of those that the event leaves out: packed weights."""
        told, names = self.task.event.inputs, self.task.node.inputs
        known = tuple(self.known[name] for name in names if name in self.known)
        if told is None:
            return (known if len(known) == len(names) else ()), 0.0
        if len(told) == len(names):
            self._see(names, told)
            return told, 0.0
        if len(known) < len(names):
            return (
                told,
                0.0,
            )  # sequences and other inputs without a shape: which tensor is which is not certain
        absent = self._absent(told, known)
        packed = {tensor.dims: tensor for tensor in known if tensor.dims in absent}
        return known, sum(tensor_bytes([tensor]) * absent[shape] for shape, tensor in packed.items())

    def _absent(self, told: Sequence[Tensor], known: Sequence[Tensor]) -> Counter[tuple[int | None, ...]]:
        """Return the shapes that the event leaves out, which must be those of constants."""
        names, initialisers = self.task.node.inputs, self.model.initialisers
        constants = Counter(initialisers[name].dims for name in names if name in initialisers)
        expected, found = Counter(t.dims for t in known), Counter(t.dims for t in told)
        if found - expected or (expected - found) - constants:
            raise self._contradiction(f"its inputs are {_listed(told)}", f"they are {_listed(known)}")
        return expected - found

    def _contradiction(self, here: str, there: str) -> FormatError:
        event = self.task.event
        return FormatError(
            f"{self.file}: event {event.place} (node {shown(event.name)}, at {event.start_us} us): {here}, "
            f"but by {self.model.file} and the nodes before {there}; {ADVICE}"
        )


def _agree(one: Tensor, other: Tensor) -> bool:
    types = {one.dtype, other.dtype}
    if len(types) > 1 and types <= ITEMSIZE_B.keys():
        return False
    return len(one.dims) == len(other.dims) and all(
        a == b or a is None or b is None for a, b in zip(one.dims, other.dims, strict=True)
    )


def _listed(tensors: Sequence[Tensor]) -> str:
    return ", ".join(map(str, tensors[:8])) + (", ..." if len(tensors) > 8 else "")


def tensor_bytes(tensors: Iterable[Tensor]) -> float:
    """Return the bytes of tensors; NaN where an element's size is not known.

    Examples
    --------
    >>> tensor_bytes([Tensor("float", (2, 3)), Tensor("int64", ())])
    32.0
    """
    return sum(math.prod(dims(t), start=float(ITEMSIZE_B.get(t.dtype, math.nan))) for t in tensors)


def dims(tensor: Tensor) -> tuple[int, ...]:
    """Return the dimensions of a tensor all of whose are known."""
    return tuple(d or 0 for d in tensor.dims)
