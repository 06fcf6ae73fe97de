"""DOT files, read and written: nodes with their attributes; every edge is a dependency."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simsched.files import replacing
from simsched.graph import TaskGraph, data_columns
from simsched.graph.loading import Reader
from simsched.graph.saving import Writer
from simsched.text import printable
from simsched.traces.dot import tdg
from simsched.traces.dot.statements import Attributes, read_dot, unescaped
from simsched.traces.shared.attributes import (
    COLUMNS,
    OF_GRAPH,
    OPTIONS,
    Durations,
    Nodes,
    edge_rows,
    of_graph,
    rows,
)


def _write(graph: TaskGraph, path: Path) -> None:
    """Write a graph; ids are the tasks' indices, in order. A warning tells of data objects that are left out.

    Raises
    ------
    SimschedError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.dot")
    ...     back = ss.load(f"{folder}/two.dot")
    >>> back.report.format, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('dot', ['load', 'sum'], [1.0, 2.0], 1)
    """
    with replacing(path) as file:
        file.writelines(f"{line}\n".encode() for line in _lines(graph))


DOT_WRITER = Writer(
    title="DOT, the text form of Graphviz",
    suffixes=(".dot", ".gv"),
    writes="graph",
    write=_write,
)


def _lines(graph: TaskGraph) -> Iterator[str]:
    yield f"digraph {_quoted(_escaped(printable(graph.name)))} {{"
    for key, text in of_graph(graph).items():
        yield f"  {key}={_quoted(_escaped(text))};"
    for task, row in enumerate(rows(graph)):
        values = ", ".join(
            f"{_in_dot(column)}={_quoted(_escaped(str(value)))}" for column, value in row.items()
        )
        yield f"  {_quoted(str(task))} [{values}];"
    for before, after, carried in edge_rows(graph):
        values = ", ".join(f"{key}={_quoted(str(value))}" for key, value in carried.items())
        yield f"  {_quoted(str(before))} -> {_quoted(str(after))}{f' [{values}]' if values else ''};"
    yield "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def _quoted(text: str) -> str:
    """Return text as a quoted id of DOT."""
    return '"' + text.replace('"', '\\"') + '"'


_BLANK = rb"(?:\s|//[^\n]*+\n|/\*(?>[\s\S]*?\*/)|\#[^\n]*+\n)*+"
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?" + _BLANK + rb"(?:strict\b" + _BLANK + rb")?(?:di)?graph\b" + _BLANK
    + rb"(?:\"(?:[^\"\\]|\\.)*+\"|[\w.\x80-\xff-]++)?" + _BLANK + rb"\{",
    re.IGNORECASE | re.DOTALL,
)  # fmt: skip


def _read(path: Path, *, duration: str = "duration_s", unit: str = "s") -> TaskGraph:
    """Return the graph of a file, plain or gzipped.

    Raises
    ------
    FormatError
        If the file is not DOT, is undirected, or an attribute is invalid.
    GraphError
        If its edges form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''digraph { a [duration_s=1, kind=load]; b [duration_s=2, kind=sum]; a -> b }'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "two.dot").write_text(text)
    ...     graph = ss.load(Path(folder, "two.dot"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('dot', ['load', 'sum'], [1.0, 2.0], 1)
    """
    durations = Durations.of(path, duration, unit)
    wanted = {*map(_in_dot, COLUMNS), duration}
    dot = read_dot(path, nodes=wanted, edges=set(data_columns.COLUMNS), graph={*OF_GRAPH})
    rows = {node: _columns(node, attributes, duration) for node, attributes in dot.nodes.items()}
    edges = np.column_stack((dot.before, dot.after))
    of = {key: unescaped(dot.attributes[key]) for key in OF_GRAPH if key in dot.attributes}
    return Nodes(path, "dot", rows, edges, unescaped(dot.name), of, sorted(dot.unread), dot.of_edges).graph(
        durations
    )


DOT = Reader(
    title="DOT, the text form of Graphviz (.dot, .gv)",
    dependencies="in the file",
    times="attribute duration_s, or the one that duration= names",
    options=OPTIONS,
    recognises=lambda head: _BEGINNING.match(head) is not None and not tdg.TDG.recognises(head),
    read=_read,
)


def _in_dot(column: str) -> str:
    """Return the name of a column in DOT."""
    return "label" if column == "name" else column


def _columns(node: str, attributes: Attributes, duration: str) -> dict[str, str]:
    row = {c: unescaped(attributes[_in_dot(c)], node) for c in COLUMNS if _in_dot(c) in attributes}
    if duration in attributes:
        row[duration] = attributes[duration]
    return row
