"""Writers of graphs and schedules, chosen by the name of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simsched.errors import FormatError, SpecError
from simsched.plugins import named, registered

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

Subject = Literal["graph", "schedule"]
OWN = "taskgraph"


@dataclass(frozen=True)
class Writer:
    """A format to write, registered under the group `simsched.writers`; any object with its attributes will do.

    Parameters
    ----------
    title : str
        One line for `simsched list formats`.
    suffixes : tuple of str
        Endings of the names of files that it writes, in small letters.
    writes : {"graph", "schedule"}
        The written object.
    write : callable
        Writes a `TaskGraph` or a `Schedule` to a path, or raises a `SimschedError`; a file appears when it is complete.

    Examples
    --------
    >>> from simsched.graph.saving import Writer
    >>> def write(graph, path):
    ...     path.write_text(" ".join(map(str, graph.durations_s.tolist())))
    >>> Writer("rows of seconds", (".rows",), "graph", write).suffixes
    ('.rows',)
    """

    title: str
    suffixes: tuple[str, ...]
    writes: Subject
    write: Callable[[Any, Path], None]


def writers(subject: Subject) -> Iterator[tuple[str, Writer]]:
    """Yield the registered writers of graphs or of schedules by name, without those that fail to load."""
    for name in registered("writers"):
        try:
            writer: Writer = named("writers", name)
        except SpecError:
            continue
        if writer.writes == subject:
            yield name, writer


def writer_by_suffix(path: Path, subject: Subject) -> Writer | None:
    """Return the writer with the longest suffix that ends the name of a file; None if there is none."""
    fitting = [
        (len(suffix), name, writer)
        for name, writer in writers(subject)
        for suffix in writer.suffixes
        if path.name.lower().endswith(suffix)
    ]
    return max(fitting, key=lambda found: found[:2])[2] if fitting else None


def suffixes(subject: Subject) -> list[str]:
    """Return all suffixes of writers of graphs or schedules, sorted."""
    return sorted({suffix for _, writer in writers(subject) for suffix in writer.suffixes})


def save(graph: TaskGraph, path: str | Path, format: str | None = None) -> None:
    """Write a graph; see `TaskGraph.save`."""
    if not isinstance(path, str | Path):
        raise FormatError(f"path is {path!r:.80}; expected the path of a file, as text or a Path")
    file = Path(path)
    if format is not None:
        writer: Writer = named("writers", format)
        if writer.writes != "graph":
            raise FormatError(f"{file}: {format} is written from schedules, not from graphs")
    else:
        found = writer_by_suffix(file, "graph")
        if found is None and file.suffix:
            raise FormatError(
                f"{file}: what to write is chosen by suffix, one of {', '.join(suffixes('graph'))}, or by format="
            )
        writer = found or named("writers", OWN)
    writer.write(graph, file)
