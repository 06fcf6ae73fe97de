"""The table of cores, `cores.toml`: microarchitectures, found by name or by the name that a processor reports."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Annotated, Self

from pydantic import Field, model_validator

from simsched.errors import MachineError
from simsched.hwmodels.topology import Package
from simsched.machine.schema import Quantity, Strict, Throughput, measures
from simsched.mistakes import short

#: Share of the channels' bandwidth that is assumed to be reached, and of what moves that a triad names.
REACHED, NAMED = 0.85, 0.75

_Range = Annotated[
    list[Annotated[int, Field(ge=0, lt=2**16, strict=True)]], Field(min_length=2, max_length=2)
]
_Bandwidth = Annotated[Quantity, measures("bandwidth", least=1e6, most=1e15)]
_Time = Annotated[Quantity, measures("time", above=0)]


class Numbers(Strict):
    """Numbers of a core, and of the socket it is in; None where none is known.

    Parameters
    ----------
    cores : Quantity
        Cores of a socket.
    vector : Quantity
        Width of a vector.
    clock, flop_per_cycle, bf16_per_cycle, fp16_per_cycle, int8_per_cycle, sustained : Quantity
        As in the table `[cores]` of a machine file.
    core_bandwidth, bandwidth : Quantity
        What one core and what a socket moves, as a triad names the bytes.
    nominal_bandwidth : Quantity
        Channels of a socket times their rate and width.
    cluster_bandwidth, cluster_cores : Quantity
        What a cluster moves that has a way to memory of its own, and its cores in the processor of these numbers.
    sharpness, latency, remote_latency, link_bandwidth : Quantity
        As in a memory mode of a machine file.
    same_tile, same_l3, same_socket, other_socket : Quantity
        Times of a cache line, as in the table of sockets.
    power : Quantity
        Power limit of a socket.
    """

    cores: Annotated[Quantity, measures("cores", least=1, most=2**20, whole=True)] | None = None
    vector: Annotated[Quantity, measures("vector width", least=32, most=2**16, whole=True)] | None = None
    clock: Annotated[Quantity, measures("frequency", least=1e8, most=1e10)] | None = None
    flop_per_cycle: Annotated[Quantity, measures("work per cycle", least=1, most=4096)] | None = None
    bf16_per_cycle: Annotated[Quantity, measures("work per cycle", least=1, most=4096)] | None = None
    fp16_per_cycle: Annotated[Quantity, measures("work per cycle", least=1, most=4096)] | None = None
    int8_per_cycle: Annotated[Quantity, measures("work per cycle", least=1, most=4096)] | None = None
    sustained: Annotated[Quantity, measures("share", least=1e-6, most=1)] | None = None
    core_bandwidth: _Bandwidth | None = None
    bandwidth: _Bandwidth | None = None
    nominal_bandwidth: _Bandwidth | None = None
    cluster_bandwidth: _Bandwidth | None = None
    cluster_cores: Annotated[Quantity, measures("cores", least=2, most=2**20, whole=True)] | None = None
    sharpness: Annotated[Quantity, measures("share", least=0.5, most=1e6)] | None = None
    latency: _Time | None = None
    remote_latency: _Time | None = None
    link_bandwidth: _Bandwidth | None = None
    same_tile: _Time | None = None
    same_l3: _Time | None = None
    same_socket: _Time | None = None
    other_socket: _Time | None = None
    power: Annotated[Quantity, measures("power", above=0)] | None = None

    @property
    def known(self) -> Mapping[str, Quantity]:
        """The numbers that are known, by name."""
        found = {key: getattr(self, key) for key in Numbers.model_fields}
        return {key: value for key, value in found.items() if value is not None}


class Chip(Numbers):
    """Processors of which more is known than of their microarchitecture.

    Parameters
    ----------
    names : str
        Pattern of their names.
    doubt : str
        What is not modelled of them, for notes.
    """

    names: str
    doubt: str = ""


class CoreModel(Numbers):
    """A microarchitecture: its names, its numbers, and those of single processors.

    Parameters
    ----------
    name, title : str
        Its name for `core=NAME`, and for readers.
    vendors : list of str
        As `/proc/cpuinfo`, hwloc and `lscpu` spell it: `GenuineIntel`; of Arm the implementer, as `0x41`.
    family : int, optional
        CPU family; None for those without one, as Arm.
    models : list of pairs of int
        Ranges of model numbers, ends included; of Arm the parts.
    names : str
        Pattern that names of such processors have; "" for any.
    steppings : list of pairs of int
        Ranges of steppings that say as much as a name.
    sold_as : str
        Pattern of the names that such processors are sold under, as `core_sold_as` simplifies them; "" for none.
    kind : str
        Pattern of the kind of core, where processors of these numbers have several.
    aliases : list of str
        Other names, as `lscpu` has them.
    part : str
        The processor that its clock and its power limit are of, as its name has it; "" where all such cores are one's.
    cluster_l3s : int
        L3s of such a cluster, as of a chiplet; 0 where an L3 has several clusters.
    streams_stores : bool
        Whether long runs of stores fetch nothing, so that a triad moves no more than it names.
    chips : list of Chip
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    title: str
    vendors: tuple[str, ...] = ()
    family: int | None = None
    models: tuple[_Range, ...] = ()
    names: str = ""
    steppings: tuple[_Range, ...] = ()
    sold_as: str = ""
    kind: str = ""
    aliases: tuple[str, ...] = ()
    part: str = ""
    cluster_l3s: Annotated[int, Field(ge=0, le=64)] = 0
    streams_stores: bool = False
    chips: tuple[Chip, ...] = ()

    def chip(self, model: str) -> Chip:
        """Return what is known of a processor beyond its microarchitecture, by its name: nothing of most."""
        found = (chip for chip in self.chips if re.search(chip.names, model, re.IGNORECASE))
        return next(found, Chip(names=""))

    def own(self, model: str) -> Mapping[str, Quantity]:
        """Return the numbers of a processor that differ from those of its microarchitecture, by its name."""
        return self.chip(model).known

    @property
    def named(self) -> float:
        """Share of the bytes that move which a triad names: all where stores fetch nothing."""
        return 1.0 if self.streams_stores else NAMED

    def brackets(self, model: str) -> str:
        """Return what a sentence states of a processor by its name: `bandwidth_Bps=...` and numbers of its own."""
        one = self.own(model)
        told = {f"cores.{key}": f"{one[key].value:g}" for key in ("clock", "flop_per_cycle") if key in one}
        GBps = one["bandwidth"].value if "bandwidth" in one else 0.0
        if not GBps and "nominal_bandwidth" in one and "bandwidth" not in self.of(model):
            GBps = one["nominal_bandwidth"].value * REACHED * self.named
        told = {"bandwidth_Bps": f"{GBps * 1e9:.4g}" if GBps else "..."} | told
        return ",".join(f"{key}={value}" for key, value in told.items())

    def is_other(self, model: str) -> bool:
        """Return whether a name is that of another processor than the one that the clock is of."""
        return bool(self.part) and re.search(rf"(?i)(?<!\w){re.escape(self.part)}(?!\w)", model) is None

    def of(self, model: str) -> Mapping[str, Quantity]:
        """Return the numbers of a processor of this microarchitecture, by its name."""
        one, whole = self.own(model), self.nominal_bandwidth
        # Other channels of this processor say more than what another was measured to move.
        channels = {of and of.value for of in (whole, one.get("nominal_bandwidth", whole))}
        mine = {k: v for k, v in self.known.items() if k != "bandwidth" or len(channels) == 1}
        return {**mine, **one}

    def fits(self, package: Package, kind: str = "") -> bool:
        """Return whether a package, and one of its kinds of cores, is of this microarchitecture."""
        if self.kind and re.search(self.kind, kind) is None:
            return False
        # The system may name a kind by its cores: `apple,icestorm`.
        named = re.search(self.names, f"{package.model} {kind}") is not None
        if package.vendor in self.vendors and _within(package.number, self.models):
            # Of Arm the part is all there is; names are those of a board there.
            known = named or _within(package.stepping, self.steppings)
            return self.family is None or (known and self.family == package.family)
        return bool(self.names) and named and package.family < 0


def _within(value: int, ranges: Sequence[_Range]) -> bool:
    return any(low <= value <= high for low, high in ranges)


class CoresFile(Strict):
    """The table as written: cores, and what is assumed where nothing is known."""

    core: Annotated[list[CoreModel], Field(min_length=1)]
    assumed: Numbers
    runtime: dict[str, Quantity]
    smt: dict[str, Throughput]

    @model_validator(mode="after")
    def _different(self) -> Self:
        names = [one.name for one in self.core]
        if len(set(names)) < len(names):
            raise ValueError("names of cores occur twice")
        return self


@cache
def cores_file() -> CoresFile:
    """Return the table, checked.

    Examples
    --------
    >>> from simsched.hwmodels.cores import cores_file
    >>> cores_file().core[0].name
    'nehalem'
    """
    text = (files("simsched.hwmodels") / "cores.toml").read_text("utf-8")
    return CoresFile.model_validate(tomllib.loads(text))


def known_cores() -> Mapping[str, CoreModel]:
    """Return all microarchitectures by name, in the order of the table.

    Examples
    --------
    >>> from simsched.hwmodels.cores import known_cores
    >>> known_cores()["neoverse-v2"].title
    'Arm Neoverse V2'
    """
    return {one.name: one for one in cores_file().core}


def core_named(name: str) -> CoreModel:
    """Return a microarchitecture by its name, or as `lscpu` calls it, in upper or lower case.

    Raises
    ------
    MachineError
        If there is none of that name; with the nearest ones, or that of a chip of this name.

    Examples
    --------
    >>> from simsched.hwmodels.cores import core_named
    >>> core_named("Neoverse-V2").name
    'neoverse-v2'
    """
    wanted, known = _plain(name), _by_name()
    if wanted not in known:
        sold = core_sold_as(wanted)
        near = [sold.name] if sold else get_close_matches(wanted, known, n=3)
        there = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known_cores())}"
        if sold and sold.own(model := _spelled(wanted)):
            there = f"did you mean [core={sold.name},sockets=1,{sold.brackets(model)}]?"
        raise MachineError(f"core={short(name)}: no such core is known; {there}")
    return known[wanted]


def _by_name() -> dict[str, CoreModel]:
    return {alias.lower(): one for one in cores_file().core for alias in (*one.aliases, one.name)}


def _plain(name: str) -> str:
    return str(name).strip().lower().replace("_", "-").replace(" ", "-")


def core_sold_as(name: str) -> CoreModel | None:
    """Return the microarchitecture of processors sold under a name; None where the table has none.

    Examples
    --------
    >>> from simsched.hwmodels.cores import core_sold_as
    >>> core_sold_as("epyc-7763").name, core_sold_as("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz").name
    ('zen3', 'haswell')
    """
    plain = _simplified(name)
    return next((one for one in cores_file().core if one.sold_as and re.search(one.sold_as, plain)), None)


def _simplified(name: str) -> str:
    shown = re.sub(r"\((r|tm)\)|@.*|\b(cpu|processor)\b", " ", name[:100].lower())
    return re.sub(r"(?<=\d)x\d$", "", " ".join(re.findall(r"[a-z0-9]+", shown)))


def _spelled(name: str) -> str:
    """Return a name as it is written and as it is simplified, for patterns of names that processors report."""
    return f"{name[:100]} {_simplified(name)}"


def describable(name: str) -> str:
    """Return what describes a core, or a chip that is not built in, as a part of a message; "" where it is unknown.

    Examples
    --------
    >>> from simsched.hwmodels.cores import describable
    >>> describable("graviton3")
    'its cores are known (Arm Neoverse V1): generic[core=neoverse-v1,cores=N,sockets=1,bandwidth_Bps=...]'
    """
    if core := _by_name().get(_plain(name)):
        return f"it is a core ({core.title}): generic[core={core.name},cores=N]"
    core = core_sold_as(name)
    if core is None:
        return ""
    return (
        f"its cores are known ({core.title}): "
        f"generic[core={core.name},cores=N,sockets=1,{core.brackets(_spelled(name))}]"
    )


def core_of(package: Package, kind: str = "") -> CoreModel | None:
    """Return the microarchitecture of a processor by the name that it reports; None where it is unknown.

    Parameters
    ----------
    package : Package
        Its vendor, family, model number and name, as hwloc and `/proc/cpuinfo` give them; of ARM the vendor is the
        implementer, as `0x41`, and the model number the part.
    kind : str
        Name of a kind of core, where it has several: `IntelAtom`, `atom`.

    Examples
    --------
    >>> from simsched.hwmodels.cores import core_of
    >>> from simsched.hwmodels.topology import Package
    >>> core_of(Package("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", "GenuineIntel", 6, 85)).name
    'skylake-sp'
    >>> core_of(Package("", "0x41", -1, 0xD4F)).name, core_of(Package()) is None
    ('neoverse-v2', True)
    """
    return next((one for one in cores_file().core if one.fits(package, kind)), None)
