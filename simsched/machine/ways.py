"""Where cores keep their data, how data get from one place to another, and the kinds of cores."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.machine.schema import DataTable, KindsTable
    from simsched.machine.structure import Structure

#: Places between which seconds of messages are tables.
MOST_PLACES = 4096


@dataclass(frozen=True)
class DataWays:
    """How objects that tasks hand to each other get from place to place; see docs/semantics.md, Data.

    Parameters
    ----------
    mode : {"sent", "read"}
        Whether an object is sent to where it is needed before the task starts, or read from afar while it runs.
    places : {"core", "tile", "domain"}
        What keeps its data to itself: cores of one place hand on objects in no time.
    latency_s : float
        Seconds of a message without bytes between two places.
    link_Bps : float
        Bytes per second of a message; infinite where only the latency counts.

    Examples
    --------
    >>> import simsched as ss
    >>> machine = ss.machine("generic[cores=3,link_Bps=2.0,data=sent]")
    >>> machine.data.mode, machine.data.place_of(machine.structure).tolist()
    ('sent', [0, 1, 2])
    >>> machine.data.tables(2)[1].tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """

    mode: Literal["sent", "read"]
    places: Literal["core", "tile", "domain"] = "core"
    latency_s: float = 0.0
    link_Bps: float = inf

    @classmethod
    def of(cls, table: DataTable | None) -> DataWays | None:
        """Return the ways of a checked `[data]` table; None without one."""
        from simsched.machine.schema import si

        if table is None:
            return None
        return cls(
            mode=table.mode,
            places=table.places,
            latency_s=si(table.link_latency) if table.link_latency else 0.0,
            link_Bps=si(table.link_bandwidth) if table.link_bandwidth else inf,
        )

    def place_of(self, structure: Structure) -> Index:
        """Return the place of each core, int32 (n_cores,), numbered from 0."""
        if self.places == "core":
            return np.arange(structure.n_cores, dtype=np.int32)
        return structure.tile_of if self.places == "tile" else structure.domain_of

    def tables(self, n_places: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return latency and seconds per byte between places, each of shape (places, places), 0 on the diagonal.

        Raises
        ------
        MachineError
            If there are more than 4,096 places.
        """
        if n_places > MOST_PLACES:
            raise MachineError(
                f"data move between {n_places} places of one machine; at most {MOST_PLACES}: write places=tile or "
                "places=domain"
            )
        apart = 1.0 - np.eye(n_places)
        return self.latency_s * apart, apart / self.link_Bps


@dataclass(frozen=True)
class Kinds:
    """Kinds of cores.

    Parameters
    ----------
    names : tuple of str
    counts : tuple of int
        Cores of each kind, in the order of the cores.
    speeds : tuple of float
        Speed of a core of each kind, relative to that of the file's `[cores]`.

    Examples
    --------
    >>> from simsched.machine.ways import Kinds
    >>> Kinds(("P", "E"), (2, 4), (1.0, 0.5)).of_core.tolist()
    [0, 0, 1, 1, 1, 1]
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    speeds: tuple[float, ...]

    @classmethod
    def of(cls, table: KindsTable | None, n_cores: int) -> Kinds | None:
        """Return the kinds of a checked `[kinds]` table; None without one.

        Raises
        ------
        MachineError
            If the kinds have other numbers of cores than the machine.
        """
        if table is None:
            return None
        if table.each:
            return cls(tuple(f"core {core}" for core in range(n_cores)), (1,) * n_cores, (1.0,) * n_cores)
        counts = tuple(int(count) for count in table.cores.value) if table.cores else ()
        if sum(counts) != n_cores:
            raise MachineError(
                f"kinds.cores: {' + '.join(map(str, counts))} cores are {sum(counts)}; the machine has {n_cores}"
            )
        return cls(table.names, counts, table.speed.value if table.speed else (1.0,) * len(counts))

    @property
    def of_core(self) -> Index:
        """Kind of each core, int32 (n_cores,)."""
        return np.repeat(np.arange(len(self.counts), dtype=np.int32), self.counts)
