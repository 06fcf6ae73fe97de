"""Reading run metadata and graphs, binary or text, into plain records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.errors import FormatError
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown
from simsched.traces.tensorflow.records import Definition, Execution, definition, execution
from simsched.traces.tensorflow.wire import Part, Source, parse_text, read_bytes

#: Executions and nodes of a file; the largest published steps have some 100,000.
MAX_RECORDS = 1_000_000
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


def looks_like_text(data: bytes) -> bool:
    """Return whether data is protobuf's text form; the binary one has control characters from the start."""
    return _FIELD.match(data) is not None and _CONTROL.search(data, 0, 1024) is None


def read_run(path: Path, mend: Mend | None = None) -> RunMetadata:
    """Read a file of run metadata, plain or gzipped.

    Raises
    ------
    FormatError
        If it is none, or something in it is impossible.
    """
    data = read_bytes(path, mend)
    source = (
        _of_text(path, data)
        if looks_like_text(data)
        else _of_binary(Part(Source(path, len(data), mend), memoryview(data)))
    )
    run = RunMetadata([], [], 0, {})
    for place, (what, where, message) in enumerate(source):
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
    data = read_bytes(path)
    found: list[Definition] = []
    if looks_like_text(data):
        nodes = iter(parse_text(path, data, "GraphDef").node)
    else:
        nodes = (
            part.parsed("NodeDef")
            for _, part in Part(Source(path, len(data)), memoryview(data)).parts(node=1)
        )
    for node in nodes:
        budget().check(path, len(found) + 1, "tasks")
        found.append(definition(path, graph, node, False))
    if not found:
        raise FormatError(f"{path}: no nodes; give a GraphDef, as tf.io.write_graph writes it")
    return found


def _of_text(path: Path, data: bytes) -> Iterator[tuple[str, Any, Any]]:
    message = parse_text(path, data, "RunMetadata")
    for device in message.step_stats.dev_stats:
        name = plain_text(device.device)
        yield from (("stats", name, stats) for stats in device.node_stats)
        yield from (("thread", name, thread) for thread in device.thread_names)
    graphs = [(graph, False) for graph in message.partition_graphs]
    graphs += [(g, True) for function in message.function_graphs for g in function.partition_graphs]
    for number, (graph, in_function) in enumerate(graphs):
        yield from (("node", (number, in_function), node) for node in graph.node)
        yield "versions", "", graph.versions


def _of_binary(whole: Part) -> Iterator[tuple[str, Any, Any]]:
    graphs = 0
    for what, part in whole.parts(step_stats=1, graph=3, functions=4):
        if what == "step_stats":
            for _, device in part.parts(device=1):
                yield from _of_device(device)
            continue
        inside = part.parts(graph=1) if what == "functions" else [(what, part)]
        for _, graph in inside:
            for field, inner in graph.parts(node=1, versions=4):
                if (message := inner.parsed("NodeDef" if field == "node" else "Versions")) is not None:
                    yield field, (graphs, what == "functions"), message
            graphs += 1


def _of_device(device: Part) -> Iterator[tuple[str, Any, Any]]:
    name = ""
    for what, part in device.parts(name=1, stats=2, thread=3):
        if what == "name":
            name = plain_text(bytes(part.data))
            if len(name) > 1000:
                raise part.wrong(f"a device called {shown(name)}; is this RunMetadata?")
            continue
        message = part.parsed("NodeExecStats" if what == "stats" else "ThreadName")
        if message is not None:
            yield what, name, message
