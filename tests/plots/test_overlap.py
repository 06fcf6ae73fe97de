"""Curves that lie on each other are all seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.plots.canvas import LOWER_BOUND, MOST_PT, STEP_PT, layer_labels, layers

X = [1.0, 2.0, 4.0, 8.0]


def test_equal_curves_are_nested_and_named() -> None:
    drawn = layers([(X, [4.0, 3.0, 2.0, 1.0])] * 3)
    assert [one.wider_pt for one in drawn] == [2 * STEP_PT, STEP_PT, 0.0]
    assert layer_labels(drawn, ["a", "b", "c"]) == ["a", "b (same as a)", "c (same as a)"]


def test_curves_that_share_a_piece_are_nested_and_not_named() -> None:
    low, high = layers([(X, [4.0, 3.0, 2.0, 1.0]), (X[1:], [3.001, 2.001, 9.0])])
    assert (low.above, high.above, high.same_as) == (1, 0, None)


def test_curves_that_cross_are_as_thin_as_ever() -> None:
    drawn = layers([(X, [4.0, 3.0, 2.0, 1.0]), (X, [1.0, 3.0, 4.0, 5.0]), (X, [np.nan] * 4)])
    assert [one.wider_pt for one in drawn] == [0.0, 0.0, 0.0]


def test_many_equal_curves_are_not_wider_than_a_few() -> None:
    assert max(one.wider_pt for one in layers([(X, X)] * 9)) == pytest.approx(MOST_PT)


def test_equal_points_are_nested() -> None:
    assert [one.above for one in layers([([1.0], [2.0]), ([1.0], [2.001]), ([1.0], [3.0])])] == [1, 0, 0]


def test_searches_that_found_the_same_are_both_seen() -> None:
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    tried = ss.tune(graph, "generic[cores=4]", "fifo")
    ax = ss.plots.tuning(ss.plots.tuning_frame({"one": tried, "two": tried}))
    low, high = (line.get_linewidth() for line in ax.get_lines()[1::2])
    assert low > high
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two (same as one)"]


def test_equal_predictions_of_two_policies_are_both_seen() -> None:
    table = pd.DataFrame({"policy": ["a", "b"], "measured_s": [1.0, 1.0], "predicted_s": [1.1, 1.1]})
    low, high = (drawn.get_sizes()[0] for drawn in ss.plots.accuracy(table).collections[1:])
    assert low > high


def test_a_makespan_that_is_its_bound_hides_nothing() -> None:
    chain = ss.TaskGraph.from_edges([1.0] * 3, [(0, 1), (1, 2)])
    lines = {
        line.get_label(): line
        for line in ss.plots.scaling(ss.predict(chain, "generic", "fifo", [1, 2])).lines
    }
    below, makespan, path = (lines[name] for name in (LOWER_BOUND, "makespan", "critical path"))
    assert below.get_zorder() < makespan.get_zorder() < path.get_zorder()
    assert below.get_linewidth() > makespan.get_linewidth() > path.get_linewidth()
    assert path.get_linestyle() == "--"
