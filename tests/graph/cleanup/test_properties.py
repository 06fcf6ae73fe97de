"""What clean-up steps keep, on random graphs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.graph import TaskGraph
from simsched.graph.cleanup.groups import acyclic_groups, merged
from simsched.graph.report import ImportReport
from simsched.testing.strategies import graphs


def reachable(graph: TaskGraph) -> set[tuple[int, int]]:
    return set(nx.transitive_closure_dag(graph.to_networkx()).edges)


@given(graphs())
def test_chains_keep_work_and_critical_path(graph: TaskGraph) -> None:
    fused = graph.cleaned("fuse-chains")
    assert fused.work_s == pytest.approx(graph.work_s)
    assert fused.critical_path_s == pytest.approx(graph.critical_path_s)
    assert fused.cleaned("fuse-chains").n_tasks == fused.n_tasks


@given(graphs(), st.sampled_from([1e-12, 1e-3, 1.0, 1e9]))
def test_fusing_small_tasks_keeps_work_and_never_shortens_the_critical_path(
    graph: TaskGraph, below_s: float
) -> None:
    fused = graph.cleaned(f"fuse-small[below_s={below_s}]")
    assert fused.work_s == pytest.approx(graph.work_s)
    assert fused.critical_path_s >= graph.critical_path_s * (1 - 1e-9)


@given(graphs(), st.data())
def test_dropping_keeps_exactly_the_order_of_what_is_kept(graph: TaskGraph, data: st.DataObject) -> None:
    n = graph.n_tasks
    kinds = data.draw(st.lists(st.sampled_from(["x", "y"]), min_size=n, max_size=n))
    frame, pairs = graph.to_frames()
    graph = TaskGraph.from_frames(frame.assign(kind=kinds), pairs)
    kept = graph.cleaned("drop[kinds=x]")
    index = [i for i, kind in enumerate(kinds) if kind == "y"]
    before = {(index.index(a), index.index(b)) for a, b in reachable(graph) if a in index and b in index}
    assert reachable(kept) == before


@given(graphs(), st.data())
def test_groups_become_acyclic_and_keep_every_dependency(graph: TaskGraph, data: st.DataObject) -> None:
    n = graph.n_tasks
    wanted = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), np.int64)
    groups = acyclic_groups(graph, wanted)
    # No group holds tasks that were to stay apart.
    assert all(len(set(wanted[groups == g].tolist())) == 1 for g in set(groups.tolist()))
    collapsed = merged(graph, groups, ImportReport("test"))
    assert collapsed.work_s == pytest.approx(graph.work_s)
    assert collapsed.critical_path_s >= graph.critical_path_s * (1 - 1e-9)


@given(graphs(), st.integers(1, 4))
def test_iterations_with_a_barrier_take_their_sum(graph: TaskGraph, iterations: int) -> None:
    unrolled = graph.cleaned(f"unroll[iterations={iterations}]")
    assert unrolled.critical_path_s == pytest.approx(iterations * graph.critical_path_s)
    assert unrolled.work_s == pytest.approx(iterations * graph.work_s)
    independent = graph.cleaned(f"unroll[iterations={iterations},between=nothing]")
    assert independent.critical_path_s == pytest.approx(graph.critical_path_s)


@given(graphs())
def test_every_step_leaves_a_graph_that_can_be_cleaned_again(graph: TaskGraph) -> None:
    steps = ("drop", "fuse-small", "fuse-chains", "scale[factor=2]", "unroll")
    cleaned = graph.cleaned(*steps)
    assert cleaned.n_tasks <= 2 * graph.n_tasks + 1
    assert len(cleaned.report.notes) >= len(steps)
