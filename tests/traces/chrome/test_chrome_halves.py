"""Chrome traces as tools leave them: out of order, without an end, with flows that spans are points of."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

Event = dict[str, Any]


def half(phase: str, ts: float, name: str | None = None, tid: int = 1) -> Event:
    return {"ph": phase, "ts": ts, "pid": 1, "tid": tid} | ({} if name is None else {"name": name})


def span(name: str, ts: float, dur: float, tid: int, **more: Any) -> Event:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid, **more}


def flow(phase: str, ts: float, tid: int) -> Event:
    return {"ph": phase, "name": "arrow", "id": 1, "ts": ts, "pid": 1, "tid": tid, "bp": "e"}


def load(tmp_path: Path, events: Any, **options: Any) -> TaskGraph:
    (tmp_path / "t.json").write_text(json.dumps(events))
    return ss.load(tmp_path / "t.json", **options)


def times(graph: TaskGraph) -> dict[str, tuple[float, float]]:
    assert graph.recording is not None
    starts, ends = graph.recording.start_s * 1e6, graph.recording.finish_s * 1e6
    return dict(
        zip(
            graph.kinds.to_list(),
            zip(starts.round(3).tolist(), ends.round(3).tolist(), strict=True),
            strict=True,
        )
    )


def edges(graph: TaskGraph) -> list[tuple[str, str]]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return [(graph.kinds[a], graph.kinds[b]) for a, b in pairs]


def test_beginnings_and_ends_out_of_order(tmp_path: Path) -> None:
    graph = load(tmp_path, [half("E", 9), half("E", 12), half("B", 10, "late"), half("B", 0, "early")])
    assert times(graph) == {"early": (0, 9), "late": (10, 12)}
    assert not any("dropped" in fact for fact in graph.report.facts)


def test_an_end_with_a_name_ends_the_span_of_that_name(tmp_path: Path) -> None:
    events = [
        half("B", 0, "outer"),
        half("B", 1, "lost"),
        half("E", 10, "outer"),
        half("B", 20, "a"),
        half("E", 21, "stray"),
        half("E", 23, "a"),
        half("B", 30),
        half("E", 31, "of none"),
    ]
    graph = load(tmp_path, events)
    assert times(graph) == {"outer": (0, 10), "a": (20, 23), "": (30, 31)}
    assert graph.report.facts["dropped, unfinished"] == 1
    assert graph.report.facts["dropped, ended, never begun"] == 1


def test_times_may_be_texts(tmp_path: Path) -> None:
    """Trace Compass writes them so."""
    events = [{}, span("a", "445191683049.142", "5.5", 1), span("b", "445191683059", 1, 1)]
    assert times(load(tmp_path, events)) == {"a": (0, 5.5), "b": (9.858, 10.858)}
    with pytest.raises(FormatError, match="event 0: ts is '1e9', expected microseconds"):
        load(tmp_path, [span("a", "1e9", 1, 1)])


def test_sums_of_clang_are_no_tasks(tmp_path: Path) -> None:
    sums = span("Total Frontend", 0, 7, 2, args={"count": 2, "avg ms": 0})
    graph = load(tmp_path, {"traceEvents": [span("Frontend", 5, 4, 1), sums, span("Total cost", 0, 1, 3)]})
    assert sorted(graph.kinds.to_list()) == ["Frontend", "Total cost"]
    assert graph.report.facts["dropped, sums"] == 1


@pytest.mark.parametrize("tail", ["", ",", ",\n  "])
def test_the_list_may_lack_its_end(tmp_path: Path, tail: str) -> None:
    text = "[\n" + json.dumps(span("a [x", 0, 5, 1)) + ",\n" + json.dumps(span("b", 7, 5, 1)) + tail
    (tmp_path / "t.json").write_text(text)
    graph = ss.load(tmp_path / "t.json")
    assert graph.kinds.to_list() == ["a [x", "b"]
    assert "lacks its end" in graph.report.notes[0]


@pytest.mark.parametrize("cut", [1, 9])
@pytest.mark.parametrize("more", [{}, {"args": {"in": {}}}, {"args": "}       "}])
def test_a_list_that_ends_within_an_event_is_cut_off(tmp_path: Path, cut: int, more: dict[str, Any]) -> None:
    events = [span("a", 0, 5, 1), span("b", 7, 5, 1) | more]
    (tmp_path / "t.json").write_text(json.dumps(events)[: -1 - cut])
    with pytest.raises(FormatError, match="cut off"):
        ss.load(tmp_path / "t.json")
    assert ss.load(tmp_path / "t.json", tolerant=True).kinds.to_list() == ["a"]


def test_a_list_without_end_is_damaged_where_its_last_event_is(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('[{"ph": "X"}, {"ph": nan}')
    with pytest.raises(FormatError, match="not valid JSON near byte 2"):
        ss.load(tmp_path / "t.json")


def test_why_nothing_could_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"traceEvents": [{"ph": "X", "name": "a", "ts": oops, "dur": 1}]}')
    with pytest.raises(FormatError, match=r"no span .* not valid JSON near byte 48"):
        ss.load(tmp_path / "t.json", tolerant=True)


def test_what_has_no_time_is_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    text = json.dumps(
        [span("a", math.nan, 1, 1), span("b", 3, 1, 1), span("c", 5, math.nan, 1), flow("s", math.nan, 1)]
    )
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(FormatError, match="not valid JSON"):
        ss.load(tmp_path / "t.json")
    graph = ss.load(tmp_path / "t.json", tolerant=True)
    assert graph.kinds.to_list() == ["b"]
    assert graph.report.facts["dropped, without time"] == 2
    assert graph.report.facts["dropped, without duration"] == 1
    (tmp_path / "t.json").write_text(text.replace("NaN", "null"))
    with pytest.raises(FormatError, match="event 0: ts is None, expected microseconds"):
        ss.load(tmp_path / "t.json")


def test_an_id_is_used_again_once_its_flow_has_ended(tmp_path: Path) -> None:
    tasks = [span("a", 0, 1, 1), span("b", 2, 1, 2), span("c", 4, 1, 3), span("d", 6, 1, 4)]
    arrows = [flow("s", 0.5, 1), flow("f", 2.5, 2), flow("s", 4.5, 3), flow("f", 6.5, 4)]
    assert edges(load(tmp_path, tasks + arrows)) == [("a", "b"), ("c", "d")]


def test_spans_that_are_points_of_a_flow(tmp_path: Path) -> None:
    events = [
        span("a", 0, 1, 1, bind_id="0x7", flow_out=True),
        span("b", 2, 1, 2, bind_id="0x7", flow_in=True, flow_out=True),
        span("c", 4, 1, 3, bind_id="0x7", flow_in=True),
        span("d", 6, 1, 4, bind_id="0x7"),
    ]
    assert edges(load(tmp_path, events)) == [("a", "b"), ("b", "c")]


def test_numbers_are_shown_as_they_stand(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"event 0: pid is 2\.5; expected a whole number or a text"):
        load(tmp_path, [{**span("a", 0, 1, 1), "pid": 2.5}])
