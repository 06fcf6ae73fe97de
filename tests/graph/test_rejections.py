"""Every impossible graph is refused by a message with the task or the edge, the value and what to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from simsched.errors import GraphError
from simsched.graph import RecordedOn, Recording, TaskGraph
from simsched.graph.adjacency import Csr

CYCLE = [(0, 1), (1, 2), (2, 0)]
NAN = float("nan")


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (CYCLE, "the graph has a cycle: task 0 -> task 1 -> task 2 -> task 0"),
        ([(0, 1), (2, 2)], "edge 1 is a self-loop on task 2; leave it out"),
        ([(0, 3)], "edge 0 (0 -> 3) leaves the graph, whose tasks are 0 to 2"),
        ([(0, 1), (-1, 0)], "edge 1 (-1 -> 0) leaves the graph, whose tasks are 0 to 2"),
        ([(0, 2**63)], f"edge 0 (0 -> {2**63}) leaves the graph"),
        ([(0, 2**64)], f"edge 0 (0 -> {2**64}) leaves the graph"),
        ([(-1, 2**63)], f"edge 0 (-1 -> {2**63}) leaves the graph"),
        (np.array([[0, 2**64 - 1]], np.uint64), f"edge 0 (0 -> {2**64 - 1}) leaves the graph"),
        (np.array([[0, 2**70]], object), f"edge 0 (0 -> {2**70}) leaves the graph"),
        ([(0, 1), (1,)], "edge 1 is (1,); an edge is a pair of task indices"),
        ([(0, 1, 2)], "edge 0 is (0, 1, 2); an edge is a pair"),
        ([[]], "edge 0 is []; an edge is a pair"),
        ([0, 1], "edge 0 is 0; an edge is a pair"),
        ("ab", "edge 0 is 'a'; an edge is a pair"),
        (["ab"], "edge 0 is 'ab'; an edge is a pair"),
        ([(0, 1.0)], "edge 0 has endpoint 1.0; give task indices, whole numbers"),
        ([(0, NAN)], "edge 0 has endpoint nan; give task indices"),
        ([(0, None)], "edge 0 has endpoint None; give task indices"),
        ([("0", "1")], "edge 0 has endpoint '0'; give task indices"),
        ([(False, True)], "edge 0 has endpoint False; give task indices"),
        (
            np.array([[False, True]]),
            "an (m, 2) array of whole numbers, task indices; got bool of shape (1, 2)",
        ),
        (np.array([[0.0, 1.0]]), "got float64 of shape (1, 2)"),
        (np.zeros((4, 3), int), "got int64 of shape (4, 3)"),
        (np.zeros((4, 0), int), "got int64 of shape (4, 0)"),
        (None, "edges are pairs of task indices; got None"),
        (7, "edges are pairs of task indices; got 7"),
    ],
)
def test_edges(edges: Any, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_edges([1, 1, 1], edges)


def test_edges_of_no_tasks() -> None:
    with pytest.raises(GraphError, match=re.escape("edge 0 (0 -> 1) leaves the graph, which has no tasks")):
        TaskGraph.from_edges([], [(0, 1)])


def test_names_are_told() -> None:
    with pytest.raises(GraphError, match="cycle: task 0 'a' -> task 1 'b' -> task 2 'c' -> task 0 'a'"):
        TaskGraph.from_edges([1, 1, 1], CYCLE, names=["a", "b", "c"])
    with pytest.raises(GraphError, match="edge 0 is a self-loop on task 1 'b'"):
        TaskGraph.from_edges([1, 1, 1], [(1, 1)], names=["a", "b", "c"])


@pytest.mark.parametrize(
    ("durations", "message"),
    [
        (
            [1, -1, -2],
            "task 1 has duration -1.0 seconds; it must be zero or more and finite, or NaN where unknown (2",
        ),
        ([1, np.inf], "task 1 has duration inf seconds"),
        ([1, -np.inf], "task 1 has duration -inf seconds"),
        ([10**400], "the duration column is not a list of numbers: int too large"),
        (["1.5"], "the duration column holds text; give seconds as numbers"),
        ([1j], "the duration column holds complex128"),
        ([True], "the duration column holds bool"),
        (np.array([1], "m8[s]"), "the duration column holds timedelta64[s]; give seconds as numbers"),
        ([1, {}], "the duration column is not a list of numbers"),
        (1.0, "the duration column has shape (); expected one number per task"),
        ([[[1.0]]], "the duration column has shape (1, 1, 1)"),
        ([[1.0], [1.0, 2.0]], "the duration column is not a list of numbers"),
    ],
)
def test_durations(durations: Any, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_edges(durations)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"flops": [1.0]}, "the FLOPs column has shape (1,); expected (2,), one number per task"),
        ({"flops": [1.0, -2.0]}, "task 1 has FLOPs -2.0 operations"),
        ({"bytes_B": [np.inf, 1]}, "task 0 has bytes_B inf bytes"),
        ({"names": ["a"]}, "1 names for 2 tasks; give one per task"),
        ({"names": "ab"}, "names is one string, 'ab'; give a list with one name per task"),
        ({"names": 5}, "names are 5; give a list with one string per task"),
        ({"shapes": 5}, "shapes are 5; give a list"),
        ({"kinds": ["a"] * 3}, "3 kinds for 2 tasks"),
        ({"scopes": (s for s in "abc")}, "3 scopes for 2 tasks"),
        ({"shapes": ["1x2"]}, "1 shapes for 2 tasks"),
        ({"shapes": ["1x2", "1,2"]}, "shape '1,2' is not written like 64x512;512x512, a scalar as ()"),
        ({"shapes": ["-1x2", ""]}, "shape '-1x2' is not written like"),
        ({"shapes": [(1, 2), ()]}, "task 0 has shape (1, 2); give a tuple with one tuple per input"),
        ({"shapes": [((1.5,),), ()]}, "shape '1.5' is not written like"),
        ({"widths": [1, 0]}, "task 1 was recorded with 0 threads; widths are 1 to 2147483647"),
        ({"widths": 2**40}, f"task 0 was recorded with {2**40} threads"),
        (
            {"widths": [1.5, 1]},
            "widths are whole numbers of threads, one for all or one per task (2); got float64",
        ),
        ({"widths": [1]}, "got int64 of shape (1,)"),
        ({"widths": True}, "got bool"),
    ],
)
def test_columns(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_edges([1, 1], **columns)


@pytest.mark.parametrize(
    ("start", "finish", "lanes", "message"),
    [
        ([0], [1, 2], [0, 0], "the recorded start column has shape (1,)"),
        ([0, -1], [1, 2], [0, 0], "task 1 has recorded start -1.0 seconds"),
        ([0, 2], [1, 1], [0, 0], "task 1 was recorded from 2.0 to 1.0 seconds; check the times"),
        ([0, NAN], [1, 1], [0, 0], "task 1 was recorded from nan to 1.0 seconds"),
        ([0, 0], [1, 1], [0, 1], "task 1 was recorded on lane 1; there are 1, from 0"),
        ([0, 0], [1, 1], [0, -1], "task 1 was recorded on lane -1"),
        ([0, 0], [1, 1], [0.0, 0.0], "lanes are float64 of shape (2,); expected whole numbers of shape (2,)"),
    ],
)
def test_recordings(start: Any, finish: Any, lanes: Any, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_edges([1, 1], recording=Recording(start, finish, lanes, ("one",)))


@pytest.mark.parametrize("speed", ["core_flops", "core_bandwidth_Bps"])
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (10**400, "inf"),
        (NAN, "nan"),
        (-1, "-1.0"),
        (0, "0.0"),
        (True, "True"),
        ("1e9", "'1e9'"),
        ([1], "[1]"),
    ],
)
def test_speeds_of_the_recording_machine(speed: str, value: Any, shown: str) -> None:
    message = f"recorded_on: {speed} is {shown}, expected a finite number above zero, or None"
    with pytest.raises(GraphError, match=re.escape(message)):
        RecordedOn("a processor", **{speed: value})


def test_speeds_are_floats() -> None:
    origin = RecordedOn("a processor", 10**9, np.float32(0.5))
    assert (type(origin.core_flops), type(origin.core_bandwidth_Bps)) == (float, float)


@pytest.mark.parametrize(
    ("seconds", "message"),
    [
        ([1], "seconds have shape (1,); expected (2,), one per task"),
        ([1, -1], "task 1 ('task 1') has duration -1.0 seconds; give seconds= for all tasks"),
        (["a", "b"], "seconds are not a list of numbers"),
    ],
)
def test_levels(seconds: Any, message: str) -> None:
    with pytest.raises(GraphError, match=re.escape(message)):
        TaskGraph.from_edges([1, 1]).levels(seconds)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1], [1], "1 rows of edges for 3 tasks"),
        ([0, 2, 1, 2], [1, 2], "does not ascend from 0 to 2"),
        ([0, 1, 2, 2], [1], "does not ascend from 0 to 1"),
        ([1, 1, 1, 1], [1], "does not ascend from 0 to 1"),
        ([0, 1, 1, 1], [7], "edges go to tasks 7 to 7; expected 0 to 2"),
        ([0, 1, 1, 1], [-1], "edges go to tasks -1 to -1"),
        ([0, 2, 2, 2], [2, 1], "edge 1 goes to a task that does not ascend"),
        ([0, 2, 2, 2], [1, 1], "edge 1 goes to a task that does not ascend"),
        ([0, 1, 1, 1], [0], "edge 0 is a self-loop"),
        ([0, 1, 2, 2], [1, 0], "cycle"),
    ],
)
def test_rows_of_edges_are_checked(indptr, indices, message):
    rows = Csr(np.array(indptr, np.int64), np.array(indices, np.int32))
    with pytest.raises(GraphError, match=message):
        TaskGraph.from_edges([1.0] * 3, rows)


def test_rows_of_edges_need_whole_numbers():
    rows = Csr(np.array([0, 1, 1], np.int64), np.array([1], np.float64))
    with pytest.raises(GraphError, match=r"int64 .* and int32"):
        TaskGraph.from_edges([1.0] * 2, rows)
    good = Csr(np.array([0, 2, 3, 3], np.int64), np.array([1, 2, 2], np.int32))
    assert TaskGraph.from_edges([1.0] * 3, good).critical_path_s == 3.0
