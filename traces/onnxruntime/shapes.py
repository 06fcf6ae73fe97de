"""Shapes and bytes of the tensors of a run, from its events and from the model, which must agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.onnx.model import Model
from simsched.traces.onnx.tensors import ITEMSIZE_B, Tensor, tensor_bytes
from simsched.traces.onnxruntime.join import ADVICE, Task
from simsched.traces.shared.json_stream import shown

#: Operators with packed weights have few inputs; of longer lists the absent ones are not looked for.
MAX_ALIGNED = 64


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
        """Return the task's inputs (the model's where the event tells none), its outputs, and its packed bytes."""
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
        if told is None:
            inputs = tuple(self.known[name] for name in names if name in self.known)
            return (inputs if len(inputs) == len(names) else ()), 0.0
        if len(told) < len(names) <= MAX_ALIGNED:
            return self._with_absent(told, names)
        if len(told) == len(names):
            self._see(names, told)
        return told, 0.0

    def _with_absent(self, told: Sequence[Tensor], names: Sequence[str]) -> tuple[tuple[Tensor, ...], float]:
        places = _aligned(told, [self.known.get(n) for n in names], [self._may_lack(n) for n in names])
        if places is None:
            expected = ", ".join(str(self.known.get(name, "not known")) for name in names)
            raise self._contradiction(f"its inputs are {', '.join(map(str, told))}", f"they are {expected}")
        present = [(name, told[place]) for name, place in zip(names, places, strict=True) if place >= 0]
        self._see([name for name, _ in present], [tensor for _, tensor in present])
        absent = [name for name, place in zip(names, places, strict=True) if place < 0]
        packed = [self.model.initialisers[name] for name in absent if name in self.model.initialisers]
        if any(name not in self.known for name in absent):
            return tuple(told), tensor_bytes(packed)
        return tuple(self.known[name] for name in names), tensor_bytes(packed)

    def _may_lack(self, name: str) -> bool:
        """Tell whether an event may leave an input out: packed constants; sequences, which have no shape."""
        return name in self.model.initialisers or name not in self.known

    def _contradiction(self, here: str, there: str) -> FormatError:
        event = self.task.event
        return FormatError(
            f"{self.file}: event {event.place} (node {shown(event.name)}, at {event.start_us} us): {here}, "
            f"but by {self.model.file} and the nodes before {there}; {ADVICE}"
        )


def _aligned(
    told: Sequence[Tensor], known: Sequence[Tensor | None], optional: Sequence[bool]
) -> list[int] | None:
    """Return which of `told` each input is, -1 for one left out; None if they do not align."""
    ways: dict[int, list[int]] = {0: []}
    for tensor, may_lack in zip(known, optional, strict=True):
        longer: dict[int, list[int]] = {}
        for used, way in ways.items():
            if used < len(told) and (tensor is None or _agree(told[used], tensor)):
                longer.setdefault(used + 1, [*way, used])
            if may_lack:
                longer.setdefault(used, [*way, -1])
        ways = longer
    return ways.get(len(told))


def _agree(one: Tensor, other: Tensor) -> bool:
    types = {one.dtype, other.dtype}
    if len(types) > 1 and types <= ITEMSIZE_B.keys():
        return False
    return len(one.dims) == len(other.dims) and all(
        a == b or a is None or b is None for a, b in zip(one.dims, other.dims, strict=True)
    )
