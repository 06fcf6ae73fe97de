"""Pictures of result tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import comparison, scaling
from simsched.plots.canvas import LOWER_BOUND


def predicted(cores: list[int]) -> pd.DataFrame:
    c = np.asarray(cores, float)
    makespan, path, area = 0.44 / c + 0.01, np.full(len(c), 0.012), 0.4 / c
    return pd.DataFrame(
        {
            "cores": cores,
            "makespan_s": makespan,
            "critical_path_s": path,
            "area_s": area,
            "bound_s": np.maximum(path, area),
            "efficiency": area / makespan,
            "speedup": 0.45 / makespan,
            "engine": "simpy",
        }
    )


def compared() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "policy": ["fifo", "_mine[$\\frac{]", "corun"],
            "layout": ["8x8", None, ""],
            "makespan_s": [0.0123, 0.01, np.nan],
            "bound_s": [0.008, 0.009, np.nan],
            "speedup": [1.0, 1.23, np.nan],
        }
    )


def test_makespan_and_bounds_by_cores() -> None:
    ax = scaling(predicted([68, 17, 34]))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["makespan", "critical path", "area (work over cores)", LOWER_BOUND, "efficiency"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.lines[0].get_xdata().tolist() == [17, 34, 68]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["17", "34", "68"]
    assert len(ax.figure.axes) == 2
    ax.figure.canvas.draw()


@pytest.mark.parametrize("cores", [[], [1], list(range(1, 200))])
def test_few_and_many_core_counts(cores: list[int]) -> None:
    ax = scaling(predicted(cores))
    ax.figure.canvas.draw()
    assert len(ax.get_xticks()) <= 10


@pytest.mark.parametrize(
    "cores", [[*range(1, 13), 48, 100, 1000, 10000], [1, 2, 9999, 10000], [60, 64, 66, 68]]
)
def test_labels_of_core_counts_have_room(cores: list[int]) -> None:
    ax = scaling(predicted(cores))
    ax.figure.canvas.draw()
    places = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert (ax.get_xticks()[0], ax.get_xticks()[-1]) == (cores[0], cores[-1])
    assert all(left.x1 < right.x0 for left, right in pairwise(places))


def test_bounds_of_a_single_core_count_are_seen() -> None:
    assert {line.get_marker() for line in scaling(predicted([4])).lines if line.get_linestyle() != "-"} == {
        "_"
    }


def test_a_graph_of_no_length() -> None:
    frame = predicted([1, 2]).assign(
        makespan_s=0.0, critical_path_s=0.0, area_s=0.0, bound_s=0.0, efficiency=np.nan
    )
    scaling(frame).figure.canvas.draw()


def test_makespan_by_policy() -> None:
    ax = comparison(compared())
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["fifo 8x8", "_mine[$\\frac{]", "corun"]
    assert [text.get_text().strip() for text in ax.texts] == ["12.3 ms (×1)", "10 ms (×1.23)", "failed"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([12.3, 10, 0])
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first row is at the top"
    ax.figure.canvas.draw()


def test_bars_that_differ_have_labels_that_differ() -> None:
    specs = [
        f"generic[cores=64,core=zen4,bandwidth_Bps={end}]" for end in ("4e+11", "8e+11", "4e+11,domains=4")
    ]
    ax = comparison(compared().assign(machine=specs, policy="fifo", layout="8x8"))
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "generic[cores=64,cor…ps=4e+11]: fifo 8x8",
        "generic[cores=64,cor…ps=8e+11]: fifo 8x8",
        "generic[cores=64,cor…omains=4]: fifo 8x8",
    ]
    middles = [spec.replace("]", ",smt=false,caches.l2=1048576]") for spec in specs]
    labels = comparison(compared().assign(machine=middles, policy="fifo", layout="8x8")).get_yticklabels()
    assert len({tick.get_text() for tick in labels}) == 3


def test_no_policies() -> None:
    comparison(compared().iloc[:0]).figure.canvas.draw()


def test_a_slow_policy_leaves_room_to_the_others():
    """Bars of 1 and 2 s are no stubs beside one of 40 s, which is cut, with an arrow and its seconds."""
    frame = pd.DataFrame({"policy": [*"abc"], "layout": "", "makespan_s": [40.0, 1.0, 2.0], "bound_s": 0.5})
    ax = comparison(frame.assign(speedup=1.0, low_s=frame["makespan_s"] / 2, high_s=2 * frame["makespan_s"]))
    assert ax.get_xlim() == pytest.approx((0.0, 1.05 * 4.0))
    assert [line.get_ydata().tolist() for line in ax.lines if line.get_marker() == ">"] == [[0]]
    assert ax.texts[0].get_text() == " 40 s (×1)"


@pytest.mark.parametrize("draw", [scaling, comparison])
def test_a_missing_column_is_named(draw: object) -> None:
    with pytest.raises(SimschedError, match=r"lacks .*makespan_s"):
        draw(pd.DataFrame({"cores": [1], "policy": ["fifo"]}))


def test_an_interval_is_shaded_and_named() -> None:
    frame = predicted([17, 34]).assign(low_s=[0.02, 0.01], high_s=[0.05, 0.04])
    ax = scaling(frame)
    assert "95 % interval" in [text.get_text() for text in ax.get_legend().get_texts()]
    ends = ax.collections[-1].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((10, 50)), "in ms"
    few = scaling(frame.assign(samples=20)).get_legend().get_texts()
    assert "90 % interval" in [text.get_text() for text in few], "the extremes of 20, as `spread` says"
    without = scaling(frame.assign(low_s=np.nan, high_s=np.nan))
    assert not without.collections


def test_extrapolated_points_are_hollow_and_the_knee_is_told() -> None:
    frame = predicted([68, 17, 34]).assign(extrapolated=[True, False, False], knee=[False, False, True])
    ax = scaling(frame)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "extrapolated" in labels
    assert "knee, 34 cores" in labels
    solid, dashed, hollow = ax.lines[:3]
    assert np.isnan(solid.get_ydata()).tolist() == [False, False, True]
    assert np.isnan(dashed.get_ydata()).tolist() == [True, False, False]
    assert hollow.get_xdata().tolist() == [68]
    assert hollow.get_markerfacecolor() == "white"
    ax.figure.canvas.draw()


def test_predictions_are_drawn_as_they_are() -> None:
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    frame = ss.predict(graph, "generic", "fifo", [1, 2, 32], ss.CostModel(noise=0.2))
    scaling(frame).figure.canvas.draw()
