"""`Topology`: the parts of a machine, as hwloc files and running systems describe them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace

from simsched.text import counted


def whole(text: str) -> int:
    """Return a number of a processor as it is written, decimal or as `0xd0c`; -1 where it is none.

    Examples
    --------
    >>> whole("85"), whole("0xd0c"), whole("r1p0")
    (85, 3340, -1)
    """
    if re.fullmatch(r"0x[0-9a-fA-F]{1,7}", text):
        return int(text, 16)
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else -1


@dataclass(frozen=True)
class Package:
    """A processor chip in its socket; what is unknown is "" or -1.

    Parameters
    ----------
    model : str
        Name of the processor: `Intel(R) Xeon Phi(TM) CPU 7250 @ 1.40GHz`.
    vendor : str
        `GenuineIntel`, `AuthenticAMD`, ...; of Arm the implementer, as `0x41`.
    family, number : int
        CPU family and model number; of Arm no family, and the part.
    stepping : int
        Stepping of x86 processors.
    """

    model: str = ""
    vendor: str = ""
    family: int = -1
    number: int = -1
    stepping: int = -1


@dataclass(frozen=True)
class NumaNode:
    """A memory that the operating system numbers.

    Parameters
    ----------
    os_index : int
        That number.
    kind : str
        "DRAM", "MCDRAM", "HBM", ...; "DRAM" where nothing else is known.
    memory_B : int
        Its size, 0 where it is unknown.
    cores : tuple of int
        Cores it is near to, by their place in `Topology.cores`; empty where none are.
    """

    os_index: int
    kind: str
    memory_B: int
    cores: tuple[int, ...]


@dataclass(frozen=True)
class Cache:
    """A data or unified cache.

    Parameters
    ----------
    level : int
        1 for an L1, and so on.
    size_B, line_B : int
        Its size and that of its lines, 0 where they are unknown.
    """

    level: int
    size_B: int
    line_B: int


@dataclass(frozen=True)
class CoreKind:
    """A kind of core of a machine that has several: performance and efficiency cores.

    Parameters
    ----------
    name : str
        `IntelCore`, `IntelAtom`, ...; "" where it is unknown.
    base_Hz, most_Hz, now_Hz : float
        Nominal clock, highest clock, and that of the moment of reading; 0 where they are unknown.
    """

    name: str = ""
    base_Hz: float = 0.0
    most_Hz: float = 0.0
    now_Hz: float = 0.0


@dataclass(frozen=True)
class Core:
    """A core; places in the tuples of its `Topology`, -1 where there is no such thing.

    Parameters
    ----------
    pus : tuple of int
        Its hardware threads, by the numbers that the operating system gives them.
    package, kind : int
        Its `Package` and its `CoreKind`.
    domain : int
        The `NumaNode` it allocates from first.
    l1, l2, l3 : int
        Its data or unified caches.
    """

    pus: tuple[int, ...]
    package: int
    kind: int
    domain: int
    l1: int
    l2: int
    l3: int


@dataclass(frozen=True)
class Topology:
    """Packages, memories, caches and cores of a machine.

    Parameters
    ----------
    source : str
        The file, or the system, it comes from.
    dialect : str
        Source and format: `hwloc 1.x`, `hwloc 2.0`, `hwloc 3.0`, `sysfs`.
    writer : str
        The version of hwloc that first discovered it, "" where it is unknown.
    packages, numa, caches, kinds : tuple
        The parts that the cores refer to.
    cores : tuple of Core
        In logical order: by packages, domains and caches.
    distances : tuple of tuples of float
        Latencies between the memories of `numa` as the firmware rates them, 10 being local; empty where unknown.
    notes : tuple of str
        Notes for readers of the file: omissions and assumptions.
    doubts : tuple of str
        What may be otherwise: `Machine.notes` begins with them.
    """

    source: str
    dialect: str
    writer: str
    packages: tuple[Package, ...]
    numa: tuple[NumaNode, ...]
    caches: tuple[Cache, ...]
    kinds: tuple[CoreKind, ...]
    cores: tuple[Core, ...]
    distances: tuple[tuple[float, ...], ...] = ()
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def doubting(self, doubt: str) -> Topology:
        """Return it with one more doubt."""
        return replace(self, doubts=(*self.doubts, doubt))

    @property
    def n_pus(self) -> int:
        """Number of hardware threads."""
        return sum(len(core.pus) for core in self.cores)

    @property
    def smt_ways(self) -> int:
        """Hardware threads of the core with the most."""
        return max(len(core.pus) for core in self.cores)

    @property
    def model(self) -> str:
        """Name of the processor, "" where it is unknown."""
        return next((package.model for package in self.packages if package.model), "")

    @property
    def title(self) -> str:
        """Name for readers: the processor, and its number."""
        packages = f"{len(self.packages)} x " if len(self.packages) > 1 else ""
        return f"{packages}{self.model or 'a processor without a name'}, {counted(len(self.cores), 'core')}"

    @property
    def knows_memory(self) -> bool:
        """Whether memories are known at all; what reads CPUID alone gives one of no size, for all packages."""
        return any(node.memory_B for node in self.numa) or len(self.numa) > 1

    def n_caches(self, level: int) -> int:
        """Return the number of data or unified caches of a level."""
        return sum(cache.level == level for cache in self.caches)

    def grouped(self, attribute: str) -> list[tuple[int, ...]]:
        """Return the cores that share a "package", "domain", "l1", "l2" or "l3", in the order of their first core.

        A core that has none is a separate group, except that those without a package or domain share one.
        """
        groups: dict[object, list[int]] = {}
        for index, core in enumerate(self.cores):
            place = getattr(core, attribute)
            alone = place < 0 and attribute in {"l1", "l2", "l3"}
            groups.setdefault(("alone", index) if alone else place, []).append(index)
        return [tuple(cores) for cores in groups.values()]

    def summary(self) -> str:
        """Return one line: the number of all parts, and the processor."""
        parts = [
            counted(len(self.packages), "package"),
            counted(len(self.numa), "NUMA node"),
            f"{self.n_caches(3)} L3, {self.n_caches(2)} L2",
            counted(len(self.cores), "core"),
            counted(self.n_pus, "hardware thread"),
        ]
        kinds = Counter(self.kinds[core.kind].name for core in self.cores if core.kind >= 0)
        mixed = (
            ""
            if len(kinds) < 2
            else " (" + ", ".join(f"{n} {name or '?'}" for name, n in kinds.items()) + ")"
        )
        return f"{self.model or 'unnamed processor'}: {', '.join(parts)}{mixed}"
