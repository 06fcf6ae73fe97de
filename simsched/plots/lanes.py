"""The rows of a chart called as the lanes of a recording are."""

from __future__ import annotations

from os.path import commonprefix
from typing import TYPE_CHECKING

from simsched.plots.canvas import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

#: More labels than these would overlap in a chart of 7 inches; rows are numbered then.
MOST_NAMED = 32
LONGEST_NAME = 24


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write a name beside each row, the first at the top."""
    ax.set_yticks(range(len(names)), short_names(names), fontsize="small", parse_math=False, usetex=False)


def short_names(names: Sequence[str]) -> list[str]:
    """Return names without the path that all share, of a long one its end.

    Examples
    --------
    >>> short_names(["/host:0/CPU:0 lane 0", "/host:0/CPU:0 lane 1"])
    ['CPU:0 lane 0', 'CPU:0 lane 1']
    """
    shared = commonprefix(list(names)).rfind("/") + 1  # noqa: RUF071 - names that end alike are not folders
    return [plain(_end(name[shared:] or name)) for name in names]


def _end(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else "…" + name[1 - LONGEST_NAME :]
