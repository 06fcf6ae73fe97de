"""What containers did: their states, one on top of another, as intervals that do not overlap."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from simsched.errors import FormatError
from simsched.traces.paje.events import Event

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
class Link:
    """From one container at one time to another at another."""

    source: str
    sent_ns: int
    target: str
    received_ns: int


@dataclass
class _Stack:
    states: list[Event] = field(default_factory=list)
    since_ns: int = 0


class Trace:
    """All that states and links of a trace tell: `intervals` and `links`, and names.

    Parameters
    ----------
    unit_ns : int
        Nanoseconds of the unit in which the trace counts.
    """

    def __init__(self, unit_ns: int) -> None:
        self._unit_ns = unit_ns
        self.intervals: list[Interval] = []
        self.links: list[Link] = []
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
        """Take all events."""
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
        """States that the trace does not end."""
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
            # Old SimGrid calls it as events of containers do.
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
            self.unmatched_pops += not stack.states
            del stack.states[-1:]
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

    def _close(self, stack: _Stack, track: Track, now_ns: int) -> None:
        """End the interval of what is on top."""
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
        # The end may stand before the start: a clock, another thread's buffer.
        if key in self._started and key in self._ended:
            source, target = self._started.pop(key), self._ended.pop(key)
            self.links.append(Link(*source, *target))

    def value_name(self, interval: Interval) -> str:
        """Return the name of an interval's state."""
        value = interval.event.values["Value"]
        return self.value_names.get((interval.track[1], value), value)

    def container_name(self, container: str, path: Path) -> str:
        """Return the name of a container, with those of the containers around it where it has some: `node0/T1`."""
        names: list[str] = []
        while container in self.containers:
            container, name = self.containers[container]
            names.append(name.strip())
            if len(names) > MAX_DEPTH:
                raise FormatError(f"{path}: containers nested more than {MAX_DEPTH} deep, or in each other")
        return "/".join(reversed(names)) or container
