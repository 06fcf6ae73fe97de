"""Data objects and seconds by kind of core through every clean-up step, by hand and at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.errors import GraphError
from simsched.graph import NOBODY, DataObjects, TaskGraph, with_data
from simsched.graph.data_checks import checked
from simsched.policies.tensorflow import chunked
from simsched.testing.strategies import graphs


def listed(graph: TaskGraph) -> list[tuple[float, int, list[int]]]:
    """Return size, producer and readers of each object."""
    data = graph.data
    assert data is not None
    assert checked(data, graph.successors).n == data.n
    readers = [data.readers.neighbours(i).tolist() for i in range(data.n)]
    return list(zip(data.size_B.tolist(), data.producer.tolist(), readers, strict=True))


def chain(kinds: str, sizes: list[float], producers: list[int], readers: list[list[int]]) -> TaskGraph:
    """Return a chain of tasks, with a kind and two times for each."""
    n = len(kinds)
    seconds = [[1.0 + i, 3.0 + i] for i in range(n)]
    graph = TaskGraph.from_edges(seconds, [(i, i + 1) for i in range(n - 1)], kinds=list(kinds))
    return with_data(graph, DataObjects.from_lists(sizes, producers, readers))


def test_what_a_dropped_task_passes_on() -> None:
    """Views v hand a's object to b, whose output c's reader would have been dropped with it."""
    graph = chain("avvb", [8, 6, 4, 2], [0, 1, 2, 3], [[1], [2], [3], []])
    left = graph.cleaned("drop[kinds=v]")
    assert listed(left) == [(4.0, 0, [1]), (2.0, 1, [])]
    assert left.seconds_by_kind is not None
    assert left.seconds_by_kind.tolist() == [[1.0, 3.0], [4.0, 6.0]]


def test_what_only_dropped_tasks_read_is_an_output() -> None:
    graph = chain("abc", [8, 6, 5], [0, 1, NOBODY], [[1], [2], [1]])
    assert listed(graph.cleaned("select[kinds=a]")) == [(8.0, 0, [])]


def test_inputs_and_objects_of_dropped_sources() -> None:
    graph = chain("vab", [8, 6, 4], [NOBODY, 0, NOBODY], [[0], [1], [1, 2]])
    assert listed(graph.cleaned("drop[kinds=v]")) == [(6.0, NOBODY, [0]), (4.0, NOBODY, [0, 1])]


def test_a_task_without_objects_passes_on_those_of_what_it_waits_for() -> None:
    assert listed(chain("avb", [6], [1], [[2]]).cleaned("drop[kinds=v]")) == [(6.0, 0, [1])]


def test_objects_of_a_dropped_task_with_several_sources_are_lost() -> None:
    graph = TaskGraph.from_edges(
        [1.0] * 4, [(0, 2), (1, 2), (2, 3)], kinds=list("aavb"), edge_bytes=[1, 2, 3]
    )
    left = graph.cleaned("drop[kinds=v]")
    assert listed(left) == [(1.0, 0, []), (2.0, 1, [])]
    assert (
        left.report.notes[-1]
        == "lost, as several tasks feed the tasks that wrote them and are left out: 1 data object"
    )


def test_objects_within_a_group_vanish() -> None:
    graph = chain("abc", [8, 6, 4, 2], [0, 1, NOBODY, 0], [[1], [2], [0, 1], []])
    whole = graph.cleaned("fuse-chains")
    assert listed(whole) == [(4.0, NOBODY, [0]), (2.0, 0, [])]
    assert whole.seconds_by_kind is not None
    assert whole.seconds_by_kind.tolist() == [[6.0, 12.0]]


@pytest.mark.parametrize(("between", "apart"), [("barrier", 3), ("nothing", 2)])
def test_iterations_have_objects_of_their_own(between: str, apart: int) -> None:
    graph = chain("ab", [8, 4, 2], [0, NOBODY, 1], [[1], [0, 1], []])
    twice = graph.cleaned(f"unroll[iterations=2,between={between}]")
    second = [(8.0, apart, [apart + 1]), (4.0, NOBODY, [apart, apart + 1]), (2.0, apart + 1, [])]
    assert listed(twice) == [*listed(graph), *second]
    assert twice.seconds_by_kind is not None
    assert twice.seconds_by_kind[-2:].tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_seconds_by_kind_are_scaled_alike() -> None:
    graph = chain("ab", [], [], [])
    scaled = graph.cleaned("scale[kinds=b,factor=2]")
    assert scaled.seconds_by_kind is not None
    assert scaled.seconds_by_kind.tolist() == [[1.0, 3.0], [4.0, 8.0]]
    assert scaled.durations_s.tolist() == [2.0, 6.0]
    shorter = graph.cleaned("remove-overhead[each_s=1]")
    assert shorter.seconds_by_kind is not None
    assert shorter.seconds_by_kind.tolist() == [[0.5, 1.5], [2 * 2 / 3, 4 * 2 / 3]]
    with pytest.raises(GraphError, match="durations beyond all numbers"):
        graph.cleaned("scale[factor=1e308]")


def test_chunks_write_equal_parts() -> None:
    """An element-wise op of 100 MB is cut; its object becomes one for each chunk, as large in all."""
    graph = TaskGraph.from_edges(
        [[1.0, 2.0]] * 3, [(0, 1), (1, 2)], kinds=["MatMul", "add", "MatMul"], bytes_B=[1.0, 1e8, 1.0],
        edge_bytes=[8.0, 40.0],
    )  # fmt: skip
    cut = chunked(graph, 4)
    rows = listed(cut)
    pieces = cut.n_tasks - 3
    assert pieces > 1
    assert rows[0] == (8.0, 0, [1])
    assert rows[1:] == [(40.0 / pieces, 3 + i, [2]) for i in range(pieces)]
    assert cut.seconds_by_kind is not None
    np.testing.assert_allclose(cut.seconds_by_kind.sum(axis=0), [3.0, 6.0])


STEPS = [
    "drop[kinds=add+view]", "select[kinds=MatMul+Conv+view]", "fuse-chains", "fuse-small[below_s=0.5]",
    "unroll[iterations=2]", "scale[factor=3]",
]  # fmt: skip


@given(graph=graphs(), step=st.sampled_from(STEPS))
def test_objects_fit_what_comes_out(graph: TaskGraph, step: str) -> None:
    try:
        cleaned = graph.cleaned(step)
    except GraphError:
        return
    assert (cleaned.data is None) == (graph.data is None)
    if cleaned.data is not None and graph.data is not None:
        checked(cleaned.data, cleaned.successors)
        copies = 2 if step.startswith("unroll") else 1
        assert cleaned.data.n <= copies * graph.data.n
