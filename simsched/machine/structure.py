"""`Structure`: the places of a machine's cores, their shared resources, and their distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from simsched.graph.adjacency import Index
from simsched.machine.interconnect import Crossbar, Interconnect


@dataclass(frozen=True)
class Box:
    """A rectangle of a machine's picture.

    Parameters
    ----------
    x, y, width, height : float
        Lower left corner and size, in units of one mesh stop.
    role : str
        Meaning: "core", "tile", "memory", "io", "disabled", "domain", "cache", "control".
    label : str
        Text in it; "" for none.
    core : int
        Core whose value colours it; -1 for none.

    Examples
    --------
    >>> import simsched as ss
    >>> box = ss.machine("generic[cores=4]").structure.picture().boxes[0]
    >>> box.role, box.core, box.width
    ('core', 0, 0.92)
    """

    x: float
    y: float
    width: float
    height: float
    role: str
    label: str = ""
    core: int = -1


@dataclass(frozen=True)
class Picture:
    """Picture of a structure: boxes, drawn in order, and links between points.

    Parameters
    ----------
    boxes : sequence of Box
    links : sequence of pairs of points
        (x, y) of both ends, in units of one mesh stop.

    Examples
    --------
    >>> import simsched as ss
    >>> picture = ss.machine("knl-7250").structure.picture()
    >>> sum(box.role == "core" for box in picture.boxes), len(picture.links)
    (68, 93)
    """

    boxes: Sequence[Box]
    links: Sequence[tuple[tuple[float, float], tuple[float, float]]] = ()


class Structure(ABC):
    """A kind of interconnect or memory; one file each in `hwmodels/`, registered as `simsched.structures`.

    A structure is immutable and compared by its numbers. Cores are numbered tile by tile.

    Attributes
    ----------
    kind : str
        Name of the kind, as `[structure] kind` of machine files gives it.
    schema : class of pydantic model
        What else that table holds.
    one_way : bool
        Whether links lead one way only, so that the way back may be longer.

    Examples
    --------
    >>> import simsched as ss
    >>> mesh = ss.machine("knl-7250[cluster=snc4]").structure
    >>> mesh.kind, mesh.n_cores, mesh.cores_per_tile, mesh.n_domains
    ('mesh', 68, 2, 4)
    >>> mesh.tile_of[:4].tolist(), mesh.resized(128).n_cores
    ([0, 0, 1, 1], 128)
    """

    kind: ClassVar[str]
    schema: ClassVar[type[BaseModel]]
    one_way: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def of(cls, table: Any, n_cores: int, cores_per_tile: int) -> Structure:
        """Return the structure that a checked `[structure]` table (an instance of `schema`) describes.

        Raises
        ------
        MachineError
            If it has no place for so many cores, or they are not whole tiles.
        """

    @property
    @abstractmethod
    def n_cores(self) -> int:
        """Number of cores."""

    @property
    @abstractmethod
    def cores_per_tile(self) -> int:
        """Cores of a tile, which share an L2; 1 where there are no tiles."""

    @property
    @abstractmethod
    def domain_of(self) -> Index:
        """Memory domain of each core, int32 (n_cores,), numbered from 0."""

    @property
    def n_domains(self) -> int:
        """Number of memory domains."""
        return int(self.domain_of.max()) + 1

    @property
    def segment_of(self) -> Index:
        """Interconnect of each core's threads, int32 (n_cores,), numbered from 0; one for all by default."""
        return np.zeros(self.n_cores, np.int32)

    @property
    def n_segments(self) -> int:
        """Number of such interconnects."""
        return int(self.segment_of.max()) + 1

    @property
    def tile_of(self) -> Index:
        """Tile of each core, int32 (n_cores,)."""
        return np.arange(self.n_cores, dtype=np.int32) // np.int32(self.cores_per_tile)

    @property
    def cluster_of(self) -> Index:
        """Cluster of each core, int32 (n_cores,): cores that share a way to memory, by default a tile's."""
        return self.tile_of

    @property
    def interconnect(self) -> Interconnect:
        """Links between cores and memories: none by default, and one memory per domain."""
        memories, domains = np.arange(self.n_domains) + self.n_cores, np.arange(self.n_domains)
        return Crossbar(
            np.arange(self.n_cores, dtype=np.int32), memories.astype(np.int32), domains.astype(np.int32)
        )

    @abstractmethod
    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return the steps on the interconnect from a core to every core, int64 (n_cores,); 0 to itself."""

    @abstractmethod
    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a cache line from a core to every core, float64 (n_cores,); 0 to itself."""

    @abstractmethod
    def resized(self, n_cores: int) -> Structure:
        """Return the structure with a sensible other number of cores: tiles stay whole, a mesh grows by rows.

        Raises
        ------
        MachineError
            If that is impossible.
        """

    @abstractmethod
    def picture(self) -> Picture:
        """Return its picture."""

    def facts(self) -> Mapping[str, str]:
        """Return its facts for readers, by name, for tables."""
        return {}
