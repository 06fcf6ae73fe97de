"""The interactive chart, apart from the browser: rows, colours, columns, the page."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MissingExtraError, SimschedError
from simsched.graph import TaskGraph
from simsched.plots import explore
from simsched.plots.interactive.columns import (
    aborted_columns,
    demand_Bps,
    domain_shares,
    lost_columns,
    rows,
    rules,
    task_columns,
    team_columns,
)
from simsched.plots.interactive.layout import time_axes
from simsched.schedule import Schedule
from simsched.units import UNITS

MakeSchedule = Callable[..., Schedule]

HOSTILE = "</script><img src=x onerror=alert(1)>\"'"


def on(machine: str, layout: str = "2x1") -> Schedule:
    graph = TaskGraph.from_edges([1.0, 2.0, 1.0], [(0, 2)], kinds=["a", "b", "a"], bytes_B=[4.0, np.nan, 2.0])
    return ss.simulate(graph, machine, "fifo", layout=layout)


def test_rows_are_grouped_by_what_cores_share() -> None:
    tiles = rows(on("knl-7250"))
    assert tiles.names[:2] == ["tile 0", "tile 1"]
    assert tiles.centres[:2] == [0.5, 2.5]
    assert tiles.borders[:2] == [1.5, 3.5]
    groups = rows(on("sw26010"))
    assert groups.names[0] == "core group 0"
    plain = rows(on("generic[cores=3]"))
    assert (plain.label, plain.names, plain.borders) == ("core", ["0", "1", "2"], [])


def test_the_hardware_threads_of_a_core_are_neighbours() -> None:
    placed = rows(on("knl-7250[smt=2]"))
    assert placed.row_of[[0, 68, 1, 69]].tolist() == [0, 1, 2, 3]
    assert placed.first[:2].tolist() == [0, 4], "two cores of two threads a tile"


def test_lanes_of_a_recorded_run_keep_their_names() -> None:
    graph = TaskGraph.from_edges([1.0, 1.0], recording=recording())
    assert graph.recorded is not None
    assert rows(graph.recorded).names == ("main", "pool 1")


def recording() -> ss.graph.taskgraph.Recording:
    from simsched.graph.recording import Recording

    return Recording(
        np.array([3.0, 4.0]), np.array([4.0, 5.0]), np.array([0, 1], np.int32), ("main", "pool 1")
    )


def test_a_recorded_run_begins_at_nothing() -> None:
    graph = TaskGraph.from_edges([1.0, 1.0], recording=recording())
    assert graph.recorded is not None
    columns = task_columns(graph.recorded, graph.recorded.waits, [], UNITS[1])
    assert columns["start"].tolist() == [0.0, 1000.0]


def test_a_kind_has_one_colour_in_all_schedules(make_schedule: MakeSchedule) -> None:
    one = make_schedule([1.0, 9.0], kinds=["a", "b"])
    other = make_schedule([3.0, 1.0, 1.0], kinds=["c", "b", "a"])
    (by_kind, *_) = rules([one, other], [one.waits, other.waits])
    colours = [[by_kind.palette[code] for code in codes] for codes in by_kind.codes]
    assert colours[0] == [colours[1][2], colours[1][1]]
    assert len({*colours[0], *colours[1]}) == 3


def test_more_kinds_than_colours_are_grey_and_said(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(np.arange(10, 0, -1.0), kinds=[f"k{i}" for i in range(10)])
    (by_kind, *_) = rules([schedule], [schedule.waits])
    assert "other (2 kinds)" in by_kind.legend
    assert by_kind.codes[0][8] == by_kind.codes[0][9]


def test_waits_tell_the_last_predecessor(make_schedule: MakeSchedule) -> None:
    graph = TaskGraph.from_edges([1.0, 2.0, 1.0, 1.0], [(0, 2), (1, 2), (2, 3)])
    told = ss.simulate(graph, "generic[cores=4,contention=false]", "fifo").waits
    assert told["depends_on"].tolist() == [-1, -1, 1, 2]


def test_teams_are_runs_of_rows(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([1.0, 1.0], cores=4, width=2, scatter=True)
    teams = team_columns(schedule, rows(schedule))
    assert teams["run"].tolist() == [0, 2, 4]
    assert teams["first"].tolist() == [0, 2, 1, 3]
    assert teams["width"].tolist() == [2, 2]


def test_aborted_runs_are_hatched() -> None:
    """Core 0 runs task 0 in vain from 0.5 s, after a decision, to 2 s; the chart begins then."""
    graph, runtime = TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]]), ss.RuntimeProfile(dispatch_s=0.5)
    schedule = ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1", runtime=runtime)
    edges = aborted_columns(schedule, rows(schedule), UNITS[1])
    assert {name: edge[0] for name, edge in edges.items()} == pytest.approx(
        {"left": 0, "right": 1500, "top": -0.45, "bottom": 0.45}
    )
    assert task_columns(schedule, schedule.waits, [], UNITS[1])["start"].tolist() == [500.0, 2000.0]
    assert "right_diagonal_line" in explore(schedule).html


def test_lines_count_aborted_runs() -> None:
    """Core 0 runs task 0 in vain for 1 s, at the 4 B in 100 s that it takes there."""
    graph = TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]], bytes_B=[4.0, 4.0])
    schedule = ss.simulate(graph, "generic[cores=2,kinds=each,contention=false]", "heteroprio", "2x1")
    lost = lost_columns(schedule, UNITS[0])
    assert {name: column.tolist() for name, column in lost.items()} == {
        "start": [0.0], "length": [1.0], "team": [0], "demand": [np.float32(0.04)],
    }  # fmt: skip


def test_demand_is_bytes_over_time_where_known() -> None:
    schedule = on("generic[cores=2,contention=false]")
    seconds = schedule.finish_s - schedule.start_s
    np.testing.assert_allclose(demand_Bps(schedule), [4 / seconds[0], 0, 2 / seconds[2]])


def test_traffic_is_told_by_domain_where_there_are_several() -> None:
    shares = domain_shares(on("xeon-8160x2", "2x24"))
    assert list(shares) == ["socket 0", "socket 1"]
    np.testing.assert_allclose(np.sum(list(shares.values()), axis=0), 1.0)
    assert domain_shares(on("generic[cores=2]")) == {}


def test_the_page_needs_no_network_and_ends_no_script(make_schedule: MakeSchedule, tmp_path: Path) -> None:
    schedule = make_schedule([1.0, 2.0], kinds=[HOSTILE, "b"], policy=HOSTILE)
    explore(schedule).save(tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    attributes: list[str] = []
    reader = HTMLParser()
    reader.handle_starttag = lambda _, pairs: attributes.extend(name for name, _ in pairs)
    reader.feed(page)
    assert not {"src", "href", "onerror"} & set(attributes)
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert "<" not in data
    assert HOSTILE in json.dumps(json.loads(data), ensure_ascii=False).replace('\\"', '"')


def test_a_notebook_shows_it_in_a_frame_without_rights(make_schedule: MakeSchedule) -> None:
    chart = explore(make_schedule([1.0]))
    frame = chart._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    (page,) = map(unescape, re.findall(r'srcdoc="([^"]*)"', frame))
    assert page.startswith("<!DOCTYPE html>")
    assert "<caption>Schedule" not in page, "facts stand in the written page only: a frame scrolls nothing"


def test_a_still_picture_stands_for_the_chart_where_frames_are_taken_away(
    make_schedule: MakeSchedule,
) -> None:
    one, other = make_schedule([1.0, 2.0]), make_schedule([1.0])
    for chart in (explore(one), explore(one, replace(one)), explore(one, other)):
        png = chart._repr_png_()
        assert png is not None
        assert png.startswith(b"\x89PNG")
        assert f'src="data:image/png;base64,{b64encode(png).decode()}"' in chart._repr_html_()


def test_notes_stand_below_the_frame_once_each(make_schedule: MakeSchedule) -> None:
    one = replace(make_schedule([1.0]), notes=("durations are <recorded>",))
    below = explore(one, one)._repr_html_().rpartition("</iframe>")[2]
    assert below.count("<li>durations are &lt;recorded&gt;</li>") == 1


def test_of_no_tasks_there_is_a_page(make_schedule: MakeSchedule) -> None:
    assert "0 tasks" in explore(make_schedule([])).html


def test_several_schedules_are_stacked_on_one_time_axis(make_schedule: MakeSchedule) -> None:
    one = make_schedule([1.0, 2.0])
    page = one.explore(make_schedule([5.0]), color="level").html
    assert page.count('"name": "time"') == 1
    assert page.count('"name": "chart 1"') == 1


def test_spans_that_differ_by_more_than_three_times_have_an_axis_each(make_schedule: MakeSchedule) -> None:
    one, alike, longer = (make_schedule([seconds]) for seconds in (1e-3, 3e-3, 3.1e-3))
    assert time_axes([one, alike]).switch is None
    axes = time_axes([one, longer, make_schedule([2.0])])
    assert axes.switch is not None
    assert [(each.end, unit.name) for each, unit in zip(axes.of, axes.units, strict=True)] == [
        (1.0, "ms"), (pytest.approx(3.1), "ms"), (2.0, "s")
    ]  # fmt: skip
    assert (axes.shared.end, axes.unit) == (100.0, "%")
    assert time_axes([one, make_schedule([])]).switch is None, "a schedule without tasks has no span"


def test_what_is_impossible_is_said(make_schedule: MakeSchedule, tmp_path: Path) -> None:
    schedule = make_schedule([1.0])
    with pytest.raises(SimschedError, match="give one or more"):
        explore()
    with pytest.raises(SimschedError, match="'rainbow' is unknown; give one of kind, level"):
        explore(schedule, color="rainbow")
    with pytest.raises(SimschedError, match=r"has 1000000 cores.*at most 100000 rows; schedule\.gantt"):
        explore(replace(schedule, n_cores=1_000_000))
    with pytest.raises(SimschedError, match=r"ends in \.html"):
        explore(schedule).save(tmp_path / "chart.png")


def test_without_bokeh_the_line_to_type_is_said(
    make_schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "bokeh", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[interactive\]'"):
        explore(make_schedule([1.0]))


def test_gantt_has_two_backends() -> None:
    schedule = on("generic[cores=2]")
    assert schedule.gantt(backend="bokeh", color="wait reason").schedules == (schedule,)
    assert schedule.gantt(backend="matplotlib").get_xlabel() == "time (s)"
    with pytest.raises(SimschedError, match="matplotlib or bokeh"):
        schedule.gantt(backend="plotly")  # type: ignore[call-overload]
    with pytest.raises(SimschedError, match="leave it out"):
        schedule.gantt(schedule.gantt(), backend="bokeh")  # type: ignore[call-overload]
