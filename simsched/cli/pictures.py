"""Pictures of a schedule that have their own options."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli.common import check_outputs

if TYPE_CHECKING:
    from simsched.schedule import Schedule

RooflineOption = Annotated[
    Path | None,
    typer.Option(
        "--roofline",
        metavar="FILE",
        help="Write the roofline and what ops attain below it: .png .svg .csv .parquet.",
    ),
]
CoreUseOption = Annotated[
    Path | None,
    typer.Option(
        "--core-use",
        metavar="FILE",
        help="Write the machine, coloured by how busy each core is: .png .svg .csv .parquet.",
    ),
]


def picture_writers(roofline: Path | None, core_use: Path | None) -> list[Callable[[Schedule], None]]:
    """Return what writes the pictures asked for.

    Raises
    ------
    SimschedError
        If a suffix says nothing that is written.
    """
    writers: list[Callable[[Schedule], None]] = []
    for write, path in ((_roofline, roofline), (_core_use, core_use)):
        if path is not None:
            from simsched.study.export import check_table_suffix

            check_outputs([path], check_table_suffix)
            writers.append(partial(write, path=path))
    return writers


def _roofline(schedule: Schedule, path: Path) -> None:
    from simsched.plots import roofline_frame
    from simsched.study.export import export_table

    export_table(roofline_frame(schedule), path, lambda ax: schedule.roofline(ax=ax), (8.5, 4.8))


def _core_use(schedule: Schedule, path: Path) -> None:
    from simsched.plots import core_use_frame
    from simsched.plots.machine import figure_size
    from simsched.study.export import export_table

    size = figure_size(schedule.require_machine().structure.picture(), explained=True)
    export_table(core_use_frame(schedule), path, lambda ax: schedule.core_use(ax=ax), size)
