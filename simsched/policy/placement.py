"""Which cores an executor gets (docs/semantics.md, rule 6, pinned)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import SpecError
from simsched.graph.adjacency import Csr

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.machine import Machine
    from simsched.policy.layout import Layout

PLACEMENTS = ("compact", "scatter")


def core_order(machine: Machine, placement: str) -> Index:
    """Return all cores in the order in which executors take them.

    Parameters
    ----------
    machine : Machine
    placement : {"compact", "scatter"}
        Compact fills one tile after the other; scatter takes one core of every tile, then the next core of each.

    Raises
    ------
    SpecError
        If the placement is neither.
    """
    cores = np.arange(machine.n_cores, dtype=np.int32)
    if placement == "compact":
        return cores
    if placement == "scatter":
        return np.argsort(cores % machine.cores_per_tile, kind="stable").astype(np.int32)
    raise SpecError(f"placement {placement!r} is not known; there are {', '.join(PLACEMENTS)}")


def executor_cores(machine: Machine, layout: Layout, placement: str) -> Csr:
    """Return the cores of each executor, ascending; the layout must fit the machine."""
    cores = core_order(machine, placement)[: layout.cores].reshape(layout.executors, layout.width)
    indptr = np.arange(layout.executors + 1, dtype=np.int64) * layout.width
    return Csr(indptr, np.sort(cores, axis=1).ravel())


def take_idle(idle: list[int], width: int, cores_per_tile: int) -> list[int]:
    """Return `width` of the idle cores, ascending: whole idle tiles first, lowest numbers first.

    Parameters
    ----------
    idle : list of int
        Idle cores, ascending; at least `width`.
    width : int
        Cores wanted.
    cores_per_tile : int
        Cores of a tile.
    """
    if cores_per_tile == 1 or width == len(idle):
        return idle[:width]
    per_tile: dict[int, int] = {}
    for core in idle:
        per_tile[core // cores_per_tile] = per_tile.get(core // cores_per_tile, 0) + 1
    # Narrow teams fill broken tiles, so that whole ones stay for wide teams.
    wanted = cores_per_tile if width >= cores_per_tile else 1
    ranked = sorted(idle, key=lambda core: (abs(per_tile[core // cores_per_tile] - wanted), core))
    return sorted(ranked[:width])
