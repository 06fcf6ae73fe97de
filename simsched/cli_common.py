"""What all commands share: options, printing, reading graphs, progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from tqdm.auto import tqdm

from simsched.errors import FormatError
from simsched.spec import Engine
from simsched.text import printable

if TYPE_CHECKING:
    from simsched.graph import TaskGraph

DEFAULT_MACHINE = "knl-7250"
FLAGS = {"--json", "--help", "--show-completion", "--install-completion"}
OWN_OPTIONS = FLAGS | {
    "--machine",
    "--policy",
    "--layout",
    "--engine",
    "--seed",
    "--out",
    "--cores",
    "--width",
    "--repeats",
    "--html",
    "--md",
    "--widths",
    "--climb-step",
    "--tolerance",
    "--pairs",
    "--reserved",
    "--tables",
    "--system",
    "--roofline",
    "--core-use",
    "--noise",
    "--seeds",
    "--task",
    "--replays",
    "--speedup",
    "--cluster",
    "--workers",
}
READER_OPTIONS = {"ignore_unknown_options": True, "allow_extra_args": True}
READER_HELP = """

--clean "STEP STEP ..." changes GRAPH first, as in --clean "drop[kinds=Identity] fuse-chains"; `simsched list cleanups`
shows all steps. Further options go to the reader of GRAPH's format, as in --execution-trace FILE, --model FILE or
--step 3; `simsched list formats` shows them all."""

GraphArgument = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A trace, model or graph file, or a workload: lstm[layers=2].")
]
MachineOption = Annotated[
    str, typer.Option("--machine", "-m", help="A machine: name, name[cores=N] or TOML file.")
]
LayoutOption = Annotated[str | None, typer.Option("--layout", "-l", help="Executors x cores, as in 8x8.")]
EngineOption = Annotated[Engine, typer.Option("--engine", help="auto, simpy or native.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of every random draw.")]
NoiseOption = Annotated[
    float, typer.Option("--noise", min=0.0, help="Standard deviation of the log of what tasks really take.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def say(text: str, *, err: bool = False) -> None:
    """Print lines; what a terminal would take for a command, from a name in a file, is printed as its escape."""
    typer.echo("\n".join(printable(line) for line in text.split("\n")), err=err)


def graph_of(graph: str, context: typer.Context) -> TaskGraph:
    """Return the graph of a command's argument: a workload, or a file read with the options that are not the command's.

    A file that is called like a workload is read; any other option makes it a file, too.
    """
    return _read(graph, reader_options(context.args))


def _read(graph: str, options: dict[str, str]) -> TaskGraph:
    from simsched.graph.loading import load
    from simsched.workloads import workload

    steps = options.pop("clean", "").split()
    tasks = workload(graph) if makes_workload(graph) and not options else load(graph, **options)
    return tasks.cleaned(*steps)


def makes_workload(graph: str) -> bool:
    """Tell whether a command's argument is a workload and not a file."""
    from simsched.workloads import is_workload

    return is_workload(graph) and not Path(graph).exists()


def graphs_of(arguments: list[str]) -> dict[str, TaskGraph]:
    """Return the graphs among arguments by file name or workload, or by path where two files have one name.

    The options among them go to the reader of every graph; with any, there are only files.
    """
    paths, options = [], []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            paths.append(argument)
        else:
            options += [argument] if "=" in argument else [argument, *islice(rest, 1)]
    if not paths:
        raise FormatError("there is no graph; name one or more files or workloads")
    names = [Path(path).name for path in paths]
    return {
        name if names.count(name) == 1 else path: _read(path, reader_options(options))
        for name, path in zip(names, paths, strict=True)
    }


def reader_options(arguments: list[str]) -> dict[str, str]:
    """Return the options for the reader among arguments that are not the command's own."""
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not name.startswith("--"):
            raise FormatError(
                f"unexpected argument {argument!r}; one graph at a time, and options start with --"
            )
        if not equals and (value := next(rest, "")) == "":
            raise FormatError(f"option {name} needs a value")
        options[name[2:].replace("-", "_")] = value
    return options


@contextmanager
def progress_bar(total: int | None, what: str, unit: str = "tasks") -> Iterator[Callable[[int], object]]:
    """Show a bar on standard error once the work has taken a second."""
    shown = sys.stderr is not None and sys.stderr.isatty()
    with tqdm(total=total, desc=what, unit=f" {unit}", delay=1.0, leave=False, disable=not shown) as bar:
        yield bar.update
