"""Machines as a topology describes them, with the numbers that it lacks from the table of cores or another machine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from itertools import groupby

from simsched.errors import MachineError
from simsched.hwmodels.core_machine import CoreNumbers
from simsched.hwmodels.cores import CoreModel, core_named, core_of, known_cores
from simsched.hwmodels.topology import CoreKind, Topology
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
from simsched.machine.confidence import MOST_OF_CLOCKS

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
        preset = Preset.named(like or str(phi), topology)
    elif found := core_named(core) if core else _commonest_core(topology):
        preset = Preset.of_core(found, topology)
    else:
        raise MachineError(_unknown(topology, spec))
    content = _content_of(topology, preset, name)
    auto = not (like or core or phi)
    if auto and (kinds := _kinds_of(topology)):
        content["kinds"] = kinds
        count = content["cores"]["count"]
        count["source"] = count["source"].replace(ALIKE, "each with its numbers")
        return content
    if auto:
        _slow_down(content, topology)
    content["doubts"] += _doubts_of_kinds(topology, preset, content["cores"]["clock"])
    return content


def _doubts_of_kinds(topology: Topology, preset: Preset, clock: Table) -> list[str]:
    """Return what cores of several kinds were taken for; nothing of kinds that differ by their boost alone."""
    groups = Counter(core.kind for core in topology.cores)
    kinds = [(count, topology.kinds[kind] if kind >= 0 else CoreKind()) for kind, count in groups.items()]
    clocks_Hz = [clock_Hz for _, kind in kinds if (clock_Hz := kind.base_Hz or kind.most_Hz)] or [1.0]
    if len({kind.name for _, kind in kinds}) < 2 and max(clocks_Hz) <= MOST_OF_CLOCKS * min(clocks_Hz):
        return []
    shown = " and ".join(
        f"{count} ({kind.name or 'a kind without a name'}{_shown(kind)})" for count, kind in kinds
    )
    taken = preset.core.title if preset.core else f"cores of {preset.name}"
    return [
        f"cores of several kinds, {shown}, are all taken for {taken} at {clock['value']:.4g} GHz; a machine file with "
        "[kinds] distinguishes them"
    ]


def _shown(kind: CoreKind) -> str:
    clock_Hz = kind.base_Hz or kind.most_Hz
    return f", {'' if kind.base_Hz else 'up to '}{clock_Hz / 1e9:.4g} GHz" if clock_Hz else ""


def _models(topology: Topology) -> list[CoreModel | None]:
    """Return what the table has of each of a topology's cores, in the order of a machine's; None for unknown ones."""
    package, kinds = topology.packages[0], [core.kind for core in in_order(topology)]
    found = {
        kind: core_of(package, topology.kinds[kind].name if kind >= 0 else "")
        for kind in dict.fromkeys(kinds)
    }
    return [found[kind] for kind in kinds]


def _commonest_core(topology: Topology) -> CoreModel | None:
    """Return the core of the table for a topology's processor; of several, the one with the most cores, or the faster.

    Examples
    --------
    >>> from simsched.hwmodels.host import read_host
    >>> found = _commonest_core(read_host())
    >>> found is None or found.known["clock"].value > 0
    True
    """
    models = _models(topology)
    counts = Counter(one and one.name for one in models)
    clocks_GHz = {one.name: one.known["clock"].value for one in models if one}
    name = max(counts, key=lambda name: (counts[name], clocks_GHz.get(name or "", 0.0)))
    return core_named(name) if name else None


def _kinds_of(topology: Topology) -> Table | None:
    """Return the table `[kinds]` of a topology whose kinds of cores the table of cores distinguishes; None for others.

    Cores of a kind have to be neighbours, as those of machines are. Kinds of the same core of the table, as of those
    with a higher boost, are one.
    """
    runs = [
        (one, [core.kind for core, _ in run])
        for one, run in groupby(
            zip(in_order(topology), _models(topology), strict=True), key=lambda pair: pair[1]
        )
    ]
    known = [one for one, _ in runs if one]
    names = [one.name for one in known]
    if not 2 <= len(runs) == len(set(names)):
        return None
    numbers = [CoreNumbers(one, topology.packages[0].model) for one in known]
    clocks = [_clock_of(topology, set(kinds), each) for (_, kinds), each in zip(runs, numbers, strict=True)]
    return {
        "names": names,
        "cores": number([len(kinds) for _, kinds in runs], "core", f"kinds of cores, {topology.dialect}"),
        "clock": _row(clocks),
        **{key: _row([of(one) for one in numbers]) for key, of in OF_KINDS.items()},
        **{key: _row([_narrow(one, key) for one in numbers]) for one in numbers for key in one.narrow},
    }


def _narrow(numbers: CoreNumbers, key: str) -> Table:
    """Return the rate of elements narrower than FP32: that of FP32 for a core without instructions for them."""
    return numbers.stated(key if key in numbers.known else "flop_per_cycle")


def _clock_of(topology: Topology, kinds: set[int], numbers: CoreNumbers) -> Table:
    """Return the clock of some kinds of cores: the slowest that the topology has, or the table's."""
    told = (topology.kinds[kind] for kind in kinds if kind >= 0)
    told_Hz = [clock_Hz for one in told if (clock_Hz := one.base_Hz or one.most_Hz)]
    if not told_Hz:
        return numbers.stated("clock")
    return told_by(topology, min(told_Hz) / 1e9, "GHz", "nominal, or highest") | {"confidence": "low"}


def _slow_down(content: Table, topology: Topology) -> None:
    """Give cores of several kinds that are taken as alike the clock of the slowest, where the file has no clocks."""
    clock, model = content["cores"]["clock"], topology.packages[0].model
    known = {one.name: one for one in _models(topology) if one}
    slowest = min(
        (CoreNumbers(one, model).stated("clock") for one in known.values()), key=lambda one: one["value"]
    )
    if "cores.toml" in clock["source"] and slowest["value"] < clock["value"]:
        content["cores"]["clock"] = slowest | {"source": f"{slowest['source']}; of the slowest kind of core"}


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
