"""Data objects of edges, and seconds by kind of core."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.errors import GraphError
from simsched.graph import DataObjects

EDGES = [(0, 1), (0, 2), (1, 2)]


def test_each_edge_carries_an_object_of_its_own():
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], EDGES, edge_bytes=[3, 4, 5])
    assert graph.data.size_B.tolist() == [3.0, 4.0, 5.0]
    assert graph.data.producer.tolist() == [0, 0, 1]
    assert graph.data.inputs(3).neighbours(2).tolist() == [1, 2]
    assert graph.data.edge_bytes(graph.successors).tolist() == [3.0, 4.0, 5.0]


def test_one_object_is_read_by_several():
    graph = ss.TaskGraph.from_edges([1.0] * 3, EDGES, edge_bytes=[4, 4, 5], edge_objects=[9, 9, 3])
    assert graph.data.n == 2
    assert graph.data.readers.neighbours(1).tolist() == [1, 2]
    assert graph.data.edge_bytes(graph.successors).tolist() == [4.0, 4.0, 5.0]


def test_edges_out_of_order_and_twice():
    """A merged edge carries the objects of all its copies."""
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, iter([(1, 2), (0, 2), (0, 1), (0, 2)]), edge_bytes=[5, 4, 3, 2]
    )
    assert graph.n_edges == 3
    assert graph.data.edge_bytes(graph.successors).tolist() == [3.0, 6.0, 5.0]


def test_unknown_bytes_and_no_edges():
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], edge_bytes=np.nan)
    assert np.isnan(graph.data.size_B).all()
    assert graph.data.edge_bytes(graph.successors).tolist() == [0.0]
    assert ss.TaskGraph.from_edges([1.0], [], edge_bytes=[]).data.n == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edge_bytes": [1, 2]}, r"edge_bytes have shape \(2,\); expected \(3,\)"),
        ({"edge_bytes": [1, -2, 3]}, r"edge 1 carries -2.0 bytes"),
        ({"edge_bytes": [1, np.inf, 3]}, "edge 1 carries inf bytes"),
        ({"edge_bytes": ["a", 1, 2]}, "edge_bytes are not a list of numbers"),
        ({"edge_objects": [1, 2, 3]}, "edge_objects without edge_bytes"),
        ({"edge_bytes": 1, "edge_objects": [1.5, 2, 3]}, "edge_objects are float64"),
        ({"edge_bytes": [1, 2, 3], "edge_objects": [0, 0, 1]}, "one producer and one size"),
        ({"edge_bytes": 1, "edge_objects": [0, 1, 0]}, "one producer and one size"),
    ],
)
def test_wrong_data(options, message):
    with pytest.raises(GraphError, match=message):
        ss.TaskGraph.from_edges([1.0] * 3, EDGES, **options)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"size_B": [1, "a"]}, "object 1 has 'a' bytes; expected a number"),
        (
            {"producer": [0, "a"]},
            r"object 1 is written by 'a'; expected the index of a task, or NOBODY \(-1\)",
        ),
        ({"producer": [0, 2**40]}, "object 1 is written by 1099511627776; expected the index of a task"),
        ({"readers": [[1], 2]}, "object 1 is read by 2; expected a list of indices of tasks"),
        ({"readers": [[1], ["a"]]}, r"object 1 is read by \['a'\]; expected a list of indices of tasks"),
        ({"readers": [[1], [2**80]]}, "object 1 is read by .* indices of tasks"),
        ({"readers": 5}, "readers is 5; expected a list, one entry per object"),
    ],
)
def test_wrong_lists_of_objects(lists, message):
    right = {"size_B": [1, 1], "producer": [0, 0], "readers": [[1], [2]]}
    with pytest.raises(GraphError, match=message):
        DataObjects.from_lists(**{**right, **lists})


def test_seconds_by_kind():
    graph = ss.TaskGraph.from_edges([[14, 16, 9], [13, 19, 18]], [(0, 1)])
    assert graph.durations_s.tolist() == [13.0, 50 / 3]
    assert graph.seconds_by_kind[1].tolist() == [13.0, 19.0, 18.0]
    assert ss.TaskGraph.from_edges([1.0]).seconds_by_kind is None
    bound = ss.TaskGraph.from_edges([[1.0, np.inf, 2.0], [np.inf, 5.0, np.inf]])
    assert bound.durations_s.tolist() == [1.5, 5.0], "means are over the kinds that can run the task"
    for back in (
        ss.TaskGraph.from_frames(*bound.to_frames()),
        ss.TaskGraph.from_networkx(bound.to_networkx()),
    ):
        assert back.seconds_by_kind.tolist() == bound.seconds_by_kind.tolist()
    assert bound.cleaned("scale[factor=2]").seconds_by_kind.tolist() == [[2, np.inf, 4], [np.inf, 10, np.inf]]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ([[1.0, np.nan]], "task 0 has seconds for some kinds"),
        ([[1.0, -1.0]], "task 0 has duration on kind 1 -1.0 seconds"),
        ([[1.0, np.inf], [np.inf, np.inf]], "task 1 has inf seconds on every kind of core"),
        ([[np.nan, np.inf]], "task 0 has seconds for some kinds"),
        ([[1.0], [1.0, 2.0]], "duration column"),
    ],
)
def test_wrong_seconds_by_kind(seconds, message):
    with pytest.raises(GraphError, match=message):
        ss.TaskGraph.from_edges(seconds)
