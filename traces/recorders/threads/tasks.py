"""Tasks of a recording of threads, cut into parts where they submit and wait, and what each part depends on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter_ns
from typing import Any
from weakref import WeakKeyDictionary

#: A process (0: the recording one), a thread, and its name.
Lane = tuple[int, int, str]
#: Most edges from the awaited tasks of a thread to a task that it submits; where there are more, an empty task
#: joins them, since n tasks after a barrier for m others would have n * m.
MOST_DIRECT = 8
MOST_KIND = 200


@dataclass(eq=False, slots=True)
class Part:
    """A stretch of a task in which it neither submits nor waits; a node of the graph.

    Parameters
    ----------
    task : Task
        The task of the part.
    number : int
        Which part of it, from 0.
    lane : Lane
        Where it ran.
    after : tuple of Part
        Its dependencies.
    start_ns, finish_ns : int
        On the clock of `time.perf_counter_ns`; -1 while it runs.
    """

    task: Task
    number: int
    lane: Lane
    after: tuple[Part, ...]
    start_ns: int
    finish_ns: int = -1


@dataclass(eq=False, slots=True)
class Task:
    """A call submitted to threads or processes, or a named stretch of code.

    Parameters
    ----------
    number : int
        Of the submission, from 0.
    kind : str
        Name of the function.
    submitted_ns : int
        On the clock of `time.perf_counter_ns`.
    after : tuple of Part
        Its dependencies.
    last : Part or None
        Its last part so far.
    failed : bool
        Whether it raised an exception.
    """

    number: int
    kind: str
    submitted_ns: int
    after: tuple[Part, ...]
    last: Part | None = None
    failed: bool = False

    @property
    def finished(self) -> bool:
        """Whether it has run."""
        return self.last is not None and self.last.finish_ns >= 0


class Recording:
    """Everything recorded of a run; its methods may be called by any thread.

    Parameters
    ----------
    by_arguments : bool
        Whether a task depends on those whose results are its arguments, rather than on all that its submitter had
        waited for.
    most_tasks : int
        Once there are so many tasks and parts, further calls run unrecorded.
    """

    def __init__(self, by_arguments: bool, most_tasks: int) -> None:
        self.by_arguments, self.most_tasks = by_arguments, most_tasks
        self.started_ns = perf_counter_ns()
        self.tasks: list[Task] = []
        self.parts: list[Part] = []
        self.unrecorded = 0
        self.closed = False
        #: Tasks that went to another process, until they come back.
        self.away: dict[int, Task] = {}
        #: Tasks submitted to each executor.
        self.pools: WeakKeyDictionary[Any, list[Task]] = WeakKeyDictionary()
        self._results: dict[int, tuple[object, Task]] = {}
        self._lock = threading.Lock()
        self._local = threading.local()

    @property
    def context(self) -> Context:
        """Context of the calling thread: a task, or none."""
        found: Context | None = getattr(self._local, "context", None)
        if found is None:
            found = self._local.context = Context(self)
        return found

    @property
    def full(self) -> bool:
        """Whether nothing more is recorded."""
        return self.closed or len(self.tasks) + len(self.parts) >= self.most_tasks

    def owns(self, task: Task) -> bool:
        """Return whether a task is of this recording, not of an earlier one."""
        return 0 <= task.number < len(self.tasks) and self.tasks[task.number] is task

    def add(self, kind: str, after: tuple[Part, ...], arguments: Iterable[object] = ()) -> Task | None:
        """Return a new task; None where there are too many, or the recording is over."""
        if self.by_arguments:
            after = self._of_arguments(after, arguments)
        with self._lock:
            if self.full:
                self.unrecorded += 1
                return None
            task = Task(len(self.tasks), kind, perf_counter_ns(), after)
            self.tasks.append(task)
        return task

    @contextmanager
    def running(self, task: Task) -> Iterator[None]:
        """Record that the calling thread runs a task while the block is executed."""
        before = self.context
        self._local.context = inside = Context(self, task)
        try:
            yield
        except BaseException:
            task.failed = True
            raise
        finally:
            inside.end()
            self._local.context = before

    @contextmanager
    def called_back(self, task: Task) -> Iterator[None]:
        """Record that the calling thread has left a task, but runs a callback of one."""
        before = self.context
        self._local.context = after = Context(self)
        after.learn([task])
        try:
            yield
        finally:
            self._local.context = before

    def ran_away(self, number: int, lane: Lane, start_ns: int, finish_ns: int, failed: bool) -> None:
        """Record when and where another process ran a task."""
        if (task := self.away.pop(number, None)) is not None and not self.closed:
            start_ns = max(start_ns, task.submitted_ns)
            task.last = Part(task, 0, lane, task.after, start_ns, max(start_ns, finish_ns))
            task.failed = failed
            self.parts.append(task.last)

    def has_result(self, task: Task, result: object) -> None:
        """Record, and keep, a task's result, to recognise it among arguments."""
        if self.by_arguments and result is not None:
            self._results[id(result)] = (result, task)

    def _of_arguments(self, after: tuple[Part, ...], arguments: Iterable[object]) -> tuple[Part, ...]:
        """Return also the tasks whose results are arguments, or in one of them."""
        found = dict.fromkeys(after)
        for argument in arguments:
            inner: Iterable[object] = argument if isinstance(argument, list | tuple | set) else ()
            if isinstance(argument, dict):
                inner = argument.values()
            for value in (argument, *inner):
                known = self._results.get(id(value))
                if known is not None and known[1].last is not None:
                    found[known[1].last] = None
        return tuple(found)


@dataclass(eq=False)
class Context:
    """Task that a thread runs, and what it has waited for.

    Parameters
    ----------
    recording : Recording
    task : Task, optional
        Its current task; none outside of tasks.
    """

    recording: Recording
    task: Task | None = None
    #: Dependencies of the next part; a dict, for its order.
    frontier: dict[Part, None] = field(default_factory=dict)
    known: set[Task] = field(default_factory=set)
    _open: Part | None = None

    def __post_init__(self) -> None:
        if self.task is not None:
            self.frontier = dict.fromkeys(self.task.after)
            self.reopen()

    def close(self) -> None:
        """End the current part of the task, unless no other one could follow."""
        if not self.recording.full:
            self.end()

    def end(self) -> None:
        """End the last part of the task."""
        if (part := self._open) is not None:
            part.finish_ns = perf_counter_ns()
            self.frontier, self._open = {part: None}, None

    def reopen(self) -> None:
        """Begin the next part of the task."""
        if self.task is not None and self._open is None:
            number = 0 if self.task.last is None else self.task.last.number + 1
            part = Part(self.task, number, _this_lane(), tuple(self.frontier), perf_counter_ns())
            self._open = self.task.last = part
            self.recording.parts.append(part)

    def release(self) -> tuple[Part, ...]:
        """Return the dependencies of a task that is submitted now; `reopen` ends it."""
        self.close()
        if len(self.frontier) > MOST_DIRECT:
            now_ns = perf_counter_ns()
            join = Task(-1, "wait", now_ns, tuple(self.frontier))
            join.last = Part(join, 0, _this_lane(), join.after, now_ns, now_ns)
            self.recording.parts.append(join.last)
            self.frontier = {join.last: None}
        return tuple(self.frontier)

    def learn(self, tasks: Iterable[Task]) -> None:
        """Record that these tasks have finished, and that the next part depends on them."""
        for task in tasks:
            if task.last is not None and task.finished and task not in self.known:
                self.known.add(task)
                for part in task.after:
                    self.frontier.pop(part, None)
                self.frontier[task.last] = None

    def waited(self, tasks: Iterable[Task]) -> None:
        """Record that the thread had to wait for these tasks; outside of tasks that is no dependency by arguments."""
        if self.task is not None or not self.recording.by_arguments:
            self.learn(tasks)

    @contextmanager
    def waiting(self, tasks: Callable[[], Iterable[Task]]) -> Iterator[None]:
        """Record that the block waits, not works, for `tasks()`, some of which may not have finished."""
        self.close()
        try:
            yield
        finally:
            self.waited(tasks())
            self.reopen()

    def submit(self, kind: str, arguments: Iterable[object] = ()) -> Task | None:
        """Return a new task that is submitted here and now; None where it is not recorded."""
        try:
            return self.recording.add(kind, self.release(), arguments)
        finally:
            self.reopen()


def _this_lane() -> Lane:
    """Return the lane of the calling thread."""
    thread = threading.current_thread()
    return 0, thread.ident or 0, thread.name


def kind_of(function: Any) -> str:
    """Return the name of a function, without its enclosing scopes.

    Examples
    --------
    >>> from functools import partial
    >>> kind_of(partial(sorted, [3, 1])), kind_of(str.lower)
    ('sorted', 'str.lower')
    """
    while isinstance(function, partial):
        # The executors' chunked `map` passes the user's function to their own.
        chunks = function.args and getattr(function.func, "__module__", None) == "concurrent.futures.process"
        function = function.args[0] if chunks else function.func
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return str(name).rpartition("<locals>.")[2][:MOST_KIND]
