"""What profiles of other versions, executors and devices hold, and what is left of those that are cut off."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from simsched.errors import FormatError
from simsched.graph import TaskGraph
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

onnx = pytest.importorskip("onnx")
pytest.importorskip("ijson")

SEED = Path(__file__).parents[1] / "seeds/onnxruntime/diamond"
Event = dict[str, Any]


@pytest.fixture
def diamond() -> list[Event]:
    """Nodes a, b, c, d, and their run, from 99 us to 169 us."""
    events: list[Event] = json.loads((SEED / "main.json").read_text())
    return events


def later(events: list[Event]) -> list[Event]:
    """The same 400 us later."""
    return [{**event, "ts": event["ts"] + 400} for event in deepcopy(events)]


def read(
    tmp_path: Path, events: list[Event], model: Path | None = SEED / "model.onnx", **options: Any
) -> TaskGraph:
    (tmp_path / "p.json").write_text(json.dumps(events))
    return ONNXRUNTIME.read(tmp_path / "p.json", model=model, **options)


def chain_of_two(tmp_path: Path) -> Path:
    """A model of two nodes without names."""
    nodes = [onnx.helper.make_node("Relu", ["x"], ["t"]), onnx.helper.make_node("Exp", ["t"], ["y"])]
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "xy"]
    proto = onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:]))
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    return tmp_path / "m.onnx"


@pytest.mark.parametrize("damage", ["cut", "control"])
def test_tolerant_reads_what_is_complete(tmp_path: Path, diamond: list[Event], damage: str) -> None:
    """Two runs, the second cut off at its third node, or a raw control character in a name."""
    text = json.dumps(diamond + later(diamond))
    cut = text.index('"c_kernel', text.index('"ts": 500'))
    (tmp_path / "p.json").write_text(text[:cut] if damage == "cut" else text.replace("Relu", "Relu\x01"))
    model = SEED / "model.onnx" if damage == "cut" else None
    with pytest.raises(FormatError, match=r"cut off|not valid JSON"):
        ONNXRUNTIME.read(tmp_path / "p.json", model=model)
    graph = ONNXRUNTIME.read(tmp_path / "p.json", model=model, tolerant="true")
    assert (graph.n_tasks, graph.report.facts["runs"]) == (4, 1 if damage == "cut" else 2)
    told = [note for note in graph.report.notes if "complete before" in note or "JSON does not allow" in note]
    assert len(told) == 1


def test_tolerant_takes_a_complete_run(tmp_path: Path, diamond: list[Event]) -> None:
    """Newer versions sort by start, so that a run's own event stands before its nodes."""
    text = json.dumps([diamond[4], *diamond[:4], later(diamond)[4], *later(diamond)[:4]])
    (tmp_path / "p.json").write_text(text[: text.rindex('"d_kernel')])
    facts = ONNXRUNTIME.read(tmp_path / "p.json", model=SEED / "model.onnx", tolerant=True).report.facts
    assert (facts["runs"], facts["run"], facts["nodes_not_run"]) == (2, 0, 0)


def test_tolerant_is_true_or_false(tmp_path: Path, diamond: list[Event]) -> None:
    with pytest.raises(FormatError, match="tolerant is 'perhaps'; expected true or false"):
        read(tmp_path, diamond, tolerant="perhaps")


def test_names_of_indices_before_version_1_12(tmp_path: Path, diamond: list[Event]) -> None:
    """Nodes without names are called by operator and index, which was that of the plan."""
    events = [diamond[0], diamond[1], diamond[4]]
    for event, name, index in zip(events, ["Relu_3", "Exp_4"], "34", strict=False):
        event["name"] = f"{name}_kernel_time"
        event["args"] = {"op_name": name[:-2], "graph_index": index, "exec_plan_index": index}
    graph = read(tmp_path, events, chain_of_two(tmp_path))
    assert [graph.task_name(i) for i in range(2)] == ["Relu_3", "Exp_4"]
    assert graph.n_edges == 1


def test_nodes_without_names_of_version_0_4(tmp_path: Path, diamond: list[Event]) -> None:
    events = [diamond[0], diamond[1], diamond[4]]
    for event in events[:2]:
        event.update(name="_kernel_time", args={"op_name": event["args"]["op_name"]})
    graph = read(tmp_path, events, chain_of_two(tmp_path))
    assert graph.n_edges == 1
    assert graph.durations_s.tolist() == [10e-6, 20e-6]


def test_a_pool_that_helps_the_caller(tmp_path: Path, diamond: list[Event]) -> None:
    pool = {"main_thread": {}, "sub_threads": {str(i): {"num_run": 0} for i in range(3)}}
    diamond[0]["args"]["thread_scheduling_stats"] = pool
    facts = read(tmp_path, diamond).report.facts
    assert (facts["executor"], facts["lanes"]) == ("sequential", 1)
    assert (facts["intra_op_threads"], facts["max_width"]) == (4, 1)
    assert (facts["before_first_s"], facts["after_last_s"]) == (1e-6, 1e-6)


def test_a_pool_that_runs_the_nodes(tmp_path: Path, diamond: list[Event]) -> None:
    """Two threads in the first run, the caller in the second."""
    second = later(diamond)
    for event, thread in zip(diamond[:4], [2, 2, 3, 2], strict=True):
        event["tid"] = thread
    facts = read(tmp_path, diamond + second, run=0).report.facts
    assert (facts["executor"], facts["lanes"], facts["threads_of_all_runs"]) == ("parallel", 2, 3)


def test_events_of_a_device_are_counted(tmp_path: Path, diamond: list[Event]) -> None:
    kernels = [
        {"cat": "Kernel", "pid": -1, "tid": -1, "ts": ts, "dur": 3, "name": "sgemm"}
        for ts in (105, 110, 900, None)
    ]
    graph = read(tmp_path, [*diamond, *kernels])
    assert graph.n_tasks == 4
    assert any("2 events of a device are not tasks" in note for note in graph.report.notes)


def test_several_sessions_in_one_file(tmp_path: Path, diamond: list[Event]) -> None:
    made = {**diamond[4], "name": "session_initialization"}
    graph = read(tmp_path, [made, *diamond, made, *later(diamond)], run="0")
    assert any("The file holds 2 sessions" in note for note in graph.report.notes)


def test_a_full_recording_is_told(
    tmp_path: Path, diamond: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simsched.traces.onnxruntime.profile.MAX_EVENTS", len(diamond))
    assert any("stopped at its limit" in note for note in read(tmp_path, diamond).report.notes)
