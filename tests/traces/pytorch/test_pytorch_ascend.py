"""Traces as Ascend's profiler (`torch_npu`) writes them: starts and shapes as texts, kernels without launches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph


def event(name: str, ts: object, dur: object, category: str = "cpu_op", **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "pid": 104,
        "tid": 105,
        "ts": ts,
        "dur": dur,
        "cat": category,
        "args": args,
    }


def load(folder: Path, events: list[dict[str, Any]], **options: Any) -> TaskGraph:
    (folder / "trace_view.json").write_text(json.dumps(events))
    return ss.load(folder / "trace_view.json", **options)


def events() -> list[dict[str, Any]]:
    return [
        {"ph": "M", "name": "thread_name", "pid": 104, "tid": 105, "args": {"name": "Thread 105"}},
        event("ProfilerStep#3", "1716800000000000.100", 1000.0),
        event(
            "aten::mm",
            "1716800000000010.123",
            100.25,
            **{"Input Dims": "4,8;\r\n8,2;\r\n", "Sequence number": 1},
        ),
        event("aten::add", "1716800000000210.124", 50, **{"Input Dims": "7;\r\nx"}),
        event("Enqueue@aclnnMm", "1716800000000050.1", 3.0, "enqueue", correlation_id=1),
        {
            "ph": "X",
            "name": "MatMul",
            "pid": 2,
            "tid": 7,
            "ts": "1716800000000100.1",
            "dur": 30.0,
            "args": {},
        },
    ]


def test_operators_of_the_host(tmp_path: Path) -> None:
    graph = load(tmp_path, events())
    run = graph.recording
    assert run is not None
    assert graph.report.format == "pytorch"
    assert graph.kinds.to_list() == ["mm", "add"]
    assert graph.durations_s.tolist() == [100.25e-6, 50e-6]
    assert run.start_s.tolist() == [0, 200.001e-6]
    assert run.lane_names == ("Thread 105",)
    assert graph.shapes.to_list() == ["4x8;8x2", "7"]
    assert graph.flops[0] == 2 * 4 * 8 * 2


def test_devices_that_are_not_there_are_told(tmp_path: Path) -> None:
    graph = load(tmp_path, events(), devices=True)
    assert graph.n_tasks == 2
    assert any("devices=true found no kernel" in note for note in graph.report.notes)


@pytest.mark.parametrize("start", ["soon", "1e5", "NaN", "1_0", ""])
def test_texts_that_are_no_numbers(tmp_path: Path, start: str) -> None:
    with pytest.raises(FormatError, match=rf"event 6: ts is '\"{start}\"', expected microseconds"):
        load(tmp_path, [*events(), event("aten::mm", start, 1)])
