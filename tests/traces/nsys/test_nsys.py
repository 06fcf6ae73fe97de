"""SQLite exports of Nsight Systems, by hand: launches, waits, NVTX ranges; databases that nobody vouches for."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

#: Made by the published schema: a copy, three kernels on two streams, and a wait for one of them.
SMALL = Path(__file__).parents[1] / "seeds" / "nsys" / "small" / "main.sqlite"
PROCESS, THREAD = 5 << 24, (5 << 24) | 6


def intervals(graph: TaskGraph) -> list[tuple[str, str, str, int, int]]:
    run = graph.recording
    assert run is not None
    return [
        (
            graph.kinds[i].partition("_v")[0].removeprefix("device::"),
            graph.scopes[i],
            run.lane_names[run.lanes[i]],
            *times,
        )
        for i, times in enumerate(
            zip((run.start_s * 1e9).round().tolist(), (run.finish_s * 1e9).round().tolist(), strict=True)
        )
    ]


def edges(graph: TaskGraph) -> set[tuple[int, int]]:
    return set(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))


def test_launches_waits_and_ranges() -> None:
    graph = ss.load(SMALL)
    assert intervals(graph) == [
        ("cudaMemcpyAsync", "step 1", "main 6", 0, 400),
        ("Memcpy HtoD", "step 1", "device 0 stream 7", 500, 900),
        ("cudaLaunchKernel", "layer", "main 6", 1000, 1300),  # cut where its kernel starts
        ("gemm", "layer", "device 0 stream 7", 1300, 4000),
        ("cudaLaunchKernel", "step 1", "main 6", 1600, 1900),
        ("cudaLaunchKernel", "step 1", "main 6", 2000, 2300),
        ("relu", "step 1", "device 0 stream 8", 2500, 3200),
        ("relu", "step 1", "device 0 stream 7", 4100, 4600),
        ("cudaStreamSynchronize", "step 1", "main 6", 4600, 4700),  # without what it waited
    ]
    chains = {(0, 2), (2, 4), (4, 5), (5, 8), (1, 3), (3, 7)}
    assert edges(graph) == chains | {(0, 1), (2, 3), (4, 7), (5, 6)} | {(7, 8)}
    assert graph.bytes_B[1] == 4096
    facts = graph.report.facts
    assert (facts["launches"], facts["waits"], facts["early_starts"]) == (4, 1, 0)
    assert facts["cut_out_of_calls_s"] == pytest.approx(2400e-9)


def test_calls() -> None:
    assert ss.load(SMALL, calls="all").n_tasks == 10
    alone = ss.load(SMALL, calls="none")
    assert (alone.n_tasks, edges(alone)) == (4, {(0, 1), (1, 3)})
    assert "no calls of the host" in alone.report.doubts[0]


SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES (1, 'k'), (2, 'cudaLaunchKernel'), (3, 'cudaDeviceSynchronize'), (4, 'cudaMemcpy');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, shortName);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);
"""


def made(tmp_path: Path, *statements: str, kernels: str = "") -> Path:
    path = tmp_path / "run.sqlite"
    rows = [insert("KERNEL", row) for row in kernels.split(";") if row]
    with sqlite3.connect(path) as base:
        base.executescript(SCHEMA + ";".join([*rows, *statements]))
    base.close()
    return path


def insert(table: str, values: str) -> str:
    return f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} VALUES ({values})"  # noqa: S608 - our own values


def call(start: int, end: int, correlation: int, name: int) -> str:
    return insert("RUNTIME", f"{start}, {end}, {THREAD}, {correlation}, {name}")


def test_a_device_is_waited_for_on_all_streams(tmp_path: Path) -> None:
    kernels = f"20, 30, 0, 7, 1, {PROCESS}, 1; 25, 60, 0, 8, 2, {PROCESS}, 1"
    graph = ss.load(
        made(tmp_path, call(10, 15, 1, 2), call(16, 18, 2, 2), call(40, 70, 3, 3), kernels=kernels)
    )
    assert [row[3:] for row in intervals(graph)] == [(0, 5), (6, 8), (10, 20), (15, 50), (50, 60)]
    assert {(2, 4), (3, 4)} <= edges(graph)


def test_a_copy_that_blocks(tmp_path: Path) -> None:
    copy = insert("MEMCPY", f"20, 30, 0, 7, 1, {PROCESS}, 64, 2")
    graph = ss.load(made(tmp_path, call(10, 35, 1, 4), copy))
    assert [row[0] for row in intervals(graph)] == ["Memcpy DtoH", "cudaMemcpy"]
    assert ([row[3:] for row in intervals(graph)], edges(graph)) == ([(0, 10), (10, 15)], {(0, 1)})


def test_processes_have_lanes_of_their_own(tmp_path: Path) -> None:
    kernels = f"20, 30, 0, 7, 1, {PROCESS}, 1; 25, 60, 0, 7, 1, {9 << 24}, 1"
    graph = ss.load(made(tmp_path, kernels=kernels))
    assert [row[2] for row in intervals(graph)] == [
        "process 5: device 0 stream 7",
        "process 9: device 0 stream 7",
    ]


def test_times_that_were_not_taken_are_counted(tmp_path: Path) -> None:
    """CUPTI gives 0 for both; a run may start at 0."""
    kernels = "0, 0, 0, 7, 1, NULL, 1; 0, 20, 0, 7, 1, NULL, 76; 25, 60, 0, 7, 1, NULL, 77"
    graph = ss.load(made(tmp_path, kernels=kernels))
    assert graph.report.facts["dropped, rows of CUPTI_ACTIVITY_KIND_KERNEL without times"] == 1
    assert "left out: 1 activity without times" in graph.report.doubts
    assert graph.kinds.to_list() == ["device::name 76", "device::name 77"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE VIEW v AS SELECT 1", "'v' is a view that runs code when it is read; refused"),
        (
            "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM StringIds; END",
            "'t' is a trigger that runs code",
        ),
        ("CREATE VIRTUAL TABLE f USING fts5(x)", "'f' is a table that runs code"),
        ("CREATE TABLE g (a INTEGER, b AS (a + 1))", "table 'g' has columns that are computed; refused"),
        (
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 7, 1, 0, 'x')",
            "shortName is b'x' near row 0",
        ),
        ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2.5, 0, 7, 1, 0, 1)", "end is 2.5 near row 0"),
        ("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 9999999, 7, 1, 0, 1)", "deviceId is 9999999"),
        ("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "no CUDA activity in it"),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN end",
            "table CUPTI_ACTIVITY_KIND_KERNEL has no column end",
        ),
        (
            "INSERT INTO StringIds VALUES (9, zeroblob(100000))",
            "no CUDA activity",
        ),
    ],
)
def test_refused(tmp_path: Path, statement: str, message: str) -> None:
    path = made(tmp_path, statement)
    before = path.read_bytes()
    with pytest.raises(FormatError, match=message):
        ss.load(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run.sqlite"]


def test_another_database_and_an_option(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="not a database that SQLite can read"):
        ss.load(b"SQLite format 3\0" + bytes(2000))
    with pytest.raises(FormatError, match="calls is 'some'; expected one of launches, all, none"):
        ss.load(SMALL, calls="some")


def test_a_name_that_is_an_address(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=rwc#%41.sqlite"
    path.write_bytes(SMALL.read_bytes())
    assert ss.load(path).n_tasks == 9
