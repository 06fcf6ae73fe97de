"""Rows of one quantity in the paper's form: one key of the cases as columns, the others as lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from simsched.reproduce.rows import Row, value_text

Cell = TypeVar("Cell")


@dataclass(frozen=True)
class Layout:
    """Arrangement of the keys of the cases.

    Parameters
    ----------
    shared : tuple of str
        Keys that all cases have the same value of.
    down : tuple of str
        Keys that distinguish the lines.
    across : str or None
        The key that distinguishes the columns; None for one column.
    """

    shared: tuple[str, ...]
    down: tuple[str, ...]
    across: str | None

    @classmethod
    def of(cls, rows: Sequence[Row], columns: str | None) -> Layout:
        """Return the layout of a quantity's rows, with `columns` across, or the last key that varies."""
        keys = tuple(dict.fromkeys(key for row in rows for key in row.case))
        shared = tuple(key for key in keys if len({row.case.get(key) for row in rows}) == 1)
        varied = tuple(key for key in keys if key not in shared)
        across = columns if columns in varied else varied[-1] if len(varied) > 1 else None
        return cls(shared, tuple(key for key in varied if key != across), across)


def pivoted(
    rows: Sequence[Row], layout: Layout, cell: Callable[[Row], Cell]
) -> Mapping[tuple[str, ...], Mapping[str, Cell]]:
    """Return cells by line (values of `down`) and column (value of `across`, or "value"), in the order of the rows."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in rows:
        line = tuple(value_text(row.case.get(key, "")) for key in layout.down)
        column = "value" if layout.across is None else value_text(row.case.get(layout.across, ""))
        cells.setdefault(line, {})[column] = cell(row)
    return cells
