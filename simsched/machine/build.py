"""From the content of a machine file, and variations, to a `Machine`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from simsched.errors import MachineError
from simsched.machine.effects import Effects
from simsched.machine.machine import Fact, Machine
from simsched.machine.memory import Memory
from simsched.machine.runtime import RuntimeProfile
from simsched.machine.variations import edited, quantities
from simsched.plugins import named, registered
from simsched.spec import Scalar, Spec, parse

if TYPE_CHECKING:
    from simsched.machine.schema import MachineFile, Mode, Runtime
    from simsched.machine.structure import Structure

#: Tables of every machine file; others are checked by who registered them as `simsched.machine_tables`.
COMMON = ("schema", "name", "title", "cores", "memory", "caches", "runtime", "effects")


def varied(machine: Machine, params: Mapping[str, Scalar]) -> Machine:
    """Return a machine with further variations; see `Machine.varied`."""
    name, _, written = machine.spec.partition("[")
    before = parse(f"x[{written}").params if written else {}
    return built(machine.content, Spec(name, {**before, **params}))


def built(content: Mapping[str, Any], spec: Spec, where: str = "") -> Machine:
    """Return the machine of a file's content.

    Parameters
    ----------
    content : mapping
        The file, as parsed; see docs/machines.md.
    spec : Spec
        Its name, and variations.
    where : str
        File, for errors.

    Raises
    ------
    MachineError
        If the content or a variation is impossible; all mistakes of a file are listed.
    """
    params = spec.params
    now = edited(content, params, spec.name) if params else dict(content)
    file, table, others = _checked(now, where or str(spec))
    structure = _structure(file, table, where or str(spec))
    memory = _memory(file, structure, str(content["structure"].get("cluster", "any")))
    if "cores" in params:
        before = structure.n_domains
        structure = structure.resized(_whole(params["cores"], 2**20, "cores", spec.name))
        memory = _scaled(memory, structure.n_domains / before)
    return _machine(file, str(spec), content, now, structure, memory, others)


def _checked(content: Mapping[str, Any], where: str) -> tuple[MachineFile, Any, dict[str, Any]]:
    """Return the common tables, the structure's and the others, or raise an error with the mistakes of all."""
    from pydantic import ValidationError

    from simsched.machine.schema import MachineFile

    mistakes: list[str] = []

    def validated(model: type[Any], part: object, place: str) -> Any:
        try:
            return model.model_validate(part)
        except ValidationError as error:
            mistakes.extend(_told(error, place))
            return None

    tables = registered("machine_tables")
    file = validated(
        MachineFile, {k: v for k, v in content.items() if k != "structure" and k not in tables}, ""
    )
    given = content.get("structure")
    kind = given.get("kind") if isinstance(given, dict) else None
    structure = None
    if kind in registered("structures"):
        structure = validated(
            named("structures", str(kind)).schema,
            given,
            "structure.",
        )
    else:
        mistakes.append(
            f"structure.kind: expected one of {', '.join(registered('structures'))} (got {kind!r})"
        )
    others = {
        key: validated(named("machine_tables", key), content[key], f"{key}.")
        for key in tables
        if key in content
    }
    if mistakes:
        raise MachineError(
            f"{where}: {len(mistakes)} mistake{'s' * (len(mistakes) > 1)}: {'; '.join(mistakes)}"
        )
    return cast("MachineFile", file), structure, others


def _told(error: Any, place: str) -> list[str]:
    lines = []
    for mistake in error.errors():
        key = place + ".".join(map(str, mistake["loc"]))
        given = mistake["input"]
        shown = "" if mistake["type"] == "missing" or isinstance(given, dict) else f" (got {given!r})"
        lines.append(f"{key.rstrip('.')}: {mistake['msg'].removeprefix('Value error, ')}{shown}")
    return lines


def _structure(file: MachineFile, table: Any, where: str) -> Structure:
    from simsched.machine.schema import si

    count, per_tile = int(si(file.cores.count)), int(si(file.cores.per_tile))
    if count % per_tile:
        raise MachineError(f"{where}: cores.count: {count} cores are not whole tiles of {per_tile}")
    kinds = {named("structures", kind).schema: named("structures", kind) for kind in registered("structures")}
    try:
        structure: Structure = kinds[type(table)].of(table, count, per_tile)
    except MachineError as error:
        raise MachineError(f"{where}: structure: {error}") from None
    return structure


def _memory(file: MachineFile, structure: Structure, stated: str) -> Memory:
    """Return the memory in use. Its numbers were stated for a cluster mode, and may be asked for in another.

    A core has so many loads in flight at once, so that its bandwidth goes with the inverse of their latency.
    """
    from simsched.machine.schema import si

    mode: Mode = file.memory.modes[file.memory.mode]
    cluster = str(getattr(structure, "cluster", "any"))
    latency = mode.latency.get(cluster, mode.latency.get("any"))
    remote = mode.remote_latency.get(cluster, mode.remote_latency.get("any", latency))
    before = mode.latency.get(stated, latency)
    slower = si(latency) / si(before) if latency and before and latency != before else 1.0
    return Memory(
        name=mode.title,
        core_bandwidth_Bps=si(mode.core_bandwidth) / slower,
        bandwidth_Bps=si(mode.bandwidth),
        sharpness=si(mode.sharpness) if mode.sharpness else float("inf"),
        latency_s=si(latency) if latency else 0.0,
        remote_latency_s=si(remote) if remote else 0.0,
        link_bandwidth_Bps=si(mode.link_bandwidth) if mode.link_bandwidth else float("inf"),
        size_B=si(mode.size) if mode.size else float("inf"),
    )


def _scaled(memory: Memory, factor: float) -> Memory:
    """Return a memory of more or fewer domains: each keeps its bandwidth."""
    return replace(memory, bandwidth_Bps=memory.bandwidth_Bps * factor)


def _machine(
    file: MachineFile,
    spec: str,
    content: Mapping[str, Any],
    now: Mapping[str, Any],
    structure: Structure,
    memory: Memory,
    others: Mapping[str, Any],
) -> Machine:
    from simsched.machine.schema import si

    cores, caches, ways = file.cores, file.caches, int(si(file.cores.smt_ways))
    name, _, written = spec.partition("[")
    params = parse(f"x[{written}").params if written else {}
    peak = si(cores.clock) * si(cores.flop_per_cycle)
    one = (1.0,) * ways
    return Machine(
        spec=spec,
        title=file.title,
        content=content,
        structure=structure,
        memory=memory,
        smt_ways=ways,
        smt=_whole(params.get("smt", 1), ways, "smt", name),
        compute_throughput=cores.compute_throughput.value if cores.compute_throughput else one,
        memory_throughput=cores.memory_throughput.value if cores.memory_throughput else one,
        core_flops=peak * si(cores.sustained),
        peak_flops=peak,
        l1d_B=si(caches.l1d) if caches.l1d else None,
        l2_B=si(caches.l2) if caches.l2 else None,
        l3_B=si(caches.l3) if caches.l3 else None,
        l2_bandwidth_Bps=si(caches.l2_bandwidth) if caches.l2_bandwidth else None,
        tile_slowdown=si(caches.tile_slowdown) if caches.tile_slowdown else 1.0,
        runtime=_runtime(file.runtime, params.get("reuse_teams", True), name),
        effects=Effects(**dict(file.effects)),
        tables=others,
        facts=tuple(
            Fact(place, _value(q["value"]), q["unit"], q["source"], q["confidence"])
            for place, q in quantities(dict(now))
        ),
    )


def _value(value: Any) -> float | tuple[float, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else value


def _runtime(table: Runtime, reuse_teams: Scalar, name: str) -> RuntimeProfile:
    from simsched.machine.schema import si

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
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
        raise MachineError(f"{name}[{key}={value}]: expected a whole number of {key} from 1 to {most}")
    return int(value)
