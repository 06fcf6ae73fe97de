"""Which spans of lanes become tasks: the options of readers whose files know spans and no tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph import ImportReport
from simsched.text import counted
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.options import TOLERANT, word

LEVELS = ("outermost", "innermost")
EDGES = ("lanes+flows", "lanes", "flows")
OPTIONS = {
    "depth": "how many spans of its lane are around a task: 2, or 1-3; any when not given",
    "names": "patterns of the names of tasks, as load*+work*; any when not given",
    "lanes": "patterns of the names of lanes, as Pool*; all when not given",
    "level": "outermost (when not given) or innermost: which are tasks of chosen spans within each other",
    "edges": "lanes+flows (when not given), lanes, or flows: where edges come from",
    "process": "number or name of the process to take; all when not given",
    "tolerant": TOLERANT,
}
_DEPTH = re.compile(r"(?P<least>[0-9]{1,6})(?:-(?P<most>[0-9]{1,6}))?", re.ASCII)
#: Most names, lanes and depths in messages, and most characters.
MOST_LISTED, MOST_CHARACTERS = 8, 300
#: Line of a device on which XLA's profiler puts the operations of TPUs and, again, those of a GPU's streams.
XLA_OPS = "XLA Ops"
#: Lines on which it says again what a device's operations and streams do, in all versions of its xplane_schema.cc.
SUMMARIES = (
    "Steps", "XLA Modules", "XLA TraceMe", "Framework Ops", "TensorFlow Ops", "Framework Name Scope",
    "TensorFlow Name Scope", "Source code", "Source Code", "Launch Stats", "Sparse Core Steps", "Sparse Core Modules",
)  # fmt: skip
#: What is left out of a trace although it is or may be work, by its name in counts: one of it, several.
LOST = {
    "unfinished": ("span without an end", "spans without an end"),
    "ended, never begun": ("end without a beginning", "ends without a beginning"),
    "without duration": ("span without a duration", "spans without a duration"),
    "negative duration": ("span of a negative duration", "spans of a negative duration"),
    "without time": ("event without a time", "events without a time"),
    "events without a time on the trace's clock": (
        "event without a time on the trace's clock",
        "events without a time on the trace's clock",
    ),
    "events whose names were lost": ("event whose name was lost", "events whose names were lost"),
    "asynchronous": ("asynchronous event", "asynchronous events"),
}


@dataclass(frozen=True)
class Choice:
    """The spans that the options of the reader select.

    Parameters
    ----------
    level : str
        The outermost or the innermost of nested chosen spans.
    depths : range or None
        How many spans of its lane may be around a span; any where None.
    names, lanes : str
        Patterns as those of clean-up steps (`simsched.graph.cleanup.matching`); any where empty.
    edges : str
        Where edges come from.
    """

    level: str = "outermost"
    depths: range | None = None
    names: str = ""
    lanes: str = ""
    edges: str = EDGES[0]

    @classmethod
    def of(
        cls, path: Path, level: object, depth: object, names: object, lanes: object, edges: object
    ) -> Choice:
        """Return the selection of some options; raise `FormatError` where one is invalid."""
        return cls(
            level=word(path, "level", level, LEVELS),
            depths=_depths(path, depth),
            names=patterns(path, "names", names),
            lanes=patterns(path, "lanes", lanes),
            edges=word(path, "edges", edges, EDGES),
        )


def patterns(path: Path, option: str, value: object) -> str:
    """Return the patterns in an option; "" where it is not given."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip("+ "):
        raise FormatError(
            f"{path}: {option} is {shown(value)}; expected patterns joined by +, as in load*+work*"
        )
    return value


def _depths(path: Path, value: object) -> range | None:
    if value is None:
        return None
    text = str(value) if type(value) is int else value
    found = _DEPTH.fullmatch(text) if isinstance(text, str) else None
    depths = range(int(found["least"]), int(found["most"] or found["least"]) + 1) if found else range(0)
    if not depths:
        raise FormatError(
            f"{path}: depth is {shown(value)}; expected how many spans are around a task, as in 0 (outermost), 2 or 1-3"
        )
    return depths


def spelled(depths: range) -> str:
    """Return depths as the option is written."""
    return f"{depths[0]}-{depths[-1]}" if len(depths) > 1 else str(depths[0])


def said_again(lanes: Iterable[tuple[str, str]]) -> list[bool]:
    """Return which lanes, processes and threads, say again what others of their process do: summaries of operations.

    Examples
    --------
    >>> said_again([("TPU", "Steps"), ("TPU", "XLA Ops"), ("GPU", "XLA Ops"), ("GPU", "Stream #7"), ("app", "Steps")])
    [True, False, True, False, False]
    """
    every = list(lanes)
    streams = {process for process, thread in every if thread.startswith("Stream #")}
    of_ops = streams | {process for process, thread in every if thread == XLA_OPS}
    return [
        (process in of_ops and thread in SUMMARIES) or (process in streams and thread == XLA_OPS)
        for process, thread in every
    ]


def listed(values: Iterable[str], most: int) -> str:
    """Return the first of some values in a line, and the number of the others."""
    every = list(values)
    first, characters = list[str](), 0
    for value in every[:most]:
        characters += len(value) + 2
        if first and characters > MOST_CHARACTERS:
            break
        first.append(value)
    more = len(every) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")


def dropped(counts: Mapping[str, int]) -> dict[str, int]:
    """Return what was left out, for the facts of a report."""
    return {f"dropped, {what}": count for what, count in sorted(counts.items()) if count}


def nothing_in(path: Path, what: str, counts: Mapping[str, int], report: ImportReport) -> FormatError:
    """Return the error of a file without spans, with what else it holds."""
    there = [f"{fact}: {count}" for fact, count in dropped(counts).items()]
    return FormatError(
        f"{path}: no {what} in the trace; "
        + ("; ".join([*there, *report.notes]) or "nothing ran, or was recorded")
    )


def tell_chains(
    report: ImportReport, trace: str, lane: str, span: str, flows: str | None, counts: Mapping[str, int]
) -> None:
    """Report what was left out of a trace, spans that overlap, and that the edges of its lanes are no dependencies.

    Parameters
    ----------
    report : ImportReport
    trace, lane, span : str
        What they are called.
    flows : str, optional
        What edges come from beside the order of lanes, in words; None where edges are not of lanes.
    counts : mapping of str to int
    """
    report.facts.update(dropped(counts))
    lost = ", ".join(counted(counts[what], *words) for what, words in LOST.items() if counts.get(what))
    report.doubt(f"left out, with the work in them: {lost}", when=lost)
    report.doubt(
        f"a {trace} trace records no dependencies: edges are the recorded order of each {lane}, a chain{flows}; "
        f"no policy can run the tasks of a {lane} in parallel",
        when=flows is not None,
    )
    overlaps = report.facts["overlaps"]
    report.note(
        f"{counted(overlaps, span)} of a {lane} beside another one, neither within the other", when=overlaps
    )
