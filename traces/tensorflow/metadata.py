"""Reading run metadata and graphs, binary or text, into plain records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend, head_of
from simsched.traces.shared.wire import BYTES, Field, Wire, open_wire, parsed, spelled
from simsched.traces.tensorflow.messages import messages, parse_text
from simsched.traces.tensorflow.records import Definition, Execution, definition, execution

#: Numbers of fields: of run metadata, of its parts that hold devices or graphs, and of a graph.
STEP_STATS, GRAPH, FUNCTION = 1, 3, 4
INNER = 1
NODE, VERSIONS = 1, 4
#: Nodes have some 300 bytes; only constants are long.
MAX_NODE_B, MAX_FIELD_B = 1024 * 1024, 64 * 1024
#: The first field of a text, after white space and comments.
_FIELD = re.compile(rb"(?:\s|#[^\n]*\n)*[A-Za-z_]\w*\s*[:{<]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass
class RunMetadata:
    """Executions and graphs of one file of run metadata.

    Parameters
    ----------
    executions : list of Execution
        In the file's order.
    definitions : list of Definition
        The nodes of all partition graphs, and of those of functions.
    without_time : int
        Records left out since they have no time.
    threads : dict of (str, int) to str
        Names of a device's threads, where the file has some.
    producer : int
        Version of the graphs, as TensorFlow counts them; 0 where the file has none.
    """

    executions: list[Execution]
    definitions: list[Definition]
    without_time: int
    threads: dict[tuple[str, int], str]
    producer: int = 0


def _looks_like_text(data: bytes) -> bool:
    """Return whether data is protobuf's text form; the binary one has control characters from the start."""
    return _FIELD.match(data) is not None and _CONTROL.search(data, 0, 1024) is None


def read_run(path: Path, mend: Mend | None = None) -> RunMetadata:
    """Read a file of run metadata, plain or gzipped.

    Raises
    ------
    FormatError
        If it is none, or something in it is impossible.
    """
    run = RunMetadata([], [], 0, {})
    parts = _of_text if _looks_like_text(head_of(path)) else _of_binary
    for place, (what, where, message) in enumerate(parts(path, mend)):
        budget().check(path, place + 1, "tasks")
        if what == "stats":
            found = execution(path, len(run.executions) + run.without_time, where, message)
            if found is None:
                run.without_time += 1
            else:
                run.executions.append(found)
        elif what == "thread":
            run.threads[where, message.key] = plain_text(message.value)
        elif what == "versions":
            run.producer = max(run.producer, message.producer)
        else:
            graph, in_function = where
            run.definitions.append(definition(path, graph, message, in_function))
    return run


def read_graph(path: Path, graph: int) -> list[Definition]:
    """Read a file of a GraphDef, binary or text, plain or gzipped.

    Parameters
    ----------
    path : Path
        The file.
    graph : int
        The number that its nodes get as `Definition.graph`.

    Raises
    ------
    FormatError
        If it is none or holds no nodes.
    """
    found: list[Definition] = []
    for node in _nodes(path):
        budget().check(path, len(found) + 1, "tasks")
        found.append(definition(path, graph, node, False))
    if not found:
        raise FormatError(f"{path}: no nodes; give a GraphDef, as tf.io.write_graph writes it")
    return found


def _nodes(path: Path) -> Iterator[Any]:
    if _looks_like_text(head_of(path)):
        yield from parse_text(path, "GraphDef", None).node
        return
    with open_wire(path) as wire:
        for part in _parts(wire, None, None):
            yield from part.node


def _of_text(path: Path, mend: Mend | None) -> Iterator[tuple[str, Any, Any]]:
    message = parse_text(path, "RunMetadata", mend)
    for device in message.step_stats.dev_stats:
        yield from _of_device([device])
    graphs = [(graph, False) for graph in message.partition_graphs]
    graphs += [(g, True) for function in message.function_graphs for g in function.partition_graphs]
    for number, (graph, in_function) in enumerate(graphs):
        yield from _of_graph([graph], (number, in_function))


def _of_binary(path: Path, mend: Mend | None) -> Iterator[tuple[str, Any, Any]]:
    graphs = devices = 0
    with open_wire(path, mend) as wire:
        for number, part in enumerate(wire.fields()):
            budget().check(path, number, "tasks")
            if (part.number, part.kind) == (STEP_STATS, BYTES):
                for device in wire.messages(INNER, part.end):
                    devices += 1
                    budget().check(path, devices, "tasks")
                    pieces = wire.pieces(device.end)
                    kind = messages()["DeviceStepStats"]
                    yield from _of_device(parsed(wire, kind, piece, place, mend) for place, piece in pieces)
            elif part.kind == BYTES and part.number in (GRAPH, FUNCTION):
                in_function = part.number == FUNCTION
                for graph in wire.messages(INNER, part.end) if in_function else [part]:
                    yield from _of_graph(_parts(wire, graph.end, mend), (graphs, in_function))
                    graphs += 1
                    budget().check(path, graphs, "tasks")


def _of_device(parts: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    name = ""
    for part in parts:
        name = plain_text(part.device) or name
        yield from (("stats", name, stats) for stats in part.node_stats)
        yield from (("thread", name, thread) for thread in part.thread_names)


def _of_graph(parts: Iterable[Any], which: tuple[int, bool]) -> Iterator[tuple[str, Any, Any]]:
    for part in parts:
        yield from (("node", which, node) for node in part.node)
        if part.HasField("versions"):
            yield "versions", "", part.versions


def _parts(wire: Wire, end: int | None, mend: Mend | None) -> Iterator[Any]:
    """Yield nodes and versions of a graph, each as a graph of its own, without what is long in nodes: constants."""
    for one in wire.fields(end):
        if one.kind == BYTES and one.number in (NODE, VERSIONS):
            field = wire.field(one) if one.end - one.begin <= MAX_NODE_B else _shortened(wire, one)
            yield parsed(wire, messages()["GraphDef"], field, one.begin, mend)


def _shortened(wire: Wire, node: Field) -> bytes:
    fields = (
        one for one in wire.fields(node.end) if one.kind == BYTES and one.end - one.begin <= MAX_FIELD_B
    )
    kept = b"".join(map(wire.field, fields))
    if len(kept) > MAX_NODE_B:
        raise wire.wrong(node.begin, f"a node of more than {MAX_NODE_B} bytes without its constants")
    return spelled(NODE, kept)
