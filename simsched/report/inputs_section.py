"""Inputs of a report: graph, costs, machine, places of the data; and what it assumes, omits and was made with."""

from __future__ import annotations

import platform
from collections import Counter

import numpy as np

from simsched.costs import CostModel
from simsched.costs.noise import noise_of
from simsched.document.parts import Bullets, Facts, Folded, Paragraph, Part, Picture, Section, Table
from simsched.execute import RecordedReplay
from simsched.machine import Machine
from simsched.machine.effects import NAMES
from simsched.notes import weighed
from simsched.plots import core_use_frame, cost_curves, link_load, model_curves_frame, roofline_frame
from simsched.plots.canvas import plain
from simsched.plots.machine import figure_size
from simsched.report.findings import Findings
from simsched.report.question import Question
from simsched.schedule import Schedule
from simsched.schedule.one_core import best_kind
from simsched.text import counted
from simsched.units import format_bytes, format_time
from simsched.version import version

#: CSS pixels per inch of the drawings of machines.
PX = 72.0
#: Room for the title.
NARROWEST_PX = 560.0
MOST_KINDS = 10
#: A drawing of more tasks is slow to make, and shows nothing but ink.
MOST_DRAWN = 2000


def graph_section(found: Findings) -> Section:
    """Return the section on the graph and its import."""
    graph = found.question.graph
    parts: list[Part] = [Facts("Graph", _facts(found)), _kinds_table(found.question)]
    if graph.n_tasks and graph.n_tasks <= MOST_DRAWN:
        depth = int(graph.depths.max()) + 1
        parts.append(
            Picture(
                lambda figure: graph.draw(figure.add_subplot()), 880, 360,
                f"The graph by depth, coloured by kind: {graph.n_tasks} tasks on {depth} levels",
            )
        )  # fmt: skip
    return Section("The graph", [*parts, *_import(found.question)], "graph")


def _facts(found: Findings) -> dict[str, object]:
    graph, limits = found.question.graph, found.limits
    facts: dict[str, object] = {
        "name": plain(graph.name, 120),
        "tasks": graph.n_tasks,
        "edges": graph.n_edges,
    }
    facts["levels of depth"] = int(graph.depths.max(initial=-1)) + 1
    facts["work on one core"] = format_time(found.one_core.seconds_s)
    facts["critical path, each task on its fastest width"] = format_time(limits.critical_path_s)
    if limits.critical_path_s:
        facts["work over critical path"] = f"{found.one_core.seconds_s / limits.critical_path_s:.3g}"
    if graph.recorded_on is not None:
        facts["recorded on"] = plain(graph.recorded_on.name, 120)
    return facts


def _kinds_table(question: Question) -> Table:
    """Return the kinds that hold most seconds on one core of the machine."""
    kinds = question.graph.kinds
    costs = (question.costs or CostModel()).on(question.graph, question.machine, question.runtime)
    seconds = np.bincount(kinds.codes, costs.in_turn(best_kind(costs)).one_core_s, len(kinds.labels))
    counts = kinds.counts
    held = [code for code in np.argsort(-seconds, kind="stable").tolist() if counts[code]]
    whole = float(seconds.sum()) or 1.0

    def row(name: str, codes: list[int]) -> tuple[str, ...]:
        mine = float(seconds[codes].sum())
        return name, f"{int(counts[codes].sum())}", format_time(mine), f"{mine / whole:.1%}"

    rows = [row(plain(kinds.labels[code] or "no kind"), [code]) for code in held[:MOST_KINDS]]
    if others := held[MOST_KINDS:]:
        rows.append(row(f"{len(others)} other kinds", others))
    return Table("Kinds of tasks, by seconds on one core", ("kind", "tasks", "on one core", "share"), rows)


def _import(question: Question) -> list[Part]:
    report = question.graph.report
    title = f"How it was read: {plain(report.source, 120)}" + (f" ({report.format})" if report.format else "")
    parts: list[Part] = []
    if report.facts:
        shown = {
            name: f"{value:.6g}" if isinstance(value, float) else value
            for name, value in report.facts.items()
        }
        parts.append(Folded(title, [Facts("Import", shown)]))
    if report.notes:
        parts += [Paragraph("What the import notes:"), Bullets(weighed(report.notes))]
    return parts


def costs_section(found: Findings) -> Section | None:
    """Return cost curves and roofline; None for a graph without tasks."""
    if not found.question.graph.n_tasks:
        return None
    return Section("What tasks cost", [_curves(found), *_roofline(found)], "costs")


def _curves(found: Findings) -> Picture:
    question = found.question
    frame = model_curves_frame(question.graph, question.machine, question.costs, question.runtime)
    kinds = ", ".join(dict.fromkeys(str(kind) or "no kind" for kind in frame["kind"]))
    return Picture(
        lambda figure: cost_curves(frame, figure.add_subplot()), 880, 380,
        f"Seconds by threads, of the longest task of each of the kinds that hold most work: {kinds}. "
        "Points are seconds as recorded",
    )  # fmt: skip


def _roofline(found: Findings) -> list[Part]:
    schedule = found.schedule
    ops = roofline_frame(schedule)
    if ops.empty:
        return [Paragraph("There is no roofline: no task has known FLOPs and bytes.")]
    share = float(ops["share"].sum())
    words = f"Roofline of the ops under {found.best.name}; {share:.1%} of the cores' time has known FLOPs and bytes"
    return [
        Paragraph(
            "The roofline shows what the ops attain below what one core, a tile and the whole machine can reach; a "
            "marker is as large as its share of the cores' time."
        ),
        Picture(lambda figure: schedule.roofline(ax=figure.add_subplot()), 880, 440, words),
    ]


def machine_section(found: Findings) -> Section:
    """Return the machine's drawing, coloured by the best schedule, and its numbers."""
    schedule, machine = found.schedule, found.question.machine
    use = core_use_frame(schedule)["busy_share"]
    width, height = figure_size(machine.structure.picture(), explained=True)
    words = f"{machine.spec}, its cores coloured by how busy they are under {found.best.name}"
    parts: list[Part] = [
        Paragraph(
            f"{machine.title}. Busy under {found.best.name}: from {use.min():.1%} to {use.max():.1%} of the makespan."
        ),
        Picture(
            lambda figure: schedule.core_use(figure.add_subplot()),
            max(PX * width, NARROWEST_PX),
            PX * height,
            words,
        ),
        Facts("Machine", machine.summary()),
        Folded("Every number of the machine, with its source", [_machine_table(machine)]),
    ]
    return Section("The machine", parts, "machine")


def _machine_table(machine: Machine) -> Table:
    """Return the numbers of the machine's file, with unit, source and confidence."""
    rows = [(fact.key, _shown(fact.value), fact.unit, fact.confidence, fact.source) for fact in machine.facts]
    return Table("Numbers of the machine", ("number", "value", "unit", "confidence", "source"), rows)


def _shown(value: float | tuple[float, ...]) -> str:
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"


#: Rows of each table.
MOST_ROWS = 8


def data_section(found: Findings) -> Section | None:
    """Return the section; None for a graph without data objects."""
    schedule = found.schedule
    if schedule.graph.data is None:
        return None
    parts = [*_memory(schedule, found.best.name), *_links(schedule, found.best.name)]
    return Section("Where the data were", parts, "data")


def _memory(schedule: Schedule, name: str) -> list[Part]:
    """Return the bytes at each place over time."""
    use = schedule.memory()
    fullest = use.peak.nlargest(MOST_ROWS, "peak_B")
    rows = [
        (
            str(row["name"]),
            format_bytes(row["peak_B"]),
            format_time(row["at_s"]),
            format_bytes(row["size_B"]) if np.isfinite(row["size_B"]) else "unknown",
        )
        for row in fullest.to_dict("records")
    ]
    return [
        Table(
            f"Live data, the {counted(len(rows), 'fullest place')}",
            ("place", "at most", "first at", "size"),
            rows,
        ),
        Picture(
            lambda figure: use.plot(figure.add_subplot()),
            880,
            320,
            f"Bytes of live data at each place under {name}",
        ),
    ]


def _links(schedule: Schedule, name: str) -> list[Part]:
    """Return what passed over the links; a sentence where nothing moves."""
    machine, links = schedule.require_machine(), schedule.links
    if machine.data is None:
        return [
            Paragraph(f"On {machine.spec} data are near everywhere: [data=sent] or [data=read] moves them.")
        ]
    moved = schedule.transfers
    rows = [
        (str(row["name"]), format_bytes(row["bytes_B"]), f"{row['busy']:.1%}", f"{row['load']:.1%}")
        for row in links.head(MOST_ROWS).to_dict("records")
    ]
    width, height = figure_size(machine.structure.picture(), explained=True)
    return [
        Paragraph(
            f"Moves of objects: {len(moved)}, of {format_bytes(float(moved['bytes_B'].sum()))} in all. A link is busy "
            "while bytes pass; its load is what passed over what could have."
        ),
        Table(f"The {len(rows)} busiest links", ("link", "bytes", "busy", "load"), rows),
        Picture(
            lambda figure: link_load(schedule, figure.add_subplot()),
            max(PX * width, NARROWEST_PX),
            PX * height,
            f"{machine.spec}, its links coloured by how busy they are under {name}",
        ),
    ]


def trust_section(found: Findings) -> Section:
    """Return the section on assumptions, and how the report was made."""
    question = found.question
    notes = [note for note in found.notes if note not in question.graph.report.notes]
    parts: list[Part] = [
        Paragraph("Schedules are exact for what they assume; what they assume is this."),
        Bullets([*notes, *_assumptions(question), *(f"left out: {one}" for one in found.left_out)]),
    ]
    if found.recorded is not None:
        parts.append(_recorded(found.recorded))
    made = Facts("How this report was made", {
        "command": question.command or question.call,
        "simsched": version(),
        "Python": platform.python_version(),
        "engine": _engines(found),
        "seeds": _seeds(found),
        "replays for what would help": "none" if found.helps is None else f"at most {question.replays}",
    })  # fmt: skip
    return Section("How far to trust it", [*parts, made], "trust")


def _engines(found: Findings) -> str:
    """Return the engine of the replays, and the reason; of several, each with its policies."""
    by_reason: dict[str, list[str]] = {}
    for run in found.done:
        inputs = run.require_schedule().inputs
        assert inputs is not None  # noqa: S101 - narrows the type: replays know their inputs
        by_reason.setdefault(f"{run.require_schedule().engine}: {inputs.engine_why}", []).append(run.name)
    if len(by_reason) == 1:
        return next(iter(by_reason))
    return "; ".join(f"{reason} ({', '.join(names)})" for reason, names in by_reason.items())


def _seeds(found: Findings) -> str:
    first, count = found.question.seed, max(len(run.makespans_s) for run in found.done)
    return f"{first} to {first + count - 1}" if count > 1 else f"{first}; no other makes a difference"


def _assumptions(question: Question) -> list[str]:
    """Return the assumptions of a replay on this machine, in sentences."""
    machine = question.machine
    effects = {name: getattr(machine.effects, name) for name in NAMES}
    on = [name.replace("_", " ") for name, is_on in effects.items() if is_on]
    off = [name.replace("_", " ") for name, is_on in effects.items() if not is_on]
    sentences = [
        f"effects of running tasks on each other: {', '.join(on) or 'none'}"
        + (f"; off: {', '.join(off)}" if off else "")
    ]
    sentences.append(f"the software's own costs: {_runtime(question.runtime or machine.runtime)}")
    noise = noise_of(question.costs.noise if question.costs is not None else 0.0)
    sentences.append(
        "tasks take exactly what is estimated: no noise" if noise.silent else f"noise of task times: {noise}"
    )
    if confidence := Counter(fact.confidence for fact in machine.facts):
        counted = ", ".join(f"{count} {name}" for name, count in confidence.most_common())
        sentences.append(f"confidence of the machine's {len(machine.facts)} numbers: {counted}")
    return sentences


def _runtime(runtime: object) -> str:
    costs = {name: value for name, value in vars(runtime).items() if name.endswith("_s") and value}
    return (
        ", ".join(
            f"{name.removesuffix('_s').replace('_', ' ')} {format_time(value)}"
            for name, value in costs.items()
        )
        or "none"
    )


def _recorded(run: RecordedReplay) -> Table:
    start = format_time(float(run.row()["dispatch_s"] or 0.0))
    rows = [
        ("recorded", format_time(run.recorded.makespan_s), "-"),
        ("replayed without overheads", format_time(run.plain.makespan_s), f"{run.plain_error:+.2%}"),
        (
            f"replayed with {start} a start",
            format_time(run.calibrated.makespan_s),
            f"{run.calibrated_error:+.2%}",
        ),
    ]
    return Table("The recorded run beside its replay on its own lanes", ("run", "makespan", "error"), rows)
