"""Recurrent networks: parameters and FLOPs by closed formulas, structure by hand, cells beside ops."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import simsched as ss
from simsched.workloads import family
from simsched.workloads.recurrent import Recurrent

#: Matrix products of a cell have as many columns as these times its units.
GATES = {"lstm": 4, "gru": 3, "rnn": 1, "phased_lstm": 4}
SHAPES = [
    {"layers": 1, "steps": 1},
    {"layers": 1, "steps": 7},
    {"layers": 5, "steps": 1, "classes": 3},
    {"layers": 2, "steps": 2, "mini_batches": 2},
    {"layers": 6, "steps": 5, "outputs": "every", "classes": 10, "mini_batches": 3},
    {"layers": 3, "steps": 6, "training": False},
]


def recurrent(name: str, **parameters: ss.spec.Scalar) -> Recurrent:
    network = family(name, **parameters)
    assert isinstance(network, Recurrent)
    return network


def of_kind(graph: ss.TaskGraph, *kinds: str) -> np.ndarray:
    return np.isin(graph.kinds.to_list(), kinds)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("lstm", lambda x, h: 4 * (h * (h + x) + h)),
        ("phased_lstm", lambda x, h: 4 * (h * (h + x) + h) + 3 * h),
        ("gru", lambda x, h: 3 * (h * (h + x) + 2 * h)),
        ("rnn", lambda x, h: h * (h + x) + h),
    ],
)
def test_parameters(name, formula) -> None:
    for fused in [{}] if name == "rnn" else [{"fused": False}, {"fused": True}]:
        network = recurrent(name, layers=3, input=20, hidden=12, classes=7, **fused)
        assert network.n_parameters == formula(20, 12) + 2 * formula(12, 12) + (12 * 7 + 7)
    # Published: the layers that Keras counts for 28 inputs and 128 units.
    keras = {"lstm": 80_384, "gru": 60_672, "rnn": 20_096, "phased_lstm": 80_384 + 3 * 128}
    assert recurrent(name, layers=1, input=28, hidden=128).n_parameters == keras[name]


def test_parameters_of_the_penn_treebank_model() -> None:
    """Published implementations have 4.65 M, 2 M of them the embedding of 10,000 words."""
    assert recurrent("lstm", size="ptb").n_parameters == 4_651_600 - 2_000_000


@pytest.mark.parametrize("name", GATES)
def test_flops_of_the_matrix_products(name) -> None:
    """Forward 2 b (x + h) g h a cell; backward twice that, less the gradients of inputs and first states."""
    b, x, h, layers, steps = 6, 5, 8, 3, 4
    cell = 2 * b * (x + h) * GATES[name] * h, 2 * b * (h + h) * GATES[name] * h
    forward = steps * (cell[0] + (layers - 1) * cell[1])
    unread = 2 * b * h * GATES[name] * (steps * x + layers * h)
    for training, expected in ((False, forward), (True, 3 * forward - unread)):
        graph = ss.workload(name, layers=layers, steps=steps, input=x, hidden=h, batch=b, training=training)
        assert graph.flops[of_kind(graph, "MatMul")].sum() == expected


def test_training_costs_three_times_inference() -> None:
    """W-Par, Table 4: 3 x 2 b (x + h) 4 h a cell of [256, 256, 128, 100] in 6 layers are 242 GFLOP.

    The gradient of the first layer's inputs is counted there and needed by nothing: 1 of 36 parts.
    """
    sizes = {"layers": 6, "steps": 100, "input": 256, "hidden": 256, "batch": 128, "granularity": "cell"}
    training, inference = (ss.workload("lstm", **sizes, training=t).flops.sum() for t in (True, False))
    assert training == pytest.approx(242e9 * 35 / 36, rel=0.01)
    assert training / inference == pytest.approx(3 * 35 / 36, rel=0.01)


def test_an_lstm_by_hand() -> None:
    """One layer, two steps, gates together: each op and what it waits for."""
    graph = ss.workload("lstm", layers=1, steps=2, hidden=2, batch=3, input=5, training=False, fused=True)
    cell = ["MatMul", "MatMul", "AddV2", "BiasAdd", "Sigmoid", "Sigmoid", "Tanh", "Sigmoid"]
    cell += ["Mul", "Mul", "AddV2", "Tanh", "Mul"]
    assert graph.kinds.to_list() == cell * 2
    waits = [graph.predecessors.neighbours(i).tolist() for i in range(graph.n_tasks)]
    first = [[], [], [0, 1], [2], [3], [3], [3], [3], [5], [4, 6], [8, 9], [10], [7, 11]]
    second = [[13 + i for i in row] for row in first]
    second[1], second[8] = [12], [10, 18]  # h and c of the step before
    assert waits == first + second
    assert [graph.shapes[i] for i in (0, 1, 3, 4)] == ["3x5;5x8", "3x2;2x8", "3x8;8", "3x2"]


def test_an_lstm_with_one_product_a_cell() -> None:
    """One layer, two steps, input and state side by side; backward the second cell's product has two gradients.

    The gradient of (x, h) is cut into that of h alone, as x is data; the first cell's h is not trained.
    """
    sizes = {"layers": 1, "steps": 2, "hidden": 2, "batch": 3, "input": 5}
    graph = ss.workload("lstm", **sizes, fused=True, joined=True)
    kinds = graph.kinds.to_list()
    cell = ["ConcatV2", "MatMul", "BiasAdd", "Sigmoid", "Sigmoid", "Tanh", "Sigmoid"]
    assert kinds[:12] == [*cell, "Mul", "Mul", "AddV2", "Tanh", "Mul"]
    assert graph.shapes[1] == "3x7;7x8"
    assert kinds.count("MatMul") == 2 + 3
    assert [graph.shapes[i] for i, kind in enumerate(kinds) if kind == "Slice"] == ["3x7"]
    forward = 2 * 3 * 7 * 8
    assert graph.flops[of_kind(graph, "MatMul")].sum() == 5 * forward
    assert graph.predecessors.neighbours(12).tolist() == [11]  # the second pair waits for h


@pytest.mark.parametrize("name", ["lstm", "phased_lstm"])
@pytest.mark.parametrize("fused", [False, True])
def test_joined_products_have_the_same_parameters_and_operations(name, fused) -> None:
    sizes = {"layers": 3, "steps": 4, "input": 5, "hidden": 8, "batch": 6, "training": False, "fused": fused}
    apart, joined = (ss.workload(name, **sizes, joined=one) for one in (False, True))
    assert joined.report.facts["parameters"] == apart.report.facts["parameters"]
    products = [graph.flops[of_kind(graph, "MatMul")] for graph in (apart, joined)]
    assert products[0].sum() == products[1].sum()
    assert len(products[0]) == 2 * len(products[1])


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("sizes", SHAPES)
def test_every_parameter_is_updated_once(name, sizes) -> None:
    graph = ss.workload(name, hidden=4, batch=8, **sizes)
    updates = of_kind(graph, "ApplyGradientDescent")
    if not sizes.get("training", True):
        assert not updates.any()
        return
    scopes = Counter(np.array(graph.scopes.to_list())[updates].tolist())
    gated = {f"layer{layer}" for layer in range(sizes["layers"])}
    assert {scope.split("/")[0] for scope in scopes} == gated | ({"head"} if "classes" in sizes else set())
    assert graph.flops[updates].sum() == 2 * recurrent(name, hidden=4, batch=8, **sizes).n_parameters


@pytest.mark.parametrize("name", GATES)
@pytest.mark.parametrize("sizes", SHAPES)
def test_cells_and_ops_have_equal_flops(name, sizes) -> None:
    ops, cells = (
        ss.workload(name, hidden=4, input=6, batch=8, granularity=granularity, **sizes)
        for granularity in ("op", "cell")
    )
    assert cells.flops.sum() == ops.flops.sum()
    assert cells.bytes_B.sum() < ops.bytes_B.sum()
    assert cells.report.facts["parameters"] == ops.report.facts["parameters"]


@pytest.mark.parametrize("name", GATES)
def test_cells_are_ops_put_together(name) -> None:
    """Edges between cells are those between their ops."""
    layers, steps = 3, 4
    ops = ss.workload(name, layers=layers, steps=steps, hidden=4, batch=8)
    cells = ss.workload(name, layers=layers, steps=steps, hidden=4, batch=8, granularity="cell")

    def home(task: int) -> tuple[bool, int, int] | None:
        phase, *rest = ops.task_name(task).split("/")
        if phase == "update":
            return None
        step, *scope = rest if phase == "gradients" else [phase, *rest]
        layer = int(scope[0].removeprefix("layer")) if scope[0].startswith("layer") else layers - 1
        return (phase == "gradients", int(step.removeprefix("step")), layer)

    forward = [(False, *cell) for cell in product(range(steps), range(layers))]
    backward = [(True, *cell) for _, *cell in reversed(forward)]
    order = {cell: task for task, cell in enumerate([*forward, *backward])}
    homes = [home(task) for task in range(ops.n_tasks)]
    joined = {
        (order[a], order[b])
        for a, b in zip(
            (homes[i] for i in ops.successors.sources()),
            (homes[i] for i in ops.successors.indices),
            strict=True,
        )
        if a is not None and b is not None and a != b
    }
    n = 2 * layers * steps
    edges = zip(cells.successors.sources().tolist(), cells.successors.indices.tolist(), strict=True)
    assert {edge for edge in edges if edge[1] < n} == joined


def test_cells_of_wpar() -> None:
    """Sec. 3's example of 4 layers and 5 steps, cells from 1, layer fastest; Table 6's counts of tasks."""
    graph = ss.workload("lstm", layers=4, steps=5, hidden=4, granularity="cell", training=False)
    waits = {f"c{c}": [i + 1 for i in graph.predecessors.neighbours(c - 1)] for c in (1, 2, 5, 6, 7, 17, 20)}
    assert waits == {
        "c1": [], "c2": [1], "c5": [1], "c6": [2, 5], "c7": [3, 6], "c17": [13], "c20": [16, 19],
    }  # fmt: skip
    kinds = Counter(ss.workload("lstm[size=wpar]").kinds.to_list())
    assert kinds == {"LSTMCell": 4800, "LSTMCellGrad": 4800, "AddN": 5, "ApplyGradientDescent": 1}
    # A cell's working set is its weights and little else: 4 (256 + 512 + 1) 512 floats are 6.0 MiB.
    first = ss.workload("lstm[size=wpar]").bytes_B[0]
    assert 6.0 < first / 2**20 < 6.5


def test_backward_begins_with_the_last_cell_and_ends_with_the_first() -> None:
    graph = ss.workload("lstm", layers=3, steps=4, hidden=4, batch=4, mini_batches=2, granularity="cell")
    cells = 12
    last_forward, first_backward = cells - 1, 2 * cells
    assert last_forward in graph.predecessors.neighbours(first_backward)
    depths = graph.depths
    assert depths[first_backward : first_backward + cells].argmax() == cells - 1
    # Sums and updates come last.
    assert [graph.kinds[task] for task in graph.topological_order[-2:]] == ["AddN", "ApplyGradientDescent"]


def test_a_batch_that_does_not_divide() -> None:
    network = recurrent("lstm", batch=128, mini_batches=6)
    assert network.parts == (22, 22, 21, 21, 21, 21)


def test_cells_hand_on_their_states_and_gradients() -> None:
    """4 x 16 states of two kinds of float32 a cell; backward the gradients of a layer, of 4 (16 + 16 + 1) 16 each."""
    graph = ss.workload("lstm[granularity=cell,layers=2,steps=3,batch=8,mini_batches=2,hidden=16]")
    parameters, data = graph.report.facts["parameters"], graph.data
    assert parameters == 2 * 4 * (16 + 16 + 1) * 16
    sizes, count = np.unique(data.size_B, return_counts=True)
    assert dict(zip(sizes, count, strict=True)) == {4 * 16 * 2 * 4: 22, 2 * parameters: 4, 4 * parameters: 1}
    states = data.size_B == 512
    assert sorted(data.producer[states]) == [
        i for i in range(24) if graph.successors.neighbours(i).min() < 24
    ]
    inference = ss.workload("lstm[granularity=cell,layers=2,steps=3,training=false,batch=8,hidden=16]")
    assert inference.data.size_B.tolist() == [1024] * 5, "nobody reads the last cell"


@pytest.mark.parametrize("granularity", ["op", "cell"])
def test_messages_take_time(granularity) -> None:
    graph = ss.workload(f"lstm[granularity={granularity},layers=2,steps=3,batch=8,hidden=16]")
    still, sent = (
        ss.simulate(graph, f"knl-7250[cores=4{data}]", "fifo", "4x1").makespan_s
        for data in ("", ",data=sent,link_Bps=2e4")
    )
    assert sent > still


@pytest.mark.parametrize("granularity", ["op", "cell"])
def test_replay(engine, granularity) -> None:
    graph = ss.workload("gru", layers=2, steps=3, hidden=16, batch=4, granularity=granularity)
    schedule = ss.simulate(graph, "knl-7250", "critical-path", "8x8", engine=engine)
    assert 0 < schedule.metrics()["critical_path_s"] <= schedule.makespan_s


def test_a_wavefront_is_as_wide_as_the_layers() -> None:
    graph = ss.workload("lstm", layers=4, steps=20, hidden=64, granularity="cell", training=False)
    assert graph.depths.max() == 4 + 20 - 2
    assert np.bincount(graph.depths).max() == 4


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"layers": 0}, r"lstm\[layers=0\]: expected a whole number from 1"),
        ({"hidden": -3}, r"lstm\[hidden=-3\]: expected a whole number"),
        ({"hidden": 2**40}, r"expected a whole number from 1 to 16777216"),
        ({"steps": 2.5}, "expected a whole number"),
        ({"batch": True}, "expected a whole number"),
        ({"outputs": "none"}, "expected one of last, every"),
        ({"granularity": "kernel"}, "expected one of op, cell"),
        ({"training": 1}, "expected true or false"),
        ({"mini_batches": 65}, "expected at most the batch, 64"),
        ({"depth": 3}, "has no parameter 'depth'; it has layers, steps"),
        ({"size": "huge"}, "has no size 'huge'; it has small, medium, large"),
        ({"steps": 10**6, "layers": 100, "granularity": "cell"}, "200000000 cells, more than"),
    ],
)
def test_impossible_parameters(parameters, said) -> None:
    with pytest.raises(ss.SimschedError, match=said):
        ss.workload("lstm", **parameters)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"steps": 2**24}, "more than 1000 ops; take fewer steps, or granularity=cell"),
        ({"batch": 2**24, "mini_batches": 2**24}, "more than 1000 ops"),
        ({"layers": 2**24}, "more than 1000 parameters; take fewer layers"),
        ({"layers": 2**24, "granularity": "cell"}, "cells, more than"),
        ({"batch": 2**24, "mini_batches": 2**24, "granularity": "cell"}, "cells, more than"),
    ],
)
def test_networks_without_end_are_refused(monkeypatch, parameters, said) -> None:
    monkeypatch.setattr("simsched.workloads.builder.MAX_OPS", 1000)
    with pytest.raises(ss.SimschedError, match=said):
        ss.workload("lstm", **parameters)


def test_units_without_end_are_counted_all_the_same() -> None:
    graph = ss.workload("lstm", layers=1, steps=2, hidden=2**24)
    assert np.isfinite(graph.flops).all()
