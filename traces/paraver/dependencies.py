"""Edges between the tasks of a trace: those that the runtime found, and those that a taskwait makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from simsched.errors import FormatError
from simsched.graph.contracting import MAX_EDGES
from simsched.traces.paraver.tasks import Key, Told


def dependencies(path: Path, told: Told, index: dict[Key, int]) -> dict[tuple[int, int], None]:
    """Return the dependencies between tasks that ran, from events and communications together, each once.

    Raises
    ------
    FormatError
        If concurrent or commutative tasks, of which each depends on each, make more than `MAX_EDGES`.
    """
    found = {
        (index[a], index[b]): None
        for a, b in (*told.by_events, *told.by_communications)
        if a in index and b in index and a != b
    }
    for firsts, seconds in _meetings(told):
        if len(found) + len(firsts) * len(seconds) > MAX_EDGES:
            raise FormatError(
                f"{path}: more than {MAX_EDGES} dependencies, most between concurrent tasks; refused"
            )
        found |= {
            (index[a], index[b]): None
            for a in firsts
            for b in seconds
            if a in index and b in index and a != b
        }
    return found


def _meetings(told: Told) -> Iterator[tuple[list[Key], list[Key]]]:
    """Yield, for each point where concurrent or commutative tasks meet, those before it and those behind it."""
    points: dict[Key, tuple[list[Key], list[Key]]] = {}
    for (a, b), why in told.meetings.items():
        task, point = (a, b) if why == 1 else (b, a)
        points.setdefault(point, ([], []))[why - 1].append(task)
    yield from points.values()


def taskwaits(told: Told, keys: Sequence[Key]) -> list[tuple[list[int], list[int]]]:
    """Return of each taskwait that has tasks on both sides the last created before it and the first behind it.

    Parameters
    ----------
    told : Told
        What the trace tells.
    keys : sequence of Key
        The tasks, by index.

    Returns
    -------
    list of (list of int, list of int)
        Indices of the tasks that the same task created since the taskwait before, and until the one behind.
    """
    children: dict[Key, list[tuple[int, int]]] = {}
    for task, key in enumerate(keys):
        if key in told.created and (parent := told.created[key][1]) is not None:
            children.setdefault(parent, []).append((told.created[key][0], task))
    waits: dict[Key, list[int]] = {}
    for time_ns, parent in sorted(told.taskwaits):
        waits.setdefault(parent, []).append(time_ns)
    return [
        pair for parent, times in waits.items() for pair in pairwise(_groups(children.get(parent, []), times))
    ]


def _groups(created: list[tuple[int, int]], waits: list[int]) -> list[list[int]]:
    """Return the tasks between the taskwaits, without empty groups."""
    groups: list[list[int]] = [[]]
    ahead = iter(waits)
    following = next(ahead, None)
    for time_ns, task in sorted(created):
        while following is not None and following < time_ns:
            if groups[-1]:
                groups.append([])
            following = next(ahead, None)
        groups[-1].append(task)
    return groups if groups[-1] else groups[:-1]
