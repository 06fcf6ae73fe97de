"""The tasks of a Paraver trace: the records about them by thread and time, and what each task did when and where."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simsched.errors import FormatError
from simsched.graph.loading import Mend
from simsched.traces.paraver.vocabulary import Event, Header, Thread, Vocabulary, read_header
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import raw_lines

#: 36 years in nanoseconds, so that sums stay within 64 bits.
MAX_NS = 2**60
_RECORD = re.compile(rb"[1-4](?::-?[0-9]{1,20})+")
#: Communicators, domains and the like; comments of tools that cut traces.
_PASSED_OVER = (b"#", b"c:", b"d:", b"i:", b"C:", b"I:")
FIELDS = {b"1": 8, b"3": 15}
FEWEST_EVENT_FIELDS = 8


class Records(NamedTuple):
    """Events of a trace that are about tasks, one row per event, sorted by thread, time and place in the file.

    Parameters
    ----------
    header : Header
    threads : list of triple of int
        Meaning of `thread`.
    thread, time_ns, event, value : int64 arrays
        Where, when, what and its number; values of 2**63 and more are not kept.
    kinds : dict of str to int
        How many records of each kind, and how many events of other types than tasks', for messages.
    """

    header: Header
    threads: list[Thread]
    thread: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    event: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    kinds: dict[str, int]


class _Table:
    """Rows in the order of reading."""

    def __init__(self) -> None:
        self.columns = tuple(array("q") for _ in range(4))
        self.threads: dict[Thread, int] = {}
        self.kinds = {"states": 0, "events": 0, "communications": 0, "of_mpi": 0}

    def add(self, fields: list[int], time_ns: int, event: Event, value: int) -> None:
        """Add a row; `fields` are cpu, application, task and thread."""
        thread = self.threads.setdefault((fields[1], fields[2], fields[3]), len(self.threads))
        for column, number in zip(self.columns, (thread, time_ns, int(event), value), strict=True):
            column.append(number)


def read_records(path: Path, vocabulary: Vocabulary, mend: Mend | None = None) -> Records:
    """Return the records about tasks of a trace, plain or gzipped; times in nanoseconds.

    Parameters
    ----------
    path : Path
        The file.
    vocabulary : Vocabulary
        Which numbers are about tasks.
    mend : callable, optional
        If given, a last line that is cut off is left out, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a line is not a record, or a time is negative or too large.
    """
    table = _Table()
    ahead = raw_lines(path, mend)
    header = read_header(path, next(ahead, (1, b""))[1])
    for line, text in ahead:
        try:
            _add(table, path, line, text, header.unit_ns, vocabulary)
        except FormatError as error:
            if mend is None or text.endswith(b"\n"):
                raise
            mend(f"{error}; it is the last line and was left out")
    columns = [
        np.frombuffer(column, np.int64) if column else np.empty(0, np.int64) for column in table.columns
    ]
    order = np.lexsort((columns[1], columns[0]))
    thread, time_ns, event, value = (column[order] for column in columns)
    return Records(header, list(table.threads), thread, time_ns, event, value, table.kinds)


def _add(table: _Table, path: Path, line: int, text: bytes, unit_ns: int, vocabulary: Vocabulary) -> None:
    record = text.strip()
    if not record or record.startswith(_PASSED_OVER):
        return
    if not _RECORD.fullmatch(record):
        raise FormatError(
            f"{path}: line {line}: {shown(record)} is not a record of Paraver; expected numbers with colons between, "
            "the first of them 1 to 4"
        )
    words = record.split(b":")
    kind = words[0]
    wrong = (
        len(words) < FEWEST_EVENT_FIELDS or len(words) % 2 if kind == b"2" else len(words) != FIELDS.get(kind)
    )
    if wrong and kind != b"4":
        raise FormatError(
            f"{path}: line {line}: a record of kind {kind.decode()} with {len(words)} fields; is it cut off?"
        )
    if kind == b"1":
        table.kinds["states"] += 1
    elif kind == b"2":
        _events(table, path, line, words, unit_ns, vocabulary)
    elif kind == b"3":
        _communication(table, path, line, words, unit_ns, vocabulary)


def _events(
    table: _Table, path: Path, line: int, words: list[bytes], unit_ns: int, vocabulary: Vocabulary
) -> None:
    where: list[int] = []
    for word, text in zip(words[6::2], words[7::2], strict=True):
        number = int(word)
        event = vocabulary.events.get(number)
        table.kinds["events"] += 1
        table.kinds["of_mpi"] += 50_000_000 <= number < 60_000_000
        if event is None:
            continue
        where = where or [int(word) for word in words[1:6]]
        value = int(text)
        if not -(2**63) <= value < 2**63:
            raise FormatError(
                f"{path}: line {line}: event {number} has value {value}, which takes more than 64 bits"
            )
        table.add(where, _time(path, line, where[4], unit_ns), event, value)


def _communication(
    table: _Table, path: Path, line: int, words: list[bytes], unit_ns: int, vocabulary: Vocabulary
) -> None:
    table.kinds["communications"] += 1
    event = vocabulary.tag(int(words[14]))
    if event is None:
        return
    fields = [int(word) for word in words[1:]]
    # The runtime records itself; between processes these are messages of MPI with arbitrary tags.
    if fields[1:3] != fields[7:9]:
        return
    if not 0 <= fields[12] < 2**63:
        raise FormatError(f"{path}: line {line}: size {fields[12]}; expected a whole number of 0 or more")
    table.add(fields, _time(path, line, fields[4], unit_ns), event, fields[12])


def _time(path: Path, line: int, time: int, unit_ns: int) -> int:
    if not 0 <= time * unit_ns <= MAX_NS:
        raise FormatError(f"{path}: line {line}: time {time}; expected 0 to {MAX_NS // unit_ns}")
    return time * unit_ns


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
