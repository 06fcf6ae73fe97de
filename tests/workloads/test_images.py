"""Convolutional networks: parameters, multiply-adds and structure against what is published."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.graph.shapes import numel, parse_shape
from simsched.workloads import family

#: Parameters (of the papers, or of public programs of them) and multiply-adds of an image.
PUBLISHED = {
    "alexnet": (60_965_224, 0.724e9),  # two towers
    "alexnet[towers=one]": (62_378_344, 1.135e9),
    "vgg19": (143_667_240, 19.63e9),
    "resnet50": (25_557_032, 4.09e9),  # stride in the 3 x 3
    "resnet50[strided=1x1]": (25_557_032, 3.86e9),
    "googlenet": (6_998_552, 1.58e9),
    "googlenet[auxiliary=true]": (13_378_280, 1.58e9),
    "inception_v3": (23_834_568, 5.71e9),
    "inception_v3[auxiliary=true]": (27_161_264, 5.71e9),
    "chaos[size=small]": (85 + 1_260 + 4_550 + 510, None),
    "chaos[size=medium]": (340 + 20_040 + 54_150 + 1_510, None),
    "chaos[size=large]": (340 + 30_060 + 216_100 + 135_150 + 1_510, None),
}
UPDATES = {"ApplyGradientDescent", "ApplyMomentum", "ApplyRMSProp", "ApplyAdam"}
#: Convolutions and products.
MULTIPLIES = ("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul")


def flops(graph: ss.TaskGraph, *kinds: str) -> float:
    return float(graph.flops[np.isin(graph.kinds.to_list(), kinds)].sum())


@pytest.mark.parametrize("spec", PUBLISHED)
def test_parameters_and_multiply_adds(spec) -> None:
    parameters, multiply_adds = PUBLISHED[spec]
    assert ss.workload(spec, batch=1).report.facts["parameters"] == parameters
    if multiply_adds is not None:
        forward = ss.workload(spec, batch=1, training=False)
        assert flops(forward, *MULTIPLIES) / 2 == pytest.approx(multiply_adds, rel=0.005)


@pytest.mark.parametrize(
    ("spec", "convolutions"),
    [
        ("alexnet", 10),
        ("alexnet[towers=one]", 5),
        ("vgg19", 16),
        ("resnet50", 53),
        ("resnet50[variant=cifar10]", 53),
        ("googlenet", 57),
        ("inception_v3", 94),
        ("chaos[size=large]", 3),
    ],
)
def test_each_convolution_has_both_gradients_but_the_first(spec, convolutions) -> None:
    kinds = Counter(ss.workload(spec, batch=1).kinds.to_list())
    assert kinds["Conv2D"] == kinds["Conv2DBackpropFilter"] == convolutions
    assert kinds["Conv2DBackpropInput"] == convolutions - kinds_on_images(spec)


def kinds_on_images(spec: str) -> int:
    """Return how many convolutions read the images: each tower's first."""
    return 2 if spec == "alexnet" else 1


@pytest.mark.parametrize("spec", PUBLISHED)
def test_training_costs_three_forward_passes_less_the_gradient_of_the_images(spec) -> None:
    # A helper is only there in training.
    graph, forward = ss.workload(spec, batch=2), ss.workload(spec, batch=2, training=False)
    helped = "auxiliary" in spec
    once = flops(graph, "Conv2D") if helped else flops(forward, "Conv2D")
    inputs = [i for i in range(graph.n_tasks) if graph.kinds[i] == "Conv2D"]
    first = sum(graph.flops[i] for i in inputs if not len(graph.predecessors.neighbours(i)))
    assert flops(graph, "Conv2DBackpropInput") == once - first
    assert flops(graph, "Conv2DBackpropFilter") == once
    if not helped:
        assert flops(graph, "MatMul") == 3 * flops(forward, "MatMul")


@pytest.mark.parametrize("spec", [*PUBLISHED, "dcgan", "inception_v3[granularity=tensorflow]"])
def test_every_parameter_is_updated_once(spec) -> None:
    graph = ss.workload(spec, batch=1)
    updates = [i for i in range(graph.n_tasks) if graph.kinds[i] in UPDATES]
    sizes = [np.prod([int(n) for n in graph.shapes[i].split(";")[0].split("x")]) for i in updates]
    assert sum(sizes) == graph.report.facts["parameters"]


@pytest.mark.parametrize(
    ("size", "image", "width"), [("small", 128, 1), ("medium", 192, 2), ("large", 256, 4)]
)
def test_googlenet_of_graphi(size, image, width) -> None:
    graph = ss.workload("googlenet", size=size)
    shapes = [graph.shapes[i] for i in range(graph.n_tasks) if graph.kinds[i] == "Conv2D"]
    assert shapes[0] == f"32x{image}x{image}x3;7x7x3x{64 * width}"
    assert shapes[-1].endswith(f";1x1x{832 * width}x{128 * width}")
    modules = {scope.split("/")[0] for scope in graph.scopes.to_list() if scope.startswith("inception_")}
    assert len(modules) == 9
    # Four branches beside each other.
    assert np.bincount(ss.workload("googlenet", size=size, training=False).depths).max() >= 4


def test_layers_of_chaos() -> None:
    graph = ss.workload("chaos[size=large]", training=False)
    shapes = {graph.kinds[i]: [] for i in range(graph.n_tasks)}
    for i in range(graph.n_tasks):
        shapes[graph.kinds[i]].append(graph.shapes[i])
    assert shapes["Conv2D"] == ["1x29x29x1;4x4x1x20", "1x26x26x20;5x5x20x60", "1x11x11x60;6x6x60x100"]
    assert shapes["MaxPool"] == ["1x26x26x20", "1x22x22x60", "1x6x6x100"]
    assert shapes["MatMul"] == ["1x900;900x150", "1x150;150x10"]


def test_towers_meet_in_the_third_convolution() -> None:
    graph = ss.workload("alexnet", batch=1, training=False)
    kinds = Counter(graph.kinds.to_list())
    assert kinds["ConcatV2"] == 2
    assert kinds["LRN"] == 4
    second = next(graph.shapes[i] for i in range(graph.n_tasks) if graph.scopes[i] == "tower1/conv2")
    assert second == "1x27x27x48;5x5x48x128"
    third = next(graph.shapes[i] for i in range(graph.n_tasks) if graph.scopes[i] == "tower1/conv3")
    assert third == "1x13x13x256;3x3x256x192"


def test_resnet_for_small_images() -> None:
    graph = ss.workload("resnet50[size=cifar10]", training=False)
    first = graph.shapes[0]
    assert first == "64x32x32x3;3x3x3x64"
    assert "MaxPool" not in graph.kinds.to_list()
    assert graph.shapes[graph.n_tasks - 2] == "64x2048;2048x10"


def test_dcgan_trains_both() -> None:
    """Both have one pass of the generator and two of the discriminator; only what is trained has gradients."""
    graph = ss.workload("dcgan", batch=4)
    kinds = Counter(graph.kinds.to_list())
    # Forward 2 x 2, and the data gradients of the generator's two transposed convolutions.
    assert kinds["Conv2D"] == 4 + 2
    # Forward 2; gradients of the discriminator's second convolution, twice for its own update, both for the other's.
    assert kinds["Conv2DBackpropInput"] == 2 + 2 + 2
    assert kinds["Conv2DBackpropFilter"] == 4 + 2
    # Two dense layers and two convolutions each, with bias; two scales and shifts in one, three in the other.
    assert kinds["ApplyAdam"] == 2 * (4 * 2) + 2 * (2 + 3)
    forward = ss.workload("dcgan", batch=4, training=False)
    assert {scope.split("/")[0] for scope in forward.scopes.to_list()} == {"generator"}


def test_dcgan_on_any_image() -> None:
    graph = ss.workload("dcgan", image=30, batch=2, training=False)
    grown = [graph.shapes[i] for i in range(graph.n_tasks) if graph.kinds[i] == "Conv2DBackpropInput"]
    assert [shape.split(";")[2] for shape in grown] == ["2x8x8x138", "2x15x15x138"]


def test_inception_has_42_sizes_of_filter_gradients() -> None:
    """Concurrency control, Sec. IV-A: 42 instances of Conv2DBackpropFilter, told apart by images and filters."""
    graph = ss.workload("inception_v3", batch=16)
    forward = [graph.shapes[i] for i in range(graph.n_tasks) if graph.kinds[i] == "Conv2D"]
    assert (len(forward), len(set(forward))) == (94, 42)


def test_inception_as_tensorflow_runs_it() -> None:
    """About 16,000 ops a step (concurrency control, Sec. IV-A)."""
    graph = ss.workload("inception_v3[size=step]")
    assert 16_000 <= graph.n_tasks < 16_500
    page = Path(__file__).parents[2] / "docs" / "workloads.md"
    assert f"has {graph.n_tasks:,} tasks" in page.read_text("utf-8")
    # 1,000 classes, a helper, no scales: those of the op graph less one for each channel.
    channels = sum(int(shape.rpartition("x")[2]) for shape in kinds_of(graph, "Conv2D"))
    assert graph.report.facts["parameters"] == 27_161_264 - channels
    kinds = Counter(graph.kinds.to_list())
    assert kinds["Conv2D"] == kinds["Conv2DBackpropFilter"] == 96
    # Weights and shift of 96 convolutions, weights and bias of two dense layers.
    assert kinds["ApplyRMSProp"] == kinds["ExpandDims"] == 2 * 98
    assert kinds["L2Loss"] == 98
    same = ss.workload("inception_v3[auxiliary=true]")
    for kind in MULTIPLIES:
        assert flops(graph, kind) == flops(same, kind)


def kinds_of(graph: ss.TaskGraph, kind: str) -> list[str]:
    return [graph.shapes[i] for i in range(graph.n_tasks) if graph.kinds[i] == kind]


def test_book_keeping_costs_the_runtime_only() -> None:
    graph = ss.workload("inception_v3[granularity=tensorflow]", batch=1)
    idle = {"Identity", "NoOp", "VariableV2", "Reshape", "Squeeze", "ExpandDims", "StopGradient"}
    rows = np.isin(graph.kinds.to_list(), list(idle))
    assert not graph.flops[rows].any()
    assert not graph.bytes_B[rows].any()
    assert (graph.bytes_B[~rows] > 0).all()
    costs = ss.CostModel().on(graph, ss.machine("knl-7250"))
    assert not costs.one_core_s[rows].any()
    assert (costs.one_core_s[~rows] > 0).all()
    assert "serial" not in " ".join(costs.notes)


def test_gradients_wait_for_all_of_their_op() -> None:
    """TensorFlow hands gradients of one op on together: a NoOp waits for all, an Identity of each for the NoOp."""
    graph = ss.workload("inception_v3[granularity=tensorflow]", batch=1)
    names = [graph.task_name(i) for i in range(graph.n_tasks)]
    place = "gradients/mixed_5b/branch1/1_5x5/"
    data = names.index(f"{place}Conv2DBackpropInput")
    group = next(i for i in graph.successors.neighbours(data).tolist() if graph.kinds[i] == "NoOp")
    before = {graph.kinds[i] for i in graph.predecessors.neighbours(group).tolist()}
    assert before == {"Conv2DBackpropInput", "Conv2DBackpropFilter"}
    assert {graph.kinds[i] for i in graph.successors.neighbours(group).tolist()} == {"Identity"}


@pytest.mark.parametrize(
    ("spec", "least"),
    [
        ("alexnet", 67),
        ("vgg19", 32),
        ("googlenet", 32),
        ("googlenet[auxiliary=true]", 65),
        ("inception_v3", 75),
        ("inception_v3[auxiliary=true]", 107),
        ("inception_v3[granularity=tensorflow]", 107),
        ("chaos[size=small]", 17),
        ("chaos[size=medium]", 17),
        ("chaos[size=large]", 21),
    ],
)
def test_images_too_small(spec, least) -> None:
    assert ss.workload(spec, image=least, batch=1).n_tasks > 0
    name = spec.partition("[")[0]
    with pytest.raises(ss.SimschedError, match=rf"{name}\[image={least - 1}\]: expected at least {least}"):
        ss.workload(spec, image=least - 1, batch=1)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("alexnet[towers=three]", "towers='three'.*one of two, one"),
        ("resnet50[variant=mnist]", "one of imagenet, cifar10"),
        ("resnet50[image=-1]", "a whole number"),
        ("googlenet[width=0]", "width=0.*a whole number"),
        ("dcgan[image=1]", "image=1"),
        ("chaos[network=tiny]", "one of small, medium, large"),
        ("vgg19[optimizer=lamb]", "one of sgd, momentum, rmsprop, adam"),
        ("vgg19[depth=16]", "depth"),
        (
            "inception_v3[granularity=tensorflow,training=false]",
            "granularity='tensorflow'.*op, for what is not",
        ),
        ("inception_v3[granularity=tensorflow,optimizer=sgd]", "optimizer='sgd'.*expected rmsprop"),
    ],
)
def test_impossible_parameters(spec, said) -> None:
    with pytest.raises(ss.SimschedError, match=said):
        ss.workload(spec)


@pytest.mark.parametrize(
    ("optimizer", "kind", "slots"),
    [
        ("sgd", "ApplyGradientDescent", 0), ("momentum", "ApplyMomentum", 1),
        ("rmsprop", "ApplyRMSProp", 2), ("adam", "ApplyAdam", 2),
    ],
)  # fmt: skip
def test_optimizers_read_and_write_their_slots(optimizer, kind, slots) -> None:
    graph = ss.workload("chaos", optimizer=optimizer)
    shapes = kinds_of(graph, kind)
    assert Counter(shape.count(";") for shape in shapes) == {1 + slots: 8}
    arrays = graph.bytes_B[np.array(graph.kinds.to_list()) == kind]
    sizes = [numel(parse_shape(shape)[0]) for shape in shapes]
    assert (arrays / (4 * np.array(sizes))).tolist() == [3 + 2 * slots] * 8


@pytest.mark.parametrize("engine", ["simpy", "native"])
def test_replayed(engine) -> None:
    for spec in ("chaos", "dcgan[batch=1]", "inception_v3[batch=1]"):
        run = ss.simulate(ss.workload(spec), "knl-7250", "critical-path", "4x2", engine=engine)
        assert run.makespan_s > 0


def test_a_network_is_the_same_each_time() -> None:
    one, two = (family("googlenet", batch=1).graph() for _ in range(2))
    assert one.kinds.to_list() == two.kinds.to_list()
    assert np.array_equal(one.flops, two.flops)
