"""Whatever is in a file, what comes out is a valid graph or one of the two errors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.traces.tensorflow.reader import RUNMETADATA

pytest.importorskip("google.protobuf")

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
OPS = st.sampled_from(
    ["MatMul", "Merge", "NextIteration", "_Send", "_Recv", "PartitionedCall", "Conv2D", "Nobody"]
)
INPUTS = st.lists(st.sampled_from(["a", "^b", "c:1", "d", "e:99999999999", "a/_3", "^", ":"]), max_size=4)
NODES = st.tuples(NAMES, OPS, INPUTS, st.integers(0, 2), st.booleans())
DEVICES = st.sampled_from(["/cpu", "/gpu", "/device:GPU:0/stream:1", "/device:GPU:0/stream:all", "/memcpy"])
DIMS = st.lists(st.lists(st.integers(-1, 4), max_size=4), max_size=2)
RUNS = st.tuples(NAMES, st.integers(0, 40), st.integers(0, 30), DEVICES, st.integers(0, 2), DIMS)


def try_reading(path: Path, **options: Any) -> TaskGraph | None:
    """Return the graph, or None where the file is refused."""
    with suppress(FormatError, GraphError):
        graph = RUNMETADATA.read(path, **options)
        assert graph.n_tasks > 0
        assert graph.recording is not None
        return graph
    return None


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NODES, max_size=8), st.lists(RUNS, min_size=1, max_size=12))
def test_any_structure(diamond: Callable[[], Any], nodes: list[Any], runs: list[Any]) -> None:
    """Loops without a loop, receives without a send, calls in each other, copies of streams."""
    step = diamond()
    step.message.Clear()
    step.devices.clear()
    for name, op, inputs, graph, function in nodes:
        step.node(name, op, *inputs, graph=graph, function=function, tensor_name="t")
    for name, start, length, device, thread, outputs in runs:
        step.ran(name, start, length, device=device, thread=thread, outputs=outputs)
    graph = try_reading(step.save())
    if graph is not None:
        assert graph.n_tasks <= len(runs)
        assert (graph.durations_s >= 0).all()


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**30), st.binary(max_size=4), st.integers(0, 8), st.booleans())
def test_any_bytes(diamond: Callable[[], Any], at: int, new: bytes, dropped: int, tolerant: bool) -> None:
    path = diamond().save()
    data = path.read_bytes()
    at %= len(data)
    path.write_bytes(data[:at] + new + data[at + dropped :])
    try_reading(path, tolerant=tolerant)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_noise(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "noise.pb"
    path.write_bytes(b"\n" + data)
    try_reading(path)
    try_reading(path, tolerant=True)
