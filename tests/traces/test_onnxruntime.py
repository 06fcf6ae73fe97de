"""ONNX Runtime profiles and optimized models written by hand: edges, runs, shapes, and what is refused."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.errors import FormatError, MissingExtraError, SimschedError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

onnx = pytest.importorskip("onnx")
pytest.importorskip("ijson")

Event = dict[str, Any]
#: Four nodes of 2 x 3 floats: a feeds b and c, which feed d.
DIAMOND = [("Relu", "a", ["x"], ["ta"]), ("Exp", "b", ["ta"], ["tb"]), ("Log", "c", ["ta"], ["tc"])]
DIAMOND += [("Add", "d", ["tb", "tc"], ["y"])]


def node_event(name: str, op: str, ts: Any, dur: Any, tid: int = 1, **args: Any) -> Event:
    args = {"op_name": op, "node_index": "0", "provider": "CPUExecutionProvider", **args}
    head = {"cat": "Node", "pid": 7, "tid": tid, "dur": dur, "ts": ts, "ph": "X"}
    return {**head, "name": name + "_kernel_time", "args": args}


def run_event(ts: int, dur: int, tid: int = 1) -> Event:
    head = {"cat": "Session", "pid": 7, "tid": tid, "dur": dur, "ts": ts, "ph": "X"}
    return {**head, "name": "model_run", "args": {}}


def diamond(ts: int = 100, tid: int = 1) -> list[Event]:
    """One run of the diamond: a for 10 us, b for 20, c for 30, d for 5, with 1 us between them."""
    spans = [("a", "Relu", 0, 10), ("b", "Exp", 11, 20), ("c", "Log", 32, 30), ("d", "Add", 63, 5)]
    return [*(node_event(n, o, ts + t, d, tid) for n, o, t, d in spans), run_event(ts - 1, 70, tid)]


def write(path: Path, events: Iterable[Event]) -> Path:
    path.write_text(json.dumps(list(events)))
    return path


def value(name: str, dims: Sequence[int | str] | None = (2, 3)) -> Any:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


def make_node(op: str, name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return onnx.helper.make_node(op, inputs, outputs, name=name, **attributes)


def save(path: Path, nodes: Iterable[Any], weights: Iterable[Any] = (), infos: Iterable[Any] = ()) -> Path:
    """Write a model with input x and output y, of any shape."""
    protos = [make_node(*node) if isinstance(node, tuple) else node for node in nodes]
    graph = onnx.helper.make_graph(
        protos, "g", [value("x", None)], [value("y", None)], list(weights), value_info=list(infos)
    )
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    return path


def join(
    tmp_path: Path, events: Iterable[Event], nodes: Iterable[Any], *, run: Any = None, **model: Any
) -> TaskGraph:
    profile, saved = write(tmp_path / "run.json", events), save(tmp_path / "run.onnx", nodes, **model)
    return ONNXRUNTIME.read(profile, model=saved, run=run)


def edges_of(graph: TaskGraph) -> list[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return [(graph.task_name(a), graph.task_name(b)) for a, b in pairs]


def test_diamond_has_the_models_edges_and_the_runs_times(tmp_path: Path) -> None:
    """Work 65 us, critical path a c d = 45 us, span 70 us."""
    graph = join(tmp_path, diamond(), DIAMOND)
    assert edges_of(graph) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    assert graph.kinds.to_list() == ["Relu", "Exp", "Log", "Add"]
    assert graph.critical_path_s == pytest.approx(45e-6)
    facts = graph.report.facts
    assert facts["span_s"] == pytest.approx(70e-6)
    assert facts["covered_share"] == pytest.approx(65 / 70)
    assert facts["average_parallelism"] == pytest.approx(65 / 45)
    assert (facts["tasks"], facts["edges"], facts["early_starts"], facts["nodes_not_run"]) == (4, 4, 0, 0)


def test_gzipped_files_are_read_alike(tmp_path: Path) -> None:
    profile, model = write(tmp_path / "p", diamond()), save(tmp_path / "m", DIAMOND)
    for file in (profile, model):
        file.write_bytes(gzip.compress(file.read_bytes()))
    assert ONNXRUNTIME.read(profile, model=str(model)).n_edges == 4


def test_content_tells_the_format() -> None:
    assert ONNXRUNTIME.recognises(b'[\n{"cat" : "Session","pid" :1,')
    assert ONNXRUNTIME.recognises(json.dumps(diamond()).encode())
    assert not ONNXRUNTIME.recognises(b'[{"ph": "X", "cat": "cpu_op"}]')
    assert not ONNXRUNTIME.recognises(b'{"traceEvents": [{"cat": "Node"}]}')
    assert not ONNXRUNTIME.recognises(b"[]")


def test_times_are_exact_nanoseconds_of_the_first_start(tmp_path: Path) -> None:
    base = 2**41  # 25 days after the session was made
    graph = join(tmp_path, diamond(base), DIAMOND)
    assert graph.recording is not None
    starts = [round(s * 1e9) for s in graph.recording.start_s]
    assert starts == [0, 11_000, 32_000, 63_000]
    assert [round(s * 1e9) for s in graph.recording.finish_s] == [10_000, 31_000, 62_000, 68_000]


def test_run_is_the_last_complete_one_or_the_one_asked_for(tmp_path: Path) -> None:
    """The third run stopped after its first node."""
    events = diamond(100) + diamond(300) + [node_event("a", "Relu", 500, 10), run_event(499, 20)]
    graph = join(tmp_path, events, DIAMOND)
    assert graph.report.facts["run"] == 1
    assert graph.report.facts["runs"] == 3
    assert graph.report.facts["run_spans_s"] == "0.000070, 0.000070, 0.000020"
    assert join(tmp_path, events, DIAMOND, run=0).report.facts["run"] == 0
    assert join(tmp_path, events, DIAMOND, run="2").n_tasks == 1
    for wrong in (3, -1, True, "x", 1.0, "", "3", "-1", "٢", "9" * 5000):
        with pytest.raises(FormatError, match=r"run is .*; expected one of the profile's runs 0 to 2"):
            join(tmp_path, events, DIAMOND, run=wrong)


def test_runs_at_once_are_told_apart_by_their_thread(tmp_path: Path) -> None:
    events = diamond(100, tid=1) + diamond(120, tid=2)
    graph = join(tmp_path, events, DIAMOND, run=1)
    assert graph.recording is not None
    assert graph.recording.lane_names == ("process 7 thread 2",)
    events[3]["tid"] = 3
    with pytest.raises(FormatError, match="overlap"):
        join(tmp_path, events, DIAMOND)


def test_node_that_did_not_run_passes_its_dependences_on(tmp_path: Path) -> None:
    events = [e for e in diamond() if not e["name"].startswith("c")]
    graph = join(tmp_path, events, DIAMOND)
    assert edges_of(graph) == [("a", "b"), ("a", "d"), ("b", "d")]
    assert graph.report.facts["nodes_not_run"] == 1
    assert any("'c'" in note for note in graph.report.notes)


def test_profile_alone_is_a_chain_a_thread(tmp_path: Path) -> None:
    events = diamond()
    events[2]["tid"] = 2
    graph = ONNXRUNTIME.read(write(tmp_path / "p", events))
    assert edges_of(graph) == [("a", "b"), ("b", "d")]
    assert graph.recording is not None
    assert graph.recording.lanes.tolist() == [0, 0, 1, 0]
    assert any("model=" in note for note in graph.report.notes)
    assert graph.report.facts["lanes"] == 2


def test_fences_and_other_events_are_no_tasks(tmp_path: Path) -> None:
    fence = node_event("a", "Relu", 99, 1) | {"name": "a_fence_before"}
    graph = join(tmp_path, [fence, {"cat": "Kernel"}, *diamond()], DIAMOND)
    assert graph.n_tasks == 4


def test_width_counts_the_threads_that_ran_a_part(tmp_path: Path) -> None:
    """Counters of the pool's threads run on: 3 parts before the run, b adds 2 on one of them, d 1 on both."""

    def stats(one: int, two: int) -> dict[str, Any]:
        return {"main_thread": {}, "sub_threads": {"t1": {"num_run": one}, "t2": {"num_run": two}}}

    events = diamond()
    warm_up = node_event("a", "Relu", 10, 5, thread_scheduling_stats=stats(3, 0))
    for event, counts in zip(events, [(3, 0), (5, 0), (5, 0), (6, 1)], strict=False):
        event["args"]["thread_scheduling_stats"] = stats(*counts)
    assert join(tmp_path, [warm_up, *events], DIAMOND).widths.tolist() == [1, 2, 1, 3]
    events[2]["args"]["thread_scheduling_stats"] = {"sub_threads": {"t1": {}}}
    with pytest.raises(FormatError, match=r"event 2 has num_run None"):
        join(tmp_path, events, DIAMOND)


def test_weights_packed_at_load_time_are_added_to_shapes_and_bytes(tmp_path: Path) -> None:
    """(2 x 3)(3 x 4) + 4: 2*2*3*4 + 2*4 = 56 FLOPs; 24 + 16 + 32 bytes in the event, 48 of the weight."""
    weights = [onnx.helper.make_tensor(n, 1, d, [0.0] * math.prod(d)) for n, d in (("w", [3, 4]), ("c", [4]))]
    told = {"input_type_shape": [{"float": [2, 3]}, {"float": [4]}], "output_type_shape": [{"float": [2, 4]}]}
    told |= {"activation_size": "24", "parameter_size": "16", "output_size": "32"}
    events = [node_event("g", "Gemm", 10, 5, **told), run_event(0, 20)]
    graph = join(tmp_path, events, [("Gemm", "g", ["x", "w", "c"], ["y"])], weights=weights)
    assert graph.shapes[0] == "2x3;3x4;4"
    assert (graph.flops[0], graph.bytes_B[0]) == (56.0, 120.0)


def test_old_profile_without_shapes_leaves_work_unknown(tmp_path: Path) -> None:
    graph = join(tmp_path, diamond(), DIAMOND)
    assert all(math.isnan(x) for x in (*graph.flops, *graph.bytes_B))


def test_body_is_part_of_its_owner_and_its_captures_are_edges(tmp_path: Path) -> None:
    """The branch reads `ta` of the outer graph; its node `inner` runs inside the If."""
    branch = onnx.helper.make_graph([make_node("Exp", "inner", ["ta"], ["z"])], "branch", [], [value("z")])
    nodes = [
        ("Relu", "a", ["x"], ["ta"]),
        ("Cast", "k", ["x"], ["cond"]),
        make_node("If", "if", ["cond"], ["y"], then_branch=branch, else_branch=branch),
    ]
    events = [node_event("a", "Relu", 10, 5), node_event("k", "Cast", 16, 2)]
    events += [node_event("inner", "Exp", 21, 3), node_event("if", "If", 20, 9), run_event(5, 30)]
    graph = join(tmp_path, events, nodes)
    assert edges_of(graph) == [("a", "if"), ("k", "if")]
    assert graph.report.facts["nodes_in_bodies"] == 1
    assert ONNXRUNTIME.read(tmp_path / "run.json").n_tasks == 3


def test_nodes_without_names_are_matched_in_order(tmp_path: Path) -> None:
    chain = [("Relu", "", ["x"], ["t0"]), ("Relu", "", ["t0"], ["t1"]), ("Relu", "", ["t1"], ["y"])]
    events = [node_event(f"Relu_{9 - i}", "Relu", 10 * i, 5, node_index=str(9 - i)) for i in range(3)]
    graph = join(tmp_path, [*events, run_event(0, 40)], chain)
    assert edges_of(graph) == [("Relu_9", "Relu_8"), ("Relu_8", "Relu_7")]
    events[1]["tid"] = 2
    with pytest.raises(FormatError, match="name of its own"):
        join(tmp_path, [*events, run_event(0, 40)], chain)


def shaped(events: list[Event], name: str, inputs: list[Any], outputs: list[Any]) -> None:
    for event in events:
        if event["name"] == name + "_kernel_time":
            tensors = {"input_type_shape": inputs, "output_type_shape": outputs}
            event["args"] |= {key: [{"float": dims} for dims in value] for key, value in tensors.items()}


def other_name(events: list[Event]) -> None:
    events[1]["name"] = "e_kernel_time"


def other_operator(events: list[Event]) -> None:
    events[1]["args"]["op_name"] = "Tanh"


def too_early(events: list[Event]) -> None:
    events[3]["ts"] = 160  # c finishes at 162


def twice(events: list[Event]) -> None:
    events.append(node_event("b", "Exp", 140, 1))


def reader_disagrees(events: list[Event]) -> None:
    shaped(events, "a", [[2, 3]], [[2, 3]])
    shaped(events, "b", [[2, 4]], [[2, 4]])


def input_is_missing(events: list[Event]) -> None:
    for name in "abc":
        shaped(events, name, [[2, 3]], [[2, 3]])
    shaped(events, "d", [[2, 3]], [[2, 3]])


def model_disagrees(events: list[Event]) -> None:
    shaped(events, "c", [[2, 3]], [[2, 2]])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (other_name, "'e'"),
        (other_operator, "'Tanh'"),
        (too_early, "160 us"),
        (twice, "2 times"),
        (reader_disagrees, "2x4"),
        (input_is_missing, "inputs"),
        (model_disagrees, "2x2"),
    ],
)
def test_model_of_another_session_is_refused(tmp_path: Path, change: Any, place: str) -> None:
    events = diamond()
    change(events)
    with pytest.raises(FormatError, match="of one session") as error:
        join(
            tmp_path,
            events,
            DIAMOND,
            infos=[value("tc", (2, "n"))] if change is not model_disagrees else [value("tc")],
        )
    assert place in str(error.value)
    assert "run.json" in str(error.value)
    assert "run.onnx" in str(error.value)


def test_clock_tells_no_more_than_a_microsecond(tmp_path: Path) -> None:
    events = diamond()
    events[3]["ts"] = 161  # c finishes at 162
    graph = join(tmp_path, events, DIAMOND)
    assert graph.report.facts["early_starts"] == 1


def in_run(**fields: Any) -> list[Event]:
    """One node in one run, with some of its fields, or of its arguments, changed."""
    event = node_event("a", "Relu", 1, 1)
    for key, value in fields.items():
        (event if key in event else event["args"])[key] = value
    return [run_event(0, 9), event]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "no model_run"),
        ([node_event("a", "Relu", 1, 1)], "no model_run"),
        ([run_event(1, 5)], "no node ran"),
        ([*diamond(), 3], "event 5 is 3"),
        (in_run(ts=-1), "ts -1"),
        (in_run(dur=-1), "dur -1"),
        (in_run(ts=1.5), "ts 1.5"),
        (in_run(ts=2**60), "microseconds"),
        (in_run(ts=True), "ts True"),
        (in_run(args=3), "args 3"),
        (in_run(tid=None), "tid None"),
        (in_run(output_size="-1"), "output_size '-1'"),
        (in_run(op_name=5), "op_name 5"),
        (in_run(input_type_shape="x"), "a list like"),
        (in_run(input_type_shape=[{"float": [-1]}]), "a shape"),
        (in_run(input_type_shape=[{"float": [2**40] * 2}]), "a shape"),
    ],
)
def test_malformed_profile_is_refused_with_its_place(tmp_path: Path, events: list[Any], message: str) -> None:
    with pytest.raises(FormatError, match=message) as error:
        ONNXRUNTIME.read(write(tmp_path / "bad.json", events))
    assert "bad.json" in str(error.value)
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(diamond()).encode()[:-40],
        b"\xff\xfe[",
        b'[{"cat": "\xff"}]',
        b"{}",
        b"[" * 100_000,
        b'[{"ts": ' + b"9" * 10_000 + b"}]",
        b'[{"cat": NaN}]',
        gzip.compress(json.dumps(diamond()).encode())[:-9],
    ],
)
def test_broken_file_is_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(data)
    with pytest.raises(FormatError, match=r"bad\.json"):
        ONNXRUNTIME.read(file)


def test_long_and_odd_names_are_kept(tmp_path: Path) -> None:
    names = ["n" * 100_000, "line\nbreak", "ü"]
    events = [node_event(name, "Relu", i, 1) for i, name in enumerate(names)]
    graph = ONNXRUNTIME.read(write(tmp_path / "p", [*events, run_event(0, 9)]))
    assert [graph.task_name(i) for i in range(3)] == names


def test_missing_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ijson", None)
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        ONNXRUNTIME.read(write(tmp_path / "p", diamond()))


def test_unknown_option_and_wrong_model_are_refused(tmp_path: Path) -> None:
    profile = write(tmp_path / "p", diamond())
    with pytest.raises(FormatError, match="no option 'modell'; it has model, run"):
        load(profile, modell="m")
    with pytest.raises(FormatError, match="expected the path"):
        load(profile, model=3)
    with pytest.raises(FormatError, match="no such file"):
        ONNXRUNTIME.read(profile, model=tmp_path / "none.onnx")


# Copies: what is drawn may be changed in its place, and would be drawn changed from then on.
JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 2**70), st.floats(), st.text(max_size=5), st.just([]),
    st.just({}), st.just([{"float": [2]}]), st.just({"sub_threads": {"t": {"num_run": 1}}}),
).map(deepcopy)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(data=st.data(), with_model=st.booleans())
def test_any_change_gives_a_graph_or_one_clear_error(
    data: st.DataObject, with_model: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = diamond()
    shaped(events, "a", [[2, 3]], [[2, 3]])
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(st.sampled_from(events))
        if isinstance(target.get("args"), dict) and target["args"] and data.draw(st.booleans()):
            target = target["args"]
        key = data.draw(st.sampled_from(sorted(target) + ["input_type_shape", "thread_scheduling_stats"]))
        target[key] = data.draw(JUNK)
    folder = tmp_path_factory.mktemp("fuzz")
    try:
        model = save(folder / "run.onnx", DIAMOND) if with_model else None
        graph = ONNXRUNTIME.read(write(folder / "run.json", events), model=model)
    except SimschedError as error:
        problem = str(error)
    else:
        problem = ""
        assert 1 <= graph.n_tasks <= 4
        assert graph.recording is not None
        assert (graph.recording.finish_s >= graph.recording.start_s).all()
    assert not problem or "run.json" in problem
