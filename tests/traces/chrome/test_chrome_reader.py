"""Chrome traces of any tool: nesting, lanes, arrows, what is odd; and our own, there and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import simsched as ss
from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.testing.strategies import graphs
from simsched.traces.chrome.reader import CHROME_TRACE

Event = dict[str, Any]


def span(name: str, ts: Any, dur: Any, tid: Any = 1, pid: Any = 7, **more: Any) -> Event:
    return {"ph": "X", "name": name, "cat": "c", "ts": ts, "dur": dur, "tid": tid, "pid": pid, **more}


def flow(phase: str, ts: float, tid: int, ident: Any = 1, **more: Any) -> Event:
    return {"ph": phase, "name": "arrow", "cat": "c", "id": ident, "ts": ts, "tid": tid, "pid": 7, **more}


def load(tmp_path: Path, events: Any, **options: Any) -> TaskGraph:
    (tmp_path / "t.json").write_text(json.dumps(events))
    return ss.load(tmp_path / "t.json", **options)


def edges(graph: TaskGraph) -> list[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return [(graph.kinds[a], graph.kinds[b]) for a, b in pairs]


NESTED = [
    span("outer", 0, 10),
    span("inner", 1, 4),
    span("leaf", 2, 1),
    span("next", 12, 3),
    span("other", 1, 2, 2),
]


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"cpu-brand": "Some CPU @ 2.30GHz", "cpu-model": 79}, "Some CPU @ 2.30GHz"),
        ({"cpu-brand": "a\x1b[31m" + "b" * 900}, "a\\x1b[31m" + "b" * 191 + "..."),
        ({"cpu-brand": 7}, None),
        ({"cpu-model": 79}, None),
        ("Some CPU", None),
    ],
)
def test_the_processor_that_chromium_names(tmp_path: Path, metadata: object, name: str | None) -> None:
    for around in (
        {"metadata": metadata, "traceEvents": NESTED},
        {"traceEvents": NESTED, "metadata": metadata},
    ):
        origin = load(tmp_path, around).recorded_on
        assert (origin and origin.name) == name


def test_outermost_spans_are_tasks_and_lanes_are_chains(tmp_path: Path) -> None:
    graph = load(tmp_path, {"traceEvents": NESTED})
    assert graph.kinds.to_list() == ["outer", "other", "next"]
    assert graph.durations_s.tolist() == [1e-5, 2e-6, 3e-6]
    assert edges(graph) == [("outer", "next")]
    assert graph.recorded is not None
    assert graph.recorded.executor.tolist() == [0, 1, 0]
    assert graph.report.facts["spans_by_depth"] == "0: 3, 1: 1, 2: 1"
    assert graph.report.facts["left_out_level"] == 2
    assert (
        "Spans by depth: 0: 3, 1: 1, 2: 1; depth=, names= and lanes= choose others" in graph.report.notes[0]
    )
    assert "a chain" in graph.report.notes[1]


def test_innermost_spans_of_the_list_form(tmp_path: Path) -> None:
    graph = load(tmp_path, NESTED, level="innermost")
    assert graph.kinds.to_list() == ["other", "leaf", "next"]
    assert edges(graph) == [("leaf", "next")]


def test_what_lies_within_to_the_picosecond_stays_within(tmp_path: Path) -> None:
    """Rounded by itself each, `inner` would end at 12 ns, and `outer` at 11; `next` would start before that."""
    events = [span("outer", 0.0004, 0.0113), span("inner", "0.0056", "0.0061"), span("next", 0.0117, 0.0023)]
    graph = load(tmp_path, events)
    assert graph.kinds.to_list() == ["outer", "next"]
    assert graph.recording is not None
    assert np.round(graph.recording.finish_s * 1e9).tolist() == [12, 14]
    assert graph.report.facts["overlaps"] == 0


def test_begin_and_end_make_spans(tmp_path: Path) -> None:
    events = [
        {"ph": "B", "name": "a", "ts": 0, "pid": 1, "tid": 1}, {"ph": "B", "name": "b", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 2, "pid": 1, "tid": 1}, {"ph": "E", "ts": 5.125, "pid": 1, "tid": 1},
        {"ph": "E", "ts": 6, "pid": 1, "tid": 1}, {"ph": "B", "name": "open", "ts": 7, "pid": 1, "tid": 1},
    ]  # fmt: skip
    graph = load(tmp_path, events)
    assert graph.kinds.to_list() == ["a"]
    assert graph.durations_s.tolist() == [5.125e-6]
    assert graph.report.facts["dropped, unfinished"] == 1
    assert graph.report.facts["dropped, ended, never begun"] == 1


def test_arrows_are_edges_where_time_allows(tmp_path: Path) -> None:
    tasks = [span("a", 0, 10), span("b", 20, 5, 2), span("c", 5, 3, 3), span("d", 40, 1, 3)]
    arrows = [
        flow("s", 4, 1), flow("t", 21, 2), flow("f", 40.5, 3, bp="e"),  # a -> b -> d
        flow("s", 4, 1, 2), flow("f", 6, 3, 2, bp="e"),  # a -> c, but c starts before a ends
        flow("s", 15, 1, 3), flow("f", 21, 2, 3, bp="e"),  # from nowhere
        flow("s", 21, 2, 4), flow("f", 30, 3, 4),  # to the next task of the lane: b -> d again
    ]  # fmt: skip
    graph = load(tmp_path, tasks + arrows, edges="flows")
    assert edges(graph) == [("a", "b"), ("b", "d")]
    facts = graph.report.facts
    assert (facts["flow_edges"], facts["flows_backwards"], facts["flows_unbound"]) == (3, 1, 1)
    assert edges(load(tmp_path, tasks + arrows, edges="lanes")) == [("c", "d")]
    assert edges(load(tmp_path, tasks + arrows)) == [("a", "b"), ("c", "d"), ("b", "d")]


def test_flows_by_ids_of_their_process(tmp_path: Path) -> None:
    tasks = [span("a", 0, 2, 1), span("b", 5, 2, 2), span("c", 0, 2, 1, pid=8), span("d", 5, 2, 2, pid=8)]

    def arrows(ident: dict[str, str]) -> list[Event]:
        ends = [(1, 1, 7, "s"), (1, 1, 8, "s"), (6, 2, 7, "f"), (6, 2, 8, "f")]
        told = {"name": "arrow", "cat": "c", "bp": "e", "id2": ident}
        return [told | {"ph": phase, "ts": ts, "tid": tid, "pid": pid} for ts, tid, pid, phase in ends]

    graph = load(tmp_path, [*tasks, *arrows({"local": "0x7"})], edges="flows")
    assert edges(graph) == [("a", "b"), ("c", "d")]
    # One flow of four ends: whatever they mean, they are one.
    assert load(tmp_path, [*tasks, *arrows({"global": "0x7"})], edges="flows").n_edges == 1
    facts = load(tmp_path, [*tasks, *arrows({})], edges="flows").report.facts
    assert facts["dropped, flows without id"] == 4


def test_names_of_lanes_and_a_process_alone(tmp_path: Path) -> None:
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "cpu"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 5, "args": {"name": "main"}},
        span("a", 0, 1, 5, 1), span("b", 0, 1, "x", "gpu"),
    ]  # fmt: skip
    assert load(tmp_path, events).recording.lane_names == ("cpu: main", "process gpu: thread x")
    assert load(tmp_path, events, process="cpu").recording.lane_names[0] == "main"
    assert load(tmp_path, events, process="gpu").kinds.to_list() == ["b"]
    assert load(tmp_path, events, process=1).kinds.to_list() == ["a"]
    with pytest.raises(FormatError, match="process is 'disk'; expected one of 'cpu', 'gpu'"):
        load(tmp_path, events, process="disk")


def test_lines_that_sum_up_others_of_their_device_are_no_work(tmp_path: Path) -> None:
    """Five lines of a TPU covered the same 300 us, 1.5 ms of work; threads of that name elsewhere are threads."""
    lines = ["Steps", "XLA Modules", "XLA Ops", "TensorFlow Ops", "TensorFlow Name Scope"]
    events: list[Event] = [
        {"ph": "M", "pid": 7, "tid": tid, "name": "thread_name", "args": {"name": name}}
        for tid, name in enumerate(lines)
    ]
    events += [span("fusion.1", 0, 100, 2), *(span(f"s{tid}", 0, 300, tid) for tid in (0, 1, 3, 4))]
    events += [span("dot.2", 100, 200, 2)]
    graph = load(tmp_path, events)
    assert graph.kinds.to_list() == ["fusion.1", "dot.2"]
    said = (
        "4 spans of lines that say again what others of their device do: Steps, XLA Modules, TensorFlow Ops, "
    )
    assert f"{said}TensorFlow Name Scope; lanes= takes them" in graph.report.notes
    assert load(tmp_path, events, lanes="Steps").kinds.to_list() == ["s0"]
    assert load(tmp_path, [event for event in events if event["tid"] != 2]).n_tasks == 4


def test_what_is_odd_is_counted(tmp_path: Path) -> None:
    events = [span("a", 0, 1), span("b", 0, -5), {k: v for k, v in span("c", 1, 1).items() if k != "dur"},
              {"ph": "C", "name": "counter", "ts": 0, "args": {}}, {"ph": "i", "ts": 0}, {"ph": "b", "ts": 0},
              {"ph": "e", "ts": 1}, {"ph": "N"}, {"ph": "?"}, {}, {"ph": "s", "ts": 0}]  # fmt: skip
    report = load(tmp_path, events, format="chrome").report
    facts = report.facts
    assert report.doubts[0] == (
        "left out, with the work in them: 1 span without a duration, 1 span of a negative duration, "
        "2 asynchronous events"
    )
    dropped = {
        fact.removeprefix("dropped, "): count for fact, count in facts.items() if "dropped" in str(fact)
    }
    assert dropped == {
        "negative duration": 1, "without duration": 1, "counters": 1, "instants": 1, "asynchronous": 2, "objects": 1,
        "other": 2, "flows without id": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([span("a", "soon", 1)], "event 0: ts is 'soon', expected microseconds"),
        ([span("a", 0, 1), span("b", 0, 1, None)], "event 1: tid is None"),
        ([span("a", 1e30, 1)], "event 0: ts is"),
        ([{"ph": "C"}], "no span .* dropped, counters: 1"),
        (
            [{"ph": "b"}, {"ph": "n"}, {"ph": "B", "ts": 1}],
            "no span .* asynchronous: 2; dropped, unfinished: 1",
        ),
        ({"traceEvents": [7]}, "event 0: expected an object, got 7"),
    ],
)
def test_malformed(tmp_path: Path, events: Any, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        load(tmp_path, events, format="chrome")


def test_options_are_words(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="level is 'all'; expected one of outermost, innermost"):
        load(tmp_path, NESTED, level="all")
    with pytest.raises(FormatError, match="tolerant is 'yes'; expected true or false"):
        load(tmp_path, NESTED, tolerant="yes")


def test_a_trace_that_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text(json.dumps({"traceEvents": NESTED})[:-70])
    with pytest.raises(FormatError, match=r"cut off .*tolerant=true"):
        ss.load(tmp_path / "cut.json")
    graph = ss.load(tmp_path / "cut.json", tolerant=True)
    assert graph.kinds.to_list() == ["outer", "next"]
    assert any("cut off" in note for note in graph.report.notes)


def test_a_list_that_is_not_quite_json(tmp_path: Path) -> None:
    (tmp_path / "comma.json").write_text(json.dumps(NESTED)[:-1] + ",\n]")
    with pytest.raises(FormatError, match="tolerant=true"):
        ss.load(tmp_path / "comma.json")
    assert ss.load(tmp_path / "comma.json", tolerant=True).kinds.to_list() == ["outer", "other", "next"]


def test_other_formats_are_theirs() -> None:
    from simsched.graph.loading import _recognised
    from simsched.traces.samples import sample_files

    assert _recognised(sample_files("cnn")[0]) == "pytorch"
    assert CHROME_TRACE.recognises(b'[ {"name": "a", "ph": "X"}')
    assert not CHROME_TRACE.recognises(b'{"nodes": []}')
    assert not CHROME_TRACE.recognises(b"[1]")


@given(graphs())
def test_our_own_there_and_back(tmp_path_factory: pytest.TempPathFactory, graph: TaskGraph) -> None:
    path = tmp_path_factory.mktemp("own") / "run.json.gz"
    schedule = ss.simulate(graph, "generic[cores=3]", "critical-path", "3x1")
    schedule.save(path)
    back = ss.load(path)
    assert back.successors.indices.tolist() == graph.successors.indices.tolist()
    assert back.kinds.to_list() == graph.kinds.to_list()
    assert back.n_tasks == graph.n_tasks
    if graph.n_tasks:
        assert back.recording is not None
        np.testing.assert_allclose(
            back.recording.start_s, schedule.start_s - schedule.start_s.min(), atol=1e-9
        )
        np.testing.assert_allclose(back.durations_s, schedule.finish_s - schedule.start_s, atol=1.1e-9)


def test_our_own_says_that_options_choose_nothing(tmp_path: Path) -> None:
    ss.simulate(TaskGraph.from_edges([1, 2], [(0, 1)]), "generic[cores=1]", "fifo").save(
        tmp_path / "run.json"
    )
    assert len(ss.load(tmp_path / "run.json").report.notes) == 1
    notes = ss.load(tmp_path / "run.json", process="cores", edges="flows").report.notes
    assert "options choose nothing here: the graph was taken as written" in notes


def test_our_own_that_was_edited(tmp_path: Path) -> None:
    schedule = ss.simulate(ss.TaskGraph.from_edges([1, 2], [(0, 1)]), "generic[cores=1]", "fifo")
    schedule.save(tmp_path / "run.json")
    text = (tmp_path / "run.json").read_text()
    for old, new, said in (
        ('"task":1,', '"task":0,', "task 0 occurs twice"),
        ('"after":[0]', '"after":[5]', "after is 5"),
        ('"after":[0]', '"after":0', "after is 0; expected a list"),
        ('"width":1', '"width":-1', "width is -1"),
    ):
        (tmp_path / "edited.json").write_text(text.replace(old, new))
        with pytest.raises(FormatError, match=said):
            ss.load(tmp_path / "edited.json")
    (tmp_path / "edited.json").write_text(text.replace('"after":[]', '"after":[1]'))
    with pytest.raises(GraphError, match="cycle"):
        ss.load(tmp_path / "edited.json")
