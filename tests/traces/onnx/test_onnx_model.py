"""What is taken from an ONNX model: scopes, constants, bodies, and the models that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError, MissingExtraError
from simsched.traces.onnx.model import Model, read_model
from simsched.traces.onnx.proto import Tensor

onnx = pytest.importorskip("onnx")


def node(op: str, inputs: list[str], outputs: list[str], name: str = "", **attributes: Any) -> Any:
    return onnx.helper.make_node(op, inputs, outputs, name=name, **attributes)


def value(name: str, dims: list[Any] | None = None) -> Any:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


def saved(tmp_path: Path, nodes: list[Any], weights: list[Any] | None = None) -> Model:
    graph = onnx.helper.make_graph(nodes, "g", [value("x", [2, "n"])], [value("y")], weights or [])
    file = tmp_path / "model.onnx"
    file.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    return read_model(file)


@pytest.mark.parametrize(
    ("metadata", "name", "scope"),
    [
        ({}, "relu", ""),
        ({}, "/encoder/layer.0/Relu", "encoder/layer.0"),
        ({}, "/Relu", ""),
        ({}, "model/dense_1/Relu", "model/dense_1"),
        ({}, "node_select/GatherSliceToSplitFusion", ""),
        ({"pkg.torch.onnx.name_scopes": "['', 'layer1', 'layer1.conv', 'conv2d']"}, "r", "layer1/conv"),
        ({"pkg.torch.onnx.name_scopes": "['relu']"}, "r", ""),
        ({"pkg.torch.onnx.name_scopes": "[[[("}, "r", ""),
        ({"namespace": "net: Net/layer1: Block/layer1.conv: Conv2d/conv2d: aten.conv2d"}, "r", "layer1/conv"),
    ],
)
def test_scope_is_the_module(tmp_path: Path, metadata: dict[str, str], name: str, scope: str) -> None:
    relu = node("Relu", ["x"], ["y"], name)
    for key, text in metadata.items():
        relu.metadata_props.add(key=key, value=text)
    assert saved(tmp_path, [relu]).nodes[0].scope == scope


def test_shapes_and_attributes(tmp_path: Path) -> None:
    weight = onnx.helper.make_tensor("w", onnx.TensorProto.INT64, [3], [1, 2, 3])
    nodes = [
        node("MaxPool", ["x"], ["t"], kernel_shape=[2, 2], strides=[1, 1]),
        node("Add", ["t", "w"], ["y"]),
    ]
    model = saved(tmp_path, nodes, [weight])
    assert model.declared["x"] == Tensor("float", (2, None))
    assert model.initialisers == {"w": Tensor("int64", (3,))}
    assert model.nodes[0].attributes == {"kernel_shape": (2, 2), "strides": (1, 1)}


def test_bodies_give_their_captures_and_names(tmp_path: Path) -> None:
    """The inner branch reads `t` of the outermost graph; `u` is made in the branch around it."""
    inner = onnx.helper.make_graph([node("Add", ["t", "u"], ["z"], "deep")], "inner", [], [value("z")])
    outer = onnx.helper.make_graph(
        [
            node("Exp", ["x"], ["u"], "shallow"),
            node("If", ["c"], ["v"], "branch", then_branch=inner, else_branch=inner),
        ],
        "outer",
        [],
        [value("v")],
    )
    nodes = [
        node("Relu", ["x"], ["t"]),
        node("Cast", ["x"], ["c"]),
        node("If", ["c"], ["y"], then_branch=outer, else_branch=outer),
    ]
    model = saved(tmp_path, nodes)
    assert model.nodes[2].captured == ("t", "x")
    assert model.nodes[2].has_body
    assert model.body_names == {"deep", "shallow", "branch"}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "no nodes"),
        ([("Relu", ["t"], ["y"])], "which no node before it makes"),
        ([("Relu", ["t"], ["y"]), ("Relu", ["y"], ["t"])], "which no node before it makes"),
        ([("Relu", ["x"], ["y"]), ("Exp", ["x"], ["y"])], "second time"),
    ],
)
def test_impossible_model_is_refused(tmp_path: Path, nodes: list[Any], message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        saved(tmp_path, [node(*n) for n in nodes])
    assert "model.onnx" in str(error.value)


def test_impossible_constant_is_refused(tmp_path: Path) -> None:
    weight = onnx.TensorProto(name="w", data_type=1, dims=[-1])
    with pytest.raises(FormatError, match="initialiser 'w'"):
        saved(tmp_path, [node("Relu", ["x"], ["y"])], [weight])


def test_constant_of_many_dimensions_is_refused_before_they_are_multiplied(tmp_path: Path) -> None:
    weight = onnx.TensorProto(name="w", data_type=1, dims=[2**62] * 80_000)
    with pytest.raises(FormatError, match="initialiser 'w' has 80000 dimensions, expected at most 64"):
        saved(tmp_path, [node("Relu", ["x"], ["y"])], [weight])


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"\x00\xff" * 50, b"\x1f\x8b\x08", b"\x3a\x05\x0a\x03\x0a\x01\xff"]
)
def test_other_files_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(data)
    with pytest.raises(FormatError, match=r"model\.onnx"):
        read_model(file)


def test_values_are_not_followed_through_long_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library would make a symbol of each element: 268 s of them."""
    asked, infer = [], onnx.shape_inference.infer_shapes
    monkeypatch.setattr(
        onnx.shape_inference, "infer_shapes", lambda proto, **how: asked.append(how) or infer(proto, **how)
    )
    inputs, t = [value(name, [1 << 28]) for name in "ab"], onnx.TensorProto
    inputs.append(onnx.helper.make_tensor_value_info("s", t.INT64, ["rank"]))
    add = [node("Add", ["a", "b"], ["y"])]
    for nodes, made, open_ in (
        (add, value("y"), False),
        (
            [*add, node("NonZero", ["y"], ["z"])],
            onnx.helper.make_tensor_value_info("z", t.INT64, None),
            True,
        ),
        ([*add, node("Reshape", ["y", "s"], ["z"])], value("z"), True),
        ([*add, node("ReduceSum", ["y"], ["z"], keepdims=0)], value("z"), False),
    ):
        model = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", inputs, [made]))
        (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
        graph = ss.load(tmp_path / "model.onnx")
        assert graph.bytes_B[0] == 3 * 4 * 2.0**28
        assert any("not inferred" in note for note in graph.report.notes) == open_
    assert asked == [{}] * 4


def test_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        read_model(tmp_path / "model.onnx")


@pytest.mark.parametrize(("name", "element"), [("BFLOAT16", "bf16"), ("FLOAT16", "fp16"), ("FLOAT", "")])
def test_products_are_as_fast_as_elements_of_their_type(tmp_path: Path, name: str, element: str) -> None:
    """From the model's types to the matrix unit of the chip: 16 times the operations per second of FP32."""
    of = getattr(onnx.TensorProto, name)
    x, w, y = (onnx.helper.make_tensor_value_info(one, of, [4096, 4096]) for one in "xwy")
    graph = onnx.helper.make_graph([node("MatMul", ["x", "w"], ["y"])], "g", [x, w], [y])
    file = tmp_path / "model.onnx"
    file.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    found = ss.load(file)
    assert found.shapes[0] == "4096x4096;4096x4096" + f";element={element}" * bool(element)
    done = ss.simulate(found, "xeon-8470", "sequential")
    at_least_s = 2.0 * 4096**3 / (52 * 2.0e9 * {"bf16": 1024, "fp16": 128, "": 64}[element])
    assert at_least_s < done.makespan_s < 1.6 * at_least_s
