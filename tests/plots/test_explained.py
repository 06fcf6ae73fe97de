"""Drawings of explanations."""

import re

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import core_time, critical_path, what_if
from simsched.plots.explained import core_time_svg

HOSTILE = "$x^$<script>alert(1)</script>"


@pytest.fixture
def why():
    """0 and 1 side by side, 2 after 0; dispatch takes 0.5 s."""
    graph = ss.TaskGraph.from_edges([1, 2, 3], [(0, 2)], kinds=[HOSTILE, "b", ""])
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    return ss.simulate(graph, "generic[cores=2]", "critical-path", runtime=runtime).explain()


def texts(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_the_path_has_a_row_a_kind_and_one_for_each_wait(why):
    ax = why.plot_critical_path()
    assert texts(ax) == ["no kind: 66.7%", f"{HOSTILE}: 22.2%", "waiting: dispatch: 11.1%"]
    ends = [max(path.vertices[:, 0].max() for path in bars.get_paths()) for bars in ax.collections]
    assert max(ends) == why.schedule.finish_s.max()


def test_kinds_beyond_eight_share_a_row():
    n = 12
    graph = ss.TaskGraph.from_edges(
        [1] * n, [(i, i + 1) for i in range(n - 1)], kinds=[f"k{i}" for i in range(n)]
    )
    ax = ss.simulate(graph, "generic", "fifo").explain().plot_critical_path()
    assert len(texts(ax)) == 9
    assert texts(ax)[0] == "other kinds: 33.3%"


def test_bars_of_core_time_reach_a_hundred_percent(why):
    ax = core_time({"one": why.core_time, HOSTILE: why.core_time})
    assert texts(ax) == ["one", HOSTILE]
    right = {}
    for bar in ax.patches:
        place = round(bar.get_y() + bar.get_height() / 2)
        right[place] = max(right.get(place, 0), bar.get_x() + bar.get_width())
    assert right == pytest.approx({0: 100, 1: 100})
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["work", "idle: dispatch", "idle: tail"]


def test_what_is_negative_stands_to_the_left():
    graph = ss.TaskGraph.from_edges([1], [])
    faster = ss.simulate(graph, "generic[cores=1]", "fifo", factors=[0.5]).explain()
    bars = faster.plot_core_time().patches
    assert [(bar.get_x(), bar.get_width()) for bar in bars] == [(0, 200), (0, -100)]


def test_an_svg_says_what_it_shows_and_executes_nothing(why):
    svg = core_time_svg({HOSTILE: why.core_time})
    assert "<script" not in svg
    label = re.search(r'aria-label="([^"]*)"', svg)
    assert "work" in label[1]


def test_what_would_help(why):
    ax = what_if(why.what_if(kind_speedup=2))
    assert f"{HOSTILE}"[:10] in " ".join(texts(ax))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one task", "all tasks of a kind"]
    assert why.plot_what_if().get_xlabel() == "makespan saved (%)"


def test_nothing_is_drawn_of_nothing():
    empty = ss.simulate(ss.TaskGraph.from_edges([]), "generic", "fifo").explain()
    for ax in (empty.plot_critical_path(), empty.plot_core_time(), empty.plot_what_if()):
        assert not ax.patches


@pytest.mark.parametrize("draw", [critical_path, what_if, lambda frame: core_time({"a": frame})])
def test_other_tables_are_refused(draw, why):
    with pytest.raises(SimschedError, match="lacks"):
        draw(why.tasks)


def test_no_tables_are_refused():
    with pytest.raises(SimschedError, match="there is none"):
        core_time({})
