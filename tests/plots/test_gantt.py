"""Gantt charts: what is drawn, in which colours, with which words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import gantt
from simsched.plots.canvas import GREY, HIGHLIGHT, OKABE_ITO
from simsched.plots.gantt import draw, shown_rows
from simsched.schedule import Schedule

MakeSchedule = Callable[..., Schedule]

HOSTILE = ["$\\frac{", "_private", "a\nb\x00c", "\ud800", "<script>", "", "x" * 300, "$x$"]


def taken_over() -> Schedule:
    graph = ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
    return ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1")


def boxes(ax: Axes) -> np.ndarray:
    """Corners of the rectangles: left, top, right, bottom."""
    (drawn,) = ax.collections
    assert isinstance(drawn, PolyCollection)
    corners = np.array([path.vertices for path in drawn.get_paths()]).reshape(-1, 5, 2)
    return np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)


def pixels(ax: Axes) -> np.ndarray:
    """RGB of the whole figure."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def legend_texts(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_each_task_is_a_rectangle_over_its_team(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule([1.0, 2.0, 3.0], cores=4, width=2))
    drawn = boxes(ax)
    np.testing.assert_allclose(drawn[:, 0], [0, 0, 1])
    np.testing.assert_allclose(drawn[:, 2], [1, 2, 4])
    np.testing.assert_allclose(drawn[:, 1], [-0.5, 1.5, -0.5], atol=0.1)
    np.testing.assert_allclose(drawn[:, 3], [1.5, 3.5, 1.5], atol=0.1)
    assert ax.get_xlim() == (0, 4)
    assert ax.get_ylim() == (3.5, -0.5), "core 0 is at the top"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "core")


def test_a_scattered_team_is_a_rectangle_a_run_of_cores(make_schedule: MakeSchedule) -> None:
    drawn = boxes(gantt(make_schedule([1.0, 1.0], cores=4, width=2, scatter=True)))
    assert sorted(np.rint((drawn[:, 1] + drawn[:, 3]) / 2).astype(int)) == [0, 1, 2, 3]


def test_aborted_runs_are_hatched() -> None:
    """Core 0 runs task 0 in vain until 1, when core 1 takes it over."""
    ax = gantt(taken_over())
    tasks, aborted = ax.collections
    assert (len(tasks.get_paths()), len(aborted.get_paths())) == (2, 1)
    assert (aborted.get_hatch(), legend_texts(ax)) == ("////", ["no kind", "aborted"])
    corners = aborted.get_paths()[0].vertices
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[0, -0.44], [1, 0.44]])
    assert ax.get_title(loc="left").endswith("makespan 2 s, utilization 50 %, 1 aborted run")


@pytest.mark.parametrize(
    ("seconds", "label"), [(2.0, "time (s)"), (2e-3, "time (ms)"), (2e-6, "time (µs)"), (0.0, "time (s)")]
)
def test_the_time_axis_suits_the_makespan(make_schedule: MakeSchedule, seconds: float, label: str) -> None:
    assert gantt(make_schedule([seconds])).get_xlabel() == label


def test_the_title_says_what_was_scheduled_how(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(
        [0.0123, 0.00615], cores=2, policy="fifo", layout="2x1", machine=SimpleNamespace(spec="m[$a=$]")
    )
    ax = gantt(schedule)
    assert ax.get_title(loc="left") == "fifo on m[$a=$], 2x1: makespan 12.3 ms, utilization 75 %"
    assert gantt(schedule, title="mine").get_title(loc="left") == "mine"
    pixels(ax)


def test_max_rows_draws_the_first_cores_and_says_so(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule([1.0] * 8, cores=8), max_rows=3)
    assert len(boxes(ax)) == 3
    assert ax.get_ylabel() == "core (first 3 of 8)"
    with pytest.raises(SimschedError, match="max_rows=0"):
        gantt(make_schedule([1.0]), max_rows=0)


def test_kinds_are_coloured_by_core_time_and_the_rest_is_grey(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule(np.arange(1.0, 11.0), kinds=[f"k{i}" for i in range(1, 11)]))
    assert legend_texts(ax) == [f"k{i}" for i in range(10, 2, -1)] + ["other (2 kinds)"]
    colours = ax.collections[0].get_facecolor()[:, :3]
    np.testing.assert_allclose(colours[9], OKABE_ITO[0])
    np.testing.assert_allclose(colours[:2], [GREY, GREY])


def test_names_from_files_are_drawn_as_they_are(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule(np.arange(8.0, 0.0, -1.0), kinds=HOSTILE))
    texts = legend_texts(ax)
    assert texts[:5] == ["$\\frac{", "_private", "a\\nb\\x00c", "\\ud800", "<script>"]
    assert texts[5] == "no kind"
    assert len(texts[6]) == 40
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    pixels(ax)


def test_the_critical_path_stands_out(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule([1.0, 2.0, 3.0], edges=[(0, 2)]), color="critical")
    np.testing.assert_allclose(ax.collections[0].get_facecolor()[:, :3], [HIGHLIGHT, GREY, HIGHLIGHT])


def test_executors_have_a_legend_while_there_are_colours(make_schedule: MakeSchedule) -> None:
    assert len(legend_texts(gantt(make_schedule([1.0] * 8, cores=8), color="executor"))) == 8
    assert legend_texts(gantt(make_schedule([1.0] * 9, cores=9), color="executor")) == []


@pytest.mark.parametrize("color", ["depth", [1.0, np.nan, 3.0], pd.Series([1, 2, 3], name="$cost$")])
def test_numbers_get_a_colour_bar(make_schedule: MakeSchedule, color: object) -> None:
    ax = gantt(make_schedule([1.0, 2.0, 3.0], edges=[(0, 2)]), color=color)
    assert len(ax.figure.axes) == 2
    assert ax.figure.axes[1].get_ylabel() in {"depth", "", "$cost$"}
    pixels(ax)


@pytest.mark.parametrize(("color", "message"), [
    ("colour", "one of kind, executor, critical, depth"), ([1.0], "shape"), (["a", "b"], "numbers"),
    ([1j, 2.0], "numbers"), ([[1.0], [2.0, 3.0]], "numbers"),
])  # fmt: skip
def test_an_impossible_colour_is_an_error(make_schedule: MakeSchedule, color: object, message: str) -> None:
    with pytest.raises(SimschedError, match=message):
        gantt(make_schedule([1.0, 2.0]), color=color)


@pytest.mark.parametrize("color", ["kind", "executor", "critical", "depth", []])
def test_an_empty_schedule_is_drawn(make_schedule: MakeSchedule, color: object) -> None:
    ax = gantt(make_schedule([]), color=color)
    assert [text.get_text() for text in ax.texts] == ["no tasks"]
    pixels(ax)


@pytest.mark.parametrize("limit", [10, 0])
@pytest.mark.parametrize(
    ("durations", "cores"), [([0.0, 0.0], 2), ([0.0, 1.0], 1), ([1e-12], 1), ([1e6, 0.0], 3)]
)
def test_extreme_times_are_drawn(
    make_schedule: MakeSchedule, durations: list[float], cores: int, limit: int
) -> None:
    ax = Figure().add_subplot()
    draw(make_schedule(durations, cores=cores), ax, rows=cores, max_rectangles=limit)
    assert len(ax.images) == (limit == 0)
    pixels(ax)


def test_no_cores_at_all_is_drawn(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([], cores=0)
    assert shown_rows(schedule) == 1
    pixels(gantt(schedule))


def test_the_picture_shows_the_busy_cores(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule([1.0, 0.5], cores=2, kinds="only"), legend=False, title="")
    image = pixels(ax)
    seen = (np.abs(image / 255 - OKABE_ITO[0]).max(axis=2) < 0.02).sum()
    left, bottom, right, top = ax.get_window_extent().extents
    assert seen == pytest.approx(0.75 * (right - left) * (top - bottom), rel=0.15)


def test_too_many_rectangles_become_an_image_of_the_same_look(make_schedule: MakeSchedule) -> None:
    generator = np.random.default_rng(0)
    schedule = make_schedule(generator.random(200), cores=4, kinds=[f"k{i % 5}" for i in range(200)])
    exact, blended = (Figure(figsize=(8, 3), dpi=100).add_subplot() for _ in range(2))
    draw(schedule, exact, rows=4, legend=False, title="", max_rectangles=1000)
    draw(schedule, blended, rows=4, legend=False, title="", max_rectangles=100, bins=800)
    assert (len(exact.collections), len(exact.images)) == (1, 0)
    assert (len(blended.collections), len(blended.images)) == (0, 1)
    assert "colours blended" in blended.get_xlabel()
    means = [pixels(ax)[60:240, 110:700].mean(axis=(0, 1)) for ax in (exact, blended)]
    # The outlines and the gaps between rows of the exact chart are white.
    np.testing.assert_allclose(means[0], means[1], atol=30)


def test_twenty_thousand_tasks_on_wide_teams(make_schedule: MakeSchedule) -> None:
    durations = np.random.default_rng(0).lognormal(-8, 1, 20_000)
    ax = gantt(make_schedule(durations, cores=68, width=34))
    assert len(boxes(ax)) == 20_000
    assert (pixels(ax) < 250).any()
    scattered = gantt(make_schedule(durations, cores=68, width=34, scatter=True))
    assert len(scattered.images) == 1


def test_axes_that_are_given_are_used(make_schedule: MakeSchedule) -> None:
    import matplotlib.pyplot as plt

    ax = Figure().add_subplot()
    assert gantt(make_schedule([1.0]), ax) is ax
    assert plt.get_fignums() == []


def test_tex_settings_of_the_user_do_not_reach_names(make_schedule: MakeSchedule) -> None:
    ax = gantt(make_schedule([1.0], kinds="$\\frac{"), title="$\\frac{")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixels(ax)
    assert not ax.get_legend().get_texts()[0].get_usetex()
