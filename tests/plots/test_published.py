"""Pictures of reproductions: bars and curves, simulated beside published."""

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import curves, grouped_bars, relative_times, tuning, tuning_frame


def rows():
    return pd.DataFrame(
        {
            "layer": ["_one $", "_one $", "two", "two"],
            "costing": ["a", "b", "a", "b"],
            "threads": [1, 2, 1, 2],
            "simulated": [1.0, 100.0, 3.0, 9.0],
            "paper": [None, 90.0, None, None],
        }
    )


def test_bars_stand_side_by_side_and_published_lines_on_theirs():
    ax = grouped_bars(rows(), "layer", "costing", "time (ms)")
    bars = sorted((bar.get_x() + bar.get_width() / 2, bar.get_height()) for bar in ax.patches)
    assert [height for _, height in bars] == [1, 100, 3, 9]
    assert [x for x, _ in bars] == pytest.approx([-0.2, 0.2, 0.8, 1.2])
    lines = [segment.tolist() for lines in ax.collections for segment in lines.get_segments()]
    assert lines == [[pytest.approx([0.0, 90.0]), pytest.approx([0.4, 90.0])]]
    assert ax.get_yscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    ax.figure.canvas.draw()


def test_ticks_of_bars_are_plain_numbers():
    ax = grouped_bars(
        rows().assign(simulated=[4.0, 20.0, 3.0, 9.0], paper=None), "layer", "costing", "time (ms)"
    )
    ax.figure.canvas.draw()
    shown = {text.get_text() for which in ("major", "minor") for text in ax.get_yticklabels(which=which)}
    assert {"4", "10", "20"} <= shown
    assert not any("10^" in text for text in shown)


def test_curves_have_published_crosses():
    ax = curves(rows(), "threads", "layer", "time (h)")
    ys = [line.get_ydata().tolist() for line in ax.lines]
    assert ys[:2] == [[1, 100], [3, 9]]
    assert ys[2][1] == 90
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_one $", "two", "published"]
    ax.figure.canvas.draw()


def test_a_table_without_rows_is_drawn():
    assert not curves(rows().iloc[:0], "threads", "layer", "time (h)").get_lines()[0].get_xdata().size


def test_ticks_that_would_cover_each_other_are_left_out():
    frame = pd.DataFrame({"threads": [1, 240, 244], "net": "a", "simulated": [1.0, 2.0, 3.0], "paper": None})
    assert curves(frame, "threads", "net", "").get_xticks().tolist() == [1, 244]


@pytest.mark.parametrize("draw", [grouped_bars, curves])
def test_a_missing_column_is_named(draw):
    with pytest.raises(SimschedError, match="this one lacks simulated"):
        draw(rows().drop(columns="simulated"), "threads", "costing", "")


@pytest.mark.parametrize("name", ["swtvm", "chaos"])
def test_systems_draw_what_they_say(name, tmp_path):
    made = ss.reproduce(name)
    for table in made.system.pictures():
        made.plot(table).figure.savefig(tmp_path / "picture.png")
    with pytest.raises(SimschedError, match=r"draws no picture of 'Fig. 99'"):
        made.plot("Fig. 99")


def test_names_of_relative_times_and_of_searches_are_drawn_as_they_are():
    ax = relative_times(pd.DataFrame([[1.0, np.nan]], ["$x^{"], ["$\\frac{", "_b"]))
    ax.figure.canvas.draw()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["$\\frac{", "_b"]
    tried = pd.DataFrame({"evaluation": [1], "policy": ["fifo"], "layout": ["1x1"], "makespan_s": [1.0]})
    ax = tuning(tuning_frame({"$x^{": tried, "_b": tried}))
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$x^{", "_b (same as $x^{)"]
    assert ax.get_legend().get_title().get_text() == "best so far"
