"""From nested spans of lanes to tasks, chosen by lane, name and depth, and from flows to edges between them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.cleanup.matching import matcher
from simsched.graph.report import ImportReport
from simsched.traces.chrome.events import FLOW_PHASES, Events, FlowEnd, Span
from simsched.traces.shared.json_stream import shown

Edges = list[tuple[int, int]]


@dataclass
class Flows:
    """Edges and oddities of the flows of a trace.

    Parameters
    ----------
    edges : list of (int, int)
        Between tasks, where the first finished before the second started.
    backwards : int
        Arrows that are no edges: their second task started before the first had finished.
    unbound : int
        Arrows with an end in no task, or both in one.
    """

    edges: Edges
    backwards: int = 0
    unbound: int = 0


def nest(spans: Sequence[Span]) -> int:
    """Set depth and inner of all spans; return how many overlap another one of their lane without nesting."""
    overlaps, around, lane = 0, list[tuple[int, Span]](), -1
    ordered = sorted(spans, key=lambda s: (s.lane, s.start_ns, -s.finish_ns, s.order))

    def close(until: int) -> None:
        index, span = around.pop()
        span.inner = until - index - 1

    def ended(outer: Span, span: Span) -> bool:
        # A span of no length lies within one that has none either.
        both_empty = span.finish_ns == span.start_ns == outer.start_ns == outer.finish_ns
        return outer.finish_ns <= span.start_ns and not both_empty

    for i, span in enumerate(ordered):
        while around and (span.lane != lane or ended(around[-1][1], span)):
            close(i)
        lane = span.lane
        if around and around[-1][1].finish_ns < span.finish_ns:
            overlaps += 1
            while around and around[-1][1].finish_ns < span.finish_ns:
                close(i)
        span.depth = len(around)
        around.append((i, span))
    while around:
        close(len(ordered))
    return overlaps


def flow_edges(events: Events, tasks: Sequence[Span]) -> Flows:
    """Return the edges between a trace's tasks, from its flows.

    An arrow leaves and enters the task that contains it; without `bp: e` at its end, it enters the next task of the
    lane, as in the format.
    """
    by_lane: dict[int, list[int]] = {}
    for index, span in enumerate(tasks):
        by_lane.setdefault(span.lane, []).append(index)
    starts = {lane: [tasks[i].start_ns for i in on] for lane, on in by_lane.items()}

    def bound(point: FlowEnd) -> int | None:
        on = by_lane.get(point.lane, [])
        if not point.encloses:
            after = bisect_left(starts.get(point.lane, []), point.time_ns)
            return on[after] if after < len(on) else None
        before = bisect_right(starts.get(point.lane, []), point.time_ns) - 1
        inside = before >= 0 and tasks[on[before]].finish_ns >= point.time_ns
        return on[before] if inside else None

    found = Flows([])
    for points in events.flows.values():
        for one, other in pairwise(sorted(points, key=lambda p: (p.time_ns, FLOW_PHASES.index(p.phase)))):
            # An id is used again once its flow has ended: the next beginning belongs to another flow.
            if one.phase != "f" and other.phase != "s":
                _add(found, tasks, bound(one), bound(other))
    return found


def _add(found: Flows, tasks: Sequence[Span], before: int | None, after: int | None) -> None:
    if before is None or after is None or before == after:
        found.unbound += 1
    elif before > after or tasks[before].finish_ns > tasks[after].start_ns:
        found.backwards += 1
    else:
        found.edges.append((before, after))


LEVELS = ("outermost", "innermost")
_DEPTH = re.compile(r"(?P<least>[0-9]{1,6})(?:-(?P<most>[0-9]{1,6}))?", re.ASCII)
#: Most names, lanes and depths in messages, and most characters.
MOST_LISTED, MOST_CHARACTERS = 8, 300


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
    """

    level: str = "outermost"
    depths: range | None = None
    names: str = ""
    lanes: str = ""

    @classmethod
    def of(cls, path: Path, level: object, depth: object, names: object, lanes: object) -> Choice:
        """Return the selection of some options; raise `FormatError` where one is invalid."""
        if level not in LEVELS:
            raise FormatError(f"{path}: level is {shown(level)}; expected one of {', '.join(LEVELS)}")
        texts = [_patterns(path, *option) for option in (("names", names), ("lanes", lanes))]
        return cls(str(level), _depths(path, depth), *texts)

    def tasks(self, path: Path, events: Events, report: ImportReport) -> list[Span]:
        """Return the spans that become tasks, by start; the others are counted in the report.

        Raises
        ------
        FormatError
            If there are none; the message lists the choices.
        """
        spans = events.spans
        report.facts["overlaps"] = nest(spans)
        by_depth = Counter(span.depth for span in spans)
        report.facts.update(
            spans=len(spans),
            spans_by_depth=_listed((f"{depth}: {n}" for depth, n in sorted(by_depth.items())), MOST_LISTED),
        )
        if self.lanes:
            chosen = _on_lanes(events, matcher(self.lanes))
            spans = _kept(path, report, spans, "lanes", self.lanes, lambda span: chosen[span.lane][0],
                          lambda span: shown(chosen[span.lane][1]))  # fmt: skip
        if self.names:
            alike = {name: matcher(self.names)(name) for name in {span.name for span in spans}}
            spans = _kept(path, report, spans, "names", self.names, lambda span: alike[span.name],
                          lambda span: shown(span.name))  # fmt: skip
        if self.depths is not None:
            depths = self.depths
            spans = _kept(path, report, spans, "depth", _spelled(depths), lambda span: span.depth in depths,
                          lambda span: str(span.depth))  # fmt: skip
        if len(spans) < len(events.spans):
            nest(spans)
        return self._of_level(spans, report)

    def _of_level(self, spans: Sequence[Span], report: ImportReport) -> list[Span]:
        kept = [span for span in spans if (span.depth == 0 if self.level == "outermost" else span.inner == 0)]
        report.facts["left_out_level"] = len(spans) - len(kept)
        outside = report.facts["spans"] - len(kept)
        if outside and self == Choice(self.level):
            report.note(
                f"{outside} of {report.facts['spans']} spans are not tasks: they lie within others, or hold others. "
                f"Spans by depth: {report.facts['spans_by_depth']}; depth=, names= and lanes= choose others"
            )
        elif outside:
            report.note(f"{outside} of {report.facts['spans']} spans are not tasks: the options chose others")
        return sorted(kept, key=lambda span: (span.start_ns, span.finish_ns, span.order))


def _patterns(path: Path, option: str, value: object) -> str:
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


def _spelled(depths: range) -> str:
    return f"{depths[0]}-{depths[-1]}" if len(depths) > 1 else str(depths[0])


def _on_lanes(events: Events, matching: Callable[[str], bool]) -> list[tuple[bool, str]]:
    """Return, for each lane, whether its name, with or without that of its process, matches, and the name."""
    names = events.lane_names(range(len(events.lanes)))
    alone = [events.lane_names([lane])[0] for lane in range(len(events.lanes))]
    return [(matching(name) or matching(short), name) for name, short in zip(names, alone, strict=True)]


def _kept(
    path: Path,
    report: ImportReport,
    spans: Sequence[Span],
    option: str,
    value: str,
    chosen: Callable[[Span], bool],
    called: Callable[[Span], str],
) -> list[Span]:
    """Return the spans selected by an option, and count the others."""
    kept = [span for span in spans if chosen(span)]
    if not kept:
        there = Counter(map(called, spans)).most_common()
        raise FormatError(
            f"{path}: {option} is {shown(value)}, which chooses none of {len(spans)} spans; there are "
            f"{_listed((f'{name} ({n})' for name, n in there), MOST_LISTED)}"
        )
    report.facts[f"left_out_{option}"] = len(spans) - len(kept)
    return kept


def _listed(values: Iterable[str], most: int) -> str:
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
