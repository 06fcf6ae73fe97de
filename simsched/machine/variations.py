"""Variations of a machine: the text between the brackets of `knl-7250[cores=128,memory=cache]`.

=========================  ==============================================================================
`cores=N`                  another number of cores: tiles stay whole, a mesh grows by rows; the memory of each domain
                           stays as it is; domains of a tile each come and go
`bandwidth_Bps=X`          bytes per second of all cores, in the mode in use; switches `share_bandwidth` on
`core_bandwidth_Bps=X`     bytes per second of one core, in the mode in use
`cluster_bandwidth_Bps=X`  bytes per second of a cluster's cores, in the mode in use; switches `share_bandwidth` on
`sharpness=X`              how abruptly the bandwidth of that mode saturates between one core and all
`smt=K`                    hardware threads of a core that are in use; more than one switch `share_cores` on
`memory=MODE`              one of the memories of the file
`domains=N`                memory domains, of equal numbers of cores; of machines with `structure.domains`, as `generic`
`cluster=MODE`             how a chip divides its memory, where it can: `snc4` of a mesh, `nps4` of sockets
`sockets=N`                as many of the file's sockets, each with its cores and its memory
`noc=N`                    network of a torus that data take: 0 goes right, then down, 1 up, then left
`mpes=false`               core groups without their management cores
`contention=true`          all effects of `Effects`, or none; each also by its own name: `share_tiles=true`
`reuse_teams=false`        teams that change size are created anew
`like=NAME`                machine that supplies numbers unknown in a file of another format
`core=NAME`                core of the table of cores that supplies them, there, of `host` and of `generic`
`data=sent`                how objects get from place to place, `sent` or `read`; `data=none` for in no time
`places=tile`              what keeps its data to itself: `core`, `tile` or `domain`
`home=memory`              where inputs are and outputs go: `everywhere`, `memory`, or the `host` (also called `master`)
`route=host`               objects are sent through the host (`master`), not directly
`link_Bps=X`               bytes per second out of a place, and into it
`link_latency_s=X`         seconds of a move, however little moves
`hop_Bps=X`                bytes per second of a link of the interconnect, `hop_latency_s=X` what each adds to a move
`memory_Bps=X`             bytes per second out of a memory, and into it, `memory_latency_s=X` what it adds to a move
`place_B=X`                bytes that a place holds
`idle_W=X`                 watts of the whole machine, idle; `busy_W=X` next to no load, `all_cores_W=X` all cores busy
`kinds=each`               each core is a kind of its own; `kinds=none` for all alike
`a.b=X`                    any number of the file by its place, in its unit there: `runtime.dispatch=200`; of a kind of
                           cores by its name, too: `kinds.clock.GPU=1.98`. Kinds that have the number of the file's
                           cores keep having it when that is varied, and what planners of local memories state again of
                           a core (`ldm.clock`) goes along.
=========================  ==============================================================================

A number that only one effect uses switches this effect on (`simsched.machine.stated`); `contention` comes before it,
and the name of an effect before both.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from math import isclose
from sys import float_info
from typing import Any

from simsched.errors import MachineError
from simsched.machine.effects import NAMES
from simsched.machine.schema import GIVEN, NARROW, factor
from simsched.machine.stated import OF_DATA, meant
from simsched.parameters import is_number, is_whole
from simsched.plugins import named, registered
from simsched.spec import Scalar, format_scalar

#: Numbers of the memory in use.
OF_MEMORY = ("bandwidth_Bps", "core_bandwidth_Bps", "cluster_bandwidth_Bps", "sharpness")
#: Of the table `[power]`, in watts.
OF_POWER = {"idle_W": "idle", "busy_W": "busy", "all_cores_W": "all_cores"}
SHORT = (
    "cores",
    *OF_MEMORY,
    "smt",
    "memory",
    "domains",
    "cluster",
    "sockets",
    "noc",
    "mpes",
    "contention",
    *NAMES,
    "reuse_teams",
    *OF_DATA,
    *OF_POWER,
    "kinds",
)
#: Numbers of kinds of cores that the file's cores have, too.
OF_BASE = {"clock", "flop_per_cycle", "core_bandwidth"}
#: Numbers of cores that a file need not state.
OF_ELEMENTS = tuple(f"cores.{element}_per_cycle" for element in NARROW)
#: Carried out when the machine is built, not in its file.
BUILT = ("cores", "smt", "reuse_teams", "like", "core")


def edited(
    content: Mapping[str, Any],
    params: Mapping[str, Scalar],
    spec: str,
    given: Mapping[str, Scalar] | None = None,
) -> dict[str, Any]:
    """Return the content of a checked machine file with the variations that its numbers can express.

    Varied numbers are marked: their source is the variation, their confidence unverified. Those that are given, all
    when nothing says which, switch on the effects that use them.

    Raises
    ------
    MachineError
        On an unknown parameter, a value of the wrong type, or two parameters for one number; whether a number is
        possible, the file's schema determines.
    """
    now: dict[str, Any] = _copied(dict(content))
    # The modes first: bandwidths are those of the modes in use, wherever they are; all effects before one of them.
    for key, value in sorted(params.items(), key=_turn):
        where = f"{spec}[{key}={format_scalar(value)}]"
        if key in BUILT:
            continue
        if key in NAMES or key == "contention":
            _switch(now, key, value, where)
        elif key == "memory":
            now["memory"]["mode"] = _checked_mode(now, value, where)
        elif key in OF_STRUCTURE:
            OF_STRUCTURE[key](now, value, where)
        elif key in OF_DATA:
            _set_data(now, key, value, where)
        elif key in OF_POWER:
            _set(now.setdefault("power", {}).setdefault(OF_POWER[key], {}), value, where, "W")
        elif key in OF_MEMORY:
            mode, name = now["memory"]["mode"], key.removesuffix("_Bps")
            if f"memory.modes.{mode}.{name}" in params:
                raise MachineError(
                    f"{where}: memory.modes.{mode}.{name} sets the same number; give one of them"
                )
            _set_of_memory(now, name, value, where)
        else:
            _set_place(now, key, value, spec)
    _follow(content, now)
    _follow_in_tables(content, now, params)
    if "cores" in params and is_whole(tile := params.get("cores.per_tile"), 1):
        _make_whole(now, tile)
    if params:
        on = meant(params if given is None else given, now["memory"]["mode"])
        now.setdefault("effects", {}).update(dict.fromkeys(on, True))
    return now


def _make_whole(content: dict[str, Any], tile: int) -> None:
    """Let the file's own number of cores, for which another one stands, be whole tiles where nothing else counts it."""
    count = content["cores"]["count"]
    if content["structure"]["kind"] == "flat":
        count["value"] = max(round(count["value"] / tile), 1) * tile


def _copied(content: Any) -> Any:
    """Return a copy of parsed TOML that shares no table and no list with it."""
    if isinstance(content, dict):
        return {
            key: _copied(value) if isinstance(value, (dict, list)) else value
            for key, value in content.items()
        }
    return [_copied(value) for value in content] if isinstance(content, list) else content


def _turn(variation: tuple[str, Scalar]) -> int:
    """Return the place of a variation among others: `data=none` last, for it removes what others say of data."""
    if variation == ("data", "none"):
        return 3
    return {"memory": 0, "cluster": 0, "sockets": 0, "mpes": 0, "contention": 0, "data": 1}.get(
        variation[0], 2
    )


def _set(quantity: dict[str, Any], value: Scalar, where: str, unit: str) -> None:
    if not is_number(value):
        raise MachineError(f"{where}: expected a number")
    try:
        number = float(value)
    except OverflowError:
        raise MachineError(f"{where}: expected a number of at most {float_info.max:.3g}") from None
    quantity.update(value=number, unit=unit, source=f"{GIVEN}{where}", confidence="unverified")
    quantity.pop("ends", None)


def _switch(content: dict[str, Any], key: str, value: Scalar, where: str) -> None:
    if not isinstance(value, bool):
        raise MachineError(f"{where}: expected true or false")
    effects = content.setdefault("effects", {})
    for name in NAMES if key == "contention" else (key,):
        effects[name] = value


def _checked_mode(content: Mapping[str, Any], value: Scalar, where: str) -> str:
    modes = content["memory"]["modes"]
    if not isinstance(value, str) or value not in modes:
        size = "" if isinstance(value, str) else "; place_B is the size of a place, in bytes"
        raise MachineError(f"{where}: memory is a mode; expected one of {', '.join(modes)}{size}")
    return value


def _set_cluster(content: dict[str, Any], value: Scalar, where: str) -> None:
    if "cluster" not in content["structure"]:
        raise MachineError(f"{where}: this machine has no cluster modes")
    modes = content["structure"].get("cluster_domains")
    if modes is not None and value not in modes:
        raise MachineError(f"{where}: expected one of {', '.join(modes)}")
    content["structure"]["cluster"] = value


def _set_noc(content: dict[str, Any], value: Scalar, where: str) -> None:
    if "noc" not in content["structure"]:
        raise MachineError(f"{where}: this machine is no torus, it has no networks to choose from")
    content["structure"]["noc"] = value


def _set_mpes(content: dict[str, Any], value: Scalar, where: str) -> None:
    """Leave out management cores, or keep them: the kinds of cores go with them."""
    structure, cores = content["structure"], content["cores"]
    if "management" not in structure:
        raise MachineError(f"{where}: this machine has no management cores")
    if not isinstance(value, bool):
        raise MachineError(f"{where}: expected true or false")
    if value:
        return
    count, tile = cores["count"], cores["per_tile"]
    kept = tile["value"] - structure.pop("management")["value"]
    count["value"], tile["value"] = count["value"] * kept // tile["value"], kept
    for quantity in (count, tile):
        quantity["source"] += f"; varied: {where}"
    content.pop("kinds", None)


def _set_of_memory(content: dict[str, Any], name: str, value: Scalar, where: str) -> None:
    """Set a number of the memory in use; who states another bandwidth has other channels."""
    _set(_of_memory(content, name), value, where, "" if name == "sharpness" else "B/s")
    if name == "bandwidth":
        content["memory"]["modes"][content["memory"]["mode"]].pop("peak", None)


def _of_memory(content: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the place of a number of the memory in use: that of its cluster mode, where the file has one."""
    mode = content["memory"]["modes"][content["memory"]["mode"]]
    own = mode.get("clusters", {}).get(content["structure"].get("cluster"), {})
    # The file need not state it.
    return own[name] if name in own else mode.setdefault(name, {})


def _set_sockets(content: dict[str, Any], value: Scalar, where: str) -> None:
    """Repeat the sockets of a file, which are alike, with all that is counted over the whole machine."""
    structure = content["structure"]
    sizes = structure.get("sockets")
    if not isinstance(sizes, list) or len(set(sizes)) > 1 or "kinds" in content:
        raise MachineError(
            f"{where}: only machines whose file has sockets, all alike, can have more or fewer"
        )
    if not is_whole(value, 1, 1024):
        raise MachineError(f"{where}: expected a whole number of sockets from 1 to 1024")
    before, count = len(sizes), int(value)
    if count == before:
        return
    for key in ("sockets", "domains", "l3", "clusters"):
        if key in structure:
            structure[key] = structure[key][: len(structure[key]) // before] * count
    structure.pop("links", None)
    whole = [content["cores"]["count"], *content.get("power", {}).values()]
    for mode in content["memory"]["modes"].values():
        own = mode.get("clusters", {}).values()
        whole += [part[key] for part in (mode, *own) for key in ("bandwidth", "peak", "size") if key in part]
    for quantity in whole:
        number = quantity["value"] * count / before
        quantity["value"] = int(number) if quantity["unit"] == "core" else number
        quantity["source"] += f"; times {count}/{before}, for so many sockets"


def _set_domains(content: dict[str, Any], value: Scalar, where: str) -> None:
    if not isinstance(content["structure"].get("domains"), dict):
        raise MachineError(f"{where}: only machines whose file states structure.domains can have others")
    _set(content["structure"]["domains"], value, where, "")


def _set_data(content: dict[str, Any], key: str, value: Scalar, where: str) -> None:
    name, unit = OF_DATA[key]
    if key == "data" and value == "none":
        content.pop("data", None)
        return
    table = content.setdefault("data", {})
    # Who states a number of what moves wants it to move.
    if table.get("mode", "none") == "none":
        table["mode"] = "sent"
    if unit:
        _set(table.setdefault(name, {}), value, where, unit)
    elif isinstance(value, str):
        table[name] = value
    else:
        raise MachineError(f"{where}: expected a name")


def _set_kinds(content: dict[str, Any], value: Scalar, where: str) -> None:
    if value not in ("each", "none"):
        raise MachineError(f"{where}: expected each or none")
    content.pop("kinds", None)
    if value == "each":
        content["kinds"] = {"each": True}


def _stated_at(content: dict[str, Any], key: str) -> dict[str, Any] | None:
    """Return the number at a key, or the row of kinds that it is in."""
    kind = _of_kind(content, key)
    return _at_place(content, key) if kind is None else kind[0]


def _set_place(content: dict[str, Any], key: str, value: Scalar, spec: str) -> None:
    number, kind = _at_place(content, key), _of_kind(content, key)
    if number is None and key in OF_ELEMENTS and isinstance(content.get("cores"), dict):
        number = content["cores"][key.removeprefix("cores.")] = {"unit": "FLOP/cycle"}
    if kind is not None:
        row, place = kind
        one: dict[str, Any] = {}
        _set(one, value, f"{spec}[{key}={format_scalar(value)}]", row["unit"])
        row["value"] = [*row["value"][:place], one["value"], *row["value"][place + 1 :]]
        row["source"] += f"; {one['source']}"
        return
    if number is None:
        places = [place for place, _ in quantities(content) if _at_place(content, place)]
        kinds = content.get("kinds", {})
        places += [f"kinds.{row}.{name}" for row in kinds for name in kinds.get("names", ())]
        stem = key.rpartition("_")[0] or key
        # Of names that state bytes there is one, and what is spelled alike states bytes per second.
        near = [name for name in SHORT if name.endswith("_B") and key.endswith("_B")]
        near = near or get_close_matches(key, [*SHORT, *places, *OF_ELEMENTS], n=3)
        near = near or [place for place in places if place.endswith(f".{stem}")]
        units = {place: found["unit"] for place in near if (found := _stated_at(content, place))}
        shown = [f"{place} (in {units[place]})" if units.get(place) else place for place in near]
        known = f"; did you mean {' or '.join(shown)}?" if near else f"; it has {', '.join(SHORT)}, and"
        raise MachineError(
            f"{spec} has no parameter {key!r}{known}{'' if near else ' any number of describe() by its key'}"
        )
    _set(number, value, f"{spec}[{key}={format_scalar(value)}]", number["unit"])


def _at_place(content: Mapping[str, Any], place: str) -> dict[str, Any] | None:
    """Return the quantity at a dotted place; None where there is none, or a list of numbers."""
    table: Any = content
    for key in place.split("."):
        table = table.get(key) if isinstance(table, dict) else None
    return table if _is_quantity(table) and not isinstance(table["value"], (list, tuple)) else None


def _of_kind(content: Mapping[str, Any], place: str) -> tuple[dict[str, Any], int] | None:
    """Return the row of the table of kinds, and the place in it, of `kinds.ROW.KIND`; None for other places."""
    table, _, of_table = place.partition(".")
    name, _, kind = of_table.partition(".")
    kinds = content.get("kinds", {}) if table == "kinds" else {}
    row, names = kinds.get(name), kinds.get("names", ())
    return (row, names.index(kind)) if row is not None and kind in names and _is_quantity(row) else None


def _follow(before: Mapping[str, Any], now: dict[str, Any]) -> None:
    """Let kinds whose clock, width or bandwidth is that of the file's cores have the varied one."""
    stated = (f"{element}_per_cycle" for element in NARROW)
    for key in now.get("kinds", {}).keys() & {*OF_BASE, *stated}:
        if key not in OF_BASE and key not in before["cores"]:
            continue
        row, old, new = now["kinds"][key], _base(before, key), _base(now, key)
        unit = factor(row["unit"])
        if old != new:
            same = (isclose(value * unit, old, rel_tol=1e-9) for value in row["value"])
            row["value"] = [
                new / unit if one else value for one, value in zip(same, row["value"], strict=True)
            ]


def _follow_in_tables(before: Mapping[str, Any], now: dict[str, Any], params: Mapping[str, Scalar]) -> None:
    """Scale what tables state of the cores again with the varied number, unless it is given, too."""
    for name in now.keys() & set(registered("machine_tables")) if params else ():
        for key, base in getattr(named("machine_tables", name), "follows", {}).items():
            ratio = _base(now, base) / _base(before, base)
            if ratio != 1 and f"{name}.{key}" not in params:
                now[name][key]["value"] *= ratio
                now[name][key]["source"] += f"; times {ratio:.4g}, as {base} of the cores"


def _base(content: Mapping[str, Any], key: str) -> float:
    """Return what the file's cores have of a number of kinds, in SI units."""
    number = content["cores"][key] if key in content["cores"] else _of_memory(dict(content), key)
    return float(number["value"]) * factor(number["unit"])


def quantities(table: Any, place: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Return every quantity of a machine file with its dotted place, in the order of the file."""
    if not isinstance(table, dict):
        return []
    if _is_quantity(table):
        return [(place, table)]
    return [
        found
        for key, value in table.items()
        if isinstance(value, dict)
        for found in quantities(value, f"{place}.{key}" if place else key)
    ]


def _is_quantity(table: Any) -> bool:
    return isinstance(table, dict) and {"value", "unit", "source", "confidence"} <= table.keys()


#: What sets a variation of the structure in the content of a file.
OF_STRUCTURE = {
    "cluster": _set_cluster,
    "sockets": _set_sockets,
    "noc": _set_noc,
    "mpes": _set_mpes,
    "kinds": _set_kinds,
    "domains": _set_domains,
}
