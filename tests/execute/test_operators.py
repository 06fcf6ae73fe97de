"""Kinds and shapes become kernels of the right sizes; what does not fit is unknown."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simsched as ss
from simsched.errors import EngineError
from simsched.execute.operators import Options, check_options, kinds, sizes
from simsched.execute.work import Work
from simsched.graph.shapes import format_shape

NO: Options = {}


@pytest.mark.parametrize(
    ("kind", "shape", "expected"),
    [
        ("aten::mm", "31x20;20x65", ("gemm", (1, 31, 65, 20, 0, 0, 0))),
        ("MatMul", "2x8x31x20;20x65", ("gemm", (1, 496, 65, 20, 0, 0, 0))),
        ("bmm", "5x31x20;5x20x65", ("gemm", (5, 31, 65, 20, 0, 0, 0))),
        ("aten::addmm", "65;31x20;20x65", ("gemm", (1, 31, 65, 20, 0, 0, 1))),
        ("addmm", "31x65;31x20;20x65", ("gemm", (1, 31, 65, 20, 0, 0, 2))),
        ("Gemm", "31x20;65x20;65", ("gemm", (1, 31, 65, 20, 0, 1, 1))),
        ("linear", "31x20;65x20", ("gemm", (1, 31, 65, 20, 0, 1, 0))),
        ("MatMulInteger", "2x3;3x4;();()", ("gemm", (1, 2, 4, 3, 0, 0, 0))),
        ("ConvInteger", "1x4x8x8;6x4x3x3;()", ("convolution", (1, 4, 8, 8, 6, 3, 3, 1, 1, 1, 1, 1, 0))),
        ("RMSNormalization", "4x8;8", ("layer_norm", (4, 8))),
        ("SkipLayerNormalization", "2x4x8;2x4x8;8;8", ("layer_norm", (8, 8))),
        ("DequantizeLinear", "2x8;8;8", ("copy", (16,))),
        ("Softplus", "2x3", ("sigmoid", (6,))),
        ("Greater", "2x3;2x3", ("not_less", (6, 1, 6))),
        ("Hardmax", "4x8", ("softmax", (4, 8))),
        ("mv", "31x20;20", ("gemm", (1, 31, 1, 20, 0, 0, 0))),
        ("mm", "31x20;21x65", None),
        ("bmm", "5x31x20;4x20x65", None),
        ("mm", "31x20", None),
        ("mm", "", None),
        ("Conv", "2x3x32x30;8x3x3x5;8", ("convolution", (2, 3, 32, 30, 8, 3, 5, 1, 1, 1, 2, 1, 1))),
        ("conv2d", "2x8x9x9;8x1x3x3", ("convolution", (2, 8, 9, 9, 8, 3, 3, 1, 1, 1, 1, 8, 0))),
        ("conv1d", "2x3x30;8x3x5", ("convolution", (2, 3, 1, 30, 8, 1, 5, 1, 1, 0, 2, 1, 0))),
        ("Conv2D", "32x8x8x384;3x3x384x64", ("convolution", (32, 384, 8, 8, 64, 3, 3, 1, 1, 1, 1, 1, 0))),
        ("Conv", "2x3x32x30;8x4x3x5", None),
        (
            "aten::convolution_backward",
            "2x8x16x15;2x3x32x30;8x3x3x3",
            ("convolution_both", (2, 3, 32, 30, 8, 3, 3, 2, 2, 1, 1, 1, 0)),
        ),
        ("aten::convolution_backward", "2x8x5x5;2x3x32x30;8x3x3x3", None),
        (
            "Conv2DBackpropInput",
            "4;3x3x384x64;32x8x8x64",
            ("convolution_data", (32, 384, 8, 8, 64, 3, 3, 1, 1, 1, 1, 1, 0)),
        ),
        (
            "Conv2DBackpropFilter",
            "32x8x8x384;4;32x8x8x64",
            ("convolution_weights", (32, 384, 8, 8, 64, 3, 3, 1, 1, 1, 1, 1, 0)),
        ),
        ("MaxPool", "2x3x9x8", ("pool_max", (6, 9, 8, 3, 3, 2, 2, 1, 1))),
        ("MaxPool", "2x9x9x3", ("pool_max", (6, 9, 9, 3, 3, 2, 2, 1, 1))),
        (
            "MaxPoolGrad",
            "2x9x9x3;2x5x5x3;2x5x5x3",
            ("pool_max_gradient", (6, 9, 9, 3, 3, 2, 2, 1, 1)),
        ),
        ("MaxPoolGrad", "2x9x9x3;2x5x5x3;2x4x4x3", None),
        ("AvgPoolGrad", "4;2x5x5x3", ("pool_average_gradient", (6, 5, 5, 3, 3, 1, 1, 1, 1))),
        ("GlobalAveragePool", "2x3x9x8", ("pool_average", (6, 9, 8, 9, 8, 1, 1, 0, 0))),
        ("aten::native_batch_norm", "2x3x9x8;3;3", ("batch_norm", (2, 3, 72))),
        ("native_batch_norm_backward", "2x3x9x8;2x3x9x8;3", ("batch_norm_gradient", (2, 3, 72))),
        ("layer_norm", "4x5x6;6;6", ("layer_norm", (20, 6))),
        ("aten::_softmax", "4x5x6", ("softmax", (20, 6))),
        ("sum", "4x5x6", ("reduce_sum", (1, 20, 6))),
        ("sum", "7", ("reduce_sum", (1, 7, 1))),
        ("AddN", "4x5;4x5;4x5", ("sum_of", (20, 3))),
        ("AddN", "4x5;4x6", None),
        ("LayerNormalizationGrad", "4x5x6;4x5x6;6", ("layer_norm_gradient", (20, 6))),
        ("gelu_backward", "4x5;4x5", ("gelu_gradient", (20, 1, 20))),
        ("cat", "2x3x8;2x5x8", ("concatenation", (2, 24, 40))),
        ("cat", "2x3;2x3", ("concatenation", (2, 3, 3))),
        ("cat", "2x3;4x5", None),
        ("embedding", "100x16;4x8", ("embedding", (100, 16, 32))),
        ("aten::relu_", "4x5", ("relu", (20,))),
        ("aten::tanh_backward", "4x5;4x5", ("tanh_gradient", (20, 1, 20))),
        ("add", "4x5;4x5", ("add", (20, 1, 20))),
        ("add", "4x5;5", ("add", (20, 1, 5))),
        ("add", "4x5;()", ("add", (20, 1, 1))),
        ("add", "5;4x5", ("add", (20, 1, 5))),
        ("add", "4x5", ("add", (20, 1, 1))),
        ("mul", "2x3x4x5;1x3x1x1", ("multiply", (120, 20, 3))),
        ("BiasAdd", "2x3x4x5;3", ("add", (120, 20, 3))),
        ("add", "3;4", None),
        ("add", "8x1;1x8", None),  # an outer sum is larger than both
        ("add", "6x1;1x3", None),
        ("add", "2x3x4;6x4", None),
        ("add", "2x3x4x5;4x1", ("add", (120, 5, 4))),
        ("add", "2x3x4x5;2x1x4x1", None),
        ("add", "2x3x4x5;2x1x1x5", ("add", (120, 1, 10, 5, 12))),
        ("add", "6x2x3x5;2x1x5", ("add", (180, 1, 10, 5, 3))),
        ("add", "2x3x4x5x6;2x1x4x1x6", None),
        ("add", "5x1;1x1x5x1", ("add", (5, 1, 5))),
        ("add", "()", ("add", (1, 1, 1))),
        (
            "aten::max_pool2d_with_indices_backward",
            "2x3x5x4;2x3x9x8;2x3x5x4",
            ("pool_max_gradient", (6, 9, 8, 3, 3, 2, 2, 1, 1)),
        ),
        (
            "max_pool2d_with_indices_backward",
            "2x3x8x8;2x3x8x8;2x3x8x8",
            ("pool_max_gradient", (6, 8, 8, 3, 3, 1, 1, 1, 1)),
        ),
        ("avg_pool2d_backward", "2x3x6x6;2x3x7x7", ("pool_average_gradient", (6, 7, 7, 2, 2, 1, 1, 0, 0))),
        ("avg_pool2d_backward", "2x3x9x9;2x3x7x7", None),
        ("avg_pool2d_backward", "2x4x9x9;2x3x9x9", None),
        (
            "_adaptive_avg_pool2d_backward",
            "2x3x1x2;2x3x9x8",
            ("pool_average_gradient", (6, 9, 8, 9, 4, 9, 4, 0, 0)),
        ),
        ("_adaptive_avg_pool2d_backward", "2x3x2x2;2x3x9x8", None),
        ("Split", "32x1024", ("split", (32, 512, 512))),
        ("Split", "16x32x256;16", ("split", (512, *[16] * 16))),
        ("split", "4x10;3", ("split", (4, 4, 4, 2))),
        ("split", "4x0", None),
        ("split", "4x99999;99999", None),
        ("Slice", "32x1024", ("slice", (32, 1024, 512))),
        ("SplitV", "();4x5", ("split", (4, 3, 2))),
        ("aten::empty_strided", "3", None),
        ("mystery", "3x3", None),
    ],
)
def test_sizes(kind: str, shape: str, expected: Any) -> None:
    assert sizes(kind, shape, nan, NO) == expected


def test_flops_tell_strides_and_padding() -> None:
    def flops(rows: int, columns: int) -> float:
        return 2.0 * 2 * 8 * 3 * 9 * rows * columns

    def windows(of: float) -> tuple[int, ...]:
        found = sizes("Conv", "2x3x32x32;8x3x3x3", of, NO)
        assert found is not None
        return found[1][7:11]

    assert windows(flops(32, 32)) == (1, 1, 1, 1)
    assert windows(flops(30, 30)) == (1, 1, 0, 0)
    assert windows(flops(16, 16)) == (2, 2, 1, 1)
    assert windows(flops(15, 15)) == (2, 2, 0, 0)
    assert windows(12345.0) == (1, 1, 1, 1)  # of no stride: what is given


def test_flops_tell_the_filter_of_a_gradient() -> None:
    found = sizes("Conv2DBackpropFilter", "2x9x9x4;4;2x9x9x5", 2.0 * 2 * 9 * 9 * 5 * 4 * 25, NO)
    assert found is not None
    assert found[1][5:7] == (5, 5)


def test_flops_tell_the_windows_of_pooling() -> None:
    def windows(kind: str, shape: str, of: float) -> tuple[int, ...]:
        found = sizes(kind, shape, of, NO)
        assert found is not None
        return found[1][3:]

    planes = 2 * 5
    assert windows("MaxPool", "2x32x32x5", 4.0 * planes * 16 * 16) == (2, 2, 2, 2, 0, 0)
    assert windows("MaxPool", "2x5x32x32", 9.0 * planes * 15 * 15) == (3, 3, 2, 2, 0, 0)
    assert windows("AvgPool", "2x7x7x5", 49.0 * planes) == (7, 7, 2, 2, 0, 0)
    assert windows("MaxPool", "2x5x32x32", 1.0) == (3, 3, 2, 2, 1, 1)  # of no window: what is given
    assert windows("MaxPoolGrad", "2x32x32x5;2x16x16x5;2x16x16x5", 4.0 * planes * 16 * 16) == (
        2,
        2,
        2,
        2,
        0,
        0,
    )
    assert windows("AvgPoolGrad", "4;2x1x1x5", 49.0 * planes) == (7, 7, 7, 7, 0, 0)
    assert windows("AvgPoolGrad", "4;2x8x8x5", 4.0 * planes * 64) == (2, 2, 2, 2, 0, 0)


def test_bytes_tell_the_images_of_a_gradient() -> None:
    def image(shape: str, of: int) -> tuple[int, ...]:
        """Return height, width, strides and padding for an output of so many elements."""
        operands = sum(int(np.prod(list(map(int, part.split("x"))))) for part in shape.split(";"))
        found = sizes("Conv2DBackpropInput", shape, nan, NO, 4.0 * (operands + of))
        assert found is not None
        return (*found[1][2:4], *found[1][7:11])

    assert image("4;3x3x4x5;2x9x9x5", 2 * 9 * 9 * 4) == (9, 9, 1, 1, 1, 1)
    assert image("4;3x3x4x5;2x8x8x5", 2 * 16 * 16 * 4) == (16, 16, 2, 2, 1, 1)
    assert image("4;3x3x4x5;2x8x8x5", 2 * 17 * 17 * 4) == (17, 17, 2, 2, 0, 0)
    assert image("4;5x5x4x5;2x14x14x5", 2 * 28 * 28 * 4) == (28, 28, 2, 2, 2, 2)
    assert image("4;11x11x4x5;2x55x55x5", 2 * 227 * 227 * 4) == (227, 227, 4, 4, 0, 0)


def test_bytes_tell_how_far_pooling_goes() -> None:
    def windows(kind: str, shape: str, of: float, moved: int) -> tuple[int, ...]:
        found = sizes(kind, shape, of, NO, 4.0 * moved)
        assert found is not None
        return found[1][1:]

    # Whole images, and windows of 2 side by side, have the same FLOPs.
    whole = windows("AvgPool", "2x8x8x5", 64.0 * 10, 10 * 64 + 10)
    assert whole[:4] == (8, 8, 8, 8)
    assert windows("MaxPool", "2x8x8x5", 64.0 * 10, 10 * 64 + 10 * 64)[2:6] == (1, 1, 1, 1)
    back = windows("AvgPoolGrad", "4;2x5x5x768", 25.0 * 2 * 25 * 768, 4 + 2 * 25 * 768 + 2 * 17 * 17 * 768)
    assert back == (17, 17, 5, 5, 3, 3, 0, 0)


def test_options_overrule_what_a_gradient_of_averages_tells() -> None:
    def windows(**own: int) -> tuple[int, ...]:
        moved = 4 + 2 * 25 * 8 + 2 * 17 * 17 * 8
        found = sizes("AvgPoolGrad", "4;2x5x5x8", 25.0 * 2 * 25 * 8, {"AvgPoolGrad": own}, 4.0 * moved)
        assert found is not None
        return found[1][1:]

    assert windows() == (17, 17, 5, 5, 3, 3, 0, 0)
    assert windows(pool_window=2) == (10, 10, 2, 2, 2, 2, 0, 0)
    assert windows(pool_stride=2, pool_padding=0) == (13, 13, 5, 5, 2, 2, 0, 0)


def test_bytes_tell_parts() -> None:
    assert sizes("Slice", "4x10", 0.0, NO, 8.0 * 12) == ("slice", (4, 10, 3))
    assert sizes("Slice", "4x10", 0.0, NO) == ("slice", (4, 10, 5))
    assert sizes("Tile", "1x10", 0.0, NO, 4.0 * (10 + 70)) == ("copy", (70,))
    assert sizes("Tile", "1x10", 0.0, NO) is None


def test_channels_last() -> None:
    assert sizes("FusedBatchNormV3", "2x9x9x5;5;5", nan, NO) == ("batch_norm", (2, 5, 81))
    assert sizes("FusedBatchNormV3", "2x5x9x9;5;5", nan, NO) == ("batch_norm", (2, 5, 81))
    assert sizes("FusedBatchNormV3", "2x5;5;5", nan, NO) == ("batch_norm", (2, 5, 1))
    assert sizes("batch_norm", "1x1x7", nan, NO) == ("batch_norm", (1, 1, 7))
    back = sizes("FusedBatchNormGradV3", "2x9x9x5;2x9x9x5;5;5;5", nan, NO)
    assert back == ("batch_norm_gradient", (2, 5, 81))
    # Filters as large as the images: of (5, 5, 128, 768) on 5 x 5 pixels.
    found = sizes("Conv2D", "2x5x5x128;5x5x128x768", 2.0 * 2 * 25 * 128 * 768, NO)
    assert found == ("convolution", (2, 128, 5, 5, 768, 5, 5, 1, 1, 0, 0, 1, 0))


def test_filters_that_are_no_squares() -> None:
    found = sizes("Conv2DBackpropFilter", "2x9x9x4;4;2x9x9x5", 2.0 * 2 * 9 * 9 * 5 * 4 * 7, NO)
    assert found is not None
    assert found[1][5:7] == (1, 7)


def test_local_response() -> None:
    assert sizes("LRN", "2x9x9x5", 2.0 * 3 * 810, NO) == ("local_response", (162, 5, 3))
    assert sizes("LRN", "2x9x9x5", nan, NO) == ("local_response", (162, 5, 5))
    own = {"LRN": {"channels": 7}}
    assert sizes("LRN", "2x9x9x5", 2.0 * 3 * 810, own) == ("local_response", (162, 5, 7))
    three = ";".join(["2x9x9x5"] * 3)
    assert sizes("LRNGrad", three, 4.0 * 3 * 810, NO) == ("local_response_gradient", (162, 5, 3))
    assert sizes("LRNGrad", "2x9x9x5;2x9x9x5", nan, NO) is None


def test_numbers_beside_tensors_are_no_addends() -> None:
    assert sizes("ApplyRMSProp", "4x5;4x5;4x5;4x5;()", nan, NO) == ("sum_of", (20, 4))
    assert sizes("AddN", "();()", nan, NO) == ("sum_of", (1, 2))
    assert sizes("ApplyMomentum", "4x5;4x5;5", nan, NO) is None


@pytest.mark.usefixtures("native")
def test_what_neither_computes_nor_moves_takes_no_time() -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0] * 2, kinds=["Identity", "relu"], shapes=["", "4"], flops=[0.0, 4.0], bytes_B=[0.0, 32.0]
    )
    assert Work.of(graph).notes == ("kernels: 1 spin, 1 relu",)


@pytest.mark.usefixtures("native")
def test_unknown_kinds_are_told_from_what_does_nothing() -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0] * 3, kinds="mystery", flops=[0.0, 1.0, np.nan], bytes_B=[0.0, 0.0, 0.0]
    )
    assert Work.of(graph).notes[1].startswith("2 tasks have no kernel")


@pytest.mark.usefixtures("native")
def test_tasks_of_other_bytes_have_other_kernels() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, kinds=["Slice"] * 3, shapes=["4x10"] * 3, flops=[0.0] * 3, bytes_B=[96.0, 160.0, 96.0]
    )
    first, second, third = Work.of(graph).kernel_of
    assert first == third != second


def test_options_say_what_shapes_do_not() -> None:
    pool = sizes(
        "aten::max_pool2d",
        "2x3x8x8",
        nan,
        {"MaxPool": {"pool_window": 5}, "max_pool2d": {"pool_window": 2, "pool_padding": 0}},
    )
    assert pool == ("pool_max", (6, 8, 8, 2, 2, 2, 2, 0, 0))
    conv = sizes("Conv", "2x3x32x32;8x3x3x3", 2.0 * 2 * 8 * 3 * 9 * 30 * 30, {"Conv": {"stride": 2}})
    assert conv is not None
    assert conv[1][7:11] == (2, 2, 1, 1)


def test_bytes_tell_strides_of_pooling_and_lengths_of_slices() -> None:
    def pool(each_B: float, outputs: float, **own: int) -> tuple[int, ...]:
        found = sizes(
            "max_pool2d", "2x3x8x8", nan, {"max_pool2d": own}, 4.0 * 2 * 3 * 64 + 6 * each_B * outputs
        )
        assert found is not None
        return found[1][3:]

    assert pool(4, 16) == (3, 3, 2, 2, 1, 1)
    assert pool(4, 64) == (3, 3, 1, 1, 1, 1)
    assert pool(12, 64) == (3, 3, 1, 1, 1, 1)  # with indices
    assert pool(4, 9) == (3, 3, 2, 2, 0, 0)
    assert pool(4, 49) == (2, 2, 1, 1, 0, 0)
    assert pool(4, 64, pool_stride=2) == (3, 3, 2, 2, 1, 1)
    assert pool(4, 1234) == (3, 3, 2, 2, 1, 1)
    assert sizes("Slice", "8x100", nan, NO, 8.0 * 8 * 30) == ("slice", (8, 100, 30))
    assert sizes("Slice", "8x100", nan, NO, 1e30) == ("slice", (8, 100, 100))
    assert sizes("narrow", "8x100", nan, NO, 0.0) is None  # a view
    assert sizes("split", "8x100", nan, NO, 0.0) is None


@pytest.mark.usefixtures("native")
def test_tasks_of_one_shape_and_other_flops_run_other_kernels() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3,
        kinds="Conv",
        shapes="2x3x32x32;8x3x3x3",
        flops=[2.0 * 2 * 8 * 3 * 9 * outputs for outputs in (32 * 32, 16 * 16, 32 * 32)],
    )
    work = Work.of(graph)
    outputs = [work.kernels[kernel].output for kernel in work.kernel_of]
    assert outputs == [2 * 8 * 32 * 32, 2 * 8 * 16 * 16, 2 * 8 * 32 * 32]


@pytest.mark.usefixtures("native")
def test_kernels_that_do_something_else_are_named() -> None:
    graph = ss.TaskGraph.from_edges([1.0] * 4, kinds=["Cos", "sin", "aten::where", "Cos"], shapes="8")
    assert Work.of(graph).notes[1:] == (
        "3 tasks run a kernel that does something else and costs about the same: Cos as sine (2), "
        "aten::where as multiply (1)",
    )


@pytest.mark.usefixtures("native")
def test_tasks_to_copy_unknown_bytes_are_said_to_spin() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, kinds=["memory", "mystery", "memory"], bytes_B=[np.nan, 4.0, 800.0]
    )
    notes = Work.of(graph, unknown="memory").notes
    assert notes[0] == "kernels: 2 spin, 1 memory"
    assert notes[2].startswith("2 of the tasks that copy bytes spin for their estimated seconds")


@pytest.mark.usefixtures("native")
def test_tasks_of_one_kind_and_shape_share_a_kernel() -> None:
    graph = ss.TaskGraph.from_edges(
        [1.0] * 5, kinds=["add", "add", "Add", "add", "relu"], shapes=["4;4", "4;4", "4;4", "5;5", "4"]
    )
    work = Work.of(graph)
    assert work.kernel_of[0] == work.kernel_of[1] == work.kernel_of[2]
    assert len(work.kernels) == 3
    assert work.notes == ("kernels: 4 add, 1 relu",)


@pytest.mark.usefixtures("native")
def test_shapes_beyond_all_memory_are_unknown() -> None:
    graph = ss.TaskGraph.from_edges(
        [1e-6] * 3,
        kinds=["mm", "relu", "relu"],
        shapes=["2000000x1000000;1000000x1000000", "0x4", "99999999999"],
    )
    assert (Work.of(graph).kernel_of == -1).all()


dims = st.lists(st.integers(0, 5), max_size=4)


@given(
    st.sampled_from(kinds()), st.lists(dims, max_size=4), st.sampled_from([nan, 0.0, 1.0, 1e30]), st.data()
)
def test_any_shapes_become_a_kernel_or_none(
    native: Any, kind: str, shape: Any, flops: float, data: st.DataObject
) -> None:
    found = sizes(kind, format_shape(shape), flops, NO)
    if found is None:
        return
    try:
        kernel = native.kernel(found[0], list(found[1]))
    except ValueError:
        return
    # Whatever it is, its parts stay within their operands (under the address sanitizer this says something).
    inputs = [np.ones(n, np.float32) for n in kernel.inputs]
    kernel.apply(inputs, np.empty(kernel.output, np.float32), data.draw(st.integers(1, 4)))


@pytest.mark.parametrize(
    "options", [{"Conv": {"stride": 0}}, {"Conv": {"padding": -2}}, {"Conv": {"stride": 1.5}}]
)
def test_impossible_options(options: Any) -> None:
    with pytest.raises(EngineError, match="Conv"):
        check_options(options)
