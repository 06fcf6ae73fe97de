"""Compiled regions: kernels that are not in the trace do not make what they join independent."""

from __future__ import annotations

import pytest

REGION = "Torch-Compiled Region: 0/0"
FUNCTION = "CompiledFunction"
CALL = "## Call CompiledFxGraph frjx7uk6 ##"


def tensors(count):
    return [(i, 10 + i, [2, 2]) for i in range(1, count + 1)]


def edges(graph):
    sources = graph.successors.sources().tolist()
    return list(zip(sources, graph.successors.indices.tolist(), strict=True))


def wrapped(mini, start, duration, names=(REGION, FUNCTION, CALL), lane=1):
    for depth, name in enumerate(names):
        at, left = start + depth, duration - 2 * depth
        if name.startswith("##"):
            mini.annotate(name, at, left, lane)
        else:
            mini.event("cpu_op", name, at, left, lane)


def independent(mini, starts, lane=1):
    """Add operators that share no tensor."""
    for start in starts:
        mini.op(
            "aten::mm",
            start,
            2,
            [(start, 1000 + start, [2, 2])],
            [(start + 500, 2000 + start, [2, 2])],
            lane=lane,
        )


def test_tasks_of_a_region_keep_their_order_between_what_is_before_and_after(mini):
    independent(mini, [0, 3])
    wrapped(mini, 10, 40)
    independent(mini, [15, 20, 25, 60, 65])
    graph = mini.load()
    assert edges(graph) == [(1, 2), (2, 3), (3, 4), (4, 5)]
    facts = graph.report.facts
    assert (facts["compiled_regions"], facts["compiled_tasks"]) == (1, 3)
    assert any("3 tasks in 1 compiled region (" in note for note in graph.report.notes)


def test_a_region_that_was_fused_as_a_whole_still_stands_between(mini):
    independent(mini, [0])
    wrapped(mini, 10, 10)
    independent(mini, [30])
    graph = mini.load()
    assert edges(graph) == [(0, 1)]
    assert graph.report.facts["compiled_tasks"] == 0


def test_regions_one_after_the_other_and_one_of_the_backward_pass(mini):
    wrapped(mini, 10, 10)
    wrapped(mini, 30, 10)
    mini.event("cpu_op", "autograd::engine::evaluate_function: CompiledFunctionBackward", 50, 20, 1)
    wrapped(mini, 51, 10, ["CompiledFunctionBackward", CALL])
    independent(mini, [15, 35, 55, 58])
    graph = mini.load()
    assert edges(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.report.facts["compiled_regions"] == 3
    assert graph.scopes[3].startswith("backward")


def test_other_lanes_are_let_alone(mini):
    independent(mini, [0, 60])
    wrapped(mini, 10, 40, lane=2)
    independent(mini, [15, 20], lane=2)
    assert edges(mini.load()) == [(1, 2)]


def test_edges_through_tensors_stay_and_none_stands_twice(mini):
    a, b, c, d = tensors(4)
    mini.op("aten::relu", 0, 1, [a], [b])
    wrapped(mini, 10, 40)
    mini.op("aten::mm", 15, 1, [b], [c])
    mini.op("aten::mm", 20, 1, [b], [d])
    graph = mini.load()
    assert edges(graph) == [(0, 1), (0, 2), (1, 2)]


def test_a_region_within_an_operator_is_the_operators(mini):
    independent(mini, [0])
    outer = mini.op("mylib::op", 10, 50, [], [])
    wrapped(mini, 12, 30)
    mini.op("aten::mm", 16, 1, [], [], inside=outer)
    independent(mini, [70])
    graph = mini.load()
    assert edges(graph) == []
    assert graph.report.facts["compiled_regions"] == 0


@pytest.mark.parametrize(
    "name",
    ["Torch-Compiled Region", "Call CompiledFxGraph abc", "CompiledFxGraph", "CompiledFunction", REGION],
)
def test_regions_of_any_version_are_known(mini, name):
    wrapped(mini, 10, 40, [name])
    independent(mini, [15, 20])
    assert mini.load().report.facts["compiled_regions"] == 1


@pytest.mark.parametrize(
    "name", ["MulBackward0", "TorchDynamo Cache Lookup", "MyCompiledFunction", "CompiledFxGraphs"]
)
def test_other_wrappers_are_no_regions(mini, name):
    wrapped(mini, 10, 40, [name])
    independent(mini, [15, 20])
    graph = mini.load()
    assert edges(graph) == []
    assert graph.report.facts["compiled_regions"] == 0


def test_without_an_execution_trace_the_order_is_kept_anyway(mini):
    independent(mini, [0])
    wrapped(mini, 10, 40)
    independent(mini, [15, 60])
    graph = mini.load_alone()
    assert edges(graph) == [(0, 1), (1, 2)]
    assert not any("(torch.compile)" in note for note in graph.report.notes)
