"""The commands that read recordings and write files: `convert` and `learn`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import simsched as ss
from simsched.cli.common import (
    POLICIES,
    GraphsArgument,
    JsonOption,
    check_outputs,
    graph_of,
    graphs_of,
    makes_workload,
    names_of,
    reader_options,
    reading_command,
    say,
    say_json,
    say_result,
)
from simsched.defaults import RECORDED_POLICY
from simsched.document.result import Result
from simsched.errors import FormatError, SimschedError
from simsched.learning.file import facts

#: Rows of the printed table: the kinds on which most time is spent.
SHOWN = 20


@reading_command("learn step.json --execution-trace step.et.json --out host.toml")
def learn(
    graphs: GraphsArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="TOML file to write.")
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            "--policy",
            "-p",
            metavar="NAME",
            autocompletion=POLICIES,
            help="Policy that recorded, and predicts.",
        ),
    ] = RECORDED_POLICY,
    cores: Annotated[
        str | None,
        typer.Option("--cores", "-c", metavar="N,N,...", help="Predict the first GRAPH on so many cores."),
    ] = None,
    validate: Annotated[
        bool, typer.Option("--validate", help="Predict each recording from the others.")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw recorded and predicted makespans (.png, .svg)."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Learn seconds and costs from recordings of one host.

    Prints the seconds of each kind and shape, or with --cores or --validate predictions from them. `simsched predict
    --learned FILE` predicts from a file.
    """
    from simsched.study.core_counts import core_counts

    check_outputs([path for path in (out, picture) if path is not None])
    given = graphs_of(graphs)
    names = [graph.name for graph in given.values()]
    recordings = [
        graph if names.count(graph.name) == 1 else replace(graph, name=name) for name, graph in given.items()
    ]
    learned = ss.learn(recordings)
    if out is not None:
        learned.save(out)
    if cores is not None:
        counts = core_counts(cores, ss.machine("generic"))
        result = learned.predict(recordings[0], policy, counts, validate=validate)
    elif validate:
        result = learned.validate(policy)
    else:
        table = learned.table()
        spent = (table["alone_s"] * table["samples"]).sort_values(ascending=False, kind="stable")
        result = Result.of(table.loc[spent.index[:SHOWN]].reset_index(drop=True), learned.notes)
    if json_ and cores is None and not validate:
        say_json({"wrote": None if out is None else str(out), **facts(learned), "notes": list(learned.notes)})
    else:
        say_result(result, json_, [] if picture is None else [picture])
        if out is not None and not json_:
            say(f"wrote {out}")


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
    from simsched.graph.saving import suffixes, writer_by_suffix, writers
    from simsched.schedule.export import check_suffix

    if {"--out", "-o"} & {argument.partition("=")[0] for argument in (str(target), *context.args)}:
        raise FormatError("convert has no --out: write convert IN OUT")
    source = [] if makes_workload(graph) or is_several(graph) else [find_file(graph)]
    read = [*source, *(Path(v) for v in reader_options(context.args).values() if Path(v).is_file())]
    check_outputs([target])
    if any(target.exists() and target.samefile(file) for file in read):
        raise FormatError(f"{target} is read by this very command; give another name for what to write")
    tasks, what = graph_of(graph, context), ""
    inner = Path(target.stem).suffix[1:].lower()
    if writer_by_suffix(target, "graph") is not None:
        tasks.save(target)
    elif inner in (own := {name: writer.suffixes[0] for name, writer in writers("graph")}):
        raise FormatError(f"{target.name} is no name of a file of {inner}; write {own[inner]}")
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
        what = ": the recorded schedule; .simsched holds the graph"
    report = tasks.report
    if json_:
        facts = {"source": report.source, "format": report.format, "wrote": str(target)}
        say_json({**facts, "facts": report.facts, "notes": report.notes})
    else:
        say(str(report))
        say(f"wrote {target}{what}")
