"""Timelines of TensorFlow by hand, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simsched.errors import FormatError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.tensorflow.timeline import TIMELINE

pytest.importorskip("ijson")

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def process(pid: int, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}


def op(name: str, kind: str, ts: object, dur: object, *inputs: str, pid: int = 1) -> dict[str, Any]:
    args = {"name": name, "op": kind, **{f"input{i}": source for i, source in enumerate(inputs)}}
    return {"ph": "X", "cat": "Op", "name": kind, "pid": pid, "tid": 0, "ts": ts, "dur": dur, "args": args}


def events() -> list[Any]:
    start = 1_795_166_617_528_573
    return [
        process(0, "Allocators"), process(1, f"{CPU} Compute"), process(2, f"{CPU} Tensors"),
        op("_SOURCE", "NoOp", start - 9, 1),
        op("a", "Relu", start, 10), op("b", "Exp", start + 10, 5, "a"), op("c", "Log", start + 12, 9, "a:1", "^b"),
        {"ph": "s", "cat": "DataFlow", "name": "a", "pid": 1, "tid": 1, "ts": start, "id": 1},
        op("d", "Add", start + 30, 0, "b/_3", "c", "pruned"),
    ]  # fmt: skip


def write(folder: Path, listed: list[Any]) -> Path:
    path = folder / "step.timeline.json"
    path.write_text(json.dumps({"traceEvents": listed}))
    return path


def test_by_hand(tmp_path: Path, named_edges: Callable[[TaskGraph], set[tuple[str, str]]]) -> None:
    """Here c is said to wait for b, and starts 3 us before it ends: suspect, and told."""
    graph = load(write(tmp_path, events()))
    assert named_edges(graph) == {("a", "b"), ("a", "c"), ("b", "c"), ("b", "d"), ("c", "d")}
    assert graph.durations_s.tolist() == [1e-5, 5e-6, 9e-6, 0]
    assert graph.kinds.to_list() == ["Relu", "Exp", "Log", "Add"]
    facts = graph.report.facts
    assert (graph.report.format, facts["workers_guess"], facts["clock_ns"]) == (
        "tensorflow-timeline",
        2,
        1000,
    )
    assert (facts["early_starts"], facts["worst_early_start_s"]) == (1, pytest.approx(3e-6))
    assert (facts["control_edges"], facts["zero_length_tasks"]) == (1, 1)


def test_recognises_any_order_of_fields() -> None:
    old = b'{"traceEvents": [{"args": {"name": "Allocators"}, "pid": 0, "ph": "M", "name": "process_name"}'
    assert TIMELINE.recognises(old)
    assert TIMELINE.recognises(old.replace(b"Allocators", CPU.encode() + b" Compute"))
    assert not TIMELINE.recognises(old.replace(b"Allocators", b"python"))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (3, "event 9 is 3; expected an object"),
        (op("x", "Relu", -1, 1), "event 9 has ts -1; expected 0 to"),
        (op("x", "Relu", 1, "1"), "event 9 has dur '1'; expected 0 to"),
        (op("x", "Relu", 1, 2**60), "event 9 has dur 1152921504606846976"),
        (op("", "Relu", 1, 1), "event 9 has args.name ''"),
        (op("x", "Relu", 1, 1, pid=5), "event 9 is of process 5, which has no name"),
        (op("x", "Relu", 1, 1), "the run takes .* expected at most"),
    ],
)
def test_refused(tmp_path: Path, event: Any, message: str) -> None:
    path = write(tmp_path, [*events(), event])
    with pytest.raises(FormatError, match=message):
        TIMELINE.read(path)


def test_no_ops(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no event of category Op"):
        TIMELINE.read(write(tmp_path, events()[:4]))


def test_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, events())
    path.write_text(path.read_text()[:-120])
    with pytest.raises(FormatError, match=r"cut off.*tolerant=true"):
        TIMELINE.read(path)
    graph = TIMELINE.read(path, tolerant=True)
    assert graph.n_tasks == 3
