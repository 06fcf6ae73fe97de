"""Text columns: any string in, the same string out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.graph import LabelColumn, TaskGraph, TextColumn
from simsched.graph.columns import plain_text

STRINGS = st.lists(st.text())


@given(STRINGS)
def test_texts_come_back(strings: list[str]) -> None:
    column = TextColumn.from_strings(strings)
    assert column.to_list() == strings
    assert [column[i] for i in range(len(column))] == strings
    assert len(column) == len(strings)


@given(STRINGS)
def test_labels_come_back(strings: list[str]) -> None:
    column = LabelColumn.from_strings(strings)
    assert column.to_list() == strings
    assert column.labels == tuple(dict.fromkeys(strings))
    assert [column[i] for i in range(len(column))] == strings


@given(st.lists(st.text(st.characters(categories=["Cs", "Ll"]))))
def test_halves_of_surrogate_pairs_become_escapes(strings: list[str]) -> None:
    plain = [s.encode("utf-8", "backslashreplace").decode() for s in strings]
    assert TextColumn.from_strings(strings).to_list() == plain
    labels = LabelColumn.from_strings(strings)
    assert labels.to_list() == plain
    assert len(set(labels.labels)) == len(labels.labels)


@given(
    st.lists(st.one_of(st.text(st.characters()), st.binary(), st.none(), st.integers(), st.just("\ud800")))
)
def test_labels_are_cleaned_as_texts_are(values: list[object]) -> None:
    assert LabelColumn.from_strings(values).to_list() == TextColumn.from_strings(values).to_list()


def test_a_surrogate_and_its_escape_are_one_label() -> None:
    assert LabelColumn.from_strings(["\ud800", "\\ud800", "a"]).labels == ("\\ud800", "a")


def test_other_values() -> None:
    assert [plain_text(v) for v in (None, b"\xff", np.str_("a"), np.bytes_(b"b"), 3)] == [
        "",
        "\\xff",
        "a",
        "b",
        "3",
    ]
    assert type(LabelColumn.from_strings(np.array(["a"])).labels[0]) is str


@pytest.mark.parametrize("form", [TextColumn, LabelColumn])
def test_indices_and_slices_are_those_of_a_list(form: type[TextColumn | LabelColumn]) -> None:
    strings = ["a", "bc", "a" if form is LabelColumn else "d"]
    column = form.from_strings(strings)
    assert [column[-1], column[np.int32(1)]] == [strings[-1], "bc"]
    assert [column[:2], column[-2:], column[::-1], column[1:2], column[5:]] == [
        strings[:2], strings[-2:], strings[::-1], ["bc"], []
    ]  # fmt: skip
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            column[wrong]


def test_one_label_for_all() -> None:
    graph = TaskGraph.from_edges([1, 1], kinds="MatMul", scopes="layer", shapes="1x2")
    assert graph.kinds.to_list() == ["MatMul"] * 2
    assert graph.scopes.to_list() == ["layer"] * 2
    assert graph.shape(1) == ((1, 2),)


@pytest.mark.parametrize(
    "strings", [["x", "y"], ("x", "y"), np.array(["x", "y"]), iter(["x", "y"]), {"x": 0, "y": 1}]
)
def test_forms_of_strings(strings: object) -> None:
    graph = TaskGraph.from_edges([1, 1], names=strings)
    assert graph.names is not None
    assert graph.names.to_list() == ["x", "y"]


@given(st.lists(st.text(st.characters(categories=["Cs", "Ll"])), min_size=1), st.data())
def test_codes_are_stored_as_their_strings_are(strings: list[str], data: st.DataObject) -> None:
    codes = data.draw(st.lists(st.integers(0, len(strings) - 1)))
    column = LabelColumn.from_codes(np.array(codes, np.int32), strings)
    expected = LabelColumn.from_strings([strings[code] for code in codes])
    assert (column.codes.tolist(), column.labels) == (expected.codes.tolist(), expected.labels)
    assert TaskGraph.from_edges([1.0] * len(codes), kinds=column).kinds.to_list() == expected.to_list()


def test_constant_columns_are_one_value_in_memory() -> None:
    graph = ss.TaskGraph.from_edges(np.ones(1000), kinds=["a"] * 1000)
    columns = graph.flops, graph.bytes_B, graph.widths, graph.shapes.codes, graph.scopes.codes
    assert [column.strides for column in columns] == [(0,)] * 5
    assert not any(column.flags.writeable for column in columns)


def test_read_only_columns_are_shared_and_others_are_copied() -> None:
    seconds = np.ones(3)
    copied = ss.TaskGraph.from_edges(seconds)
    seconds.setflags(write=False)
    shared = ss.TaskGraph.from_edges(seconds)
    assert shared.durations_s is seconds
    assert not np.shares_memory(copied.durations_s, seconds)
    view = np.ones(4)[:3]
    view.setflags(write=False)
    assert not np.shares_memory(ss.TaskGraph.from_edges(view).durations_s, view)
