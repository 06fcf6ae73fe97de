"""What is known of the graph, and of how it was read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.document.parts import Bullets, Facts, Folded, Paragraph, Part, Picture, Section, Table
from simsched.notes import weighed
from simsched.plots.canvas import plain
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.report.findings import Findings
    from simsched.report.question import Question

MOST_KINDS = 10
#: A drawing of more tasks is slow to make, and shows nothing but ink.
MOST_DRAWN = 2000


def graph_section(found: Findings) -> Section:
    """Return the section."""
    graph = found.question.graph
    parts: list[Part] = [Facts("Graph", _facts(found)), kinds_table(found.question)]
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
    facts["work on one core"] = format_time(found.one_core_s)
    facts["critical path, each task on its fastest width"] = format_time(limits.critical_path_s)
    if limits.critical_path_s:
        facts["work over critical path"] = f"{found.one_core_s / limits.critical_path_s:.3g}"
    if graph.recorded_on is not None:
        facts["recorded on"] = plain(graph.recorded_on.name, 120)
    return facts


def kinds_table(question: Question) -> Table:
    """Return the kinds that hold most seconds on one core of the machine."""
    from simsched.costs import CostModel

    kinds = question.graph.kinds
    costs = (question.costs or CostModel()).on(question.graph, question.machine, question.runtime)
    seconds = np.bincount(kinds.codes, costs.one_core_s, len(kinds.labels))
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
