"""Machines made from another one: varied, or with other numbers in its file; refused of what replaced fields made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from math import isclose
from typing import TYPE_CHECKING

from simsched.errors import MachineError
from simsched.machine.build import built
from simsched.machine.effects import NAMES
from simsched.machine.stated import varied_spec
from simsched.machine.variations import OF_MEMORY
from simsched.spec import Scalar, parse_path

if TYPE_CHECKING:
    from simsched.machine.machine import Machine

#: Fields that variations keep, or that change no replay of a machine with other numbers.
KEPT = ("spec", "title", "content", "effects", "facts", "stated_speed")
#: What states a field between brackets.
KEYS = {
    "clocks": "cores.clock",
    "structure": "cores",
    "smt": "smt",
    "smt_ways": "cores.smt_ways",
    "l1d_B": "caches.l1d",
    "l2_B": "caches.l2",
    "l3_B": "caches.l3",
    "l2_bandwidth_Bps": "caches.l2_bandwidth",
    "tile_slowdown": "caches.tile_slowdown",
    "runtime": "runtime.dispatch",
    "data": "data",
    "kinds": "kinds",
    "element_flops": "cores.bf16_per_cycle",
    "power_W": "power.limit",
    "power": "all_cores_W",
}


def varied(machine: Machine, params: Mapping[str, Scalar]) -> Machine:
    """Return a machine with further variations; see `Machine.varied`.

    Its title and effects that were replaced stay so, unless the variations state them.
    """
    plain, found = as_built(machine), built(machine.content, varied_spec(machine, params))
    if (plain.title, plain.effects) == (machine.title, machine.effects):
        return found
    same = (name for name in NAMES if getattr(plain.effects, name) == getattr(found.effects, name))
    kept = {name: getattr(machine.effects, name) for name in (*same, "fair_cores")}
    return replace(found, title=machine.title, effects=replace(found.effects, **kept))


def with_numbers(machine: Machine, numbers: Mapping[str, float]) -> Machine:
    """Return a machine whose file states other numbers, by place: with other cores they change as the stated ones.

    That is where it differs from `varied`: a bandwidth that is varied beside the cores is that of these cores.
    """
    own = parse_path(machine.spec).params
    return built(machine.content, varied_spec(machine, numbers), given=own)


@lru_cache(maxsize=64)
def as_built(machine: Machine) -> Machine:
    """Return the machine of the same file and string.

    Raises
    ------
    MachineError
        If it is another one: what `dataclasses.replace` changed is neither in the file nor in the string, and machines
        that are made from these would not have it.
    """
    plain = built(machine.content, parse_path(machine.spec))
    changed = [
        one.name
        for one in fields(machine)
        if one.name not in KEPT and getattr(machine, one.name) != getattr(plain, one.name)
    ]
    if not changed:
        return plain
    said = (
        f"{machine}: this machine was changed with dataclasses.replace ({', '.join(changed)}), which machines made "
        "from its file, of other cores or sampled numbers, would not have; "
    )
    keys = {KEYS[name]: "..." for name in changed if name in KEYS} | dict(_numbers(machine, plain))
    own = "state it in a machine file of your own (docs/machines.md)"
    raise MachineError(
        said + (f"vary it by its keys, as {varied_spec(plain, keys)}, or {own}" if keys else own)
    )


def _numbers(machine: Machine, plain: Machine) -> Iterator[tuple[str, float]]:
    """Yield what keys state of the cores' operations and of the memory, where it is not as in the plain machine."""
    share, sustained = (one.core_flops / one.peak_flops for one in (machine, plain))
    if machine.peak_flops != plain.peak_flops:
        yield "cores.flop_per_cycle", machine.peak_flops / plain.clocks.nominal_Hz
    if not isclose(share, sustained):
        yield "cores.sustained", share
    for key in OF_MEMORY:
        if (value := getattr(machine.memory, key)) != getattr(plain.memory, key):
            yield key, value
