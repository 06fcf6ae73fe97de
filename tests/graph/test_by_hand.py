"""Graphs small enough to be computed by hand, and two that are too deep for recursion."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from simsched.errors import GraphError
from simsched.graph import TaskGraph

MILLION = 1_000_000


def test_fork() -> None:
    """0 (1 s) -> 1 (2 s), 0 -> 2 (4 s): levels 1 + 4 = 5, 2 and 4; the path is 0, 2; work 7 s."""
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 1), (0, 2)])
    assert graph.levels().tolist() == [5, 2, 4]
    assert graph.depths.tolist() == [0, 1, 1]
    assert graph.critical_path() == [0, 2]
    assert (graph.critical_path_s, graph.work_s) == (5, 7)


def test_average_parallelism() -> None:
    """7 s of work over a path of 5 s; none where a duration is unknown or the path has no length."""
    assert TaskGraph.from_edges([1, 2, 4], [(0, 1), (0, 2)]).average_parallelism == 7 / 5
    for durations in ([1, np.nan], [0, 0], []):
        assert math.isnan(TaskGraph.from_edges(durations).average_parallelism)


def test_join() -> None:
    """0 (1 s) -> 2 (4 s), 1 (2 s) -> 2: levels 1 + 4 = 5, 2 + 4 = 6 and 4; the path is 1, 2; work 7 s."""
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 2), (1, 2)])
    assert graph.levels().tolist() == [5, 6, 4]
    assert graph.depths.tolist() == [0, 0, 1]
    assert graph.critical_path() == [1, 2]
    assert (graph.critical_path_s, graph.work_s) == (6, 7)


def test_chain_against_the_numbering() -> None:
    """2 (4 s) -> 1 (2 s) -> 0 (1 s): levels 1, 2 + 1 = 3, 4 + 3 = 7; depths 2, 1, 0."""
    graph = TaskGraph.from_edges([1, 2, 4], [(2, 1), (1, 0)])
    assert graph.topological_order.tolist() == [2, 1, 0]
    assert graph.levels().tolist() == [1, 3, 7]
    assert graph.depths.tolist() == [2, 1, 0]
    assert graph.critical_path() == [2, 1, 0]


def test_ties_go_to_the_lower_index() -> None:
    """Sources 0 and 1 and sinks 2 and 3, all of 1 s and all joined: every path has 2 s, the first is 0, 2."""
    graph = TaskGraph.from_edges([1, 1, 1, 1], [(1, 3), (1, 2), (0, 3), (0, 2)])
    assert graph.critical_path() == [0, 2]


def test_other_seconds() -> None:
    """With 10 s for task 1 the fork's path is 0, 1: 1 + 10 = 11."""
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 1), (0, 2)])
    assert graph.levels([1, 10, 4]).tolist() == [11, 10, 4]
    assert graph.critical_path([1, 10, 4]) == [0, 1]


def test_infinite_estimates_are_levels() -> None:
    """An estimate may be infinite, though a recorded duration may not."""
    graph = TaskGraph.from_edges([1, 2], [(0, 1)])
    assert graph.levels([1, np.inf]).tolist() == [np.inf, np.inf]


def test_empty() -> None:
    graph = TaskGraph.from_edges([], [], widths=[], names=[], kinds=[], shapes=[])
    assert (graph.n_tasks, graph.n_edges, graph.critical_path_s, graph.work_s) == (0, 0, 0, 0)
    assert graph.critical_path() == graph.levels().tolist() == graph.depths.tolist() == []
    assert graph.summary()["depth"] == 0


def test_one_task() -> None:
    graph = TaskGraph.from_edges([3.0], kinds="MatMul")
    assert graph.levels().tolist() == [3]
    assert graph.depths.tolist() == [0]
    assert graph.critical_path() == [0]
    assert graph.task_name(0) == "MatMul 0"


def test_unknown_durations() -> None:
    graph = TaskGraph.from_edges(np.array([1.0, None, np.nan]), [(0, 1)], names=["a", "b", "c"])
    assert math.isnan(graph.critical_path_s)
    assert math.isnan(graph.work_s)
    with pytest.raises(GraphError, match=r"task 1 \('b'\) has no duration; give seconds= for all tasks"):
        graph.levels()
    assert graph.depths.tolist() == [0, 1, 0]


def test_duplicates_are_merged_and_said() -> None:
    """Three edges, two of them one: two stay."""
    graph = TaskGraph.from_edges([1, 1, 1], [(0, 2), (0, 1), (0, 2)])
    assert graph.successors.indices.tolist() == [1, 2]
    assert graph.report.notes == ["1 duplicate edge was merged"]
    assert graph.report.facts == {"tasks": 3, "edges": 2}


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2)],
        ((0, 1), (1, 2)),
        {(0, 1), (1, 2)},
        zip([0, 1], [1, 2], strict=True),
        ((i, i + 1) for i in range(2)),
        np.array([[0, 1], [1, 2]], np.uint8),
        np.array([[0, 1], [1, 2]], np.uint64),
        np.array([[0, 1], [1, 2]], object),
        np.array([[0, 1], [1, 2]], ">i4"),
        np.array([[0, 1], [1, 2]]).T.copy().T,
        pd.DataFrame({"before": [0, 1], "after": [1, 2]}),
    ],
    ids=lambda edges: type(edges).__name__,
)
def test_forms_of_edges(edges: object) -> None:
    graph = TaskGraph.from_edges([1, 1, 1], edges)
    assert graph.successors.indptr.tolist() == [0, 1, 2, 2]
    assert graph.successors.indices.tolist() == [1, 2]


@pytest.mark.parametrize("edges", [[], (), np.empty((0, 2)), np.empty(0), iter([])])
def test_forms_of_no_edges(edges: object) -> None:
    assert TaskGraph.from_edges([1, 1], edges).n_edges == 0


def test_shapes() -> None:
    graph = TaskGraph.from_edges([1, 1, 1, 1], shapes=["64x512;()", ((2, 3), ()), (), ""])
    assert [graph.shape(i) for i in range(4)] == [((64, 512), ()), ((2, 3), ()), (), ()]


def test_graphs_cannot_be_changed_in_place() -> None:
    durations = np.ones(3)
    graph = TaskGraph.from_edges(durations, [(0, 1)])
    durations[0] = 7
    assert graph.durations_s[0] == 1
    for array in (graph.durations_s, graph.successors.indices, graph.topological_order, graph.depths):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9


def test_a_chain_of_a_million() -> None:
    """1 s each: the first task has level 1,000,000 and the last depth 999,999."""
    names = np.random.default_rng(0).permutation(MILLION)
    graph = TaskGraph.from_edges(np.ones(MILLION), np.stack([names[:-1], names[1:]], axis=1))
    assert graph.levels()[names[0]] == MILLION
    assert graph.depths[names[-1]] == MILLION - 1
    assert graph.critical_path()[:2] == names[:2].tolist()


def test_a_cycle_of_many_is_told_in_short() -> None:
    nodes = np.random.default_rng(0).permutation(100_000)
    with pytest.raises(
        GraphError, match=r"the graph has a cycle: (task \d+ -> ){8}\.\.\. 99992 more -> task \d+"
    ):
        TaskGraph.from_edges(np.ones(len(nodes)), np.stack([nodes, np.roll(nodes, -1)], axis=1))
