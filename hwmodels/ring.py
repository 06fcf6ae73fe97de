"""`ring`: cores, tag directories and memory controllers on a bidirectional ring, as on Knights Corner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, pi, sin
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.adjacency import Csr, Ints, steps
from simsched.hwmodels.tiles import SingleCores
from simsched.machine.interconnect import Interconnect, Link
from simsched.machine.schema import Quantity, Strict, measures, si
from simsched.machine.structure import Box, Picture


class RingTable(Strict):
    """The `[structure]` table of a ring.

    Parameters
    ----------
    hop : Quantity
        Time from one stop to the next.
    remote_l2 : Quantity
        Time of a cache line from the L2 of another core, the mean over all of them.
    memory_controllers : Quantity
        Their number; they are at equal distances.
    """

    kind: Literal["ring"] = "ring"
    hop: Annotated[Quantity, measures("time")]
    remote_l2: Annotated[Quantity, measures("time")]
    memory_controllers: Annotated[Quantity, measures("count", least=1, most=1024, whole=True)]


@dataclass(frozen=True)
class Ring(SingleCores):
    """Cores on a ring on which messages take the shorter way round.

    Every core has a tag directory at its stop, and addresses are spread evenly over them: a cache line is asked for at
    its directory, which asks the core that holds it, which sends it. The seconds of a line are `base_s` and the mean
    cost of these hops.

    Parameters
    ----------
    cores : int
        Cores, a stop each.
    memory_controllers : int
        Controllers, at stops spread evenly over the ring.
    hop_s : float
        Seconds from one stop to the next.
    base_s : float
        Cost of a line from another core in addition to its hops.

    Examples
    --------
    >>> from simsched.hwmodels.ring import Ring
    >>> Ring(cores=6, memory_controllers=2, hop_s=1e-9).hops(0).tolist()
    [0, 1, 2, 3, 2, 1]
    """

    kind: ClassVar[str] = "ring"
    schema: ClassVar[type[RingTable]] = RingTable

    cores: int
    memory_controllers: int
    hop_s: float
    base_s: float = 0.0

    @classmethod
    def of(cls, table: RingTable, n_cores: int, cores_per_tile: int) -> Ring:
        """Return the ring of a checked table; `base_s` follows from the mean that it states."""
        if cores_per_tile != 1:
            raise MachineError(f"cores.per_tile is {cores_per_tile}; a stop of a ring is one core, give 1")
        ring = cls(n_cores, int(si(table.memory_controllers)), si(table.hop))
        if n_cores == 1:
            return replace(ring, base_s=si(table.remote_l2))
        mean = float(ring.transfer_s(0)[1:].mean())
        if mean > si(table.remote_l2):
            raise MachineError(
                f"remote_l2 is {si(table.remote_l2):g} s, and the hops of such a transfer alone take "
                f"{mean:g} s; give a longer time, or a shorter hop"
            )
        return replace(ring, base_s=si(table.remote_l2) - mean)

    def hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return the steps from a core to every core, the shorter way round."""
        return self._around(core, np.arange(self.cores))

    def _around(self, stop: int, to: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        away = np.abs(to - stop)
        return np.asarray(np.minimum(away, self.cores - away), np.int64)

    @property
    def interconnect(self) -> RingLinks:
        """Links between neighbours, in both directions."""
        return RingLinks(self)

    def point(self, stop: float) -> tuple[float, float]:
        """Return the point of a stop in the picture."""
        return self._point(stop, self._radius)

    @property
    def controller_stops(self) -> npt.NDArray[np.int64]:
        """The stop of each memory controller."""
        return np.arange(self.memory_controllers) * self.cores // self.memory_controllers

    def memory_hops(self, core: int) -> npt.NDArray[np.int64]:
        """Return the steps from a core to every memory controller."""
        return self._around(core, self.controller_stops)

    @property
    def mean_hops(self) -> float:
        """Mean steps from a core to a tag directory: those of all cores, its own included."""
        return self.cores**2 // 4 / self.cores

    def transfer_s(self, core: int) -> npt.NDArray[np.float64]:
        """Return the seconds of a cache line from a core to every core, over its directory."""
        seconds = np.asarray(self.base_s + self.hop_s * (2 * self.mean_hops + self.hops(core)), np.float64)
        seconds[core] = 0.0
        return seconds

    def memory_s(self, core: int) -> float:
        """Return the mean seconds on the ring of a line from memory: to its directory, on to a controller, and back."""
        stops = np.concatenate(
            [self._around(int(stop), np.arange(self.cores)) for stop in self.controller_stops]
        )
        return self.hop_s * float(self.mean_hops + stops.mean() + self.memory_hops(core).mean())

    def resized(self, n_cores: int) -> Ring:
        """Return the ring with another number of stops."""
        if n_cores < 1:
            raise MachineError(f"{n_cores} cores: a ring has at least 1")
        return replace(self, cores=n_cores)

    def picture(self) -> Picture:
        """Return the ring as a circle, core 0 at the top, clockwise; memory controllers inside."""
        centres = [self._point(k, self._radius) for k in range(self.cores)]
        links = list(zip(centres, centres[1:] + centres[:1], strict=True)) if self.cores > 1 else []
        for stop in self.controller_stops.tolist():
            links.append((self._point(stop, self._radius), self._point(stop, self._radius - 1.6)))
        return Picture(tuple(self._boxes()), tuple(links))

    @property
    def _radius(self) -> float:
        # Neighbours are 1.1 apart, so that boxes of 0.76 do not touch where they meet corner to corner; controllers
        # are 1.4 apart on their inner circle.
        return max(1.1 * self.cores / (2 * pi), 1.6 + 1.4 * self.memory_controllers / (2 * pi), 2.6)

    def _point(self, stop: float, radius: float) -> tuple[float, float]:
        angle = 2 * pi * stop / self.cores
        return radius * sin(angle), radius * cos(angle)

    def _boxes(self) -> Iterator[Box]:
        for number, stop in enumerate(self.controller_stops.tolist()):
            x, y = self._point(stop, self._radius - 1.6)
            yield Box(x - 0.55, y - 0.4, 1.1, 0.8, "memory", f"MC {number}")
        for core in range(self.cores):
            x, y = self._point(core, self._radius)
            yield Box(x - 0.38, y - 0.38, 0.76, 0.76, "core", str(core), core)

    def facts(self) -> Mapping[str, str]:
        """Return the facts for readers."""
        return {
            "ring": f"{self.cores} stops, both directions, a tag directory at each",
            "memory controllers": str(self.memory_controllers),
            "mean hops to a directory": f"{self.mean_hops:.2f}",
        }


class RingLinks(Interconnect):
    """Links between neighbours on a ring, clockwise and back; data take the shorter way, of equal ones clockwise.

    Examples
    --------
    >>> links = Ring(cores=6, memory_controllers=2, hop_s=1e-9).interconnect
    >>> [links.links[link].name for link in links.ways([5, 5], [1, 3]).indices]
    ['5 on', '0 on', '5 back', '4 back']
    """

    def __init__(self, ring: Ring) -> None:
        self._n = ring.cores
        self.stop_of = np.arange(ring.cores, dtype=np.int32)
        self.memories = ring.controller_stops.astype(np.int32)
        self.domains = np.zeros_like(self.memories)
        self._point = ring.point

    @cached_property
    def links(self) -> Sequence[Link]:
        """Links, those on first."""
        lines = [(self._point(stop), self._point(stop + 1)) for stop in range(self._n)]
        on = [Link(f"{stop} on", line) for stop, line in enumerate(lines)]
        back = [Link(f"{(stop + 1) % self._n} back", (b, a)) for stop, (a, b) in enumerate(lines)]
        return (*on, *back)

    def ways(self, sources: Ints, targets: Ints) -> Csr:
        """Return the links from each source stop to its target stop, in order."""
        start = np.asarray(sources, np.int64)
        on = (np.asarray(targets, np.int64) - start) % self._n
        back = self._n - on
        forward = on <= back
        counts = np.where(forward, on, back)
        row, step = steps(counts)
        link = np.where(
            forward[row], (start[row] + step) % self._n, self._n + (start[row] - step - 1) % self._n
        )
        return Csr(np.r_[0, np.cumsum(counts)], link.astype(np.int32))
