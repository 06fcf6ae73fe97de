"""Common parts of all commands: options, printing, reading graphs, progress; tables, Markdown and JSON."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from tqdm.auto import tqdm

from simsched.cli.arguments import no_reader
from simsched.document.markdown import markdown
from simsched.document.result import Result, table_of
from simsched.document.terminal import document_text, facts_lines, fitted, table_text, width
from simsched.errors import FormatError
from simsched.files import check_place
from simsched.graph import TaskGraph
from simsched.plugins import Group, registered
from simsched.progress import on_terminal
from simsched.spec import Engine, parse_path, split
from simsched.text import counted, printable

if TYPE_CHECKING:
    import pandas as pd

    from simsched.document.parts import Document
    from simsched.plots.canvas import Size

Command = TypeVar("Command", bound=Callable[..., Any])

READER_HELP = """

--clean "STEP STEP ..." cleans GRAPH up first, as in --clean "drop[kinds=Identity] fuse-chains"; `simsched list
cleanups` lists all steps. --recorded-on host (or another machine, or its file) says where durations were recorded.
Further options are passed to the reader of GRAPH's format, as in --execution-trace FILE, --model FILE or --step 3;
`simsched list formats` lists them all."""


def epilog(*examples: str) -> str:
    """Return the end of a command's help: examples, which are tests."""
    lines = "\n".join(f"  simsched {example}" for example in examples)
    # This mark keeps the lines of a paragraph unchanged.
    return f"Examples:\n\n\b\n{lines}"


#: All commands; each file of this folder adds its own.
app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog("run rnn --out run.html", "compare rnn", "list workloads"),
)


def command(*examples: str, name: str | None = None) -> Callable[[Command], Command]:
    """Return the decorator that adds a command, with examples of its use."""
    return app.command(name, epilog=epilog(*examples))


def reading_command(*examples: str) -> Callable[[Command], Command]:
    """Return the decorator that adds a command that reads graphs.

    Options unknown to it are passed to the reader, as its help says.
    """
    passed_on = {"ignore_unknown_options": True, "allow_extra_args": True}
    return app.command(context_settings=passed_on, epilog=f"{epilog(*examples)}\n{READER_HELP}")


def names_of(*groups: Group, more: Sequence[str] = ()) -> Callable[[str], list[str]]:
    """Return a completer for the names of registered things; where none fits, shells complete file names."""

    def complete(incomplete: str) -> list[str]:
        names = {*more, *(name for group in groups for name in registered(group))}
        return sorted(name for name in names if name.startswith(incomplete))

    return complete


def _libraries() -> list[str]:
    from simsched.costs.kernels.library import libraries

    return list(libraries())


MACHINES, POLICIES = names_of("machines"), names_of("policies")
GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        help="A trace, model or graph file, or a workload: lstm[layers=2].",
        autocompletion=names_of("workloads"),
    ),
]
GraphsArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="GRAPH...",
        help="Trace, model or graph files of one format, or workloads; reader options apply to all, "
        "those in brackets to one: step.json[model=net.onnx].",
        autocompletion=names_of("workloads"),
    ),
]
MachineOption = Annotated[
    str | None,
    typer.Option(
        "--machine", "-m", metavar="NAME", autocompletion=MACHINES,
        help="A machine: name, name[cores=N] or a TOML file. Default: the one that recorded GRAPH, as far as known, "
        "else knl-7250.",
    ),
]  # fmt: skip
PolicyOption = Annotated[
    str,
    typer.Option(
        "--policy", "-p", metavar="NAME", autocompletion=POLICIES, help="A policy, as in corun[candidates=3]."
    ),
]
PoliciesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", "-p", metavar="NAME", autocompletion=POLICIES,
        help="A policy; repeat for more. Default: all.",
    ),
]  # fmt: skip
#: Text for commands that find no layout.
GivenLayoutOption = Annotated[
    str | None, typer.Option("--layout", "-l", metavar="ExC", help="Executors x cores, as in 8x8.")
]
LayoutOption = Annotated[
    str | None,
    typer.Option("--layout", "-l", metavar="ExC", help="Executors x cores, as in 8x8; found when not given."),
]
EngineOption = Annotated[
    Engine,
    typer.Option("--engine", help="native is compiled, simpy the reference; auto: native if possible."),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of all random numbers.")]
NoiseOption = Annotated[
    str,
    typer.Option(
        "--noise",
        help="Variation of task times: standard deviation of the log, or stragglers[share=0.01,factor=5].",
    ),
]
LibraryOption = Annotated[
    str | None,
    typer.Option(
        "--library",
        help="What runs the ops: onednn, mkl, eigen, ... (docs/costs.md); the graph's when not given.",
        autocompletion=lambda incomplete: [name for name in _libraries() if name.startswith(incomplete)],
    ),
]
LimitOption = Annotated[
    float,
    typer.Option("--limit", metavar="SECONDS", help="Longest time to search for an optimum."),
]
SchedulesOutOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--out", "-o", metavar="FILE",
        help="Write the schedule; format by suffix: .png .svg .pdf .html .json .json.gz .pftrace .perfetto-trace "
        ".parquet .csv; repeat for more.",
    ),
]  # fmt: skip
TablesOutOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Write the result; format by suffix: .png .svg .csv .parquet; repeat for more.",
    ),
]
SamplesOption = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        min=1,
        help="Replays of each row, for intervals and how often each is the fastest; 1 for none. Default: 20, or 1 "
        "where 20 can take minutes.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def say(text: str, *, err: bool = False) -> None:
    """Print lines, wrapped at words on a terminal.

    Control characters, which names from files may contain, are printed as escapes, so that no terminal obeys them.
    """
    cells = None if err else width()
    typer.echo("\n".join(fitted(printable(line), cells) for line in text.split("\n")), err=err)


def question(graph: object, machine: object) -> str:
    """Return what was asked about: a graph, and the machine, which may be nobody's choice."""
    if not isinstance(graph, TaskGraph):
        return f"on {machine}"
    return f"{graph.name}: {counted(graph.n_tasks, 'task')}, {counted(graph.n_edges, 'edge')}, on {machine}"


def check_outputs(paths: Iterable[Path] | None, check: Callable[[Path], object] | None = None) -> None:
    """Check, before any work, that the files can be written; `check` refuses unknown suffixes."""
    for path in paths or []:
        if check is not None:
            check(path)
        check_place(path)


def graph_of(graph: str, context: typer.Context, options: Sequence[str] = ()) -> TaskGraph:
    """Return the graph of a command's argument: a workload, or a file read with the options that are not the command's.

    Where a file has the name of a workload, the file is read. `options` are those that another argument has taken.
    """
    own = [option for param in context.command.params for option in param.opts]
    with waiting(f"reading {Path(graph).name}"):
        return _read(graph, reader_options([*options, *context.args]), own)


def _read(graph: str, options: dict[str, str], own: Sequence[str] = ()) -> TaskGraph:
    from simsched.graph.loading import load
    from simsched.workloads import no_graph, workload

    graph, of_file = _with_options(graph)
    options = {**options, **of_file}
    steps = split(options.pop("clean", ""))
    if makes_workload(graph) and options:
        raise no_reader(graph, list(options), own)
    if not makes_workload(graph) and graph != "-" and not Path(graph).suffix and not Path(graph).exists():
        raise no_graph(graph)
    tasks = workload(graph) if makes_workload(graph) else load(graph, **options)
    return tasks.cleaned(*steps)


def _with_options(graph: str) -> tuple[str, dict[str, str]]:
    """Return the file of a command's argument, and the options for its reader between its brackets.

    Examples
    --------
    >>> _with_options("simsched/py.typed[step=2]"), _with_options("rnn[layers=2]"), _with_options("missing[step=2]")
    (('simsched/py.typed', {'step': '2'}), ('rnn[layers=2]', {}), ('missing[step=2]', {}))
    """
    if "=" not in graph or not graph.endswith("]") or Path(graph).exists() or makes_workload(graph):
        return graph, {}
    spec = parse_path(graph)
    return (spec.name, dict(spec.texts)) if Path(spec.name).exists() else (graph, {})


def makes_workload(graph: str) -> bool:
    """Tell whether a command's argument is a workload and not a file."""
    from simsched.workloads import is_workload

    return is_workload(graph) and not Path(graph).exists()


def graphs_of(arguments: list[str]) -> dict[str, TaskGraph]:
    """Return the graphs among arguments by file name or workload, or by path where two files have one name.

    The options among them go to the reader of every graph, those in a file's brackets to its own.
    """
    paths, options = names_and_options(arguments)
    if not paths:
        raise FormatError("no graph was given; name one or more files or workloads")
    names = [Path(_with_options(path)[0]).name for path in paths]
    return {
        name if names.count(name) == 1 else path: _read(path, reader_options(options))
        for name, path in zip(names, paths, strict=True)
    }


def names_and_options(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the names, and the options for readers with their values, among arguments.

    Examples
    --------
    >>> names_and_options(["grace", "--model", "m.onnx", "a64fx"])
    (['grace', 'a64fx'], ['--model', 'm.onnx'])
    """
    names: list[str] = []
    options: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("--"):
            names.append(argument)
        else:
            options += [argument] if "=" in argument else [argument, *islice(rest, 1)]
    return names, options


def reader_options(arguments: list[str]) -> dict[str, str]:
    """Return the options for the reader among arguments that are not the command's own."""
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if not name.startswith("--"):
            raise FormatError(
                f"unexpected argument {argument!r}; give one graph at a time, and begin options with --"
            )
        if not equals and (value := next(rest, "")) == "":
            raise FormatError(f"option {name} needs a value")
        options[name[2:].replace("-", "_")] = value
    return options


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show the time passed once the work has taken a second, if standard error is a terminal."""
    done = threading.Event()

    def show() -> None:
        if done.wait(1.0):
            return
        with tqdm(
            desc=printable(what), bar_format="{desc}: {elapsed}", leave=False, dynamic_ncols=True
        ) as bar:
            while not done.wait(1.0):
                bar.refresh()

    thread = threading.Thread(target=show, daemon=True)
    if on_terminal():
        thread.start()
    try:
        yield
    finally:
        done.set()
        if thread.ident is not None:
            thread.join()


#: Notes that are printed unless all are asked for.
SHOWN_NOTES = 3
#: Whether all notes are printed, as the option --notes says.
all_notes: ContextVar[bool] = ContextVar("all_notes", default=False)


def say_table(frame: pd.DataFrame) -> None:
    """Print a table on lines as long as the terminal's."""
    say(table_text(table_of(frame), width()))


def check_tables(paths: Iterable[Path] | None) -> None:
    """Check, before any work, that tables or their pictures can be written to files."""
    from simsched.study.export import check_table_suffix

    check_outputs(paths, check_table_suffix)


def say_result(
    result: Result, as_json: bool = False, out: Iterable[Path] | None = None, size: Size = (8.0, 4.8),
    about: str = "",
) -> None:  # fmt: skip
    """Print a table of results with its notes, fitted to the terminal; or as JSON: its rows, and its notes.

    Before, write it to files, by their suffixes: a pipe's reader may stop early. Pictures have a size in inches.
    What it is about stands above the table.
    """
    if paths := list(out or []):
        from simsched.study.export import export_table

        for path in paths:
            export_table(result, path, result.plot, size)
    if as_json:
        say_json(result.to_json_object())
    else:
        say((about and f"{about}\n\n") + result.text(width(), notes=False))
        say_notes(result.notes, apart=True)


def say_document(document: Document) -> None:
    """Print a document: as text on a terminal, as Markdown where output goes elsewhere."""
    say(markdown(document) if width() is None else document_text(document, width()))


def say_notes(notes: Sequence[str], apart: bool = False) -> None:
    """Print the weightiest notes, all with the option --notes; `apart`, an empty line before them."""
    # A single note more is as short as the line that counts it.
    end = None if all_notes.get() or len(notes) <= SHOWN_NOTES + 1 else SHOWN_NOTES
    lines = [f"note: {note}" for note in notes[:end]]
    if end is not None:
        lines.append(f"note: {len(notes) - end} more; --notes prints all")
    if lines:
        say("\n".join(printable(line) for line in ["", *lines][not apart :]))


def say_facts(facts: Mapping[str, Any], notes: Sequence[str] = ()) -> None:
    """Print names and values in two columns, then notes."""
    shown = {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in facts.items()}
    for line in facts_lines(shown):
        say(line)
    say_notes(notes)


def say_json(value: Any) -> None:
    """Print JSON, all of it ASCII: what is not a number is null, control characters are escapes."""
    # The standard library leaves one control character unchanged.
    typer.echo(json.dumps(_plain(value), allow_nan=False).replace("\x7f", "\\u007f"))


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table by column name."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
