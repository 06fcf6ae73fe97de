"""PathNet: parameters and FLOPs by closed formulas, structure by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import simsched as ss


@pytest.mark.parametrize(
    ("size", "image", "neurons"), [("small", 32, 16), ("medium", 48, 32), ("large", 64, 48)]
)
def test_sizes_of_graphi(size, image, neurons) -> None:
    graph = ss.workload("pathnet", size=size)
    modules = 6 * (9 * 3 * neurons + neurons) + 2 * 6 * (9 * neurons**2 + neurons)
    head = (image // 8) ** 2 * neurons * 10 + 10
    assert graph.report.facts["parameters"] == modules + head
    forward = of_kind(graph, "Conv2D")
    pixels = 64 * image**2
    each = [2 * 9 * 3 * neurons * pixels, 2 * 9 * neurons**2 * pixels / 4, 2 * 9 * neurons**2 * pixels / 16]
    assert graph.flops[forward].sum() == 6 * sum(each)
    # The images have no gradient.
    assert graph.flops[of_kind(graph, "Conv2DBackpropInput")].sum() == 6 * sum(each[1:])
    assert graph.flops[of_kind(graph, "Conv2DBackpropFilter")].sum() == 6 * sum(each)


def of_kind(graph: ss.TaskGraph, kind: str) -> np.ndarray:
    return np.array(graph.kinds.to_list()) == kind


def test_a_small_one_by_hand() -> None:
    graph = ss.workload("pathnet", layers=1, modules=2, image=8, neurons=4, batch=3, training=False)
    module = ["Conv2D", "BiasAdd", "Relu", "MaxPool"]
    assert graph.kinds.to_list() == [*module, *module, "AddN", "MatMul", "BiasAdd"]
    assert graph.predecessors.neighbours(8).tolist() == [3, 7]
    assert [graph.shapes[i] for i in (0, 3, 8, 9)] == [
        "3x8x8x3;3x3x3x4",
        "3x8x8x4",
        "3x4x4x4;3x4x4x4",
        "3x64;64x10",
    ]


def test_modules_run_side_by_side() -> None:
    graph = ss.workload("pathnet", modules=6, training=False)
    assert np.bincount(graph.depths).max() == 6
    scopes = Counter(graph.scopes.to_list())
    assert (scopes["layer1/module5"], scopes["layer1/module5/filters"]) == (2, 2)


def test_an_image_that_would_vanish() -> None:
    with pytest.raises(
        ss.SimschedError, match=r"pathnet\[image=8\]: expected at least 2 to the power of layers, 4"
    ):
        ss.workload("pathnet", image=8, layers=4)
    assert ss.workload("pathnet", image=16, layers=4, batch=1).n_tasks > 0


@pytest.mark.parametrize("policy", ["critical-path", "corun"])
def test_replay(engine, policy) -> None:
    graph = ss.workload("pathnet[size=small]", batch=4)
    schedule = ss.simulate(graph, "knl-7250", policy, "6x10", engine=engine)
    assert (
        schedule.makespan_s < ss.simulate(graph, "knl-7250", "sequential", "1x60", engine=engine).makespan_s
    )
