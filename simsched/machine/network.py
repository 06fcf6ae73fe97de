"""`Network`: the places where data are kept, and the ways between them (docs/semantics.md, Data)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.graph.adjacency import Csr, Index
from simsched.machine.interconnect import Interconnect
from simsched.machine.schema import si

if TYPE_CHECKING:
    from simsched.machine.machine import Machine
    from simsched.machine.ways import DataWays

#: Places between which ways are tables; and those whose ways are listed link by link.
MOST_PLACES, MOST_LISTED = 4096, 1024

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """Places of a machine's data: those of cores, then memories, then the host; and the ways between them.

    A way leads out of a place, over links of the interconnect, and into another place; or it is the link of that pair
    of places alone. Links are numbered: out of each place, into each place, those of the interconnect, then those of
    pairs, row by row.

    Parameters
    ----------
    ways : DataWays
    place_of : int32 array, shape (n_cores,)
        Place of each core.
    names : tuple of str
        Name of each place.
    domain_of : int32 array, shape (places,)
        Memory domain of each place; -1 for the host and for devices.
    memory_of : Csr
        Places that are memories of each domain.
    stop_of : int32 array, shape (places,)
        Stop of each place on the interconnect; -1 for the host and for devices, which are beside it.
    size_B : float64 array, shape (places,)
        Bytes that each place holds; infinite where unknown.
    capacity_Bps : float64 array, shape (links,)
        Bytes per second of each link; infinite where unlimited.
    extra_latency_s : float64 array, shape (places,)
        What the way to or from a place takes besides, however little moves.
    interconnect : Interconnect
    pair_Bps, pair_latency_s : float64 arrays, shape (k, k)
        Bytes per second and seconds on the links of pairs of the first k places; k is 0 where pairs have none.

    Examples
    --------
    >>> import simsched as ss
    >>> network = ss.machine("knl-7250[data=sent,places=tile,hop_Bps=50e9]").network
    >>> network.names[0], network.names[-1], network.n_places, network.link_names([0, 43, 86])
    ('tile 0', 'host', 43, ['out of tile 0', 'into tile 0', '0,0 right'])
    """

    ways: DataWays
    place_of: Index
    names: tuple[str, ...]
    domain_of: Index
    memory_of: Csr
    stop_of: Index
    size_B: Floats
    capacity_Bps: Floats
    extra_latency_s: Floats
    interconnect: Interconnect
    pair_Bps: Floats
    pair_latency_s: Floats

    @property
    def n_places(self) -> int:
        """Number of places."""
        return len(self.names)

    @property
    def host(self) -> int:
        """Place of the host."""
        return self.n_places - 1

    def link_names(self, links: npt.ArrayLike) -> list[str]:
        """Return the names of links."""
        return [self._link_name(link) for link in np.asarray(links).tolist()]

    def _link_name(self, link: int) -> str:
        n, names, between = self.n_places, self.names, self.interconnect.links
        if link < n:
            return f"out of {names[link]}"
        if link < 2 * n:
            return f"into {names[link - n]}"
        if link < self._first_pair:
            return between[link - 2 * n].name
        source, target = divmod(link - self._first_pair, len(self.pair_Bps))
        return f"{names[source]} to {names[target]}"

    @property
    def _first_pair(self) -> int:
        """Number of the first link of a pair."""
        return 2 * self.n_places + len(self.interconnect.links)

    def home_of(self, n_objects: int) -> Index:
        """Return the place where each object lives that no task has written yet, shape (k,); -1 for everywhere.

        Objects go round the memories: object i lives in memory i modulo their number; without memories, at the host.
        """
        memories = self.memory_of.indices
        if self.ways.home == "everywhere":
            return np.full(n_objects, -1, np.int32)
        if self.ways.home == "host" or not len(memories):
            return np.full(n_objects, self.host, np.int32)
        return memories[np.arange(n_objects) % len(memories)]

    def below(self, place: int, one: int) -> int:
        """Return the place to which an object is moved when a place has no room for it: a memory, else the host."""
        domain = int(self.domain_of[place])
        memories = self.memory_of.neighbours(domain) if domain >= 0 else self.memory_of.indices[:0]
        return self.host if place in memories or not len(memories) else int(memories[one % len(memories)])

    @cached_property
    def listed(self) -> Csr:
        """Links on the way from each place to each, in order; row `source * places + target`, none to itself.

        Raises
        ------
        MachineError
            If there are more than 1,024 places.
        """
        n = self.n_places
        if n > MOST_LISTED:
            raise MachineError(
                f"links between {n} places: at most {MOST_LISTED} can be listed; write places=tile, places=domain or "
                "share_links=false without hop_Bps and hop_latency_s"
            )
        source, target = np.divmod(np.arange(n * n), n)
        paired = np.maximum(source, target) < len(self.pair_Bps)
        between = self._between(source, target, paired)
        apart = source != target
        ends = apart & ~paired
        indptr = np.r_[0, np.cumsum(between.degrees() + 2 * ends + (apart & paired))]
        links = np.empty(indptr[-1], np.int32)
        first, last, own = indptr[:-1][ends], indptr[1:][ends] - 1, indptr[:-1][apart & paired]
        links[first], links[last] = source[ends], n + target[ends]
        pair = source * len(self.pair_Bps) + target
        links[own] = self._first_pair + pair[apart & paired]
        inner = np.ones(len(links), bool)
        inner[first] = inner[last] = inner[own] = False
        links[inner] = 2 * n + between.indices
        return Csr(indptr, links)

    def _between(
        self,
        source: npt.NDArray[np.int64],
        target: npt.NDArray[np.int64],
        paired: npt.NDArray[np.bool_],
    ) -> Csr:
        """Return the links of the interconnect between places; none within a place, beside it, or of some pairs."""
        one, other = self.stop_of[source].astype(np.int64), self.stop_of[target].astype(np.int64)
        beside = (one < 0) | (other < 0) | (source == target) | paired
        found = self.interconnect.ways(np.where(beside, 0, one), np.where(beside, 0, other))
        if not (kept := ~beside[found.sources()]).all():
            return Csr(np.r_[0, np.cumsum(np.where(beside, 0, found.degrees()))], found.indices[kept])
        return found

    @cached_property
    def tables(self) -> tuple[Floats, Floats]:
        """Latency, and seconds per byte alone, of the way from each place to each, shape (places, places) each."""
        n, ways = self.n_places, self.ways
        apart = 1.0 - np.eye(n)
        ends = self.extra_latency_s[:, None] + self.extra_latency_s[None]
        latency_s, slowest = (ways.latency_s + ends) * apart, self._slowest_ends()
        between = self.capacity_Bps[2 * n : self._first_pair]
        if len(between) and (ways.hop_latency_s or between.min() < inf):
            hops = np.maximum(self.listed.degrees() - 2, 0).reshape(n, n)
            latency_s = latency_s + hops * ways.hop_latency_s
            slowest = np.minimum(slowest, self._slowest_listed().reshape(n, n))
        k = len(self.pair_Bps)
        latency_s[:k, :k], slowest[:k, :k] = self.pair_latency_s, self.pair_Bps
        return latency_s, apart / slowest

    @cached_property
    def between_tasks(self) -> tuple[Floats, Floats]:
        """The `tables` for objects that a task hands to another one, whose way may lead through the host if sent."""
        if self.ways.route != "host" or self.ways.mode == "read":
            return self.tables
        latency_s, s_per_B = (table[:, self.host, None] + table[None, self.host] for table in self.tables)
        return latency_s, s_per_B

    def _slowest_ends(self) -> Floats:
        n = self.n_places
        return np.minimum(self.capacity_Bps[:n, None], self.capacity_Bps[None, n : 2 * n])

    def _slowest_listed(self) -> Floats:
        """Return the least capacity on each listed way; infinite where there is none."""
        listed = self.listed
        slowest = np.full(listed.n, inf)
        some = listed.degrees() > 0
        slowest[some] = np.minimum.reduceat(self.capacity_Bps[listed.indices], listed.indptr[:-1][some])
        return slowest


def network_of(machine: Machine, ways: DataWays) -> Network:
    """Return the places of a machine and the ways between them.

    Raises
    ------
    MachineError
        If there are more than 4,096 places.
    """
    ways, structure, interconnect = ways.resolved(machine), machine.structure, machine.structure.interconnect
    place_of, first, device = _core_places(machine, ways)
    domain_of = np.where(device, -1, structure.domain_of[first])
    stop_of = np.where(device, -1, interconnect.stop_of[first])
    names = _names(machine, ways, first, device)
    memories, domains = np.flatnonzero(~device), domain_of[~device]
    if ways.places != "domain":
        domains, memories = interconnect.domains, len(first) + np.arange(len(interconnect.domains))
        domain_of = np.concatenate([domain_of, domains])
        stop_of = np.concatenate([stop_of, interconnect.memories])
        names += [f"memory {k}" for k in range(len(domains))]
    if len(names) >= MOST_PLACES:
        raise MachineError(
            f"data move between {len(names)} places of one machine; at most {MOST_PLACES}: write places=tile or "
            "places=domain"
        )
    counts = np.bincount(domains, minlength=machine.n_domains)
    pair_Bps, pair_latency_s = _pairs(ways)
    is_memory = np.zeros(len(names) + 1, bool)
    is_memory[memories] = True
    kind_of = np.append(
        np.where(device, machine.kind_of[first], -1), np.full(is_memory.size - len(first), -1)
    )
    return Network(
        ways=ways,
        place_of=place_of,
        names=(*names, "host"),
        domain_of=np.append(domain_of, -1).astype(np.int32),
        memory_of=Csr(
            np.r_[0, np.cumsum(counts)], memories[np.argsort(domains, kind="stable")].astype(np.int32)
        ),
        stop_of=np.append(stop_of, -1).astype(np.int32),
        size_B=_sizes(machine, ways, is_memory, kind_of),
        capacity_Bps=np.r_[_capacities(machine, ways, is_memory, kind_of), pair_Bps.ravel()],
        extra_latency_s=_latencies(machine, ways, is_memory, kind_of),
        interconnect=interconnect,
        pair_Bps=pair_Bps,
        pair_latency_s=pair_latency_s,
    )


def check_pairs(machine: Machine) -> None:
    """Check that the matrices of pairs, if any, have a row and a column for each place of cores.

    Raises
    ------
    MachineError
        If they have others.
    """
    if machine.data is None or not (given := len(machine.data.pair_Bps or machine.data.pair_latency_s)):
        return
    places = len(_core_places(machine, machine.data)[1])
    if given != places:
        raise MachineError(
            f"{machine.spec}: data.pair_bandwidth and data.pair_latency are of {given} x {given} pairs, but the "
            f"{machine.n_cores} cores have {places} places of data (places={machine.data.places}); give a row and a "
            f"column for each, or write cores= or places= so that there are {given}"
        )


def _pairs(ways: DataWays) -> tuple[Floats, Floats]:
    """Return bytes per second and seconds on the links of pairs; empty where there are none."""
    k = len(ways.pair_Bps or ways.pair_latency_s)
    Bps = np.array(ways.pair_Bps) if ways.pair_Bps else np.full((k, k), ways.link_Bps)
    latency_s = np.array(ways.pair_latency_s) if ways.pair_latency_s else np.full((k, k), ways.latency_s)
    np.fill_diagonal(Bps, inf)
    np.fill_diagonal(latency_s, 0.0)
    return Bps, latency_s


def _core_places(machine: Machine, ways: DataWays) -> tuple[Index, Index, npt.NDArray[np.bool_]]:
    """Return the place of each core, the first core of each place, and which places are devices."""
    device = machine.is_device
    place_of = ways.place_of(machine.structure).astype(np.int64)
    place_of[device] = machine.n_cores + np.arange(device.sum())
    _, first, number = np.unique(place_of, return_index=True, return_inverse=True)
    return number.astype(np.int32), first.astype(np.int32), device[first]


def _names(machine: Machine, ways: DataWays, first: Index, device: npt.NDArray[np.bool_]) -> list[str]:
    """Return the names of the places of cores, from the first core of each."""
    names = [f"{ways.places} {place}" for place in range(len(first))]
    if ways.places == "domain":
        memory, several = machine.memory.name, machine.n_domains > 1
        names = [f"{memory}, {name}" if several else memory for name in names]
    if machine.kinds is not None:
        for place in np.flatnonzero(device).tolist():
            names[place] = f"{machine.kinds.names[machine.kind_of[first[place]]]} (core {first[place]})"
    return names


def _sizes(machine: Machine, ways: DataWays, is_memory: npt.NDArray[np.bool_], kind_of: Index) -> Floats:
    """Return the bytes that each place holds."""
    size_B = np.full(len(is_memory), ways.place_B)
    local = getattr(machine.tables.get("ldm"), "size", None)
    if local is not None and ways.place_B == inf and ways.places == "core":
        # Local memories are those of the first kind of cores; others have their data in memory.
        size_B[: machine.n_cores] = np.where(machine.kind_of == 0, si(local), inf)
    size_B[is_memory] = machine.memory.size_B / max(int(is_memory.sum()), 1)
    size_B[-1] = inf
    return _of_devices(machine, size_B, "memory_B", kind_of)


def _capacities(machine: Machine, ways: DataWays, is_memory: npt.NDArray[np.bool_], kind_of: Index) -> Floats:
    """Return the capacity of each link: out of places, into places, and between stops."""
    ends = np.full(len(is_memory), ways.link_Bps)
    if ways.places != "domain":
        ends[is_memory] = ways.memory_Bps
    ends = _of_devices(machine, ends, "link_Bps", kind_of)
    links = machine.structure.interconnect.links
    between = np.where([link.of_memory for link in links], ways.memory_Bps, ways.hop_Bps)
    return np.concatenate([ends, ends, between])


def _latencies(machine: Machine, ways: DataWays, is_memory: npt.NDArray[np.bool_], kind_of: Index) -> Floats:
    extra_s = np.zeros(len(is_memory))
    if ways.places != "domain":
        extra_s[is_memory] = ways.memory_latency_s
    return _of_devices(machine, extra_s, "link_latency_s", kind_of)


def _of_devices(machine: Machine, values: Floats, name: str, kind_of: Index) -> Floats:
    """Return values of places, those of devices replaced by what their kind states."""
    if machine.kinds is not None:
        device = np.flatnonzero(kind_of >= 0)
        values[device] = np.array(getattr(machine.kinds, name))[kind_of[device]]
    return values
