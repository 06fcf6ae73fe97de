"""Nodes of a Chakra trace: what both its forms, streams of protobuf messages and linked JSON, hold alike."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.loading import Mend, open_plain, read_bounded
from simsched.traces.pytorch.execution_trace import attributes_of
from simsched.traces.shared.json_elements import objects
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import MAX_MICROSECONDS, Place
from simsched.traces.shared.protobuf import message_classes
from simsched.traces.shared.wire import varint

#: A node of thousands of tensors has some 100 kB.
MAX_MESSAGE_B = 64 * 1024 * 1024
_MAX_VARINT_B = 10
_VERSION, _ATTRIBUTE, _ID, _NAME = b"\x0a", b"\x12", b"\x08", b"\x12"


def _messages_in(path: Path, mend: Mend | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield byte position and content of every message of a file.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    mend : callable, optional
        If given, a message that is cut off ends the file, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a message is cut off or longer than any can be.
    """
    at = 0
    with open_plain(path, mend) as file:
        while (length := _length(file, path, at)) is not None:
            size_B, prefix_B = length
            if size_B > MAX_MESSAGE_B:
                raise FormatError(
                    f"{path}: byte {at}: a message of {size_B} bytes; {MAX_MESSAGE_B} at most are read; the file is "
                    "damaged, or no Chakra trace"
                )
            content = read_bounded(file, size_B)
            if len(content) < size_B:
                story = f"{path}: the message at byte {at} is cut off"
                if mend is None:
                    raise FormatError(
                        f"{story}; was the copy interrupted? tolerant=true keeps what is complete"
                    )
                mend(f"{story}; what is complete before that was read")
                return
            yield at, content
            at += prefix_B + size_B


def _length(file: BinaryIO, path: Path, at: int) -> tuple[int, int] | None:
    value = 0
    for number in range(_MAX_VARINT_B):
        if not (byte := file.read(1)):
            return (1, number) if number else None
        value |= (byte[0] & 0x7F) << (7 * number)
        if byte[0] < 0x80:
            return value, number + 1
    raise FormatError(f"{path}: byte {at}: no length of a message; the file is damaged, or no Chakra trace")


def looks_delimited(head: bytes) -> bool:
    r"""Return whether a file begins with Chakra's metadata and a node, each after its length.

    Examples
    --------
    >>> looks_delimited(b"\x07\x0a\x050.0.4" + b"\x05\x08\x01\x12\x01a")
    True
    """
    first = _split(head)
    second = first and _split(first[1])
    if not first or not second:
        return False
    metadata, node = first[0], second[0]
    attrs = not metadata or (metadata[:1] in (_VERSION, _ATTRIBUTE) and _within(metadata))
    numbered = node[:1] == _ID and node[1:].lstrip(bytes(range(0x80, 0x100)))[1:2] == _NAME
    return bool(attrs and (numbered or (node[:1] == _NAME and _within(node))))


def _within(message: bytes) -> bool:
    """Return whether the first field of a message, a text or a message, has its stated length."""
    return _split(message[1:], complete=True) is not None


def _split(data: bytes, complete: bool = False) -> tuple[bytes, bytes] | None:
    value, start = varint(data, 0)
    if not start or (complete and start + value > len(data)):
        return None
    return data[start : start + value], data[start + value :]


_SCALARS = {
    3: "double", 5: "float", 7: "int32", 9: "int64", 11: "uint32", 13: "uint64", 15: "sint32", 17: "sint64",
    19: "fixed32", 21: "fixed64", 23: "sfixed32", 25: "sfixed64", 27: "bool", 29: "string",
}  # fmt: skip
#: Name, number and type of each field; `*` marks repeated ones. `bytes` where text may be no UTF-8.
_MESSAGES = {
    "Attribute": "name 1 bytes, "
    + ", ".join(
        f"{kind} {number} {'bytes' if kind == 'string' else kind}" for number, kind in _SCALARS.items()
    ),
    "Metadata": "version 1 bytes, attr 2 Attribute*",
    "Sides": "values 1 bytes, shapes 2 bytes, types 3 bytes",
    "Node": (
        "id 1 uint64, name 2 bytes, type 3 uint64, ctrl_deps 4 uint64*, data_deps 5 uint64*, start_us 6 uint64, "
        "duration_us 7 uint64, inputs 8 Sides, outputs 9 Sides, attr 10 Attribute*"
    ),
}


messages = cache(partial(message_classes, "simsched_chakra", _MESSAGES, "reading Chakra traces"))


def attributes(message: Any) -> dict[str, Any]:
    """Return the scalar attributes of a node or of the metadata by name; lists are skipped."""
    found: dict[str, Any] = {}
    for attribute in message.attr:
        name = attribute.name.decode("utf-8", "replace")
        for entry, value in attribute.ListFields():
            if entry.number != 1:
                found[name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return found


METADATA_NODE, MEM_LOAD, MEM_STORE, COMP, COMM_SEND, COMM_RECV, COMM_COLL = range(1, 8)
_MAX_TEXT = 2**24
_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_COLLECTIVE = re.compile("nccl", re.IGNORECASE)


@dataclass(slots=True)
class Record:
    """A node.

    Parameters
    ----------
    place : Place
        Its place.
    id, type : int
        Its number, and what sort of node it is.
    name : str
        As recorded.
    parents, after : tuple of int
        `ctrl_deps`, which in traces linked from PyTorch are the calls around it, and `data_deps`.
    start_ns, own_ns, whole_ns : int or None
        Start, duration without and with the calls within it; None where unknown.
    device : bool
        Whether it ran on a device.
    stream : int
        The stream on it.
    attributes : dict
        Scalar attributes by name.
    inputs, outputs : dict
        `values`, `shapes` and `types`; empty where there are none.
    """

    place: Place
    id: int
    type: int
    name: str
    parents: tuple[int, ...]
    after: tuple[int, ...]
    start_ns: int | None
    own_ns: int | None
    whole_ns: int | None
    device: bool
    stream: int
    attributes: dict[str, Any]
    inputs: dict[str, Any] = field(default_factory=dict)
    outputs: dict[str, Any] = field(default_factory=dict)

    def raw(self) -> dict[str, Any]:
        """Return the node in the form of a PyTorch execution trace."""
        attrs = {"rf_id": 0, **self.attributes}
        return {
            "id": self.id,
            "name": re.sub(r"\(\d+\)\Z", "", self.name),
            "ctrl_deps": self.parents[0] if self.parents else 0,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "attrs": [{"name": key, "value": value} for key, value in attrs.items()],
        }

    def has_tensors(self) -> bool:
        """Return whether any argument or result is a tensor."""
        return any(
            "Tensor" in str(kind) for side in (self.inputs, self.outputs) for kind in side.get("types", ())
        )


@dataclass
class _Records:
    """Nodes as they come: as many as the budget allows, no two with one id, none shorter than nothing."""

    found: list[Record] = field(default_factory=list)
    _ids: set[int] = field(default_factory=set)

    def add(self, record: Record) -> None:
        """Take a node; raise `FormatError` where it cannot be."""
        budget().check(record.place.file, len(self.found) + 1, "tasks")
        if record.id in self._ids:
            raise record.place.error(f"id {record.id} occurs twice", "the file is damaged")
        if min(record.own_ns or 0, record.whole_ns or 0) < 0:
            raise record.place.error(
                "its duration is below zero", "the recorder's clock went backwards: record again"
            )
        self._ids.add(record.id)
        self.found.append(record)


def read_stream(path: Path, mend: Mend | None) -> tuple[dict[str, Any], list[Record]]:
    """Return metadata and nodes of a protobuf file.

    Raises
    ------
    FormatError
        If the file is damaged.
    MissingExtraError
        If protobuf is not installed.
    """
    classes = messages()
    metadata: dict[str, Any] = {}
    records = _Records()
    for number, (_, content) in enumerate(_messages_in(path, mend)):
        place = Place(path, "message", number)
        if number == 0 and content[:1] != b"\x08":
            held = _parsed(classes["Metadata"], content, place)
            metadata = {"version": held.version.decode("utf-8", "replace"), **attributes(held)}
            continue
        records.add(_of_message(_parsed(classes["Node"], content, place), place))
    return metadata, records.found


def _parsed(kind: Any, content: bytes, place: Place) -> Any:
    try:
        return kind.FromString(content)
    except MemoryError:
        raise
    except Exception as error:
        raise place.error(
            f"no message of Chakra's schema ({str(error)[:80]})", "the file is damaged"
        ) from None


def _of_message(node: Any, place: Place) -> Record:
    attrs = attributes(node)
    name = node.name.decode("utf-8", "replace")
    device = attrs.get("is_cpu_op", True) in (False, 0)
    if node.duration_us > MAX_MICROSECONDS or node.start_us > MAX_MICROSECONDS:
        raise place.error(
            f"a time of {max(node.start_us, node.duration_us)} us is beyond any clock", "the file is damaged"
        )
    stream_id = attrs.get("stream", attrs.get("tid", 0)) if device else 0
    return Record(
        place, node.id, node.type, name, tuple(node.ctrl_deps), tuple(node.data_deps),
        node.start_us * 1000 or None, node.duration_us * 1000, None, device,
        stream_id if type(stream_id) is int else 0, attrs,
        _sides(node, "inputs", place), _sides(node, "outputs", place),
    )  # fmt: skip


def _sides(node: Any, side: str, place: Place) -> dict[str, Any]:
    held = getattr(node, side) if node.HasField(side) else None
    if held is None or not (held.values or held.shapes or held.types):
        return {"values": [], "shapes": [], "types": []}
    return {key: _list(getattr(held, key), key, place) for key in ("values", "shapes", "types")}


def _list(text: bytes, key: str, place: Place) -> list[Any]:
    """Return a list in Python's notation; nothing but literals is evaluated."""
    if len(text) > _MAX_TEXT:
        raise place.error(f"{key} is {shown(text)}, of more than {_MAX_TEXT} bytes")
    try:
        return place.array(ast.literal_eval(text.decode().strip() or "[]"), key)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise place.error(f"{key} is {shown(text)}, expected a list as Python writes it") from None


def read_linked(path: Path, mend: Mend | None) -> tuple[dict[str, Any], list[Record]]:
    """Return metadata and nodes of a PyTorch execution trace linked with times, as JSON.

    Raises
    ------
    FormatError
        If the file is damaged.
    """
    return _listed(path, "nodes", ("schema",), mend, _of_object)


def _listed(
    path: Path,
    key: str,
    members: tuple[str, ...],
    mend: Mend | None,
    record_of: Callable[[dict[str, Any], Place], Record],
) -> tuple[dict[str, Any], list[Record]]:
    """Return other members of a JSON file, and the nodes of its array."""
    records = _Records()
    metadata, nodes = objects(path, key, members, mend)
    for value in nodes:
        place = Place(path, "node", len(records.found))
        records.add(record_of(place.record(value), place))
    return metadata, records.found


def _of_object(raw: dict[str, Any], place: Place) -> Record:
    attrs = attributes_of(raw.get("attrs", []), place)
    device = raw.get("cat") in _DEVICE if isinstance(raw.get("cat"), str) else False
    name = place.text(raw.get("name"), "name")
    kind = COMM_COLL if device and _COLLECTIVE.match(name) else COMP

    def told_ns(key: str) -> int | None:
        return None if raw.get(key) is None else place.nanoseconds(raw[key], key)

    return Record(
        place, place.integer(raw.get("id"), "id"), kind, name,
        (place.integer(raw.get("ctrl_deps", 0), "ctrl_deps"),), (),
        told_ns("ts"), told_ns("exclusive_dur"), told_ns("inclusive_dur"), device,
        place.integer(raw.get("stream", 0), "stream") if device else 0, attrs,
        _side(raw, "inputs", place), _side(raw, "outputs", place),
    )  # fmt: skip


_WORKLOAD = re.compile(rb'\s*\{\s*"workload_graph"\s*:')


def is_workload(head: bytes) -> bool:
    """Return whether a file begins as the JSON of ASTRA-sim's workloads, which has one list of nodes."""
    return _WORKLOAD.match(head) is not None


def read_workload(path: Path, mend: Mend | None) -> tuple[dict[str, Any], list[Record]]:
    """Return the nodes of a workload in ASTRA-sim's JSON: `Id`, `Name`, `NodeType`, `data_deps`, `runtime` in us.

    Raises
    ------
    FormatError
        If the file is damaged.
    """
    return _listed(path, "workload_graph", (), mend, _of_workload)


def _of_workload(raw: dict[str, Any], place: Place) -> Record:
    """Return a node as written; dependencies may be ids, and keys begin with capitals or not."""

    def told(key: str, default: object) -> Any:
        return raw.get(key, raw.get(key[:1].lower() + key[1:], default))

    def ids(key: str) -> tuple[int, ...]:
        return tuple(place.integer(one, key) for one in place.array(raw.get(key, []), key))

    kind = place.integer(told("NodeType", raw.get("type", COMP)), "NodeType")
    runtime = raw.get("runtime")
    attrs = {key: value for key, value in raw.items() if not isinstance(value, list | dict)}
    return Record(
        place, place.integer(told("Id", None), "Id"), kind, place.text(told("Name", ""), "Name"),
        ids("ctrl_deps"), ids("data_deps"), None,
        None if runtime is None else place.nanoseconds(runtime, "runtime"), None,
        raw.get("is_cpu_op", True) in (False, 0), 0, attrs,
    )  # fmt: skip


def _side(raw: dict[str, Any], key: str, place: Place) -> dict[str, Any]:
    held = place.record(raw.get(key, {}))
    place.array(held.get("types", []), f"{key}.types")
    return held
