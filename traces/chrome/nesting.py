"""From nested spans of lanes to tasks, and from flows to edges between them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from simsched.traces.chrome.events import FLOW_PHASES, Events, FlowEnd, Span

Edges = list[tuple[int, int]]


@dataclass
class Flows:
    """What the flows of a trace say of its tasks.

    Parameters
    ----------
    edges : list of (int, int)
        Between tasks, where the first finished before the second started.
    backwards : int
        Arrows that are no edges: their second task started before the first had finished.
    unbound : int
        Arrows with an end that lies in no task, or both in one.
    """

    edges: Edges
    backwards: int = 0
    unbound: int = 0


def nest(spans: Sequence[Span]) -> int:
    """Set depth and inner of all spans; return how many overlap another one of their lane without lying within it."""
    overlaps, around, lane = 0, list[tuple[int, Span]](), -1
    ordered = sorted(spans, key=lambda s: (s.lane, s.start_ns, -s.finish_ns, s.order))

    def close(until: int) -> None:
        index, span = around.pop()
        span.inner = until - index - 1

    for i, span in enumerate(ordered):
        while around and (span.lane != lane or _ended(around[-1][1], span)):
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


def _ended(outer: Span, span: Span) -> bool:
    return outer.finish_ns <= span.start_ns and not _empty_within(span, outer)


def _empty_within(span: Span, outer: Span) -> bool:
    """Tell whether a span of no length lies at the start of another one that has none either."""
    return span.finish_ns == span.start_ns == outer.start_ns == outer.finish_ns


def flow_edges(events: Events, tasks: Sequence[Span]) -> Flows:
    """Return the edges that the flows of a trace draw between its tasks.

    An arrow leaves and enters the task in which it lies; where its end says no `bp: e`, it enters the next task of the
    lane, as the format has it.
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
            # An id is used again once its flow has ended: the next beginning is another flow's.
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
