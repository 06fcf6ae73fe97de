"""Construction of a `Machine` from the content of a machine file, and variations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np
from pydantic import Field

from simsched.errors import MachineError
from simsched.later import later
from simsched.machine.clocks import Clocks
from simsched.machine.effects import Effects
from simsched.machine.kinds_table import KindsTable
from simsched.machine.memory import LATENCY_S, SHARPNESS, Memory
from simsched.machine.network import check_pairs
from simsched.machine.power import Power
from simsched.machine.runtime import RuntimeProfile
from simsched.machine.schema import (
    Caches,
    CoreCount,
    Cores,
    DataTable,
    EffectsTable,
    MemoryTable,
    Mode,
    PowerTable,
    Runtime,
    Strict,
    factor,
    si,
)
from simsched.machine.stated import BY_DEFINITION, Fact
from simsched.machine.variations import OF_POWER, edited, quantities
from simsched.machine.ways import DataWays, Kinds, whole_shares
from simsched.mistakes import described, refusal, short
from simsched.parameters import is_whole
from simsched.plugins import named, registered
from simsched.spec import Scalar, Spec

if TYPE_CHECKING:
    from simsched.machine.machine import Machine
    from simsched.machine.structure import Structure


class MachineFile(Strict):
    """A machine file, as written; `[structure]` and further tables are checked by their packages."""

    # `schema` itself would hide a method of pydantic's base class.
    version: Literal[2] = Field(alias="schema")
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]
    title: str
    library: str | None = None
    example: str | None = None
    doubts: tuple[str, ...] = ()
    cores: Cores
    memory: MemoryTable
    caches: Caches = Caches()
    runtime: Runtime
    effects: EffectsTable = EffectsTable()
    data: DataTable | None = None
    kinds: KindsTable | None = None
    power: PowerTable | None = None


def built(
    content: Mapping[str, Any], spec: Spec, where: str = "", given: Mapping[str, Scalar] | None = None
) -> Machine:
    """Return the machine of a file's content.

    Parameters
    ----------
    content : mapping
        The file, as parsed; see docs/machines.md.
    spec : Spec
        Its name, and variations.
    where : str
        File, for errors.
    given : mapping, optional
        Variations that state numbers of the varied machine, all when not given; others are numbers of its file, which
        follow the cores.

    Raises
    ------
    MachineError
        If the content or a variation is impossible; all mistakes of a file are listed.
    """
    params = spec.params
    given = params if given is None else given
    if where and params:
        _checked(content, where)
    now = edited(content, params, spec.name, given)
    file, structure, others = _checked(now, str(spec) if params or not where else where)
    stated = str(content["structure"].get("cluster", "any")) if "core_bandwidth_Bps" not in params else None
    memory, before = _memory(file, structure, stated), structure
    if "cores" in params:
        unit = lcm(structure.cores_per_tile, whole_shares(file.kinds, structure.n_cores))
        structure = _resized(structure, params["cores"], unit, spec.name)
        memory = _of_cores(memory, content, now, (before, structure), given)
        count = {"value": structure.n_cores, "source": f"varied: {spec}", "confidence": "unverified"}
        now["cores"]["count"].update(count)
    shares = _Shares.of(file, before, structure, given)
    machine = _machine(file, spec, content, now, structure, _with_far(memory, structure), shares, others)
    check_pairs(machine)
    return machine


def _of_cores(
    memory: Memory,
    content: Mapping[str, Any],
    now: Mapping[str, Any],
    structures: tuple[Structure, Structure],
    given: Mapping[str, Scalar],
) -> Memory:
    """Return the memory of a structure whose cores are varied, of what that of the one before is.

    A bandwidth given with the cores is that of these cores, and so is a size; else each domain keeps its memory, or
    each core where by definition cores share none.
    """
    (before, after), mode = structures, now["memory"]["mode"]
    place, size = (f"memory.modes.{mode}.{name}" for name in ("bandwidth", "size"))
    domains, cores = after.n_domains / before.n_domains, after.n_cores / content["cores"]["count"]["value"]
    sized = memory if size in given else replace(memory, size_B=memory.size_B * domains)
    if {"bandwidth_Bps", place} & given.keys():
        return replace(sized, cores=after.n_cores)
    source = content["memory"]["modes"][mode]["bandwidth"]["source"]
    each = not now.get("effects", {}).get("share_bandwidth", True) and source.startswith(BY_DEFINITION)
    factor = cores if each else domains
    return replace(sized, bandwidth_Bps=sized.bandwidth_Bps * factor, cores=sized.cores * factor)


@dataclass(frozen=True)
class _Shares:
    """Shares of a varied machine, of the one that its file describes.

    Parameters
    ----------
    traffic : float
        Traffic of a thread on the interconnect; see `Machine.interconnect_share`.
    cores : float
        Cores.
    limit, idle : float
        Power limit; watts that do not depend on the number of busy cores.
    """

    traffic: float = 1.0
    cores: float = 1.0
    limit: float = 1.0
    idle: float = 1.0

    @classmethod
    def of(
        cls, file: MachineFile, before: Structure, after: Structure, given: Mapping[str, Scalar]
    ) -> _Shares:
        """Return the shares; watts between brackets are those of the varied machine.

        Cores whose clock rises while others are idle share the limit of their whole chip.
        """
        if after is before:
            return cls()
        cores, chips = after.n_cores / before.n_cores, after.n_segments / before.n_segments
        of_chip = before.n_cores / before.n_segments, after.n_cores / after.n_segments
        watts = max(cores, chips) if _clocks(file.cores).gain(1) > 1 else cores
        of_power = any(key in OF_POWER or key.startswith("power.") for key in given.keys() - {"power.limit"})
        return cls(
            traffic=min(1.0, of_chip[0] / of_chip[1]),
            cores=1.0 if of_power else cores,
            limit=1.0 if "power.limit" in given else watts,
            idle=1.0 if of_power else watts,
        )


def _resized(structure: Structure, cores: Scalar, unit: int, name: str) -> Structure:
    """Return a structure of the number of cores that is nearest among whole units; of two, the larger."""
    units = (2 * _whole(cores, 2**20, "cores", name) + unit) // (2 * unit)
    try:
        return structure.resized(max(units, 1) * unit)
    except MachineError as error:
        raise MachineError(f"{name}[cores={cores}]: {error}") from None


def _checked(content: Mapping[str, Any], where: str) -> tuple[MachineFile, Structure, dict[str, Any]]:
    """Return the common tables, the structure and the other tables, or raise an error with all mistakes."""
    mistakes: list[str] = []
    tables = registered("machine_tables")
    common = {key: value for key, value in content.items() if key != "structure" and key not in tables}
    file = _validated(MachineFile, common, "", mistakes)
    table = _structure_table(content.get("structure"), mistakes)
    structure = _structure(content, table, mistakes) if table else None
    others = {
        key: _validated(named("machine_tables", key), content[key], f"{key}.", mistakes)
        for key in tables
        if key in content
    }
    if file and structure:
        mistakes += _latency_mistakes(file, structure)
    if mistakes:
        raise refusal(MachineError, where, mistakes)
    return cast("MachineFile", file), cast("Structure", structure), others


def _validated(model: type[Any], part: object, place: str, mistakes: list[str]) -> Any:
    """Return a checked table; or None, its mistakes appended to the list."""
    from pydantic import ValidationError

    try:
        return model.model_validate(part)
    except ValidationError as error:
        mistakes.extend(described(mistake, place) for mistake in error.errors())
        return None


def _structure_table(given: Any, mistakes: list[str]) -> Any:
    kinds = registered("structures")
    if not isinstance(given, dict):
        mistakes.append(f"structure: expected a table (got {short(given)})")
        return None
    kind = given.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        mistakes.append(f"structure.kind: expected one of {', '.join(kinds)} (got {short(kind)})")
        return None
    return _validated(named("structures", kind).schema, given, "structure.", mistakes)


def _structure(content: Mapping[str, Any], table: Any, mistakes: list[str]) -> Structure | None:
    """Return the structure, or None where it is impossible or the number of cores is unknown."""
    given = content.get("cores")
    counts = (
        {key: given[key] for key in ("count", "per_tile") if key in given} if isinstance(given, dict) else {}
    )
    if (cores := _validated(CoreCount, counts, "cores.", [])) is None:
        return None
    count, per_tile = int(si(cores.count)), int(si(cores.per_tile))
    if count % per_tile:
        mistakes.append(f"cores.count: {count} cores are not whole tiles of {per_tile}")
        return None
    try:
        kind = cast("type[Structure]", named("structures", content["structure"]["kind"]))
        return _made(_Wanted(kind, repr(content["structure"]), count, per_tile, table))
    except MachineError as error:
        mistakes += [f"structure: {mistake}" for mistake in error.mistakes or [str(error)]]
        return None


@dataclass(frozen=True)
class _Wanted:
    """A structure: its kind, its table as written and as checked, and the number of cores."""

    kind: type[Structure]
    written: str
    count: int
    per_tile: int
    table: Any = field(compare=False)


@lru_cache(maxsize=128)
def _made(wanted: _Wanted) -> Structure:
    """Return a structure; most variations of a machine leave it as it is."""
    return wanted.kind.of(wanted.table, wanted.count, wanted.per_tile)


def _cluster(structure: Structure) -> str:
    return str(getattr(structure, "cluster", "any"))


def _latency_mistakes(file: MachineFile, structure: Structure) -> list[str]:
    """Return the mistakes of the latencies in use: those of other cluster modes only would have no effect."""
    stated, cluster = file.memory.modes[file.memory.mode].latency, _cluster(structure)
    if not stated or {cluster, "any"} & stated.keys():
        return []
    place = f"memory.modes.{file.memory.mode}.latency"
    wanted = " or ".join(f"{place}.{key}" for key in dict.fromkeys((cluster, "any")))
    return [f"{place}: {', '.join(map(short, stated))} and nothing for this machine; expected {wanted}"]


def _kinds(file: MachineFile, spec: Spec, n_cores: int, memory: Memory) -> Kinds | None:
    """Return the kinds of cores, whose numbers may be given beside that of the machine."""
    try:
        return Kinds.of(file.kinds, n_cores, file.cores, memory.core_bandwidth_Bps)
    except MachineError as error:
        raise refusal(MachineError, str(spec), [str(error)]) from None


def _memory(file: MachineFile, structure: Structure, stated: str | None) -> Memory:
    """Return the memory in use; its numbers were stated for a cluster mode, or None for any.

    With a fixed number of loads in flight, a core's bandwidth is inversely proportional to their latency.
    """
    mode: Mode = file.memory.modes[file.memory.mode]
    cluster = _cluster(structure)
    own = dict(mode.clusters.get(cluster, ()))
    core, every, sharpness = (
        own.get(key) or getattr(mode, key) for key in ("core_bandwidth", "bandwidth", "sharpness")
    )
    latency = mode.latency.get(cluster, mode.latency.get("any"))
    remote = mode.remote_latency.get(cluster, mode.remote_latency.get("any"))
    before = mode.latency.get(stated, mode.latency.get("any", latency)) if stated else latency
    slower = si(latency) / si(before) if latency and before and latency != before else 1.0
    return Memory(
        name=mode.title,
        core_bandwidth_Bps=si(core) / (1.0 if own.get("core_bandwidth") else slower),
        bandwidth_Bps=si(every),
        cores=structure.n_cores,
        sharpness=si(sharpness) if sharpness else SHARPNESS,
        latency_s=si(latency) if latency else 0.0,
        remote_latency_s=si(remote) if remote else 0.0,
        link_bandwidth_Bps=si(mode.link_bandwidth) if mode.link_bandwidth else float("inf"),
        size_B=si(mode.size) if mode.size else float("inf"),
        cluster_bandwidth_Bps=si(mode.cluster_bandwidth) if mode.cluster_bandwidth else float("inf"),
        moved_over_named=mode.moved_over_named,
    )


def _with_far(memory: Memory, structure: Structure) -> Memory:
    """Return a memory with a latency of other domains; where none is stated, as docs/machines.md assumes it."""
    if memory.remote_latency_s or structure.n_domains == 1:
        return replace(memory, remote_latency_s=memory.remote_latency_s or memory.latency_s)
    line_s, own = structure.transfer_s(0), structure.domain_of == structure.domain_of[0]
    far_s, near_s = line_s[~own], line_s[own][1:]
    # To a femtosecond: equal times have means that differ by rounding.
    longer_s = max(round(float(far_s.mean() - (near_s.mean() if len(near_s) else far_s.min())), 15), 0.0)
    local_s = memory.latency_s or LATENCY_S
    return replace(
        memory, latency_s=local_s, remote_latency_s=local_s + longer_s, assumes_remote=longer_s > 0
    )


def _machine(
    file: MachineFile,
    spec: Spec,
    content: Mapping[str, Any],
    now: Mapping[str, Any],
    structure: Structure,
    memory: Memory,
    shares: _Shares,
    others: Mapping[str, Any],
) -> Machine:
    cores, caches, ways = file.cores, file.caches, int(si(file.cores.smt_ways))
    peak = si(cores.clock) * si(cores.flop_per_cycle)
    one = (1.0,) * ways
    return later("Machine")(
        spec=str(spec),
        title=file.title,
        content=content,
        structure=structure,
        memory=memory,
        smt_ways=ways,
        smt=_whole(spec.params.get("smt", 1), ways, "smt", spec.name),
        compute_throughput=cores.compute_throughput.value if cores.compute_throughput else one,
        memory_throughput=cores.memory_throughput.value if cores.memory_throughput else one,
        core_flops=peak * si(cores.sustained),
        peak_flops=peak,
        clocks=_clocks(cores),
        l1d_B=si(caches.l1d) if caches.l1d else None,
        l2_B=si(caches.l2) if caches.l2 else None,
        l3_B=si(caches.l3) if caches.l3 else None,
        l2_bandwidth_Bps=si(caches.l2_bandwidth) if caches.l2_bandwidth else None,
        interconnect_share=shares.traffic,
        tile_slowdown=si(caches.tile_slowdown) if caches.tile_slowdown else 1.0,
        runtime=_runtime(file.runtime, spec.params.get("reuse_teams", True), spec.name),
        effects=Effects(**dict(file.effects)),
        data=DataWays.of(file.data),
        kinds=_kinds(file, spec, structure.n_cores, memory),
        element_flops={
            element: number / si(cores.flop_per_cycle) for element, number in cores.per_cycle.items()
        },
        tables=others,
        power_W=shares.limit * si(file.power.limit) if file.power and file.power.limit else None,
        power=_power(file, spec, shares, structure.n_cores / shares.cores),
        facts=tuple(
            Fact(place, _value(q["value"]), q["unit"], q["source"], q["confidence"], _ends(q))
            for place, q in quantities(dict(now))
        ),
    )


def _power(file: MachineFile, spec: Spec, shares: _Shares, n_cores: float) -> Power | None:
    """Return what a machine draws, of which the file states that of so many cores."""
    stated = Power.of(file.power, 1.0, 1.0)
    if stated and (one_W := stated.energy_J(1.0, 1.0, 1 / n_cores)) < stated.idle_W:
        raise MachineError(
            f"{spec}: power: one of {n_cores:g} cores busy draws {one_W:.4g} W, less than idle, {stated.idle_W:g} W; "
            "busy is what the machine draws beside what each busy core adds, idle included"
        )
    return Power.of(file.power, shares.idle, shares.cores)


def _clocks(cores: Cores) -> Clocks:
    nominal_Hz, table = si(cores.clock), cores.busy_clock
    if table is None:
        return Clocks(nominal_Hz)
    rows = {name: tuple(value * factor(row.unit) for value in row.value) for name, row in table.rows.items()}
    return Clocks(nominal_Hz, table.busy, rows, table.between == "line")


def _ends(quantity: Mapping[str, Any]) -> tuple[float, float] | None:
    return tuple(quantity["ends"]) if quantity.get("ends") else None


def _value(value: Any) -> float | tuple[float, ...]:
    return tuple(np.ravel(value).tolist()) if isinstance(value, (list, tuple)) else value


def _runtime(table: Runtime, reuse_teams: Scalar, name: str) -> RuntimeProfile:
    if not isinstance(reuse_teams, bool):
        raise MachineError(f"{name}[reuse_teams={reuse_teams}]: expected true or false")
    optional = {
        f"{key}_s": si(quantity)
        for key in ("barrier", "barrier_per_thread", "team_creation", "team_creation_per_thread")
        if (quantity := getattr(table, key)) is not None
    }
    shares = {
        key: si(quantity)
        for key in ("unpinned_region", "misplaced")
        if (quantity := getattr(table, key)) is not None
    }
    return RuntimeProfile(
        dispatch_s=si(table.dispatch),
        pop_s=si(table.pop),
        pop_per_poller_s=si(table.pop_per_poller),
        fork_join_s=si(table.fork_join),
        fork_join_per_thread_s=si(table.fork_join_per_thread),
        resize_s=si(table.resize),
        reuse_teams=reuse_teams,
        **optional,
        **shares,
    )


def _whole(value: Scalar, most: int, key: str, name: str) -> int:
    if not is_whole(value, 1, most):
        stated = "; cores.smt_ways states how many threads a core has" if key == "smt" else ""
        if stated and is_whole(value, most, 64):
            stated += f", as in [cores.smt_ways={value},smt={value}]"
        raise MachineError(
            f"{name}[{key}={value}]: expected a whole number of {key} from 1 to {most}{stated}"
        )
    return int(value)
