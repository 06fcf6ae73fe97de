"""What `depend` clauses impose, against the specification's sentence for each pair of tasks."""

from __future__ import annotations

import networkx as nx
from hypothesis import given, strategies as st

from simsched.traces.ompt.run import IN, INOUT, INOUTSET, MUTEXINOUTSET, OUT, SINK, SOURCE, Siblings

KINDS = st.sampled_from([IN, OUT, INOUT, MUTEXINOUTSET, INOUTSET])
TASKS = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), KINDS), max_size=2, unique_by=lambda d: d[0]), max_size=9
)


def ordered(first: list[tuple[str, int]], second: list[tuple[str, int]]) -> bool:
    """OpenMP 5.2, 15.9.5: each kind waits for all others on its address, out and inout for their own, too."""
    return any(
        a == b and not (kind == other and kind in (IN, MUTEXINOUTSET, INOUTSET))
        for a, kind in first
        for b, other in second
    )


@given(TASKS)
def test_all_and_only_what_the_specification_orders(tasks: list[list[tuple[str, int]]]) -> None:
    siblings, found, told = Siblings(), nx.DiGraph(), nx.DiGraph()
    for graph in (found, told):
        graph.add_nodes_from(range(len(tasks)))
    for i, dependencies in enumerate(tasks):
        found.add_edges_from((before, i) for before in siblings.add(i, dependencies))
        told.add_edges_from((k, i) for k in range(i) if ordered(tasks[k], dependencies))
    assert set(nx.transitive_closure(found).edges) == set(nx.transitive_closure(told).edges)
    assert set(found.edges) <= set(told.edges)


def test_an_address_in_two_clauses_is_inout() -> None:
    siblings = Siblings()
    assert [
        siblings.add(i, deps) for i, deps in enumerate([[("a", IN)], [("a", IN), ("a", OUT)], [("a", IN)]])
    ] == [
        [],
        [0],
        [1],
    ]


def test_all_memory() -> None:
    """It waits for everything before, everything behind waits for it, also on addresses not seen before."""
    siblings = Siblings()
    told = [[("a", IN)], [("a", IN)], [("b", OUT)], [("0x0", 35)], [("c", IN)], [("c", OUT)], [("a", IN)], []]
    assert [siblings.add(i, deps) for i, deps in enumerate(told)] == [
        [],
        [],
        [],
        [0, 1, 2],
        [3],
        [4],
        [3],
        [],
    ]


def test_doacross_loops_are_no_tasks() -> None:
    siblings = Siblings()
    assert [siblings.add(i, [("a", kind)]) for i, kind in enumerate([SOURCE, SINK])] == [[], []]
