"""Events of a file of OMPT callbacks: one JSON object per line, checked field by field."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simsched.graph.columns import plain_text
from simsched.graph.loading import Mend
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.places import Line, pass_over
from simsched.traces.shared.timeline import LATEST_NS

#: The format's version that this reader knows; files without one predate versions.
VERSION = 1
Dependency = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """An event on a thread.

    Parameters
    ----------
    ns, tid : int
        When, and on which thread.
    ev : str
        `create`, `sched`, `parallel`, `implicit`, `sync` or `wait`.
    begin : bool
        Whether something begins here; False where it ends, or has no length.
    task : int
        The task: created, implicit, waiting, encountering; of `sched` the one that stops.
    other : int
        The parent of a task that is created; of `sched` the one that continues.
    code : int
        Flags of a task that is created; of `sched` the state of the one that stops; of `sync` and `wait` the kind.
    region : int
        The parallel region.
    threads : int
        Of `implicit` how many the team has, of `parallel` the requested number; 0 where unknown.
    at : str
        The address of a created task's code.
    """

    ns: int
    tid: int
    ev: str
    begin: bool
    task: int
    other: int = 0
    code: int = 0
    region: int = 0
    threads: int = 0
    at: str = ""


@dataclass
class Log:
    """Events, dependencies and names of a file.

    Parameters
    ----------
    events : list of Event
        In order of time.
    dependencies : dict of int to list of (str, int)
        Of each task the addresses it names and how (`ompt_dependence_type_t`).
    places : dict of str to str
        Of an address of code its object file and place in it.
    tool : dict
        The recorder's own data.
    complete : bool
        Whether the recorder reached its end.
    lost_B : int
        Bytes that it could not write.
    """

    events: list[Event] = field(default_factory=list)
    dependencies: dict[int, list[Dependency]] = field(default_factory=lambda: defaultdict(list))
    places: dict[str, str] = field(default_factory=dict)
    tool: dict[str, Any] = field(default_factory=dict)
    complete: bool = False
    lost_B: int = 0


class _Line(Line):
    """One line's object."""

    def whole(self, key: str, most: int = 2**64, missing: int | None = None) -> int:
        """Return a whole number of 0 or more."""
        value = self.values.get(key, missing)
        if type(value) is not int or not 0 <= value <= most:
            raise self.wrong(key, f"a whole number of 0 to {most}")
        return value

    def text(self, key: str) -> str:
        """Return a string of some length."""
        value = self.values.get(key, "")
        if not isinstance(value, str) or len(value) > 1000:
            raise self.wrong(key, "a string of at most 1000 characters")
        return plain_text(value)

    def dependencies(self) -> list[Dependency]:
        """Return pairs of address and kind."""
        found = self.values.get("deps")
        if not isinstance(found, list) or not all(
            isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int
            for one in found
        ):
            raise self.wrong("deps", 'a list like [["0x10", 1]]')
        return [(plain_text(address), kind) for address, kind in found]

    def event(self) -> Event:
        """Return the event."""
        names = {
            "create": ("task", "parent", "flags"), "sched": ("prior", "next", "status"), "parallel": ("task", "", ""),
            "implicit": ("task", "", ""), "sync": ("task", "", "kind"), "wait": ("task", "", "kind"),
        }  # fmt: skip
        task, other, code = names[self.values["ev"]]
        scope = self.values.get("scope", "end")
        if scope not in ("begin", "end", "beginend"):
            raise self.wrong("scope", "begin or end")
        return Event(
            ns=self.whole("ns", LATEST_NS),
            tid=self.whole("tid", 2**31),
            ev=self.values["ev"],
            begin=scope == "begin",
            task=self.whole(task),
            other=self.whole(other) if other else 0,
            code=self.whole(code) if code else 0,
            region=self.whole("parallel", missing=0),
            threads=self.whole("threads", 2**32, missing=0),
            at=self.text("codeptr"),
        )


def read_log(path: Path, numbered: Iterable[tuple[int, str]], mend: Mend | None) -> Log:
    """Return the events in the lines of a file.

    Parameters
    ----------
    path : Path
        The file, for messages.
    numbered : iterable of (int, str)
        Its lines with their numbers.
    mend : callable, optional
        If given, lines that are no JSON are passed over, and `mend` is called with a sentence.

    Raises
    ------
    FormatError
        If a line is not an event, or a newer version wrote the file.
    """
    log = Log()
    for number, text in numbered:
        if text.strip() and (values := _parsed(path, number, text, mend)) is not None:
            _add(log, _Line(path, number, values))
    # Each thread writes for itself; sorting is stable, so that its events within a nanosecond stay in order.
    log.events.sort(key=lambda event: event.ns)
    return log


def _parsed(path: Path, number: int, text: str, mend: Mend | None) -> dict[str, Any] | None:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if isinstance(values, dict):
        return values
    pass_over(path, f"line {number} is {shown(text)}, no JSON object", mend, "; is the file cut off?")
    return None


def _add(log: Log, line: _Line) -> None:
    ev = line.values.get("ev")
    if ev in ("create", "sched", "parallel", "implicit", "sync", "wait"):
        log.events.append(line.event())
    elif ev == "depend":
        log.dependencies[line.whole("task")] += line.dependencies()
    elif ev == "code":
        log.places[line.text("codeptr")] = line.text("at")
    elif ev == "tool":
        log.tool = line.values
        if line.whole("version", missing=VERSION) > VERSION:
            raise line.wrong("version", f"at most {VERSION}; a newer simsched reads it")
    elif ev == "end":
        log.complete, log.lost_B = True, line.whole("lost_B", missing=0)
    elif not isinstance(ev, str):
        raise line.wrong("ev", "the name of an event")
