"""Caveats of schedules: notes on them and on their graphs, for readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simsched.schedule.schedule import Schedule


def notes_of(schedules: Iterable[Schedule]) -> Iterator[str]:
    """Yield the notes of some schedules and of their graphs."""
    for schedule in schedules:
        yield from (*schedule.graph.report.notes, *schedule.notes)
