"""hwloc's XML files of the dialects 1.x, 2.x and 3.x: topologies, and machines with the numbers of one alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.graph.loading import plain_name
from simsched.hwmodels.described import described
from simsched.hwmodels.hwloc.tree import FoundCore, FoundNode, Place, Tree, distances_of
from simsched.hwmodels.hwloc.xml import MOST_INDEX, MOST_MEMORIES, Element, Fields, mask, read_elements
from simsched.hwmodels.topology import Core, CoreKind, NumaNode, Topology


class HwlocFiles:
    """Reader of hwloc's XML files as machines.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
    ... <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="Core" os_index="0" cpuset="0x1" nodeset="0x1">
    ... <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1"/></object>
    ... <object type="Core" os_index="1" cpuset="0x2" nodeset="0x1">
    ... <object type="PU" os_index="1" cpuset="0x2" nodeset="0x1"/></object>
    ... </object></object></topology>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.xml").write_text(text)
    ...     machine = ss.machine(f"{folder}/small.xml[like=xeon-8160x2]")
    ...     named = ss.machine(f"{folder}/small.xml[core=zen2]")
    >>> machine.n_cores, machine.core_flops == ss.machine("xeon-8160x2").core_flops, named.core_bandwidth_Bps
    (2, True, 20700000000.0)
    """

    suffixes: tuple[str, ...] = (".xml", ".xml.gz")

    def read(self, path: Path, like: str | None, core: str | None = None) -> Mapping[str, Any]:
        """Return the content of a machine file: structure and sizes of the topology, other numbers of `like` or `core`.

        Without both, the processor is looked up in the table of cores; a Xeon Phi is recognised.

        Raises
        ------
        MachineError
            If the file is malformed, or its processor is unknown and neither is given.
        """
        return described(read_topology(path), like, core, plain_name(path, ".xml"), str(path))


HWLOC = HwlocFiles()


#: Bounds of plausible values; `_MOST_NEAR` for all memories together.
_MOST_B, _MOST_KINDS, _MOST_NEAR = 2**60, 64, 2**22


def read_topology(path: str | Path) -> Topology:
    """Read an hwloc XML file, as `lstopo FILE.xml` writes it; plain or gzipped.

    Hardware threads and memories that the file marks as not allowed (its `allowed_cpuset` and `allowed_nodeset`) are
    left out, as `lstopo` leaves them out.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Topology
        Its packages, caches, cores and memories.

    Raises
    ------
    MachineError
        If it is no such file, or its content is impossible; with file, line, value and what to do.

    References
    ----------
    hwloc, "Importing and exporting topologies from/to XML files", and its `hwloc.dtd` and `hwloc2.dtd`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> text = '''<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
    ... <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="Core" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1"/>
    ... <object type="PU" os_index="1" cpuset="0x2" nodeset="0x1"/>
    ... </object></object></object></topology>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.xml").write_text(text)
    ...     topology = read_topology(Path(folder, "small.xml"))
    >>> len(topology.packages), len(topology.cores), topology.n_pus
    (1, 1, 2)
    """
    path = Path(path)
    fields = Fields(path)
    root = read_elements(path)
    dialect = _dialect(fields, root)
    tops = root.named("object")
    if len(tops) != 1:
        raise fields.wrong(root, f"{len(tops)} objects at the top; expected one, the machine")
    tree = Tree(fields, tops[0])
    tree.visit(tops[0], root, Place(), 0)
    return _topology(tree, root, dialect)


def _topology(tree: Tree, root: Element, dialect: str) -> Topology:
    fields = tree.fields
    found, nodes = _usable_cores(tree), _nodes(tree)
    numa = _numa(tree, nodes, found)
    packages = _in_use(core.place.package for core in found)
    caches = _in_use(cache for core in found for cache in core.place.caches)
    named = [tree.packages[old] for old in packages if old >= 0]
    if any(core.place.package < 0 for core in found):
        packages[-1] = len(named)
        named.append(tree.package(tree.machine))
    kinds = root.named("cpukind")
    if len(kinds) > _MOST_KINDS:
        raise fields.wrong(root, f"{len(kinds)} kinds of cores (cpukind); the most is {_MOST_KINDS}")
    masks = [mask(fields.bits(kind, "cpuset"), MOST_INDEX + 1) for kind in kinds]
    return Topology(
        source=str(fields.path),
        dialect=dialect,
        writer=fields.infos(tree.machine).get("hwlocVersion", ""),
        packages=tuple(named),
        numa=numa,
        caches=tuple(tree.caches[old] for old in caches if old >= 0),
        kinds=_kinds(fields, kinds),
        cores=_cores(masks, found, _domains(numa, len(found)), packages, caches),
        distances=distances_of(fields, root, tree.machine, nodes),
        notes=tuple(tree.notes),
    )


def _dialect(fields: Fields, root: Element) -> str:
    if root.tag == "topologydiff":
        raise fields.wrong(root, "this is the difference of two topologies, not a topology")
    if root.tag != "topology":
        raise fields.wrong(root, "not an hwloc file, which begins with <topology>")
    if (version := root.attributes.get("version")) is None:
        return "hwloc 1.x"
    if not re.fullmatch(r"[23]\.[0-9]{1,3}", version):
        raise fields.wrong(
            root, f"version={version[:20]!r} is not known; expected none (hwloc 1), 2.x or 3.x"
        )
    return f"hwloc {version}"


def _usable_cores(tree: Tree) -> list[FoundCore]:
    """Return the cores with a hardware thread that may be used."""
    if tree.alone and tree.cores:
        raise tree.fields.wrong(tree.alone[0].element, "a hardware thread outside of any core")
    if tree.alone:
        tree.notes.append("the file tells no cores; every hardware thread is taken for one")
    cores = tree.cores or tree.alone
    if not cores:
        raise tree.fields.wrong(tree.machine, "neither cores nor hardware threads (PU) in it")
    seen: set[int] = set()
    for core in cores:
        if not core.pus:
            raise tree.fields.wrong(core.element, "a core without hardware threads (PU)")
        for pu in core.pus:
            if pu in seen:
                raise tree.fields.wrong(core.element, f"two hardware threads have the number {pu}")
            seen.add(pu)
    allowed = mask(tree.fields.bits(tree.machine, "allowed_cpuset", default=-1), MOST_INDEX + 1)
    usable = []
    for core in cores:
        core.pus = [pu for pu in core.pus if allowed[pu]]
        if core.pus:
            usable.append(core)
    left_out = len(seen) - sum(len(core.pus) for core in usable)
    if not usable:
        raise tree.fields.wrong(tree.machine, "allowed_cpuset allows none of its hardware threads")
    if left_out:
        tree.notes.append(f"{left_out} hardware threads are left out, which allowed_cpuset does not allow")
    return usable


def _nodes(tree: Tree) -> list[FoundNode]:
    """Return the memories that may be used."""
    if len(tree.nodes) > MOST_MEMORIES:
        raise tree.fields.wrong(
            tree.machine, f"{len(tree.nodes)} memories (NUMANode); the most is {MOST_MEMORIES}"
        )
    allowed = mask(tree.fields.bits(tree.machine, "allowed_nodeset", default=-1), MOST_INDEX + 1)
    usable, seen = [], set()
    for node in tree.nodes:
        index = tree.fields.number(node.element, "os_index", most=MOST_INDEX)
        if index in seen:
            raise tree.fields.wrong(node.element, f"two memories have the number {index}")
        seen.add(index)
        if allowed[index]:
            usable.append(node)
    if len(usable) < len(tree.nodes):
        left_out = len(tree.nodes) - len(usable)
        tree.notes.append(f"{left_out} memories are left out, which allowed_nodeset does not allow")
    return usable


def _numa(tree: Tree, nodes: Sequence[FoundNode], cores: Sequence[FoundCore]) -> tuple[NumaNode, ...]:
    fields = tree.fields
    core_of = np.full(max(pu for core in cores for pu in core.pus) + 1, -1)
    for place, core in enumerate(cores):
        core_of[core.pus] = place
    places = {id(core): place for place, core in enumerate(cores)}
    found, total = [], 0
    for node in nodes:
        near = np.unique(core_of[mask(fields.bits(node.element, "cpuset"), len(core_of))]).tolist()
        near = [place for place in near if place >= 0]
        if not near:
            # Old files give the memory of a cluster other than DRAM an empty set.
            below = (tree.cores or tree.alone)[node.cores.start : node.cores.stop]
            near = [places[id(core)] for core in below if id(core) in places]
        if (total := total + len(near)) > _MOST_NEAR:
            raise fields.wrong(node.element, "memories that are near to more cores than any machine's")
        index = fields.number(node.element, "os_index", most=MOST_INDEX)
        memory_B = fields.number(node.element, "local_memory", most=_MOST_B, default=0)
        kind = node.element.attributes.get("subtype") or fields.infos(node.element).get("Type") or "DRAM"
        found.append(NumaNode(index, kind, memory_B, tuple(near)))
    if not found and (memory_B := fields.number(tree.machine, "local_memory", most=_MOST_B, default=0)):
        # A machine of uniform memory, as described by hwloc 1.
        found.append(NumaNode(0, "DRAM", memory_B, tuple(range(len(cores)))))
    return tuple(found)


def _kinds(fields: Fields, elements: Sequence[Element]) -> tuple[CoreKind, ...]:
    kinds = []
    for element in elements:
        infos = fields.infos(element)
        base_Hz, most_Hz = (_mhz(infos.get(f"Frequency{which}MHz", "")) for which in ("Base", "Max"))
        kinds.append(CoreKind(_name_of(infos), base_Hz, most_Hz))
    return tuple(kinds)


def _name_of(infos: Mapping[str, str]) -> str:
    """Return what a system calls a kind of core: Linux on Intel, macOS (`apple,icestorm;ARM,v8`), Linux on Arm."""
    apple, capacity = infos.get("DarwinCompatible", ""), infos.get("LinuxCapacity", "")
    return infos.get("CoreType") or apple.partition(";")[0] or (capacity and f"capacity {capacity}")


def _mhz(text: str) -> float:
    """Return megahertz in Hz, 0 where the text is no such number."""
    return int(text) * 1e6 if re.fullmatch(r"[0-9]{1,6}", text) else 0.0


def _domains(numa: Sequence[NumaNode], n_cores: int) -> list[int]:
    # Of the memories near to a core, its own is DRAM rather than anything else, and the one of the fewest cores.
    own = sorted(range(len(numa)), key=lambda n: (numa[n].kind != "DRAM", len(numa[n].cores)))
    domains = [-1] * n_cores
    for node in reversed(own):
        for core in numa[node].cores:
            domains[core] = node
    return domains


def _cores(
    masks: Sequence[npt.NDArray[np.bool_]],
    found: Sequence[FoundCore],
    domains: Sequence[int],
    packages: dict[int, int],
    caches: dict[int, int],
) -> tuple[Core, ...]:
    return tuple(
        Core(
            pus=tuple(core.pus),
            package=packages[core.place.package],
            kind=next((n for n, among in enumerate(masks) if among[core.pus[0]]), -1),
            domain=domain,
            l1=caches[core.place.caches[1]],
            l2=caches[core.place.caches[2]],
            l3=caches[core.place.caches[3]],
        )
        for core, domain in zip(found, domains, strict=True)
    )


def _in_use(places: Iterable[int]) -> dict[int, int]:
    """Return the new places of the containers of cores, in the old order; -1, nothing, stays."""
    return {-1: -1} | {old: new for new, old in enumerate(sorted(set(places) - {-1}))}
