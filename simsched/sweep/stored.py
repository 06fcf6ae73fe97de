"""Reading the rows of a store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simsched.errors import MissingExtraError, SweepError
from simsched.sweep.row_files import read_rows
from simsched.sweep.rows import LAST, TEXTS
from simsched.sweep.store_head import Owner, read_head

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: Parts that become one.
MERGED = 16


def results(store: str | Path) -> pd.DataFrame:
    """Return the rows that a store holds so far, by point; also while a sweep runs.

    Returns
    -------
    DataFrame
        Of each point that ended: point; what went in (graph, graph_id, machine, each parameter as `machine.NAME` or
        `policy.NAME`, policy, layout, scaling, noise, seed, engine); layout_used, engine_used; every number of
        `Schedule.metrics`, NaN where it failed; error, missing where it did not; replay_s, the seconds that it took;
        sweep_id and the versions of simsched, numpy and python.

    Raises
    ------
    SweepError
        If there is no store, or a file of it is damaged, another sweep's, or larger than the sweep.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> with TemporaryDirectory() as folder:
    ...     rows = ss.Sweep([graph], ["generic[cores=2]"], ["sequential", "fifo"]).run(folder)
    ...     results(folder).equals(rows)
    True
    """
    require_pyarrow()
    folder = Path(store)
    if not (folder / "sweep.json").exists():
        raise SweepError(f"{folder} is not the store of a sweep: it has no sweep.json")
    frame: pd.DataFrame = all_rows(folder, Owner.of(read_head(folder))).to_pandas()
    return frame


def require_pyarrow() -> None:
    """Check that Parquet can be written and read.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError:
        raise MissingExtraError("pyarrow", "formats", "the store of a sweep") from None


def parts_of(folder: Path) -> list[Path]:
    """Return the parts of a store, in the order in which they were written."""
    return sorted((folder / "parts").glob("[0-9]*.parquet"))


def earlier_parts(folder: Path, number: int) -> list[Path]:
    """Return the parts that the one of a number replaces, so that a store of any size has few.

    Each sixteenth part takes in the fifteen before it, each 256th all since the last of its kind, and so on: after n
    parts there are at most 15 for each digit of n to the base 16, and each row was written at most as often as n has
    digits.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     (Path(folder) / "parts").mkdir()
    ...     for number in range(31):
    ...         (Path(folder) / "parts" / f"{number:06d}.parquet").touch()
    ...     len(earlier_parts(Path(folder), 31)), len(earlier_parts(Path(folder), 32))
    (15, 0)
    """
    span = 1
    while not (number + 1) % (span * MERGED):
        span *= MERGED
    return [part for part in parts_of(folder) if number - span < int(part.stem) < number]


def _files(folder: Path) -> list[Path]:
    whole = folder / "results.parquet"
    return [*([whole] if whole.exists() else []), *parts_of(folder)]


def points_of(folder: Path, owner: Owner) -> set[int]:
    """Return the numbers of the points that have a row."""
    return {point for table in _tables(folder, owner, ["point"]) for point in table["point"].to_pylist()}


def all_rows(folder: Path, owner: Owner) -> pa.Table:
    """Return all rows by point, each once: a file that was being replaced may still have its parts."""
    import pyarrow as pa

    tables = _tables(folder, owner)
    return _tidy(merged(tables)) if tables else pa.table({"point": pa.array([], pa.int64())})


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Return the rows of some tables by point, each once."""
    import pyarrow as pa

    table = pa.concat_tables(tables, promote_options="permissive").sort_by("point")
    points = table["point"].to_numpy()
    return table.filter(np.append(True, points[1:] != points[:-1]))


def _tables(folder: Path, owner: Owner, columns: Sequence[str] | None = None) -> list[pa.Table]:
    while files := _files(folder):
        try:
            return [read_rows(file, owner.sweep_id, owner.points, columns) for file in files]
        except FileNotFoundError:
            # The writer has merged the parts and removes them one by one: their rows are in the file of all.
            if _files(folder) == files:
                lost = next((file for file in files if not file.exists()), folder)
                raise SweepError(
                    f"{lost} is damaged: it leads nowhere; remove it, and run() does its points again"
                ) from None
    return []


def _tidy(table: pa.Table) -> pa.Table:
    """Return a table with its outcomes in order, and with types for empty columns."""
    import pyarrow as pa

    names = [name for name in table.column_names if name not in LAST]
    table = table.select([*names, *LAST])
    kinds = {True: pa.string(), False: pa.float64()}
    fields = [f.with_type(kinds[f.name in TEXTS]) if pa.types.is_null(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
