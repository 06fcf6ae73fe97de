"""Commands that really run graphs on this machine: `execute`, `calibrate`, `crosscheck`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from simsched.cli_common import (
    READER_HELP,
    READER_OPTIONS,
    GraphArgument,
    JsonOption,
    LayoutOption,
    graph_of,
    graphs_of,
    progress_bar,
    say,
)
from simsched.files import check_place
from simsched.plots.canvas import require_matplotlib

if TYPE_CHECKING:
    from simsched.execute import CrossCheck
    from simsched.execute.climbing import Widths

RepeatsOption = Annotated[int, typer.Option("--repeats", "-n", help="Runs that count.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (execute, calibrate, crosscheck):
        app.command(context_settings=READER_OPTIONS, epilog=READER_HELP)(command)


def execute(
    context: typer.Context,
    graph: GraphArgument,
    policy: Annotated[str, typer.Option("--policy", "-p", help="A policy.")] = "critical-path",
    layout: LayoutOption = None,
    repeats: RepeatsOption = 20,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None, typer.Option("--out", "-o", help="Write the median run, by suffix as in `run`.")
    ] = None,
) -> None:
    """Run GRAPH for real on this machine under a policy."""
    from simsched.execute import execute as really
    from simsched.schedule.export import check_suffix

    for path in out or []:
        check_suffix(path)
    tasks = graph_of(graph, context)
    with progress_bar(repeats + 2, policy, "runs") as progress:
        measured = really(tasks, policy, layout, repeats, progress=progress)
    for path in out or []:
        measured.schedule.save(path)
    facts = {
        "makespan_s": measured.median_s, "spread_s": measured.spread_s, "runs": len(measured),
        "dropped": measured.n_dropped, "policy": measured.schedule.policy, "layout": measured.schedule.layout,
        "tasks": tasks.n_tasks, "edges": tasks.n_edges,
    }  # fmt: skip
    if json_:
        say(json.dumps(facts))
        return
    for key, value in facts.items():
        say(f"{key:<12} {value if not isinstance(value, float) else format(value, '.6g')}")
    for note in measured.notes:
        say(f"note: {note}")


def calibrate(
    graphs: Annotated[
        list[str],
        typer.Argument(metavar="GRAPH...", help="Trace, model or graph files of one format, or workloads."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    repeats: RepeatsOption = 10,
    widths: Annotated[
        str | None,
        typer.Option(
            "--widths", "-w", help="sweep, climb, or widths as 1,2,4; by the size of the host when not given."
        ),
    ] = None,
    climb_step: Annotated[
        int | None, typer.Option(help="Threads that climbing adds at a time; 4 when not given.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Relative rise that does not end a climb.")] = 0.0,
    pairs: Annotated[
        int | None, typer.Option(help="Ops that run beside each other and themselves; 3 when not given.")
    ] = None,
) -> None:
    """Measure the ops of GRAPH... on this machine, and write a calibration file."""
    from simsched.costs.fitting.report import report
    from simsched.execute import calibrate as measure

    tasks = list(graphs_of(graphs).values())
    with progress_bar(None, "calibrate", "runs") as progress:
        model = measure(
            tasks, repeats=repeats, widths=_widths(widths), step=climb_step, tolerance=tolerance, pairs=pairs,
            progress=progress,
        )  # fmt: skip
    model.save(out)
    if model.calibration is not None:
        say(report(model.calibration))
    say(f"wrote {out}")


def _widths(text: str | None) -> Widths | None:
    """Return widths, or a word that `calibrate` knows or says what else it expects."""
    parts = (text or "").split(",")
    if all(part.isdecimal() for part in parts):
        return [int(part) for part in parts]
    return cast("Widths | None", text)


def crosscheck(
    graphs: Annotated[
        list[str],
        typer.Argument(
            metavar="GRAPH...",
            help="Trace, model or graph files, or workloads; options of readers go to all.",
        ),
    ],
    policy: Annotated[
        list[str] | None, typer.Option("--policy", "-p", help="A policy; repeat for more.")
    ] = None,
    layout: Annotated[
        list[str] | None, typer.Option("--layout", "-l", help="Executors x cores; repeat for more.")
    ] = None,
    repeats: RepeatsOption = 20,
    json_: JsonOption = False,
    html: Annotated[Path | None, typer.Option("--html", help="Page to write, with pictures.")] = None,
    md: Annotated[Path | None, typer.Option("--md", help="Markdown file to write.")] = None,
) -> None:
    """Run each GRAPH for real under policies, and lay beside it what the simulator says."""
    from simsched.execute import crosscheck as check

    for path in (html, md):
        if path is not None:
            check_place(path)
    if html is not None:
        require_matplotlib()
    loaded = graphs_of(graphs)
    chosen = policy or ["fifo", "critical-path", "wavefront", "corun", "sequential"]
    with progress_bar(None, "crosscheck", "runs") as progress:
        checked = check(loaded, chosen, layout or None, repeats, progress=progress)
    if html is not None:
        checked.to_html(html)
    text = checked.to_markdown(md)
    say(_json(checked) if json_ else text)


def _json(check: CrossCheck) -> str:
    """Return the cases and the summary; what is unknown is null."""
    import pandas as pd

    cases = check.table.to_json(orient="records", double_precision=15)
    numbers = pd.Series(check.summary()).to_json(double_precision=15)
    return f'{{"cases": {cases}, "summary": {numbers}}}'
