"""`hand`: profiles and optimized models written by hand, event by event and node by node."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simsched.graph import TaskGraph
from simsched.traces.onnxruntime.reader import ONNXRUNTIME

Event = dict[str, Any]


class Hand:
    """Writes what a session would; times are microseconds since it was made."""

    #: Nodes of 2 x 3 floats: a feeds b and c, which feed d.
    DIAMOND = (
        ("Relu", "a", ["x"], ["ta"]), ("Exp", "b", ["ta"], ["tb"]), ("Log", "c", ["ta"], ["tc"]),
        ("Add", "d", ["tb", "tc"], ["y"]),
    )  # fmt: skip

    def ran(self, name: str, op: str, ts: Any, dur: Any, tid: int = 1, **args: Any) -> Event:
        """Return the event of a node."""
        args = {"op_name": op, "node_index": "0", "provider": "CPUExecutionProvider", **args}
        head = {"cat": "Node", "pid": 7, "tid": tid, "dur": dur, "ts": ts, "ph": "X"}
        return {**head, "name": name + "_kernel_time", "args": args}

    def run(self, ts: int, dur: int, tid: int = 1) -> Event:
        """Return the event of a run."""
        head = {"cat": "Session", "pid": 7, "tid": tid, "dur": dur, "ts": ts, "ph": "X"}
        return {**head, "name": "model_run", "args": {}}

    def diamond(self, ts: int = 100, tid: int = 1) -> list[Event]:
        """Return a run of the diamond: a for 10 us, b for 20, c for 30, d for 5, with 1 us between them."""
        spans = [("a", "Relu", 0, 10), ("b", "Exp", 11, 20), ("c", "Log", 32, 30), ("d", "Add", 63, 5)]
        return [*(self.ran(n, o, ts + t, d, tid) for n, o, t, d in spans), self.run(ts - 1, 70, tid)]

    def shaped(self, events: list[Event], name: str, inputs: list[Any], outputs: list[Any]) -> None:
        """Give shapes to the events of a node."""
        tensors = {"input_type_shape": inputs, "output_type_shape": outputs}
        for event in events:
            if event["name"] == name + "_kernel_time":
                event["args"] |= {key: [{"float": dims} for dims in value] for key, value in tensors.items()}

    def profile(self, path: Path, events: Iterable[Any]) -> Path:
        """Write a profile."""
        path.write_text(json.dumps(list(events)))
        return path

    def value(self, name: str, dims: Sequence[int | str] | None = (2, 3)) -> Any:
        """Return what a model says of a tensor."""
        import onnx

        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)

    def node(self, op: str, name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
        """Return a node of a model."""
        import onnx

        return onnx.helper.make_node(op, inputs, outputs, name=name, **attributes)

    def model(
        self, path: Path, nodes: Iterable[Any], weights: Iterable[Any] = (), infos: Iterable[Any] = ()
    ) -> Path:
        """Write a model with input x and output y, of any shape."""
        import onnx

        protos = [self.node(*node) if isinstance(node, tuple) else node for node in nodes]
        ends = [self.value("x", None)], [self.value("y", None)]
        graph = onnx.helper.make_graph(protos, "g", *ends, list(weights), value_info=list(infos))
        path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
        return path

    def join(
        self,
        folder: Path,
        events: Iterable[Event],
        nodes: Iterable[Any] = DIAMOND,
        *,
        run: Any = None,
        **model: Any,
    ) -> TaskGraph:
        """Write both files, and read them."""
        profile = self.profile(folder / "run.json", events)
        return ONNXRUNTIME.read(profile, model=self.model(folder / "run.onnx", nodes, **model), run=run)

    def edges(self, graph: TaskGraph) -> list[tuple[str, str]]:
        """Return the edges of a graph by the names of its tasks."""
        pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
        return [(graph.task_name(a), graph.task_name(b)) for a, b in pairs]


@pytest.fixture(scope="session")
def hand() -> Hand:
    """What writes profiles and models."""
    return Hand()
