"""Memory that a replay would need, against the memory that the machine has (docs/semantics.md, Memory)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from simsched.errors import EngineError
from simsched.notes import Note, Weight
from simsched.schedule import MemoryUse, Schedule
from simsched.schedule.memory_lives import Places
from simsched.text import counted
from simsched.units import format_bytes, format_time

MemoryLimit = Literal["ignore", "note", "spill", "wait", "error"]
#: Those that change the replay; all others look at what it needed.
DURING = ("spill", "wait")


def checked_against_memory(schedule: Schedule, limit: MemoryLimit) -> Schedule:
    """Return a replayed schedule with notes on memory that is too small.

    Parameters
    ----------
    schedule : Schedule
        On a machine.
    limit : {"ignore", "note", "spill", "wait", "error"}
        What to do where it is.

    Raises
    ------
    EngineError
        If a place would hold more than its size, and `limit` is "error".
    """
    if limit == "ignore":
        return schedule
    use = _overfull(schedule)
    if use is not None and limit == "error":
        raise EngineError(f"{_sentence(use)}; {_largest(use)}")
    notes = [*_wide_tasks(schedule)]
    if use is not None:
        advice = (
            ""
            if limit in DURING
            else "; simulate(..., memory_limit='wait' or 'spill') or --memory-limit replays what becomes of it"
        )
        notes.append(f"memory: {_sentence(use)}{advice}")
    if not notes:
        return schedule
    return replace(schedule, notes=(*schedule.notes, *(Note(note, Weight.DOUBT) for note in notes)))


def _overfull(schedule: Schedule) -> MemoryUse | None:
    """Return the memory that a schedule needs where a place would hold more than its size."""
    data = schedule.graph.data
    # No place ever holds an object twice: the sum is a bound that costs nothing.
    if data is None or np.nansum(data.size_B) <= Places.of(schedule).size_B.min():
        return None
    use = schedule.memory()
    return use if (use.peak["share"] > 1).any() else None


def _sentence(use: MemoryUse) -> str:
    place = _fullest(use)
    size_B, others = float(use.places.size_B[place]), int((use.peak["share"] > 1).sum()) - 1
    more = f" (and so would {counted(others, 'other place')})" if others else ""
    times_s, bytes_B = use.curve(place)
    return (
        f"{use.places.names[place]} would hold {format_bytes(float(bytes_B.max()))} at "
        f"{format_time(float(times_s[bytes_B.argmax()]))}, it has {format_bytes(size_B)}{more}"
    )


def _fullest(use: MemoryUse) -> int:
    return int(use.peak["share"].to_numpy(np.float64).argmax())


def _largest(use: MemoryUse) -> str:
    one, task, bytes_B = use.objects(_fullest(use)).to_numpy(np.float64)[0]
    written = f"by task {use.graph.task_name(int(task))!r}" if task >= 0 else "before the graph starts"
    return f"the largest object there is {int(one)}, {format_bytes(float(bytes_B))}, written {written}"


def _wide_tasks(schedule: Schedule) -> Iterator[str]:
    """Yield a sentence on tasks that move more bytes than the whole memory holds."""
    graph, memory = schedule.graph, schedule.require_machine().memory
    if not graph.n_tasks or not np.isfinite(memory.size_B):
        return
    # Unknown bytes are no more than anything.
    over = np.flatnonzero(graph.bytes_B > memory.size_B)
    if len(over):
        task = int(over[graph.bytes_B[over].argmax()])
        others = f"; {counted(len(over) - 1, 'other does', 'others do')}, too" if len(over) > 1 else ""
        yield (
            f"task {graph.task_name(task)!r} moves {graph.bytes_B[task]:.3g} bytes, more than the {memory.size_B:.3g} "
            f"that {memory.name} holds{others}"
        )
