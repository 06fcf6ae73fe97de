"""ONNX models that are refused, and options that do not fit; nothing beside the file is ever opened."""

from __future__ import annotations

import builtins
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import simsched as ss
from simsched.errors import FormatError, SimschedError
from simsched.traces.onnx.proto import MAX_MODEL_B, starts_as_model
from simsched.traces.onnx.reader import ONNX

onnx = pytest.importorskip("onnx")

node = onnx.helper.make_node
FLOAT = onnx.TensorProto.FLOAT


def value(name: str, dims: list[Any] | None = None) -> Any:
    return onnx.helper.make_tensor_value_info(name, FLOAT, dims)


def model(nodes: list[Any], inputs: list[Any], **of_model: Any) -> Any:
    graph = onnx.helper.make_graph(nodes, "g", inputs, [value("y")])
    return onnx.helper.make_model(graph, **of_model)


def read(tmp_path: Path, proto: Any, **options: Any) -> ss.TaskGraph:
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    return ONNX.read(tmp_path / "m.onnx", **options)


def product(*first: Any) -> Any:
    """Inputs of (first, seq, 8) are added, or one alone doubled."""
    names = [f"x{i}" for i in range(len(first))]
    inputs = [value(name, [d, "seq", 8]) for name, d in zip(names, first, strict=True)]
    return model([node("Add", [names[0], names[-1]], ["t"]), node("Relu", ["t"], ["y"])], inputs)


@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({"dims": "n:4+seq:3"}, "4x3x8;4x3x8"),
        ({"dims": {"n": 4, "seq": "3"}}, "4x3x8;4x3x8"),
        ({"batch": "4", "dims": "seq:3"}, "4x3x8;4x3x8"),
        # what is said of the dimension goes before what is said of all
        ({"batch": 9, "dims": "seq:3+n:4"}, "4x3x8;4x3x8"),
    ],
)
def test_sizes_of_open_dimensions(tmp_path: Path, options: dict[str, Any], shape: str) -> None:
    graph = read(tmp_path, product("n"), **options)
    assert graph.shapes.to_list()[0] == shape
    assert np.isfinite(graph.flops).all()


def test_batch_without_a_name(tmp_path: Path) -> None:
    assert read(tmp_path, product(None, "n"), batch=2, dims="seq:3").shapes.to_list()[0] == "2x3x8;2x3x8"


def test_a_size_replaces_what_the_exporter_wrote_of_later_tensors(tmp_path: Path) -> None:
    proto = product("n")
    proto.graph.value_info.append(value("t", ["n", "2*seq - seq", 8]))
    assert read(tmp_path, proto, dims="n:4+seq:3").shapes.to_list()[1] == "4x3x8"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"dims": "m:4"}, "dims names 'm', which no dimension is called; open are: 'n', 'seq'"),
        ({"dims": "n=4"}, "dims is 'n=4', expected name:size"),
        ({"dims": ""}, "dims is '', expected name:size"),
        ({"dims": {"n": -1}}, "dims of 'n' is -1; expected a whole number of 1 to"),
        ({"dims": {"n": 2.5}}, "dims of 'n' is 2.5; expected a whole number"),
        ({"dims": {3: 4}}, "dims is .*, expected sizes by name"),
        ({"dims": 7}, "dims is 7, expected sizes by name"),
        ({"batch": "many"}, "batch is 'many'; expected a whole number"),
        ({"batch": 0}, "batch is 0; expected a whole number of 1 to"),
    ],
)
def test_wrong_sizes(tmp_path: Path, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(FormatError, match=rf"m\.onnx: {problem}"):
        read(tmp_path, product("n"), **options)


def test_a_fixed_batch_stays(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="batch is 4, but the first dimension of all inputs is fixed"):
        read(tmp_path, product(2), batch=4)


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        (
            [("Add", ["x", "u"], ["t"]), ("Relu", ["t"], ["u"])],
            "reads tensor 'u', which no node before it makes",
        ),
        ([("Relu", ["x"], ["t"]), ("Exp", ["x"], ["t"])], "makes tensor 't' for the second time"),
        ([("Constant", [], ["t"])], "no nodes but constants"),
        ([], "the model has no nodes"),
    ],
)
def test_models_that_break_the_rules(tmp_path: Path, nodes: list[Any], problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        read(tmp_path, model([node(*n) for n in nodes], [value("x", [4])]))


def function(name: str, *calls: str) -> Any:
    """A function that calls others one after another."""
    names = ["a", *(f"t{i}" for i in range(len(calls) - 1)), "b"]
    nodes = [
        node(call, [names[i]], [names[i + 1]], domain="" if call == "Exp" else "own")
        for i, call in enumerate(calls)
    ]
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    return onnx.helper.make_function("own", name, ["a"], ["b"], nodes, opsets)


@pytest.mark.parametrize(
    ("functions", "problem"),
    [
        ([function("f0", "f1"), function("f1", "f0")], "function 'f0' of the model is called in a circle"),
        ([function(f"f{i}", f"f{i + 1}") for i in range(99)], "is called more than 64 deep"),
        (
            [function(f"f{i}", *[f"f{i + 1}"] * 8) for i in range(20)],
            "call each other so often that it would take",
        ),
    ],
)
def test_functions_without_measure(tmp_path: Path, functions: list[Any], problem: str) -> None:
    last = function(f"f{len(functions)}", "Exp")
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    call = node("f0", ["x"], ["y"], domain="own")
    proto = model([call], [value("x", [4])], opset_imports=opsets, functions=[*functions, last])
    with pytest.raises(FormatError, match=problem):
        read(tmp_path, proto)


def test_levels_count_from_whichever_call_is_seen_first(tmp_path: Path) -> None:
    """The lower half of 99 levels is called first, and is known when the upper half reaches it."""
    functions = [*(function(f"f{i}", f"f{i + 1}") for i in range(98)), function("f98", "Exp")]
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    calls = [node("f50", ["x"], ["t"], domain="own"), node("f0", ["t"], ["y"], domain="own")]
    proto = model(calls, [value("x", [4])], opset_imports=opsets, functions=functions)
    with pytest.raises(FormatError, match="is called more than 64 deep"):
        read(tmp_path, proto)


def test_weights_elsewhere_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model([node("MatMul", ["x", "w"], ["y"])], [value("x", [2, 8])])
    weights = proto.graph.initializer.add(name="w", data_type=FLOAT, dims=[8, 4])
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="../secret")
    (tmp_path.parent / "secret").write_bytes(b"no weights")
    opened: list[str] = []
    for module, name in ((builtins, "open"), (os, "open")):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda p, *a, _real=real, **k: opened.append(str(p)) or _real(p, *a, **k)
        )
    graph = read(tmp_path, proto)
    assert graph.flops.tolist() == [2 * 2 * 8 * 4]
    assert not [path for path in opened if "secret" in path]


def test_too_large(tmp_path: Path) -> None:
    with (tmp_path / "m.onnx").open("wb") as file:
        file.truncate(MAX_MODEL_B + 1)
    with pytest.raises(FormatError, match=r"the most an ONNX model can have; .* save_as_external_data=True"):
        ONNX.read(tmp_path / "m.onnx")


@pytest.mark.parametrize("content", [b"", b"\x08\x0a\x3a", b"\x08\x0a\x3a\xff\xff\xff\x7f", b"no model"])
def test_no_model(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.onnx").write_bytes(content)
    with pytest.raises(FormatError, match=r"m\.onnx: "):
        ONNX.read(tmp_path / "m.onnx")


def test_recognised_by_its_fields() -> None:
    head = product("n").SerializeToString()
    assert starts_as_model(head)
    assert all(starts_as_model(head[:n]) for n in range(4, len(head)))
    # A name first, an odd wire type, no version, an unknown field, text.
    for other in (
        b"\x12\x02ab",
        b"\x08\x0a\x3d\0\0\0\0",
        b"\x08\x00\x3a\x00",
        b"\x08\x0a\x7a\x00",
        b"[{}]",
        b"\x08",
    ):
        assert not starts_as_model(other)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_any_structure_gives_a_graph_or_a_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    """Nodes of real operators with wrong numbers of inputs, names used twice, absurd shapes and attributes."""
    kinds = [
        "Conv",
        "Reshape",
        "If",
        "Loop",
        "Scan",
        "Concat",
        "Split",
        "Einsum",
        "Gemm",
        "LSTM",
        "Pad",
        "Expand",
    ]
    names = st.sampled_from(["x", "w", "a", "b", "c", "", "\ud7ff\x1b"])
    numbers = st.integers(-(2**63), 2**63 - 1)
    attributes = st.dictionaries(
        st.sampled_from(["axis", "kernel_shape", "pads", "equation", "to", "axes", "body", "num_scan_inputs"]),
        st.one_of(numbers, st.lists(numbers, min_size=1, max_size=4), st.text(max_size=8)), max_size=3,
    )  # fmt: skip
    nodes = [
        node(
            data.draw(st.sampled_from(kinds)),
            data.draw(st.lists(names, max_size=4)),
            data.draw(st.lists(st.sampled_from(["a", "b", "c", "y", f"t{i}"]), min_size=1, max_size=2)),
            **data.draw(attributes),
        )
        for i in range(data.draw(st.integers(1, 4)))
    ]
    proto = model(nodes, [value("x", data.draw(st.lists(st.one_of(numbers, st.just("n")), max_size=4)))])
    proto.graph.initializer.add(
        name="w",
        data_type=data.draw(st.integers(0, 30)),
        dims=data.draw(st.lists(numbers, max_size=3)),
        raw_data=b"\1",
    )
    try:
        graph = read(tmp_path, proto, **data.draw(st.sampled_from([{}, {"batch": 2}, {"dims": "n:3"}])))
    except SimschedError as error:
        assert "m.onnx" in str(error)  # noqa: PT017 - whichever of the two comes
    else:
        assert graph.n_tasks


def test_a_kind_of_several_lines_stands_on_one(tmp_path: Path) -> None:
    node = onnx.helper.make_node("If\nX", ["missing"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(FormatError, match=r"node 0 \(If X '.*'\) reads tensor 'missing'"):
        ss.load(tmp_path / "m.onnx", format="onnx")
