"""Events of a Paje trace, by the definitions in its own header, and the states of containers that they make.

References
----------
"Paje trace file format", version 1.2.5: a header of `%EventDef NAME ID`, `% FIELD TYPE` and `%EndEventDef`, then an
event per line: its id, and its fields in their order, those with spaces in double quotes.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Line, pass_over
from simsched.traces.shared.timeline import LATEST_NS, whole_ns

#: Single quotes, missing in the specification, are ViTE's.
_WORD = re.compile(r"""["]((?:[^"\\]|\\.)*)["]|'([^']*)'(?!\S)|(\S+)""")
#: Names that older traces give to fields.
_SYNONYMS = {
    "EntityType": "Type", "ContainerType": "Type", "NewContainerType": "Type", "NewName": "Name",
    "NewType": "Alias", "NewContainer": "Alias", "NewValue": "Alias",
    "SourceContainer": "StartContainer", "DestContainer": "EndContainer",
}  # fmt: skip
#: A real header defines some twenty events of up to twenty fields.
MAX_DEFINITIONS, MAX_FIELDS = 10_000, 1000


@dataclass(frozen=True)
class _Definition:
    """Name of an event (`PajeSetState`), and its fields."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Event(Line):
    """One line of a trace, with checked access to its fields."""

    values: dict[str, str]
    name: str

    def text(self, key: str) -> str:
        """Return a required field."""
        if key not in self.values:
            raise FormatError(f"{self.file}: line {self.line}: a {self.name} without {key}")
        return self.values[key]

    def time_ns(self, unit_ns: int) -> int:
        """Return the time of the event, in nanoseconds."""
        if (time_ns := whole_ns(self.text("Time"), unit_ns, most_ns=LATEST_NS)) is None:
            raise self.wrong(
                "Time", "a decimal number, at most the year 2262; which unit= does the trace count in?"
            )
        return time_ns


def events(
    path: Path, numbered: Iterable[tuple[int, str]], wanted: set[str], mend: Mend | None
) -> Iterator[Event]:
    """Yield the events of some names.

    Parameters
    ----------
    path : Path
        The file, for messages.
    numbered : iterable of (int, str)
        Its lines with their numbers.
    wanted : set of str
        Names of definitions, as `PajeSetState`.
    mend : callable, optional
        If given, lines that are no event are passed over, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If the header or a line is malformed.
    """
    known: dict[str, _Definition] = {}
    header = _Header(path, known)
    for number, line in numbered:
        text = line.strip()
        if text.startswith("%"):
            header.add(number, text[1:].split())
        elif text and not text.startswith("#"):
            if (definition := known.get(text.split(maxsplit=1)[0])) is None:
                pass_over(path, f"line {number} is {shown(text)}; the header defines no such event", mend)
            elif definition.name in wanted:
                values = dict(zip(definition.fields, _words(line, definition), strict=False))
                yield Event(path, number, values, definition.name)
    if not known:
        raise FormatError(f"{path}: no event is defined; expected %EventDef at the beginning")


def _words(line: str, definition: _Definition) -> list[str]:
    # StarPU separates by tabs and does not quote names with spaces.
    by_tabs = line.strip().split("\t")[1:]
    if len(by_tabs) == len(definition.fields) and all(by_tabs):
        words = [word.strip().strip('"') for word in by_tabs]
    else:
        words = [found[found.lastindex or 0] for found in _WORD.finditer(line)][1:]
    # Containers, types and states recur in line after line.
    return [sys.intern(word) for word in words]


class _Header:
    """The definitions, in the order of reading."""

    def __init__(self, path: Path, known: dict[str, _Definition]) -> None:
        self._path, self._known = path, known
        self._open: tuple[str, str, list[str]] | None = None

    def add(self, number: int, words: list[str]) -> None:
        """Add a line that begins with a percent sign."""
        match words:
            case ["EventDef", name, key] if self._open is None and len(self._known) < MAX_DEFINITIONS:
                self._open = name, key, []
            case ["EndEventDef"] if self._open is not None:
                name, key, fields = self._open
                self._known[key] = _Definition(name, tuple(fields))
                self._open = None
            case [field, _] if self._open is not None and len(self._open[2]) < MAX_FIELDS:
                self._open[2].append(_SYNONYMS.get(field, field))
            case []:
                pass
            case _:
                shape = "%EventDef NAME ID, % FIELD TYPE or %EndEventDef"
                raise FormatError(
                    f"{self._path}: line {number} is {shown('%' + ' '.join(words))}; expected {shape}, in their order"
                )


STATES = {"PajeSetState", "PajePushState", "PajePopState", "PajeResetState"}
LINKS = {"PajeStartLink", "PajeEndLink"}
NAMES = {"PajeDefineStateType", "PajeDefineEntityValue", "PajeCreateContainer", "PajeDestroyContainer"}
WANTED = STATES | LINKS | NAMES
#: Deeper than any real program calls its functions.
MAX_STACK = 10_000
MAX_DEPTH = 100

#: A container and a type of its states.
Track = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Interval:
    """A time in which one state, begun by an event, was on top."""

    track: Track
    event: Event
    start_ns: int
    finish_ns: int


@dataclass(frozen=True, slots=True)
class _Link:
    """A link from one container and time to another."""

    source: str
    sent_ns: int
    target: str
    received_ns: int


@dataclass
class _Stack:
    states: list[Event] = field(default_factory=list)
    since_ns: int = 0
    #: Times of ends that came before what they end.
    early_ns: list[int] = field(default_factory=list)


class Trace:
    """States and links of a trace: `intervals` and `links`, and names.

    Parameters
    ----------
    unit_ns : int
        Nanoseconds of the unit in which the trace counts.
    tolerant : bool
        Whether a state may end, in the file, before it begins: where threads' buffers were written one after another.
    """

    def __init__(self, unit_ns: int, tolerant: bool = False) -> None:
        self._unit_ns, self._tolerant = unit_ns, tolerant
        self.rejoined = 0
        self.intervals: list[Interval] = []
        self.links: list[_Link] = []
        #: Names of values, by type and alias; of types and containers by alias.
        self.value_names: dict[tuple[str, str], str] = {}
        self.type_names: dict[str, str] = {}
        self.containers: dict[str, tuple[str, str]] = {}
        self.unmatched_pops = self.zero_length = self.backwards = self.half_links = 0
        self._stacks: dict[Track, _Stack] = {}
        self._tracks: dict[str, list[Track]] = defaultdict(list)
        self._started: dict[tuple[str, str], tuple[str, int]] = {}
        self._ended: dict[tuple[str, str], tuple[str, int]] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Add all events."""
        for event in events:
            if event.name in STATES:
                self._state(event)
            elif event.name in LINKS:
                self._link(event)
            else:
                self._define(event)
        self.half_links = len(self._started) + len(self._ended)

    @property
    def unfinished(self) -> int:
        """Number of states that the trace does not end."""
        return sum(len(stack.states) for stack in self._stacks.values())

    def _define(self, event: Event) -> None:
        alias = event.values.get("Alias") or event.values.get("Name", "")
        name = event.values.get("Name", alias)
        if event.name == "PajeDefineStateType":
            self.type_names[alias] = name
        elif event.name == "PajeDefineEntityValue":
            self.value_names[event.text("Type"), alias] = name
        elif event.name == "PajeCreateContainer":
            self.containers[alias] = event.values.get("Container", ""), name
        else:
            # Old SimGrid uses the name in events of containers.
            container = event.text("Name" if "Name" in event.values else "Container")
            for track in self._tracks.pop(container, ()):
                self._close(self._stacks.pop(track), track, event.time_ns(self._unit_ns))

    def _state(self, event: Event) -> None:
        track = event.text("Container"), event.text("Type")
        if track not in self._stacks:
            self._stacks[track] = _Stack()
            self._tracks[track[0]].append(track)
        stack = self._stacks[track]
        self._close(stack, track, event.time_ns(self._unit_ns))
        if event.name == "PajePopState":
            if not stack.states:
                self.unmatched_pops += 1
                if self._tolerant:
                    stack.early_ns.append(stack.since_ns)
            del stack.states[-1:]
            return
        if event.name == "PajePushState" and self._ended_early(stack, track, event):
            return
        if event.name != "PajePushState":
            stack.states.clear()
        if event.name != "PajeResetState":
            event.text("Value")
            stack.states.append(event)
        if len(stack.states) > MAX_STACK:
            raise FormatError(
                f"{event.file}: line {event.line}: more than {MAX_STACK} states on top of each other"
            )

    def _ended_early(self, stack: _Stack, track: Track, event: Event) -> bool:
        """Add the interval of a state whose end came before in the file, at a time that is not earlier."""
        now_ns = stack.since_ns
        later = [end_ns for end_ns in stack.early_ns if end_ns >= now_ns]
        if stack.states or not later:
            return False
        event.text("Value")
        end_ns = min(later)
        stack.early_ns.remove(end_ns)
        self.unmatched_pops -= 1
        self.rejoined += 1
        if end_ns == now_ns:
            self.zero_length += 1
        else:
            self.intervals.append(Interval(track, event, now_ns, end_ns))
        stack.since_ns = end_ns
        return True

    def _close(self, stack: _Stack, track: Track, now_ns: int) -> None:
        """End the interval of the top state."""
        if stack.states:
            if now_ns < stack.since_ns:
                self.backwards += 1
                return
            if now_ns == stack.since_ns:
                self.zero_length += 1
            else:
                self.intervals.append(Interval(track, stack.states[-1], stack.since_ns, now_ns))
        stack.since_ns = now_ns

    def _link(self, event: Event) -> None:
        key, now_ns = (event.text("Type"), event.text("Key")), event.time_ns(self._unit_ns)
        if event.name == "PajeStartLink":
            self._started[key] = event.text("StartContainer"), now_ns
        else:
            self._ended[key] = event.text("EndContainer"), now_ns
        # The end may come before the start: a clock, another thread's buffer.
        if key in self._started and key in self._ended:
            source, target = self._started.pop(key), self._ended.pop(key)
            self.links.append(_Link(*source, *target))

    def value_name(self, interval: Interval) -> str:
        """Return the name of an interval's state."""
        value = interval.event.values["Value"]
        return self.value_names.get((interval.track[1], value), value)

    def container_name(self, container: str, path: Path) -> str:
        """Return the name of a container, with those of the containers around it: `node0/T1`."""
        names: list[str] = []
        while container in self.containers:
            container, name = self.containers[container]
            names.append(name.strip())
            if len(names) > MAX_DEPTH:
                raise FormatError(f"{path}: containers nested more than {MAX_DEPTH} deep, or in each other")
        return "/".join(reversed(names)) or container
