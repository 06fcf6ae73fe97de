"""The command `list`: what is installed, as plain values and as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Annotated, Any

import typer

from simsched.cli.common import JsonOption, command, say_json
from simsched.document.terminal import fitted, width
from simsched.errors import SimschedError, SpecError
from simsched.plugins import Group, named, registered
from simsched.policy.policy import FAMILIES, NAMED_ALONE
from simsched.reproduce import System
from simsched.spec import format_scalar
from simsched.text import printable
from simsched.workloads import Workload

#: Facts of one entry: its name, its description, and more by its kind.
Entry = dict[str, Any]
#: A line of an entry: a label, mostly empty, and text that is folded next to it.
Part = tuple[str, str]


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
    ['a64fx', 'apple-m1']
    """
    if what not in LISTS:
        raise SpecError(f"there is no list of {what!r}; there are {', '.join(LISTS)}")
    groups, facts = LISTS[what]
    found = [_entry(name, facts) for name in sorted({name for group in groups for name in registered(group)})]
    return sorted(found, key=_group)


def _group(entry: Entry) -> tuple[int, str]:
    """Return the place of a policy's family: none first, one's own last."""
    family, known = entry.get("family", ""), ["", *FAMILIES]
    return known.index(family) if family in known else len(known), family


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
        **({"example": found.content["example"]} if "example" in found.content else {}),
    }  # fmt: skip


def _policy(name: str) -> Entry:
    found = named("policies", name)
    return {**_described(found), "family": found.family}


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


#: By the name of a list: its entry points, and the facts of one of them.
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


def lines(what: str, cells: int | None = None) -> Iterator[str]:
    """Return the lines of a list, folded to a width where one is given.

    Raises
    ------
    SpecError
        If there is no such list.
    """
    found = entries(what)
    longest = max(16, *(len(entry["name"]) for entry in found))
    for entry, before in zip(found, [{}, *found], strict=False):
        if (family := entry.get("family")) and family != before.get("family"):
            by = "" if family in NAMED_ALONE else ", among --policy classics"
            yield printable(f"{FAMILIES.get(family, family)}{by}:")
        for i, (label, text) in enumerate(_parts(what, entry)):
            start = (" " * (longest + 3) if i else f"{entry['name']:<{longest}} ") + label
            yield fitted(printable(start + text), cells, len(printable(start)))


def _parts(what: str, entry: Entry) -> Iterator[Part]:
    if "error" in entry:
        yield "", entry["error"]
    elif what == "machines":
        yield "", _machine_text(entry)
        if "example" in entry:
            yield "for example: ", entry["example"]
    elif what == "formats":
        yield from _format_text(entry)
    else:
        yield "", f"{entry['title']} [{_assigned(entry['parameters'])}]"
        yield from _more(entry)


def _machine_text(entry: Entry) -> str:
    modes = entry["memory_modes"]
    params = ["cores=N"]
    params += [f"smt=1..{entry['smt_ways']}"] if entry["smt_ways"] > 1 else []
    params += [f"memory={'|'.join(modes)}"] if len(modes) > 1 else []
    params += ["cluster=MODE"] if entry["has_clusters"] else []
    params += ["contention=true|false"]
    return f"{entry['title']}; {entry['cores']} cores, {entry['tiles']} tiles; [{','.join(params)},...]"


def _more(entry: Entry) -> Iterator[Part]:
    for size, parameters in entry.get("sizes", {}).items():
        yield f"size={size:<12} ", _assigned(parameters)
    if "citation" in entry:
        yield "", entry["citation"]
        yield "", "; ".join(entry["tables"])


def _format_text(entry: Entry) -> Iterator[Part]:
    yield "", entry["title"]
    for key in ("dependencies", "times"):
        if key in entry:
            yield f"{key}: ", entry[key]
    for option, meaning in entry.get("options", {}).items():
        yield f"--{option.replace('_', '-'):<18} ", meaning
    if "writes" in entry:
        yield "written: ", f"{entry['writes']}s, {' '.join(entry['suffixes'])}"


def _assigned(parameters: Mapping[str, Any]) -> str:
    return ",".join(
        name if value is None else f"{name}={format_scalar(value)}" for name, value in parameters.items()
    )


def _lists(incomplete: str) -> list[str]:
    return [name for name in LISTS if name.startswith(incomplete)]


@command("list machines", "list formats --json", name="list")
def list_(
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="machines, policies, workloads, formats, cleanups or papers.",
            autocompletion=_lists,
        ),
    ],
    json_: JsonOption = False,
) -> None:
    """List what is installed.

    The list includes what your own package registers.
    """
    if json_:
        say_json(entries(what))
        return
    for line in lines(what, width()):
        typer.echo(line)
