"""Parts of the site that are made from the code while it is built, so that they cannot fall behind it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields
from types import ModuleType
from typing import Any

import typer
from docutils.nodes import Node
from site_references import PAGE
from site_rules import marked, rules_of_semantics
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.cli import get_docs_for_click

import simsched as ss
from simsched.cli import app
from simsched.hwmodels.core_machine import CoreNumbers
from simsched.hwmodels.cores import known_cores
from simsched.machine.schema import NARROW
from simsched.plugins import named, registered
from simsched.replay.engines import LIMITS
from simsched.spec import format_scalar

#: Pages that stand above the pages of a folder.
ABOVE = {"docs/formats": "formats", "docs/machines": "machines", "docs/reproductions": "reproduce"}


class Made(SphinxDirective):
    """Markdown made by a function without or with one argument."""

    optional_arguments = 1

    def run(self) -> list[Node]:
        """Return what the Markdown parses to."""
        text = "\n".join(MAKERS[self.name](*self.arguments))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def typed() -> Iterator[str]:
    """Yield a table of all that `import simsched as ss` offers."""
    yield from _table_head("name", "what it is")
    for name, home in sorted(ss._HOMES.items(), key=lambda item: item[0].lower()):
        thing = getattr(ss, name)
        # A room that is callable stands for its function of that name.
        documented = getattr(thing, name) if isinstance(thing, ModuleType) else thing
        yield f"| {{py:obj}}`ss.{name} <{home}.{name}>` | {_summary(documented)} |"


def commands() -> Iterator[str]:
    """Yield what Typer writes of the command line."""
    group = app.commands()
    made = get_docs_for_click(obj=group, ctx=typer.Context(group), name="simsched")
    # The page has the first heading.
    yield from made.splitlines()[1:]


def machines() -> Iterator[str]:
    """Yield a table of the machines but the host, which differs from place to place."""
    yield from _table_head("machine", "what it is", "cores", "tiles", "hardware threads of a core")
    for name in registered("machines"):
        if name != "host":
            found = ss.machine(name)
            yield (
                f"| [`{name}`](../machines/{name}.md) | {found.title} | {found.n_cores} | {found.n_tiles} "
                f"| {found.smt_ways} |"
            )


def cores() -> Iterator[str]:
    """Yield the table of cores: how each is found, and its main numbers; those of no source are in italics."""
    yield from _table_head(
        "core",
        "what it is",
        "part",
        "FLOP/cycle (FP32)",
        "in BF16, FP16, INT8",
        "vector, bit",
        "GHz",
        "one core, GB/s",
        "a socket, GB/s",
        "cores",
    )
    for core in known_cores().values():
        numbers = CoreNumbers(core)
        shown = [
            core.flop_per_cycle,
            core.vector,
            core.clock,
            numbers.core_bandwidth(),
            numbers.bandwidth(),
            core.cores,
        ]
        first, *others = map(_trusted, shown)
        narrow = (getattr(core, f"{element}_per_cycle") for element in NARROW)
        rates = ", ".join("-" if one is None else _trusted(one) for one in narrow)
        yield f"| `{core.name}` | {core.title} | {core.part} | {' | '.join([first, rates, *others])} |"


def _trusted(number: Any) -> str:
    given = number if isinstance(number, dict) else number.model_dump()
    text = f"{given['value']:.4g}"
    return f"*{text}*" if given["confidence"] == "unverified" else text


def classes(group: Any) -> Iterator[str]:
    """Yield a table of what is registered in a group of dataclasses, then the whole docstring of each."""
    yield from _table_head("spec", "what it is")
    for name in registered(group):
        cls = named(group, name)
        yield f"| {{py:obj}}`{name} <{_place(cls)}>` | {_summary(cls)} |"
    for name in registered(group):
        cls = named(group, name)
        given = ",".join(_parameter(field) for field in fields(cls))
        yield from ["", f"### `{name}`", "", f"`{name}[{given}]`" if given else "Without parameters.", ""]
        yield from ["```{eval-rst}", f".. autoclass:: {_place(cls)}", "```"]


def formats() -> Iterator[str]:
    """Yield a table of readers and writers."""
    yield from _table_head("format", "what it is", "dependencies", "times", "options", "written as")
    for name in sorted({*registered("formats"), *registered("writers")}):
        reader = named("formats", name) if name in registered("formats") else None
        writer = named("writers", name) if name in registered("writers") else None
        read = (reader.title, reader.dependencies, reader.times) if reader else (writer.title, "", "")
        options = ", ".join(f"`{option}`" for option in (reader.options if reader else ()))
        suffixes = ", ".join(f"`{suffix}`" for suffix in (writer.suffixes if writer else ()))
        yield f"| `{name}` | {' | '.join(read)} | {options} | {suffixes} |"


def rules() -> Iterator[str]:
    """Yield a table of the rules of replay and their tests."""
    tests = list(marked())
    yield from _table_head("rule", "tests")
    for rule in rules_of_semantics():
        names = [f"`{test.path.removeprefix('tests/')}::{test.name}`" for test in tests if test.rule == rule]
        yield f"| {rule} | {', '.join(names)} |"


def limits() -> Iterator[str]:
    """Yield a table of what one engine cannot do."""
    engines = {"simpy": "SimPy", "native": "compiled"}
    yield from _table_head("engine", "cannot", "so")
    for limit in LIMITS:
        yield f"| {engines[limit.engine]} | {limit.what} | {limit.instead} |"


def _table_head(*titles: str) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{' --- |' * len(titles)}"


def _summary(thing: Any) -> str:
    told = (inspect.getdoc(thing) or "").partition("\n")[0].replace("|", "\\|")
    return PAGE.sub(r"[\1](../\1.md)", told)


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _parameter(field: Any) -> str:
    return field.name if field.default is MISSING else f"{field.name}={format_scalar(field.default)}"


def _put_above(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the pages of a folder below the page above them, without a trace of Sphinx in that page."""
    if docname in ABOVE:
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n{ABOVE[docname]}/*\n```\n"


MAKERS = {
    "made-typed": typed,
    "made-commands": commands,
    "made-machines": machines,
    "made-cores": cores,
    "made-classes": classes,
    "made-formats": formats,
    "made-rules": rules,
    "made-limits": limits,
}


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx the directives and the event."""
    for name in MAKERS:
        app.add_directive(name, Made)
    app.connect("source-read", _put_above)
    return {"parallel_read_safe": True}
