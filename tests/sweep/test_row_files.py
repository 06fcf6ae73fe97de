"""Files of rows: what is not as it was written, not this sweep's, or more than it, is refused by name."""

import json
import random
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import simsched as ss
from simsched.errors import SweepError
from simsched.sweep import results, rows as row_files
from simsched.sweep.rows import KEY, read_rows, write_rows

OWNER = "0123456789abcdef0123"


def rows(n, **columns):
    return pa.table({"point": list(range(n)), "sweep_id": [OWNER] * n, **columns})


def sweep(graph, seeds=4):
    return ss.Sweep([graph], ["generic[cores=4]"], ["fifo[order=random]"], seeds=range(seeds))


def test_rows_of_all_types_are_read_as_they_were_written(tmp_path):
    table = rows(
        5, a=[1.5, None, float("nan"), -0.0, 5e-324], b=["", None, "\u00e9\0", "b" * 9, "b"], c=[None] * 5,
        d=[True, None, False, True, True], e=[1, -(2**62), None, 0, 7],
    )  # fmt: skip
    write_rows(tmp_path / "file", table, OWNER)
    found = read_rows(tmp_path / "file", OWNER, 5)
    assert found.schema.equals(table.schema)
    assert repr(found.to_pylist()) == repr(table.to_pylist())
    assert read_rows(tmp_path / "file", OWNER, 5, ["point"]).num_columns == 2
    write_rows(tmp_path / "none", table.slice(0, 0), OWNER)
    assert len(read_rows(tmp_path / "none", OWNER, 5)) == 0


def test_pages_have_checksums(tmp_path):
    """Page checksums are Parquet's own: any reader can check them."""
    table = rows(1000, a=[f"name {i}" for i in range(1000)])
    write_rows(tmp_path / "file", table, OWNER)
    raw = bytearray((tmp_path / "file").read_bytes())
    chunk = pq.read_metadata(tmp_path / "file").row_group(0).column(2)
    raw[chunk.dictionary_page_offset + chunk.total_compressed_size // 2] ^= 1
    (tmp_path / "file").write_bytes(raw)
    with pytest.raises(OSError, match="CRC"):
        pq.ParquetFile(tmp_path / "file", page_checksum_verification=True).read()


def test_no_flipped_bit_changes_a_row(graph, tmp_path):
    """Page checksums cover neither headers nor the footer; the digests of columns cover what is read."""
    store = tmp_path / "store"
    sweep(graph).run(store)
    file = store / "results.parquet"
    whole, before = file.read_bytes(), results(store)
    flips, said = random.Random(0).sample(range(8 * len(whole)), 400), []  # noqa: S311 - no secret
    for bit in flips:
        raw = bytearray(whole)
        raw[bit // 8] ^= 1 << bit % 8
        file.write_bytes(raw)
        try:
            assert results(store).equals(before)
        except SweepError as error:
            said.append(str(error))
    assert len(said) > 100
    assert all(str(file) in one for one in said)


def test_another_sweeps_files_are_refused(graph, tmp_path):
    store, other = tmp_path / "store", tmp_path / "other"
    sweep(graph).run(store)
    sweep(graph, 3).run(other)
    shutil.copy(other / "results.parquet", store / "parts" / "000007.parquet")
    for call in (lambda: results(store), lambda: sweep(graph).run(store)):
        with pytest.raises(
            SweepError, match=r"000007\.parquet is of another sweep, [0-9a-f]{20}, .*; remove it"
        ):
            call()
    (store / "parts" / "000007.parquet").unlink()
    shutil.copy(other / "results.parquet", store / "results.parquet")
    with pytest.raises(SweepError, match=r"results\.parquet is of another sweep"):
        results(store)


def test_files_that_state_no_sweep_are_refused(tmp_path):
    pq.write_table(rows(3), tmp_path / "file")
    with pytest.raises(SweepError, match="it states no sweep; remove it, and run"):
        read_rows(tmp_path / "file", OWNER, 3)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (rows(3), "has 3 rows, and the sweep 2 points"),
        (rows(2).set_column(0, "point", pa.array([0, -1])), "has the point -1, and the sweep has 2"),
        (rows(2).set_column(0, "point", pa.array([2, 0])), "has the point 2, and"),
        (rows(2).set_column(1, "sweep_id", pa.array([OWNER, "x"])), "has rows of another sweep"),
        (rows(2).drop_columns(["point"]), "is damaged"),
        (rows(2).set_column(0, "point", pa.array([1.0, None])), "has points that are no numbers"),
    ],
)
def test_points_beyond_the_sweep_and_rows_of_others_are_refused(tmp_path, table, why):
    write_rows(tmp_path / "file", table, OWNER)
    with pytest.raises(SweepError, match=f"file {why}"):
        read_rows(tmp_path / "file", OWNER, 2)


@pytest.mark.parametrize(
    ("n", "most", "why"),
    [(100, 10**9, "has 100 rows, and the sweep 3 points"), (3, 10**4, "has values of .* more than 3 points")],
)
def test_files_larger_than_their_sweep_are_refused_before_they_are_read(tmp_path, monkeypatch, n, most, why):
    """A text that is stored once and repeated for each row counts as often as that."""
    monkeypatch.setattr(row_files, "MOST_B", most)
    monkeypatch.setattr(row_files, "MOST_ROW_B", 0)
    write_rows(tmp_path / "file", rows(n, name=["n" * 6000] * n), OWNER)
    with pytest.raises(SweepError, match=f"file {why}"):
        read_rows(tmp_path / "file", OWNER, 3)


def test_forged_digests_are_no_traceback(tmp_path):
    for value in (
        b"[" * 100_000,
        b"\xff",
        b"{}",
        b'{"sweep_id": 3}',
        json.dumps({"sweep_id": OWNER}).encode(),
    ):
        pq.write_table(rows(2).replace_schema_metadata({KEY: value}), tmp_path / "file")
        with pytest.raises(SweepError, match="file is"):
            read_rows(tmp_path / "file", OWNER, 2)
