"""Strides, padding and the like that readers write behind the shapes of inputs."""

import json
from pathlib import Path

import onnx
import pytest

import simsched as ss
from simsched.traces.onnx.flops import shape_attributes as of_onnx
from simsched.traces.pytorch.aten import shape_attributes as of_pytorch
from simsched.traces.tensorflow.flops import shape_attributes as of_tensorflow

SAMPLES = Path(__file__).parents[2] / "traces" / "samples"
IMAGES, FILTERS = (8, 3, 225, 225), (64, 3, 7, 7)
STRIDED = {"strides": (2, 2), "pads": (3, 3, 3, 3)}


@pytest.mark.parametrize(
    ("op", "inputs", "told", "expected"),
    [
        ("Conv", [IMAGES, FILTERS], STRIDED, {"stride": (2,), "padding": (3,)}),
        ("Conv", [IMAGES, FILTERS], {}, {"stride": (1,), "padding": (0,)}),
        ("Conv", [IMAGES, FILTERS], {"pads": (0, 1, 2, 3)}, {"stride": (1,), "padding": (0, 1, 2, 3)}),
        (
            "Conv",
            [IMAGES, FILTERS],
            {**STRIDED, "group": 3},
            {"stride": (2,), "padding": (3,), "groups": (3,)},
        ),
        (
            "Conv",
            [(8, 3, 9), (4, 3, 3)],
            {"dilations": (2,)},
            {"stride": (1,), "padding": (0,), "dilation": (2,)},
        ),
        (
            "Conv",
            [IMAGES, FILTERS],
            {"auto_pad": "SAME_LOWER", "strides": (2, 2)},
            {"stride": (2,), "padding": (3,)},
        ),
        ("ConvTranspose", [IMAGES, (3, 8, 2, 2)], {"strides": (2, 2)}, {"stride": (2,), "padding": (0,)}),
        ("QLinearConv", [IMAGES, (), (), FILTERS], STRIDED, {"stride": (2,), "padding": (3,)}),
        ("MaxPool", [IMAGES], {"kernel_shape": (3, 2)}, {"window": (3, 2), "stride": (1,), "padding": (0,)}),
        ("MultiHeadAttention", [(2, 8, 16)] * 3, {"num_heads": 4}, {"heads": (4,)}),
        ("Conv", [IMAGES, FILTERS], {"strides": (2, 2), "pads": (-1, 0, 0, 0), "group": 0}, {"stride": (2,)}),
        ("Conv", [IMAGES, (64,)], STRIDED, {}),
        ("Relu", [IMAGES], {}, {}),
    ],
)
def test_attributes_of_onnx(op, inputs, told, expected):
    assert of_onnx(op, inputs, told) == expected


NHWC, HWIO, MADE = (8, 224, 224, 3), (7, 7, 3, 64), (8, 112, 112, 64)
SAME = {"strides": (1, 2, 2, 1), "padding": "SAME"}


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "told", "expected"),
    [
        ("Conv2D", [NHWC, HWIO], [MADE], SAME, {"stride": (2,), "padding": (2, 2, 3, 3)}),
        ("Conv2D", [NHWC, HWIO], [MADE], {**SAME, "padding": "VALID"}, {"stride": (2,), "padding": (0,)}),
        (
            "Conv2D",
            [NHWC, HWIO],
            [MADE],
            {**SAME, "padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 2, 3, 4, 0, 0)},
            {"stride": (2,), "padding": (1, 3, 2, 4)},
        ),
        (
            "Conv2D",
            [(8, 3, 224, 224), HWIO],
            [(8, 64, 112, 112)],
            {**SAME, "strides": (1, 1, 2, 2), "data_format": "NCHW"},
            {"stride": (2,), "padding": (2, 2, 3, 3)},
        ),
        ("Conv2DBackpropInput", [(4,), HWIO, MADE], [NHWC], SAME, {"stride": (2,), "padding": (2, 2, 3, 3)}),
        (
            "Conv2DBackpropFilter",
            [NHWC, (4,), MADE],
            [HWIO],
            SAME,
            {"window": (7,), "stride": (2,), "padding": (2, 2, 3, 3)},
        ),
        (
            "MaxPool",
            [MADE],
            [(8, 56, 56, 64)],
            {**SAME, "ksize": (1, 3, 3, 1)},
            {"window": (3,), "stride": (2,), "padding": (0, 0, 1, 1)},
        ),
        ("Conv2D", [NHWC, HWIO], [MADE], {}, {}),
        ("MatMul", [(2, 3), (3, 4)], [(2, 4)], SAME, {}),
    ],
)
def test_attributes_of_tensorflow(op, inputs, outputs, told, expected):
    assert of_tensorflow(op, inputs, outputs, told) == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("aten::conv2d", [[], [], None, [2, 2], [1, 1], [1, 1], 1], {"stride": (2,), "padding": (1,)}),
        (
            "aten::conv2d",
            ["", "", "", "[2, 1]", "[0]", "[1]", "8"],
            {"stride": (2, 1), "padding": (0,), "groups": (8,)},
        ),
        ("aten::conv2d", ["", "", "", "[2, 2]", "same"], {"stride": (2,)}),
        (
            "aten::convolution",
            ["", "", "", "[2]", "[1]", "[2]", "True", "[0]", "1"],
            {"stride": (2,), "padding": (1,), "dilation": (2,), "transposed": (1,)},
        ),
        ("aten::mkldnn_convolution", [[], [], None, [1, 1], [2, 2]], {"padding": (1,), "stride": (2,)}),
        (
            "aten::convolution_backward",
            [[], [], [], [0], [2, 2], [1, 1], [1, 1], False, [0, 0], 4, [True, True, False]],
            {"stride": (2,), "padding": (1,), "groups": (4,)},
        ),
        ("aten::max_pool2d", ["", "[2, 2]", "[]"], {"window": (2,), "stride": (2,)}),
        ("aten::mm", ["", ""], {}),
        ("aten::conv2d", [], {}),
    ],
)
def test_attributes_of_pytorch(name, values, expected):
    assert of_pytorch(name, values) == expected


def test_onnx_models_have_them(tmp_path):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    net (float[2, 8, 9, 9] x, float[8, 1, 3, 3] w, float[8] b) => (float[2, 8, 5, 5] y)
    { y = Conv<strides = [2, 2], pads = [1, 1, 1, 1], group = 8>(x, w, b) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "net.onnx")
    graph = ss.load(tmp_path / "net.onnx")
    assert graph.shapes.to_list() == ["2x8x9x9;8x1x3x3;8;stride=2;padding=1;groups=8"]
    assert (
        ss.CostModel().on(graph, ss.machine("knl-7250")).notes[0].startswith("1 task takes what onednn takes")
    )


def test_kineto_traces_have_them_with_and_without_an_execution_trace():
    both = ss.load(SAMPLES / "cnn.kineto.json.gz", execution_trace=SAMPLES / "cnn.et.json.gz")
    alone = ss.load(SAMPLES / "cnn.kineto.json.gz")
    found = {shape for shape in both.shapes.labels if "=" in shape}
    assert "8x3x32x32;32x3x3x3;stride=1;padding=1" in found
    assert found == {shape for shape in alone.shapes.labels if "=" in shape}
    for graph in (both, alone):
        facts = graph.report.facts
        assert (facts["library"], facts["library_why"]) == ("onednn", "it calls aten::mkldnn_convolution")


@pytest.mark.parametrize("values", ['{"a": 1}', "[[[]]]", '"text"', "null"])
def test_strange_arguments_of_a_kineto_trace_say_nothing(tmp_path, values):
    args = {"Ev Idx": 0, "Input Dims": [[1, 2, 4, 4], [2, 2, 3, 3]], "Concrete Inputs": json.loads(values)}
    event = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::conv2d",
        "pid": 1,
        "tid": 1,
        "ts": 1,
        "dur": 2,
        "args": args,
    }
    (tmp_path / "a.json").write_text(
        json.dumps({"schemaVersion": 1, "record_shapes": 1, "traceEvents": [event]})
    )
    assert ss.load(tmp_path / "a.json", format="pytorch").shapes.to_list() == ["1x2x4x4;2x2x3x3"]
