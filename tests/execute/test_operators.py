"""Kinds and shapes become kernels of the right sizes; what does not fit is unknown."""

from __future__ import annotations

import tomllib
from collections import Counter
from importlib.resources import files
from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.errors import EngineError
from simsched.execute.kernels.operators import Options, check_options, kinds, sizes
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
    "options",
    [
        {"Conv": {"stride": 0}},
        {"Conv": {"padding": -2}},
        {"Conv": {"stride": 1.5}},
        {"Conv": {"stride": True}},
        {"Conv": 3},
        ["Conv"],
    ],
)
def test_impossible_options(options: Any) -> None:
    with pytest.raises(EngineError, match="Conv"):
        check_options(options)


def test_no_kind_stands_in_the_table_twice() -> None:
    """The later entry would take the place of the other, which nobody would ever see."""
    table = tomllib.loads((files("simsched.execute.kernels") / "operators.toml").read_text("utf-8"))
    listed = [
        kind for entry in table["operator"] for name in ("kinds", "alike") for kind in entry.get(name, ())
    ]
    for rule in ("unary", "binary"):
        listed += [kind for kernels in table[rule].values() for every in kernels.values() for kind in every]
    assert [kind for kind, often in Counter(listed).items() if often > 1] == []
    assert sorted(listed) == kinds()
