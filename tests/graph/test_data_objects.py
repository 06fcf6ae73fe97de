"""Data objects given to a graph, and on their way through tables, networkx and files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import NOBODY, DataObjects, TaskGraph, with_data
from simsched.graph.adjacency import Csr
from simsched.graph.data_checks import with_reads
from simsched.graph.storage import digest

Same = Callable[[TaskGraph, TaskGraph], None]

#: An input read twice, an object for each of two edges, one for both, and an output.
OBJECTS = ([4e6, 10.0, 20.0, np.nan, 7.0], [NOBODY, 0, 0, 0, 2], [[0, 2], [1], [2], [1, 2], []])


def diamond() -> TaskGraph:
    """Return three tasks: the first before both others, the second before the third."""
    return TaskGraph.from_edges([[1.0, 2.0], [3.0, 5.0], [np.nan] * 2], [(0, 1), (0, 2), (1, 2)])


def full() -> TaskGraph:
    """Return that with inputs and outputs, too."""
    return with_data(diamond(), DataObjects.from_lists(*OBJECTS))


def test_inputs_and_outputs() -> None:
    data = full().data
    assert data is not None
    assert data.inputs(3).neighbours(2).tolist() == [0, 2, 3]
    assert data.edge_bytes(diamond().successors).tolist() == [10.0, 20.0, 0.0]
    assert with_data(full(), None).data is None


def test_summary_and_card() -> None:
    assert (full().summary()["data_objects"], full().summary()["data_B"]) == (5, 4_000_037.0)
    assert "data_objects" in full()._repr_html_()
    assert "data_objects" not in diamond().summary()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([-1.0], [0], [[1]]), r"object 0 has -1.0 bytes; it must be zero or more"),
        (([np.inf], [0], [[1]]), "object 0 has inf bytes"),
        (([1.0], [3], [[1]]), "producer 3 of an object is no task; tasks are 0 to 2"),
        (([1.0], [-2], [[1]]), "producer -2 of an object is no task"),
        (([1.0], [0], [[3]]), "reader 3 of an object is no task; tasks are 0 to 2"),
        (
            ([1.0, 2.0], [0], [[1], [2]]),
            r"producers are int32 of shape \(1,\); expected whole numbers of shape \(2,\)",
        ),
        (([1.0], [0], [[1], [2]]), "starts of readers are int64 of shape"),
        (([1.0], [2], [[1]]), "object 0 of task 2 is read by task 1, which is no successor of it"),
        (([1.0], [1], [[1]]), "object 0 of task 1 is read by task 1, which is no successor"),
    ],
)
def test_wrong_objects(given: tuple[list[float], list[int], list[list[int]]], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        with_data(diamond(), DataObjects.from_lists(*given))


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 2], [2, 1], r"readers of object 0 do not ascend: \[2, 1\]"),
        ([0, 2], [1, 1], "do not ascend"),
        ([0, 1], [1, 2], "do not run from 0 to 2"),
        ([0, 1], [0.5], "readers are float64"),
    ],
)
def test_wrong_readers(indptr: list[int], indices: list[int], message: str) -> None:
    data = DataObjects(np.ones(1), np.zeros(1, np.int32), Csr(np.array(indptr), np.array(indices)))
    with pytest.raises(GraphError, match=message):
        with_data(diamond(), data)


def test_reads_along_no_edge_are_left_out() -> None:
    graph = with_reads(diamond(), [1.0, 2.0, 3.0], [2, 0, -1], [0, 1, 1, 2, 2], [1, 2, 2, 0, 0])
    assert graph.data is not None
    assert [graph.data.readers.neighbours(i).tolist() for i in range(3)] == [[], [2], [0]]
    assert with_reads(diamond(), [], [], [], []).data is None


def test_edges_without_an_object() -> None:
    graph = TaskGraph.from_edges(
        [1.0] * 3, [(1, 2), (0, 1), (0, 1), (0, 1)], edge_bytes=[9, 5, 5, 6], edge_objects=[-1, 4, 4, 7]
    )
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [5.0, 6.0]
    assert graph.report.notes == ["1 duplicate edge was merged"]


def test_storage(tmp_path: Path, assert_same: Same) -> None:
    full().save(tmp_path / "full.simsched")
    assert_same(ss.load(tmp_path / "full.simsched"), full())
    assert (
        digest(full())
        != digest(diamond())
        != digest(TaskGraph.from_edges([1.5, 4, np.nan], [(0, 1), (0, 2), (1, 2)]))
    )


@pytest.mark.parametrize(
    ("member", "array", "message"),
    [
        ("object_producer", np.array([NOBODY, 0, 0, 0, 3], np.int32), "producer 3 of an object"),
        ("object_size_B", np.array([-1.0] * 5), "object 0 has -1.0 bytes"),
        ("object_readers", np.zeros(3, np.int32), "do not run from 0 to 3"),
        ("seconds_by_kind", np.ones(6), "durations_s are not their means"),
        ("seconds_by_kind", np.ones(5), "has 5 entries, expected 6"),
    ],
)
def test_damaged_storage(member: str, array: np.ndarray, message: str, tmp_path: Path) -> None:
    full().save(tmp_path / "g.simsched")
    with zipfile.ZipFile(tmp_path / "g.simsched") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    written = io.BytesIO()
    np.lib.format.write_array(written, array, version=(1, 0))
    members[f"{member}.npy"] = written.getvalue()
    with zipfile.ZipFile(tmp_path / "g.simsched", "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(FormatError, match=message):
        ss.load(tmp_path / "g.simsched")


def test_frames(assert_columns: Same) -> None:
    tasks, edges = full().to_frames()
    assert tasks["duration_kind1_s"].tolist()[:2] == [2.0, 5.0]
    assert edges.fillna(0.0).values.tolist() == [
        [0, 1, 10, 1],
        [0, 1, 0, 3],
        [0, 2, 20, 2],
        [0, 2, 0, 3],
        [1, 2, 0, -1],
    ]
    again = TaskGraph.from_frames(tasks, edges)
    assert again.report.notes == []
    assert_columns(
        again,
        with_data(
            diamond(), DataObjects.from_lists([10, 20, np.nan, 7], [0, 0, 0, 2], [[1], [2], [1, 2], []])
        ),
    )


def test_frames_with_labels_and_means() -> None:
    tasks = pd.DataFrame({"duration_kind0_s": [1.0, 2.0], "duration_kind1_s": [3.0, 4.0]})
    edges = pd.DataFrame({"before": [0], "after": [1], "bytes_B": [8], "object": ["x"], "colour": ["red"]})
    graph = TaskGraph.from_frames(tasks, edges)
    assert graph.durations_s.tolist() == [2.0, 3.0]
    assert graph.data is not None
    assert graph.data.size_B.tolist() == [8.0]
    assert graph.report.notes == ["not kept, as edges of task graphs have no such columns: colour"]


@pytest.mark.parametrize(
    ("tasks", "edges", "message"),
    [
        (
            {"duration_kind0_s": [1.0], "duration_kind2_s": [1.0]},
            {},
            "no 'duration_kind1_s'; give the seconds",
        ),
        (
            {"duration_kind0_s": [1.0], "duration_s": [2.0]},
            {},
            "task 0 has duration_s 2, but .* mean 1; leave",
        ),
        ({"duration_s": [1.0]}, {"object": [1]}, "a column 'object' and no 'bytes_B'"),
        ({"duration_s": [1.0]}, {"bytes_B": ["x"]}, "column 'bytes_B' holds"),
    ],
)
def test_wrong_frames(tasks: dict[str, list[float]], edges: dict[str, list[object]], message: str) -> None:
    n = len(next(iter(edges.values()), []))
    with pytest.raises(GraphError, match=message):
        TaskGraph.from_frames(
            pd.DataFrame(tasks), pd.DataFrame({"before": [0] * n, "after": [0] * n} | edges)
        )


def test_networkx(assert_columns: Same) -> None:
    graph = full().to_networkx()
    assert graph.nodes[1]["duration_s"] == [3.0, 5.0]
    assert graph.edges[0, 2]["object"] == [2, 3]
    assert graph.edges[1, 2] == {}
    assert_columns(TaskGraph.from_networkx(graph), TaskGraph.from_frames(*full().to_frames()))


def test_networkx_by_hand() -> None:
    given: nx.DiGraph[object] = nx.DiGraph()
    given.add_node("a", duration_s=[1.0, 2.0])
    given.add_node("b", duration_s=3.0)
    given.add_edge("a", "b", bytes_B=5.0, weight=1)
    given.add_edge("a", "c", object="x")
    graph = TaskGraph.from_networkx(given)
    assert graph.durations_s[:2].tolist() == [1.5, 3.0]
    assert graph.data is not None
    np.testing.assert_array_equal(graph.data.size_B, [np.nan, 5.0])
    assert graph.report.notes == ["not kept, as edges of task graphs have no such columns: weight"]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"bytes_B": "many"}, "edge_bytes are not a list of numbers"),
        ({"bytes_B": -1.0}, "edge 0 carries -1.0 bytes"),
        ({"bytes_B": [1.0, 2.0], "object": [1]}, "has 2 bytes_B for 1 objects"),
    ],
)
def test_wrong_networkx(attributes: dict[str, object], message: str) -> None:
    given: nx.DiGraph[object] = nx.DiGraph()
    given.add_edge(0, 1, **attributes)
    with pytest.raises(GraphError, match=message):
        TaskGraph.from_networkx(given)


def test_networkx_with_other_kinds_of_cores() -> None:
    given: nx.DiGraph[object] = nx.DiGraph()
    given.add_node(0, duration_s=[1.0])
    given.add_node(1, duration_s=[1.0, 2.0])
    with pytest.raises(GraphError, match="nodes have seconds for 1 and 2 kinds of cores"):
        TaskGraph.from_networkx(given)
