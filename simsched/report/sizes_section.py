"""The best policy on fewer and more cores, and by layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.report.parts import Paragraph, Part, Picture, Section
from simsched.tables import Table
from simsched.units import format_time

if TYPE_CHECKING:
    import pandas as pd

    from simsched.report.findings import Findings

MOST_LAYOUTS = 10
COLUMNS = ("layout", "makespan", "speed-up", "cores in use")


def cores_section(found: Findings) -> Section | None:
    """Return makespan and efficiency by core count; None where the machine has one size only."""
    from simsched.plots import scaling

    frame = found.scaling
    if frame is None:
        return None
    told = "; ".join(
        f"{row['cores']} cores {format_time(row['makespan_s'])}" for row in frame.to_dict("records")
    )
    machine = found.question.machine
    parts: list[Part] = [
        Paragraph(
            f"The same graph under {found.best.name} on {machine.spec} with other core counts; its tiles stay whole "
            "and its memory stays as it is."
        ),
        Picture(
            lambda figure: scaling(frame, figure.add_subplot()), 800, 380, f"Makespan by core count: {told}"
        ),
        _cores_table(frame),
    ]
    return Section("cores", "More and fewer cores", parts)


def _cores_table(frame: pd.DataFrame) -> Table:
    between = bool(frame["low_s"].notna().any())
    columns = ["cores", "layout", "makespan", "lower bound", "speed-up", "efficiency"]
    if between:
        columns.insert(3, "95 % interval")
    rows = []
    for row in frame.to_dict("records"):
        cells = [str(row["cores"]), str(row["layout"]) or "its own widths", format_time(row["makespan_s"]),
                 format_time(row["bound_s"]), f"{row['speedup']:.3g}", f"{row['efficiency']:.1%}"]  # fmt: skip
        if between:
            cells.insert(3, f"{format_time(row['low_s'])} to {format_time(row['high_s'])}")
        rows.append(tuple(cells))
    return Table("By core count", tuple(columns), rows)


def layouts_section(found: Findings) -> Section | None:
    """Return the heat map of layouts; None where no policy takes several."""
    from simsched.plots import layouts, layouts_frame

    tuned = found.layouts
    if tuned is None:
        return None
    first = tuned.iloc[0]
    frame = layouts_frame(tuned, found.question.machine.n_threads)
    policy = str(first["policy"])
    rows = [
        (
            str(row["layout"]),
            format_time(row["makespan_s"]),
            f"{row['speedup']:.3g}",
            f"{row['utilization']:.1%}",
        )
        for row in tuned.head(MOST_LAYOUTS).to_dict("records")
    ]
    size = (240 + 62 * frame["width"].nunique(), 110 + 40 * frame["executors"].nunique())
    parts: list[Part] = [
        Paragraph(f"Executors x cores of each, under {policy}, the best policy that takes such layouts."),
        Picture(
            lambda figure: layouts(frame, figure.add_subplot()), *size,
            f"Layouts of {policy} as a heat map; the best is {first['layout']} with {format_time(first['makespan_s'])}",
        ),
        Table(f"The best {len(rows)} of {len(tuned)} layouts", COLUMNS, rows),
    ]  # fmt: skip
    return Section("layouts", "Layouts", parts)
