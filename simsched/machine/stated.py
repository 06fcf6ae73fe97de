"""Numbers stated for an effect by a machine file or its variations: those that enable it, and unused ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from simsched.errors import MachineError
from simsched.machine.effects import NAMES
from simsched.mistakes import short
from simsched.notes import Note, Weight
from simsched.spec import Scalar, Spec, parse_path
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.machine.machine import Machine
    from simsched.machine.schema import Confidence

#: Effects that use a number, by its place; within a memory mode, by its place there.
USED_BY = {
    "bandwidth": ("share_bandwidth",),
    "cluster_bandwidth": ("share_bandwidth",),
    "link_bandwidth": ("share_bandwidth", "remote_memory"),
    "remote_latency": ("remote_memory",),
    "caches.tile_slowdown": ("share_tiles",),
    "cores.compute_throughput": ("share_cores",),
    "cores.memory_throughput": ("share_cores",),
}
#: Of the table `[data]`: its name there, and the unit of numbers.
OF_DATA = {
    "data": ("mode", ""),
    "places": ("places", ""),
    "home": ("home", ""),
    "route": ("route", ""),
    "link_Bps": ("link_bandwidth", "B/s"),
    "link_latency_s": ("link_latency", "s"),
    "hop_Bps": ("hop_bandwidth", "B/s"),
    "hop_latency_s": ("hop_latency", "s"),
    "memory_Bps": ("memory_bandwidth", "B/s"),
    "memory_latency_s": ("memory_latency", "s"),
    "place_B": ("place_size", "B"),
}
#: Demands are added as whole bytes per second, in 64 bits.
MOST_DEMAND_BPS = 2.0**62
#: Share by which operations may exceed those of the peak: a rounding.
ROUNDING = 1e-9
#: Clocks that cores of chips have.
CLOCKS_HZ = (1e8, 1e10)
#: Share by which bandwidths that print alike may differ.
CLOSE = 0.005
#: In the source of a number that describes no machine.
BY_DEFINITION = "by definition"
#: Begins the source of a number that nobody has stated of this machine, where a description of it was read.
ASSUMED = "assumed ("
#: Begins the source of a number of another machine that stands in for one, where a description does not have it.
TAKEN = "taken from "
#: Tables of numbers that matter more than others: notes name each.
NAMED = ("cores.", "memory.")


@dataclass(frozen=True)
class Fact:
    """A number of a machine file, or a list of them: its place, value, unit, source and confidence.

    Parameters
    ----------
    key : str
        Its place in the file: `runtime.dispatch`.
    value : float or tuple of float
        The value in `unit`, as in the file.
    unit, source : str
    confidence : str
        "high", "med", "low" or "unverified".
    ends : pair of float, optional
        Ends of its 95 % interval in `unit`, where they are stated.

    Examples
    --------
    >>> import simsched as ss
    >>> fact = ss.machine("knl-7250").facts[0]
    >>> fact.key, fact.value, fact.unit, fact.confidence
    ('cores.count', 68, 'core', 'high')
    """

    key: str
    value: float | tuple[float, ...]
    unit: str
    source: str
    confidence: Confidence
    ends: tuple[float, float] | None = None


def meant(params: Mapping[str, Scalar], mode: str) -> set[str]:
    """Return the effects enabled by variations, because these state a number for them.

    Parameters
    ----------
    params : mapping
        Variations, by name.
    mode : str
        Memory mode in use.

    Returns
    -------
    set of str
        Without those that the variations switch on or off themselves.

    Examples
    --------
    >>> meant({"bandwidth_Bps": 4e11, "cores": 192}, "ddr")
    {'share_bandwidth'}
    >>> meant({"bandwidth_Bps": 4e11, "contention": False}, "ddr"), meant({"smt": 2}, "ddr")
    (set(), {'share_cores'})
    """
    if "contention" in params:
        return set()
    found = {effect for key in params for effect in _used_by(key.removesuffix("_Bps"), mode)}
    smt = params.get("smt", 1)
    if not isinstance(smt, str) and smt > 1:
        found.add("share_cores")
    return found - params.keys()


def varied_spec(machine: Machine, params: Mapping[str, Scalar]) -> Spec:
    """Return the spec of a machine with further variations.

    Raises
    ------
    MachineError
        If they are not a mapping of names, or one of them is only allowed where a machine is made.
    """
    if not isinstance(params, Mapping) or not all(isinstance(key, str) for key in params):
        raise MachineError(
            f"{machine}: expected variations by name, as in {{'cores': 8}} (got {short(params)})"
        )
    for key in ("like", "core"):
        if key in params:
            raise MachineError(
                f"{machine}: it has its numbers already; give {key}={params[key]} where the machine is made: "
                f"{parse_path(machine.spec).name}[{key}={params[key]}]"
            )
    spec = parse_path(machine.spec)
    before = {
        key: value for key, value in spec.params.items() if "contention" not in params or key not in NAMES
    }
    return Spec(spec.name, {**before, **params})


def check_possible(machine: Machine) -> None:
    """Check the numbers of a machine that no file can state, but `dataclasses.replace` or a variation.

    Raises
    ------
    MachineError
        If cores sustain more operations than they can issue, but not infinitely many, or ask for too many bytes.
    """
    peak = machine.peak_flops * machine.clocks.boost
    if peak * (1 + ROUNDING) < machine.core_flops < inf:
        raise MachineError(
            f"{machine}: a core sustains {machine.core_flops:.4g} FLOP/s, more than its peak of {peak:.4g}; raise "
            f"that, as {varied_spec(machine, {'cores.flop_per_cycle': '...'})}"
        )
    most = machine.n_threads * machine.bandwidth_Bps
    if machine.effects.share_bandwidth and most >= MOST_DEMAND_BPS:
        raise MachineError(
            f"{machine}: {machine.n_threads} cores that share {machine.bandwidth_Bps:g} B/s can ask for more together "
            f"than can be counted exactly, {MOST_DEMAND_BPS:g} B/s; state less, or write share_bandwidth=false"
        )


def _unused(machine: Machine) -> Iterator[str]:
    """Yield a note on the numbers of a machine's file without effect, as the file switches off their use.

    There is none on numbers by definition, nor on those that a variation switches off.
    """
    params = parse_path(machine.spec).params
    switched_off = {name for name, on in machine.content.get("effects", {}).items() if not on}
    off = {name for name in switched_off - params.keys() if not getattr(machine.effects, name)}
    if not off or "contention" in params:
        return
    mode = str(params.get("memory", machine.content["memory"]["mode"]))
    differs = _differs(machine)
    idle = {fact: off.intersection(_effects_of(fact, machine, mode, differs)) for fact in machine.facts}
    stated = [fact for fact in idle if idle[fact] and BY_DEFINITION not in fact.source]
    if stated:
        needed = sorted(set().union(*(idle[fact] for fact in stated)))
        again = varied_spec(machine, dict.fromkeys(needed, True))
        be, these = ("is", "it") if len(stated) == 1 else ("are", "them")
        yield (
            f"{', '.join(map(_shown, stated))} {be} stated, but running tasks do not slow each other down by {these}, "
            f"because the file switches {', '.join(needed)} off; write {again} if they should"
        )


def all_notes(machine: Machine) -> Iterator[str]:
    """Yield the notes on a machine's numbers."""
    yield from (Note(doubt, Weight.DOUBT) for doubt in machine.content.get("doubts", ()))
    yield from rounded(machine)
    yield from doubtful(machine)
    yield from _idle_ways(machine)
    yield from guessed(machine)
    yield from remote(machine)
    yield from _unused(machine)
    if machine.data is not None and (assumed := machine.data.note(machine)):
        yield assumed


def rounded(machine: Machine) -> Iterator[str]:
    """Yield a note where a machine has another number of cores than was asked for."""
    asked = parse_path(machine.spec).params.get("cores", machine.n_cores)
    if asked != machine.n_cores:
        whole = kept_whole(machine)
        said = f"{machine} has {machine.n_cores} cores, not {asked}: {whole}, and this is the nearest number"
        yield Note(said, Weight.DOUBT)


def kept_whole(machine: Machine) -> str:
    """Return why a machine does not have every number of cores."""
    tile = machine.cores_per_tile
    return (
        f"tiles of {tile} cores stay whole"
        if tile > 1
        else "kinds of cores keep their shares unless kinds=none"
    )


def doubtful(machine: Machine) -> Iterator[str]:
    """Yield notes on numbers that are possible, but probably a slip, and on those that have less effect than stated."""
    memory, (least_Hz, most_Hz) = machine.memory, CLOCKS_HZ
    if not least_Hz <= (clock := machine.clocks.nominal_Hz) <= most_Hz:
        usual = f"{least_Hz / 1e9:g} to {most_Hz / 1e9:g}"
        yield f"cores.clock is {clock / 1e9:g} GHz, those of chips are {usual}; its unit?"
    if machine.one_core_Bps < memory.core_bandwidth_Bps:
        yield (
            f"a core's bandwidth is stated as {memory.core_bandwidth_Bps / 1e9:.4g} GB/s, but one core alone moves "
            f"{machine.one_core_Bps / 1e9:.4g}, all that its memory domain or cluster does"
        )
    if (reached := float(machine.reach_Bps[machine.n_cores])) > memory.bandwidth_Bps * (1 + CLOSE):
        yield (
            f"{machine.n_cores} cores move {reached / 1e9:.4g} GB/s, more than the {memory.bandwidth_Bps / 1e9:.4g} "
            f"stated of {memory.cores:g}: the curve through one core's bandwidth and theirs goes on rising"
        )
    params = parse_path(machine.spec).params
    given = [key for key in params if key in OF_DATA and key != "data"]
    if given and params.get("data") == "none":
        yield f"{', '.join(given)}: no effect, as data=none lets nothing move"
    elif params.get("data") == "read" and (
        sent := [key for key in ("route", "share_links") if key in params]
    ):
        yield f"{', '.join(sent)}: no effect, as data=read sends no messages"


def _idle_ways(machine: Machine) -> Iterator[str]:
    """Yield notes on numbers given for ways of objects on which none of them is."""
    params, ways, links = (
        parse_path(machine.spec).params,
        machine.data,
        machine.structure.interconnect.links,
    )
    if ways is None:
        if "share_links" in params and machine.effects.share_links:
            yield "share_links: no effect, as nothing moves; link_Bps and link_latency_s have objects sent"
        return
    # Memories get what is sent home or to other groups, what places have no room for, and what is read.
    at_memory = ways.home == "memory" or ways.mode == "read" or any(link.of_memory for link in links)
    full = ways.place_B < inf or "ldm" in machine.tables or ways.places == "domain"
    for why, idle, keys in (
        ("its ways have no hops", not links, ("hop_Bps", "hop_latency_s")),
        ("nothing is at a memory", not at_memory and not full, ("memory_Bps", "memory_latency_s")),
    ):
        if idle and (given := [key for key in keys if key in params]):
            yield f"{', '.join(given)}: no effect, as {why}"


def guessed(machine: Machine) -> Iterator[str]:
    """Yield a note on the numbers that were assumed where a description of the machine was read."""
    others = {fact.source.partition(":")[0] for fact in machine.facts if fact.source.startswith(TAKEN)}
    if others and "like" not in parse_path(machine.spec).params:
        yield f"what its file does not say is {' and '.join(sorted(others))}; like= names another machine"
    found = [fact for fact in machine.facts if fact.source.startswith(ASSUMED)]
    if not found:
        return
    smt = ("cores.compute_throughput", "cores.memory_throughput")
    idle = smt if machine.smt == 1 else ()
    main = [fact for fact in found if fact.key.startswith(NAMED) and fact.key not in idle]
    tables = sorted({fact.key.partition(".")[0] for fact in found if not fact.key.startswith(NAMED)})
    parts = [*map(_assumed, main), *(f"numbers of {table}" for table in tables)]
    yield (
        f"assumed, as nobody has stated them of this machine: {', '.join(parts)}; machine.describe() says why, and "
        "each can be given between the brackets, as bandwidth_Bps=2e11"
    )


def remote(machine: Machine) -> Iterator[str]:
    """Yield a note where it is assumed how much slower memory of other domains is."""
    memory = machine.memory
    if memory.assumes_remote and machine.effects.remote_memory:
        longer_s = memory.remote_latency_s - memory.latency_s
        yield (
            f"assumed, as nobody has stated it of {machine}: memory of another domain is {memory.remote_penalty:.2f} "
            f"times as slow, since a cache line from there takes {format_time(longer_s)} longer than one from its own, "
            "of which slower ones bring others nearer; if you know latency and remote_latency, state them in a machine "
            "file"
        )


def _differs(machine: Machine) -> dict[str, bool]:
    """Return whether numbers of a machine can make a difference, by their place."""
    return {
        "bandwidth": machine.n_threads * machine.core_bandwidth_Bps > machine.bandwidth_Bps,
        "cluster_bandwidth": True,
        "link_bandwidth": machine.n_domains > 1,
        "remote_latency": machine.n_domains > 1,
        "caches.tile_slowdown": machine.cores_per_tile > 1,
    }


def _effects_of(fact: Fact, machine: Machine, mode: str, differs: Mapping[str, bool]) -> tuple[str, ...]:
    """Return the effects that use a number of a machine in a memory mode, where it can make a difference."""
    place, _, cluster = _within(fact.key, mode).partition("remote_latency.")
    if cluster:
        place, in_use = "remote_latency", getattr(machine.structure, "cluster", "any")
        if cluster not in (in_use, "any"):
            return ()
    return USED_BY.get(place, ()) if differs.get(place, machine.smt_ways > 1) else ()


def _used_by(key: str, mode: str) -> tuple[str, ...]:
    place = _within(key, mode)
    return USED_BY.get("remote_latency" if place.startswith("remote_latency.") else place, ())


def _within(key: str, mode: str) -> str:
    """Return a place, or within the memory mode in use its place there."""
    return key.removeprefix(f"memory.modes.{mode}.")


def _assumed(fact: Fact) -> str:
    """Return a number that was assumed, with the processor that it is of where it is another's."""
    shown, other = _shown(fact), re.search(r"\): (that of the [^:]+): ", fact.source)
    return f"{shown[:-1]}, {other[1]})" if other else shown


def _shown(fact: Fact) -> str:
    values = fact.value if isinstance(fact.value, tuple) else (fact.value,)
    return f"{fact.key} ({', '.join(f'{value:g}' for value in values)}{fact.unit and ' '}{fact.unit})"
