"""Construction of a machine file from a topology and a machine with the missing numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import MachineError
from simsched.hwmodels.core_machine import CoreNumbers, clusters_of, socket_content, with_clusters
from simsched.hwmodels.cores import CoreModel
from simsched.hwmodels.sockets_table import needed_times
from simsched.hwmodels.topology import Core, Topology
from simsched.machine import Machine, machine
from simsched.machine.build import built
from simsched.machine.stated import TAKEN
from simsched.machine.variations import edited, quantities
from simsched.spec import Spec, format_scalar, parse_path
from simsched.text import counted
from simsched.units import format_bytes

#: From the least trusted to the most.
CONFIDENCES = ("unverified", "low", "med", "high")
#: What is said of kinds of cores that are not told apart.
ALIKE = "taken as alike"
#: Variations that do not concern the preset's numbers, but the machine that uses them.
OF_THE_OTHER = ("cores", "smt", "cluster", "reuse_teams")

Table = dict[str, Any]


def number(value: float | list[float], unit: str, source: str, confidence: str = "high") -> Table:
    """Return a quantity in the form of a machine file."""
    return {"value": value, "unit": unit, "source": source, "confidence": confidence}


@dataclass(frozen=True)
class Preset:
    """A machine, and the confidence in its numbers for another.

    Parameters
    ----------
    machine : Machine
        The machine.
    stated : mapping
        Its file, variations included.
    most : str
        Highest confidence that a number of it has for the other: "high" for the same processor.
    core : CoreModel, optional
        The core whose numbers these are, where they come from the table of cores: then their sources say all.
    """

    machine: Machine
    stated: Mapping[str, Any]
    most: str
    core: CoreModel | None = None

    @classmethod
    def of_core(cls, core: CoreModel, topology: Topology) -> Preset:
        """Return a socket of a core of the table."""
        content = socket_content(core, topology.model)
        return cls(built(content, Spec(core.name)), content, "high", core)

    @classmethod
    def named(cls, like: str, topology: Topology, most: str = "low") -> Preset:
        """Return the machine of a name or file; numbers of the same processor keep their confidence.

        Raises
        ------
        SpecError
            If no machine is called so.
        MachineError
            If its file is malformed, or a variation of it is none of its numbers.
        """
        found, spec = machine(like), parse_path(like)
        if wrong := [key for key in OF_THE_OTHER if key in spec.params]:
            raise MachineError(
                f"like={like}: {wrong[0]} is not a number to be taken from {spec.name}; write it behind: "
                f"[like={spec.name},{wrong[0]}={format_scalar(spec.params[wrong[0]])}]"
            )
        chips = re.findall(r"[0-9]{4}", spec.name)
        same = any(re.search(rf"\b{chip}\b", topology.model) for chip in chips)
        return cls(found, edited(found.content, spec.params, spec.name), "high" if same else most)

    @property
    def name(self) -> str:
        """Source that the numbers are attributed to."""
        return self.machine.spec

    @property
    def n_sockets(self) -> int:
        """Sockets of the machine."""
        return len(self.stated["structure"].get("sockets", [0]))

    def content(self) -> Table:
        """Return the machine's file with every number marked as taken from it."""
        content = deepcopy(dict(self.stated))
        for _, quantity in quantities(content):
            quantity.update(self.taken(quantity))
        return content

    def taken(self, quantity: Table) -> Table:
        """Return a quantity of the machine's file, marked; that of the table of cores as it is."""
        if self.core is not None:
            return dict(quantity)
        confidence = min(quantity["confidence"], self.most, key=CONFIDENCES.index)
        source = f"{TAKEN}{self.name}: {quantity['source']}"
        return number(quantity["value"], quantity["unit"], source, confidence)

    def assumed(self, value: float, unit: str, why: str) -> Table:
        """Return a quantity that follows from numbers of the machine, as its file does not state it."""
        return number(value, unit, f"assumed from {self.name}: {why}", "unverified")


#: From near to far; a time that the preset does not know is that of the next nearer known one.
NEAR_TO_FAR = ("same_tile", "same_l3", "same_socket", "other_socket")


def _times_of(preset: Preset) -> Table:
    """Return the times of `SocketsTable`, each marked as taken from the preset or assumed from it."""
    structure = preset.stated["structure"]
    if structure["kind"] == "sockets":
        known = {key: preset.taken(structure[key]) for key in NEAR_TO_FAR if key in structure}
    else:
        known = _measured(preset)
    times = dict(known)
    for nearer, key in pairwise(NEAR_TO_FAR):
        if key not in times and nearer in times:
            factor = 2 if key == "other_socket" else 1
            why = f"as {nearer}" if factor == 1 else f"twice {nearer}, as it has one socket"
            times[key] = preset.assumed(factor * times[nearer]["value"], times[nearer]["unit"], why)
    for key, farther in zip(NEAR_TO_FAR[-2::-1], NEAR_TO_FAR[:0:-1], strict=True):
        if key not in times and farther in times:
            times[key] = preset.assumed(times[farther]["value"], times[farther]["unit"], f"as {farther}")
    return times


def _measured(preset: Preset) -> Table:
    """Return the median times of another structure: within a tile, and between tiles."""
    machine = preset.machine
    seconds, tile = machine.transfer_s(0), machine.structure.tile_of
    groups = {"same_tile": seconds[1:][tile[1:] == tile[0]], "same_l3": seconds[tile != tile[0]]}
    return {
        key: number(float(np.median(values)) * 1e9, "ns", f"{TAKEN}{preset.name}: median from core 0", "low")
        for key, values in groups.items()
        if values.size
    } or {"same_l3": preset.assumed(0.0, "ns", "it has one core")}


KIB = 1024


def told_by(topology: Topology, value: float, unit: str, what: str = "") -> Table:
    """Return a quantity that the topology states."""
    return number(value, unit, f"{Path(topology.source).name} ({topology.dialect}){what and ': '}{what}")


def sockets_content(topology: Topology, preset: Preset, name: str) -> Table:
    """Return the machine file of packages, domains and L3 groups as in the topology.

    Unknown numbers come from the preset: those of the core unchanged, those of memory for as many sockets.
    """
    topology, filled = with_memory(topology)
    if filled == 1:
        topology = of_sockets(topology, preset.machine.n_cores / preset.n_sockets)
    places = in_order(topology)
    per_tile, why = _tile(topology)
    content = with_cores(preset.content(), topology, preset, name, per_tile)
    content["cores"]["per_tile"]["source"] += why
    with_sizes(content, topology)
    known = {
        "schema",
        "name",
        "title",
        "doubts",
        "cores",
        "structure",
        "memory",
        "caches",
        "runtime",
        "effects",
    }
    for key in content.keys() - known - ({"power"} if preset.core else set()):
        # Parts of other kinds of machines: contention of writers, scratch memory.
        del content[key]
    domains = [len(run) for run in _runs(places, lambda core: _domain(topology, core))]
    sockets = [len(run) for run in _runs(places, lambda core: core.package)]
    l3 = [len(run) for run in _runs(places, lambda core: core.l3)] if topology.n_caches(3) else domains
    needed = needed_times(sockets, l3, per_tile)
    content["structure"] = {
        "kind": "sockets",
        "sockets": sockets,
        "domains": domains,
        "l3": l3,
        **{key: time for key, time in _times_of(preset).items() if key in needed},
    }
    _scale_memory(content, topology, preset, len(domains), filled)
    if preset.core:
        _of_the_core(content, preset.core, topology.model)
    if per_tile != preset.machine.cores_per_tile:
        content["caches"].pop("tile_slowdown", None)
    return content


def with_memory(topology: Topology) -> tuple[Topology, float]:
    """Return a topology whose cores have memory, and the share of its memories that hold some.

    Cores of a memory of 0 bytes, whose channels are empty, use the only one that holds some; with several, a doubt says
    that they have one. Another doubt names memories that are no core's own.
    """
    own = sorted({core.domain for core in topology.cores} - {-1})
    nodes = dict(enumerate(topology.numa))
    if left := [node for place, node in nodes.items() if place not in own and node.memory_B]:
        shown = " and ".join(f"{format_bytes(node.memory_B)} of node {node.os_index}" for node in left[:3])
        more = f" and of {len(left) - 3} others" if len(left) > 3 else ""
        topology = topology.doubting(
            f"memory beside that of the cores' own NUMA nodes is left out: {shown}{more}"
        )
    filled = [place for place in own if nodes[place].memory_B]
    empty = [nodes[place].os_index for place in own if not nodes[place].memory_B]
    if not filled or not empty:
        return topology, 1.0
    shown = f"NUMA node {', '.join(map(str, empty))} of 0 bytes"
    if len(filled) > 1:
        doubt = "modelled with memory as fast as the others', though its channels may be empty"
        return topology.doubting(f"{shown}: {doubt}; bandwidth_Bps=X gives another"), 1.0
    near = (
        f"cores there use the memory of node {nodes[filled[0]].os_index}, with the latency of those beside it"
    )
    topology = topology.doubting(f"{shown}: taken for empty channels; {near}")
    cores = tuple(replace(core, domain=filled[0]) for core in topology.cores)
    return replace(topology, cores=cores), len(filled) / len(own)


#: Packages on one memory are sockets where one has so many cores, and this share of those of a socket.
LEAST_CORES, LEAST_SHARE = 4, 0.25


def of_sockets(topology: Topology, whole: float) -> Topology:
    """Return a topology of packages that are sockets, where there are more packages than memories.

    Firmware can spread the memory of all sockets over one NUMA node; then each package has a memory. Virtual machines
    show each few of their cores as a package; these are joined, a package for each memory.

    Parameters
    ----------
    topology : Topology
    whole : float
        Cores of a socket.
    """
    sizes = Counter(core.package for core in topology.cores)
    memories = sorted({core.domain for core in topology.cores})
    if not topology.knows_memory or len(sizes) <= len(memories):
        return topology
    most = max(sizes.values())
    shown = f"{len(sizes)} packages of {counted(most, 'core')} share {counted(len(memories), 'NUMA node')}"
    if most >= max(LEAST_CORES, LEAST_SHARE * whole):
        doubt = "sockets with a memory each, over which the firmware spreads data"
        return topology.doubting(f"{shown}: taken for {doubt}; bandwidth_Bps=X gives another")
    doubt = "a virtual machine with a socket's memory for each node"
    topology = topology.doubting(f"{shown}: taken for {doubt}; bandwidth_Bps=X gives another")
    return replace(
        topology,
        packages=topology.packages[: len(memories)],
        cores=tuple(replace(core, package=memories.index(core.domain)) for core in topology.cores),
    )


#: Share by which the cores of a socket may differ from those of another whose power limit it has.
LIKE_IT = 0.2


def _of_the_core(content: Table, core: CoreModel, model: str) -> None:
    """Put what only the table of cores knows into a machine file: clusters, where they fit, power, costs of teams."""
    content["runtime"] = CoreNumbers(core).runtime(sum(content["structure"]["sockets"]))
    structure = content["structure"]
    with_clusters(content, _clusters(core, structure, int(content["cores"]["per_tile"]["value"])))
    sockets, built = structure["sockets"], core.known["cores"].value
    if "power" in content and (
        "power" in core.own(model) or abs(sum(sockets) / len(sockets) - built) <= LIKE_IT * built
    ):
        content["power"]["limit"]["value"] *= len(sockets)
    else:
        content.pop("power", None)


def _clusters(core: CoreModel, structure: Table, per_tile: int) -> list[int]:
    """Return the cores of each cluster: of so many L3s, where it has whole ones, or as many as the table says."""
    l3 = structure["l3"]
    if core.cluster_l3s == 1:
        return list(l3)
    alike = core.cluster_l3s and len(set(l3)) == 1
    sizes = [core.cluster_l3s * l3[0]] * (len(l3) // core.cluster_l3s) if alike else []
    sizes = sizes if sum(sizes) == sum(l3) else clusters_of(core, structure["sockets"])
    size = sizes[0] if sizes else 1
    whole = size % per_tile == 0 and all(domain % size == 0 for domain in structure["domains"])
    return sizes if whole and all(group % size == 0 or size % group == 0 for group in l3) else []


def with_cores(content: Table, topology: Topology, preset: Preset, name: str, per_tile: int) -> Table:
    """Return a machine file with the name, the cores, and the known clock data of a topology."""
    cores = content["cores"]
    ways = min(len(core.pus) for core in topology.cores)
    unequal = "" if ways == topology.smt_ways else f", at most {topology.smt_ways}: taken as the fewest"
    seen = "; ".join((topology.summary(), *topology.notes))
    if len({core.kind for core in topology.cores}) > 1:
        seen += f"; cores of several kinds, {ALIKE}"
    plain = re.sub(r"[^A-Za-z0-9_.+-]+", "-", name)
    content["name"] = re.sub(r"^[^A-Za-z0-9]+|-+$", "", plain) or "machine"
    content["title"] = f"{topology.title}, " + (
        preset.core.title if preset.core else f"numbers of {preset.name}"
    )
    own = preset.core.chip(topology.model).doubt if preset.core else ""
    content["doubts"] = [*topology.doubts, *filter(None, [own])]
    cores["count"] = told_by(topology, len(topology.cores), "core", seen)
    cores["per_tile"] = told_by(topology, per_tile, "core/tile", "cores that share an L2")
    cores["smt_ways"] = told_by(topology, ways, "thread/core", f"hardware threads of a core{unequal}")
    if clock := _clock(topology):
        cores["clock"] = clock
    for key in ("compute_throughput", "memory_throughput"):
        if key in cores:
            values = list(cores[key]["value"])
            # Ways beyond those of the preset have no measured addition.
            cores[key]["value"] = (values + values[-1:] * ways)[:ways]
    return content


def with_sizes(content: Table, topology: Topology) -> None:
    """Put the sizes of caches into a machine file; those unknown to the topology stay."""
    caches = content.setdefault("caches", {})
    for level, key, unit in ((1, "l1d", "KiB/core"), (2, "l2", "KiB/tile")):
        sizes_B = [cache.size_B for cache in topology.caches if cache.level == level and cache.size_B]
        if sizes_B:
            commonest_B, count = Counter(sizes_B).most_common(1)[0]
            others = "" if count == len(sizes_B) else f": the commonest, of {count} of {len(sizes_B)}"
            caches[key] = told_by(topology, commonest_B / KIB, unit, f"L{level}{others}")
    sizes_B = [cache.size_B for cache in topology.caches if cache.level == 3 and cache.size_B]
    if sizes_B:
        domains = len(_runs(in_order(topology), lambda core: _domain(topology, core)))
        caches["l3"] = told_by(
            topology,
            sum(sizes_B) / KIB / domains,
            "KiB/domain",
            f"{len(sizes_B)} L3 in {domains} domain{'s' * (domains > 1)}",
        )
    else:
        caches.pop("l3", None)


def in_order(topology: Topology) -> list[Core]:
    """Return the cores such that those of a package, a domain, an L3 and an L2 are neighbours."""
    return sorted(topology.cores, key=lambda core: (core.package, core.domain, core.l3, core.l2))


def _domain(topology: Topology, core: Core) -> int:
    # Readers of CPUID alone know no memory, and report one for all: then each package has its own.
    return core.domain if topology.knows_memory else core.package


def _runs(cores: Sequence[Core], key: Callable[[Core], int]) -> list[list[Core]]:
    return [list(run) for _, run in groupby(cores, key=key)]


def _tile(topology: Topology) -> tuple[int, str]:
    """Return the cores of a tile, and a remark on it: machines have tiles of one size."""
    sizes = Counter(len(tile) for tile in topology.grouped("l2"))
    if len(sizes) == 1:
        return next(iter(sizes)), ""
    known = " or ".join(map(str, sorted(sizes)))
    return 1, f"; here by {known} cores, and tiles of unequal size are not modelled: one core each"


def _clock(topology: Topology) -> Table | None:
    if stated := re.search(r"@ ([0-9]{1,2}\.[0-9]{1,3}) ?GHz", topology.model):
        return told_by(topology, float(stated[1]), "GHz", f"nominal, in {topology.model!r}")
    kinds = {topology.kinds[core.kind] for core in topology.cores if core.kind >= 0}
    slowest = "" if len(kinds) < 2 else ", of the slowest kind of core"
    for clock, what, confidence in (
        ("base_Hz", "nominal", "high"),
        ("most_Hz", "highest", "low"),
        ("now_Hz", "when it was read", "low"),
    ):
        told_Hz = [getattr(kind, clock) for kind in kinds if getattr(kind, clock)]
        if told_Hz:
            return told_by(topology, min(told_Hz) / 1e9, "GHz", what + slowest) | {"confidence": confidence}
    return None


def _scale_memory(content: Table, topology: Topology, preset: Preset, domains: int, filled: float) -> None:
    """Give every socket the memory of one of the preset's, as far as memories are filled, and each domain its share."""
    memories = f"{len(topology.packages) * filled:g}"
    factor, rating = len(topology.packages) * filled / preset.n_sockets, _rating(topology)
    cluster = getattr(preset.machine.structure, "cluster", "any")
    own = {core.domain for core in topology.cores} - {-1}
    size_B = sum(topology.numa[place].memory_B for place in own)
    for key, mode in content["memory"]["modes"].items():
        if factor != 1:
            for bandwidth in (mode[of] for of in ("bandwidth", "peak") if of in mode):
                bandwidth["value"] *= factor
                bandwidth["source"] += f"; times {memories}/{preset.n_sockets}, for so many sockets"
        for latency in ("latency", "remote_latency"):
            known = mode.pop(latency, {})
            if cluster in known or "any" in known:
                mode[latency] = {"any": known.get(cluster, known.get("any"))}
        if domains == 1:
            mode.pop("remote_latency", None)
            mode.pop("link_bandwidth", None)
        elif "remote_latency" not in mode and "latency" in mode and rating > 1:
            local = mode["latency"]["any"]
            source = f"{local['source']}; times {rating:.3g}, as the firmware rates other domains"
            mode["remote_latency"] = {"any": number(local["value"] * rating, local["unit"], source, "low")}
        if size_B and key == content["memory"]["mode"]:
            mode["size"] = told_by(topology, size_B, "B")
        else:
            mode.pop("size", None)


def _rating(topology: Topology) -> float:
    """Return the mean firmware rating of other domains over a domain's own; 1 where unrated."""
    own = {core.domain for core in topology.cores} - {-1}
    pairs = [(a, b) for a in own for b in own if a != b]
    if not topology.distances or not pairs or any(topology.distances[a][a] <= 0 for a in own):
        return 1.0
    ratios = [topology.distances[a][b] / topology.distances[a][a] for a, b in pairs]
    return max(sum(ratios) / len(ratios), 1.0)
