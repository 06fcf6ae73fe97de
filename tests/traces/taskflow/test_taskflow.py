"""Recordings of Taskflow's profiler: joined with the dump of the graph by hand; several runs; damaged files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

SEEDS = Path(__file__).parents[1] / "seeds" / "taskflow"
DUMP = SEEDS / "joined" / "graph.dot"


def edges(graph: TaskGraph) -> list[tuple[str, str]]:
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return sorted((graph.kinds[a], graph.kinds[b]) for a, b in ends)


def recorded(*workers: list[tuple[int, int, str]], executors: int = 1) -> bytes:
    data = [
        {"worker": w, "level": 0, "data": [{"span": [a, b], "name": n, "type": "static"} for a, b, n in ran]}
        for w, ran in enumerate(workers)
    ]
    return json.dumps([{"executor": str(i), "data": data} for i in range(executors)]).encode()


def test_the_graph_of_a_dump() -> None:
    graph = ss.load(SEEDS / "joined" / "main.json", graph=DUMP)
    assert edges(graph) == [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D")]
    assert graph.kinds.to_list() == ["A", "C", "B", "D"]
    assert graph.durations_s.tolist() == [37e-6, 39e-6, 48e-6, 25e-6]
    assert graph.scopes.to_list()[1] == "subflow"
    assert graph.report.facts["weak_edges"] == 1


def test_order_of_workers() -> None:
    graph = ss.load(SEEDS / "one" / "main.json")
    assert (graph.report.format, edges(graph)) == ("taskflow", [("A", "B"), ("C", "D")])
    assert graph.recording is not None
    assert graph.recording.lane_names == ("worker 0", "worker 1")
    assert "records no dependencies" in graph.report.doubts[0]
    inner = ss.load(SEEDS / "one" / "main.json", level="innermost")
    assert "1_0" in inner.kinds.to_list()
    assert "C" not in inner.kinds.to_list()


def test_several_runs_are_joined_in_turn() -> None:
    ran = recorded([(0, 1, "A"), (2, 3, "B"), (4, 5, "A"), (6, 7, "B"), (8, 9, "0_7")])
    dump = b'digraph Taskflow { a [label="A"]; b [label="B"]; a -> b }'
    graph = ss.load(ran, graph=dump)
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    assert sorted(pairs) == [(0, 1), (2, 3)]
    assert graph.report.facts["tasks_not_joined"] == 1


def test_executors_are_lanes_of_their_own() -> None:
    graph = ss.load(recorded([(0, 1, "A")], executors=2))
    assert graph.recording is not None
    assert graph.recording.lane_names == ("executor 0: worker 0", "executor 1: worker 0")


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (recorded([]), {}, "no task in it"),
        (recorded([(5, 4, "A")]), {}, r"worker 0: span is \[5, 4\], expected a start and an end after it"),
        (recorded([(0, 1, "A")]).replace(b"[0, 1]", b"[0.5, 1]"), {}, "expected two whole numbers"),
        (recorded([(0, 1, "A")]).replace(b'"worker": 0', b'"worker": -1'), {}, "worker is -1"),
        (recorded([(0, 1, "A")])[:-9], {}, "cut off at byte"),
        (b'{"executor":"1","data":7}', {}, "not what TFProf writes"),
        (recorded([(0, 1, "X")]), {"graph": DUMP}, "no task has the name of one that ran, as 'X', once"),
    ],
)
def test_refused(content: bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        ss.load(content, **options)
