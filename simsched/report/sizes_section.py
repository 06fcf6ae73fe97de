"""The best policy on fewer and more cores, and by layout."""

from __future__ import annotations

from math import isnan

import pandas as pd

from simsched.document.parts import Paragraph, Part, Picture, Section, Table
from simsched.plots import layouts, layouts_frame, scaling
from simsched.plots.canvas import plain
from simsched.report.findings import Findings
from simsched.report.policies_section import longer
from simsched.report.verdict import LONGEST_LAYOUT, used_layout
from simsched.units import format_time

MOST_LAYOUTS = 10
COLUMNS = ("layout", "makespan", "over the shortest", "speed-up", "cores in use")


def cores_section(found: Findings) -> Section | None:
    """Return makespan and efficiency by core count; None where the machine has one size only."""
    frame = found.scaling
    if frame is None:
        return None
    words = "; ".join(
        f"{row['cores']} cores {format_time(row['makespan_s'])}" for row in frame.to_dict("records")
    )
    machine = found.question.machine
    parts: list[Part] = [
        Paragraph(
            f"The same graph under {found.best.name} on {machine.spec} with other core counts, {_whose(found)}; its "
            "tiles stay whole and its memory stays as it is."
        ),
        Picture(
            lambda figure: scaling(frame, figure.add_subplot()), 800, 380, f"Makespan by core count: {words}"
        ),
        _cores_table(frame),
    ]
    return Section("More and fewer cores", parts, "cores")


def _whose(found: Findings) -> str:
    if found.best.layout_by == "given":
        return "with executors in proportion to those of the given layout"
    return "each with its best layout" if found.best.layout_by == "replays" else "each with widths found anew"


def _cores_table(frame: pd.DataFrame) -> Table:
    between = bool(frame["low_s"].notna().any())
    columns = ["cores", "layout", "chosen by", "makespan", "lower bound", "speed-up", "efficiency"]
    if between:
        columns.insert(4, "95 % interval")
    rows = []
    for row in frame.to_dict("records"):
        cells = [
            str(row["cores"]),
            plain(str(row["layout"]), LONGEST_LAYOUT),
            str(row["layout_by"]),
            format_time(row["makespan_s"]),
            format_time(row["bound_s"]),
            f"{row['speedup']:.3g}" if row["makespan_s"] else "-",
            f"{row['efficiency']:.1%}",
        ]
        if between:
            known = not isnan(row["low_s"])
            cells.insert(
                4, f"{format_time(row['low_s'])} to {format_time(row['high_s'])}" if known else "no spread"
            )
        rows.append(tuple(cells))
    return Table("By core count", tuple(columns), rows)


def layouts_section(found: Findings) -> Section | None:
    """Return the heat map of layouts; None where no policy takes several."""
    tuned = found.layouts
    if tuned is None:
        return None
    first = tuned.iloc[0]
    frame = layouts_frame(_pictured(found, tuned), found.question.machine.n_threads)
    policy, used = str(first["policy"]), used_layout(found)
    shown = tuned[(tuned.index < MOST_LAYOUTS) | (tuned["layout"] == used)]
    rows = [
        (
            str(row["layout"]) + (" (as above)" if row["layout"] == used else ""),
            format_time(row["makespan_s"]),
            longer(row["makespan_s"], first["makespan_s"]) if first["makespan_s"] else "-",
            f"{row['speedup']:.3g}",
            f"{row['utilization']:.1%}",
        )
        for row in shown.to_dict("records")
    ]
    size = (240 + 62 * frame["width"].nunique(), 110 + 40 * frame["executors"].nunique())
    parts: list[Part] = [
        Paragraph(
            f"Executors x cores of each, under {policy}, the best policy that has executors, each layout replayed"
            f"{_with_seed(found, policy)}. The picture has those of even parts of the machine, and the shortest."
        ),
        Picture(
            lambda figure: layouts(frame, figure.add_subplot()), *size,
            f"Layouts of {policy} as a heat map; the best is {first['layout']} with {format_time(first['makespan_s'])}",
        ),
        Table(f"{len(rows)} of {len(tuned)} layouts, the shortest first", COLUMNS, rows),
    ]  # fmt: skip
    return Section("Layouts", parts, "layouts")


def _pictured(found: Findings, tuned: pd.DataFrame) -> pd.DataFrame:
    """Return the layouts of the grid, and the shortest."""
    executors, widths = found.question.grid
    shown = tuned["executors"].isin(executors) & tuned["width"].isin(widths)
    return tuned[shown | (tuned.index == 0)]


def _with_seed(found: Findings, policy: str) -> str:
    seeded = any(run.seeded for run in found.done if run.name == policy)
    return f" with seed {found.question.seed}" if seeded else ""
