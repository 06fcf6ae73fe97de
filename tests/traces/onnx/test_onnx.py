"""ONNX models alone: tasks, edges, shapes and what they cost, by hand."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.traces.onnx.proto import Tensor
from simsched.traces.onnx.rows import moved_bytes

onnx = pytest.importorskip("onnx")

node = onnx.helper.make_node
FLOAT = onnx.TensorProto.FLOAT
SAMPLES = Path(__file__).parents[3] / "../shared/samples/onnx"


def value(name: str, dims: list[Any] | None = None, dtype: int = FLOAT) -> Any:
    return onnx.helper.make_tensor_value_info(name, dtype, dims)


def weight(name: str, *dims: int) -> Any:
    return onnx.helper.make_tensor(name, FLOAT, dims, bytes(4 * int(np.prod(dims))), raw=True)


def whole(name: str, *numbers: int) -> Any:
    return onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [len(numbers)], numbers)


def model(nodes: list[Any], inputs: list[Any], weights: list[Any] | None = None, **of_model: Any) -> Any:
    graph = onnx.helper.make_graph(nodes, "g", inputs, [value(nodes[-1].output[0])], weights or [])
    return onnx.helper.make_model(graph, **of_model)


def load(tmp_path: Path, proto: Any, **options: Any) -> TaskGraph:
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    return ss.load(tmp_path / "m.onnx", **options)


def pairs(graph: TaskGraph) -> list[tuple[int, int]]:
    after = graph.successors.indices.tolist()
    return list(zip(graph.successors.sources().tolist(), after, strict=True))


@pytest.fixture
def perceptron() -> Any:
    """X (n, 8) times w (8, 4), plus a constant, through a ReLU, reshaped to (n, 2, 2)."""
    nodes = [
        node("Constant", [], ["c"], "c", value=weight("c", 4)),
        node("MatMul", ["x", "w"], ["t"], "/layer1/MatMul"),
        node("Add", ["t", "c"], ["u"], "/layer1/Add"),
        node("Relu", ["u"], ["v"]),
        node("Reshape", ["v", "s"], ["y"], "/Reshape"),
    ]
    return model(nodes, [value("x", ["n", 8])], [weight("w", 8, 4), whole("s", 0, 2, 2)])


def test_by_hand(tmp_path: Path, perceptron: Any) -> None:
    graph = load(tmp_path, perceptron, batch=3)
    assert graph.report.format == "onnx"
    assert graph.name == "m"
    assert graph.kinds.to_list() == ["MatMul", "Add", "Relu", "Reshape"]
    assert [graph.task_name(i) for i in range(4)] == ["/layer1/MatMul", "/layer1/Add", "Relu_2", "/Reshape"]
    assert graph.scopes.to_list() == ["layer1", "layer1", "", ""]
    assert graph.shapes.to_list() == ["3x8;8x4", "3x4;4", "3x4", "3x4;3"]
    assert pairs(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.flops.tolist() == [2 * 3 * 8 * 4, 12, 12, 0]
    assert graph.bytes_B.tolist() == [4 * (24 + 32 + 12), 4 * (12 + 4 + 12), 4 * 24, 0]
    assert np.isnan(graph.durations_s).all()
    facts = graph.report.facts
    assert (facts["nodes"], facts["constants"], facts["tasks"], facts["edges"]) == (5, 1, 4, 3)
    assert (facts["tasks_without_shapes"], facts["tasks_without_flops"], facts["flops"]) == (0, 0, 216)
    assert facts["weights_B"] == 4 * 32 + 8 * 3


def test_what_it_costs_comes_from_the_machine(tmp_path: Path, perceptron: Any) -> None:
    schedule = ss.simulate(load(tmp_path, perceptron, batch=64), "knl-7250", "critical-path", layout="4x1")
    assert schedule.makespan_s > 0
    assert schedule.tasks["finish_s"].is_monotonic_increasing


def test_gzipped(tmp_path: Path, perceptron: Any) -> None:
    (tmp_path / "m.onnx.gz").write_bytes(gzip.compress(perceptron.SerializeToString()))
    assert ss.load(tmp_path / "m.onnx", dims={"n": 1}).n_tasks == 4


def test_open_dimensions_leave_costs_open(tmp_path: Path, perceptron: Any) -> None:
    graph = load(tmp_path, perceptron)
    assert np.isnan(graph.flops[:3]).all()
    assert np.isnan(graph.bytes_B[:3]).all()
    assert graph.report.facts["open_dimensions"] == "n"
    assert graph.report.facts["tasks_without_shapes"] == 3
    assert any("Of 3 tasks not all shapes are known" in note for note in graph.report.notes)
    with pytest.raises(
        CostError, match=r"give one of them: not all shapes are known; still open: n; give sizes, as dims=n:8"
    ):
        ss.simulate(graph)


def loop(*before: Any, turns: str = "", **options: Any) -> Any:
    """Return a model of a loop over a product of 64x64 matrices and its negation."""
    body = onnx.helper.make_graph(
        [node("Identity", ["c"], ["d"]), node("MatMul", ["s", "s"], ["p"]), node("Neg", ["p"], ["t"])], "body",
        [onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
         onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, []), value("s", [64, 64])],
        [onnx.helper.make_tensor_value_info("d", onnx.TensorProto.BOOL, []), value("t", [64, 64])],
    )  # fmt: skip
    nodes = [*before, node("Loop", [turns, "", "x"], ["y"], body=body)]
    return model(nodes, [value("x", [64, 64])], **options)


TURN_FLOPS, TURN_B = 2 * 64**3 + 64**2, 4 * 64**2 * (3 + 2)


@pytest.mark.parametrize(("turns", "counted"), [(10, 10), (1, 1), (0, 1), (-5, 1), (2**63 - 1, 1)])
@pytest.mark.parametrize("constant", [False, True])
def test_a_loop_takes_what_its_turns_take(tmp_path: Path, turns: int, counted: int, constant: bool) -> None:
    """It took what its tensors take to move; where the model does not say how often it runs, it runs once, a doubt."""
    number = onnx.helper.make_tensor("n", onnx.TensorProto.INT64, [], [turns])
    if constant:
        proto = loop(onnx.helper.make_node("Constant", [], ["n"], value=number), turns="n")
    else:
        proto = loop(turns="n", weights=[number])
    graph = load(tmp_path, proto)
    assert (graph.flops[-1], graph.bytes_B[-1]) == (counted * TURN_FLOPS, counted * TURN_B)
    (doubt,) = [one for one in graph.report.doubts if "graphs of its own" in one]
    assert doubt.endswith(
        "1 Loop." if 0 < turns < 100 else "1 Loop (one turn, as the model does not say how many)."
    )


def test_a_loop_of_which_nobody_knows_how_often_it_runs_runs_once(tmp_path: Path) -> None:
    graph = load(tmp_path, loop())
    assert graph.flops.tolist() == [TURN_FLOPS]
    assert graph.report.doubts == [
        "What runs graphs of its own is one task each, with all that is in it, or in its dearest branch: 1 Loop (one "
        "turn, as the model does not say how many)."
    ]


@pytest.mark.parametrize(("op", "domain"), [("NonZero", ""), ("Mystery", "own")])
def test_what_is_unknown_within_a_branch_is_left_out_with_a_doubt(
    tmp_path: Path, op: str, domain: str
) -> None:
    """One op of unknown operations or shapes left out all others, without a word."""
    known, unknown = (
        onnx.helper.make_graph([*more, node("MatMul", ["x", "x"], [out])], out, [], [value(out, [64, 64])])
        for out, more in (("a", []), ("b", [onnx.helper.make_node(op, ["x"], ["n"], domain=domain)]))
    )
    proto = model(
        [node("If", ["c"], ["y"], then_branch=known, else_branch=unknown)],
        [value("x", [64, 64]), value("c", [], onnx.TensorProto.BOOL)],
        opset_imports=[onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)],
    )
    graph = load(tmp_path, proto)
    assert graph.flops[0] >= 2 * 64**3
    assert graph.bytes_B[0] >= 3 * 4 * 64**2
    assert graph.report.doubts[0].endswith("1 If (some of it is unknown and left out).")


def test_a_scan_runs_once_for_each_slice(tmp_path: Path) -> None:
    body = onnx.helper.make_graph(
        [node("Add", ["s", "e"], ["t"]), node("Relu", ["t"], ["o"])], "body",
        [value("s", [8]), value("e", [8])], [value("t", [8]), value("o", [8])],
    )  # fmt: skip
    scan = onnx.helper.make_node("Scan", ["a", "x"], ["b", "y"], body=body, num_scan_inputs=1)
    graph = load(tmp_path, model([scan], [value("a", [8]), value("x", [5, 8])]))
    assert graph.flops.tolist() == [5 * 16]


def test_branches_join(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Exp", ["a"], ["b"]), node("Neg", ["a"], ["c"])]
    graph = load(tmp_path, model([*nodes, node("Add", ["b", "c"], ["y"])], [value("x", [4])]))
    assert pairs(graph) == [(0, 1), (0, 2), (1, 3), (2, 3)]


def test_one_tensor_read_twice_is_one_edge(tmp_path: Path) -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Mul", ["a", "a"], ["y"])]
    assert pairs(load(tmp_path, model(nodes, [value("x", [4])]))) == [(0, 1)]


def test_a_body_is_part_of_its_owner_and_what_it_captures_an_edge(tmp_path: Path) -> None:
    bodies = {
        branch: onnx.helper.make_graph([node(kind, ["t", "t"], [branch])], branch, [], [value(branch, [4])])
        for branch, kind in (("then_branch", "MatMul"), ("else_branch", "Mul"))
    }
    nodes = [
        node("Relu", ["x"], ["t"]),
        node("Not", ["b"], ["c"]),
        node("If", ["c"], ["y"], **bodies),
    ]
    proto = model(nodes, [value("x", [4]), value("b", [], onnx.TensorProto.BOOL)])
    graph = load(tmp_path, proto)
    assert pairs(graph) == [(0, 2), (1, 2)]
    assert graph.flops.tolist() == [4, 1, 32]
    assert graph.report.notes[-1].endswith("or in its dearest branch: 1 If.")


def test_functions_of_the_model_are_put_in_place(tmp_path: Path) -> None:
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("own", 1)]
    inner = [node("Exp", ["a"], ["t"]), node("Neg", ["t"], ["b"])]
    function = onnx.helper.make_function("own", "Twice", ["a"], ["b"], inner, opsets[:1])
    nodes = [node("Twice", ["x"], ["t"], domain="own"), node("Twice", ["t"], ["y"], domain="own")]
    proto = model(nodes, [value("x", [4])], opset_imports=opsets, functions=[function])
    graph = load(tmp_path, proto)
    assert graph.kinds.to_list() == ["Exp", "Neg", "Exp", "Neg"]
    assert pairs(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.flops.tolist() == [4] * 4
    assert graph.report.facts["functions"] == 1


def test_fused_operators_of_onnx_runtime_have_shapes(tmp_path: Path) -> None:
    """A convolution of 3 x 3 with padding, (1, 2, 8, 8) to 4 channels, and its ReLU; then a product."""
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    nodes = [
        node("FusedConv", ["x", "w"], ["t"], domain="com.microsoft", activation="Relu", pads=[1] * 4),
        node("QuickGelu", ["t"], ["u"], domain="com.microsoft", alpha=1.7),
        node("Flatten", ["u"], ["v"]),
        node("FusedGemm", ["v", "m", "c"], ["y"], domain="com.microsoft", activation="Relu"),
    ]
    weights = [weight("w", 4, 2, 3, 3), weight("m", 256, 5), weight("c", 5)]
    graph = load(tmp_path, model(nodes, [value("x", [1, 2, 8, 8])], weights, opset_imports=opsets))
    assert graph.kinds.to_list() == ["FusedConv", "QuickGelu", "Flatten", "FusedGemm"]
    assert graph.flops.tolist() == [256 * (2 * 18 + 1), 256, 0, 2 * 256 * 5 + 5]


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 17, 21])
def test_old_and_new_operator_sets(tmp_path: Path, opset: int) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["t"], strides=[2, 2], auto_pad="SAME_UPPER", group=2),
        node("MaxPool", ["t"], ["u"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["u"], ["y"]),
    ]
    opsets = [onnx.helper.make_opsetid("", opset)]
    proto = model(nodes, [value("x", [1, 4, 9, 9])], [weight("w", 6, 2, 3, 3)], opset_imports=opsets)
    graph = load(tmp_path, proto)
    assert graph.report.facts["opset"] == opset
    # 5 x 5 outputs of 6 channels, each of 2 x 3 x 3; then 2 x 2 of 2 x 2
    assert graph.flops.tolist() == [150 * 36, 24 * 4, 24]


def test_quantised_operators(tmp_path: Path) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("QLinearMatMul", ["q", "s", "z", "w", "s", "z", "s", "z"], ["p"]),
        node("DequantizeLinear", ["p", "s", "z"], ["y"]),
    ]
    small = onnx.helper.make_tensor("z", onnx.TensorProto.UINT8, [], [0])
    scale = onnx.helper.make_tensor("s", FLOAT, [], [1.0])
    weights = [
        onnx.helper.make_tensor("w", onnx.TensorProto.UINT8, [8, 4], bytes(32), raw=True),
        small,
        scale,
    ]
    graph = load(tmp_path, model(nodes, [value("x", [2, 8])], weights))
    assert graph.flops.tolist() == [32, 2 * 2 * 8 * 4, 16]
    # one byte an element, the scale four, its zero point one
    assert graph.bytes_B.tolist() == [64 + 5 + 16, 16 + 5 + 32 + 5 + 5 + 8, 8 + 5 + 32]


def test_sequences_and_optional_outputs(tmp_path: Path) -> None:
    nodes = [
        node("Dropout", ["x"], ["t", ""]),
        node("SequenceConstruct", ["t", "x"], ["s"]),
        node("SequenceAt", ["s", "i"], ["u"]),
        node("Relu", ["u"], ["y"]),
    ]
    index = onnx.helper.make_tensor("i", onnx.TensorProto.INT64, [], [0])
    graph = load(tmp_path, model(nodes, [value("x", [4])], [index]))
    assert pairs(graph) == [(0, 1), (1, 2), (2, 3)]
    assert graph.bytes_B.tolist()[:3] == [32, 0, 0]


@pytest.mark.parametrize(
    ("kind", "inputs", "outputs", "expected_B"),
    [
        ("MatMul", [(2, 3), (3, 4)], [(2, 4)], 4 * (6 + 12 + 8)),
        ("Slice", [(100, 4), (1,)], [(2, 4)], 4 * (8 + 8 + 1)),
        ("Shape", [(100, 4)], [(2,)], 8),
        ("Reshape", [(100, 4), (1,)], [(400,)], 0),
        ("Split", [(4, 4)], [(2, 4), (2, 4)], 4 * 32),
    ],
)
def test_bytes_by_hand(kind: str, inputs: Any, outputs: Any, expected_B: float) -> None:
    read, written = ([Tensor("float", dims) for dims in shapes] for shapes in (inputs, outputs))
    assert moved_bytes(kind, read, written) == expected_B


def test_four_bit_weights_take_half_a_byte() -> None:
    assert moved_bytes("Cast", [Tensor("int4", (10,))], [Tensor("float16", (10,))]) == 25


@pytest.mark.parametrize(("name", "tasks", "edges"), [("inception", 63, 74), ("lstm4_unrolled", 850, 1153)])
def test_exported_samples(name: str, tasks: int, edges: int) -> None:
    if not SAMPLES.is_dir():
        pytest.skip("the shared samples are not here")
    graph = ss.load(SAMPLES / f"{name}.zeroed.onnx")
    assert (graph.n_tasks, graph.n_edges) == (tasks, edges)
    assert np.isfinite(graph.flops).all()
    assert ss.simulate(graph, "knl-7250", "critical-path", layout="8x8").makespan_s > 0
