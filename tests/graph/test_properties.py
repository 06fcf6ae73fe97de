"""Random graphs against networkx and against definitions written out."""

from __future__ import annotations

import re
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.errors import GraphError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import _kahn, from_edges
from simsched.testing.strategies import graphs


@given(graphs())
def test_order_is_topological(graph: TaskGraph) -> None:
    order = graph.topological_order
    assert sorted(order.tolist()) == list(range(graph.n_tasks))
    place = np.argsort(order)
    assert np.all(place[graph.successors.sources()] < place[graph.successors.indices])


@given(graphs())
def test_levels_depths_and_path(graph: TaskGraph) -> None:
    digraph = graph.to_networkx()
    levels, depths = np.zeros(graph.n_tasks), np.zeros(graph.n_tasks, int)
    for task in reversed(list(nx.topological_sort(digraph))):
        levels[task] = graph.durations_s[task] + max(
            (levels[s] for s in digraph.successors(task)), default=0.0
        )
    for task in nx.topological_sort(digraph):
        depths[task] = max((depths[p] + 1 for p in digraph.predecessors(task)), default=0)
    assert graph.levels().tolist() == levels.tolist()
    assert graph.depths.tolist() == depths.tolist()
    assert graph.depths.max(initial=0) == (
        nx.dag_longest_path_length(digraph, weight="none") if len(depths) else 0
    )
    path = graph.critical_path()
    assert graph.critical_path_s == levels.max(initial=0.0)
    assert all(digraph.has_edge(a, b) for a, b in pairwise(path))
    assert sum(graph.durations_s[path]) == pytest.approx(graph.critical_path_s, rel=1e-12)
    if path:
        assert digraph.in_degree(path[0]) == digraph.out_degree(path[-1]) == 0


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """Number of nodes and edges without self-loops; cycles and duplicates as they come."""
    n = draw(st.integers(2, 8))
    node = st.integers(0, n - 1)
    return n, draw(st.lists(st.tuples(node, node).filter(lambda edge: edge[0] != edge[1]), max_size=14))


@given(edge_lists())
def test_the_verdict_is_that_of_networkx(given_edges: tuple[int, list[tuple[int, int]]]) -> None:
    n, edges = given_edges
    digraph = nx.DiGraph(edges)
    if nx.is_directed_acyclic_graph(digraph):
        graph = TaskGraph.from_edges(np.ones(n), edges)
        assert set(graph.to_networkx().edges) == set(edges)
        assert ("merged" in "".join(graph.report.notes)) == (len(set(edges)) < len(edges))
        return
    with pytest.raises(GraphError) as error:
        TaskGraph.from_edges(np.ones(n), edges)
    cycle = [int(task) for task in re.findall(r"task (\d+)", str(error.value))]
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert all(edge in edges for edge in pairwise(cycle))


@given(graphs())
def test_adjacency(graph: TaskGraph) -> None:
    after, before = graph.successors, graph.predecessors
    assert [(a, b) for a in range(after.n) for b in after.neighbours(a)] == sorted(
        (a, b) for b in range(before.n) for a in before.neighbours(b)
    )
    assert after.degrees().sum() == before.degrees().sum() == graph.n_edges
    assert all(np.all(np.diff(csr.neighbours(i)) > 0) for csr in (after, before) for i in range(csr.n))
    again, merged = from_edges(after.n, after.sources().astype(np.int64), after.indices.astype(np.int64))
    assert merged == 0
    assert again.indices.tolist() == after.indices.tolist()


@given(graphs())
def test_the_way_without_scipys_numbers(graph: TaskGraph) -> None:
    place = np.argsort(_kahn(graph.successors))
    assert np.all(place[graph.successors.sources()] < place[graph.successors.indices])
