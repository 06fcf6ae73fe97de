"""What `simsched list` and `simsched run` print."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from simsched.errors import SpecError
from simsched.plugins import named, registered

if TYPE_CHECKING:
    from simsched.schedule import Schedule


def lines(what: str) -> Iterator[str]:
    """Return the lines of a list: machines, policies or formats.

    Raises
    ------
    SpecError
        If there is no such list.
    """
    makers = {"machines": _machines, "policies": _policies, "formats": _formats}
    if what not in makers:
        raise SpecError(f"there is no list of {what!r}; there are {', '.join(makers)}")
    return makers[what]()


def _machines() -> Iterator[str]:
    from simsched.machine import machine

    for name in registered("machines"):
        found = machine(name)
        yield f"{name:<16} {found.title}; {found.n_cores} cores, {found.n_tiles} tiles; [cores=N,bandwidth_Bps=N]"


def _policies() -> Iterator[str]:
    for name in registered("policies"):
        cls = named("policies", name)
        params = ",".join(f"{f.name}={f.default}" for f in fields(cls))
        yield f"{name:<16} {_first_line(cls)} [{params}]"


def _formats() -> Iterator[str]:
    for name in registered("formats"):
        reader = named("formats", name)
        yield f"{name:<16} {reader.title}"
        for option, meaning in reader.options.items():
            yield f"{'':<18} --{option.replace('_', '-'):<18} {meaning}"


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]


def run_facts(schedule: Schedule) -> dict[str, Any]:
    """Return what `simsched run --json` prints: the inputs, and every metric."""
    return {
        "makespan_s": schedule.makespan_s,
        "engine": schedule.engine,
        "machine": schedule.require_machine().spec,
        "policy": schedule.policy,
        "layout": schedule.layout,
        "seed": schedule.seed,
        "tasks": schedule.graph.n_tasks,
        "edges": schedule.graph.n_edges,
        **schedule.metrics(),
    }
