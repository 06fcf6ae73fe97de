"""Objects registered through entry points: machines, policies, workloads and so on, ours and others'."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, get_args

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
#: Names that users give for each other.
_MIXED_UP: tuple[Group, ...] = ("machines", "policies", "workloads")


@cache
def installed() -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of every group, of one look at all packages."""
    every = entry_points()
    return {group: tuple(every.select(group=f"simsched.{group}")) for group in get_args(Group)}


@cache
def registered(group: Group) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name, sorted; more than one where packages contend for a name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for entry in sorted(installed()[group]):
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
        raise SpecError(
            f"no {_SINGULAR[group]} is called {name!r}; there are: {there}{meant(group, str(name))}"
        )
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


def meant(group: Group, name: str) -> str:
    """Return the end of a message on a wrong name: what else has this name, or which is spelled alike; "" for none."""
    near = get_close_matches(name.lower(), registered(group), 1)
    return elsewhere(group, name) or (f"; did you mean {near[0]}?" if near else "")


def elsewhere(group: Group, name: str) -> str:
    """Return the end of a message on a name that is none of a group, but of another one; "" for others.

    Examples
    --------
    >>> elsewhere("machines", "fifo"), elsewhere("policies", "fifo")
    ('; fifo is a policy', '')
    """
    found = [_SINGULAR[one] for one in _MIXED_UP if one != group and name.lower() in registered(one)]
    return f"; {name} is a {found[0]}" if found else ""


def _source(entry: EntryPoint) -> str:
    package = entry.dist.name if entry.dist else "an unknown package"
    return f"{package} ({entry.value})"
