"""Several runs: in turn, and what they say together."""

from __future__ import annotations

from typing import Any

import pytest

import simsched as ss
from simsched.execute import Case, Execution, Settings, interleaved

pytestmark = pytest.mark.usefixtures("native")


def test_interleaved_cases_share_their_graph(layered: Any) -> None:
    graph, other = layered(200, 5), layered(100, 4, seed=1)
    turns: list[object] = []
    cases = [Case(graph, "fifo", "1x1"), Case(graph, "critical-path", "1x1"), Case(other, "wavefront", "1x1")]
    found = interleaved(cases, 3, Settings(warmup=1), turns.append)
    assert len(turns) == 12
    assert [len(each) for each in found] == [3, 3, 3]
    assert [each[0].policy for each in found] == ["fifo", "critical-path", "wavefront"]
    assert found[2][0].graph is other


def test_figures_of_an_execution() -> None:
    graph = ss.TaskGraph.from_edges([1e-4, 1e-4], [(0, 1)], kinds="spin")
    measured = ss.execute(graph, "fifo", "1x1", repeats=5)
    assert isinstance(measured, Execution)
    assert list(measured.table.columns) == ["makespan_s", "stolen", "preemptions", "latency_s", "kept"]
    assert (
        measured.makespans_s[measured.kept].min()
        <= measured.median_s
        <= measured.makespans_s[measured.kept].max()
    )
    assert measured.median_s >= 2e-4
    assert measured.spread_s >= 0
    assert measured.schedule in list(measured)
    assert (measured.median_tasks_s >= 1e-4).all()
    assert len(measured[1:3]) == 2
    assert all(len(run.wall_s) == len(run.cpu_s) == 1 for run in measured.runs)
    assert all(run.wall_s[0] >= 2e-4 for run in measured.runs)
    assert "OpenBLAS" in measured.notes[1]
    assert "fifo" in repr(measured)
    assert "Execution" in measured._repr_html_()
