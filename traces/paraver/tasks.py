"""The tasks of a Paraver trace: the function, the times and the places of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from simsched.traces.paraver.records import Records
from simsched.traces.paraver.vocabulary import Event, Thread, Vocabulary


class Key(NamedTuple):
    """A task: application and process, which number their tasks separately, and its number there."""

    application: int
    process: int
    number: int


class Interval(NamedTuple):
    """A period of a thread in a task: in nanoseconds, with the time in which its body ran."""

    start_ns: int
    finish_ns: int
    thread: int


@dataclass
class Task:
    """When and where one task ran, and as which function.

    Parameters
    ----------
    visits : list of Interval
        When threads were in it, with the runtime's own work before and after its body.
    bodies : list of Interval
        When its body ran.
    function, location : int
        Values of the events that name the running function; 0 for none.
    """

    visits: list[Interval] = field(default_factory=list)
    bodies: list[Interval] = field(default_factory=list)
    function: int = 0
    location: int = 0


@dataclass
class TaskTrace:
    """The tasks of a trace: where each ran, what created it, and the dependencies between them.

    Parameters
    ----------
    tasks : dict of Key to Task
        All that threads were in, those of the runtime's own included.
    created : dict of Key to (int, Key or None, bool)
        When a task was first handed over, by which task, and whether that was after an event of a creation.
    by_events, by_communications : dict of (Key, Key) to None
        Dependencies, first to second.
    meetings : dict of (Key, Key) to int
        The same through a point where concurrent or commutative tasks meet: 1 into such a point, 2 out of it.
    taskwaits : list of (int, Key)
        When, and which task waited for those that it had created.
    first : set of Key
        The first task of each thread: not a real task, but the thread itself.
    unfinished : set of Key
        Those whose bodies still run where the trace ends.
    """

    tasks: dict[Key, Task] = field(default_factory=dict)
    created: dict[Key, tuple[int, Key | None, bool]] = field(default_factory=dict)
    by_events: dict[tuple[Key, Key], None] = field(default_factory=dict)
    by_communications: dict[tuple[Key, Key], None] = field(default_factory=dict)
    meetings: dict[tuple[Key, Key], int] = field(default_factory=dict)
    taskwaits: list[tuple[int, Key]] = field(default_factory=list)
    first: set[Key] = field(default_factory=set)
    unfinished: set[Key] = field(default_factory=set)


#: Directions of dependencies from a task to a meeting point of concurrent, commutative or other tasks, and from there.
INTO, OUT_OF = (4, 6, 8), (5, 7, 9)
LOW = 2**32 - 1


def follow(records: Records, vocabulary: Vocabulary) -> TaskTrace:
    """Return the tasks in the events of all threads, each followed from its first to its last."""
    trace = TaskTrace()
    rows = zip(
        records.thread.tolist(),
        records.time_ns.tolist(),
        records.event.tolist(),
        records.value.tolist(),
        strict=True,
    )
    walks = [_Walk(trace, thread, place, vocabulary) for thread, place in enumerate(records.threads)]
    for on, time_ns, event, value in rows:
        walks[on].step(time_ns, Event(event), value)
    for walk in walks:
        walk.end()
    return trace


class _Walk:
    """A thread, followed through its events: its current task, and whether the task's body runs."""

    def __init__(self, trace: TaskTrace, thread: int, place: Thread, vocabulary: Vocabulary) -> None:
        self._trace, self._thread, self._vocabulary = trace, thread, vocabulary
        self._process = place[:2]
        self._task: Key | None = None
        self._entered_ns = self._body_ns = -1
        # States are pushed, and popped by zeros; leaving a task pops them, returning pushes them again.
        self._states: list[int] = []
        self._running = 0
        self._creating = False
        self._pair: tuple[Key, Key] | None = None

    def step(self, time_ns: int, event: Event, value: int) -> None:
        """Process the next event."""
        if event is Event.TASK:
            self._leave(time_ns)
            if value:
                if self._entered_ns < 0:
                    self._trace.first.add(self._key(value))
                self._task, self._entered_ns, self._body_ns = self._key(value), time_ns, -1
        elif event is Event.STATE:
            self._state(time_ns, value)
        elif event in (Event.FUNCTION, Event.LOCATION):
            self._call(event, value)
        elif event is Event.DEPENDENCE:
            self._pair = (self._key(value >> 32 & LOW), self._key(value & LOW))
            self._trace.by_events[self._pair] = None
        elif event is Event.DIRECTION:
            self._direction(value)
        elif event in (Event.CREATE_POINTER, Event.CREATE_ID):
            self._creating = True
        elif event is Event.TASKWAIT:
            if value and self._task is not None:
                self._trace.taskwaits.append((time_ns, self._task))
        elif event is Event.HANDED:
            self._hand(time_ns, self._key(value))
        else:
            self._release(value)

    def end(self) -> None:
        """Report a task whose body still runs."""
        if self._task is not None and self._body_ns >= 0:
            self._trace.unfinished.add(self._task)

    def _key(self, number: int) -> Key:
        return Key(*self._process, number)

    def _leave(self, time_ns: int) -> None:
        if self._task is not None:
            self._stop(time_ns)
            task = self._trace.tasks.setdefault(self._task, Task())
            task.visits.append(Interval(self._entered_ns, time_ns, self._thread))
        self._task = None
        self._states.clear()
        self._running = 0

    def _stop(self, time_ns: int) -> None:
        if self._task is not None and self._body_ns >= 0:
            task = self._trace.tasks.setdefault(self._task, Task())
            task.bodies.append(Interval(self._body_ns, time_ns, self._thread))
        self._body_ns = -1

    def _state(self, time_ns: int, state: int) -> None:
        running = self._vocabulary.running
        if state:
            self._states.append(state)
            self._running += state == running
            if state == running and self._running == 1:
                self._body_ns = time_ns
        elif self._states and self._states.pop() == running:
            self._running -= 1
            if not self._running:
                self._stop(time_ns)

    def _call(self, event: Event, value: int) -> None:
        if self._task is None or value <= 0:
            return
        task = self._trace.tasks.setdefault(self._task, Task())
        if event is Event.FUNCTION:
            task.function = task.function or value
        else:
            task.location = task.location or value

    def _direction(self, value: int) -> None:
        if self._pair is not None and value in (*INTO, *OUT_OF):
            self._trace.by_events.pop(self._pair, None)
            self._trace.meetings[self._pair] = 1 if value in INTO else 2
        self._pair = None

    def _hand(self, time_ns: int, task: Key) -> None:
        known = self._trace.created.get(task)
        if known is None or time_ns < known[0]:
            self._trace.created[task] = (time_ns, self._task, self._creating)
        self._creating = False

    def _release(self, size: int) -> None:
        if self._vocabulary.nanos6:
            self._trace.by_communications[self._key(size >> 32 & LOW), self._key(size & LOW)] = None
        elif self._task is not None:
            self._trace.by_communications[self._task, self._key(size)] = None


def tasks_of(trace: TaskTrace, vocabulary: Vocabulary) -> Iterator[Key]:
    """Yield the real tasks, by process and number, without threads or idle loops of the runtime.

    These are the ones whose creation an event reports, or that a dependency names; where no event tells of
    creations, all except the first of each thread.
    """
    named = {end for pair in (*trace.by_events, *trace.by_communications) for end in pair}
    named |= {pair[why - 1] for pair, why in trace.meetings.items()}
    announced = {key for key, (_, _, creating) in trace.created.items() if creating}
    for key in sorted(trace.tasks.keys() | announced | named):
        if (
            vocabulary.nanos6
            or key in announced
            or key in named
            or (not announced and key not in trace.first)
        ):
            yield key
