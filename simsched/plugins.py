"""What is registered through entry points: machines, policies, formats, ours and other people's alike."""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from simsched.errors import SpecError

Group = Literal["machines", "policies", "formats", "writers"]


@cache
def registered(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, sorted.

    Raises
    ------
    SpecError
        If two packages register one name for different things.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=f"simsched.{group}")):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise SpecError(
                f"{entry.name!r} of simsched.{group} is registered twice: {other.value} and {entry.value}"
            )
    return found


def named(group: Group, name: str) -> Any:
    """Return what is registered under a name.

    Raises
    ------
    SpecError
        If nothing is; the message lists what there is.
    """
    entries = registered(group)
    if name not in entries:
        raise SpecError(f"no {_SINGULAR[group]} is called {name!r}; there are: {', '.join(entries)}")
    return entries[name].load()


_SINGULAR = {"machines": "machine", "policies": "policy", "formats": "format", "writers": "writer"}
