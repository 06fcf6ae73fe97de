"""`Reproduction`: rows and claims of a published system, as frames, text, page and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from simsched.document.html import card
from simsched.document.markdown import markdown
from simsched.document.parts import Document, Marked, Paragraph, Part, Section, Table
from simsched.drawing import Axes
from simsched.errors import SpecError
from simsched.files import write_text
from simsched.reproduce.published import Quantity, described
from simsched.reproduce.rows import RATIO, Claim, Row, case_text, value_text
from simsched.reproduce.summary import summary, summary_text
from simsched.schedule.export import file_stem, make_folder, write_figures

if TYPE_CHECKING:
    from simsched.reproduce.system import System

CELLS = "Each cell: simulated (published, error); `in` marks a published number that is an input"
SEEN = ", `seen` one that a choice was made with in view"


def document(made: Reproduction) -> Document:
    """Return the document; see `Reproduction.to_markdown`."""
    return Document(f"{made.system.published().title}: {made.system}", [*_lead(made), *_sections(made)])


def _lead(made: Reproduction) -> Iterator[Part]:
    published = made.system.published()
    yield Paragraph(f"{published.citation}.")
    yield Paragraph(summary_text(made.rows, made.claims))
    if published.inputs:
        yield Paragraph(f"Inputs: {described(published.inputs)}.")
    seen = any(row.use == "seen" for row in made.rows)
    yield Paragraph(Marked(f"{CELLS}{SEEN if seen else ''}."))


def _sections(made: Reproduction) -> Iterator[Part]:
    for quantity in made.system.published().quantities:
        rows = [row for row in made.rows if (row.table, row.quantity) == (quantity.table, quantity.name)]
        if rows:
            yield _quantity(quantity, rows)
    if made.claims:
        yield _claims(made.claims)


def _claims(claims: Sequence[Claim]) -> Table:
    rows = [(c.words, c.at, "yes" if c.holds else Marked("**no**"), c.found) for c in claims]
    return Table("", ("statement", "where", "holds", "simulated"), rows)


def _quantity(quantity: Quantity, rows: list[Row]) -> Section:
    """Return a title, with what all cases share, and a table."""
    layout = Layout.of(rows, quantity.columns)
    unit = "" if quantity.unit == RATIO else f", {quantity.unit}"
    common = "".join(f", {key} {value_text(rows[0].case[key])}" for key in layout.shared)
    cells = _pivoted(rows, layout, _cell)
    columns = list(dict.fromkeys(column for line in cells.values() for column in line))
    titles = [f"{layout.across} {columns[0]}", *columns[1:]] if layout.across else columns
    lines = [(*line, *(cells[line].get(column, "") for column in columns)) for line in cells]
    return Section(
        f"{quantity.table}: {quantity.name}{unit}{common}", [Table("", (*layout.down, *titles), lines)]
    )


def _cell(row: Row) -> str:
    simulated = _number(row.simulated, row.decimals)
    if row.paper is None:
        return simulated
    published = f"{row.paper:.{max(row.decimals, 0)}f}"
    if row.use == "input":
        return f"{simulated} ({published} in)"
    error = "" if row.relative_error is None else f", {row.relative_error:+.1%}"
    error = ", as printed" if row.as_printed else error
    error += ", seen" if row.use == "seen" else ""
    return f"{simulated} ({published}{error})"


def _number(value: float, decimals: int) -> str:
    """Return a number to three digits, or to more where the paper prints more."""
    return f"{value:.{max(decimals, 2 - floor(log10(abs(value))), 0)}f}" if value else "0"


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Published numbers of a paper against simulated ones.

    Parameters
    ----------
    system : System
        Prints as the spec that makes it again.
    rows : tuple of Row
    claims : tuple of Claim

    Examples
    --------
    >>> import simsched as ss
    >>> made = ss.reproduce("chaos", tables=["Table 8"])
    >>> made.tables, len(made.rows), made.summary()["seen_time_median"] < 0.01
    (('Table 8',), 12, True)
    >>> made.pivot("Table 8", "predicted time").round(1).values[0].tolist()
    [6.6, 5.4, 4.9, 4.6]
    """

    system: System
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables and figures."""
        return tuple(dict.fromkeys(row.table for row in self.rows))

    @property
    def table(self) -> pd.DataFrame:
        """All rows: system, table, case (text), quantity, unit, simulated, paper, relative_error, use."""
        return pd.DataFrame([row.record() | {"case": case_text(row.case)} for row in self.rows])

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as JSON values."""
        return [row.record() for row in self.rows]

    def frame(self, table: str, quantity: str | None = None) -> pd.DataFrame:
        """Return the rows of a table with one column per key of their cases.

        Parameters
        ----------
        table : str
        quantity : str, optional
            Of this quantity only.

        Returns
        -------
        DataFrame
            quantity, the keys of the cases, unit, simulated, paper, relative_error, use.

        Raises
        ------
        SpecError
            If there is no such table or quantity.
        """
        return pd.DataFrame([
            {"quantity": row.quantity, **row.case}
            | {key: row.record()[key] for key in ("unit", "simulated", "paper", "relative_error", "use")}
            for row in self._of(table, quantity)
        ])  # fmt: skip

    def pivot(self, table: str, quantity: str, value: str = "simulated") -> pd.DataFrame:
        """Return a quantity in the paper's form: one key of the cases as columns, the others as index.

        Parameters
        ----------
        table, quantity : str
        value : {"simulated", "paper", "relative_error"}

        Returns
        -------
        DataFrame

        Raises
        ------
        SpecError
            If there is no such table or quantity.
        """
        rows = self._of(table, quantity)
        layout = Layout.of(rows, self._quantity(table, quantity).columns)
        cells = _pivoted(rows, layout, lambda row: getattr(row, value))
        frame = pd.DataFrame(list(cells.values()))
        if layout.down:
            frame.index = pd.MultiIndex.from_tuples(list(cells), names=layout.down)
        return frame.rename_axis(columns=layout.across)

    def _of(self, table: str, quantity: str | None) -> list[Row]:
        rows = [row for row in self.rows if row.table == table and quantity in {None, row.quantity}]
        if not rows:
            there = "; ".join(dict.fromkeys(f"{row.table}: {row.quantity}" for row in self.rows))
            raise SpecError(f"{self.system} has no {quantity or 'rows'} of {table!r}; it has {there}")
        return rows

    def _quantity(self, table: str, name: str) -> Quantity:
        return next(q for q in self.system.published().quantities if (q.table, q.name) == (table, name))

    def summary(self) -> dict[str, float]:
        """Return counts, errors and agreement; see `simsched.reproduce.summary`."""
        return summary(self.rows, self.claims)

    @property
    def document(self) -> Document:
        """Tables in the paper's form, simulated numbers next to published ones, and the statements."""
        return document(self)

    def to_markdown(self) -> str:
        """Return the document as Markdown."""
        return markdown(self.document)

    def plot(self, table: str, ax: Axes | None = None) -> Axes:
        """Draw a table in the paper's form.

        Raises
        ------
        SpecError
            If the system draws no such table.
        """
        pictures = self.system.pictures()
        if table not in pictures:
            raise SpecError(
                f"{self.system} draws no picture of {table!r}; it draws {', '.join(pictures) or 'none'}"
            )
        return pictures[table](self.frame(table), ax)

    def _repr_html_(self) -> str:
        published = self.system.published()
        counts = {f"{table}, rows": sum(row.table == table for row in self.rows) for table in self.tables}
        claims = [f"{c.words}: {'yes' if c.holds else 'no'} ({c.found})" for c in self.claims]
        table = self.table.to_html(index=False, na_rep="", max_rows=60)
        return card(
            f"{published.title}: {self.system}",
            counts,
            [summary_text(self.rows, self.claims), *claims],
            below=table,
        )

    def __str__(self) -> str:
        return f"{self.system}: {summary_text(self.rows, self.claims)}"


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


def _pivoted(
    rows: Sequence[Row], layout: Layout, cell: Callable[[Row], Cell]
) -> Mapping[tuple[str, ...], Mapping[str, Cell]]:
    """Return cells by line (values of `down`) and column (value of `across`, or "value"), in the order of the rows."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {}
    for row in rows:
        line = tuple(value_text(row.case.get(key, "")) for key in layout.down)
        column = "value" if layout.across is None else value_text(row.case.get(layout.across, ""))
        cells.setdefault(line, {})[column] = cell(row)
    return cells


def write_reproduction(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write a reproduction to a folder, created if missing; yield each path written.

    Raises
    ------
    SimschedError
        If the folder cannot be made, or a file not written.
    """
    make_folder(folder)
    text = folder / f"{file_stem(str(made.system), set())}.md"
    write_text(text, made.to_markdown())
    yield text
    yield from write_pictures(folder, made)


def write_pictures(folder: Path, made: Reproduction) -> Iterator[Path]:
    """Write the pictures of a system; yield each path written.

    Raises
    ------
    SimschedError
        If a file cannot be written.
    """
    tables = [table for table in made.system.pictures() if table in made.tables]
    pictures = {f"{made.system}-{table}": partial(made.plot, table) for table in tables}
    return write_figures(folder, pictures, (9.0, 4.5))
