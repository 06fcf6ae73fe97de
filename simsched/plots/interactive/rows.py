"""Rows of an interactive chart: cores in the order of what they share, or the lanes of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simsched.errors import SimschedError
from simsched.graph.adjacency import Ints
from simsched.machine import Machine, Structure
from simsched.schedule import Schedule

#: Most rows of a chart: its page takes 4 s and 0.6 GB to make then.
MOST_CORES = 100_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Row of each core, and the names of its neighbours.

    Parameters
    ----------
    row_of : int64 array, shape (n_cores,)
        Row of each core, 0 at the top.
    label : str
        Kind of a group, where its name does not show it: "core", "".
    names : sequence of str
        Name of each group, from the top.
    first : int64 array, shape (groups + 1,)
        First row of each group, and the number of rows.
    """

    row_of: Ints
    label: str
    names: Sequence[str]
    first: Ints

    @property
    def centres(self) -> list[float]:
        """Middle of each group."""
        middle: list[float] = ((self.first[:-1] + self.first[1:] - 1) / 2).tolist()
        return middle

    @property
    def borders(self) -> list[float]:
        """Lines between groups of more than one row."""
        grouped = len(self.names) < len(self.row_of)
        between: list[float] = (self.first[1:-1] - 0.5).tolist()
        return between if grouped else []


def check_rows(schedule: Schedule) -> None:
    """Check that a chart has rows for all cores of a schedule.

    Raises
    ------
    SimschedError
        If it does not.
    """
    if schedule.n_cores > MOST_CORES:
        raise SimschedError(
            f"the schedule has {schedule.n_cores} cores, and an interactive chart at most {MOST_CORES} rows; "
            "schedule.gantt(max_rows=1000) draws the first ones"
        )


def rows(schedule: Schedule) -> Rows:
    """Return the rows of a schedule: by memory domain where there are several, by tile, by lane or by core."""
    check_rows(schedule)
    n = schedule.n_cores
    recording = schedule.graph.recording
    if schedule.machine is None and recording is not None and len(recording.lane_names) == n:
        return _singles(n, "", recording.lane_names)
    if schedule.machine is None or schedule.machine.n_threads != n:
        return _singles(n, "core", [str(core) for core in range(n)])
    return _of_machine(schedule.machine)


def _singles(n: int, label: str, names: Sequence[str]) -> Rows:
    return Rows(np.arange(n), label, names, np.arange(n + 1))


def _of_machine(machine: Machine) -> Rows:
    """Return the rows of a machine: the hardware threads of a core are adjacent, as are cores that share."""
    structure = machine.structure
    core = np.arange(machine.n_threads) % machine.n_cores
    if structure.n_domains > 1:
        group, names = structure.domain_of, domain_names(structure)
    elif structure.cores_per_tile > 1:
        group = structure.tile_of
        names = [f"tile {tile}" for tile in range(machine.n_tiles)]
    elif machine.smt > 1:
        group = np.arange(machine.n_cores, dtype=np.int32)
        names = [f"core {one}" for one in range(machine.n_cores)]
    else:
        return _singles(machine.n_cores, "core", [str(one) for one in range(machine.n_cores)])
    order = np.lexsort((core, structure.tile_of[core], group[core]))
    row_of = np.empty(len(order), np.int64)
    row_of[order] = np.arange(len(order))
    first = np.concatenate([[0], np.cumsum(np.bincount(group[core], minlength=len(names)))])
    return Rows(row_of, "", names, first)


def domain_names(structure: Structure) -> list[str]:
    """Return the names of the domains in a structure's own picture, or their numbers."""
    named = [box.label for box in structure.picture().boxes if box.role == "domain" and box.label]
    numbered = [f"domain {number}" for number in range(structure.n_domains)]
    return named if len(named) == len(numbered) else numbered
