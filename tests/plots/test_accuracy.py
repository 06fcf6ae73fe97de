"""Predicted over measured, pairs of charts, bars of sources."""

import re

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from simsched.errors import SimschedError
from simsched.execute.crosscheck.report import ABOVE, BELOW, signed_bars
from simsched.plots import accuracy
from simsched.plots.stacked import stacked_svg


@pytest.fixture
def ax():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_every_case_is_a_point_of_its_policy(ax):
    frame = pd.DataFrame(
        {
            "policy": ["fifo", "$x^{", "fifo", "fifo"],
            "measured_s": [1e-3, 2e-3, 4e-3, 0.0],
            "predicted_s": [1e-3, 3e-3, 4e-3, 1.0],
        }
    )
    assert accuracy(frame, ax) is ax
    points = [collection.get_offsets().tolist() for collection in ax.collections[1:]]
    assert points == [[[1, 1], [4, 4]], [[2, 3]]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fifo", "$x^{"]
    assert ax.get_xlim() == ax.get_ylim()


def test_nothing_to_draw(ax):
    accuracy(pd.DataFrame({"policy": ["fifo"], "measured_s": [0.0], "predicted_s": [0.0]}), ax)
    assert [text.get_text() for text in ax.texts] == ["no case took time"]
    with pytest.raises(SimschedError, match="this one lacks policy"):
        accuracy(pd.DataFrame({"measured_s": [], "predicted_s": []}), ax)


def test_a_pair_has_one_time_axis_and_one_colour_a_kind(make_schedule):
    one = make_schedule([3.0, 1.0], kinds=["a", "b"])
    # Here kind b takes more of the time, and would have the first colour.
    other = make_schedule([1.0, 3.0], kinds=["a", "b"])
    svg = stacked_svg({"measured": one, "simulated": other})
    fills = re.findall(r"style=\"fill: (#[0-9a-f]{6})[^\"]*stroke: #ffffff", svg)
    assert svg.count("<text") > 4
    assert "measured: " in svg
    assert "simulated: " in svg
    assert len(fills) == 4
    assert fills[:2] == fills[2:]


def test_bars_say_side_and_length():
    html = signed_bars("<b>", {"a": 2.0, "b": -1.0, "c": float("nan")}, {"a": "+2", "b": "-1", "c": "<i>"})
    bars = re.findall(r'<rect x="([\d.]+)" y="2" width="([\d.]+)" height="10" fill="(#\w+)"/>', html)
    assert bars == [("100.0", "100.0", ABOVE), ("50.0", "50.0", BELOW), ("100.0", "0.0", BELOW)]
    assert "&lt;b&gt;" in html
    assert "<i>" not in html
