"""What `simsched list` prints: the entries of a list as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from simsched.cli.listing import Entry, entries
from simsched.document.terminal import fitted
from simsched.spec import format_scalar
from simsched.text import printable

#: A line of an entry: a label, mostly empty, and text that is folded beside it.
Part = tuple[str, str]


def lines(what: str, width: int | None = None) -> Iterator[str]:
    """Return the lines of a list, folded to a width where one is given.

    Raises
    ------
    SpecError
        If there is no such list.
    """
    found = entries(what)
    longest = max(16, *(len(entry["name"]) for entry in found))
    for entry in found:
        for i, (label, text) in enumerate(_parts(what, entry)):
            start = (" " * (longest + 3) if i else f"{entry['name']:<{longest}} ") + label
            yield fitted(printable(start + text), width, len(printable(start)))


def _parts(what: str, entry: Entry) -> Iterator[Part]:
    if "error" in entry:
        yield "", entry["error"]
    elif what == "machines":
        yield "", _machine(entry)
    elif what == "formats":
        yield from _format(entry)
    else:
        yield "", f"{entry['title']} [{_assigned(entry['parameters'])}]"
        yield from _more(entry)


def _machine(entry: Entry) -> str:
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


def _format(entry: Entry) -> Iterator[Part]:
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
