"""The store of a sweep: a folder that survives the death of its writer at any time; see docs/sweeping.md.

==================== ==========================================================================================
`sweep.json`         the sweep's description, and the version that writes the store
`graphs/ID.simsched` the graphs
`machines/ID.json`   the machine files
`parts/N.parquet`    rows, as they finished; each appears when it is complete and on the disk, and later ones may
                     take in earlier ones
`begun`              points that were begun and ended in this process since it opened the store
`results.parquet`    all rows, once the sweep is complete; the parts are then removed
`lock`               held by the writer
==================== ==========================================================================================
"""

from __future__ import annotations

import fcntl
import re
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from simsched.errors import SimschedError, SweepError, require
from simsched.files import open_to_write, read_small
from simsched.sweep.description import Owner, check_head, read_head, write_head, write_inputs
from simsched.sweep.rows import LAST, TEXTS, Rows, read_rows, write_rows

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from simsched.sweep.replaying import Outcome
    from simsched.sweep.sweep import Sweep

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
    _require_pyarrow()
    folder = Path(store)
    if not (folder / "sweep.json").exists():
        raise SweepError(f"{folder} is not the store of a sweep: it has no sweep.json")
    frame: pd.DataFrame = _all_rows(folder, Owner.of(read_head(folder))).to_pandas()
    return frame


def _require_pyarrow() -> None:
    """Check that Parquet can be written and read.

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
    require("pyarrow", "formats", "the store of a sweep")


def _parts_of(folder: Path) -> list[Path]:
    """Return the parts of a store, in the order in which they were written."""
    return sorted((folder / "parts").glob("[0-9]*.parquet"))


def _earlier_parts(folder: Path, number: int) -> list[Path]:
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
    ...     len(_earlier_parts(Path(folder), 31)), len(_earlier_parts(Path(folder), 32))
    (15, 0)
    """
    span = 1
    while not (number + 1) % (span * MERGED):
        span *= MERGED
    return [part for part in _parts_of(folder) if number - span < int(part.stem) < number]


def _files(folder: Path) -> list[Path]:
    whole = folder / "results.parquet"
    return [*([whole] if whole.exists() else []), *_parts_of(folder)]


def _all_rows(folder: Path, owner: Owner) -> pa.Table:
    """Return all rows by point, each once: a file that was being replaced may still have its parts."""
    import pyarrow as pa

    tables = _tables(folder, owner)
    return _tidy(_merged(tables)) if tables else pa.table({"point": pa.array([], pa.int64())})


def _merged(tables: Sequence[pa.Table]) -> pa.Table:
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


#: Rows wait at least so long before they are written, and at least this share of the time since the store was opened:
#: few parts of a long sweep, and little work to do again.
LEAST_S, SHARE, MOST_S = 1.0, 0.01, 60.0
#: Most bytes of `begun`, in general and per point: some lines name it.
MOST_NOTES_B, MOST_NOTE_B = 1_000_000, 64
#: A line of `begun`: whether points began or ended, and their numbers.
_NOTE = re.compile(rb"[+-]([0-9]{1,9}(,[0-9]{1,9})*)?\n")


class Store:
    """A sweep's folder, open for writing; made by `opened`.

    Parameters
    ----------
    folder : Path
    sweep : Sweep
    lock : file
        Held while it is open.
    """

    def __init__(self, folder: Path, sweep: Sweep, lock: IO[str]) -> None:
        self.folder, self.lock, self._rows = folder, lock, Rows(sweep)
        self._owner = Owner(self._rows.last["sweep_id"], len(sweep))
        self._waiting: list[dict[str, Any]] = []
        self._opened = self._written = time.monotonic()
        self._next = max([int(part.stem) for part in _parts_of(folder)], default=-1) + 1
        self.done = {
            point for table in _tables(folder, self._owner, ["point"]) for point in table["point"].to_pylist()
        }
        self.suspects = _suspects(folder, len(sweep)) - self.done
        self._begun: IO[str] | None = None

    @property
    def n_waiting(self) -> int:
        """Number of rows that are not written yet."""
        return len(self._waiting)

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Keep the outcomes of some points; existing ones stay unchanged.

        Raises
        ------
        SweepError
            If the folder cannot be written.
        """
        for outcome in outcomes:
            if outcome["point"] not in self.done:
                self.done.add(outcome["point"])
                self._waiting.append(self._rows.row(outcome))
        now = time.monotonic()
        if now - self._written >= min(max(LEAST_S, SHARE * (now - self._opened)), MOST_S):
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows.

        Raises
        ------
        SweepError
            If the folder cannot be written.
        """
        if self._waiting:
            earlier, table = self._with_earlier(_table(self._waiting))
            write_rows(self.folder / "parts" / f"{self._next:06d}.parquet", table, self._owner.sweep_id)
            self._next, self._waiting = self._next + 1, []
            for replaced in earlier:
                replaced.unlink()
        self._written = time.monotonic()

    def _with_earlier(self, table: pa.Table) -> tuple[list[Path], pa.Table]:
        """Return parts that the next one replaces, and its rows: theirs and those of a table."""
        earlier = _earlier_parts(self.folder, self._next)
        try:
            rows = [read_rows(part, self._owner.sweep_id, self._owner.points) for part in earlier]
        except (SweepError, OSError):
            # What waits is kept as it is; `finish` names the file that cannot be read.
            return [], table
        return earlier, _merged([*rows, table])

    def began(self, points: Sequence[int]) -> None:
        """Record that this process itself now replays some points: if it dies, one of them may be why."""
        self._note("+", points)

    def ended(self, points: Sequence[int]) -> None:
        """Record that this process has survived some points."""
        self._note("-", points)

    def cleared(self) -> None:
        """Forget all suspects."""
        self._begun = _opened(self.folder / "begun", "w")

    def _note(self, sign: str, points: Sequence[int]) -> None:
        assert self._begun is not None  # noqa: S101 - narrows the type: `cleared` comes first
        try:
            # Data passed to the system outlast this process, and a loss of power makes no point a suspect.
            self._begun.write(f"{sign}{','.join(map(str, points))}\n")
            self._begun.flush()
        except OSError as error:
            raise SweepError(
                f"{self.folder / 'begun'} cannot be written: {error.strerror or error}"
            ) from error

    def finish(self) -> pd.DataFrame:
        """Write waiting rows, and all rows as one file if every point has one; return them.

        Raises
        ------
        SweepError
            If the folder cannot be written or read.
        """
        self.flush()
        table = _all_rows(self.folder, self._owner)
        if table.num_rows == self._owner.points and _parts_of(self.folder):
            write_rows(self.folder / "results.parquet", table, self._owner.sweep_id)
            for part in _parts_of(self.folder):
                part.unlink()
        frame: pd.DataFrame = table.to_pandas()
        return frame

    def close(self) -> None:
        """Close all open files."""
        if self._begun is not None:
            self._begun.close()


@contextmanager
def opened(folder: Path, sweep: Sweep) -> Iterator[Store]:
    """Open the store of a sweep, a new one or one to continue; nobody else can until it is closed.

    Raises
    ------
    SweepError
        If the folder is another sweep's or another version's, is in use, or cannot be written.
    MissingExtraError
        If pyarrow is not installed.
    """
    _require_pyarrow()
    try:
        (folder / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SweepError(f"{folder} cannot be written: {error.strerror or error}") from error
    lock = _opened(folder / "lock", "a")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SweepError(
                f"{folder} is in use: another run writes it; wait for that one, or stop it"
            ) from None
        except OSError as error:
            raise SweepError(
                f"{folder} cannot be locked: {error.strerror or error}; take a folder on a file system "
                "with locks (flock)"
            ) from None
        if not check_head(folder, sweep):
            write_head(folder, sweep)
        elif restored := write_inputs(folder, sweep):
            warnings.warn(f"{folder} lacked {', '.join(restored)}: written again", RuntimeWarning, 2)
        for left in (folder / "parts").glob(".*.part"):
            left.unlink()
        store = Store(folder, sweep, lock)
        try:
            yield store
        finally:
            store.close()


def _opened(file: Path, mode: str) -> IO[str]:
    try:
        return open_to_write(file, mode)
    except OSError as error:
        raise SweepError(f"{file} cannot be written: {error.strerror or error}") from error


def _suspects(folder: Path, points: int) -> set[int]:
    """Return the points that were begun and not ended when the last writer of this folder died."""
    notes = folder / "begun"
    if not notes.exists():
        return set()
    try:
        content = read_small(notes, MOST_NOTES_B + MOST_NOTE_B * points, "list of points that were begun")
    except SimschedError as error:
        raise SweepError(f"{error}; remove it and run again") from error
    found: set[int] = set()
    for number, line in enumerate(BytesIO(content), 1):
        # Where the writer died while it wrote the last line, it had not begun what this names.
        if not line.endswith(b"\n"):
            break
        if (named := _named(line, points)) is None:
            raise SweepError(
                f"{notes}, line {number} is {line[:40]!r}, and not + or - and points below {points}; remove the file "
                "and run again"
            )
        found = found | named if line[:1] == b"+" else found - named
    return found


def _named(line: bytes, points: int) -> set[int] | None:
    """Return the points that a line of `begun` names; None if it is no such line."""
    if not _NOTE.fullmatch(line):
        return None
    named = {int(text) for text in line[1:].split(b",") if text.strip()}
    return named if max(named, default=-1) < points else None


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})
