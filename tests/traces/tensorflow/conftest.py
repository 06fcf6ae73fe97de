"""`step`: run metadata written by hand, message by message, as TensorFlow would write it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from simsched.graph import TaskGraph
from simsched.traces.tensorflow.messages import messages
from simsched.traces.tensorflow.reader import RUNMETADATA

CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
START_NS = 1_795_166_617_528_527_313
FLOAT = 1


class Step:
    """One recorded step; times in nanoseconds after its start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.message = messages()["RunMetadata"]()
        self.devices: dict[str, Any] = {}

    def ran(
        self, name: str, start: int, length: int, *, device: str = CPU, label: str = "", thread: int = 0,
        outputs: Sequence[Sequence[int]] = (), micros: bool = False,
    ) -> Any:  # fmt: skip
        """Add an execution; its kernel takes all of its time but 1 ns at each end."""
        if device not in self.devices:
            self.devices[device] = self.message.step_stats.dev_stats.add(device=device.encode())
        stats = self.devices[device].node_stats.add(node_name=name.encode(), timeline_label=label.encode())
        unit, start = ("micros", (START_NS + start) // 1000) if micros else ("nanos", START_NS + start)
        setattr(stats, f"all_start_{unit}", start)
        setattr(stats, f"all_end_rel_{unit}", length)
        if length > 2 and not micros:
            stats.op_start_rel_nanos, stats.op_end_rel_nanos = 1, length - 1
        stats.thread_id = thread
        for slot, dims in enumerate(outputs):
            output = stats.output.add(slot=slot)
            output.tensor_description.dtype = FLOAT
            output.tensor_description.shape.SetInParent()
            for size in dims:
                output.tensor_description.shape.dim.add(size=size)
        return stats

    def node(self, name: str, op: str, *inputs: str, graph: int = 0, device: str = CPU, function: bool = False,
             **attributes: Any) -> Any:  # fmt: skip
        """Add a node to a partition graph, or to that of a function."""
        graphs = self.message.partition_graphs
        if function:
            graphs = (self.message.function_graphs or [self.message.function_graphs.add()])[
                0
            ].partition_graphs
        while len(graphs) <= graph:
            graphs.add()
        node = graphs[graph].node.add(name=name.encode(), op=op.encode(), device=device.encode())
        node.input.extend(i.encode() for i in inputs)
        for key, value in attributes.items():
            attribute = node.attr.add(key=key.encode()).value
            if isinstance(value, bool):
                attribute.b = value
            elif isinstance(value, tuple):
                attribute.list.i.extend(value)
            else:
                attribute.s = value.encode()
        return node

    def save(self, name: str = "step.pb") -> Path:
        """Write the file."""
        path = self.folder / name
        path.write_bytes(self.message.SerializeToString())
        return path

    def read(self, **options: Any) -> TaskGraph:
        """Write the file and return its graph."""
        return RUNMETADATA.read(self.save(), **options)


@pytest.fixture
def step(tmp_path: Path) -> Step:
    """An empty step."""
    return Step(tmp_path)


@pytest.fixture
def diamond(tmp_path: Path) -> Callable[[], Step]:
    """Make steps of a, then b and c at the same time, then d, which waits for c without reading it."""

    def make() -> Step:
        step = Step(tmp_path)
        step.node("a", "Relu")
        step.node("b", "Exp", "a")
        step.node("c", "MatMul", "a", "a:0")
        step.node("d", "Add", "b", "^c")
        step.ran("_SOURCE", -500, 100)
        step.ran("a", 0, 1000, outputs=[(2, 2)], label="a = Relu(x)")
        step.ran("b", 1000, 2000, outputs=[(2, 2)], label="b = Exp(a)")
        step.ran("c", 1500, 2500, outputs=[(2, 2)], label="c = MatMul(a, a)")
        step.ran("d", 4000, 700, outputs=[(2, 2)], label="d = Add(b, ^c)")
        return step

    return make


def edges_of(graph: TaskGraph) -> set[tuple[str, str]]:
    """Return the edges by name."""
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in ends}


@pytest.fixture
def named_edges() -> Callable[[TaskGraph], set[tuple[str, str]]]:
    """Return the function that gives edges by name."""
    return edges_of
