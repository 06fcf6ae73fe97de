"""Workflow instances of WfCommons: tasks, their dependencies, and their times where executed."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import FormatError
from simsched.graph import NOBODY, ImportReport, Recording, TaskGraph
from simsched.graph.budget import budget
from simsched.graph.columns import plain_text
from simsched.graph.interop import node_seconds
from simsched.graph.loading import Reader
from simsched.graph.recording import RECORDED_ON, UNKNOWN, RecordedOn
from simsched.graph.report import KINDS_ARE
from simsched.text import counted
from simsched.traces.shared.attributes import BY_KIND, LANE_NAMES
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.libraries import recorded_on, written_origin
from simsched.traces.shared.objects import Objects
from simsched.traces.shared.options import TOLERANT, mends_if
from simsched.traces.wfformat.layouts import (
    MAKESPAN,
    MAX_S,
    OWN_NUMBERS,
    OWN_TEXTS,
    SYSTEM,
    Instance,
    Task,
    processors,
    read_instance,
)

_VERSION = re.compile(rb'"schemaVersion"\s*:\s*"1\.[0-9]"')
_WORKFLOW = re.compile(
    rb'"workflow"\s*:\s*\{\s*"(?:specification|execution|tasks|jobs|machines|makespan|executedAt)'
)
#: Suffix of the names of the tasks of one program: `mProject_ID0000001`; `(?!)` is for Python 3.11.4, as in DOT.
_NUMBER = re.compile(r"(?:[ _.-]?(?:ID)?[0-9]++|(?!))++$")
#: Suffix of the names of Nextflow's tasks, as written by its converters: `PROCESS__tag__ID0000001`.
_ID = re.compile(r"__ID[0-9]++\Z")
#: Longer ones than these are part of the name.
MAX_TAG, MAX_NUMBER = 400, 40
MAX_CORES = 2**31 - 1
#: Processors that a note names.
MOST_PROCESSORS = 3


@dataclass
class _Joined:
    """Tasks that write what one task reads, and that read what it writes."""

    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


class _References:
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


def _recognises(head: bytes) -> bool:
    """Recognise a workflow with one of the format's parts, and the version if it comes first."""
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return False
    return _WORKFLOW.search(head) is not None or (_VERSION.search(head) is not None and b'"workflow"' in head)


def _read(path: Path, *, tolerant: bool | str = False) -> TaskGraph:
    """Return the graph of a workflow.

    Parameters
    ----------
    path : Path
        The file, plain or gzipped.
    tolerant : bool or str
        Keep the complete part of a cut-off file.

    Raises
    ------
    FormatError
        If the file is malformed or holds no task.
    GraphError
        If the dependencies form a cycle.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''{"name": "flow", "schemaVersion": "1.5", "workflow": {"specification": {"tasks": [
    ... {"name": "load", "id": "1", "parents": [], "children": ["2"]},
    ... {"name": "sum", "id": "2", "parents": ["1"], "children": []}]},
    ... "execution": {"makespanInSeconds": 3, "executedAt": "2026-01-01T00:00:00Z", "tasks": [
    ... {"id": "1", "runtimeInSeconds": 1}, {"id": "2", "runtimeInSeconds": 2}]}}}'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "flow.json").write_text(text)
    ...     graph = ss.load(Path(folder, "flow.json"))
    >>> graph.report.format, graph.kinds.to_list(), graph.durations_s.tolist(), graph.n_edges
    ('wfformat', ['load', 'sum'], [1.0, 2.0], 1)
    """
    report = ImportReport(path.name, "wfformat")
    found = read_instance(path, mends_if(path, tolerant, report))
    if found.kinds_are:
        report.facts[KINDS_ARE] = found.kinds_are
    if not found.tasks:
        where = "no tasks in workflow.specification.tasks, workflow.tasks or workflow.jobs"
        raise FormatError("; ".join([f"{path}: {where}", *report.notes]))
    edges = _edges(path, found, report)
    _tell(found, report)
    own = _additions(found)
    graph = TaskGraph.from_edges(
        node_seconds([task.own[BY_KIND] or task.runtime_s for task in found.tasks]),
        edges,
        kinds=[_kind(task) for task in found.tasks],
        names=[task.name for task in found.tasks],
        scopes=own["scope"],
        shapes=own["shapes"],
        flops=own["flops"],
        bytes_B=own["bytes_B"],
        recording=_recording(path, found, own),
        widths=[_width(path, task) for task in found.tasks],
        name=plain_text(found.first("name")) or path.name.split(".")[0],
        recorded_on=_recorded_on(path, found, report),
        report=report,
    )
    return _files(found).on(graph)


WFFORMAT = Reader(
    title="WfFormat of WfCommons, 1.0 to 1.6",
    dependencies="parents and children",
    times="runtimes of the execution, s (no starts)",
    options={"tolerant": TOLERANT},
    recognises=_recognises,
    read=_read,
)


def _edges(path: Path, found: Instance, report: ImportReport) -> list[tuple[int, int]]:
    """Return the edges that parents or children name; that both name the same is the rule, and else reported."""
    references = _References(path, found)
    by_parents = {(before, task.place) for task in found.tasks for before in references.parents(task)}
    by_children = {(task.place, after) for task in found.tasks for after in references.children(task)}
    references.tell(report)
    one_sided = by_parents ^ by_children
    if one_sided and by_parents and by_children:
        report.note(f"{counted(len(one_sided), 'edge')} named by only one of the two ends; all are kept.")
    edges = by_parents | by_children
    if not edges:
        if edges := references.of_files:
            report.note(
                "No task names parents or children: edges are from the task that writes a file to its readers."
            )
        elif len(found.tasks) > 1:
            report.doubt(
                "No task names parents or children, and no file joins two: no task waits for another."
            )
    return sorted(edges)


def _files(found: Instance) -> Objects:
    """Return the files that tasks read and write, those that no task writes as inputs."""
    makers: dict[str, int] = {}
    for task in found.tasks:
        for file in task.writes:
            makers.setdefault(file, task.place)
    used = makers.keys() | {file for task in found.tasks for file in task.reads}
    files = Objects()
    # In the order of the file, so that what is written comes back in the same order.
    known = (file for file in found.sizes_B if file in used)
    others = (file for task in found.tasks for file in (*task.reads, *task.writes))
    number = {
        file: files.add(found.sizes_B.get(file, math.nan), makers.get(file, NOBODY))
        for file in dict.fromkeys((*known, *others))
    }
    for task in found.tasks:
        for file in task.reads:
            files.read(number[file], task.place)
    return files


def _additions(found: Instance) -> dict[str, list[Any]]:
    """Return the columns that simsched's writer has added, each known or not."""
    own = {column: [task.own[column] for task in found.tasks] for column in (*OWN_TEXTS, *OWN_NUMBERS)}
    # Files that other systems wrote count what was moved from and to discs, which says nothing of memory.
    for place, task in enumerate(found.tasks if found.own else ()):
        if math.isnan(own["bytes_B"][place]):
            own["bytes_B"][place] = task.moved_B
    return own


def _recording(path: Path, found: Instance, own: Mapping[str, list[Any]]) -> Recording | None:
    """Return the recording that simsched's writer has added; None where it has not, or not of all tasks."""
    times = np.array([own[column] for column in ("start_s", "finish_s", "lane")])
    if np.isnan(times).any():
        return None
    names, lanes = found.first(LANE_NAMES), times[2]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(f"{path}: {LANE_NAMES} is {shown(names)}; expected a list of strings")
    if (lanes != lanes.round()).any() or lanes.max() >= len(names):
        raise FormatError(
            f"{path}: a task has lane {lanes.max():g}; expected an index of the {len(names)} {LANE_NAMES}"
        )
    return Recording(times[0], times[1], lanes.astype(np.int32), tuple(map(plain_text, names)))


def _kind(task: Task) -> str:
    """Return a task's category, or its name without the tag and the number."""
    name = task.name[:-MAX_TAG] + _untagged(task.name[-MAX_TAG:])
    name = name[:-MAX_NUMBER] + _NUMBER.sub("", name[-MAX_NUMBER:])
    return task.category or name or task.name


def _untagged(name: str) -> str:
    """Return the process in a name of Nextflow's; any other name unchanged.

    Examples
    --------
    >>> _untagged("FLOW:SORT__HG00096__ID0000001"), _untagged("FLOW:SORT (HG00096)"), _untagged("sort_ID0000001")
    ('FLOW:SORT', 'FLOW:SORT', 'sort_ID0000001')
    """
    if name.endswith(")"):
        process, bracket, tag = name[:-1].rpartition(" (")
        return process if bracket and "(" not in tag and ")" not in tag else name
    scopes, colon, last = name.rpartition(":")
    process, _, tag = last.partition("__")
    return f"{scopes}{colon}{process}" if _ID.search(tag) else name


def _width(path: Path, task: Task) -> int:
    if math.isnan(task.cores):
        return 1
    if task.cores > MAX_CORES:
        raise FormatError(
            f"{path}: task {task.place} took {task.cores:g} cores; expected at most {MAX_CORES}"
        )
    return max(math.ceil(task.cores), 1)


def _tell(found: Instance, report: ImportReport) -> None:
    facts = report.facts
    if found.first("schemaVersion") is not None:
        facts["schema_version"] = shown(plain_text(found.first("schemaVersion")))[1:-1]
    system = found.first(*SYSTEM)
    if isinstance(system, str):
        facts["runtime_system"] = plain_text(system)
    if not found.own:
        _tell_makespan(found.first(*MAKESPAN), report)
    runtimes = np.array([task.runtime_s for task in found.tasks])
    facts["machines"] = len(found.machines) or len(_used(found))
    shares = np.array([task.cpu_share for task in found.tasks])
    if not np.isnan(shares).all():
        facts["mean_cpu_share"] = float(np.nanmean(shares))
    facts["zero_length_tasks"] = int((runtimes == 0).sum())
    unknown = int(np.isnan(runtimes).sum())
    report.note(
        f"{counted(unknown, 'task')} without a runtime: unknown duration.",
        when=unknown,
    )
    report.note(
        f"{counted(found.repeated, 'execution')} of a task that was executed before; the last one counts.",
        when=found.repeated,
    )
    report.note(
        f"{counted(found.unknown, 'execution')} of no task of the specification left out.",
        when=found.unknown,
    )


def _used(found: Instance) -> set[str]:
    return {name for task in found.tasks for name in task.machines}


def _recorded_on(path: Path, found: Instance, report: ImportReport) -> RecordedOn | None:
    """Return the processor that ran the tasks, or that nobody knows it; none where seconds are given numbers."""
    if found.own and (written := written_origin(path, found.first(RECORDED_ON))) is not None:
        return written
    different = processors(found.machines, _used(found))
    if len(different) > 1:
        named = "; ".join(shown(one or "not told")[1:-1] for one in different[:MOST_PROCESSORS])
        more = ", ..." if len(different) > MOST_PROCESSORS else ""
        report.note(f"Tasks ran on {len(different)} different processors: {named}{more}.")
        return UNKNOWN
    return (recorded_on(*different) if different else None) or (UNKNOWN if found.recorded else None)


def _tell_makespan(makespan: Any, report: ImportReport) -> None:
    if makespan is None:
        return
    if type(makespan) not in (int, Decimal) or not 0 <= makespan <= MAX_S:
        report.note(f"The makespan {shown(makespan)} is not a time in seconds and not kept.")
        return
    report.facts["makespan_s"] = float(makespan)
    report.note(
        "The recorded makespan includes the waiting of the workflow system (queues, transfers, failures), and "
        "starts of tasks are not read: it is no measure for a replay."
    )
