"""The command `report`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import simsched as ss
from simsched.cli.common import (
    EngineOption,
    GraphArgument,
    JsonOption,
    LayoutOption,
    LibraryOption,
    MachineOption,
    NoiseOption,
    PoliciesOption,
    SeedOption,
    check_outputs,
    graph_of,
    reading_command,
    say,
    say_document,
    say_json,
    say_notes,
)
from simsched.errors import SpecError
from simsched.progress import progress_bar

if TYPE_CHECKING:
    from simsched.report import Report


@reading_command("report rnn --policy fifo --policy critical-path --out r.html")
def report(
    context: typer.Context,
    graph: GraphArgument,
    machine: MachineOption = None,
    policy: PoliciesOption = None,
    layout: LayoutOption = None,
    engine: EngineOption = "auto",
    seed: SeedOption = 0,
    noise: NoiseOption = "0",
    library: LibraryOption = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", metavar="N", min=1, help="Replays of each policy, if seeds make a difference."
        ),
    ] = 10,
    replays: Annotated[
        int,
        typer.Option("--replays", metavar="N", min=0, help="Replays to find what would help; 0 for none."),
    ] = 32,
    patience: Annotated[
        float, typer.Option("--patience", metavar="SECONDS", help="Most CPU time for a policy or a section.")
    ] = 60.0,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Format by suffix: .html, one page, or .md; repeat for both."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the report as Markdown.")] = False,
    json_: JsonOption = False,
) -> None:
    """Report on GRAPH under several policies, as one page.

    The verdict, charts, explanations, other core counts, layouts and costs; or as Markdown for a pull request.
    """
    from simsched.report import Findings, Question, Report
    from simsched.report.report import written_as

    if markdown and json_:
        raise SpecError("--markdown and --json ask for two forms of the same report; leave out one of both")
    check_outputs(out, written_as)
    tasks = graph_of(graph, context)
    question = Question.of(
        tasks, machine, policy or None, layout, costs=ss.CostModel(noise=noise, library=library),
        engine=engine, seed=seed, seeds=seeds, replays=replays, patience_s=patience,
        command=shlex.join(["simsched", *sys.argv[1:]]),
    )  # fmt: skip
    with progress_bar(question.work, "replaying") as progress:
        made = Report(Findings.of(question, progress))
    with progress_bar(len(out or []), "drawing", "files") as progress:
        for path in out or []:
            made.save(path)
            progress(1)
    if markdown:
        say_document(made.document)
    elif json_:
        say_json(_facts(made))
    else:
        _print(made, out or [])


def _facts(made: Report) -> dict[str, object]:
    """Return the report as JSON has it: the verdict, and each section's tables by caption, rows as they are shown."""
    return {
        "title": made.title,
        "headline": made.headline,
        "sentences": made.sentences,
        "makespan_s": made.findings.best.interval.middle,
        "policy": made.findings.best.name,
        "notes": list(made.findings.notes),
        "tables": made.tables(),
    }


def _print(made: Report, out: list[Path]) -> None:
    say(made.headline)
    for sentence in made.sentences:
        say(f"- {sentence}")
    say_notes(made.findings.notes)
    for path in out:
        say(f"wrote {path}")
