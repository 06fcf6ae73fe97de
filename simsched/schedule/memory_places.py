"""Places of a schedule's memory: where each task keeps its data, and how much fits there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simsched.machine.network import network_of
from simsched.machine.ways import DataWays

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.graph.columns import Floats
    from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Places:
    """Places that keep data.

    Parameters
    ----------
    of_run : int32 array, shape (r,)
        Place of each run, as in `Runs.of`: that of its team's first thread.
    names : tuple of str
        Name of each place, for readers.
    size_B : float64 array, shape (places,)
        Bytes that each holds; infinite where unknown.
    n_of_cores : int
        Number of those places that are cores'; the first ones.
    """

    of_run: Index
    names: tuple[str, ...]
    size_B: Floats
    n_of_cores: int = 1

    def used_by(self, place: Index) -> Places:
        """Return the places of cores, and as many of those beside them as are used."""
        n = max(self.n_of_cores, int(place.max(initial=-1)) + 1)
        return replace(self, names=self.names[:n], size_B=self.size_B[:n])

    @classmethod
    def of(cls, schedule: Schedule) -> Places:
        """Return the places of the machine's data, else its domains and the host; one for an unknown machine."""
        machine, team = schedule.machine, np.append(schedule.team, schedule.lost.team)
        if machine is None or schedule.lane_names:
            return cls(np.zeros(len(team), np.int32), ("memory",), np.array([inf]))
        network = machine.network or network_of(machine, DataWays("read", "domain"))
        # A team's cores are ascending.
        first = schedule.teams.indices[schedule.teams.indptr[team]] % machine.n_cores
        return cls(network.place_of[first], network.names, network.size_B, int(network.place_of.max()) + 1)
