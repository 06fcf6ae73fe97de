"""simsched's own format among the registered ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.errors import FormatError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.graph.storage import HEADER
from simsched.traces.taskgraph import TASKGRAPH


def test_recognises_its_files_only(tmp_path: Path) -> None:
    TaskGraph.from_edges([1]).save(tmp_path / "g")
    saved = (tmp_path / "g").read_bytes()
    assert TASKGRAPH.recognises(saved)
    assert TASKGRAPH.recognises(saved[:100])
    for head in (
        b"",
        b"PK",
        b"PK\x03\x04",
        b"PK\x03\x04" + bytes(26) + b"word/document.xml",
        HEADER.encode(),
    ):
        assert not TASKGRAPH.recognises(head)


def test_loads_by_content_and_by_name(tmp_path: Path) -> None:
    TaskGraph.from_edges([1, 2], [(0, 1)], name="mine").save(tmp_path / "any")
    assert repr(load(tmp_path / "any")) == "<TaskGraph 'mine': 2 tasks, 1 edge>"
    assert load(tmp_path / "any", format="taskgraph").n_edges == 1


def test_the_suffix_or_the_format_says_what_is_written(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges([1])
    with pytest.raises(
        FormatError, match=r"any.name: what to write is chosen by suffix, one of .*\.simsched"
    ):
        graph.save(tmp_path / "any.name")
    graph.save(tmp_path / "any.name", format="taskgraph")
    assert load(tmp_path / "any.name").n_tasks == 1
    with pytest.raises(FormatError, match="chrome is written from schedules"):
        graph.save(tmp_path / "any.name", format="chrome")


def test_has_no_options(tmp_path: Path) -> None:
    TaskGraph.from_edges([1]).save(tmp_path / "g")
    with pytest.raises(FormatError, match="format taskgraph has no option 'step'; it has no options"):
        load(tmp_path / "g", step=3)


def test_a_file_cut_off_is_still_recognised(tmp_path: Path) -> None:
    TaskGraph.from_edges([1]).save(tmp_path / "g")
    (tmp_path / "g").write_bytes((tmp_path / "g").read_bytes()[:500])
    with pytest.raises(
        FormatError, match=r"g: not a zip archive .* the file is damaged or was edited; copy it again"
    ):
        load(tmp_path / "g")
