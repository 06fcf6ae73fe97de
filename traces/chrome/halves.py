"""Beginnings and ends of spans (events B and E), paired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.traces.chrome.events import Span


@dataclass(frozen=True, slots=True)
class Half:
    """A span's beginning or its end, as a span of no length."""

    span: Span
    begins: bool


class _Open:
    """What has begun on one lane and not ended."""

    def __init__(self) -> None:
        self._all: list[Span] = []
        self._named: dict[str, list[Span]] = {}
        self._ended: set[int] = set()

    def begin(self, span: Span) -> None:
        self._all.append(span)
        self._named.setdefault(span.name, []).append(span)

    def end(self, name: str) -> Span | None:
        """Return the innermost span that an end of this name ends, as Perfetto has it; no name is that of any span."""
        of_name = self._named.get(name, []) if name else self._all
        span = self._innermost(of_name) or self._innermost(self._named.get("", []))
        if span is not None:
            self._ended.add(span.order)
        return span

    def _innermost(self, stack: list[Span]) -> Span | None:
        while stack and stack[-1].order in self._ended:
            stack.pop()
        return stack[-1] if stack else None


def paired(halves: Iterable[Half], counts: Counter[str]) -> list[Span]:
    """Return the spans of beginnings and their ends on each lane, in the order of their times.

    Parameters
    ----------
    halves : iterable of Half
        Of all lanes; threads that write their events late leave them out of order.
    counts : Counter of str
        Is told of beginnings without an end, ends without a beginning.
    """
    waiting: dict[int, _Open] = {}
    found: list[Span] = []
    begun = 0
    for half in sorted(halves, key=lambda half: half.span.start_ns):
        lane = waiting.setdefault(half.span.lane, _Open())
        if half.begins:
            lane.begin(half.span)
            begun += 1
        elif (span := lane.end(half.span.name)) is None:
            counts["ended, never begun"] += 1
        else:
            span.finish_ns = half.span.start_ns
            found.append(span)
    counts["unfinished"] += begun - len(found)
    return found
