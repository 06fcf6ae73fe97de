"""Machines as a topology describes them, with the numbers that it lacks from the table of cores or another machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby

from simsched.errors import MachineError
from simsched.hwmodels.core_machine import CoreNumbers
from simsched.hwmodels.cores import CoreModel, core_named, core_of, known_cores
from simsched.hwmodels.topology import Topology
from simsched.hwmodels.topology_machine import (
    ALIKE,
    CONFIDENCES,
    Preset,
    Table,
    in_order,
    number,
    sockets_content,
    told_by,
    with_cores,
    with_sizes,
)
from simsched.machine.schema import si

#: CPU family and model number: of Knights Landing; the family of Knights Corner.
LANDING, CORNER = (6, 87), 11
#: Machines that the numbers of a Knights Landing are taken from, by model; others by the number of cores.
MODELS = {"7210": "knl-7210", "7230": "knl-7210", "7250": "knl-7250", "7290": "knl-7250"}
MOST_CORES_OF_7210 = 64
#: Memory domains of a Knights Landing in SNC-4 mode.
CLUSTERS = 4


def _recognised(topology: Topology) -> str | None:
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


def _content_of(topology: Topology, preset: Preset, name: str) -> Table:
    """Return the machine file of any topology: a Xeon Phi on the preset's mesh or ring, others as sockets."""
    if _recognised(topology) and fits(topology, preset):
        return _phi_content(topology, preset, name)
    return sockets_content(topology, preset, name)


def _phi_content(topology: Topology, preset: Preset, name: str) -> Table:
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


#: Numbers of a kind of core, by their key.
OF_KINDS: dict[str, Callable[[CoreNumbers], Table]] = {
    "flop_per_cycle": lambda numbers: numbers.stated("flop_per_cycle"),
    "core_bandwidth": CoreNumbers.core_bandwidth,
}


def described(topology: Topology, like: str | None, core: str | None, name: str, spec: str) -> Table:
    """Return the machine file of a topology.

    Parameters
    ----------
    topology : Topology
    like, core : str, optional
        Machine, or core of the table, that supplies what a topology does not know. Without both, a Xeon Phi is
        recognised, and other cores are looked up in the table by what the processor says of itself.
    name : str
        Name of the machine.
    spec : str
        What the user wrote, for errors.

    Raises
    ------
    MachineError
        If neither is given and the table does not know the core, or `like` or `core` has mistakes.
    SpecError
        If no machine is called `like`.
    """
    phi = None if like or core else _recognised(topology)
    if like or phi:
        return _content_of(topology, Preset.named(like or str(phi), topology), name)
    found = core_named(core) if core else _commonest_core(topology)
    if found is None:
        raise MachineError(_unknown(topology, spec))
    content = _content_of(topology, Preset.of_core(found, topology), name)
    if core is None and (kinds := _kinds_of(topology)):
        content["kinds"] = kinds
        count = content["cores"]["count"]
        count["source"] = count["source"].replace(ALIKE, "each with its numbers")
    return content


def _commonest_core(topology: Topology) -> CoreModel | None:
    """Return the core of the table for a topology's processor; of several kinds, the one with the most cores.

    Examples
    --------
    >>> from simsched.hwmodels.host import read_host
    >>> found = _commonest_core(read_host())
    >>> found is None or found.known["clock"].value > 0
    True
    """
    kinds = Counter(topology.kinds[core.kind].name if core.kind >= 0 else "" for core in topology.cores)
    return core_of(topology.packages[0], kinds.most_common(1)[0][0])


def _kinds_of(topology: Topology) -> Table | None:
    """Return the table `[kinds]` of a topology whose kinds of cores the table of cores distinguishes; None for others.

    Cores of a kind have to be neighbours, as those of machines are.
    """
    runs = [(kind, len([*run])) for kind, run in groupby(in_order(topology), key=lambda core: core.kind)]
    if len(runs) < 2 or len(dict(runs)) < len(runs) or any(kind < 0 for kind, _ in runs):
        return None
    package, told = topology.packages[0], [topology.kinds[kind] for kind, _ in runs]
    known = [found for one in told if (found := core_of(package, one.name))]
    names = [one.name for one in known]
    if len(set(names)) < len(runs):
        return None
    numbers = [CoreNumbers(one, package.model) for one in known]
    clocks_Hz = [
        one.base_Hz or one.most_Hz or si(each.clock)
        for one, each in zip(told, known, strict=True)
        if each.clock
    ]
    return {
        "names": names,
        "cores": number([count for _, count in runs], "core", f"kinds of cores, {topology.dialect}"),
        "clock": number(
            [each / 1e9 for each in clocks_Hz], "GHz", f"{topology.dialect}, or cores.toml", "low"
        ),
        **{key: _row([of(one) for one in numbers]) for key, of in OF_KINDS.items()},
    }


def _row(each: list[Table]) -> Table:
    """Return numbers of kinds as one list, as trusted as the least."""
    source = "; ".join(one["source"] for one in each)
    confidence = min((one["confidence"] for one in each), key=CONFIDENCES.index)
    return number([one["value"] for one in each], each[0]["unit"], source, confidence)


def _unknown(topology: Topology, spec: str) -> str:
    package = topology.packages[0]
    stated = {"vendor": package.vendor, "family": package.family, "model number": package.number}
    told = ", ".join(f"{key} {value}" for key, value in stated.items() if value not in ("", -1))
    known = told or "it says nothing of itself"
    some = ", ".join(list(known_cores())[::12])
    return (
        f"{spec}: {topology.summary()}. The table of cores does not know it ({known}), so numbers are missing "
        "(cores.flop_per_cycle, memory.modes, structure.other_socket, runtime, ...). Write behind it [core=NAME] to "
        f"take them from a core of the table, as {some}, or [like=NAME] from a machine, as xeon-8160x2, or a file of "
        "your own; and what you know, as in [core=NAME,bandwidth_Bps=2e11]"
    )
