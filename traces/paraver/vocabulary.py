"""The numbers of a Paraver trace: its header, its labels (.pcf, .row), and which of them are about tasks.

Nanos++ numbers its event types from 9200000 in the order in which it registers them, which changes between versions;
their labels are kept. Nanos6 has its own numbers and labels for the same things.

References
----------
Nanos++, src/core/instrumentation_decl.hpp and src/plugins/instrumentation/extrae.cpp;
Nanos6, src/instrument/extrae/InstrumentExtrae.hpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.columns import plain_text
from simsched.graph.loading import plain_name
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import beside, given
from simsched.traces.shared.places import lines

MAX_LABELS = 1_000_000
_TYPE = re.compile(r"\s*-?\d{1,10}\s+(\d{1,10})\s+(\S.*?)\s*", re.ASCII)
_VALUE = re.compile(r"\s*(\d{1,20})\s+(\S.*?)\s*", re.ASCII)
_NUMBERED = re.compile(r"-?\d", re.ASCII)
_LEVEL = re.compile(r"LEVEL\s+(\w+)\s+SIZE\s+(\d{1,9})\s*", re.ASCII)


@dataclass
class Labels:
    """Meaning of a trace's numbers.

    Parameters
    ----------
    types : dict of str to int
        Numbers of event types by label, in small letters and without a colon at the end.
    values : dict of int to dict
        Of every type with named values, the labels by value.
    """

    types: dict[str, int] = field(default_factory=dict)
    values: dict[int, dict[int, str]] = field(default_factory=dict)


def companion(path: Path, value: object, option: str) -> Path | None:
    """Return the companion of a trace: the given one, or that of the same stem; None if there is none.

    Raises
    ------
    FormatError
        If the one given is not there.
    """
    if value is not None:
        return given(path, option, value, f"the .{option} file")
    return beside(path, f"{plain_name(path, '.prv')}.{option}")


def read_labels(path: Path) -> Labels:
    """Return the labels of a .pcf file, plain or gzipped.

    Blocks begin with EVENT_TYPE, one line per type with colour, number and label; after VALUES follow the values of all
    types of the block. Text outside such blocks, such as colours, is skipped.
    """
    labels, block, place, count = Labels(), list[int](), "", 0
    for _, line in lines(path):
        word = line.strip()
        if word == "EVENT_TYPE":
            block, place = [], "types"
        elif word == "VALUES":
            place = "values" if block else ""
        elif word and not _NUMBERED.match(word):
            place, block = "", []
        elif place == "types" and (found := _TYPE.fullmatch(line)):
            block.append(int(found[1]))
            labels.types.setdefault(found[2].rstrip(": ").lower(), block[-1])
            count += 1
        elif place == "values" and (found := _VALUE.fullmatch(line)):
            for number in block:
                labels.values.setdefault(number, {})[int(found[1])] = found[2]
            count += len(block)
        if count > MAX_LABELS:
            raise FormatError(f"{path}: more than {MAX_LABELS} labels; refused")
    return labels


def read_rows(path: Path) -> list[str]:
    """Return the names of the threads in a .row file, plain or gzipped, in their order."""
    names: list[str] = []
    left = 0
    for _, line in lines(path):
        if level := _LEVEL.fullmatch(line):
            left = int(level[2]) if level[1] == "THREAD" else 0
        elif left:
            left -= 1
            names.append(line.strip())
    return names


class Event(IntEnum):
    """Kinds of events that are kept of a trace."""

    TASK = 0
    STATE = 1
    FUNCTION = 2
    LOCATION = 3
    DEPENDENCE = 4
    DIRECTION = 5
    CREATE_POINTER = 6
    CREATE_ID = 7
    TASKWAIT = 8
    #: Communications: a task is handed over to where it runs next, first when it is created; a dependency is released.
    HANDED = 9
    RELEASED = 10


#: Labels registered by the two runtimes, in lower case, and the number where there is no .pcf file.
NANOS = {
    Event.TASK: ("work descriptor id", 9200002),
    Event.STATE: ("thread state", 9000000),
    Event.FUNCTION: ("user function name", 9200011),
    Event.LOCATION: ("user function location", 9200021),
    Event.DEPENDENCE: ("dependence analysis", 9200036),
    Event.DIRECTION: ("dependence direction", 9200037),
    Event.CREATE_POINTER: ("create wd pointer", 9200014),
    Event.CREATE_ID: ("create wd id", 9200013),
    Event.TASKWAIT: ("call to the taskwait nanos runtime function", 9200040),
}
NANOS6 = {
    Event.TASK: "task instance",
    Event.FUNCTION: "running name",
    Event.LOCATION: "running location",
}
#: Only a trace of MPI, OpenMP, ... without tasks has none of these.
RUNNING, RUNNING_LABEL = 7, "running"
#: Tags of communications in Nanos++, and those of dependencies in Nanos6: of data, and of taskwaits.
HANDED_TAG, RELEASED_TAG = 0, 1
NANOS6_TAGS = (0xFFFFFF01, 0xFFFFFF03)


class Vocabulary:
    """The numbers of one trace.

    Parameters
    ----------
    labels : Labels or None
        Of its .pcf file.
    """

    def __init__(self, labels: Labels | None) -> None:
        self.labels = labels
        types = labels.types if labels is not None else {}
        self.nanos6 = NANOS6[Event.TASK] in types
        if self.nanos6:
            self.events = {types[label]: event for event, label in NANOS6.items() if label in types}
        elif labels is not None:
            self.events = {types[label]: event for event, (label, _) in NANOS.items() if label in types}
        else:
            self.events = {number: event for event, (_, number) in NANOS.items()}
        self.running = self._running()

    def _running(self) -> int:
        """Return the thread state in which the body of a task runs."""
        states = self.labels.values.get(self._number(Event.STATE), {}) if self.labels is not None else {}
        return next((value for value, label in states.items() if label.lower() == RUNNING_LABEL), RUNNING)

    def _number(self, event: Event) -> int:
        return next((number for number, kept in self.events.items() if kept is event), -1)

    def tag(self, tag: int) -> Event | None:
        """Return the meaning of a communication with this tag for tasks; None for no meaning."""
        if self.nanos6:
            return Event.RELEASED if tag % 2**32 in NANOS6_TAGS else None
        return {HANDED_TAG: Event.HANDED, RELEASED_TAG: Event.RELEASED}.get(tag)

    def value(self, event: Event, value: int) -> str:
        """Return the label of a value; "" where it has none, and for 0, which is an end."""
        if self.labels is None or not value:
            return ""
        return self.labels.values.get(self._number(event), {}).get(value, "")


#: Nanoseconds in a unit; without a name, times are microseconds.
UNITS_NS = {"ns": 1, "us": 1000, "ms": 10**6, "": 1000}
MAX_THREADS = 1_000_000
_HEADER = re.compile(
    r"#Paraver \([^()]{0,80}\):(\d{1,18})(?:_([a-z]{1,10}))?:\d{1,9}(?:\([^()]*\))?:\d{1,9}(.*)",
    re.ASCII,
)
_TASKS = re.compile(r"[:,](\d{1,9})\(([\d:,]*)\)", re.ASCII)

#: Application, task (process) and thread, from 1.
Thread = tuple[int, int, int]


@dataclass(frozen=True)
class Header:
    """A trace's own description: unit, length and threads.

    Parameters
    ----------
    unit_ns : int
        Nanoseconds in a unit of its times.
    duration_ns : int
        Length of the trace.
    threads : tuple of triple of int
        All threads in the order in which the .row file names them; empty where the header does not list them.
    """

    unit_ns: int
    duration_ns: int
    threads: tuple[Thread, ...]


def read_header(path: Path, line: bytes) -> Header:
    """Return the contents of the first line of a trace, or raise `FormatError`."""
    if (found := _HEADER.match(plain_text(line))) is None:
        raise FormatError(
            f"{path}: line 1: {shown(plain_text(line))} is not a header of Paraver; expected "
            "#Paraver (date):duration_ns:nodes(cpus):applications:..."
        )
    unit = found[2] or ""
    if unit not in UNITS_NS:
        raise FormatError(f"{path}: line 1: times are in {shown(unit)}; expected ns, us, ms or no unit")
    return Header(UNITS_NS[unit], int(found[1]) * UNITS_NS[unit], _threads(found[3]))


def _threads(applications: str) -> tuple[Thread, ...]:
    threads: list[Thread] = []
    for application, tasks in enumerate(_TASKS.finditer(applications), 1):
        for task, counts in enumerate(tasks[2].split(","), 1):
            number = counts.partition(":")[0]
            many = int(number) if number and len(number) < 8 else 0
            if len(threads) + many > MAX_THREADS:
                return ()
            threads += [(application, task, thread) for thread in range(1, many + 1)]
    return tuple(threads)
