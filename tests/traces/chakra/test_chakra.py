"""Chakra traces of both forms: tasks, seconds, dependencies, damage."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import FormatError, GraphError, SimschedError
from simsched.traces.chakra.reader import CHAKRA
from simsched.traces.chakra.record import MAX_MESSAGE_B, messages
from simsched.traces.pytorch.reader import PYTORCH

ADD_ = "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)"
COMP, COMM_SEND, COMM_COLL = 4, 5, 7


def attribute(name: str, value: object):
    kind = {bool: "bool", int: "int64", float: "double", str: "string"}[type(value)]
    return messages()["Attribute"](
        name=name.encode(), **{kind: value.encode() if isinstance(value, str) else value}
    )


def node(
    number: int,
    name: str,
    *,
    kind: int = COMP,
    us: int = 0,
    after=(),
    parents=(),
    ins=None,
    outs=None,
    **told,
):
    message = messages()["Node"](
        id=number, name=name.encode(), type=kind, duration_us=us, data_deps=after, ctrl_deps=parents
    )
    for side, held in (("inputs", ins), ("outputs", outs)):
        if held is not None:
            for key, value in sides(held).items():
                setattr(getattr(message, side), key, repr(value).encode())
    message.attr.extend(attribute(key, value) for key, value in told.items())
    return message


def sides(tensors) -> dict:
    return {
        "values": [[i, i + 100, 0, math.prod(shape), 4, "cpu"] for i, shape in tensors],
        "shapes": [list(shape) for _, shape in tensors],
        "types": ["Tensor(float)" for _ in tensors],
    }


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def delimited(*nodes) -> bytes:
    head = messages()["Metadata"](version=b"0.0.4")
    return b"".join(varint(len(m)) + m for m in (message.SerializeToString() for message in (head, *nodes)))


@pytest.fixture
def put(tmp_path):
    def write(*nodes) -> Path:
        path = tmp_path / "trace.et"
        path.write_bytes(delimited(*nodes))
        return path

    return write


SYNTHETIC = [
    node(1, "layer_1", us=5, num_ops=8),
    node(2, "layer_2", us=7, after=[1], tensor_size=16),
    node(3, "reduce_3", kind=COMM_COLL, after=[1], parents=[2], comm_type=0, comm_size=64),
    node(4, "send_4", kind=COMM_SEND, us=1, after=[3, 99]),
]
A, B, C = (1, (2, 3)), (2, (3, 4)), (3, (2, 4))
LINKED = [
    node(1, "[pytorch|profiler|execution_trace|thread]", rf_id=0, tid=1),
    node(2, "aten::mm(0)", us=4, parents=[1], ins=[A, B], outs=[C], rf_id=5, tid=1, op_schema="mm"),
    node(
        3, "aten::mm(1)", us=3, after=[2], parents=[1], ins=[A, B], outs=[C], rf_id=5, tid=1, op_schema="mm"
    ),
    node(4, "aten::inner", us=2, after=[3], parents=[3], rf_id=6, tid=1, op_schema="inner"),
    node(5, "void gemm<float, 4>(int)", us=9, after=[4], parents=[3], is_cpu_op=False, stream=7),
    node(
        6,
        "aten::relu",
        us=1,
        after=[5],
        parents=[1],
        ins=[A],
        outs=[(9, (2, 3))],
        rf_id=7,
        tid=1,
        op_schema="r",
    ),
    node(7, "aten::add_", us=1, after=[6], parents=[1], ins=[C, C], outs=[C], rf_id=8, tid=1, op_schema=ADD_),
    node(
        8,
        "ncclKernel",
        kind=COMM_COLL,
        us=3,
        parents=[7],
        is_cpu_op=False,
        stream=7,
        comm_type=5,
        comm_size=32,
    ),
]


def edges(graph) -> set[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in pairs}


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "zipped"])
def test_nodes_without_tensors_are_tasks_with_the_dependencies_in_the_file(put, zipped):
    path = put(*SYNTHETIC)
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    graph = ss.load(path)
    assert graph.report.format == "chakra"
    assert graph.kinds.to_list() == ["layer", "layer", "all_reduce", "send"]
    np.testing.assert_array_equal(graph.durations_s, [5e-6, 7e-6, np.nan, 1e-6])
    np.testing.assert_array_equal(graph.bytes_B, [np.nan, 16, 64, np.nan])
    assert edges(graph) == {
        ("layer_1#1", "layer_2#2"),
        ("layer_1#1", "reduce_3#3"),
        ("layer_2#2", "reduce_3#3"),
        ("reduce_3#3", "send_4#4"),
    }
    assert graph.report.facts["missing_dependencies"] == 1
    assert any("no time, at most work" in note for note in graph.report.notes)


def test_a_chain_is_told(put):
    graph = ss.load(put(*(node(i, "op", us=1, after=[i - 1] if i else []) for i in range(5))))
    assert any("one chain" in note for note in graph.report.notes)
    assert graph.average_parallelism == 1


def test_dependencies_are_rebuilt_from_tensors(put):
    graph = ss.load(put(*LINKED))
    assert graph.kinds.to_list() == ["mm", "relu", "add_", "device::gemm", "broadcast"]
    assert graph.durations_s.tolist() == [9e-6, 1e-6, 1e-6, 9e-6, 3e-6]
    assert edges(graph) == {
        ("mm#5", "gemm@5"),
        ("add_#8", "broadcast@8"),
        ("gemm@5", "broadcast@8"),
    }
    assert graph.report.facts["cut_operators"] == 1
    assert graph.report.facts["kernels"] == 2
    assert any("not taken" in note for note in graph.report.notes)


def test_host_operators_depend_through_what_they_wrote(put):
    graph = ss.load(put(*(n for n in LINKED if n.id not in {5, 8})))
    assert edges(graph) == {("mm#5", "add_#8")}
    assert graph.flops.tolist() == [2 * 2 * 3 * 4, 6, 8]


def test_the_dependencies_of_the_file_where_they_are_asked_for(put):
    graph = ss.load(put(*LINKED), data_deps=True)
    assert graph.n_tasks == len(LINKED)
    assert ("relu#6", "add_#7") not in edges(graph)
    assert ("aten::relu#6", "aten::add_#7") in edges(graph)


def linked_json(**changed) -> dict:
    calls = [(2, "aten::mm", 10.5, 4.125, [A, B], [C]), (3, "aten::relu", 15.0, 2.0, [C], [(9, (2, 4))])]
    nodes = [
        {
            "id": number,
            "name": name,
            "ctrl_deps": 1,
            "inputs": sides(ins),
            "outputs": sides(outs),
            "attrs": [
                {"name": "rf_id", "type": "uint64", "value": number},
                {"name": "tid", "type": "", "value": 1},
            ],
            "inclusive_dur": whole,
            "exclusive_dur": whole,
            "ts": start,
        }
        for number, name, start, whole, ins, outs in calls
    ]
    return {"schema": "1.1.1-chakra.0.0.4", "nodes": nodes} | changed


def test_json_linked_with_times(tmp_path):
    path = tmp_path / "run.linked.json"
    path.write_text(json.dumps(linked_json()))
    head = path.read_bytes()
    assert CHAKRA.recognises(head)
    assert not PYTORCH.recognises(head)
    graph = ss.load(path)
    assert edges(graph) == {("mm#2", "relu#3")}
    assert graph.durations_s.tolist() == [4.125e-6, 2e-6]
    assert graph.recording.start_s.tolist() == [0, 4.5e-6]
    assert graph.report.facts["early_starts"] == 0
    with pytest.raises(FormatError, match="no node has data_deps"):
        ss.load(path, data_deps=True)


@pytest.mark.parametrize("changed", [{"ts": 2e15}, {"inclusive_dur": 2e15}])
def test_times_of_two_clocks_are_refused(tmp_path, changed):
    held = linked_json()
    held["nodes"][1] |= changed
    (tmp_path / "run.json").write_text(json.dumps(held))
    with pytest.raises(FormatError, match="two clocks"):
        ss.load(tmp_path / "run.json")


@pytest.mark.parametrize("types", [7, -0.5, "Tensor(float)", {"Tensor(float)": 1}, None])
def test_types_that_are_no_list(tmp_path, types):
    held = linked_json()
    held["nodes"][1]["outputs"]["types"] = types
    (tmp_path / "run.json").write_text(json.dumps(held))
    with pytest.raises(FormatError, match=r"node 1: outputs\.types is .*, expected a list"):
        ss.load(tmp_path / "run.json")


@pytest.mark.parametrize("cut", [1, 5])
def test_what_is_complete_of_a_cut_off_file(put, cut):
    path = put(*SYNTHETIC)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(FormatError, match="is cut off"):
        ss.load(path)
    assert ss.load(path, tolerant=True).n_tasks == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (delimited(), "no nodes"),
        (delimited(node(1, "a"), node(1, "b")), "id 1 occurs twice"),
        # Before the file is read to its end.
        (delimited(node(1, "a"), node(1, "b")) + b"\x03\x08", "id 1 occurs twice"),
        (delimited(node(1, "a", us=2**60)), "beyond any clock"),
        (delimited(node(1, "a")) + b"\x03\x08", "cut off"),
        (delimited(node(1, "a")) + b"\x02\xff\xff", "no message of Chakra's schema"),
        (delimited(node(1, "a")) + b"\xff" * 12, "no length"),
        (delimited(node(1, "a")) + varint(MAX_MESSAGE_B + 1), "a message of"),
    ],
)
def test_broken_streams(tmp_path, content, message):
    path = tmp_path / "broken.et"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        CHAKRA.read(path)


@pytest.mark.parametrize("text", ["[" * 300, "-" * 10**5 + "1", "__import__('os')", "{}", "(1", "[1]" * 10])
def test_texts_that_are_no_lists(put, text):
    bad = node(1, "aten::mm", ins=[A], outs=[C], rf_id=1)
    bad.inputs.values = text.encode()
    with pytest.raises(FormatError, match=r"trace\.et: message 1: "):
        ss.load(put(bad))


def test_a_circle_is_named(put):
    with pytest.raises(GraphError, match=r": the graph has a cycle"):
        ss.load(put(node(1, "a", after=[2]), node(2, "b", after=[1])))


@given(st.data())
def test_changed_bytes_are_read_or_refused(tmp_path_factory, data):
    content = bytearray(delimited(*data.draw(st.sampled_from([SYNTHETIC, LINKED]))))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "changed.et"
    path.write_bytes(bytes(content))
    try:
        graph = CHAKRA.read(path, tolerant=data.draw(st.booleans()))
    except SimschedError:
        return
    assert graph.n_tasks >= 1


def test_workloads_of_astra_sim_as_json(tmp_path):
    """Nodes as ASTRA-sim's feeder reads them: capitals in some keys, times in us, what is absent is unknown."""
    nodes = [
        {"Id": 1, "Name": "mm_0", "NodeType": 4, "is_cpu_op": False, "runtime": 5, "data_deps": []},
        {"Id": 2, "Name": "sum_0", "NodeType": 7, "comm_size": 4096, "data_deps": [1]},
        {"id": 3, "name": "mm_1", "type": 4, "runtime": 7, "data_deps": [2], "ctrl_deps": [1]},
    ]
    path = tmp_path / "workload.json"
    path.write_text(json.dumps({"workload_graph": nodes}))
    graph = ss.load(path)
    assert graph.report.format == "chakra"
    assert graph.durations_s[[0, 2]].tolist() == [5e-6, 7e-6]
    assert np.isnan(graph.durations_s[1])
    assert graph.bytes_B[1] == 4096
    assert graph.n_edges == 3
    for wrong in ({"Name": "no id"}, {"Id": 1, "data_deps": 5}, {"Id": 1, "runtime": -1}, 5):
        path.write_text(json.dumps({"workload_graph": [wrong]}))
        with pytest.raises(FormatError):
            ss.load(path)


def test_other_formats_are_not_claimed():
    for other in (
        b"\x08\x0a\x12\x07pytorch\x1a",
        b'{"nodes": [], "traceEvents": []}',
        b"3 1 2\n",
        b"\x00\x00\x00",
        b"",
    ):
        assert not CHAKRA.recognises(other)
