"""The command `convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.common import (
    JsonOption,
    check_outputs,
    graph_of,
    makes_workload,
    names_of,
    reader_options,
    reading_command,
    say,
)
from simsched.cli.output import say_json
from simsched.errors import FormatError, SimschedError


@reading_command("convert rnn rnn.simsched", "convert step.json out.png --execution-trace step.et.json")
def convert(
    context: typer.Context,
    graph: Annotated[
        str,
        typer.Argument(
            metavar="IN",
            help="A trace, model or graph file, or a workload.",
            autocompletion=names_of("workloads"),
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="Format by suffix: a graph (.simsched, ...) or the recorded schedule (.json .csv .png .html, ...).",
        ),
    ],
    json_: JsonOption = False,
) -> None:
    """Convert a trace to a graph file or a picture.

    Writes the graph, or the recorded schedule as a table, a Chrome trace or a picture.
    """
    from simsched.graph.loading import find_file
    from simsched.graph.ranks import is_several
    from simsched.graph.saving import suffixes, writer_by_suffix
    from simsched.schedule.export import check_suffix

    source = [] if makes_workload(graph) or is_several(graph) else [find_file(graph)]
    read = [*source, *(Path(v) for v in reader_options(context.args).values() if Path(v).is_file())]
    check_outputs([target])
    if any(target.exists() and target.samefile(file) for file in read):
        raise FormatError(f"{target} is read by this very command; give another name for what to write")
    tasks = graph_of(graph, context)
    if writer_by_suffix(target, "graph") is not None:
        tasks.save(target)
    elif tasks.recorded is None:
        known = ", ".join(suffixes("graph"))
        raise FormatError(
            f"{graph} holds no recorded run, so only a graph can be written ({known}), not {target.name}"
        )
    else:
        try:
            check_suffix(target)
        except SimschedError as error:
            raise FormatError(f"{error}; or, for the graph, one of {', '.join(suffixes('graph'))}") from None
        tasks.recorded.save(target)
    report = tasks.report
    if json_:
        facts = {"source": report.source, "format": report.format, "wrote": str(target)}
        say_json({**facts, "facts": report.facts, "notes": report.notes})
    else:
        say(str(report))
        say(f"wrote {target}")
