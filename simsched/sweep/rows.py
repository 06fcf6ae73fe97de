"""Rows of the results, the inputs of a point and its outcome, and their files: Parquet with identity and digests."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.costs import CostModel, Noise
from simsched.errors import SimschedError, SweepError
from simsched.files import replacing
from simsched.machine.stated import varied_spec
from simsched.policy.names import names_in_table
from simsched.spec import Scalar, format_scalar
from simsched.sweep.description import graph_id, identity
from simsched.sweep.replaying import MACHINE_PREFIX, POLICY_PREFIX, Outcome, Point, with_parameters
from simsched.text import one_line
from simsched.version import version

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from simsched.sweep.sweep import Sweep

#: Key of a file's own metadata.
KEY = b"simsched-rows"
#: Most bytes of a file's values, in general and per point: names, specs and messages are shorter.
MOST_B, MOST_ROW_B = 1_000_000_000, 20_000
#: Columns that are checked whatever is read.
CHECKED = ("point", "sweep_id")


def write_rows(file: Path, table: pa.Table, sweep_id: str) -> None:
    """Write rows of a sweep; the file appears when it is complete and on the disk.

    Raises
    ------
    SweepError
        If it cannot be written.
    """
    import pyarrow.parquet as pq

    sealed = {"sweep_id": sweep_id, "rows": len(table), "columns": _digests(table)}
    table = table.replace_schema_metadata({KEY: json.dumps(sealed)})
    try:
        with replacing(file, durable=True) as stream:
            pq.write_table(table, stream, write_page_checksum=True)
    except SimschedError as error:
        raise SweepError(str(error)) from error


def read_rows(file: Path, sweep_id: str, points: int, columns: Sequence[str] | None = None) -> pa.Table:
    """Read rows of a sweep, and check that they are its own and as they were written.

    Parameters
    ----------
    file : Path
    sweep_id : str
        Identity of the sweep.
    points : int
        Its points.
    columns : sequence of str, optional
        Names of the columns to read; all when not given.

    Raises
    ------
    SweepError
        If the file is damaged, another sweep's, or larger than the sweep; it is not read then.
    FileNotFoundError
        If it is gone.
    """
    import pyarrow.parquet as pq

    with _damage(file):
        if not S_ISREG(file.stat().st_mode):
            raise _refused(file, "is no regular file")
        metadata = pq.read_metadata(file)
        sealed = _seal(file, metadata.metadata, sweep_id)
        if not 0 <= metadata.num_rows <= points:
            raise _refused(file, f"has {metadata.num_rows} rows, and the sweep {points} points")
        groups = range(metadata.num_row_groups)
        _check_size(file, sum(metadata.row_group(group).total_byte_size for group in groups), points)
        names = (
            sorted({*CHECKED, *columns}) if columns is not None else metadata.schema.to_arrow_schema().names
        )
        table = _read(file, names, points)
        _check_values(file, table, sealed, whole=columns is None)
        _check_points(file, table, sweep_id, points)
    return table.replace_schema_metadata(None)


def _refused(file: Path, why: str) -> SweepError:
    return SweepError(f"{file} {why}; remove it, and run() does its points again")


@contextmanager
def _damage(file: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    # Of a damaged file, pyarrow raises what Python happens to raise of the damaged value.
    except (
        OSError,
        pa.ArrowException,
        ValueError,
        LookupError,
        TypeError,
        MemoryError,
        OverflowError,
    ) as error:
        raise _refused(file, f"is damaged: {one_line(str(error)) or type(error).__name__}") from error


def _seal(file: Path, metadata: dict[bytes, bytes] | None, sweep_id: str) -> dict[str, Any]:
    try:
        sealed = json.loads((metadata or {})[KEY])
        owner = sealed["sweep_id"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _refused(file, "is damaged, or not a sweep's: it states no sweep") from None
    if owner != sweep_id:
        raise _refused(
            file, f"is of another sweep, {one_line(str(owner), 40)}, and this store is of {sweep_id}"
        )
    return dict(sealed)


def _check_size(file: Path, size_B: int, points: int) -> None:
    if not 0 <= size_B <= MOST_B + MOST_ROW_B * points:
        raise _refused(
            file, f"has values of {size_B / 1e9:.3g} GB, more than {points} points of a sweep have"
        )


def _read(file: Path, names: Sequence[str], points: int) -> pa.Table:
    """Read columns, text as the distinct values that are in the file: they are counted before they are repeated."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(file, page_checksum_verification=True, read_dictionary=list(names)) as opened:
        table = opened.read(list(names))
    texts = [name for name in names if pa.types.is_dictionary(table.schema.field(name).type)]
    _check_size(file, sum(_expanded_B(chunk) for name in texts for chunk in table[name].chunks), points)
    for name in texts:
        table = table.set_column(table.column_names.index(name), name, table[name].cast(pa.string()))
    return table


def _expanded_B(chunk: pa.DictionaryArray) -> int:
    import pyarrow.compute as pc

    lengths = pc.binary_length(chunk.dictionary.cast("string"))
    return pc.sum(lengths.take(chunk.indices).cast("int64")).as_py() or 0


def _check_values(file: Path, table: pa.Table, sealed: dict[str, Any], *, whole: bool) -> None:
    digests = sealed.get("columns")
    if not isinstance(digests, dict) or (whole and set(digests) != set(table.column_names)):
        raise _refused(file, "is damaged: its columns are not those that were written")
    changed = [name for name, value in _digests(table).items() if digests.get(name) != value]
    if changed or sealed.get("rows") != len(table):
        raise _refused(
            file, f"is damaged: {one_line(', '.join(changed) or 'rows')} differ from what was written"
        )


def _check_points(file: Path, table: pa.Table, sweep_id: str, points: int) -> None:
    numbers, owners = table["point"].to_numpy(), set(table["sweep_id"].unique().to_pylist())
    if owners - {sweep_id}:
        raise _refused(file, "has rows of another sweep")
    if len(numbers) and numbers.dtype != np.int64:
        raise _refused(file, "has points that are no numbers")
    beyond = numbers[(numbers < 0) | (numbers >= points)]
    if len(beyond):
        raise _refused(file, f"has the point {beyond[0]}, and the sweep has {points}, from 0")


def _digests(table: pa.Table) -> dict[str, str]:
    """Return a digest of the values of each column, however they are cut into chunks."""
    return {name: _digest(table[name]) for name in table.column_names}


def _digest(column: pa.ChunkedArray) -> str:
    seen = [blake2b(str(column.type).encode(), digest_size=8) for _ in range(3)]
    for chunk in column.chunks:
        for one, values in zip(seen, _values(chunk), strict=False):
            one.update(np.ascontiguousarray(values).data)
    return "".join(one.hexdigest() for one in seen)


def _values(chunk: pa.Array) -> Iterator[np.ndarray[Any, Any]]:
    """Yield where values are missing, and values: of text its lengths and all characters."""
    import pyarrow as pa
    import pyarrow.compute as pc

    yield chunk.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_null(chunk.type):
        return
    if not pa.types.is_string(chunk.type):
        yield chunk.fill_null(False if pa.types.is_boolean(chunk.type) else 0).to_numpy(zero_copy_only=False)
        return
    filled = chunk.fill_null("")
    yield pc.binary_length(filled).to_numpy(zero_copy_only=False)
    _, ends, characters = filled.buffers()
    if characters is not None:
        ends = np.frombuffer(ends, np.int32)[filled.offset : filled.offset + len(filled) + 1]
        yield np.frombuffer(characters, np.uint8)[ends[0] : ends[-1]]


#: Columns that exist even if every point failed.
ALWAYS = ("layout_used", "engine_used", "makespan_s", "error")
#: Last columns, in this order.
LAST = ("error", "replay_s", "sweep_id", "simsched", "numpy", "python")
#: Columns of text that may hold nothing at all.
TEXTS = ("layout", "layout_used", "engine_used", "error")


class Rows:
    """Maker of rows of a sweep.

    Parameters
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._graphs = [(graph.name, graph_id(graph)) for graph in sweep.axis("graph").listed]
        policies = sweep.axis("policy").listed
        # Taken now: the name of a policy that keeps something may change with a replay.
        self._policies = [*zip(policies, map(str, policies), names_in_table(policies), strict=True)]
        self.last = {
            "sweep_id": identity(sweep),
            "simsched": version(),
            "numpy": np.__version__,
            "python": platform.python_version(),
        }

    def row(self, outcome: Outcome) -> dict[str, Any]:
        """Return the row of a point: its inputs, its outcome, versions."""
        inputs = self.inputs(self._sweep.point(outcome["point"]))
        return {**inputs, **dict.fromkeys(ALWAYS), **outcome, **self.last}

    def inputs(self, point: Point) -> dict[str, Any]:
        """Return the inputs of a point, one value per column."""
        sweep = self._sweep
        name, identifier = self._graphs[point.graph]
        machine, scaling = sweep.axis("machine").at(point.machine), sweep.axis("scaling").at(point.scaling)
        varied, chosen = dict(point.machine_parameters), dict(point.policy_parameters)
        return {
            "point": point.number,
            "graph": name,
            "graph_id": identifier,
            "machine": str(varied_spec(machine, varied)) if varied else machine.spec,
            **{
                f"{MACHINE_PREFIX}{key}": self._column(f"{MACHINE_PREFIX}{key}", varied[key])
                for key in varied
            },
            "policy": self._policy(point),
            **{
                f"{POLICY_PREFIX}{key}": self._column(f"{POLICY_PREFIX}{key}", chosen.get(key))
                for key in sweep.policy_parameters
            },
            "layout": None if point.layout is None else str(point.layout),
            # One column has one type.
            "scaling": json.dumps(scaling, sort_keys=True)
            if isinstance(scaling, Mapping)
            else f"{scaling:.17g}",
            "noise": _told((sweep.costs or CostModel()).noise if point.noise is None else point.noise),
            "seed": point.seed,
            "engine": sweep.engine,
        }

    def _column(self, name: str, value: Scalar | None) -> Scalar | None:
        """Return a parameter's value for its column: as text, where the column holds several types."""
        values = self._sweep.axis(name).values
        kinds = (
            {float if type(one) is int else type(one) for one in values} if isinstance(values, tuple) else ()
        )
        return format_scalar(value) if len(kinds) > 1 and value is not None else value

    def _policy(self, point: Point) -> str:
        base, spec, name = self._policies[point.policy]
        try:
            varied = with_parameters(base, dict(point.policy_parameters))
        except SimschedError:
            # An impossible parameter is the error of the row, and has its own column.
            return name
        return name if varied is base else f"{varied}{name[len(spec) :]}"


def _told(noise: float | str | Noise) -> float | str:
    return str(noise) if isinstance(noise, str | Noise) else float(noise)


def number_of(sweep: Sweep, row: int | Mapping[str, Any] | pd.Series[Any]) -> int:
    """Return the number of the point of a row.

    Raises
    ------
    SweepError
        If the row is none of this sweep.
    """
    if isinstance(row, int | np.integer):
        return int(row)
    if "point" not in row or "sweep_id" not in row:
        raise SweepError("this is not a row of a sweep: it has no 'point' and no 'sweep_id'")
    if row["sweep_id"] != (here := identity(sweep)):
        raise SweepError(
            f"the row is of sweep {row['sweep_id']}, this is sweep {here}: make the Sweep as it was, its policies too"
        )
    return int(row["point"])
