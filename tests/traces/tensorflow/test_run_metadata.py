"""Run metadata by hand: edges, times, lanes, sizes; loops, transfers, functions, streams; text and GraphDefs."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import FormatError, GraphError, MissingExtraError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.tensorflow.messages import messages
from simsched.traces.tensorflow.reader import RUNMETADATA

pytest.importorskip("google.protobuf")

Named = Callable[[TaskGraph], set[tuple[str, str]]]
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"
EDGES = {("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")}


def test_diamond(diamond: Any, named_edges: Named) -> None:
    graph = load(diamond().save())
    assert named_edges(graph) == EDGES
    assert graph.durations_s.tolist() == [1e-6, 2e-6, 2.5e-6, 7e-7]
    run = graph.recording
    assert run is not None
    assert run.start_s.tolist() == [0, 1e-6, 1.5e-6, 4e-6]
    assert run.lanes.tolist() == [0, 0, 1, 0]
    assert graph.kinds.to_list() == ["Relu", "Exp", "MatMul", "Add"]
    assert graph.shapes.to_list() == ["", "2x2", "2x2;2x2", "2x2"]
    assert graph.flops.tolist() == [4, 4, 16, 4]
    assert graph.bytes_B.tolist() == [16, 32, 48, 32]
    facts = graph.report.facts
    assert (facts["stats"], facts["matched_tasks"], facts["control_edges"]) == (5, 4, 1)
    assert (facts["workers_guess"], facts["clock_ns"], facts["early_starts"]) == (2, 1, 0)
    assert facts["executor_s"] == 2e-9
    assert "Left out: 1 record of the runtime's own nodes (_SOURCE, _SINK)." in graph.report.notes


@pytest.mark.parametrize(("number", "element"), [(14, ";element=bf16"), (19, ";element=fp16"), (2, "")])
def test_products_have_the_type_of_their_operands(diamond: Any, number: int, element: str) -> None:
    step = diamond()
    for device in step.message.step_stats.dev_stats:
        for stats in device.node_stats:
            for output in stats.output:
                output.tensor_description.dtype = number
    assert load(step.save()).shapes.to_list() == ["", "2x2", f"2x2;2x2{element}", "2x2"]


def test_text_and_gzip_are_the_same(diamond: Any, named_edges: Named) -> None:
    from google.protobuf import text_format

    step = diamond()
    text = text_format.MessageToString(step.message) + "session_metadata { name: 'x' }\n"
    (step.folder / "step.pbtxt").write_text("# a comment\n" + text)
    (step.folder / "zipped.pb.gz").write_bytes(gzip.compress(step.save().read_bytes()))
    for name in ("step.pbtxt", "zipped.pb"):
        graph = load(step.folder / name)
        assert (graph.report.format, named_edges(graph)) == ("tensorflow", EDGES)


def test_without_partition_graphs_labels_tell(diamond: Any, named_edges: Named) -> None:
    step = diamond()
    del step.message.partition_graphs[:]
    graph = step.read()
    assert named_edges(graph) == EDGES
    assert graph.report.facts["matched_tasks"] == 0
    assert any("4 executed nodes in no graph" in note for note in graph.report.notes)


def test_a_graphdef_helps_where_names_match(diamond: Any, named_edges: Named) -> None:
    """Of the GraphDef, `bias` was fused away: dependencies go through it; what fusion made has its label alone."""
    step = diamond()
    del step.message.partition_graphs[:]
    for stats in step.devices.popitem()[1].node_stats:
        stats.timeline_label = b""
    given = messages()["GraphDef"]()
    for name, op, inputs in (("a", "Relu", []), ("bias", "BiasAdd", ["a"]), ("d", "Add", ["bias", "^b"])):
        given.node.add(name=name.encode(), op=op.encode(), input=[i.encode() for i in inputs])
    (step.folder / "graph.pb.gz").write_bytes(gzip.compress(given.SerializeToString()))
    (step.folder / "graph.pbtxt").write_text(str(given))
    for name in ("graph.pb", "graph.pbtxt"):
        graph = step.read(graph=step.folder / name)
        assert named_edges(graph) == {("a", "d"), ("b", "d")}
        assert graph.report.facts["matched_in_graph"] == 2
        assert graph.report.facts["control_edges"] == 1


def test_a_loop_runs_its_nodes_several_times(step: Any) -> None:
    """Merge takes `enter` first and then what went round; two rounds of the body."""
    step.node("enter", "Enter")
    step.node("merge", "Merge", "enter", "next")
    step.node("body", "Add", "merge")
    step.node("next", "NextIteration", "body")
    step.node("exit", "Exit", "merge")
    for i, name in enumerate(["enter", "merge", "body", "next", "merge", "body", "next", "merge", "exit"]):
        step.ran(name, 10 * i, 5)
    graph = step.read()
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    again = {(0, 4), (0, 7)}  # the loop's first input stays one of later merges
    assert set(ends) == {(i, i + 1) for i in range(8)} | again
    assert any("3 nodes run more than once" in note for note in graph.report.notes)


def test_a_receive_waits_for_its_send(step: Any, named_edges: Named) -> None:
    channel = {"tensor_name": "t", "send_device": "A", "recv_device": "B"}
    step.node("make", "Relu")
    step.node("send", "_Send", "make", **channel)
    step.node("recv", "_Recv", graph=1, device=GPU, **channel)
    step.node("use", "Exp", "recv", graph=1, device=GPU)
    step.ran("make", 0, 100)
    step.ran("send", 100, 10)
    step.ran("recv", 5, 135, device=GPU)
    step.ran("use", 140, 5, device=GPU)
    graph = step.read()
    assert named_edges(graph) == {("make", "send"), ("send", "recv"), ("recv", "use")}
    by_name = {graph.task_name(i): float(graph.durations_s[i]) for i in range(4)}
    assert by_name["recv"] == 3e-8
    assert graph.report.facts["devices"] == 2
    assert "early_starts" in load(step.save()).report.facts


def test_a_call_takes_no_time_of_its_own(step: Any, named_edges: Named) -> None:
    step.node("x", "Relu")
    step.node("call", "PartitionedCall", "x")
    step.node("y", "Exp", "call")
    step.node("in1", "Log", function=True)
    step.node("in2", "Tanh", "in1", function=True)
    for name, start, length in (
        ("x", 0, 10),
        ("call", 10, 50),
        ("in1", 15, 10),
        ("in2", 30, 20),
        ("y", 60, 5),
    ):
        step.ran(name, start, length)
    graph = step.read()
    assert named_edges(graph) == {("x", "call"), ("x", "in1"), ("in1", "in2"), ("in2", "call"), ("call", "y")}
    assert graph.work_s == pytest.approx(45e-9)
    assert any("1 call of a function" in note for note in graph.report.notes)


def test_streams_of_a_gpu(step: Any, named_edges: Named) -> None:
    step.node("mul", "MatMul", device=GPU)
    step.ran("mul", 0, 10, device=GPU)
    for device in ("/device:GPU:0/stream:all", "/device:GPU:0/stream:7"):
        step.ran("mul:MatMul", 1000, 5, device=device, micros=True)
        step.ran("other:Copy", 9000, 5, device=device, micros=True)
    graph = step.read()
    assert named_edges(graph) == {("mul", "mul:MatMul"), ("mul:MatMul", "other:Copy")}
    assert graph.kinds.to_list() == ["MatMul", "MatMul", "Copy"]
    assert graph.report.facts["kernels"] == 2
    assert any("2 records of a GPU" in note for note in graph.report.notes)
    assert any("1 GPU kernel without an op" in note for note in graph.report.notes)


def test_threads_where_they_are_told(step: Any) -> None:
    step.ran("a", 0, 10, thread=5)
    step.ran("b", 0, 10, thread=9)
    step.message.step_stats.dev_stats[0].thread_names.add(key=9, value=b"worker nine")
    graph = step.read()
    assert graph.recording is not None
    assert graph.recording.lane_names[1] == "worker nine"
    assert "workers_guess" not in graph.report.facts


def test_microseconds_of_old_files(step: Any) -> None:
    step.ran("a", 0, 7, micros=True)
    graph = step.read()
    assert (graph.durations_s.tolist(), graph.report.facts["clock_ns"]) == ([7e-6], 1000)


def test_cut_off_files(diamond: Any) -> None:
    path = diamond().save()
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match=r"cut off.*tolerant=true"):
        RUNMETADATA.read(path)
    graph = RUNMETADATA.read(path, tolerant="true")
    assert 0 < graph.n_tasks < 4 + 1
    assert any("cut off" in note for note in graph.report.notes)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda s: s.ran("", 0, 1), FormatError, "record 5 of .* has no node_name"),
        (lambda s: s.ran("z", 0, -5), FormatError, "record 5 .*'z'.*a time of -5 nanos"),
        (lambda s: s.ran("z", 0, 2**60), FormatError, "the run takes .* s; expected at most"),
        (lambda s: s.ran("z", 0, 1, outputs=[(1,) * 65]), FormatError, "a shape of 65 dimensions"),
        (lambda s: s.ran("z", 0, 1, outputs=[(2**40, 2**40)]), FormatError, "at most 2.*62 elements"),
        (lambda s: s.node("", "Relu"), FormatError, "a node of graph 0 has no name"),
        (lambda s: s.message.partition_graphs[0].node[0].input.append(b"d"), GraphError, "cycle"),
        (lambda s: s.message.step_stats.Clear(), FormatError, "no node ran; record with trace_level"),
    ],
)
def test_refused(diamond: Any, change: Callable[[Any], object], error: type[Exception], message: str) -> None:
    step = diamond()
    change(step)
    with pytest.raises(error, match=message) as caught:
        ss.load(step.save(), format="tensorflow")
    assert "step.pb" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x0a\x05\x0a\x09", "reaches beyond the message that holds it"),
        (b"\x0a\x05\x0a\x03", "cut off"),
        (b"\xff" * 20, "no field of protobuf"),
        (b"\x0b", "no field of protobuf"),
        (b"step_stats { dev_stats { x", "not the text of a RunMetadata"),
        (b"step_stats { dev_stats { node_stats { thread_id: -1 } } }", "not the text of a RunMetadata"),
        (b"a { " * 5000, "not the text of a RunMetadata"),
        (b"step_stats { dev_stats { device: '\xff' } }", "not UTF-8 text"),
    ],
)
def test_no_run_metadata(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.pb"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        RUNMETADATA.read(path)


def test_a_graph_that_is_none(diamond: Any) -> None:
    step = diamond()
    (step.folder / "empty.pb").write_bytes(b"\x22\x00")
    with pytest.raises(FormatError, match="no nodes; give a GraphDef"):
        step.read(graph=step.folder / "empty.pb")
    with pytest.raises(FormatError, match="graph is 3; expected the path"):
        step.read(graph=3)


def test_times_are_exact(step: Any) -> None:
    """Differences of nanoseconds since 1970, which no float64 holds."""
    step.ran("a", 0, 1)
    step.ran("b", 3, 1)
    graph = step.read()
    assert graph.recording is not None
    assert np.array_equal(graph.recording.start_s, [0.0, 3e-9])


def test_missing_library_says_what_to_install(diamond: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = diamond().save()
    monkeypatch.setitem(__import__("sys").modules, "google.protobuf", None)
    messages.cache_clear()
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        RUNMETADATA.read(path)


def test_labels_tell_of_sends(step: Any, named_edges: Named) -> None:
    for i, tensor in enumerate(["x", "y"]):
        step.ran(f"send{i}", 10 * i, 5, label=f"send{i} = _Send(edge_{tensor} @/gpu)")
        step.ran(f"recv{i}", 0, 50 + i, device=GPU, label=f"recv{i} = _Recv(edge_{tensor} @/cpu)")
    assert named_edges(step.read()) == {("send0", "recv0"), ("send1", "recv1")}


def test_a_constant_with_a_long_value(diamond: Any, named_edges: Named) -> None:
    step = diamond()
    step.message.partition_graphs[0].node[1].attr.add(key=b"value").value.s = b"\0" * 3_000_000
    assert named_edges(step.read()) == EDGES
    step.message.partition_graphs[0].node[1].input.extend([b"a" * 50_000] * 30)
    with pytest.raises(FormatError, match="a node of more than 1048576 bytes"):
        step.read()


@pytest.mark.parametrize(
    "bomb", [b"\x7a\x00", b"\x0a\x00", b"\x1a\x02\x0a\x00", b"\x1a\x00", b"\x22\x02\x0a\x00"]
)
def test_bombs_of_small_messages(tmp_path: Path, bomb: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simsched.traces.shared.wire.MAX_FIELDS", 1000)
    path = tmp_path / "x.pb"
    path.write_bytes(bomb * 2000)
    with pytest.raises(FormatError, match=r"more than 1000 fields; refused|has no name"):
        RUNMETADATA.read(path)


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x0a\x02\x0a\x00" * 500,
        b"\x1a\x00" * 500,
        b"\x22\x02\x0a\x00" * 500,
        b"\x12\x00" * 500,
        b"step_stats {" + b"dev_stats{}" * 500 + b"}",
    ],
)
def test_devices_and_graphs_count_as_tasks(bomb: bytes) -> None:
    with pytest.raises(FormatError, match="more than 416 tasks, the most within limit=10 kB"):
        load(bomb, format="tensorflow", limit="10kB")


def message(number: int, *parts: bytes) -> bytes:
    """Return a field of a message that holds other fields."""
    content = b"".join(parts)
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (message(1, message(1, b"x"), message(2, b"Placeholder")) * 2, "a GraphDef, which records no times"),
        (b'# a graph\nnode {\n  name: "x"\n  op: "Placeholder"\n}\n', "a GraphDef, .* give this as graph="),
    ],
)
def test_other_files_of_tensorflow_are_refused_with_advice(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "run.pb").write_bytes(content)
    with pytest.raises(FormatError, match=f"this is {said}"):
        load(tmp_path / "run.pb")


def convolved(step: Any, op: str, producer: int) -> TaskGraph:
    """Return the graph of a strided convolution of images of 9 x 9 by filters of 3 x 3."""
    made = {"x": (2, 9, 9, 4), "w": (3, 3, 4, 8)}
    for start, (name, dims) in enumerate(made.items()):
        step.node(name, "_Arg")
        step.ran(name, start, 1, outputs=[dims])
    step.node("y", op, "x", "w", strides=(1, 2, 2, 1), padding="SAME")
    step.ran("y", 10, 5, outputs=[(2, 5, 5, 8)])
    if producer:
        step.message.partition_graphs[0].versions.producer = producer
    return step.read()


@pytest.mark.parametrize(
    ("op", "producer", "library"),
    [
        ("Conv2D", 2474, None),
        ("Conv2D", 0, None),
        ("Conv2D", 26, "eigen"),
        ("_MklConv2D", 26, "tensorflow-1.9"),
        ("_MklConv2D", 2474, "onednn"),
        ("_MklNativeFusedConv2D", 2474, "onednn"),
    ],
)
def test_windows_and_library_of_convolutions(step: Any, op: str, producer: int, library: str | None) -> None:
    graph = convolved(step, op, producer)
    assert graph.shapes[2] == "2x9x9x4;3x3x4x8;stride=2;padding=1"
    assert graph.flops[2] == 2 * 2 * 25 * 8 * 4 * 9
    assert graph.report.facts.get("library") == library
