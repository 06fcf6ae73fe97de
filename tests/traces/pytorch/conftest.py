"""`mini`: a training step written by hand, as the two files that PyTorch would write."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from simsched.graph import TaskGraph
from simsched.traces.pytorch import PYTORCH

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
