"""References between the tasks of a workflow, by id or name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport
from simsched.graph.budget import budget
from simsched.text import counted
from simsched.traces.shared.json_stream import shown
from simsched.traces.wfformat.layouts import (
    Instance,
    Task,
)


@dataclass
class _Joined:
    """Tasks that write what one task reads, and that read what it writes."""

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


class References:
    """Tasks by reference: by id first, then by name.

    Nextflow's instances of version 1.4 give all tasks of a process its name and refer to that. Those are meant that a
    file joins, as in the same instances of version 1.5, which refer by id.

    Parameters
    ----------
    path : Path
        The file.
    found : Instance
        Its content.

    Raises
    ------
    FormatError
        If two tasks have one id.
    """

    def __init__(self, path: Path, found: Instance) -> None:
        self._path, self._tasks = path, found.tasks
        self._ids: dict[str, int] = {}
        self._names: dict[str, list[int]] = {}
        self._unknown = self._shared = self._unjoined = 0
        for task in found.tasks:
            if task.id in self._ids:
                raise FormatError(
                    f"{path}: tasks {self._ids[task.id]} and {task.place} both have id {shown(task.id)}"
                )
            self._ids[task.id] = task.place
            self._names.setdefault(task.name, []).append(task.place)

    def parents(self, task: Task) -> list[int]:
        """Return the tasks that a task names as its parents."""
        return [p for reference in task.parents for p in self._meant(reference, task, after=False)]

    def children(self, task: Task) -> list[int]:
        """Return the tasks that a task names as its children."""
        return [p for reference in task.children for p in self._meant(reference, task, after=True)]

    def _meant(self, reference: str, task: Task, *, after: bool) -> Sequence[int]:
        if reference in self._ids:
            return [self._ids[reference]]
        named = self._names.get(reference, [])
        self._unknown += not named
        if len(named) < 2:
            return named
        joined = self._joined.get(task.place, _Joined())
        meant = [p for p in (joined.after if after else joined.before) if self._tasks[p].name == reference]
        self._shared += 1
        self._unjoined += not meant
        return meant

    @cached_property
    def _joined(self) -> Mapping[int, _Joined]:
        joined: dict[int, _Joined] = {}
        for before, after in sorted(self.of_files):
            joined.setdefault(before, _Joined()).after.append(after)
            joined.setdefault(after, _Joined()).before.append(before)
        return joined

    @cached_property
    def of_files(self) -> set[tuple[int, int]]:
        """Edges from each task that writes a file to those that read it, or `FormatError` where they are too many."""
        makers: dict[str, int] = {}
        for task in self._tasks:
            for file in task.writes:
                makers.setdefault(file, task.place)
        edges = {
            (makers[f], t.place) for t in self._tasks for f in t.reads if f in makers and makers[f] != t.place
        }
        budget().check(self._path, len(edges), "edges")
        return edges

    def tell(self, report: ImportReport) -> None:
        """Report the references that could not be used unchanged."""
        report.note(
            f"{counted(self._unknown, 'parent or child is no task', 'parents or children are not tasks')}: no edge.",
            when=self._unknown,
        )
        report.note(
            f"{counted(self._shared, 'parent or child is a name', 'parents or children are names')} that several tasks "
            f"have: edges join those that share a file; {self._unjoined} of them found none, and have no edge.",
            when=self._shared,
        )
