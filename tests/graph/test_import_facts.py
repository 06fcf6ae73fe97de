"""What every import tells of itself, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.graph import Recording, TaskGraph
from simsched.graph.import_facts import complete, covered_s


def recorded(
    start_s: list[float], finish_s: list[float], lanes: list[int], edges: list[tuple[int, int]]
) -> TaskGraph:
    run = Recording(np.array(start_s), np.array(finish_s), np.array(lanes, np.int32), ("a", "b", "c"))
    return TaskGraph.from_edges(run.finish_s - run.start_s, edges, recording=run)


def test_facts_of_a_run_by_hand() -> None:
    graph = complete(recorded([0, 1, 5], [2, 3, 6], [0, 1, 0], [(0, 2), (1, 2)]))
    expected = {"tasks": 3, "edges": 2, "work_s": 5.0, "critical_path_s": 3.0, "average_parallelism": 5 / 3, "lanes": 2,
                "span_s": 6.0, "covered_s": 4.0, "covered_share": 4 / 6, "early_starts": 0}  # fmt: skip
    assert graph.report.facts == expected
    assert not graph.report.notes


def test_an_edge_against_time_is_suspect() -> None:
    graph = complete(recorded([0, 1.5], [2, 3], [0, 1], [(0, 1)]))
    assert graph.report.facts["early_starts"] == 1
    assert graph.report.facts["worst_early_start_s"] == 0.5
    assert "1 suspect edge" in graph.report.notes[0]


def test_what_a_reader_told_stays() -> None:
    graph = recorded([0], [1], [0], [])
    graph.report.facts["span_s"] = 4.0
    assert complete(graph).report.facts["covered_share"] == 0.25


@pytest.mark.parametrize("durations", [[], [float("nan")], [0.0]])
def test_nothing_to_divide_by(durations: list[float]) -> None:
    facts = complete(TaskGraph.from_edges(durations)).report.facts
    assert "average_parallelism" not in facts


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12))
def test_covered_time_is_the_union(intervals: list[tuple[int, int]]) -> None:
    seconds = {second for start, length in intervals for second in range(start, start + length)}
    start = np.array([i[0] for i in intervals], float)
    assert covered_s(start, start + np.array([i[1] for i in intervals], float)) == len(seconds)


def test_load_tells_them(tmp_path: Path) -> None:
    import simsched as ss

    (tmp_path / "a.stg").write_text("1\n0 0 0\n1 7 1 0\n2 0 1 1\n")
    assert ss.load(tmp_path / "a.stg").report.facts["critical_path_s"] == 7.0
