"""Objects registered through entry points: machines, policies, workloads and so on, ours and others'."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from simsched.errors import SpecError, refuse_interrupt

Group = Literal[
    "machines",
    "hosts",
    "structures",
    "machine_tables",
    "machine_readers",
    "machine_cores",
    "policies",
    "formats",
    "writers",
    "cleanups",
    "workloads",
    "reproductions",
]

_SINGULAR = {
    "machines": "machine",
    "hosts": "fact of the host",
    "structures": "structure",
    "machine_tables": "table of machine files",
    "machine_readers": "reader of machines",
    "machine_cores": "table of cores",
    "policies": "policy",
    "formats": "format",
    "writers": "writer",
    "cleanups": "clean-up step",
    "workloads": "workload",
    "reproductions": "published system",
}


@cache
def registered(group: Group) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, sorted; more than one where packages contend for a name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in sorted(entry_points(group=f"simsched.{group}")):
        found.setdefault(entry.name, {}).setdefault(entry.value, entry)
    return {name: tuple(entries.values()) for name, entries in found.items()}


def named(group: Group, name: str) -> Any:
    """Return the object registered under a name.

    Raises
    ------
    SpecError
        If nothing is, or things of several packages are, or it cannot be loaded.
    """
    entries = registered(group).get(name, ()) if isinstance(name, str) else ()
    if not entries:
        there = ", ".join(registered(group))
        near = get_close_matches(str(name).lower(), registered(group), 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise SpecError(f"no {_SINGULAR[group]} is called {name!r}; there are: {there}{meant}")
    if len(entries) > 1:
        sources = " and ".join(_source(entry) for entry in entries)
        raise SpecError(f"{_SINGULAR[group]} {name!r} is registered by {sources}; uninstall one of them")
    try:
        return entries[0].load()
    except Exception as error:
        refuse_interrupt(error)
        raise SpecError(
            f"{_SINGULAR[group]} {name!r} of {_source(entries[0])} cannot be loaded: {type(error).__name__}: {error}"
        ) from error


def _source(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "an unknown package"
    return f"{package} ({entry.value})"
