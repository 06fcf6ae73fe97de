"""Kineto files as they are found: any layout, exact times, damaged and cut off ones."""

from __future__ import annotations

import gzip
import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import FormatError, MissingExtraError
from simsched.traces.pytorch.events import nanoseconds
from simsched.traces.shared import json_elements
from simsched.traces.shared.places import MAX_MICROSECONDS, Place

PLACE = Place(Path("run.json"), "event", 0)


@pytest.fixture
def two(mini):
    mini.op("aten::mm", 1, 2)
    mini.op("aten::relu", 4, 1)
    return mini


def test_a_bare_list_of_events(two, tmp_path):
    path = tmp_path / "list.json"
    path.write_text(json.dumps(two.events))
    assert ss.load(path).kinds.to_list() == ["mm", "relu"]


def test_members_after_the_events_and_another_unit_of_display(two):
    two.top = {"displayTimeUnit": "ns"}
    path = two.write()[0]
    text = path.read_text().removesuffix("}") + ', "simsched": {"threads": 3}, "traceName": "]},{"}'
    path.write_text(text)
    graph = ss.load(path)
    assert graph.widths.tolist() == [3, 3]
    assert graph.durations_s.tolist() == [2e-6, 1e-6]


def test_long_members_before_and_after_the_events(two, monkeypatch):
    monkeypatch.setattr(json_elements, "CHUNK_B", 1000)
    monkeypatch.setattr(json_elements, "MAX_VALUE_B", 5000)
    numbers = [[{"traceEvents": [1, "]"]}, 2]] * 1000
    two.top = {"samples": numbers}
    path = two.write()[0]
    path.write_text(path.read_text().removesuffix("}") + f', "more": {json.dumps(numbers)}' + "}")
    assert ss.load(path, format="pytorch").kinds.to_list() == ["mm", "relu"]


def test_a_name_that_stands_again_and_again(tmp_path):
    path = tmp_path / "again.json"
    path.write_text('{"schemaVersion": 1,' + '"traceEvents": [],' * 100_000 + '"traceEvents": []}')
    with pytest.raises(FormatError, match="begins for the 17th time"):
        ss.load(path, format="pytorch")


def test_ids_as_texts(two):
    for event in two.events:
        event |= {"pid": "python 7", "tid": "thread one"}
    assert ss.load(two.write()[0]).recording.lane_names == ("thread thread one",)


def test_pieces_of_any_length(two, monkeypatch):
    two.annotate('brackets "[[{{," and \\', 0, 10)
    path, expected = two.write()[0], ss.load(two.write()[0])
    for size_B in (1, 2, 3, 7, 64):
        monkeypatch.setattr(json_elements, "CHUNK_B", size_B)
        graph = ss.load(path)
        assert graph.scopes.to_list() == expected.scopes.to_list()
        assert graph.durations_s.tolist() == expected.durations_s.tolist()


@given(st.decimals(0, MAX_MICROSECONDS, places=3))
def test_three_decimals_stay_exact(number):
    assert nanoseconds(str(number).encode(), "ts", PLACE) == int(number * 1000)


@given(st.decimals(-(10**6), MAX_MICROSECONDS, allow_nan=False))
def test_any_number_is_rounded_once(number):
    text = json.dumps(float(number)).encode()
    expected = int((Decimal(text.decode()) * 1000).to_integral_value())
    assert nanoseconds(text, "ts", PLACE) == expected


@pytest.mark.parametrize("text", [b"", b"true", b'"5e1"', b"1e99", b"[1]", b"9" * 10**6])
def test_what_is_no_time(text):
    with pytest.raises(FormatError, match=r"event 0: ts is"):
        nanoseconds(text, "ts", PLACE)


@pytest.mark.parametrize("zipped", [False, True], ids=["plain", "zipped"])
@pytest.mark.parametrize("kept", [1, 2])
def test_what_is_complete_of_a_cut_off_file(two, kept, zipped):
    path = two.write()[0]
    text = path.read_bytes()
    text = text[: text.index(b'"dur"', text.index(b"relu")) if kept == 1 else text.rindex(b"}") - 1]
    path.write_bytes(gzip.compress(text) if zipped else text)
    with pytest.raises(FormatError, match="cut off at byte"):
        ss.load(path)
    graph = ss.load(path, tolerant="true")
    assert graph.kinds.to_list() == ["mm", "relu"][:kept]
    assert any("cut off" in note for note in graph.report.notes)


def test_characters_that_json_does_not_allow(two):
    path = two.write()[0]
    path.write_bytes(
        path.read_bytes().replace(b"aten::mm", b"aten::m\x01m").replace(b'"cat"', b'"C:\\d": "\n", "cat"')
    )
    with pytest.raises(FormatError, match="not valid JSON"):
        ss.load(path)
    assert ss.load(path, tolerant=True).n_tasks == 1


def test_a_file_behind_itself(two):
    path = two.write()[0]
    path.write_bytes(gzip.compress(path.read_bytes()) * 2)
    with pytest.raises(FormatError, match="two documents follow each other"):
        ss.load(path)


def test_events_after_a_broken_one_are_left_out(two):
    path = two.write()[0]
    path.write_bytes(path.read_bytes().replace(b'"name": "aten::relu"', b'"name": aten::relu'))
    with pytest.raises(FormatError, match=r"not valid JSON near byte \d+"):
        ss.load(path)
    assert ss.load(path, tolerant=True).kinds.to_list() == ["mm"]


@pytest.mark.parametrize("change", [{"dur": -3}, {"dur": None}, {"ts": "now"}])
def test_operators_without_a_valid_time(two, change):
    two.events[1] |= change
    path = two.write()[0]
    with pytest.raises(FormatError, match="event 1: "):
        ss.load(path)
    graph = ss.load(path, tolerant=True)
    assert graph.kinds.to_list() == ["mm"]
    assert graph.report.facts["untimed_operators"] == 1


def test_the_line_to_type_where_msgspec_is_missing(two, monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    with pytest.raises(MissingExtraError, match=r"simsched\[formats\]"):
        ss.load(two.write()[0])
