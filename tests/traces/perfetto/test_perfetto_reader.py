"""Perfetto traces: simsched's own come back; track events of other programs, calculated by hand; damaged files."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph
from simsched.testing.strategies import graphs
from simsched.traces.perfetto.reader import PERFETTO_TRACE

protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
Event = protos.TrackEvent
BEGIN, END, INSTANT = Event.TYPE_SLICE_BEGIN, Event.TYPE_SLICE_END, Event.TYPE_INSTANT


class Trace:
    """A trace in the making; `packet` adds one."""

    def __init__(self) -> None:
        self.trace = protos.Trace()

    def packet(self, time: int = 0, sequence: int = 1, **fields: Any) -> Any:
        packet = self.trace.packet.add(trusted_packet_sequence_id=sequence, **fields)
        if time:
            packet.timestamp = time
        return packet

    def track(self, uuid: int, name: str, parent: int = 0) -> None:
        track = self.packet().track_descriptor
        track.uuid, track.name = uuid, name
        if parent:
            track.parent_uuid = parent

    def event(self, type: int, time: int, track: int | None = None, name: str = "", **fields: Any) -> Any:
        event = self.packet(time).track_event
        event.type = type
        if track is not None:
            event.track_uuid = track
        if name:
            event.name = name
        for key, values in fields.items():
            getattr(event, key).extend(values)
        return event

    def load(self, tmp_path: Path, **options: Any) -> TaskGraph:
        path = tmp_path / "run.pftrace"
        path.write_bytes(self.trace.SerializeToString())
        return ss.load(path, **options)


def intervals(graph: TaskGraph) -> list[tuple[str, str, int, int]]:
    run = graph.recording
    assert run is not None
    return [
        (
            graph.kinds[i],
            run.lane_names[run.lanes[i]],
            round(run.start_s[i] * 1e9),
            round(run.finish_s[i] * 1e9),
        )
        for i in range(graph.n_tasks)
    ]


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    return list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))


@given(graphs())
def test_what_simsched_writes_comes_back(tmp_path_factory: pytest.TempPathFactory, graph: TaskGraph) -> None:
    path = tmp_path_factory.mktemp("own") / "run.pftrace"
    schedule = ss.simulate(graph, "generic[cores=3]", "critical-path", "3x1")
    schedule.save(path)
    if not graph.n_tasks:
        return
    back = ss.load(path)
    assert back.report.format == "perfetto"
    assert back.name == graph.name
    assert back.kinds.to_list() == graph.kinds.to_list()
    assert [back.task_name(i) for i in range(back.n_tasks)] == [
        graph.task_name(i) for i in range(graph.n_tasks)
    ]
    assert sorted(edges(back)) == sorted(edges(graph))
    assert back.recording is not None
    assert np.abs(back.recording.start_s - schedule.start_s).max() < 1e-9
    assert np.abs(back.recording.finish_s - schedule.finish_s).max() < 1e-9
    assert back.recorded is not None
    assert back.recorded.makespan_s == pytest.approx(schedule.makespan_s, abs=2e-9)


def test_own_widths_and_options(tmp_path: Path) -> None:
    graph = TaskGraph.from_edges([1.0, 2.0, 0.0], [(0, 1), (1, 2)], kinds=["a", "b", "c"], name="wide: two")
    schedule = ss.simulate(graph, "generic[cores=4]", "fifo", "2x2")
    schedule.save(tmp_path / "run.pftrace")
    back = ss.load(tmp_path / "run.pftrace", depth=3)
    assert (back.name, back.widths.tolist()) == ("wide: two", [2, 2, 2])
    assert "options choose nothing here" in " ".join(back.report.notes)


def two_threads() -> Trace:
    """Two threads of one process: load -> (flow 7) -> sum, with a slice inside load, an instant inside sum."""
    made = Trace()
    process = made.packet().track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 1, 40, "app"
    for uuid, tid in ((2, 41), (3, 42)):
        thread = made.packet().track_descriptor
        thread.uuid, thread.parent_uuid, thread.thread.pid, thread.thread.tid = uuid, 1, 40, tid
        thread.thread.thread_name = f"worker {tid}"
    made.event(BEGIN, 1000, 2, "load", flow_ids=[7], categories=["io"])
    made.event(BEGIN, 1200, 2, "parse")
    made.event(END, 1400, 2)
    made.event(END, 1500, 2)
    made.event(BEGIN, 1600, 3, "sum")
    made.event(INSTANT, 1650, 3, "arrived", terminating_flow_ids=[7])
    made.event(END, 2000, 3)
    made.event(BEGIN, 2500, 2, "write")
    made.event(END, 2600, 2)
    return made


def test_slices_nest_and_flows_join(tmp_path: Path) -> None:
    graph = two_threads().load(tmp_path)
    assert intervals(graph) == [
        ("load", "worker 41", 0, 500),
        ("sum", "worker 42", 600, 1000),
        ("write", "worker 41", 1500, 1600),
    ]
    assert sorted(edges(graph)) == [(0, 1), (0, 2)]
    assert graph.scopes.to_list() == ["io", "", ""]
    facts = graph.report.facts
    assert (facts["spans"], facts["flow_edges"], facts["left_out_level"]) == (4, 1, 1)
    assert facts["spans_by_depth"] == "0: 3, 1: 1"
    assert "records no dependencies" in graph.report.doubts[0]


@pytest.mark.parametrize(
    ("options", "kinds", "joined"),
    [
        ({"level": "innermost"}, ["parse", "sum", "write"], [(0, 2)]),
        ({"depth": 1}, ["parse"], []),
        ({"names": "s*+w*"}, ["sum", "write"], []),
        ({"lanes": "worker 41"}, ["load", "write"], [(0, 1)]),
        ({"edges": "flows"}, ["load", "sum", "write"], [(0, 1)]),
        ({"edges": "lanes", "process": "app"}, ["load", "sum", "write"], [(0, 2)]),
    ],
)
def test_options(
    tmp_path: Path, options: dict[str, Any], kinds: list[str], joined: list[tuple[int, int]]
) -> None:
    graph = two_threads().load(tmp_path, **options)
    assert graph.kinds.to_list() == kinds
    assert edges(graph) == joined


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"names": "x*"},
            r"names is 'x\*', which chooses none of 4 spans; there are 'parse' \(1\), 'load' \(1\)",
        ),
        ({"lanes": "x*"}, r"lanes is 'x\*', which chooses none of 4 spans; there are 'worker 41' \(3\)"),
        ({"depth": 7}, r"depth is '7', which chooses none of 4 spans; there are 0 \(3\), 1 \(1\)"),
        ({"process": "x"}, "process is 'x'; expected one of 'app'"),
        ({"edges": "x"}, r"edges is 'x'; expected one of lanes\+flows"),
    ],
)
def test_options_that_choose_nothing(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        two_threads().load(tmp_path, **options)


def test_interned_names_and_a_clock_of_the_sequence(tmp_path: Path) -> None:
    made = Trace()
    first = made.packet(sequence_flags=1)
    first.trace_packet_defaults.timestamp_clock_id = 64
    first.trace_packet_defaults.track_event_defaults.track_uuid = 5
    snapshot = made.packet().clock_snapshot
    snapshot.clocks.add(clock_id=6, timestamp=10_000)
    snapshot.clocks.add(clock_id=64, timestamp=3, is_incremental=True, unit_multiplier_ns=1000)
    made.track(5, "lane")
    for delta, kind, iid in ((1, BEGIN, 9), (4, END, 0), (2, BEGIN, 9), (1, END, 0)):
        packet = made.packet(delta, sequence_flags=2)
        packet.track_event.type = kind
        if iid:
            packet.track_event.name_iid = iid
            packet.interned_data.event_names.add(iid=9, name="work")
    graph = made.load(tmp_path)
    # The clock stands at 3 when the trace's is at 10 us: 11 to 15 us, 17 to 18 us.
    assert intervals(graph) == [("work", "lane", 0, 4000), ("work", "lane", 6000, 7000)]
    other = made.packet(5, sequence=8, sequence_flags=2).track_event
    other.type = BEGIN
    graph = made.load(tmp_path)
    assert graph.report.facts["dropped, events whose names were lost"] == 1


def test_a_clock_without_a_snapshot_is_counted(tmp_path: Path) -> None:
    made = two_threads()
    packet = made.packet(5, timestamp_clock_id=70)
    packet.track_event.type = BEGIN
    graph = made.load(tmp_path)
    assert graph.report.facts["dropped, events without a time on the trace's clock"] == 1


def test_legacy_events_of_old_programs(tmp_path: Path) -> None:
    made = Trace()
    thread = made.packet().thread_descriptor
    thread.pid, thread.tid, thread.thread_name, thread.reference_timestamp_us = 7, 8, "old", 100
    complete = made.packet().track_event
    complete.timestamp_delta_us, complete.name = 5, "whole"
    complete.legacy_event.phase, complete.legacy_event.duration_us = ord("X"), 20
    begin = made.packet().track_event
    begin.timestamp_delta_us, begin.name, begin.legacy_event.phase = 30, "half", ord("B")
    end = made.packet().track_event
    end.timestamp_absolute_us, end.legacy_event.phase = 140, ord("E")
    counter = made.packet(3).track_event
    counter.type = Event.TYPE_COUNTER
    graph = made.load(tmp_path)
    assert intervals(graph) == [("whole", "old", 0, 20_000), ("half", "old", 30_000, 35_000)]
    assert graph.report.facts["dropped, counters"] == 1


def test_lanes_of_several_processes_are_named_after_both(tmp_path: Path) -> None:
    made = Trace()
    for uuid, name in ((1, "one"), (2, "two")):
        process = made.packet().track_descriptor
        process.uuid, process.process.pid, process.process.process_name = uuid, uuid, name
        made.track(uuid + 10, "lane", uuid)
        made.event(BEGIN, 10 * uuid, uuid + 10, "work")
        made.event(END, 10 * uuid + 5, uuid + 10)
    graph = made.load(tmp_path)
    assert graph.recording is not None
    assert graph.recording.lane_names == ("one: lane", "two: lane")
    assert made.load(tmp_path, process="two").n_tasks == 1


def test_ends_by_name_and_flows_that_are_no_edges(tmp_path: Path) -> None:
    made = Trace()
    made.event(BEGIN, 10, 1, "a", flow_ids=[1, 3])
    made.event(BEGIN, 20, 1, "b")
    made.event(END, 30, 1, "a")
    made.event(END, 40, 1)
    made.event(END, 50, 1)
    made.event(BEGIN, 25, 2, "c", flow_ids=[1])
    made.event(END, 60, 2, terminating_flow_ids=[9])
    made.event(BEGIN, 70, 1, "open")
    graph = made.load(tmp_path)
    facts = graph.report.facts
    # a ends by its name, b by the next end: they overlap.
    assert sorted(intervals(graph)) == [
        ("a", "track 1", 0, 20),
        ("b", "track 1", 10, 30),
        ("c", "track 2", 15, 50),
    ]
    assert (facts["overlaps"], facts["flows_backwards"]) == (1, 1)
    assert (facts["dropped, unfinished"], facts["dropped, ended, never begun"]) == (1, 1)


def test_compressed_packets_and_gzip(tmp_path: Path) -> None:
    inner = two_threads().trace.SerializeToString()
    outer = Trace()
    outer.packet().compressed_packets = zlib.compress(inner)
    graph = outer.load(tmp_path)
    assert graph.n_tasks == 3
    path = tmp_path / "again.pftrace.gz"
    path.write_bytes(gzip.compress(outer.trace.SerializeToString()))
    assert ss.load(path).n_tasks == 3


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.pftrace"
    data = two_threads().trace.SerializeToString()
    path.write_bytes(data[:-3])
    with pytest.raises(FormatError, match=r"cut off in the field at byte \d+; .*tolerant=true"):
        ss.load(path)
    graph = ss.load(path, tolerant=True)
    assert graph.kinds.to_list() == ["load", "sum"]
    assert graph.report.facts["mended"] == 1


def test_a_damaged_packet(tmp_path: Path) -> None:
    path = tmp_path / "bad.pftrace"
    data = two_threads().trace.SerializeToString()
    path.write_bytes(data + b"\x0a\x03\x5a\x7f\x01" + data)
    with pytest.raises(FormatError, match=f"byte {len(data)}: a message that is damaged"):
        ss.load(path, format="perfetto")
    assert ss.load(path, format="perfetto", tolerant=True).report.facts["mended"] == 1


def empty(made: Trace) -> None:
    made.track(1, "lane")


def system(made: Trace) -> None:
    made.packet().ftrace_events.cpu = 1


@pytest.mark.parametrize(
    ("fill", "message"),
    [(empty, "no slice of a track event in the trace; nothing ran"), (system, "ftrace bundles: 1")],
)
def test_nothing_to_read(tmp_path: Path, fill: Callable[[Trace], None], message: str) -> None:
    made = Trace()
    fill(made)
    with pytest.raises(FormatError, match=message):
        made.load(tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda event: event.debug_annotations[0].__setattr__("int_value", 5), "not numbered from 0"),
        (lambda event: event.debug_annotations[1].__setattr__("int_value", 0), "a task has width 0"),
        (lambda event: event.flow_ids.append(77), "not every flow has one beginning and one end"),
    ],
)
def test_edited_traces_of_our_own(tmp_path: Path, damage: Callable[[Any], None], message: str) -> None:
    graph = TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    path = tmp_path / "run.pftrace"
    ss.simulate(graph, "generic[cores=1]", "fifo").save(path)
    trace = protos.Trace.FromString(path.read_bytes())
    damage(next(p.track_event for p in trace.packet if p.track_event.type == BEGIN))
    path.write_bytes(trace.SerializeToString())
    with pytest.raises(FormatError, match=message):
        ss.load(path)


def test_other_protobuf_files_are_not_taken_for_it() -> None:
    seeds = Path(__file__).parents[1] / "seeds"
    others = [*seeds.glob("*/*/main.pb"), *seeds.glob("*/*/main.onnx"), *seeds.glob("chakra/*/main.et")]
    assert others
    assert not any(PERFETTO_TRACE.recognises(path.read_bytes()) for path in others)
