"""Machines as a topology describes them, with the numbers that it lacks from the table of cores or another machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby

from simsched.errors import MachineError
from simsched.hwmodels.core_machine import CoreNumbers
from simsched.hwmodels.cores import CoreModel, core_named, core_of, known_cores
from simsched.hwmodels.phi import content_of, recognised
from simsched.hwmodels.topology import Topology
from simsched.hwmodels.topology_machine import ALIKE, CONFIDENCES, Preset, Table, in_order, number
from simsched.machine.schema import si

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
    phi = None if like or core else recognised(topology)
    if like or phi:
        return content_of(topology, Preset.named(like or str(phi), topology), name)
    found = core_named(core) if core else commonest_core(topology)
    if found is None:
        raise MachineError(_unknown(topology, spec))
    content = content_of(topology, Preset.of_core(found, topology), name)
    if core is None and (kinds := kinds_of(topology)):
        content["kinds"] = kinds
        count = content["cores"]["count"]
        count["source"] = count["source"].replace(ALIKE, "each with its numbers")
    return content


def commonest_core(topology: Topology) -> CoreModel | None:
    """Return the core of the table that a topology tells; of several kinds that of the most cores.

    Examples
    --------
    >>> from simsched.hwmodels.host import read_host
    >>> found = commonest_core(read_host())
    >>> found is None or found.known["clock"].value > 0
    True
    """
    kinds = Counter(topology.kinds[core.kind].name if core.kind >= 0 else "" for core in topology.cores)
    return core_of(topology.packages[0], kinds.most_common(1)[0][0])


def kinds_of(topology: Topology) -> Table | None:
    """Return the table `[kinds]` of a topology whose kinds of cores the table of cores tells apart; None for others.

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
