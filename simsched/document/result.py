"""`Result`: a table of results in readable units, with its notes, its picture and its display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from simsched.document.html import results_table
from simsched.document.parts import Table
from simsched.document.terminal import fitted, table_text, width
from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.notes import weighed
from simsched.text import counted, distinct, printable
from simsched.units import format_time

SHARES = (
    "utilization",
    "efficiency",
    "binds_share",
    "fastest_share",
    "gap",
    "swing_share",
    "plain_error",
    "calibrated_error",
)
#: Cells of a policy's spec.
MOST_CELLS = 40


def table_of(frame: pd.DataFrame) -> Table:
    """Return a table of results as text; columns called `*_s` are seconds, `SHARES` shares, `-` is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> table_of(pd.DataFrame({"makespan_s": [0.0042], "gap": [0.25]})).rows
    [('4.2 ms', '25.0%')]
    """
    columns = [_cells(frame, name) for name in frame.columns]
    titles = [name.removesuffix("_s").replace("_", " ") for name in frame.columns]
    return Table("", titles, list(zip(*columns, strict=True)))


def _cells(frame: pd.DataFrame, name: str) -> list[str]:
    cells, text = frame[name], _format(frame, name)
    shown = ["-" if missing else text(cell) for cell, missing in zip(cells, cells.isna(), strict=True)]
    return distinct(shown, MOST_CELLS) if name == "policy" else shown


def _format(frame: pd.DataFrame, name: str) -> Callable[[Any], str]:
    if name.endswith("_s"):
        return format_time
    if name in SHARES:
        return "{:z.1%}".format  # -0.0 % is 0.0 %
    if frame[name].dtype.kind == "b":
        return lambda cell: "yes" if cell else ""
    return "{:.3g}".format if frame[name].dtype.kind == "f" else str


class Result(pd.DataFrame):
    """Table of results of `compare`, `tune`, `predict` and others: a DataFrame with a display.

    Derived objects, such as a selection of rows, are plain DataFrames. Columns called `*_s` are seconds. On a
    terminal and in a notebook they have a fitting unit each, shares are in per cent, and notes are below the table.

    Attributes
    ----------
    notes : tuple of str
        Notes for readers on the replays of the table: each note once, the weightiest first.
    hidden : tuple of str
        Columns that the display leaves out, in addition to empty ones.
    folded : int
        Rows at the end that the display leaves out; a note says what they are.
    drawing : callable or None
        Draws the table: `drawing(frame, ax=None)`.
    nothing : str
        What the display says where no row is left to show.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> found = ss.compare(graph, "generic[cores=2]", ["sequential", "fifo"])
    >>> found.plot().get_xlabel(), type(found.frame).__name__, len(found.notes)
    ('makespan (s)', 'DataFrame', 2)
    """

    _metadata = ["notes", "hidden", "folded", "drawing", "nothing"]  # noqa: RUF012 - as pandas has it
    notes: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    folded: int = 0
    drawing: Callable[..., Axes] | None = None
    nothing: str = ""

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame | Sequence[Mapping[str, Any]],
        notes: Iterable[str] = (),
        drawing: Callable[..., Axes] | None = None,
        hidden: Iterable[str] = (),
        folded: int = 0,
        nothing: str = "",
    ) -> Result:
        """Return a table, or one of some of its rows, with its attributes.

        Examples
        --------
        >>> print(Result.of(pd.DataFrame({"policy": ["fifo"], "makespan_s": [0.0042]}), ["one replay"]))
        policy makespan
        fifo     4.2 ms
        <BLANKLINE>
        note: one replay
        """
        found = cls(frame)
        found.notes, found.drawing = weighed(notes), drawing
        found.hidden, found.folded, found.nothing = tuple(hidden), folded, nothing
        return found

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    @property
    def frame(self) -> pd.DataFrame:
        """The table as a plain DataFrame, a copy."""
        return self.copy()

    def plot(self, ax: Axes | None = None) -> Axes:  # type: ignore[override] # the picture of this table; pandas' are beside it
        """Draw the table; `.frame.plot` has the pictures of pandas.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Raises
        ------
        SimschedError
            If this table has no picture.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ss.predict(graph, "generic", "fifo", [1, 2]).plot().get_xlabel()
        'cores'
        """
        if self.drawing is None:
            raise SimschedError("this table has no picture; .frame.plot has those of pandas")
        return self.drawing(self.frame, ax=ax)

    @property
    def shown(self) -> pd.DataFrame:
        """What is displayed: rows that are not folded, and columns that are not hidden and have a value in some row.

        Examples
        --------
        >>> found = Result.of(pd.DataFrame({"cores": [2], "low_s": [None], "p": [0.1]}), hidden=["p"])
        >>> list(found.shown)
        ['cores']
        """
        rows = self.iloc[: len(self) - self.folded]
        return rows.drop(columns=[*self.hidden], errors="ignore").dropna(axis="columns", how="all")

    def text(self, cells: int | None = None, rows: int | None = None, notes: bool = True) -> str:
        """Return the table and its notes on lines of a terminal.

        Parameters
        ----------
        cells : int, optional
            Cells of a line, to which rich fits the lines; as wide as it gets when not given.
        rows : int, optional
            Rows at most; all when not given.
        notes : bool
            With the notes, which stand below the table.

        Examples
        --------
        >>> print(Result.of(pd.DataFrame({"share": [0.5, 0.25], "knee": [True, False]})).text(rows=1))
        share knee
          0.5 yes
        1 more row: .frame has all
        """
        # Of rows that are all folded nothing would be printed.
        none = self.nothing or f"no rows to show; .frame has {len(self)}"
        lines = [table_text(self._table(rows), cells) if len(self.shown.columns) else none, *self._rest(rows)]
        below = [fitted(f"note: {printable(note)}", cells) for note in self.notes if notes]
        return "\n".join([*lines, *([""] if below else []), *below])

    def _table(self, rows: int | None) -> Table:
        return table_of(self.shown.head(len(self) if rows is None else rows))

    def _rest(self, rows: int | None) -> list[str]:
        more = 0 if rows is None else len(self) - self.folded - rows
        return [f"{counted(more, 'more row')}: .frame has all"] if more > 0 else []

    def __repr__(self) -> str:
        return self.text(width(), pd.get_option("display.max_rows"))

    def _repr_html_(self) -> str:
        rows: int | None = pd.get_option("display.max_rows")
        return results_table(self._table(rows), [*self._rest(rows), *self.notes])

    def to_json_object(self) -> dict[str, Any]:
        """Return rows, each by column name, and notes, as `--json` prints them.

        Examples
        --------
        >>> Result.of(pd.DataFrame({"cores": [2]}), ["one replay"]).to_json_object()
        {'rows': [{'cores': 2}], 'notes': ['one replay']}
        """
        rows = [{str(key): value for key, value in row.items()} for row in self.to_dict("records")]
        return {"rows": rows, "notes": list(self.notes)}
