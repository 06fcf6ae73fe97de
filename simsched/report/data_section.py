"""Places of the data and the ways between them, under the best policy."""

from __future__ import annotations

import numpy as np

from simsched.document.parts import Paragraph, Part, Picture, Section, Table
from simsched.report.findings import Findings
from simsched.report.inputs_section import NARROWEST_PX, PX
from simsched.schedule import Schedule
from simsched.text import counted
from simsched.units import format_bytes, format_time

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
    from simsched.plots import link_load
    from simsched.plots.machine import figure_size

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
