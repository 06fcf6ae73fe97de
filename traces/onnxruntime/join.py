"""Joining a run's events to the nodes of the optimized model, and rejecting another session's model.

ONNX Runtime makes up names of fused and inserted nodes (`ReorderOutput_token_60`) in every session, so
that the names of two sessions may match and mean different nodes. The run then contradicts the model
somewhere: a name is missing, an operator differs, a tensor has two shapes, or a node starts before one that
it depends on has finished. Each of these is an error. Two sessions may also save the same model, node by
node; then the join is right whichever of them it came from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.multimap import multimap
from simsched.traces.onnx.model import Model, Node
from simsched.traces.onnx.proto import ITEMSIZE_B, Tensor, tensor_bytes
from simsched.traces.onnxruntime.profile import Event
from simsched.traces.shared.json_stream import shown

#: Starts and lengths are whole microseconds.
CLOCK_US = 1
ADVICE = (
    "the profile and the model are not of one session: set optimized_model_filepath and enable_profiling on "
    "one SessionOptions and give the two files of that session"
)


@dataclass(frozen=True)
class Task:
    """A node and its execution in the run."""

    node: Node
    event: Event


def outermost(events: Sequence[Event], model: Model | None) -> list[Event]:
    """Return the events without those of nodes inside bodies (`If`, `Loop`, `Scan`).

    The time of such a node is part of its owner's. With a model names decide. Else, or where a name is used
    inside and outside, an event is inside if it is within the owner's event on the same thread.
    """
    owners = {"If", "Loop", "Scan", "SequenceMap"}
    outside: set[str] = set()
    inside: frozenset[str] = frozenset()
    if model is not None:
        owners = {node.op_type for node in model.nodes if node.has_body}
        outside, inside = {node.name for node in model.nodes}, model.body_names
    kept = []
    busy_until: dict[str, int] = {}
    for event in sorted(events, key=lambda e: (e.start_us, -e.finish_us, e.place)):
        nested = event.finish_us <= busy_until.get(event.thread, -1) > event.start_us
        if (event.name in inside) != (event.name in outside):
            nested = event.name in inside
        if not nested:
            kept.append(event)
            if event.op_type in owners:
                busy_until[event.thread] = event.finish_us
    return sorted(kept, key=lambda e: (e.start_us, e.finish_us, e.place))


def match(file: Path, events: Sequence[Event], model: Model) -> list[Task | None]:
    """Return the task of each node of the model, None for one that did not run.

    Nodes that share a name, or have none and share an operator, are distinguished by their order, if the whole
    run kept to the model's order on one thread, as sequential execution does.

    Raises
    ------
    FormatError
        If an event has no node, or which one is not certain, or the operator differs.
    """
    nodes = multimap((_key(node.name, node.op_type), i) for i, node in enumerate(model.nodes))
    groups = multimap((_event_key(event, nodes), event) for event in events)
    tasks: list[Task | None] = [None] * len(model.nodes)
    for key, group in groups.items():
        _check_counts(file, model, groups, group, len(nodes.get(key, ())))
        for i, event in zip(nodes[key], group, strict=True):
            tasks[i] = Task(_same_operator(file, event, model, i), event)
    shared = next((group for key, group in groups.items() if len(nodes[key]) > 1), None)
    if shared and not _in_order([task.event for task in tasks if task is not None]):
        raise _indistinct(file, model, shared)
    return tasks


def _key(name: str, op_type: str) -> str:
    return f"name {name}" if name else f"unnamed {op_type}"


def _event_key(event: Event, nodes: Mapping[str, object]) -> str:
    unnamed = _key("", event.op_type)
    named = _key(event.name, event.op_type)
    made_up = event.name == f"{event.op_type}_{event.index}"
    return unnamed if made_up and named not in nodes and unnamed in nodes else named


def _check_counts(
    file: Path, model: Model, groups: Mapping[str, object], group: Sequence[Event], nodes: int
) -> None:
    """Reject a name that ran and is not in the model, or not as often as it ran."""
    name = shown(group[0].name)
    if not nodes:
        raise FormatError(
            f"{file}: node {name} (event {group[0].place}, one of {len(groups)} names of the run) is not in "
            f"{model.file}; {ADVICE}"
        )
    if len(group) > nodes:
        raise FormatError(
            f"{file}: node {name} ran {len(group)} times in one run (events {group[0].place} and "
            f"{group[1].place}), but {model.file} has {nodes} of it; {ADVICE}"
        )
    if len(group) < nodes:
        raise _indistinct(file, model, group)


def _indistinct(file: Path, model: Model, group: Sequence[Event]) -> FormatError:
    return FormatError(
        f"{file}: several nodes of {model.file} are called like {shown(group[0].name)} or not at all, and "
        "the run does not tell them apart; give every node a name of its own before making the session, then "
        "record again"
    )


def _in_order(events: Sequence[Event]) -> bool:
    keys = [(event.start_us, event.finish_us, event.place) for event in events]
    return len({event.thread for event in events}) == 1 and keys == sorted(keys)


def _same_operator(file: Path, event: Event, model: Model, i: int) -> Node:
    node = model.nodes[i]
    if event.op_type and event.op_type != node.op_type:
        raise FormatError(
            f"{file}: event {event.place} ran node {shown(event.name)} as {shown(event.op_type)}, in "
            f"{model.file} it is a {shown(node.op_type)}; {ADVICE}"
        )
    return node


def check_order(
    file: Path, model: Model, tasks: Sequence[Task | None], found: Mapping[tuple[int, int], str]
) -> int:
    """Return the number of edges that start early within the clock's resolution.

    Raises
    ------
    FormatError
        If a node started earlier than that before a dependency had finished.
    """
    early = []
    for (before, after), tensor in found.items():
        first, second = tasks[before], tasks[after]
        if first is not None and second is not None and second.event.start_us < first.event.finish_us:
            early.append((first.event, second.event, tensor))
    impossible = [(a, b, tensor) for a, b, tensor in early if a.finish_us - b.start_us > CLOCK_US]
    if impossible:
        a, b, tensor = min(impossible, key=lambda e: (e[1].start_us, e[0].place, e[1].place))
        raise FormatError(
            f"{file}: node {shown(b.name)} (event {b.place}) starts at {b.start_us} us, before node "
            f"{shown(a.name)} (event {a.place}), which makes its tensor {shown(tensor)}, finishes at "
            f"{a.finish_us} us; {len(impossible)} of {len(found)} edges of {model.file} are impossible "
            f"in this run; {ADVICE}"
        )
    return len(early)


#: Operators with packed weights have few inputs; longer lists are not searched for absent ones.
MAX_ALIGNED = 64


@dataclass(frozen=True)
class Sizes:
    """Tensors that one task reads and writes.

    Parameters
    ----------
    inputs, outputs : tuples of Tensor
        Shapes; () where unknown.
    packed_bytes : float
        Bytes of the constants among the inputs that the event leaves out.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    packed_bytes: float


def sizes(
    file: Path, model: Model, tasks: Sequence[Task | None], known: dict[str, Tensor]
) -> list[Sizes | None]:
    """Return the sizes of each task, None for a node that did not run; add what they tell of tensors to `known`.

    A tensor has one shape: that of the constant, or that which its maker wrote and all its readers read,
    within what the model declares.

    Raises
    ------
    FormatError
        If a tensor has two shapes.
    """
    known.update(model.initialisers)
    return [None if task is None else _View(file, model, known, task).sizes() for task in tasks]


@dataclass(frozen=True)
class _View:
    """One task, and the known tensors at its turn."""

    file: Path
    model: Model
    known: dict[str, Tensor]
    task: Task

    def sizes(self) -> Sizes:
        """Return the task's inputs (the model's where the event has none), its outputs, and its packed bytes."""
        inputs, packed_B = self._inputs()
        outputs = self.task.event.outputs or ()
        if len(outputs) == len(self.task.node.outputs):
            self._see(self.task.node.outputs, outputs)
        return Sizes(inputs, outputs, packed_B)

    def _see(self, names: Sequence[str], tensors: Sequence[Tensor]) -> None:
        """Record the shapes of tensors, or reject one that contradicts known ones."""
        for name, tensor in zip(names, tensors, strict=True):
            for other in (self.known.get(name), self.model.declared.get(name)):
                if other is not None and not _agree(tensor, other):
                    raise self._contradiction(f"tensor {shown(name)} is {tensor}", f"it is {other}")
            self.known.setdefault(name, tensor)

    def _inputs(self) -> tuple[tuple[Tensor, ...], float]:
        """Return all inputs, and the bytes of those that the event leaves out: packed weights."""
        recorded, names = self.task.event.inputs, self.task.node.inputs
        if recorded is None:
            inputs = tuple(self.known[name] for name in names if name in self.known)
            return (inputs if len(inputs) == len(names) else ()), 0.0
        if len(recorded) < len(names) <= MAX_ALIGNED:
            return self._with_absent(recorded, names)
        if len(recorded) == len(names):
            self._see(names, recorded)
        return recorded, 0.0

    def _with_absent(
        self, recorded: Sequence[Tensor], names: Sequence[str]
    ) -> tuple[tuple[Tensor, ...], float]:
        places = _aligned(
            recorded,
            [self.known.get(n) for n in names],
            # Packed constants may be missing, and sequences, which have no shape.
            [n in self.model.initialisers or n not in self.known for n in names],
        )
        if places is None:
            expected = ", ".join(str(self.known.get(name, "not known")) for name in names)
            raise self._contradiction(
                f"its inputs are {', '.join(map(str, recorded))}", f"they are {expected}"
            )
        present = [(name, recorded[place]) for name, place in zip(names, places, strict=True) if place >= 0]
        self._see([name for name, _ in present], [tensor for _, tensor in present])
        absent = [name for name, place in zip(names, places, strict=True) if place < 0]
        packed = [self.model.initialisers[name] for name in absent if name in self.model.initialisers]
        if any(name not in self.known for name in absent):
            return tuple(recorded), tensor_bytes(packed)
        return tuple(self.known[name] for name in names), tensor_bytes(packed)

    def _contradiction(self, here: str, there: str) -> FormatError:
        event = self.task.event
        return FormatError(
            f"{self.file}: event {event.place} (node {shown(event.name)}, at {event.start_us} us): {here}, "
            f"but by {self.model.file} and the nodes before {there}; {ADVICE}"
        )


def _aligned(
    recorded: Sequence[Tensor], known: Sequence[Tensor | None], optional: Sequence[bool]
) -> list[int] | None:
    """Return which of `told` each input is, -1 for one left out; None if they do not align."""
    ways: dict[int, list[int]] = {0: []}
    for tensor, may_lack in zip(known, optional, strict=True):
        longer: dict[int, list[int]] = {}
        for used, way in ways.items():
            if used < len(recorded) and (tensor is None or _agree(recorded[used], tensor)):
                longer.setdefault(used + 1, [*way, used])
            if may_lack:
                longer.setdefault(used, [*way, -1])
        ways = longer
    return ways.get(len(recorded))


def _agree(one: Tensor, other: Tensor) -> bool:
    types = {one.dtype, other.dtype}
    if len(types) > 1 and types <= ITEMSIZE_B.keys():
        return False
    return len(one.dims) == len(other.dims) and all(
        a == b or a is None or b is None for a, b in zip(one.dims, other.dims, strict=True)
    )
