"""Transformer encoders: published parameters, FLOPs by closed formulas, heads together and apart."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import simsched as ss

PRODUCTS = ("MatMul", "BatchMatMulV2")


def products(graph: ss.TaskGraph) -> float:
    return float(graph.flops[np.isin(graph.kinds.to_list(), PRODUCTS)].sum())


@pytest.mark.parametrize(
    ("size", "parameters"),
    [
        # Published: BERT-base has 109.48 M, 23.84 M of them embeddings and 0.59 M pooler; a layer has 7,087,872.
        ("bert-base", 12 * 7_087_872),
        ("bert-large", 24 * 12_596_224),
        ("base", 6 * 3_152_384),
        ("big", 6 * 12_596_224),
    ],
)
@pytest.mark.parametrize("attention", ["batched", "apart"])
def test_published_parameters(size, parameters, attention) -> None:
    graph = ss.workload("transformer", size=size, attention=attention, batch=1, tokens=4)
    assert graph.report.facts["parameters"] == parameters


@pytest.mark.parametrize("attention", ["batched", "apart"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_flops_of_the_matrix_products(attention, norm) -> None:
    """A layer: 2 n (4 d d + 2 d f) of the parameters and 4 n s d of the attention; backward twice that."""
    b, s, d, f, layers = 3, 10, 16, 24, 2
    forward = layers * (2 * b * s * (4 * d * d + 2 * d * f) + 4 * b * s * s * d)
    sizes = {"batch": b, "tokens": s, "hidden": d, "inner": f, "layers": layers, "heads": 4}
    assert (
        products(ss.workload("transformer", **sizes, attention=attention, norm=norm, training=False))
        == forward
    )
    trained = ss.workload("transformer", **sizes, attention=attention, norm=norm)
    # What goes in has no gradient; with a norm before the first layer, its products have one all the same.
    unread = 2 * b * s * 3 * d * d if norm == "post" else 0
    assert products(trained) == 3 * forward - unread


def test_a_layer_by_hand() -> None:
    sizes = {"layers": 1, "hidden": 8, "heads": 2, "tokens": 3, "batch": 5, "training": False}
    graph = ss.workload("transformer", **sizes)
    project = ["MatMul", "BiasAdd", "Transpose"]
    attend = ["BatchMatMulV2", "Mul", "Softmax", "BatchMatMulV2", "Transpose", "MatMul", "BiasAdd"]
    end = ["AddV2", "LayerNormalization"]
    feed = ["MatMul", "BiasAdd", "Gelu", "MatMul", "BiasAdd"]
    assert graph.kinds.to_list() == [*project * 3, *attend, *end, *feed, *end]
    before = [graph.predecessors.neighbours(i).tolist() for i in (3, 9, 12, 16, 23)]
    assert before == [[], [2, 5], [8, 11], [15], [17, 22]]
    assert graph.shapes[9] == "5x2x3x4;5x2x4x3"
    assert Counter(ss.workload("transformer", **sizes, attention="apart").kinds.to_list())["AddN"] == 1


def test_heads_apart_run_side_by_side() -> None:
    apart, batched = (
        ss.workload("transformer", layers=1, heads=8, attention=attention, training=False)
        for attention in ("apart", "batched")
    )
    assert np.bincount(apart.depths).max() == 24
    assert np.bincount(batched.depths).max() == 3


def test_every_parameter_is_updated_once() -> None:
    graph = ss.workload("transformer", layers=2, hidden=8, heads=2, norm="pre", classes=3, attention="apart")
    updates = np.array(graph.kinds.to_list()) == "ApplyGradientDescent"
    assert graph.flops[updates].sum() == 2 * graph.report.facts["parameters"]
    assert updates.sum() == 2 * (2 * (3 * 2 + 1) + 1 + 4 + 2 * 2) + 2 + 2


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_replay(engine, norm) -> None:
    graph = ss.workload("transformer", layers=1, hidden=32, tokens=16, batch=2, norm=norm)
    assert ss.simulate(graph, "knl-7250", "critical-path", "4x2", engine=engine).makespan_s > 0


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"heads": 7}, r"transformer\[heads=7\]: expected a divisor of hidden, 512"),
        ({"norm": "none"}, "expected one of post, pre"),
        ({"tokens": 0}, "expected a whole number from 1"),
        ({"activation": 3}, "expected a word"),
    ],
)
def test_impossible_parameters(parameters, said) -> None:
    with pytest.raises(ss.SimschedError, match=said):
        ss.workload("transformer", **parameters)
