"""What is saved is read again bit by bit, by simsched and, the arrays, by NumPy."""

from __future__ import annotations

import gzip
import importlib.metadata
import os
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import simsched
from simsched.errors import FormatError
from simsched.graph import ImportReport, RecordedOn, Recording, TaskGraph
from simsched.graph.archive import Archive
from simsched.graph.storage import HEADER, read, save
from simsched.notes import weight_of
from simsched.testing.strategies import graphs
from simsched.version import version

Same = Callable[[TaskGraph, TaskGraph], None]


def rich() -> TaskGraph:
    """Return a graph that has something everywhere."""
    return TaskGraph.from_edges(
        [0.1, np.nan, 1 / 3], [(2, 0), (1, 0)], names=["ä", "", "b\ud800"], kinds=["k", "", "k"],
        shapes=["2x3;()", "", "5"], scopes=["a/b", "a", ""], flops=[1e300, np.nan, -0.0], bytes_B=[5e-324, 1, 2],
        widths=[1, 2, 68], name="grüße",
        recorded_on=RecordedOn("a processor", 1e10, None, 2e9),
        report=ImportReport("a file", "a format", {"share": 0.1, "what": "text", "many": 7}, ["a note"]),
        recording=Recording([0.0, 0.5, 0.25], [1, 2, 0.75], [1, 0, 1], ("main", "wörker")),
    )  # fmt: skip


def test_everything_comes_back(tmp_path: Path, assert_same: Same) -> None:
    rich().save(tmp_path / "rich.simsched")
    assert_same(read(tmp_path / "rich.simsched"), rich())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graphs())
def test_any_graph_comes_back(tmp_path: Path, assert_same: Same, graph: TaskGraph) -> None:
    save(graph, str(tmp_path / "any.simsched"))
    assert_same(read(tmp_path / "any.simsched"), graph)


def test_a_read_graph_saves_to_the_same_bytes(tmp_path: Path) -> None:
    rich().save(tmp_path / "one")
    read(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_load_finds_the_format(tmp_path: Path, assert_same: Same) -> None:
    rich().save(tmp_path / "rich.simsched")
    assert_same(simsched.load(tmp_path / "rich.simsched"), rich())
    packed = tmp_path / "packed.simsched.gz"
    packed.write_bytes(gzip.compress((tmp_path / "rich.simsched").read_bytes()))
    assert_same(simsched.load(tmp_path / "packed.simsched"), rich())


def test_numpy_reads_the_arrays(tmp_path: Path) -> None:
    graph = rich()
    graph.save(tmp_path / "rich.simsched")
    with np.load(tmp_path / "rich.simsched", allow_pickle=False) as arrays:
        assert arrays["indices"].tolist() == graph.successors.indices.tolist()
        assert arrays["durations_s"].tobytes() == graph.durations_s.tobytes()


def test_the_version_that_wrote_a_file_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    installed = simsched.__version__
    rich().save(tmp_path / "installed")
    monkeypatch.setattr(importlib.metadata, "version", absent)
    monkeypatch.setattr("simsched.graph.storage.version", version.__wrapped__)
    rich().save(tmp_path / "not_installed")
    found = [Archive(tmp_path / name).header(HEADER)["simsched"] for name in ("installed", "not_installed")]
    assert found == [installed, "unknown"]


def test_odd_facts_become_text(tmp_path: Path) -> None:
    report = ImportReport("s", "f", {"numpy": np.float64(0.1), "path": Path("a"), "half": "\ud800"}, [])
    TaskGraph.from_edges([1], report=report).save(tmp_path / "g")
    facts = read(tmp_path / "g").report.facts
    assert facts == {"numpy": 0.1, "path": "a", "half": "\\ud800", "tasks": 1, "edges": 0}


def test_an_existing_file_survives_a_failed_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "g.simsched"
    rich().save(target)
    before = target.read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", _no_space)
    with pytest.raises(FormatError, match="cannot be written: No space left"):
        TaskGraph.from_edges([1]).save(target)
    assert target.read_bytes() == before
    assert list(tmp_path.iterdir()) == [target]


def _no_space(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    rich().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert read(tmp_path / "real").n_tasks == 3


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    rich().save(pipe)
    reader.join(10)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
    (tmp_path / "g").write_bytes(received[0])
    assert read(tmp_path / "g").n_tasks == 3


def test_a_name_that_is_too_long(tmp_path: Path) -> None:
    for length in (256, 300):
        with pytest.raises(FormatError, match="cannot be written: File name too long"):
            rich().save(tmp_path / ("n" * length))


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"there is no folder .*none; create it first"):
        rich().save(tmp_path / "none" / "g.simsched")
    with pytest.raises(FormatError, match="no such file"):
        read(tmp_path / "none")


def test_doubts_are_still_doubts(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges([1.0])
    graph.report.note("one was merged")
    graph.report.doubt("no dependencies")
    save(graph, tmp_path / "g.simsched")
    notes = read(tmp_path / "g.simsched").report.notes
    assert [(note, weight_of(note).name) for note in notes] == [
        ("one was merged", "FACT"),
        ("no dependencies", "DOUBT"),
    ]
