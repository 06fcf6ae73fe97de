"""What `simsched list` and `simsched run` print."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from simsched.errors import SimschedError, SpecError
from simsched.plugins import Group, named, registered
from simsched.spec import format_scalar

if TYPE_CHECKING:
    from simsched.reproduce import System
    from simsched.schedule import Schedule
    from simsched.workloads import Workload


def lines(what: str) -> Iterator[str]:
    """Return the lines of a list: machines, policies, workloads, formats, cleanups or papers.

    Raises
    ------
    SpecError
        If there is no such list.
    """
    lists: dict[str, tuple[tuple[Group, ...], Callable[[str], Iterator[str]]]] = {
        "machines": (("machines",), _machines),
        "policies": (("policies",), _policies),
        "workloads": (("workloads",), _workloads),
        "formats": (("formats", "writers"), _formats),
        "cleanups": (("cleanups",), _cleanups),
        "papers": (("reproductions",), _papers),
    }
    if what not in lists:
        raise SpecError(f"there is no list of {what!r}; there are {', '.join(lists)}")
    return _listed(*lists[what])


def _listed(groups: tuple[Group, ...], maker: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """Yield the lines of everything registered; what cannot be loaded says so in its place."""
    for name in sorted({name for group in groups for name in registered(group)}):
        try:
            yield from maker(name)
        except SimschedError as error:
            yield f"{name:<16} {error}"


def _machines(name: str) -> Iterator[str]:
    from simsched.machine import machine

    found = machine(name)
    modes = "|".join(found.content["memory"]["modes"])
    params = ",".join(
        ["cores=N"]
        + ([f"smt=1..{found.smt_ways}"] if found.smt_ways > 1 else [])
        + ([f"memory={modes}"] if "|" in modes else [])
        + (["cluster=MODE"] if "cluster" in found.content["structure"] else [])
        + ["contention=true|false"]
    )
    yield f"{name:<16} {found.title}; {found.n_cores} cores, {found.n_tiles} tiles; [{params},...]"


def _policies(name: str) -> Iterator[str]:
    yield _with_parameters(name, named("policies", name))


def _workloads(name: str) -> Iterator[str]:
    cls: type[Workload] = named("workloads", name)
    yield _with_parameters(name, cls)
    for size, parameters in cls.sizes().items():
        yield f"{'':<18} size={size:<12} {','.join(f'{k}={format_scalar(v)}' for k, v in parameters.items())}"


def _with_parameters(name: str, cls: type) -> str:
    params = ",".join(
        f.name if f.default is MISSING else f"{f.name}={format_scalar(f.default)}" for f in fields(cls)
    )
    return f"{name:<16} {_first_line(cls)} [{params}]"


def _formats(name: str) -> Iterator[str]:
    if name in registered("formats"):
        reader = named("formats", name)
        yield f"{name:<16} {reader.title}"
        yield f"{'':<18} read: dependences {reader.dependences}; times {reader.times}"
        for option, meaning in reader.options.items():
            yield f"{'':<18} --{option.replace('_', '-'):<18} {meaning}"
    if name in registered("writers"):
        writer = named("writers", name)
        if name not in registered("formats"):
            yield f"{name:<16} {writer.title}"
        yield f"{'':<18} written: {writer.writes}s, {' '.join(writer.suffixes)}"


def _cleanups(name: str) -> Iterator[str]:
    yield _with_parameters(name, named("cleanups", name))


def _papers(name: str) -> Iterator[str]:
    cls: type[System] = named("reproductions", name)
    published = cls.published()
    yield _with_parameters(name, cls)
    yield f"{'':<18} {published.citation}"
    yield f"{'':<18} {'; '.join(published.tables)}"


def _first_line(cls: type) -> str:
    text = (cls.__doc__ or "").strip().partition("\n")[0]
    # Python writes a signature where a dataclass has no docstring.
    return "" if text.startswith(f"{cls.__name__}(") else text


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
