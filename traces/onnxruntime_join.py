"""Joining a run's events to the nodes of the optimized model, and refusing a model of another session.

ONNX Runtime makes up names of fused and inserted nodes (`ReorderOutput_token_60`) anew in every session, so that the
names of two sessions may match and mean different nodes. What the run did then contradicts the model somewhere: a
name is missing, an operator differs, a tensor has two shapes, or a node starts before one that it depends on has
finished. Each of these refuses the join. Where two sessions' models agree in all of it, they are the same graph, and
the join is right whichever session the model came from.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.onnx_model import Model, Node, Tensor
from simsched.traces.onnxruntime_profile import ITEMSIZE_B, SHOWN, Event

#: Starts and lengths are whole microseconds.
CLOCK_US = 1
#: Leaving nodes out can join each of their sources with each of their readers.
MAX_EDGES = 20_000_000

ADVICE = (
    "the profile and the model are not of one session: set optimized_model_filepath and enable_profiling on one "
    "SessionOptions and give the two files of that session"
)


@dataclass(frozen=True)
class Task:
    """A node and its execution in the run."""

    node: Node
    event: Event


# --- which event is which node --------------------------------------------------------------------------------------


def outermost(events: Sequence[Event], model: Model | None) -> list[Event]:
    """Return the events without those of nodes inside bodies (`If`, `Loop`, `Scan`), whose time their owner includes.

    With a model its names tell. Else, or where a name is used inside and outside, an event is inside a body if it
    lies within the event of such an operator on the same thread.
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

    Nodes that share a name, or have none and share an operator, are told apart by their order, which is the order of
    execution on one thread and so is only used there.

    Raises
    ------
    FormatError
        If an event has no node, or which one is not certain, or the operator differs.
    """
    nodes: dict[str, list[int]] = {}
    for i, node in enumerate(model.nodes):
        nodes.setdefault(_key(node.name, node.op_type), []).append(i)
    groups: dict[str, list[Event]] = {}
    for event in events:
        groups.setdefault(_event_key(event, nodes), []).append(event)
    tasks: list[Task | None] = [None] * len(model.nodes)
    for key, group in groups.items():
        if key not in nodes:
            raise FormatError(
                f"{file}: node {_cut(group[0].name)} of the run is not in {model.file} ({_missing(groups, nodes)} of "
                f"{len(groups)} names are not); {ADVICE}"
            )
        for i, event in zip(_candidates(file, key, nodes[key], group), group, strict=True):
            tasks[i] = Task(_same_operator(file, event, model, i), event)
    return tasks


def _key(name: str, op_type: str) -> str:
    return f"name {name}" if name else f"unnamed {op_type}"


def _event_key(event: Event, nodes: Mapping[str, object]) -> str:
    unnamed = _key("", event.op_type)
    named = _key(event.name, event.op_type)
    made_up = event.name == f"{event.op_type}_{event.index}"
    return unnamed if made_up and named not in nodes and unnamed in nodes else named


def _missing(groups: Iterable[str], nodes: Mapping[str, object]) -> int:
    return sum(key not in nodes for key in groups)


def _candidates(file: Path, key: str, nodes: list[int], group: list[Event]) -> list[int]:
    if len(group) > len(nodes):
        raise FormatError(
            f"{file}: node {_cut(group[0].name)} ran {len(group)} times in one run (events {group[0].place} and "
            f"{group[1].place}), the model has {len(nodes)} of that name; {ADVICE}"
        )
    if len(nodes) > 1 and (len(group) < len(nodes) or len({event.thread for event in group}) > 1):
        raise FormatError(
            f"{file}: {len(nodes)} nodes of the model share the key {_cut(key)} and cannot be told apart; give every "
            "node a name of its own before making the session, then record again"
        )
    return nodes


def _same_operator(file: Path, event: Event, model: Model, i: int) -> Node:
    node = model.nodes[i]
    if event.op_type and event.op_type != node.op_type:
        raise FormatError(
            f"{file}: event {event.place} ran node {_cut(event.name)} as {_cut(event.op_type)}, in {model.file} it is "
            f"a {_cut(node.op_type)}; {ADVICE}"
        )
    return node


def _cut(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 3] + "...")


# --- edges ----------------------------------------------------------------------------------------------------------


def edges(model: Model, tasks: Sequence[Task | None]) -> dict[tuple[int, int], str]:
    """Return the dependences between the nodes that ran, each with one tensor that carries it.

    A node that did not run passes its own dependences on to its readers.

    Raises
    ------
    FormatError
        If that makes more than `MAX_EDGES`.
    """
    found: dict[tuple[int, int], str] = {}
    sources: dict[str, frozenset[int]] = {}
    passed_on = 0
    for i, node in enumerate(model.nodes):
        reads = [name for name in (*node.inputs, *node.captured) if name in sources]
        if tasks[i] is not None:
            made_by = frozenset([i])
            found.update(((before, i), name) for name in reads for before in sources[name])
        else:
            made_by = _union([sources[name] for name in reads])
            passed_on += len(made_by)
        if len(found) + passed_on > MAX_EDGES:
            raise FormatError(
                f"{model.file}: more than {MAX_EDGES} dependences, most of them through nodes that did not run"
            )
        sources.update((name, made_by) for name in node.outputs)
    return found


def _union(sets: Sequence[frozenset[int]]) -> frozenset[int]:
    return sets[0] if len(sets) == 1 else frozenset().union(*sets)


def check_order(
    file: Path, model: Model, tasks: Sequence[Task | None], found: Mapping[tuple[int, int], str]
) -> int:
    """Return how many edges start early by no more than the clock can tell.

    Raises
    ------
    FormatError
        If a node started earlier than that before one that it depends on had finished.
    """
    early = []
    for (before, after), tensor in found.items():
        first, second = tasks[before], tasks[after]
        if first is not None and second is not None and second.event.start_us < first.event.finish_us:
            early.append((second.event.start_us, first, second, tensor))
    impossible = [e for e in early if e[1].event.finish_us - e[0] > CLOCK_US]
    if impossible:
        start, first, second, tensor = min(
            impossible, key=lambda e: (e[0], e[1].event.place, e[2].event.place)
        )
        raise FormatError(
            f"{file}: node {_cut(second.event.name)} starts at {start} us, before node {_cut(first.event.name)}, "
            f"which makes its tensor {_cut(tensor)}, finishes at {first.event.finish_us} us ({len(impossible)} of "
            f"{len(found)} edges of {model.file} are impossible in this run); {ADVICE}"
        )
    return len(early)


# --- shapes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Shapes of one task's tensors, and the bytes of constants that its event does not count."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    packed_B: float


def sizes(file: Path, model: Model, tasks: Sequence[Task | None]) -> list[Sizes | None]:
    """Return the shapes of each task, None for a node that did not run.

    A tensor has one shape: that of the constant, that which its maker wrote and all its readers read, within what the
    model declares.

    Raises
    ------
    FormatError
        If a tensor has two shapes.
    """
    known: dict[str, Tensor] = dict(model.initialisers)
    result: list[Sizes | None] = []
    for task in tasks:
        result.append(None if task is None else _sizes(_Tensors(file, model, known, task)))
    return result


@dataclass(frozen=True)
class _Tensors:
    """The tensors of one task, and what is known of all tensors so far."""

    file: Path
    model: Model
    known: dict[str, Tensor]
    task: Task

    def see(self, name: str, tensor: Tensor) -> None:
        """Remember a tensor's shape, or refuse one that contradicts what is known."""
        for other in (self.known.get(name), self.model.declared.get(name)):
            if other is not None and not _agree(tensor, other):
                raise self.contradiction(f"tensor {_cut(name)} is {tensor}", f"it is {other}")
        self.known.setdefault(name, tensor)

    def contradiction(self, here: str, there: str) -> FormatError:
        event = self.task.event
        return FormatError(
            f"{self.file}: event {event.place} (node {_cut(event.name)}, at {event.start_us} us): {here}, but {there} "
            f"by {self.model.file} and the nodes before; {ADVICE}"
        )


def _agree(one: Tensor, other: Tensor) -> bool:
    types = {one.dtype, other.dtype}
    if len(types) > 1 and types <= ITEMSIZE_B.keys():
        return False
    return len(one.dims) == len(other.dims) and all(
        a == b or a is None or b is None for a, b in zip(one.dims, other.dims, strict=True)
    )


def _sizes(tensors: _Tensors) -> Sizes:
    event, node = tensors.task.event, tensors.task.node
    inputs, packed_B = _inputs(tensors)
    outputs = event.outputs or ()
    if len(outputs) == len(node.outputs):
        for name, tensor in zip(node.outputs, outputs, strict=True):
            tensors.see(name, tensor)
    return Sizes(inputs, outputs, packed_B)


def _inputs(tensors: _Tensors) -> tuple[tuple[Tensor, ...], float]:
    """Return all inputs, and the bytes of those that the event leaves out: weights packed at load time."""
    told, names = tensors.task.event.inputs or (), tensors.task.node.inputs
    if len(told) == len(names):
        for name, tensor in zip(names, told, strict=True):
            tensors.see(name, tensor)
        return told, 0.0
    inputs = tuple(tensors.known[name] for name in names if name in tensors.known)
    if tensors.task.event.inputs is None:
        return inputs if len(inputs) == len(names) else (), 0.0
    if len(inputs) < len(names):
        return told, 0.0  # optional and sequence inputs: which tensor is which cannot be told
    constants = Counter(tensors.known[name].dims for name in names if name in tensors.model.initialisers)
    spare = Counter(t.dims for t in told) - (Counter(t.dims for t in inputs) - constants)
    absent = Counter(t.dims for t in inputs) - Counter(t.dims for t in told)
    if spare - constants or absent - constants:
        raise tensors.contradiction(f"its inputs are {_listed(told)}", f"they are {_listed(inputs)}")
    packed = [t for t in inputs if absent[t.dims]]
    return inputs, math.fsum(bytes_B([t]) * absent[t.dims] for t in dict.fromkeys(packed))


def _listed(tensors: Iterable[Tensor]) -> str:
    return _cut(", ".join(map(str, tensors)))


def bytes_B(tensors: Iterable[Tensor]) -> float:
    """Return the bytes of tensors; NaN where an element's size or a dimension is not known."""
    return math.fsum(
        math.prod(
            (math.nan if d is None else float(d) for d in t.dims),
            start=float(ITEMSIZE_B.get(t.dtype, math.nan)),
        )
        for t in tensors
    )
