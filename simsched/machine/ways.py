"""How data get from place to place, and the kinds of cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd, inf
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from simsched.errors import MachineError
from simsched.machine.kinds_table import KindsTable
from simsched.machine.schema import NARROW, Cores, DataTable, Matrix, check_narrow, factor, si
from simsched.units import format_bytes, format_time

if TYPE_CHECKING:
    from simsched.graph.adjacency import Index
    from simsched.machine.machine import Machine
    from simsched.machine.structure import Structure


#: What to do about ways of which nothing is stated.
STATE_THEM = "write link_Bps and link_latency_s in the brackets, or a table [data]"
#: A matrix, row by row.
Rows = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class DataWays:
    """How objects that tasks hand to each other get from place to place; see docs/semantics.md, Data.

    Parameters
    ----------
    mode : {"sent", "read"}
        Whether an object is sent to where it is needed before the task starts, or read from afar while it runs.
    places : {"core", "tile", "domain"}
        What keeps its data to itself: cores of one place hand on objects in no time.
    home : {"everywhere", "memory", "host"}
        Where inputs of the graph are at the beginning, and outputs are sent in the end.
    route : {"direct", "host"}
        Whether objects are sent from where they are written, or through the host.
    latency_s, hop_latency_s, memory_latency_s : float
        Seconds of a message without bytes between two places; what each link of the interconnect, and what a memory
        at one of the ends, adds.
    link_Bps, hop_Bps, memory_Bps : float
        Bytes per second into or out of a place, over a link of the interconnect, and into or out of a memory; infinite
        where only the latency counts.
    assumed : bool
        Whether nothing is stated of the link into and out of a place; see `resolved`.
    place_B : float
        Bytes that a place holds; infinite where unknown.
    pair_Bps, pair_latency_s : tuple of tuple of float
        Bytes per second, and seconds of a message without bytes, from each place of cores to each: row by row, empty
        where `link_Bps` and `latency_s` hold for all pairs.

    Examples
    --------
    >>> import simsched as ss
    >>> machine = ss.machine("generic[cores=3,link_Bps=2.0,data=sent]")
    >>> machine.data.mode, machine.data.place_of(machine.structure).tolist()
    ('sent', [0, 1, 2])
    """

    mode: Literal["sent", "read"]
    places: Literal["core", "tile", "domain"] = "core"
    home: Literal["everywhere", "memory", "host"] = "everywhere"
    route: Literal["direct", "host"] = "direct"
    latency_s: float = 0.0
    link_Bps: float = inf
    hop_latency_s: float = 0.0
    hop_Bps: float = inf
    memory_latency_s: float = 0.0
    memory_Bps: float = inf
    place_B: float = inf
    assumed: bool = False
    pair_Bps: Rows = ()
    pair_latency_s: Rows = ()

    @classmethod
    def of(cls, table: DataTable | None) -> DataWays | None:
        """Return the ways of a checked `[data]` table; None without one, or where it says that nothing moves."""
        if table is None or table.mode == "none":
            return None
        link_Bps = si(table.link_bandwidth) if table.link_bandwidth else inf
        stated = (table.link_bandwidth, table.link_latency, table.pair_bandwidth, table.pair_latency)
        return cls(
            mode=table.mode,
            places=table.places,
            home=table.home,
            route=table.route,
            latency_s=si(table.link_latency) if table.link_latency else 0.0,
            link_Bps=link_Bps,
            hop_latency_s=si(table.hop_latency) if table.hop_latency else 0.0,
            hop_Bps=si(table.hop_bandwidth) if table.hop_bandwidth else link_Bps,
            memory_latency_s=si(table.memory_latency) if table.memory_latency else 0.0,
            memory_Bps=si(table.memory_bandwidth) if table.memory_bandwidth else link_Bps,
            place_B=si(table.place_size) if table.place_size else inf,
            assumed=not any(stated),
            pair_Bps=_rows(table.pair_bandwidth),
            pair_latency_s=_rows(table.pair_latency),
        )

    def resolved(self, machine: Machine) -> DataWays:
        """Return the ways with what other numbers of a machine suggest where nothing is stated of a place's link.

        A place's cores get what they read from memory, a domain what its link carries, else its memory; a message
        without bytes takes as long as a cache line, or as remote memory. Memories deliver their bandwidth, after their
        latency; links between sockets carry theirs, those of other interconnects any number of bytes. On a machine
        whose cache lines take no time, nothing takes any.

        Parameters
        ----------
        machine : Machine

        Examples
        --------
        >>> import simsched as ss
        >>> ways = ss.machine("xeon-8160x2[data=sent]").network.ways
        >>> f"{ways.link_Bps:.4g}", f"{ways.latency_s * 1e9:.0f} ns", f"{ways.hop_Bps:.4g}"
        ('1.3e+10', '134 ns', '3.43e+10')
        """
        memory, place = machine.memory, self.place_of(machine.structure)
        line_s = machine.structure.transfer_s(0)[place != place[0]]
        if not self.assumed or not line_s.any():
            return self
        domains = self.places == "domain"
        between_Bps = memory.link_bandwidth_Bps
        own_Bps = memory.core_bandwidth_Bps * float(np.bincount(place).max())
        return replace(
            self,
            latency_s=memory.remote_latency_s if domains else float(np.median(line_s)),
            link_Bps=min(between_Bps, machine.domain_Bps) if domains else own_Bps,
            hop_Bps=self.hop_Bps if self.hop_Bps < inf else between_Bps,
            memory_latency_s=self.memory_latency_s or memory.latency_s,
            memory_Bps=min(
                self.memory_Bps, machine.bandwidth_Bps / len(machine.structure.interconnect.memories)
            ),
        )

    def note(self, machine: Machine) -> str | None:
        """Return what is assumed of a machine's ways; None where nothing is."""
        if self._only_to_devices(machine):
            return None
        ways = self.resolved(machine)
        limits_Bps = min(self.link_Bps, self.hop_Bps, self.memory_Bps)
        if (
            ways is self
            and self.assumed
            and limits_Bps == inf
            and not self.hop_latency_s + self.memory_latency_s
        ):
            return f"data={self.mode}: moving objects takes no time, as nothing is stated of their ways; {STATE_THEM}"
        if ways is self:
            return None
        return (
            f"data={self.mode}: nothing is stated of the links of places; assumed are {format_bytes(ways.link_Bps)}/s "
            f"and {format_time(ways.latency_s)} for each {self.places}, from its memory and its cache lines; "
            f"{STATE_THEM}, if you know them"
        )

    def _only_to_devices(self, machine: Machine) -> bool:
        """Whether all ways of objects are the links of devices: other cores have one place, and inputs are there."""
        place = self.place_of(machine.structure)[~machine.is_device]
        return self.home == "everywhere" and self.route == "direct" and len(np.unique(place)) < 2

    def place_of(self, structure: Structure) -> Index:
        """Return the place of each core, int32 (n_cores,), numbered from 0."""
        if self.places == "core":
            return np.arange(structure.n_cores, dtype=np.int32)
        return structure.tile_of if self.places == "tile" else structure.domain_of


def _rows(matrix: Matrix | None) -> Rows:
    """Return a matrix in SI units; empty without one."""
    if matrix is None:
        return ()
    unit = factor(matrix.unit)
    return tuple(tuple(value * unit for value in row) for row in matrix.value)


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
    link_Bps, link_latency_s : tuple of float
        For kinds that are devices, bytes per second and seconds on the link that joins each of their cores to the
        others; 0 for other kinds.
    memory_B : tuple of float
        Bytes of the memory of each core that is a device; infinite where unknown.
    flops_ratio, bandwidth_ratio : tuple of float
        Operations and bytes per second of a core of each kind, over those of the file's `[cores]` and memory; empty
        where the file states speeds alone.
    start_s : tuple of float
        Seconds that each task takes there besides, as the launch of a kernel; empty for none.
    repeats : int
        How often the order of the kinds repeats over the cores: once, or in each tile.
    element_flops : mapping of str to tuple of float
        As `Machine.element_flops`, of each kind, where the file states them by kind.

    Examples
    --------
    >>> from simsched.machine.ways import Kinds
    >>> Kinds(("P", "E"), (2, 4), (1.0, 0.5)).of_core.tolist()
    [0, 0, 1, 1, 1, 1]
    >>> Kinds(("CPE", "MPE"), (4, 2), (1.0, 2.0), repeats=2).of_core.tolist()
    [0, 0, 1, 0, 0, 1]
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    speeds: tuple[float, ...]
    link_Bps: tuple[float, ...] = ()
    link_latency_s: tuple[float, ...] = ()
    memory_B: tuple[float, ...] = ()
    flops_ratio: tuple[float, ...] = ()
    bandwidth_ratio: tuple[float, ...] = ()
    start_s: tuple[float, ...] = ()
    repeats: int = 1
    element_flops: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: KindsTable | None, n_cores: int, cores: Cores, core_Bps: float) -> Kinds | None:
        """Return the kinds of a checked `[kinds]` table, in proportion to other cores than stated; None without one.

        Parameters
        ----------
        table : KindsTable or None
        n_cores : int
            Cores of the machine.
        cores : Cores
            What the file states of its cores.
        core_Bps : float
            What one of them gets from memory.

        Raises
        ------
        MachineError
            If the kinds have other numbers of cores than the machine, or compute narrow elements slower than FP32.
        """
        if table is None:
            return None
        if table.each:
            return cls(tuple(f"core {core}" for core in range(n_cores)), (1,) * n_cores, (1.0,) * n_cores)
        counts, repeats = _counts(table, n_cores, cores)
        zero, one = (0.0,) * len(counts), (1.0,) * len(counts)
        sizes = table.values("memory_size", zero)
        flops, Bps = _ratios(table, cores, core_Bps)
        return cls(
            table.names,
            counts,
            table.values("speed", tuple(map(min, flops, Bps)) or one),
            table.values("link_bandwidth", zero),
            table.values("link_latency", zero),
            tuple(size or inf for size in sizes),
            flops,
            Bps,
            table.values("start", ()),
            repeats,
            _element_flops(table, cores),
        )

    @cached_property
    def is_device(self) -> npt.NDArray[np.bool_]:
        """Whether each core is a device, with a memory and a link of its own; bool (n_cores,)."""
        own_link = [bps > 0 for bps in self.link_Bps] or [False] * len(self.counts)
        found = np.array(own_link)[self.of_core]
        found.setflags(write=False)
        return found

    def threads(self, smt: int) -> tuple[int, ...]:
        """Return the hardware threads in use of each kind, of `smt` ways a core; 0 of devices."""
        first = np.unique(self.of_core, return_index=True)[1]
        return tuple(np.where(self.is_device[first], 0, np.array(self.counts) * smt).tolist())

    @cached_property
    def of_core(self) -> Index:
        """Kind of each core, int32 (n_cores,)."""
        each = np.array(self.counts) // self.repeats
        found = np.tile(np.repeat(np.arange(len(each), dtype=np.int32), each), self.repeats)
        found.setflags(write=False)
        return found


def _element_flops(table: KindsTable, cores: Cores) -> dict[str, tuple[float, ...]]:
    """Return operations per second of narrow elements over those of FP32, of each kind, where the file states them."""
    flops = table.values("flop_per_cycle", (si(cores.flop_per_cycle),) * len(table.names))
    stated = {element: table.values(f"{element}_per_cycle", ()) for element in NARROW}
    for element, numbers in stated.items():
        for name, number, of_fp32 in zip(table.names, numbers, flops, strict=False):
            try:
                check_narrow(f"kinds.{element}_per_cycle.{name}", number, of_fp32)
            except ValueError as mistake:
                raise MachineError(str(mistake)) from None
    return {
        element: tuple(number / of_fp32 for number, of_fp32 in zip(numbers, flops, strict=True))
        for element, numbers in stated.items()
        if numbers
    }


def _counts(table: KindsTable, n_cores: int, cores: Cores) -> tuple[tuple[int, ...], int]:
    """Return the cores of each kind, and how often their order repeats."""
    counts = tuple(map(int, table.cores.value)) if table.cores else ()
    sums = f"{' + '.join(map(str, counts))} cores are {sum(counts)}"
    if table.cores and table.cores.unit == "core/tile":
        tile = int(si(cores.per_tile))
        if sum(counts) != tile:
            raise MachineError(f"kinds.cores: {sums}; a tile has {tile}")
        return tuple(count * n_cores // tile for count in counts), n_cores // tile
    stated = int(si(cores.count))
    if sum(counts) == stated and all(count * n_cores % stated == 0 for count in counts):
        counts = tuple(count * n_cores // stated for count in counts)
    if sum(counts) != n_cores:
        raise MachineError(f"kinds.cores: {sums}; the machine has {n_cores}")
    return counts, 1


def whole_shares(table: KindsTable | None, n_cores: int) -> int:
    """Return the number of cores in whole multiples of which kinds keep their shares of `n_cores`.

    >>> import simsched as ss
    >>> ss.machine("core-i7-1370p").kinds.counts, ss.machine("core-i7-1370p[cores=7]").kinds.counts
    ((6, 8), (3, 4))
    """
    if table is None or table.cores is None or sum(table.cores.value) != n_cores:
        return 1
    return n_cores // gcd(*map(int, table.cores.value))


def _ratios(table: KindsTable, cores: Cores, core_Bps: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return operations and bytes per second of each kind over those of a file's cores; empty where not stated."""
    if not {"clock", "flop_per_cycle", "core_bandwidth"} & table.rows.keys():
        return (), ()
    clock, per_cycle = si(cores.clock), si(cores.flop_per_cycle)
    n = len(table.names)
    clocks, cycles = table.values("clock", (clock,) * n), table.values("flop_per_cycle", (per_cycle,) * n)
    flops = tuple(hz * each / (clock * per_cycle) for hz, each in zip(clocks, cycles, strict=True))
    return flops, tuple(Bps / core_Bps for Bps in table.values("core_bandwidth", (core_Bps,) * n))
