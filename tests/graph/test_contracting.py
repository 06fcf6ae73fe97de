"""Leaving nodes out, against what networkx says can be reached."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, strategies as st

from simsched.errors import GraphError
from simsched.graph import contracting
from simsched.graph.contracting import contracted

EDGES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).map(sorted).filter(lambda e: e[0] < e[1]), max_size=15
)


@given(EDGES, st.lists(st.booleans(), min_size=8, max_size=8))
def test_order_is_kept(edges: list[list[int]], kept: list[bool]) -> None:
    graph = nx.DiGraph([(a, b) for a, b in edges])
    graph.add_nodes_from(range(8))
    found = contracted([(a, b) for a, b in edges], kept)
    expected = set()
    for a in (i for i in range(8) if kept[i]):
        inner = graph.subgraph([i for i in range(8) if not kept[i]] + [a])
        reached = {a} | nx.descendants(inner, a)
        expected |= {(a, b) for i in reached for b in graph.successors(i) if kept[b]}
    assert found == sorted(expected)


def test_a_cycle_of_nodes_left_out() -> None:
    with pytest.raises(GraphError, match=r"in a cycle: node 1 -> node 2 -> node 1$"):
        contracted([(0, 1), (1, 2), (2, 1)], [True, False, False])
    with pytest.raises(GraphError, match=r"in a cycle: 'b' -> 'b'$"):
        contracted([(0, 1), (1, 1)], [True, False], called=lambda node: repr("ab"[node]))


def test_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten before and ten behind one node left out make a hundred edges."""
    monkeypatch.setattr(contracting, "MAX_EDGES", 99)
    edges = [(i, 20) for i in range(10)] + [(20, i) for i in range(10, 20)]
    with pytest.raises(GraphError, match="more than 99 dependencies"):
        contracted(edges, [True] * 20 + [False])
