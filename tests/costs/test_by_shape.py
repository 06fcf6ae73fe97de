"""Seconds by kind and shape, the default where nothing was recorded."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.kernels import Convolution, Team, convolution_s, elementwise_s
from simsched.costs.kernels.convolution import convolution_work
from simsched.costs.kernels.library import libraries, parameters
from simsched.costs.kernels.team import team_s, widths_s
from simsched.costs.shapes.convolutions import NO_FILTER, UNKNOWN, _completed, _operands, _windows
from simsched.costs.shapes.kinds import Seen, kernel_of, work_of
from simsched.costs.shapes.parts import Product, _convolved
from simsched.costs.shapes.recurrent import recurrent
from simsched.errors import CostError
from simsched.graph import ImportReport
from simsched.graph.shapes import parse_shape

ROOT = Path(__file__).resolve().parents[2]
KNL = ss.machine("knl-7250")
NAN = float("nan")


def costs(kinds, shapes, machine=KNL, **options):
    columns = {key: options.pop(key) for key in ("flops", "bytes_B", "report") if key in options}
    graph = ss.TaskGraph.from_edges([NAN] * len(shapes), kinds=kinds, shapes=shapes, **columns)
    return ss.CostModel(**options).on(graph, machine)


def seconds(kind, shape, width=64, flops=NAN, bytes_B=NAN, **options):
    return costs([kind], [shape], flops=[flops], bytes_B=[bytes_B], **options).seconds(width)[0]


def convolved(direction, width=64, **changes):
    sizes = {
        "batch": 8,
        "channels": 64,
        "height": 56,
        "width": 28,
        "filters": 128,
        "filter_height": 3,
        "filter_width": 3,
    }
    found = Convolution(**{**sizes, "stride": (2, 2), "padding": (1, 1), **changes})
    return convolution_s(found, Team(KNL, width), direction, resident=False), found.flops


# Convolutions, as each framework writes them: 8 images of 56 x 28, 64 channels to 128, 3 x 3, stride 2, padding 1.

NHWC = {"x": (8, 56, 28, 64), "w": (3, 3, 64, 128), "dy": (8, 28, 14, 128)}
NCHW = {"x": (8, 64, 56, 28), "w": (128, 64, 3, 3), "dy": (8, 128, 28, 14)}


@pytest.mark.parametrize(
    ("kind", "shape", "direction"),
    [
        ("Conv2D", (NHWC["x"], NHWC["w"]), "forward"),
        ("_FusedConv2D", (NHWC["x"], NHWC["w"], (128,)), "forward"),
        ("aten::conv2d", (NCHW["x"], NCHW["w"]), "forward"),
        ("aten::convolution", (NCHW["x"], NCHW["w"], (128,)), "forward"),
        ("Conv", (NCHW["x"], NCHW["w"]), "forward"),
        ("Conv2D", (NCHW["x"], NCHW["w"]), "forward"),
        ("Conv2DBackpropInput", (NHWC["x"], NHWC["w"], NHWC["dy"]), "data"),
        ("Conv2DBackpropInput", (NHWC["x"], NHWC["w"]), "data"),
        ("Conv2DBackpropFilter", (NHWC["x"], (4,), NHWC["dy"]), "weights"),
        ("Conv2DBackpropFilter", (NHWC["x"], NHWC["w"], NHWC["dy"]), "weights"),
        ("Conv2DBackpropFilter", (NHWC["x"], NHWC["w"]), "weights"),
    ],
)
def test_flops_tell_stride_and_padding(kind, shape, direction):
    expected, flops = convolved(direction)
    assert seconds(kind, shape, flops=flops) == pytest.approx(expected, rel=1e-12)


def test_both_gradients_of_pytorch_are_two_convolutions():
    shape = (NCHW["dy"], NCHW["x"], NCHW["w"])
    expected = sum(convolved(direction)[0] for direction in ("data", "weights"))
    assert seconds("aten::convolution_backward", shape) == pytest.approx(expected, rel=1e-12)


def test_bytes_tell_the_images_of_a_data_gradient():
    """TensorFlow's first operand is their size, a vector of four."""
    shape = ((4,), NHWC["w"], NHWC["dy"])
    expected, flops = convolved("data")
    found_B = 4.0 * sum(map(np.prod, [*shape, NHWC["x"]]))
    assert seconds("Conv2DBackpropInput", shape, flops=flops, bytes_B=found_B) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize("padding", ["1", "1x1", "1x1x1x1"])
def test_attributes_tell_stride_and_padding(padding):
    text = f"8x64x56x28;128x64x3x3;stride=2;padding={padding}"
    assert seconds("Conv", text) == pytest.approx(convolved("forward")[0], rel=1e-12)


def test_what_nothing_tells_is_guessed_and_said():
    found = costs(["Conv", "Conv2DBackpropFilter"], ["8x64x56x28;128x64x3x3", "8x56x28x64;4;8x56x28x128"])
    same, _ = convolved("forward", stride=(1, 1))
    assert found.seconds(64)[0] == pytest.approx(same, rel=1e-12)
    assert {f"1 {UNKNOWN}", f"1 {NO_FILTER}"} <= set(found.notes)


def test_groups_and_depthwise_convolutions():
    whole, grouped = (convolved("forward", groups=groups)[0] for groups in (1, 4))
    assert seconds("Conv", "8x64x56x28;128x16x3x3;stride=2;padding=1") == pytest.approx(grouped, rel=1e-12)
    depthwise = seconds("DepthwiseConv2dNative", "8x56x28x64;3x3x64x1")
    assert depthwise == seconds("Conv", "8x64x56x28;64x1x3x3")
    assert depthwise < grouped < whole


def test_a_transposed_convolution_is_a_data_gradient():
    made = Convolution(8, 64, 56, 28, 128, 4, 4, (2, 2), (1, 1))
    shape = "8x128x28x14;128x64x4x4;stride=2"
    expected, forward, weights = (
        convolution_s(made, Team(KNL, 64), direction, resident=False)
        for direction in ("data", "forward", "weights")
    )
    assert seconds("ConvTranspose", shape) == pytest.approx(expected, rel=1e-12)
    assert seconds("aten::convolution", f"{shape};transposed=1") == pytest.approx(expected, rel=1e-12)
    backward = seconds("aten::convolution_backward", f"8x64x56x28;{shape};transposed=1")
    assert backward == pytest.approx(forward + weights, rel=1e-12)


def test_flops_of_one_gradient_tell_that_images_need_none():
    shape = (NCHW["dy"], NCHW["x"], NCHW["w"])
    expected, flops = convolved("weights")
    assert seconds("aten::convolution_backward", shape, flops=flops) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("images", "attributes", "like"),
    [
        ("64x28;128x64x3", "stride=2;padding=1", "64x1x28;128x64x1x3;stride=1x2;padding=0x1"),
        ("64x28;128x64x3", "stride=2;padding=1x1", "64x1x28;128x64x1x3;stride=1x2;padding=0x1"),
        ("64x56x28;128x64x3x3", "padding=2;dilation=2", "64x54x26;128x64x3x3;padding=2"),
        ("64x56x28;128x64x2x2", "stride=1;padding=0x0x1x1", "64x56x28;128x64x2x2;padding=0;stride=1"),
    ],
    ids=["one direction", "both sides of one", "dilated", "uneven"],
)
def test_windows_of_attributes(images, attributes, like):
    assert seconds("Conv", f"8x{images};{attributes}") == seconds("Conv", f"8x{like}")


@pytest.mark.parametrize(
    "shape", ["8x64x28x28;64x64x3x3;groups=0", "8x64x28x28;64x64x3x3;stride=0;padding=0"]
)
def test_attributes_of_zero_say_nothing(shape):
    assert seconds("Conv", shape) > 0


def test_the_images_of_a_data_gradient_need_not_be_a_multiple_of_the_output():
    """TensorFlow's first operand is their size; filters and gradient may be taken for each other by FLOPs alone."""
    flops, shape = 2.0 * 9 * 9 * 5 * 5 * 5 * 10, ((4,), (5, 5, 5, 10), (1, 9, 9, 10))
    found_B = 4.0 * (sum(map(np.prod, shape)) + 13 * 13 * 5)
    expected = convolution_s(Convolution(1, 5, 13, 13, 10, 5, 5), Team(KNL, 1), "data", resident=False)
    assert seconds("Conv2DBackpropInput", shape, width=1, flops=flops, bytes_B=found_B) == pytest.approx(
        expected, rel=1e-12
    )


@pytest.mark.parametrize(
    "name", ["alexnet", "chaos", "dcgan", "googlenet", "inception_v3", "pathnet", "resnet50"]
)
def test_convolutions_of_workloads_do_the_operations_that_these_count(name):
    """What the shapes are read as has the strides, padding and images of the op, by its FLOPs and bytes."""
    graph, read = ss.workload(name), set()
    for kind, shape, flops, bytes_B in zip(
        graph.kinds.to_list(),
        graph.shapes.to_list(),
        graph.flops.tolist(),
        graph.bytes_B.tolist(),
        strict=True,
    ):
        kernel = kernel_of(kind)
        if kernel is None or kernel.rule != "convolution" or (kind, shape) in read:
            continue
        seen = Seen(kind, kernel, parse_shape(shape), {}, flops, bytes_B)
        found, guessed = _completed(_operands(seen), seen)
        assert (found.flops, guessed) == (flops, ""), (kind, shape)
        traffic_B = found.input_B + found.output_B + found.weights_B
        # Gradients read the four numbers of a size, too.
        assert traffic_B == pytest.approx(bytes_B, abs=16), (kind, shape)
        read.add((kind, shape))
    assert read


def test_windows_are_listed_once_for_tasks_that_differ_in_flops_alone():
    _, flops = convolved("forward")
    every = flops * (1 + 1e-3 * np.random.default_rng(0).random(500))
    listed, works = _windows.cache_info().misses, _convolved.cache_info().misses
    found = costs(["Conv"] * 500, ["8x64x56x28;128x64x3x3"] * 500, flops=every)
    assert len(set(found.seconds(64).tolist())) == 1
    assert _windows.cache_info().misses <= listed + 1
    assert _convolved.cache_info().misses <= works + 1


# Products


@pytest.mark.parametrize(
    ("kind", "shape", "flops"),
    [
        ("MatMul", "48x64;64x80", NAN),
        ("aten::mm", "48x64;64x80", NAN),
        ("aten::addmm", "80;48x64;64x80", NAN),
        ("aten::linear", "48x64;80x64;80", NAN),
        ("aten::linear", "6x8x64;80x64", NAN),
        ("MatMul", "48x64;80x64", NAN),
        ("MatMul", "64x48;64x80", 2.0 * 48 * 64 * 80),
        ("MatMul", "80x64;64x48", NAN),
    ],
)
def test_products_are_read_in_every_order(kind, shape, flops):
    assert seconds(kind, shape, flops=flops) == seconds("MatMul", "48x64;64x80")


def test_batches_of_products_divide_further():
    one, many = (costs(["aten::bmm"], [f"{batch}x64x64;{batch}x64x64"]) for batch in (1, 64))
    assert many.seconds(1)[0] == pytest.approx(64 * one.seconds(1)[0], rel=1e-9)
    assert many.seconds(1)[0] / many.seconds(64)[0] > 4 * one.seconds(1)[0] / one.seconds(64)[0]


def test_attention_is_two_products_and_a_softmax():
    shape = "4x8x128x64;4x8x128x64;4x8x128x64"
    found = seconds("scaled_dot_product_attention", shape)
    products = seconds("aten::bmm", "32x128x64;32x64x128") + seconds("aten::bmm", "32x128x128;32x128x64")
    assert products < found < 3 * products


def test_gradients_of_attention_are_five_products_and_two_walks():
    """Their first operand is the gradient of the result; on one thread they took 2.35 times as long as that."""
    operand = "4x8x256x64"
    forward = seconds("scaled_dot_product_attention", ";".join([operand] * 3))
    kind = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    backward = seconds(kind, ";".join([*[operand] * 5, "4x8x256"]))
    assert 2.0 * forward < backward < 3.0 * forward
    fewer_keys = ";".join([operand, operand, "4x8x128x64", "4x8x128x64", operand, "4x8x256"])
    assert 0.5 * backward < seconds(kind, fewer_keys) < 0.65 * backward


# Streams


def test_element_wise_ops_read_and_write_their_operands():
    found = seconds("Add", "1024x1024;1024x1024", width=16)
    team, params = Team(KNL, 16), parameters()
    assert found == pytest.approx(elementwise_s(1 << 20, team, 3, params, resident=False), rel=0.02)
    assert seconds("Add", "1024x1024;1024", width=16) < found
    assert seconds("Add", "1024x1024;1024x1024", width=16, bytes_B=24 * 2**20) > found


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("aten::sum", "1024x1024"), ("Softmax", "1024x1024"), ("BatchNormalization", "8x64x56x56;64;64"),
        ("MaxPool", "8x64x56x56"), ("aten::embedding", "30000x512;8x128"), ("Concat", "640x640;640x640"),
        ("LayerNormalization", "512x768;768;768"),
    ],
)  # fmt: skip
def test_every_family_has_its_kernel(kind, shape):
    found = costs([kind], [shape])
    assert found.table.covers.all()
    assert 0 < found.seconds(8)[0] < found.seconds(1)[0]


def test_optimizers_write_all_that_they_update():
    """Adam reads a parameter, two moments and a gradient, and writes all but the latter; a list is one array."""
    n, unit = "1024x1024", 4 * 2.0**20
    works = [
        work_of(kind, shape, NAN, NAN, parameters()).ways[0][0]
        for kind, shape in (
            ("aten::_fused_adam_", f"{n};{n};{n};{n};()"),
            ("aten::_fused_adam_", ";".join(["512x1024;256x1024;256x1024"] * 4)),
            ("ApplyMomentum", f"{n};{n};();{n}"),
        )
    ]
    assert [work.named_B / unit for work in works] == [7, 7, 5]
    # What is written was read: no line is fetched for it.
    assert all(work.moved_B == work.named_B and work.pieces == works[0].pieces for work in works)


def test_batch_normalisation_reads_its_input_twice_only_in_training():
    net, other = (ss.workload("resnet50", batch=8, training=training) for training in (True, False))
    made = []
    for graph in (net, other):
        (kind,) = [i for i, name in enumerate(graph.kinds.labels) if name == "FusedBatchNormV3"]
        task = int(np.flatnonzero(graph.kinds.codes == kind)[0])
        found = costs([graph.kinds[task]], [graph.shapes[task]], flops=[graph.flops[task]])
        made.append(found.traffic_B[0])
    assert made[0] == pytest.approx(4 / 3 * made[1], rel=0.01)
    assert seconds("BatchNormalization", "8x64x56x56;64;64;64;64") == pytest.approx(
        seconds("Relu", "8x64x56x56"), rel=1e-3
    )


def test_an_embedding_copies_rows_not_the_table():
    assert seconds("aten::embedding", "30000x512;64") == seconds("aten::embedding", "300x512;64")


# What keeps the formula


@pytest.mark.parametrize("shape", ["", "3x3", "5x7;9x11", "0x5;5x0", "50x70;70x50", "3x4x5x6;4x3x6x5"])
def test_unknown_shapes_follow_the_curve(shape):
    graph = ss.TaskGraph.from_edges([NAN], kinds="MatMul", shapes=[shape], flops=[1e9])
    found, curve = ss.CostModel().on(graph, KNL), ss.CostModel(library="tensorflow-1.9").on(graph, KNL)
    assert [found.seconds(w)[0] for w in (1, 8, 64)] == [curve.seconds(w)[0] for w in (1, 8, 64)]
    assert any("not those of their kind" in note for note in found.notes) == bool(shape)


def test_recorded_seconds_and_given_curves_come_first():
    graph = ss.TaskGraph.from_edges([3.0, NAN], kinds="MatMul", shapes="64x64;64x64", flops=[1e9] * 2)
    assert ss.CostModel().on(graph, KNL).seconds(1)[0] == 3
    given = ss.CostModel({"MatMul": ss.Curve(0.5)}).on(graph, KNL)
    assert given.seconds(1)[1] == 1e9 / KNL.core_flops


def test_absurd_shapes_are_no_ops():
    huge = "x".join(["9" * 18] * 40)
    found = costs("MatMul", [f"{huge};{huge}"], flops=[1e9])
    assert not found.table.covers.any()
    assert np.isfinite(found.seconds(8)).all()


# Libraries


def test_a_library_is_named_by_user_graph_machine_in_this_order():
    shape = ["512x64;64x512"]
    slow = ImportReport("mine", facts={"library": "plain"})
    default, user, graph = (
        costs("MatMul", shape, **options)
        for options in ({}, {"library": "eigen", "report": slow}, {"report": slow})
    )
    assert default.seconds(1)[0] < user.seconds(1)[0] < graph.seconds(1)[0]
    assert "1 task takes what eigen takes for their kinds and shapes (as chosen)" in user.notes
    assert "1 task takes what plain takes for their kinds and shapes (as the graph says)" in graph.notes
    assert any("onednn" in note and "by default" in note for note in default.notes)


def test_the_file_of_a_machine_names_a_library(tmp_path):
    path, text = tmp_path / "mine.toml", (ROOT / "hwmodels" / "generic.toml").read_text("utf-8")
    path.write_text(text.replace("\ntitle", '\nlibrary = "mkl"\ntitle', 1), "utf-8")
    found = costs("MatMul", ["64x64;64x64"], ss.machine(path))
    assert any("mkl" in note and "as the file of" in note for note in found.notes)


def test_an_unknown_library_lists_the_known_ones():
    with pytest.raises(
        CostError, match=r"did you mean onednn\? there are onednn, mkl, libxsmm, eigen, graphi, plain, tensor"
    ):
        ss.CostModel(library="oneddn")


@pytest.mark.parametrize("library", libraries())
def test_every_library_times_every_op(library):
    found = costs(
        ["MatMul", "Conv", "Relu", "Softmax"], ["64x64;64x64", "8x16x9x9;16x16x3x3", "99x99", "99x99"],
        library=library, flops=[1e6] * 4, bytes_B=[1e6] * 4,
    )  # fmt: skip
    for width in (1, 7, 68):
        assert (found.seconds(width) > 0).all()
        assert np.isfinite(found.seconds(width)).all()


# Properties

sizes = st.integers(1, 200)


@given(
    st.lists(sizes, min_size=4, max_size=4),
    st.sampled_from(["MatMul", "Conv", "Add", "Softmax", "aten::linear"]),
)
def test_seconds_are_positive_finite_and_no_less_for_more_work(dims, kind):
    n, a, b, c = dims
    small, large = (
        {
            "MatMul": f"{m}x{a};{a}x{b}", "aten::linear": f"{m}x{a};{b}x{a}", "Add": f"{m}x{a};{m}x{a}",
            "Softmax": f"{m}x{b}", "Conv": f"{m}x{a}x{b}x{c};{c}x{a}x1x1",
        }[kind]
        for m in (n, 2 * n)
    )  # fmt: skip
    less, more = (costs([kind], [shape], ss.machine("generic[cores=8]")) for shape in (small, large))
    # On more threads a larger op may divide where a small one does not.
    assert less.seconds(1)[0] <= more.seconds(1)[0] < np.inf
    for width in range(1, 9):
        assert 0 < less.seconds(width)[0] < np.inf
        assert less.seconds(width)[0] <= less.seconds(1)[0]
        assert less.seconds_of(0, width) == less.seconds(width)[0]


@given(
    st.integers(1, 40), st.integers(1, 99), st.integers(3, 40), st.integers(1, 99),
    st.sampled_from(["forward", "data", "weights"]), st.integers(1, 8),
)  # fmt: skip
def test_all_widths_at_once_are_each_by_itself(batch, channels, size, filters, direction, width):
    machine = ss.machine("generic[cores=8]")
    work = convolution_work(Convolution(batch, channels, size, size, filters, 3, 3), direction, parameters())
    assert widths_s([work], machine)[0, width] == pytest.approx(team_s(work, Team(machine, width)), rel=1e-12)


def test_both_engines_take_the_same_seconds():
    rng = np.random.default_rng(1)
    kinds = ["MatMul", "Conv2D", "Relu", "aten::softmax"] * 6
    shapes = ["64x512;512x512", "8x28x28x32;3x3x32x32", "512x512", "512x512"] * 6
    edges = [(i, j) for i in range(24) for j in range(i + 1, 24) if rng.random() < 0.1]
    graph = ss.TaskGraph.from_edges([NAN] * 24, edges, kinds=kinds, shapes=shapes)
    for policy, layout in (("critical-path", "4x4"), ("corun", None)):
        runs = [ss.simulate(graph, KNL, policy, layout, engine=engine) for engine in ("simpy", "native")]
        assert runs[0].start_s.tolist() == runs[1].start_s.tolist()
        assert runs[0].finish_s.tolist() == runs[1].finish_s.tolist()


def test_many_tasks_of_few_ops_have_few_rows():
    """Operations tell nothing of a stream."""
    shapes = [f"{8 * (i % 5 + 1)}x64;64x64" for i in range(1000)]
    found = costs("Concat", shapes, flops=np.arange(1000.0) + 1)
    assert found.table.covers.all()
    assert len(found.table.seconds_s) == 5


def test_kinds_of_shapes_are_known_to_the_curves():
    """What has a kernel by shape has a curve for tasks of unknown shapes."""
    import tomllib
    from importlib.resources import files

    table = tomllib.loads((files("simsched.costs.shapes") / "kinds.toml").read_text("utf-8"))
    kinds = [kind for row in table["kernel"] for kind in row.get("kinds", ())]
    assert len(kinds) == len(set(kinds))
    assert [kind for kind in kinds if ss.CostModel().curve(kind).family == "serial"] == []
    assert work_of("mine", "3x3", NAN, NAN, parameters()) is None


X, W, R = (5, 8, 32), (1, 256, 32), (1, 256, 64)


@pytest.mark.parametrize(
    ("kind", "shape", "products"),
    [
        ("lstm", (X, W, R), [(40, 256, 32), *[(8, 256, 64)] * 5]),
        ("lstm", (X, W, R, (1, 512), (5,), (1, 8, 64)), [(40, 256, 32), *[(8, 256, 64)] * 5]),
        ("lstm", (X, (2, 256, 32), (2, 256, 64), (2, 512)), [(40, 256, 32), *[(8, 256, 64)] * 5] * 2),
        ("gru", (X, (1, 192, 32), R, (1, 384)), None),
        ("rnn", (X, (1, 64, 32), (1, 64, 64)), [(40, 64, 32), *[(8, 64, 64)] * 5]),
        # PyTorch's layers: two of them, and with the batch first, as the state tells.
        ("lstm", (X, (2, 8, 64), (2, 8, 64), (256, 32), (256, 64), (256,), (256,), (256, 64), (256, 64)),
         [(40, 256, 32), *[(8, 256, 64)] * 5, (40, 256, 64), *[(8, 256, 64)] * 5]),
        ("gru", ((8, 5, 32), (1, 8, 64), (192, 32), (192, 64)), [(40, 192, 32), *[(8, 192, 64)] * 5]),
        # Cells, one of a batch that is as large as its state.
        ("lstm_cell", ((64, 32), (64, 64), (64, 64), (256, 32), (256, 64)), [(64, 256, 32), (64, 256, 64)]),
        ("gru_cell", ((8, 32), (8, 64), (192, 32), (192, 64), (192,), (192,)), [(8, 192, 32), (8, 192, 64)]),
        ("lstm_cell", ((64, 32), (64, 64), (256, 32), (256, 64)), None),
        ("lstm", (X, W, (1, 256, 63)), None),
        ("lstm", (X,), None),
        ("lstm", ((5, 0, 32), W, R), None),
        ("lstm", ((10**5, 8, 32), W, R), None),
    ],
)  # fmt: skip
def test_recurrent_layers_and_cells_are_a_product_with_the_inputs_and_one_with_the_state_at_each_step(
    kind, shape, products
):
    parts = recurrent(kind, shape, 20.0)
    assert (parts and [part[1:] for part in parts if isinstance(part, Product)]) == products


def test_a_recurrent_layer_takes_what_it_takes_written_out():
    whole = ss.TaskGraph.from_edges(
        [NAN],
        kinds="LSTM",
        shapes="20x64x512;1x2048x512;1x2048x512",
        bytes_B=[4 * 2 * (20 * 64 * 512 + 2048 * 512)],
    )
    out = ss.TaskGraph.from_edges(
        [NAN] * 21, [(i, i + 1) for i in range(20)], kinds="MatMul",
        shapes=["1280x512;512x2048", *["64x512;512x2048"] * 20],
    )  # fmt: skip
    for cores in (1, 96):
        layer_s, products_s = (
            ss.simulate(graph, "graviton4", "sequential", layout=f"1x{cores}").makespan_s
            for graph in (whole, out)
        )
        assert products_s < layer_s < 1.5 * products_s
    assert not [
        note for note in ss.simulate(whole, "graviton4", "sequential").notes if "elements of 2" in note
    ]
