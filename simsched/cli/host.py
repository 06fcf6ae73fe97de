"""Commands that really run ops on this machine: `execute`, `calibrate`, `measure`, `crosscheck`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

import simsched as ss
from simsched.cli.common import (
    MACHINES,
    POLICIES,
    GraphArgument,
    GraphsArgument,
    JsonOption,
    LayoutOption,
    PolicyOption,
    check_outputs,
    command,
    graph_of,
    graphs_of,
    names_of,
    reading_command,
    records,
    say,
    say_document,
    say_facts,
    say_json,
    say_result,
)
from simsched.defaults import POLICY
from simsched.document.terminal import parts_text, width
from simsched.execute.calibrate.measuring import Widths
from simsched.progress import progress_bar

RepeatsOption = Annotated[
    int, typer.Option("--repeats", "-n", metavar="N", help="Measured runs, after warming up.")
]

#: Graphs where something else may be given.
OptionalGraphsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[GRAPH...]",
        help="Trace, model or graph files of one format, or workloads, as in `crosscheck`.",
        autocompletion=names_of("workloads"),
    ),
]

#: A graph for examples.
SMALL = '"rnn[layers=1,steps=4,batch=8]"'
#: Exit status of a cross-check all cases of which are declined.
CANNOT_TELL = 3


@reading_command(f"execute {SMALL} --repeats 5")
def execute(
    context: typer.Context,
    graph: GraphArgument,
    policy: PolicyOption = POLICY,
    layout: LayoutOption = None,
    repeats: RepeatsOption = 20,
    json_: JsonOption = False,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the median run; format by suffix, as in `run`."
        ),
    ] = None,
) -> None:
    """Run GRAPH for real on this machine."""
    from simsched.schedule.export import check_suffix

    check_outputs(out, check_suffix)
    tasks = graph_of(graph, context)
    with progress_bar(repeats + 2, policy, "runs") as progress:
        measured = ss.execute(tasks, policy, layout, repeats, progress=progress)
    for path in out or []:
        measured.schedule.save(path)
    facts = {
        "makespan_s": measured.median_s, "spread_s": measured.spread_s, "runs": len(measured),
        "dropped": measured.n_dropped, "policy": measured.schedule.policy, "layout": measured.schedule.layout,
        "tasks": tasks.n_tasks, "edges": tasks.n_edges,
    }  # fmt: skip
    if json_:
        say_json({**facts, "notes": list(measured.notes)})
    else:
        say_facts(facts, measured.notes)


@reading_command(
    f"calibrate {SMALL} -n 3 --out host.json", "calibrate --kind Softmax --kind Tanh -n 3 --out host.json"
)
def calibrate(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File to write.")],
    graphs: OptionalGraphsArgument = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind", metavar="KIND", help="Ops of this kind, in some five sizes, too; repeat for more."
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            "-n",
            metavar="N",
            help="Measured runs; default: 10, and 3 after three minutes of all.",
        ),
    ] = None,
    widths: Annotated[
        str | None,
        typer.Option(
            "--widths",
            "-w",
            metavar="WIDTHS",
            help="sweep, climb, or widths as 1,2,4; default: by the size of the host.",
        ),
    ] = None,
    climb_step: Annotated[
        int | None, typer.Option(metavar="N", help="Threads that climb adds at a time; default: 4.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="SHARE", help="Relative slow-down that does not end a climb.")
    ] = 0.0,
    pairs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Ops to run beside each other and themselves; default: 3."),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Measure ops on this machine.

    Writes a calibration file: what the ops of each GRAPH, and of each KIND, take on teams of several widths.
    """
    from simsched.costs.fitting.report import report, report_facts

    check_outputs([out])
    asked = [*(graphs_of(graphs or []).values() if graphs or not kind else ()), *(kind or ())]
    with progress_bar(None, "calibrate", "runs") as progress:
        model = ss.calibrate(
            asked, repeats=repeats, widths=_widths(widths), step=climb_step, tolerance=tolerance, pairs=pairs,
            progress=progress,
        )  # fmt: skip
    model.save(out)
    if model.calibration is not None and json_:
        say_json({"wrote": str(out), **report_facts(model.calibration)})
    elif model.calibration is not None:
        say(parts_text(report(model.calibration), width()))
        say(f"wrote {out}")


def _widths(text: str | None) -> Widths | None:
    """Return widths, or a word that `calibrate` knows or says what else it expects."""
    parts = (text or "").split(",")
    if all(part.isdecimal() for part in parts):
        return [int(part) for part in parts]
    return cast("Widths | None", text)


@command("measure --limit 1 -n 2 --out mine.toml --picture mine.png")
def measure(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the machine file, .toml, and seconds by size beside it.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw measured over assumed numbers: .png .svg .csv."),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(
            "--machine",
            "-m",
            metavar="NAME",
            autocompletion=MACHINES,
            help="host; host[core=NAME] or host[like=NAME] for numbers that are not measured.",
        ),
    ] = "host",
    repeats: RepeatsOption = 10,
    limit: Annotated[
        float,
        typer.Option("--limit", metavar="SECONDS", help="After this, no further sizes of ops are measured."),
    ] = 120.0,
    json_: JsonOption = False,
) -> None:
    """Measure this machine, in at most two minutes.

    Clocks, triads, cache lines, teams, and ops by size. Writes a machine file, for --machine.
    """
    from simsched.execute.measure.measured import check_machine_file
    from simsched.study.export import check_table_suffix, export_table

    check_outputs([out] if out else None, check_machine_file)
    check_outputs([picture] if picture else None, check_table_suffix)
    with progress_bar(None, "measuring", "steps") as progress:
        found = ss.measure(machine, repeats, limit_s=limit, progress=progress)
    if out is not None:
        found.save(out)
    if picture is not None:
        export_table(found.table, picture, found.plot, (8.0, 1.3 + 0.35 * len(found.table)))
    if json_:
        say_json(found.to_json_object())
    else:
        say_result(found.table)
    if out is not None:
        say(f"wrote {out} and {out.with_suffix('.costs.json')}", err=json_)


@reading_command('crosscheck "rnn[layers=1,steps=4]" -p fifo -n 3 --html check.html')
def crosscheck(
    graphs: GraphsArgument,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", "-p", metavar="NAME", autocompletion=POLICIES, help="A policy; repeat for more."
        ),
    ] = None,
    layout: Annotated[
        list[str] | None,
        typer.Option("--layout", "-l", metavar="ExC", help="Executors x cores; repeat for more."),
    ] = None,
    repeats: RepeatsOption = 20,
    json_: JsonOption = False,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures.")
    ] = None,
    md: Annotated[Path | None, typer.Option("--md", metavar="FILE", help="Write a Markdown file.")] = None,
) -> None:
    """Compare real runs of each GRAPH with simulations."""
    check_outputs([path for path in (html, md) if path is not None])
    if html is not None:
        from simsched.plots.canvas import require_matplotlib

        require_matplotlib()
    loaded = graphs_of(graphs)
    chosen = policy or ["fifo", "critical-path", "wavefront", "corun", "sequential"]
    with progress_bar(None, "crosscheck", "runs") as progress:
        checked = ss.crosscheck(loaded, chosen, layout or None, repeats, progress=progress)
    if html is not None:
        checked.to_html(html)
    if md is not None:
        checked.to_markdown(md)
    if json_:
        say_json({"cases": records(checked.table), "summary": checked.summary(), "notes": checked.notes})
    else:
        say_document(checked.document)
    if not checked.conclusive:
        raise typer.Exit(CANNOT_TELL)
