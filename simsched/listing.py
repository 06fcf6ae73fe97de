"""What `simsched list` and `simsched run` print."""

from __future__ import annotations

import textwrap
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


COLUMNS = 100
#: A line of an entry behind the first: as it is, or a label and text that is folded beside it.
Part = str | tuple[str, str]


def lines(what: str) -> Iterator[str]:
    """Return the lines of a list: machines, policies, workloads, formats, cleanups or papers.

    Raises
    ------
    SpecError
        If there is no such list.
    """
    lists: dict[str, tuple[tuple[Group, ...], Callable[[str], Iterator[Part]]]] = {
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


def _listed(groups: tuple[Group, ...], maker: Callable[[str], Iterator[Part]]) -> Iterator[str]:
    """Yield the lines of everything registered; what cannot be loaded says so in its place."""
    names = sorted({name for group in groups for name in registered(group)})
    width = max(16, *map(len, names))
    for name in names:
        try:
            parts = list(maker(name))
        except SimschedError as error:
            parts = [str(error)]
        for i, part in enumerate(parts):
            yield from _folded(" " * (width + 3) if i else f"{name:<{width}} ", part)


def _folded(start: str, part: Part) -> list[str]:
    if isinstance(part, str):
        return [start + part]
    label, text = part
    indent = " " * len(start + label)
    return textwrap.wrap(
        text, COLUMNS, initial_indent=start + label, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _machines(name: str) -> Iterator[Part]:
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
    yield f"{found.title}; {found.n_cores} cores, {found.n_tiles} tiles; [{params},...]"


def _policies(name: str) -> Iterator[Part]:
    yield _with_parameters(named("policies", name))


def _workloads(name: str) -> Iterator[Part]:
    cls: type[Workload] = named("workloads", name)
    yield _with_parameters(cls)
    for size, parameters in cls.sizes().items():
        yield f"size={size:<12} {','.join(f'{k}={format_scalar(v)}' for k, v in parameters.items())}"


def _with_parameters(cls: type) -> str:
    params = ",".join(
        f.name if f.default is MISSING else f"{f.name}={format_scalar(f.default)}" for f in fields(cls)
    )
    return f"{_first_line(cls)} [{params}]"


def _formats(name: str) -> Iterator[Part]:
    if name in registered("formats"):
        reader = named("formats", name)
        yield "", reader.title
        yield "dependences: ", reader.dependences
        yield "times: ", reader.times
        for option, meaning in reader.options.items():
            yield f"--{option.replace('_', '-'):<18} ", meaning
    if name in registered("writers"):
        writer = named("writers", name)
        if name not in registered("formats"):
            yield "", writer.title
        yield "written: ", f"{writer.writes}s, {' '.join(writer.suffixes)}"


def _cleanups(name: str) -> Iterator[Part]:
    yield _with_parameters(named("cleanups", name))


def _papers(name: str) -> Iterator[Part]:
    cls: type[System] = named("reproductions", name)
    published = cls.published()
    yield _with_parameters(cls)
    yield published.citation
    yield "; ".join(published.tables)


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
