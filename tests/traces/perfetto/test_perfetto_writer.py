"""Perfetto traces, read back through Perfetto's own protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import simsched as ss
from simsched.errors import MissingExtraError, SimschedError
from simsched.graph import TaskGraph
from simsched.testing.strategies import graphs

protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def packets(path: Path) -> list[Any]:
    trace = protos.Trace()
    trace.ParseFromString(path.read_bytes())
    return list(trace.packet)


def saved(tmp_path: Path, graph: TaskGraph) -> tuple[ss.Schedule, list[Any]]:
    schedule = ss.simulate(graph, "generic[cores=2]", "critical-path", "2x1")
    schedule.save(tmp_path / "run.pftrace")
    return schedule, packets(tmp_path / "run.pftrace")


def test_tracks_slices_arrows_and_a_counter(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges(
        [1.0, 2.0, 3.0], [(0, 2), (1, 2)], kinds=["a", "b", "c"], names=["x", "<y>", "\ud800"]
    )
    _, found = saved(tmp_path, graph)
    tracks = {
        p.track_descriptor.uuid: p.track_descriptor.name for p in found if p.HasField("track_descriptor")
    }
    assert set(tracks.values()) == {"", "executor 0", "executor 1", "tasks running"}
    begins = [
        p for p in found if p.track_event.type == p.track_event.TYPE_SLICE_BEGIN and p.HasField("track_event")
    ]
    assert sorted((p.track_event.name, p.timestamp) for p in begins) == [
        ("<y>", 0),
        ("\\ud800", 2 * 10**9),
        ("x", 0),
    ]
    last = next(p.track_event for p in begins if p.timestamp)
    assert (
        sorted(last.terminating_flow_ids)
        == sorted(i for p in begins for i in p.track_event.flow_ids)
        == [1, 2]
    )
    assert {a.name: a.int_value for a in last.debug_annotations} == {"task": 2, "width": 1, "wait_ns": 0}
    counts = [p.track_event.counter_value for p in found if p.track_event.type == p.track_event.TYPE_COUNTER]
    # Critical path first takes task 1 and task 0 at once, task 2 two seconds later, alone.
    assert counts[0] == 2
    assert counts[-1] == 0


def test_aborted_runs_are_slices_that_reading_leaves_out(tmp_path: Path) -> None:
    """Executor 0 runs task 0 in vain until 1, and task 2 for no time at 2: executor 1 takes them over."""
    graph = TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0], [100.0, 1.0]], [(0, 2)])
    schedule = ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1")
    schedule.save(tmp_path / "run.pftrace")
    found = packets(tmp_path / "run.pftrace")
    tracks = {p.track_descriptor.name: p.track_descriptor.uuid for p in found if p.track_descriptor.name}
    events = [p for p in found if p.track_event.track_uuid == tracks["executor 0"]]
    assert [p.timestamp for p in events] == [0, 10**9, 2 * 10**9, 2 * 10**9]
    for task, begin in zip((0, 2), events[::2], strict=True):
        event = begin.track_event
        assert (event.name, list(event.categories)) == (f"task {task} (aborted)", ["aborted"])
        notes = {note.name: note.int_value for note in event.debug_annotations}
        assert notes == {"aborted_task": task, "width": 1}
        assert not [*event.flow_ids, *event.terminating_flow_ids]
    read = ss.load(tmp_path / "run.pftrace")
    assert read.successors.sources().tolist() == [0]
    assert read.successors.indices.tolist() == [2]
    assert (read.recorded.start_s.tolist(), read.recorded.finish_s.tolist()) == ([1, 0, 2], [2, 1, 3])


@given(graphs())
def test_every_task_begins_and_ends_once_on_its_track(
    tmp_path_factory: pytest.TempPathFactory, graph: TaskGraph
) -> None:
    schedule, found = saved(tmp_path_factory.mktemp("perfetto"), graph)
    open_: dict[int, int] = {}
    spans = []
    for packet in (p for p in found if p.HasField("track_event")):
        event = packet.track_event
        if event.type == event.TYPE_SLICE_BEGIN:
            assert event.track_uuid not in open_
            open_[event.track_uuid] = packet.timestamp
        elif event.type == event.TYPE_SLICE_END:
            spans.append((event.track_uuid - 16, open_.pop(event.track_uuid), packet.timestamp))
    expected = zip(
        schedule.executor.tolist(), schedule.start_s.tolist(), schedule.finish_s.tolist(), strict=True
    )
    assert sorted(spans) == sorted((e, round(a * 1e9), round(b * 1e9)) for e, a, b in expected)
    arrows = [i for p in found for i in p.track_event.flow_ids]
    assert sorted(arrows) == list(range(1, graph.n_edges + 1))


def test_what_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = ss.simulate(TaskGraph.from_edges([1e10]), "generic[cores=1]", "fifo")
    with pytest.raises(SimschedError, match="a Perfetto trace counts nanoseconds"):
        late.save(tmp_path / "run.pftrace")
    monkeypatch.setitem(__import__("sys").modules, "perfetto.trace_builder.proto_builder", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[formats\]'"):
        late.save(tmp_path / "run.pftrace")
    assert not list(tmp_path.iterdir())
