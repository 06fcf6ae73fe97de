"""Construction of tasks and edges from events, in order of time.

A task is cut into pieces where it creates another, waits, or is interrupted: a created task can start after the piece
before, and an awaited one comes before the piece after. Where the implicit task of a thread waits (`taskwait`,
`taskgroup`, barriers) for more than one, an empty node joins them.

References
----------
OpenMP Application Programming Interface 5.2, section 15.9.5 (depend clause); its tool interface, section 19.4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import GraphError
from simsched.graph.budget import budget
from simsched.traces.ompt.events import Dependency, Event, Log

IN, OUT, INOUT, MUTEXINOUTSET, SOURCE, SINK, INOUTSET = range(1, 8)
#: `omp_all_memory`, with its number in OpenMP 5.2.
ALL_MEMORY = (34, 35)
#: Kinds whose consecutive tasks on the same address are unordered.
_SETS = (IN, MUTEXINOUTSET, INOUTSET)


@dataclass
class _Address:
    """Latest accesses of an address: tasks before the last set, and that set, all of one kind."""

    before: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    kind: int = OUT


class Siblings:
    """Finder of the dependencies of each new task of a parent.

    Examples
    --------
    >>> siblings = Siblings()
    >>> [siblings.add(i, [("a", kind)]) for i, kind in enumerate([OUT, IN, IN, INOUT])]
    [[], [0], [0], [1, 2]]
    """

    def __init__(self) -> None:
        self._addresses: dict[str, _Address] = {}
        self._all: list[int] = []

    def add(self, task: int, dependencies: Iterable[Dependency]) -> list[int]:
        """Return the tasks that a new one waits for; all have been added before."""
        kinds: dict[str, int] = {}
        for address, kind in dependencies:
            if kind in ALL_MEMORY:
                return self._after_all(task)
            if kind not in (SOURCE, SINK):
                # One address in several clauses of a task: together they are inout.
                kinds[address] = kind if kinds.get(address, kind) == kind else INOUT
        found: dict[int, None] = {}
        for address, kind in kinds.items():
            found.update(dict.fromkeys(self._waits(address, task, kind)))
        return list(found)

    def _waits(self, address: str, task: int, kind: int) -> list[int]:
        state = self._addresses.setdefault(address, _Address(last=self._all))
        if not (kind in _SETS and kind == state.kind):
            state.before, state.last, state.kind = state.last, [], kind
        state.last.append(task)
        return state.before

    def _after_all(self, task: int) -> list[int]:
        found = dict.fromkeys(self._all)
        for state in self._addresses.values():
            found.update(dict.fromkeys(state.last))
        self._addresses, self._all = {}, [task]
        return list(found)


#: `ompt_task_flag_t`
INITIAL_OR_IMPLICIT, TASKWAIT, UNDEFERRED = 0x3, 0x10, 0x08000000
#: `ompt_task_status_t`: fulfilling an event of a detached task stops no task.
COMPLETE, CANCEL, DETACH, EARLY_FULFIL, LATE_FULFIL, TASKWAIT_COMPLETE = 1, 3, 4, 5, 6, 8
#: `ompt_sync_region_t`
SYNC_TASKWAIT, SYNC_TASKGROUP, SYNC_REDUCTION = 5, 6, 7
MAX_GROUPS = 100
#: A node by its index, or, from -1 on downwards, the end of a task by its own.
Ref = int


@dataclass(frozen=True)
class Node:
    """A piece of a task, its `part` from 1, or an empty node that joins others (`task` is None)."""

    task: Task | None
    tid: int
    start_ns: int
    finish_ns: int
    part: int = 0
    what: str = ""


@dataclass
class Region:
    """A parallel region: its team's tasks since the last barrier, and the end node of each barrier."""

    number: int = 0
    threads: int = 0
    after: list[Ref] = field(default_factory=list)
    members: list[Ref] = field(default_factory=list)
    joined: list[list[Ref]] = field(default_factory=list)


@dataclass(eq=False)
class Task:
    """A task during the run.

    `explicit` is None for implicit tasks. `after`: awaited by the next piece, or, for an implicit task, by those it
    creates next.
    """

    index: int
    region: Region
    explicit: Event | None = None
    pieces: list[int] = field(default_factory=list)
    after: list[Ref] = field(default_factory=list)
    children: list[Ref] = field(default_factory=list)
    groups: list[list[Ref]] = field(default_factory=list)
    siblings: Siblings = field(default_factory=Siblings)
    running: tuple[int, int] | None = None
    waiting: bool = False
    barriers: int = 0
    parent: Task | None = None
    done: bool = False

    @property
    def end(self) -> Ref:
        """Its end, whichever piece that will be."""
        return ~self.index


class TaskRun:
    """The run of a log's tasks: `nodes`, and `edges` between references and nodes."""

    def __init__(self, path: Path, log: Log) -> None:
        self.nodes: list[Node] = []
        self.edges: list[tuple[Ref, int]] = []
        self.tasks: list[Task] = []
        self._path, self._log, self._references = path, log, 0
        self._by_id: dict[int, Task] = {}
        self._regions: dict[int, Region] = {}
        self._created = _created(log)
        self._deferring = any(not event.code & UNDEFERRED for event in self._created.values())
        for event in log.events:
            getattr(self, f"_{event.ev}")(event)
        for task in [task for task in self.tasks if task.running]:
            task.running = None

    @property
    def undeferred(self) -> int:
        """Number of undeferred tasks, whose order with their creator is not kept."""
        explicit = ((task, task.explicit) for task in self.tasks if task.explicit is not None)
        return sum(
            depends.code & UNDEFERRED > 0 and not self._defers(task.region) for task, depends in explicit
        )

    def _defers(self, region: Region) -> bool:
        """Return whether a region's team may defer tasks; if not, undeferred tasks carry no information."""
        # Where the size of the team is unknown, a program that defers nothing ran on one thread.
        return region.threads > 1 if region.threads else self._deferring

    @property
    def exclusive(self) -> int:
        """Tasks that exclude each other (`mutexinoutset`), which edges cannot express."""
        return sum(any(kind == MUTEXINOUTSET for _, kind in one) for one in self._log.dependencies.values())

    def _task(self, number: int, region: Region | None = None) -> Task:
        if number not in self._by_id:
            task = Task(len(self.tasks), region or Region(), self._created.get(number))
            self.tasks.append(task)
            self._by_id[number] = task
        return self._by_id[number]

    def _create(self, event: Event) -> None:
        if event.code & INITIAL_OR_IMPLICIT:
            return
        parent = self._task(event.other)
        self._cut(parent, event.ns)
        task = self._task(event.task, parent.region)
        task.parent, task.region = parent, parent.region
        before = parent.siblings.add(task.index, self._log.dependencies.get(event.task, ()))
        task.after += [*(parent.pieces[-1:] if parent.explicit else parent.after), *(~i for i in before)]
        self._count(len(before))
        if event.code & TASKWAIT:
            self._pause(parent, event.ns)
            return
        task.groups = list(parent.groups)
        for members in (parent.children, parent.region.members, *parent.groups):
            members.append(task.end)

    def _sched(self, event: Event) -> None:
        if event.code in (EARLY_FULFIL, LATE_FULFIL):
            return
        prior = self._task(event.task)
        if event.code == TASKWAIT_COMPLETE:
            if prior.parent is not None:
                self._resume(prior.parent, event, prior.after)
            return
        self._stop(prior, event.ns)
        prior.done |= event.code in (COMPLETE, CANCEL, DETACH)
        if event.code == COMPLETE:
            self._complete(prior, event)
        if event.other:
            self._start(self._task(event.other), event)

    def _complete(self, task: Task, event: Event) -> None:
        depends = task.explicit
        if depends is None or task.parent is None:
            return
        if depends.code & UNDEFERRED and self._defers(task.region):
            self._wait_for(task.parent, event, [task.end])

    def _parallel(self, event: Event) -> None:
        task = self._task(event.task)
        region = self._regions.setdefault(event.region, Region(event.region))
        if event.begin:
            self._pause(task, event.ns)
            region.after = task.pieces[-1:] if task.explicit else task.after
        else:
            last = region.joined[-1] if region.joined else []
            self._resume(task, event, [*last, *region.members])

    def _implicit(self, event: Event) -> None:
        if event.begin:
            region = self._regions.setdefault(event.region, Region(event.region))
            task = self._task(event.task, region)
            task.region, task.after, task.barriers = region, list(region.after), 0
            region.threads = event.threads

    def _wait(self, event: Event) -> None:
        if event.begin and event.code == SYNC_TASKGROUP:
            self._pause(self._task(event.task), event.ns)

    def _sync(self, event: Event) -> None:
        task = self._task(event.task)
        if event.code == SYNC_TASKWAIT:
            if event.begin:
                self._pause(task, event.ns)
            else:
                children, task.children = task.children, []
                self._resume(task, event, children)
        elif event.code == SYNC_TASKGROUP:
            if event.begin:
                if len(task.groups) == MAX_GROUPS:
                    raise GraphError(f"more than {MAX_GROUPS} taskgroups in each other")
                task.groups = [*task.groups, []]
            elif task.groups:
                *task.groups, members = task.groups
                self._resume(task, event, members)
        elif event.code != SYNC_REDUCTION and not event.begin and task.explicit is None:
            self._barrier(task, event)

    def _barrier(self, task: Task, event: Event) -> None:
        region = task.region
        if task.barriers == len(region.joined):
            members, region.members = region.members, []
            region.joined.append(self._joined([*region.after, *members], event, "barrier"))
            region.after = region.joined[-1]
        task.after = region.joined[task.barriers]
        task.barriers += 1
        task.children = []

    def _joined(self, before: Iterable[Ref], event: Event, what: str) -> list[Ref]:
        """Return one reference for all given ones, through an empty node where they are several."""
        distinct = list(dict.fromkeys(before))
        if len(distinct) < 2:
            return distinct
        self._count(len(distinct))
        return [self._node(Node(None, event.tid, event.ns, event.ns, what=what), distinct)]

    def _node(self, node: Node, before: Iterable[Ref]) -> int:
        self.nodes.append(node)
        self.edges += [(ref, len(self.nodes) - 1) for ref in dict.fromkeys(before)]
        return len(self.nodes) - 1

    def _start(self, task: Task, event: Event) -> None:
        if task.explicit is not None and task.running is None and not task.waiting:
            task.running = event.ns, event.tid

    def _stop(self, task: Task, ns: int) -> None:
        """End a task's piece, if it runs one."""
        if task.running is not None:
            start_ns, tid = task.running
            if ns > start_ns or task.after or not task.pieces:
                piece = self._node(
                    Node(task, tid, start_ns, ns, len(task.pieces) + 1), [*task.pieces[-1:], *task.after]
                )
                task.pieces.append(piece)
                task.after = []
            task.running = None

    def _cut(self, task: Task, ns: int) -> None:
        """End a task's piece, and start the next."""
        if task.running is not None:
            tid = task.running[1]
            self._stop(task, ns)
            task.running = ns, tid

    def _pause(self, task: Task, ns: int) -> None:
        self._stop(task, ns)
        task.waiting = task.explicit is not None

    def _wait_for(self, task: Task, event: Event, before: list[Ref]) -> None:
        """Make the rest of a task depend on others."""
        if task.explicit is None:
            task.after = self._joined([*task.after, *before], event, "wait")
        else:
            self._cut(task, event.ns)
            task.after += before
            self._count(len(before))

    def _resume(self, task: Task, event: Event, before: list[Ref]) -> None:
        """Resume a task after the tasks that it waited for."""
        self._wait_for(task, event, before)
        task.waiting = False
        self._start(task, event)

    def _count(self, references: int) -> None:
        self._references += references
        budget().check(self._path, self._references, "edges")


def _created(log: Log) -> dict[int, Event]:
    """Return the event that made each explicit task."""
    found: dict[int, Event] = {}
    for event in log.events:
        if event.ev == "create" and not event.code & INITIAL_OR_IMPLICIT:
            if event.task in found or event.task == event.other:
                raise GraphError(f"task {event.task} is created twice, or by itself; are these two runs?")
            found[event.task] = event
    return {task: event for task, event in found.items() if not event.code & TASKWAIT}
