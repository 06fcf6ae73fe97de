"""The builder: dependencies, gradients and updates, by hand."""

from __future__ import annotations

import pytest

from simsched.errors import GraphError
from simsched.workloads import Builder
from simsched.workloads.ops import add, bias_add, chunks, cross_entropy, matmul, multiply, reshaped, sigmoid


def built(net: Builder) -> list[tuple[str, str, list[int]]]:
    """Return kind, shape and predecessors of every task."""
    graph = net.graph("built")
    return [
        (graph.kinds[i], graph.shapes[i], graph.predecessors.neighbours(i).tolist())
        for i in range(graph.n_tasks)
    ]


def test_a_product_trained_by_hand() -> None:
    net = Builder()
    hidden = matmul(net.input(4, 3), net.parameter(3, 5))
    net.train([cross_entropy(matmul(sigmoid(hidden), net.parameter(5, 2)))])
    assert built(net) == [
        ("MatMul", "4x3;3x5", []),
        ("Sigmoid", "4x5", [0]),
        ("MatMul", "4x5;5x2", [1]),
        ("SparseSoftmaxCrossEntropyWithLogits", "4x2;4", [2]),
        ("Mul", "4x2;4x1", [3]),
        ("MatMul", "4x2;2x5", [4]),
        ("MatMul", "5x4;4x2", [1, 4]),
        ("SigmoidGrad", "4x5;4x5", [1, 5]),
        ("MatMul", "3x4;4x5", [7]),
        ("ApplyGradientDescent", "3x5;3x5", [8]),
        ("ApplyGradientDescent", "5x2;5x2", [6]),
    ]


def test_flops_and_bytes() -> None:
    net = Builder()
    net.train([cross_entropy(bias_add(matmul(net.input(4, 3), net.parameter(3, 5)), net.parameter(5)))])
    graph = net.graph("counted")
    found = {graph.kinds[i]: (graph.flops[i], graph.bytes_B[i]) for i in range(graph.n_tasks)}
    assert found == {
        "MatMul": (2 * 3 * 4 * 5, 4 * (12 + 20 + 15)),
        "BiasAdd": (20, 4 * (20 + 5 + 20)),
        "SparseSoftmaxCrossEntropyWithLogits": (6 * 20, 4 * (20 + 4 + 4 + 20)),
        "Mul": (20, 4 * (20 + 4 + 20)),
        "BiasAddGrad": (20, 4 * 25),
        "ApplyGradientDescent": (10, 4 * 15),
    }
    assert graph.report.facts["parameters"] == 3 * 5 + 5


def test_data_objects_are_memory_that_views_share() -> None:
    net = Builder()
    hidden = matmul(net.input(4, 3), net.parameter(3, 5))
    sigmoid(reshaped(hidden, 20))
    sigmoid(hidden)
    graph = net.graph("handed on")
    data = graph.data
    assert data is not None
    assert [graph.kinds[i] for i in range(3)] == ["MatMul", "Sigmoid", "Sigmoid"], "a reshape is no op"
    readers = [tuple(data.readers.neighbours(i)) for i in range(data.n)]
    found = set(zip(data.size_B, data.producer, readers, strict=True))
    assert found == {(48, -1, (0,)), (60, -1, (0,)), (80, 0, (1, 2)), (80, 1, ()), (80, 2, ())}


def test_gradients_of_a_value_used_twice_are_added() -> None:
    net = Builder()
    x = net.parameter(4, 2)
    net.train([cross_entropy(multiply(x, x))])
    kinds = [row[0] for row in built(net)[2:]]
    assert kinds == ["Mul", "Mul", "Mul", "AddN", "ApplyGradientDescent"]
    assert built(net)[5] == ("AddN", "4x2;4x2", [3, 4])


def test_what_is_broadcast_has_a_gradient_of_its_own_shape() -> None:
    net = Builder()
    net.train([cross_entropy(add(net.parameter(4, 2), net.parameter(2)))])
    assert ("Sum", "4x2", [2]) in built(net)


def test_chunks_are_put_together_again() -> None:
    net = Builder()
    left, right = chunks(matmul(net.input(4, 3), net.parameter(3, 4)), 2)
    net.train([cross_entropy(multiply(left, right))])
    assert ("ConcatV2", "4x2;4x2", [4, 5]) in built(net)


def test_views_are_no_tasks() -> None:
    net = Builder()
    net.train([cross_entropy(reshaped(reshaped(net.parameter(4, 2), 8), 2, 4))])
    assert [row[0] for row in built(net)] == [
        "SparseSoftmaxCrossEntropyWithLogits",
        "Mul",
        "ApplyGradientDescent",
    ]


def test_inference_keeps_nothing_for_a_backward_pass() -> None:
    net = Builder(training=False)
    sigmoid(matmul(net.input(4, 3), net.parameter(3, 5)))
    assert [row[0] for row in built(net)] == ["MatMul", "Sigmoid"]


def test_names_tell_place_and_phase() -> None:
    net = Builder()
    with net.within("dense"):
        weights = net.parameter(3, 5)
        with net.within(label="step0"):
            logits = matmul(net.input(4, 3), weights)
    net.train([cross_entropy(logits)])
    graph = net.graph("named")
    assert [graph.task_name(i) for i in (0, 3, 4)] == [
        "step0/dense/MatMul",
        "gradients/step0/dense/MatMul",
        "update/dense/ApplyGradientDescent",
    ]
    assert [graph.scopes[i] for i in (0, 3, 4)] == ["dense"] * 3


def test_a_parameter_that_nothing_uses_is_refused() -> None:
    net = Builder()
    with net.within("lonely"):
        net.parameter(3, 5)
    with pytest.raises(GraphError, match=r"parameter of \(3, 5\) in 'lonely' has no gradient"):
        net.train([cross_entropy(net.parameter(2, 2))])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda net: matmul(net.input(4, 3), net.input(4, 3)), r"product of \(4, 3\) and \(4, 3\)"),
        (lambda net: add(net.input(4, 3), net.input(4)), r"element-wise op on \(4, 3\) and \(4,\)"),
        (lambda net: chunks(net.input(4, 3), 2), "axis of 3 does not divide into 2"),
        (lambda net: reshaped(net.input(4, 3), 5), "12 elements"),
    ],
)
def test_shapes_that_do_not_fit(wrong, said) -> None:
    with pytest.raises(GraphError, match=said):
        wrong(Builder())
