"""Writer of DOT files: every task with its columns as attributes, which the reader reads back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simsched.files import replacing
from simsched.graph.saving import Writer
from simsched.graph.taskgraph import TaskGraph
from simsched.text import printable
from simsched.traces.dot.reader import in_dot
from simsched.traces.shared.attributes import LANE_NAMES, edge_rows, lane_names, rows


def _write(graph: TaskGraph, path: Path) -> None:
    """Write a graph; ids are the tasks' indices, in order. Data objects that no edge carries are left out.

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
    yield f"digraph {quoted(_escaped(printable(graph.name)))} {{"
    if lanes := lane_names(graph):
        yield f"  {LANE_NAMES}={quoted(_escaped(lanes))};"
    for task, row in enumerate(rows(graph)):
        values = ", ".join(
            f"{in_dot(column)}={quoted(_escaped(str(value)))}" for column, value in row.items()
        )
        yield f"  {quoted(str(task))} [{values}];"
    for before, after, carried in edge_rows(graph):
        values = ", ".join(f"{key}={quoted(str(value))}" for key, value in carried.items())
        yield f"  {quoted(str(before))} -> {quoted(str(after))}{f' [{values}]' if values else ''};"
    yield "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\")


def quoted(text: str) -> str:
    """Return text as a quoted id of DOT."""
    return '"' + text.replace('"', '\\"') + '"'
