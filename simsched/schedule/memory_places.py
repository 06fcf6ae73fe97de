"""Places of a schedule's memory: where each task keeps its data, and how much fits there."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simsched.machine.schema import si

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.machine import Machine
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Places:
    """Places that keep data.

    Parameters
    ----------
    of_task : int32 array, shape (n,)
        Place of each task: that of its team's first thread.
    names : tuple of str
        Name of each place, for readers.
    size_B : float
        Bytes that each holds; infinite where unknown.
    """

    of_task: Index
    names: tuple[str, ...]
    size_B: float

    @classmethod
    def of(cls, schedule: Schedule) -> Places:
        """Return the places of the machine's data, else its memory domains; one for lanes of an unknown machine."""
        machine = schedule.machine
        if machine is None or schedule.lane_names:
            return cls(np.zeros(schedule.graph.n_tasks, np.int32), ("memory",), inf)
        kind = machine.data.places if machine.data else "domain"
        of_core = machine.data.place_of(machine.structure) if machine.data else machine.structure.domain_of
        # A team's cores are ascending.
        first = schedule.teams.indices[schedule.teams.indptr[schedule.team]] % machine.n_cores
        n = int(of_core.max()) + 1
        return cls(of_core[first], _names(machine, kind, n), _size_B(machine, kind))


def _names(machine: Machine, kind: str, n: int) -> tuple[str, ...]:
    if kind == "domain":
        memory = machine.memory.name
        return (memory,) if n == 1 else tuple(f"{memory}, domain {place}" for place in range(n))
    return tuple(f"{kind} {place}" for place in range(n))


def _size_B(machine: Machine, kind: str) -> float:
    if kind == "domain":
        return machine.memory.size_B / machine.n_domains
    local = getattr(machine.tables.get("ldm"), "size", None) if kind == "core" else None
    return inf if local is None else si(local)
