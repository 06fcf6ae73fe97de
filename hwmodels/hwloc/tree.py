"""The object tree of an hwloc file, walked once: its objects, the objects around each core, distances of memories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from simsched.hwmodels.hwloc.xml import MOST_INDEX, Element, Fields
from simsched.hwmodels.topology import Cache, Package, whole

_CACHE = re.compile(r"L([1-5])(i?)Cache")
#: Containers of cores without further properties; `Socket` is `Package` in old files.
_HOLDERS = frozenset(
    {"System", "Machine", "Group", "Die", "Cluster", "Misc", "NUMANode", "MemCache", "Package", "Socket"}
)
#: Objects without cores: devices.
_DEVICES = frozenset({"Bridge", "PCIDev", "OSDev"})
_INSTRUCTIONS = "2"
_MOST_B = 2**60


@dataclass(frozen=True)
class Place:
    """Surroundings of an object: its package, its caches by level, and its core; -1 where there is none."""

    package: int = -1
    caches: tuple[int, ...] = (-1,) * 6
    core: int = -1


@dataclass
class FoundCore:
    """A core of the file, with the numbers of its hardware threads."""

    element: Element
    place: Place
    pus: list[int] = field(default_factory=list)


@dataclass
class FoundNode:
    """A memory of the file; `cores` are those found below the object that holds it."""

    element: Element
    depth: int
    parent: Element
    cores: range = range(0)


@dataclass
class Tree:
    """Objects of a file in its order, which is hwloc's logical order."""

    fields: Fields
    machine: Element
    packages: list[Package] = field(default_factory=list)
    caches: list[Cache] = field(default_factory=list)
    cores: list[FoundCore] = field(default_factory=list)
    nodes: list[FoundNode] = field(default_factory=list)
    alone: list[FoundCore] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @cached_property
    def _machine_infos(self) -> dict[str, str]:
        """The machine's own description."""
        return self.fields.infos(self.machine)

    def visit(self, element: Element, parent: Element, place: Place, depth: int) -> None:
        """Visit an object and all objects below it."""
        kind = element.attributes.get("type", "")
        if kind in _DEVICES:
            return
        first, nodes = len(self.cores), len(self.nodes)
        if match := _CACHE.fullmatch(kind):
            place = self._cache(element, place, int(match[1]), instructions=bool(match[2]))
        elif kind == "Cache":
            level = self.fields.number(element, "depth", most=5)
            place = self._cache(
                element, place, level, instructions=element.attributes.get("cache_type") == _INSTRUCTIONS
            )
        elif kind in {"Package", "Socket"}:
            self.packages.append(self.package(element))
            place = replace(place, package=len(self.packages) - 1)
        elif kind == "Core":
            place = replace(place, core=len(self.cores))
            self.cores.append(FoundCore(element, place))
        elif kind == "PU":
            self._thread(element, place)
        elif kind == "NUMANode":
            self.nodes.append(FoundNode(element, depth, parent))
        elif kind not in _HOLDERS:
            self._unknown(element, kind)
        for child in element.named("object"):
            self.visit(child, element, place, depth + 1)
        for node in self.nodes[nodes:]:
            if node.parent is element:
                node.cores = range(first, len(self.cores))

    def _cache(self, element: Element, place: Place, level: int, *, instructions: bool) -> Place:
        if instructions or not level:
            return place
        size_B = self.fields.number(element, "cache_size", most=_MOST_B, default=0)
        line_B = self.fields.number(element, "cache_linesize", most=2**20, default=0)
        self.caches.append(Cache(level, size_B, line_B))
        caches = list(place.caches)
        caches[level] = len(self.caches) - 1
        return replace(place, caches=tuple(caches))

    def package(self, element: Element) -> Package:
        """Return the processor in an object's attributes."""
        # Files of hwloc 1.0 to 1.6 and of Arm machines state it for the machine.
        infos = {**self._machine_infos, **self.fields.infos(element)}

        def first(*names: str) -> str:
            return next((infos[name] for name in names if name in infos), "")

        return Package(
            first("CPUModel"),
            first("CPUVendor", "CPUImplementer"),
            whole(first("CPUFamilyNumber")),
            whole(first("CPUModelNumber", "CPUPart")),
            whole(first("CPUStepping")),
        )

    def _thread(self, element: Element, place: Place) -> None:
        index = self.fields.number(element, "os_index", most=MOST_INDEX)
        if place.core >= 0:
            self.cores[place.core].pus.append(index)
        else:
            self.alone.append(FoundCore(element, place, [index]))

    def _unknown(self, element: Element, kind: str) -> None:
        if not kind:
            raise self.fields.wrong(element, "an object without a type")
        note = (
            f"objects of type {kind[:40]!r} are not known; what they hold is read as if they were not there"
        )
        if note not in self.notes and len(self.notes) < 20:
            self.notes.append(note)


Matrix = tuple[tuple[float, ...], ...]

#: The bit of a matrix's kind that marks its values as latencies.
_LATENCIES = 4
#: Largest value, and most matrices of an old file that are read.
_MOST, _MOST_OLD = 2**40, 16


def distances_of(fields: Fields, root: Element, machine: Element, nodes: Sequence[FoundNode]) -> Matrix:
    """Return the first matrix of latencies between all given memories, in their order; empty where there is none.

    Raises
    ------
    MachineError
        If a matrix is not square, or names memories that the file does not have.
    """
    if not nodes:
        return ()
    for element in root.named("distances2"):
        kind = fields.number(element, "kind", most=2**31)
        if element.attributes.get("type") == "NUMANode" and kind & _LATENCIES:
            return _recent(fields, element, nodes)
    for element in machine.named("distances")[:_MOST_OLD]:
        if fields.number(element, "nbobjs", most=MOST_INDEX) == len(nodes):
            # An old matrix covers all objects that are so many levels below its owner, here the machine.
            depth = fields.number(element, "relative_depth", most=100)
            if all(node.depth == depth for node in nodes):
                return _old(fields, element, len(nodes))
    return ()


def _recent(fields: Fields, element: Element, nodes: Sequence[FoundNode]) -> Matrix:
    """Read a matrix of hwloc 2 and later, which names its memories by their numbers."""
    key = "gp_index" if element.attributes.get("indexing") == "gp" else "os_index"
    indexes = fields.numbers(element, "indexes", most=2**62)
    values = fields.numbers(element, "u64values", most=_MOST)
    place = {index: place for place, index in enumerate(indexes)}
    if len(place) != len(indexes) or len(values) != len(indexes) ** 2:
        raise fields.wrong(
            element,
            f"{len(indexes)} indexes ({len(place)} of them different) and {len(values)} values are not a matrix",
        )
    wanted = [place.get(fields.number(node.element, key, most=2**62, default=2**62)) for node in nodes]
    # Memories that the matrix leaves out (a GPU's, say) have no distances, so the machine has none.
    rows = [row for row in wanted if row is not None]
    if len(rows) != len(nodes):
        return ()
    return tuple(tuple(float(values[a * len(indexes) + b]) for b in rows) for a in rows)


def _old(fields: Fields, element: Element, count: int) -> Matrix:
    """Read a matrix of hwloc 1, in the order of the file and relative to `latency_base`."""
    base = fields.decimal(element, "latency_base")
    values = [base * fields.decimal(child, "value") for child in element.named("latency")]
    if len(values) != count**2:
        raise fields.wrong(element, f"{len(values)} latencies are not a matrix of {count} memories")
    return tuple(tuple(values[row * count : (row + 1) * count]) for row in range(count))
