"""Pictures of task graphs."""

from __future__ import annotations

import pytest

import simsched as ss
from simsched.plots import draw_graph, graph_frame


def diamond() -> ss.TaskGraph:
    return ss.TaskGraph.from_edges(
        [1.0] * 5, [(0, 1), (0, 2), (1, 3), (2, 4)], kinds=["a", "b", "b", "$x$", "b"], name="diamond"
    )


def test_the_frame_has_depths_and_rows() -> None:
    frame = graph_frame(diamond())
    assert frame["depth"].tolist() == [0, 1, 1, 2, 2]
    assert frame["row"].tolist() == [0, -0.5, 0.5, -0.5, 0.5]
    assert frame["kind"].tolist() == ["a", "b", "b", "$x$", "b"]


def test_lines_do_not_cross_where_they_need_not() -> None:
    crossed = ss.TaskGraph.from_edges([1.0] * 4, [(0, 3), (1, 2)])
    assert graph_frame(crossed)["row"].tolist() == [-0.5, 0.5, 0.5, -0.5]


def test_it_is_drawn() -> None:
    ax = draw_graph(diamond())
    assert ax.get_title(loc="left") == "diamond: 5 tasks, 4 edges"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["b", "a", "$x$"]
    assert len(ax.collections[0].get_paths()) == 4
    assert ss.TaskGraph.from_edges([]).draw(ax) is ax


def test_too_many_tasks_are_refused() -> None:
    with pytest.raises(ss.SimschedError, match="20001 tasks are too many for a picture"):
        draw_graph(ss.TaskGraph.from_edges([1.0] * 20_001))
