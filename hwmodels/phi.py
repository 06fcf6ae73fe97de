"""Xeon Phi processors, recognised in a topology: their mesh or ring, and the use of their memory."""

from __future__ import annotations

import re

from simsched.errors import MachineError
from simsched.hwmodels.topology import Topology
from simsched.hwmodels.topology_machine import Preset, Table, sockets_content, told_by, with_cores, with_sizes

#: CPU family and model number: of Knights Landing; the family of Knights Corner.
LANDING, CORNER = (6, 87), 11
#: Machines that the numbers of a Knights Landing are taken from, by model; others by the number of cores.
MODELS = {"7210": "knl-7210", "7230": "knl-7210", "7250": "knl-7250", "7290": "knl-7250"}
MOST_CORES_OF_7210 = 64
#: Memory domains of a Knights Landing in SNC-4 mode.
CLUSTERS = 4


def recognised(topology: Topology) -> str | None:
    """Return the name of the machine that resembles a Xeon Phi, None for other processors."""
    package = topology.packages[0]
    if len(topology.packages) > 1 or package.vendor not in {"", "GenuineIntel"}:
        return None
    if package.family == CORNER or re.search(r"Xeon Phi.*\b(?:SE10|[357]1[12]0)", package.model):
        return "knc-7120p"
    model = re.search(r"Xeon Phi.*\b(72[0-9]0)", package.model)
    if model is None and (package.family, package.number) != LANDING:
        return None
    few = "knl-7210" if len(topology.cores) <= MOST_CORES_OF_7210 else "knl-7250"
    return MODELS.get(model[1], few) if model else few


def fits(topology: Topology, preset: Preset) -> bool:
    """Return whether a machine's mesh or ring fits a topology: one package, and tiles of the same size."""
    structure = preset.machine.structure
    tiles = {len(tile) for tile in topology.grouped("l2")}
    return (
        structure.kind in {"mesh", "ring"}
        and len(topology.packages) == 1
        and tiles == {structure.cores_per_tile}
    )


def content_of(topology: Topology, preset: Preset, name: str) -> Table:
    """Return the machine file of any topology: a Xeon Phi on the preset's mesh or ring, others as sockets."""
    if recognised(topology) and fits(topology, preset):
        return phi_content(topology, preset, name)
    return sockets_content(topology, preset, name)


def phi_content(topology: Topology, preset: Preset, name: str) -> Table:
    """Return the machine file of a Xeon Phi: cores, clusters and memory as the topology has them.

    Raises
    ------
    MachineError
        If the mesh has no place for so many tiles.
    """
    content = with_cores(preset.content(), topology, preset, name, preset.machine.structure.cores_per_tile)
    with_sizes(content, topology)
    if preset.machine.structure.kind == "mesh":
        _place_tiles(content["structure"], len(topology.grouped("l2")), topology.source)
        _use_clusters(content, len(topology.grouped("domain")))
        _use_memory(content, topology)
    return content


def _place_tiles(structure: Table, tiles: int, source: str) -> None:
    """Disable the last tile positions, or enable disabled ones, to reach the given number."""
    rows = ["".join(row.split()) for row in structure["layout"]]
    positions = [(r, c) for r, row in enumerate(rows) for c, stop in enumerate(row) if stop == "T"]
    disabled = [tuple(position) for position in structure.get("disabled", ())]
    enabled = [position for position in positions if position not in disabled]
    missing = tiles - len(enabled)
    if missing > len(disabled):
        raise MachineError(
            f"{source}: {tiles} tiles; the mesh has positions for {len(positions)}: write like=NAME of another machine"
        )
    disabled = disabled[: len(disabled) - missing] if missing > 0 else disabled + enabled[tiles:]
    structure["disabled"] = [list(position) for position in sorted(disabled)]


def _use_clusters(content: Table, domains: int) -> None:
    """Choose SNC-4 for four memory domains; with one, all-to-all and quadrant look alike from the outside."""
    before = content["structure"]["cluster"]
    if domains == CLUSTERS and before != "snc4":
        content["structure"]["cluster"] = "snc4"
        for mode in content["memory"]["modes"].values():
            _scale_core_bandwidth(mode, before)
    elif domains > 1:
        content["cores"]["count"]["source"] += (
            f"; {domains} memory domains, which the mesh does not model: taken as one"
        )


def _scale_core_bandwidth(mode: Table, before: str) -> None:
    """Convert numbers of another cluster mode to SNC-4: as many loads in flight, of another latency."""
    latency = mode.get("latency", {})
    if before in latency and "snc4" in latency:
        faster = latency[before]["value"] / latency["snc4"]["value"]
        mode["core_bandwidth"]["value"] *= faster
        mode["core_bandwidth"]["source"] += f"; times {faster:.3g}, the inverse of the latency, in SNC-4"


def _use_memory(content: Table, topology: Topology) -> None:
    """Choose the memory mode: memory in MCDRAM where the system knows some, else MCDRAM is a cache."""
    memory = content["memory"]
    sizes_B = {
        "mcdram": sum(node.memory_B for node in topology.numa if node.kind == "MCDRAM"),
        "ddr": sum(node.memory_B for node in topology.numa if node.kind != "MCDRAM"),
    }
    if not any(sizes_B.values()):
        return
    memory["mode"] = "mcdram" if sizes_B["mcdram"] else "cache"
    for mode, size_B in {**sizes_B, "cache": sizes_B["ddr"]}.items():
        if size_B and mode in memory["modes"]:
            memory["modes"][mode]["size"] = told_by(topology, size_B, "B")
