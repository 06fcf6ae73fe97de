"""`mini`: a training step written by hand, as the two files that PyTorch would write; what real ones must become."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.graph import TaskGraph
from simsched.traces.pytorch.reader import PYTORCH

Tensor = tuple[int, int, Sequence[int]]  # tensor id, storage id, shape


class Mini:
    """Events and nodes that are added one by one, times in microseconds.

    Numbers are written as text where given as such, for decimals that no float holds.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.top: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": []}
        self.events: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []
        self.et: dict[str, Any] = {"schema": "1.1.1-chakra.0.0.4", "pid": 1}

    def event(
        self, category: str, name: str, start: object, duration: object, lane: object, **args: Any
    ) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 7,
                "tid": lane,
                "ts": start,
                "dur": duration,
                "args": args,
            }
        )

    def op(
        self,
        name: str,
        start: object,
        duration: object,
        ins: Sequence[Tensor] = (),
        outs: Sequence[Tensor] = (),
        *,
        schema: str = "",
        inside: int = 0,
        lane: object = 1,
        sequence: int | None = None,
    ) -> int:
        """Add a call to both files; return its record function id."""
        rf_id = len(self.events) + 1
        args: dict[str, Any] = {
            "Record function id": rf_id,
            "Ev Idx": rf_id,
            "Input Dims": [list(t[2]) for t in ins],
        }
        if sequence is not None:
            args["Sequence number"] = sequence
        self.event("cpu_op", name, start, duration, lane, **args)
        attributes = {"rf_id": rf_id, "tid": 1, "op_schema": schema}
        self.nodes.append(
            {
                "id": rf_id + 100,
                "name": name,
                "ctrl_deps": inside + 100,
                "inputs": side(ins),
                "outputs": side(outs),
                "attrs": [{"name": k, "type": "", "value": v} for k, v in attributes.items()],
            }
        )
        return rf_id

    def annotate(self, name: str, start: object, duration: object, lane: object = 1) -> None:
        self.event("user_annotation", name, start, duration, lane)

    def write(self, zipped: bool = False) -> tuple[Path, Path]:
        """Write both files."""
        kineto = {**self.top, "traceEvents": self.events}
        return (
            self._put("step.kineto.json", json.dumps(kineto), zipped),
            self._put("step.et.json", json.dumps({**self.et, "nodes": self.nodes}), zipped),
        )

    def _put(self, name: str, text: str, zipped: bool) -> Path:
        path = self.folder / (name + ".gz" if zipped else name)
        data = text.replace('"<', "").replace('>"', "").encode()
        path.write_bytes(gzip.compress(data) if zipped else data)
        return path

    def load(self, **options: Any) -> TaskGraph:
        """Read both files."""
        kineto, execution_trace = self.write()
        return PYTORCH.read(kineto, execution_trace=execution_trace, **options)

    def load_alone(self, **options: Any) -> TaskGraph:
        """Read the Kineto trace without its companion."""
        return PYTORCH.read(self.write()[0], **options)


def side(tensors: Sequence[Tensor]) -> dict[str, Any]:
    """Return the inputs or outputs of a node."""
    return {
        "values": [[i, storage, 0, _numel(shape), 4, "cpu"] for i, storage, shape in tensors],
        "shapes": [list(shape) for _, _, shape in tensors],
        "types": ["Tensor(float)" for _ in tensors],
    }


def _numel(shape: Sequence[int]) -> int:
    numel = 1
    for size in shape:
        numel *= size
    return numel


@pytest.fixture
def mini(tmp_path: Path) -> Mini:
    """An empty training step."""
    return Mini(tmp_path)


def step_of(kineto: Path) -> tuple[dict[int, tuple[str, int, int]], int]:
    """Return name, start and finish in ns of every operator by its record function id, and the step's length."""
    events = json.loads(gzip.decompress(kineto.read_bytes()), parse_float=Decimal)["traceEvents"]
    timed = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]
    spans = {
        e["args"]["Record function id"]: (e["name"], int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000))
        for e in timed
    }
    return spans, next(int(e["dur"] * 1000) for e in timed if e["name"].startswith("ProfilerStep#"))


@cache
def _read_as_recorded(kineto: Path, execution_trace: Path) -> TaskGraph:
    graph = PYTORCH.read(kineto, execution_trace=execution_trace)
    facts, recording = graph.report.facts, graph.recording
    assert facts["joined"] == graph.n_tasks
    assert facts["impossible_edges"] == 0
    assert 0.8 < facts["covered_share"] < 1
    assert facts["average_parallelism"] > 1.5
    sources, targets = graph.successors.sources(), graph.successors.indices
    assert np.all(recording.finish_s[sources] <= recording.start_s[targets])
    spans, span_ns = step_of(kineto)
    assert round(facts["span_s"] * 1e9) == span_ns
    ids = [int(graph.task_name(task).rpartition("#")[2]) for task in range(graph.n_tasks)]
    first = min(spans[i][1] for i in ids)
    for column, at in ((recording.start_s, 1), (recording.finish_s, 2)):
        assert np.round(column * 1e9).astype(np.int64).tolist() == [spans[i][at] - first for i in ids]
    assert [spans[i][0].removeprefix("aten::") for i in ids] == graph.kinds.to_list()
    assert graph.recorded.makespan_s <= facts["span_s"]
    return graph


@pytest.fixture(scope="session")
def read_as_recorded() -> Callable[[Path, Path], TaskGraph]:
    """Read a recording once; assert that the tasks are its operators, at their times, with possible edges."""
    return _read_as_recorded
