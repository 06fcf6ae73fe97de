"""To pandas and networkx and back, exactly; and what these must not hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from simsched.errors import CostError, GraphError
from simsched.graph import TaskGraph
from simsched.graph.storage import digest
from simsched.replay import simulate
from simsched.testing.strategies import graphs

Same = Callable[[TaskGraph, TaskGraph], None]


def rich(names: list[str] | None) -> TaskGraph:
    """Return a graph that has something in every column."""
    return TaskGraph.from_edges(
        [0.1, np.nan, 1 / 3], [(2, 0), (1, 0)], names=names, kinds=["MatMul", "", "add"], shapes=["2x3", "()", ""],
        scopes=["a/b", "a", ""], flops=[1e9, np.nan, 0.0], bytes_B=[np.nan, 1, 2], widths=[1, 2, 68],
    )  # fmt: skip


@pytest.mark.parametrize("names", [None, ["x", "", "x"], ["ä", "a\ud800", "'"]])
def test_a_rich_graph_comes_back(names: list[str] | None, assert_columns: Same) -> None:
    graph = rich(names)
    assert_columns(TaskGraph.from_frames(*graph.to_frames()), graph)
    assert_columns(TaskGraph.from_networkx(graph.to_networkx()), graph)


@given(graphs())
def test_any_graph_comes_back(assert_columns: Same, graph: TaskGraph) -> None:
    assert_columns(TaskGraph.from_frames(*graph.to_frames()), graph)
    assert_columns(TaskGraph.from_networkx(graph.to_networkx()), graph)


def test_a_graph_of_no_tasks_comes_back_to_the_bit() -> None:
    empty = TaskGraph.from_edges([])
    assert empty.summary()["kinds"] == 0
    assert digest(TaskGraph.from_networkx(empty.to_networkx())) == digest(empty)
    assert digest(TaskGraph.from_frames(*empty.to_frames())) == digest(empty)


def test_frames_by_label() -> None:
    tasks = pd.DataFrame({"task": ["b", "a"], "duration_s": [1, pd.NA], "kind": ["k", None]})
    edges = pd.DataFrame({"before": ["a"], "after": ["b"]})
    graph = TaskGraph.from_frames(tasks, edges, name="labelled")
    assert (graph.name, graph.kinds.to_list()) == ("labelled", ["k", ""])
    assert graph.topological_order.tolist() == [1, 0]
    assert np.isnan(graph.durations_s[1])


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        (pd.DataFrame({"task": ["split", "left"], "duration_s": 1.0}), ["split", "left"]),
        (pd.DataFrame({"duration_s": [1.0, 2.0]}, index=["split", "left"]), ["split", "left"]),
        (pd.DataFrame({"task": [7, 3], "duration_s": 1.0}), ["7", "3"]),
        (pd.DataFrame({"task": ["a", "b"], "name": ["x", None], "duration_s": 1.0}), ["x", ""]),
        (pd.DataFrame({"duration_s": [1.0, 2.0]}), None),
    ],
)
def test_labels_of_frames_are_names(tasks: pd.DataFrame, names: list[str] | None) -> None:
    graph = TaskGraph.from_frames(tasks, pd.DataFrame({"before": [], "after": []}))
    assert (graph.names and graph.names.to_list()) == names


def test_an_index_of_levels_labels_tasks() -> None:
    """As `frame.set_index([...])` and `groupby` leave it."""
    grid = pd.MultiIndex.from_tuples([(0, 0), (0, 1), (1, 0)], names=["row", "column"])
    edges = pd.DataFrame({"before": [(0, 0), (0, 0)], "after": [(0, 1), (1, 0)]})
    graph = TaskGraph.from_frames(pd.DataFrame({"duration_s": 1.0}, index=grid), edges)
    assert graph.names is not None
    assert graph.names.to_list() == ["(0, 0)", "(0, 1)", "(1, 0)"]
    assert graph.successors.neighbours(0).tolist() == [1, 2]


def test_columns_that_are_not_kept_are_told() -> None:
    graph = TaskGraph.from_frames(
        pd.DataFrame({"duration_s": [1.0], "colour": ["red"]}), rich(None).to_frames()[1][:0]
    )
    assert graph.report.notes == ["not kept, as task graphs have no such columns: colour"]


@pytest.mark.parametrize(
    ("tasks", "edges", "message"),
    [
        ({"d": [1]}, {}, "the table of tasks has no column 'duration_s'; its columns are 'd'"),
        (
            {"duration_s": [1]},
            {"before": [0]},
            "the table of edges has no column 'after'; its columns are 'before'",
        ),
        ({"duration_s": [1, 2], "task": [7, 7]}, {"before": [], "after": []}, "two tasks are labelled 7"),
        (
            {"duration_s": [1, 2]},
            {"before": [0], "after": [9]},
            "edge 0 (0 -> 9) names a task that is not there",
        ),
        ({"duration_s": ["x"]}, {"before": [], "after": []}, "column 'duration_s' holds str; give numbers"),
        ({"duration_s": [True]}, {"before": [], "after": []}, "column 'duration_s' holds bool; give numbers"),
        (
            {"duration_s": [1, {}]},
            {"before": [], "after": []},
            "column 'duration_s' is not a column of numbers",
        ),
        (
            {"duration_s": [1], "width": [1.5]},
            {"before": [], "after": []},
            "widths are whole numbers of threads",
        ),
    ],
)
def test_wrong_frames(tasks: dict[str, Any], edges: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_frames(pd.DataFrame(tasks), pd.DataFrame(edges))


def test_two_columns_of_one_name() -> None:
    tasks = pd.DataFrame([[1, 2]], columns=["duration_s", "duration_s"])
    with pytest.raises(
        GraphError, match="the table of tasks has two columns 'duration_s'; drop or rename one"
    ):
        TaskGraph.from_frames(tasks, pd.DataFrame({"before": [], "after": []}))


def test_networkx_labels_and_weights() -> None:
    digraph: nx.DiGraph[str] = nx.DiGraph([("load", "compute")])
    digraph.nodes["load"]["weight"] = 2.5
    graph = TaskGraph.from_networkx(digraph, duration="weight")
    assert graph.names is not None
    assert graph.names.to_list() == ["load", "compute"]
    assert graph.durations_s[0] == 2.5
    assert np.isnan(graph.durations_s[1])


@pytest.mark.parametrize("number", [np.float32(2.5), np.array(2.5), 2.5])
def test_networkx_numbers_of_numpy(number: Any) -> None:
    digraph: nx.DiGraph[str] = nx.DiGraph()
    digraph.add_node("load", duration_s=number)
    assert TaskGraph.from_networkx(digraph).durations_s.tolist() == [2.5]


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiDiGraph])
def test_wrong_kinds_of_networkx_graphs(kind: Any) -> None:
    with pytest.raises(GraphError, match=f"{kind.__name__} is not a DiGraph"):
        TaskGraph.from_networkx(kind([(0, 1)]))


def test_cycles_of_networkx_are_named() -> None:
    with pytest.raises(GraphError, match="cycle: task 0 'a' -> task 1 'b' -> task 0 'a'"):
        TaskGraph.from_networkx(nx.DiGraph([("a", "b"), ("b", "a")]))


def test_attributes_that_may_be_the_durations_are_named():
    nodes = nx.DiGraph([("a", "b")])
    nx.set_node_attributes(nodes, 2.0, "weight")
    graph = TaskGraph.from_networkx(nodes)
    told = "no node has an attribute duration_s; others are weight: duration=NAME takes one"
    with pytest.raises(CostError, match=told):
        simulate(graph, "generic[cores=1]", "fifo")
    named = TaskGraph.from_networkx(nodes, duration="weight")
    assert simulate(named, "generic[cores=1]", "fifo").makespan_s == 4
