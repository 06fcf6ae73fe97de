"""What tasks cost on the machine, what they attain there, and how busy it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.document.parts import Facts, Folded, Paragraph, Part, Picture, Section, Table

if TYPE_CHECKING:
    from simsched.machine import Machine
    from simsched.report.findings import Findings

#: CSS pixels an inch of the drawings of machines.
PX = 72.0
#: Room for the title.
NARROWEST_PX = 560.0


def costs_section(found: Findings) -> Section | None:
    """Return cost curves and roofline; None for a graph without tasks."""
    if not found.question.graph.n_tasks:
        return None
    parts = [_curves(found), *_roofline(found)]
    return Section("What tasks cost", parts, "costs")


def _curves(found: Findings) -> Picture:
    from simsched.plots import cost_curves, model_curves_frame

    question = found.question
    frame = model_curves_frame(question.graph, question.machine, question.costs, question.runtime)
    kinds = ", ".join(dict.fromkeys(str(kind) or "no kind" for kind in frame["kind"]))
    return Picture(
        lambda figure: cost_curves(frame, figure.add_subplot()), 880, 380,
        f"Seconds by threads, of the longest task of each of the kinds that hold most work: {kinds}. "
        "Points are seconds as recorded",
    )  # fmt: skip


def _roofline(found: Findings) -> list[Part]:
    from simsched.plots import roofline_frame

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
    from simsched.plots import core_use_frame
    from simsched.plots.machine import figure_size

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
        Folded("Every number of the machine, with its source", [machine_table(machine)]),
    ]
    return Section("The machine", parts, "machine")


def machine_table(machine: Machine) -> Table:
    """Return the numbers of the machine's file, with unit, source and confidence."""
    rows = [(fact.key, _shown(fact.value), fact.unit, fact.confidence, fact.source) for fact in machine.facts]
    return Table("Numbers of the machine", ("number", "value", "unit", "confidence", "source"), rows)


def _shown(value: float | tuple[float, ...]) -> str:
    return ", ".join(f"{one:g}" for one in value) if isinstance(value, tuple) else f"{value:g}"
