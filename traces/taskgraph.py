"""simsched's own file of a task graph, as `TaskGraph.save` writes it; see `simsched.graph.storage`."""

from __future__ import annotations

from pathlib import Path

from simsched.graph.saving import Subject
from simsched.graph.storage import HEADER, read, save
from simsched.graph.taskgraph import TaskGraph

#: A zip member's name is at byte 30 of its local header.
_NAME_AT = 30


class TaskGraphFile:
    """Reader and writer of simsched's own files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["load", "sum"], name="two")
    >>> with TemporaryDirectory() as folder:
    ...     graph.save(f"{folder}/two.simsched")
    ...     back = ss.load(f"{folder}/two.simsched")
    >>> back.name, back.kinds.to_list(), back.durations_s.tolist(), back.n_edges
    ('two', ['load', 'sum'], [1.0, 2.0], 1)
    """

    title = "simsched's own file of a task graph (.simsched)"
    dependencies = times = "as saved"
    suffixes = (".simsched",)
    writes: Subject = "graph"
    options: dict[str, str] = {}  # noqa: RUF012 - the protocol's type; nothing changes it

    def recognises(self, head: bytes) -> bool:
        """Recognise the zip magic number and the name of the first member."""
        return head.startswith(b"PK\x03\x04") and head[_NAME_AT:].startswith(HEADER.encode())

    def read(self, path: Path) -> TaskGraph:
        """Return the graph of a file, plain or gzipped; raise `FormatError` if it holds none."""
        return read(path)

    def write(self, graph: TaskGraph, path: Path) -> None:
        """Write a graph with all of its data; raise `FormatError` if the file cannot be written."""
        save(graph, path)


TASKGRAPH = TaskGraphFile()
