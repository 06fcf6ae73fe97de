"""What `simsched list` and `simsched run` tell, as plain values; `listing_text` makes lines of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from simsched.errors import SimschedError, SpecError
from simsched.plugins import Group, named, registered

if TYPE_CHECKING:
    from simsched.reproduce import System
    from simsched.schedule import Schedule
    from simsched.workloads import Workload

#: Facts of one thing: its name, what it is, and more by the kind of thing.
Entry = dict[str, Any]


def entries(what: str) -> list[Entry]:
    """Return what is installed: machines, policies, workloads, formats, cleanups or papers.

    What cannot be loaded has a `name` and an `error` alone.

    Raises
    ------
    SpecError
        If there is no such list.

    Examples
    --------
    >>> [entry["name"] for entry in entries("machines")][:2]
    ['epyc-9654x2', 'generic']
    """
    if what not in LISTS:
        raise SpecError(f"there is no list of {what!r}; there are {', '.join(LISTS)}")
    groups, facts = LISTS[what]
    return [_entry(name, facts) for name in sorted({name for group in groups for name in registered(group)})]


def _entry(name: str, facts: Callable[[str], Entry]) -> Entry:
    try:
        return {"name": name, **facts(name)}
    except SimschedError as error:
        return {"name": name, "error": str(error)}


def _machine(name: str) -> Entry:
    from simsched.machine import machine

    found = machine(name)
    return {
        "title": found.title, "cores": found.n_cores, "tiles": found.n_tiles, "smt_ways": found.smt_ways,
        "memory_modes": list(found.content["memory"]["modes"]),
        "has_clusters": "cluster" in found.content["structure"],
    }  # fmt: skip


def _policy(name: str) -> Entry:
    return _described(named("policies", name))


def _cleanup(name: str) -> Entry:
    return _described(named("cleanups", name))


def _workload(name: str) -> Entry:
    cls: type[Workload] = named("workloads", name)
    return {**_described(cls), "sizes": {size: dict(parameters) for size, parameters in cls.sizes().items()}}


def _paper(name: str) -> Entry:
    cls: type[System] = named("reproductions", name)
    published = cls.published()
    return {**_described(cls), "citation": published.citation, "tables": list(published.tables)}


def _format(name: str) -> Entry:
    facts: Entry = {}
    if name in registered("formats"):
        reader = named("formats", name)
        facts = {
            "title": reader.title, "dependencies": reader.dependencies, "times": reader.times,
            "options": dict(reader.options),
        }  # fmt: skip
    if name in registered("writers"):
        writer = named("writers", name)
        facts = {"title": writer.title, **facts, "writes": writer.writes, "suffixes": list(writer.suffixes)}
    return facts


#: By the name of a list: the entry points in it, and what is told of one of them.
LISTS: dict[str, tuple[tuple[Group, ...], Callable[[str], Entry]]] = {
    "machines": (("machines",), _machine),
    "policies": (("policies",), _policy),
    "workloads": (("workloads",), _workload),
    "formats": (("formats", "writers"), _format),
    "cleanups": (("cleanups",), _cleanup),
    "papers": (("reproductions",), _paper),
}


def _described(cls: type) -> Entry:
    """Return the first line of a class's docstring, and its fields with their defaults, null where there is none."""
    title = (cls.__doc__ or "").strip().partition("\n")[0]
    # Python writes a signature where a dataclass has no docstring.
    title = "" if title.startswith(f"{cls.__name__}(") else title
    return {
        "title": title,
        "parameters": {f.name: None if f.default is MISSING else f.default for f in fields(cls)},
    }


def run_facts(schedule: Schedule) -> dict[str, Any]:
    """Return what `simsched run --json` prints: the inputs, and every metric."""
    return {
        "makespan_s": schedule.makespan_s,
        "engine": schedule.engine,
        "engine_why": schedule.inputs.engine_why if schedule.inputs else "",
        "machine": schedule.require_machine().spec,
        "policy": schedule.policy,
        "layout": schedule.layout,
        "layout_by": schedule.inputs.layout_by if schedule.inputs else "",
        "seed": schedule.seed,
        "tasks": schedule.graph.n_tasks,
        "edges": schedule.graph.n_edges,
        **schedule.metrics(),
    }
