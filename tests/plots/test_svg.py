"""The SVG of notebook cards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib import font_manager

from simsched.errors import MissingExtraError
from simsched.plots import corunning, gantt
from simsched.plots.picture import gantt_svg, inline_picture, quiet_canvas
from simsched.schedule import Schedule
from simsched.units import format_time

MakeSchedule = Callable[..., Schedule]

HOSTILE = ["<script>alert(1)</script>", "\x00\x1b[31m", "\ud800", "\"&'", "$\\frac{", "_a", "漢字", "]]>"]


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own file


def test_fonts_with_letters_of_chinese_stand_in_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["DejaVu Sans", "Noto Sans CJK SC"])
    with quiet_canvas((1.0, 1.0)):
        assert plt.rcParams["font.family"] == ["sans-serif", "Noto Sans CJK SC"]
    assert plt.rcParams["font.family"] == ["sans-serif"]


def test_hostile_names_are_escaped(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(np.arange(8.0, 0.0, -1.0), kinds=HOSTILE, policy="</svg><script>")
    svg = gantt_svg(schedule)
    assert svg.startswith("<svg ")
    assert svg.endswith("</svg>")
    assert "<script" not in svg
    texts = {element.text for element in parsed(svg).iter("{http://www.w3.org/2000/svg}text")}
    assert {
        "<script>alert(1)</script>",
        "\\x00\\x1b[31m",
        "\\ud800",
        "\"&'",
        "$\\frac{",
        "_a",
        "漢字",
    } <= texts
    assert "</svg><script>" in parsed(svg).attrib["aria-label"]


def test_it_leaves_the_page_around_it_alone(make_schedule: MakeSchedule) -> None:
    svg = gantt_svg(make_schedule([1.0, 2.0]), width=500)
    assert "<style" not in svg
    assert "<metadata" not in svg
    assert "<!" not in svg
    assert parsed(svg).attrib["width"] == "500"
    assert plt.get_fignums() == []


def test_many_tasks_stay_light(make_schedule: MakeSchedule) -> None:
    svg = gantt_svg(make_schedule(np.random.default_rng(0).random(20_000), cores=68))
    assert "data:image/png;base64" in svg
    assert len(svg) < 400_000


def test_same_schedule_same_bytes(make_schedule: MakeSchedule) -> None:
    assert gantt_svg(make_schedule([1.0, 2.0])) == gantt_svg(make_schedule([1.0, 2.0]))


def test_empty_schedule(make_schedule: MakeSchedule) -> None:
    assert "no tasks" in gantt_svg(make_schedule([]))


def test_the_card_of_a_schedule_holds_it(make_schedule: MakeSchedule) -> None:
    card = make_schedule([1.0], kinds="<b>")._repr_html_()
    assert '<img alt="Gantt chart, ' in card, "an image is shown where a notebook is not trusted, too"
    assert "<svg" not in card
    assert "<b>&lt;" not in card.replace("<b>Schedule", "")


@pytest.mark.parametrize("draw", [gantt, corunning, gantt_svg, lambda schedule: schedule.graph.draw()])
def test_without_matplotlib_the_line_to_type_is_said(
    make_schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch, draw: Callable[[Schedule], Any]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[viz\]'"):
        draw(make_schedule([1.0]))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (1234.5, "1234 s"),
        (3e15, "3e+15 s"),
        (0.0123, "12.3 ms"),
        (0.99999, "1 s"),
        (3e-7, "300 ns"),
        (1e-12, "0.001 ns"),
    ],
)
def test_times_for_people(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_a_picture_of_many_shapes_is_an_image() -> None:
    def bars(count: int, **look: str) -> str:
        return inline_picture(
            lambda figure: figure.add_subplot().bar(range(count), 1, **look), 400, 200, 'a "bar" <b>'
        )

    few, many = bars(3), bars(400)
    assert parsed(few).get("aria-label") == 'a "bar" <b>'
    assert parsed(few).get("viewBox") == "0 0 400 200"
    assert many.startswith(
        '<img alt="a &quot;bar&quot; &lt;b&gt;" width="400" height="200" src="data:image/png;base64,'
    )
    assert bars(10, hatch="//").startswith("<img "), "hatching is many shapes"
    assert many == bars(400)
