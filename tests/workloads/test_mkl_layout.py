"""Conversions between layouts: where TensorFlow's passes put them, and what they move."""

from collections import Counter

import simsched as ss
from simsched.workloads import Builder
from simsched.workloads.mkl_layout import CONVERSIONS, with_conversions
from simsched.workloads.ops import add, conv2d, max_pool, multiply, relu, tanh
from simsched.workloads.workload import family


def convolution(net, x=None):
    x = net.input(2, 8, 8, 3) if x is None else x
    return conv2d(x, net.parameter(3, 3, x.dims[-1], 16))


def test_an_op_that_broadcasts_has_the_blocked_operand_converted():
    """2 x 8 x 8 x 16 elements of 4 B are read and written; the product and what follows are in TensorFlow's layout."""
    net = Builder()
    tanh(multiply(convolution(net), net.input(16)))
    graph = with_conversions(net, "net")
    assert graph.kinds.to_list() == ["Conv2D", "InputConversion", "Mul", "Tanh"]
    assert graph.bytes_B.tolist()[1] == 2 * 2 * 8 * 8 * 16 * 4


def test_of_two_images_the_one_in_the_other_layout_is_converted():
    net = Builder()
    made = convolution(net)
    tanh(add(add(made, net.input(*made.dims)), made))
    kinds = with_conversions(net, "net").kinds.to_list()
    # The first sum is blocked as both its operands are then; the second needs no conversion, the tanh does.
    assert kinds == ["Conv2D", "InputConversion", "AddV2", "AddV2", "ToTf", "Tanh"]


def test_blocked_images_pass_through_kinds_of_mkl_dnn():
    net = Builder()
    convolution(net, max_pool(relu(convolution(net)), 2, 2))
    assert not set(CONVERSIONS) & set(with_conversions(net, "net").kinds.to_list())


def test_dependencies_stay():
    """An op waits for what made its operands, through the conversions; all other tasks are as without them."""
    network = family("resnet50[size=cifar10,batch=1,granularity=tensorflow]")
    plain, laid = network.graph(), with_conversions(network.built(), "net")
    counts = Counter(laid.kinds.to_list())
    for kind in CONVERSIONS:
        counts.pop(kind)
    assert counts == Counter(plain.kinds.to_list())
    converted = [i for i, kind in enumerate(laid.kinds.to_list()) if kind in CONVERSIONS]
    for task in converted:
        assert len(laid.predecessors.neighbours(task))
        assert len(laid.successors.neighbours(task))
    assert laid.flops.sum() == plain.flops.sum()


def test_a_step_of_resnet_by_hand():
    """53 layers: 2 images before products and 2 before sums of squares and their gradients; 3 into Eigen's ops."""
    net = family("resnet50[size=cifar10,batch=1,granularity=tensorflow]").built()
    counts = Counter(with_conversions(net, "net").kinds.to_list())
    assert counts["InputConversion"] == 4 * 53
    assert counts["ToTf"] == 3 * 53


def test_a_step_of_tensorflow_has_batch_normalisation_in_pieces():
    graph = ss.workload("resnet50[size=cifar10,batch=1,granularity=tensorflow]")
    kinds = Counter(graph.kinds.to_list())
    assert kinds["Conv2D"] == kinds["Conv2DBackpropFilter"] == kinds["SquaredDifference"] == 53
    # Both means of each, and the loss.
    assert kinds["Tile"] == kinds["Mean"] == 2 * 53 + 1
    # Filters, scales and shifts of 53 layers, weights and bias of the last.
    assert kinds["ApplyMomentum"] == 3 * 53 + 2
    assert (
        graph.report.facts["parameters"]
        == ss.workload("resnet50[size=cifar10,batch=1]").report.facts["parameters"]
    )
