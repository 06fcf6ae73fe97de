"""The interactive chart as a person uses it: pointing, zooming, choosing colours, the keyboard, a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Keep = Callable[[Any, str], None]
Place = Callable[..., tuple[float, float]]
Tell = Callable[[Any], str]

HOSTILE = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "'\"`${alert(3)}", "@at{safe} $$x$$",
           "\u202e\U0001f600 \u00e9"]  # fmt: skip

# The chart's state in the page: sources and ranges of bokeh's document.
CHART = "Object.values(Bokeh.index)[0].model.document"
RANGE = f"(() => {{ const r = {CHART}.get_model_by_name('time'); return [r.start, r.end] }})()"
BOXES = f"{CHART}.get_model_by_name('rectangles 0').data.left.length"


def schedule(names: list[str] | None = None, n: int = 5, seconds: float = 1.0) -> ss.Schedule:
    """Tasks of equal length, one after the other, on one core."""
    edges = [(i, i + 1) for i in range(n - 1)]
    kinds = names or ["MatMul"] * n
    graph = ss.TaskGraph.from_edges([seconds] * n, edges, names=names, kinds=kinds, scopes=kinds, shapes="64x64",
                                    bytes_B=[1e9] * n, name=kinds[0])  # fmt: skip
    return ss.simulate(graph, "generic[cores=1,contention=false]", "fifo")


def test_pointing_at_a_task_says_what_it_is_and_why_it_started_then(
    opened: Open, tmp_path: Path, picture: Keep, place: Place, tooltip: Tell
) -> None:
    schedule(["load", "multiply", "add", "store", "end"]).explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    page.mouse.move(*place(page, 1.5))
    said = tooltip(page)
    picture(page, "explore-hover")
    assert "multiply" in said
    assert "1 s to 2 s: 1 s" in said
    assert "1 core, executor 0" in said
    assert "after load" in said


def test_names_from_a_file_execute_nothing(
    opened: Open, tmp_path: Path, picture: Keep, place: Place, tooltip: Tell
) -> None:
    schedule(HOSTILE).explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    for task, name in enumerate(HOSTILE):
        page.mouse.move(*place(page, task + 0.5))
        assert name in tooltip(page), "it is shown as it is"
    picture(page, "explore-hostile")
    assert page.locator("img[src=x]").count() == 0


def test_wheel_and_buttons_zoom_along_time_and_back(opened: Open, tmp_path: Path, place: Place) -> None:
    schedule().explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    assert page.evaluate(RANGE) == [0, 5]
    page.mouse.click(*place(page, 2.5))
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(300)
    start, end = page.evaluate(RANGE)
    assert 0 < start < end < 5
    page.get_by_role("button", name="whole run").focus()
    page.keyboard.press("Enter")
    assert page.evaluate(RANGE) == [0, 5]
    page.get_by_role("button", name="zoom in").press("Enter")
    assert page.evaluate(RANGE) == [1.25, 3.75]
    page.get_by_role("button", name="later").press("Enter")
    assert page.evaluate(RANGE) == pytest.approx([2.5, 5])


def test_the_wheel_scrolls_the_page_until_the_chart_was_clicked_or_a_key_is_held(
    opened: Open, tmp_path: Path, picture: Keep, place: Place
) -> None:
    schedule().explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    page.set_viewport_size({"width": 1280, "height": 500})

    def turned(notches: int = 1) -> tuple[bool, bool]:
        """Return whether the page has scrolled, and whether the chart has zoomed."""
        top, seen = page.evaluate("scrollY"), page.evaluate(RANGE)
        page.mouse.wheel(0, 60 * notches)
        page.wait_for_timeout(400)
        return page.evaluate("scrollY") != top, page.evaluate(RANGE) != seen

    page.get_by_role("button", name="zoom in").press("Enter")
    page.mouse.move(*place(page, 2.5))
    assert turned() == (True, False)
    hint = page.locator("#wheel-hint")
    assert "Click the chart, or hold Ctrl or Cmd" in hint.inner_text()
    picture(page, "explore-wheel")
    page.set_viewport_size({"width": 1280, "height": 500})
    page.keyboard.down("Control")
    page.mouse.move(*place(page, 2.5))
    assert turned(-1) == (False, True)
    page.keyboard.up("Control")
    page.mouse.click(*place(page, 2.5))
    assert "The wheel zooms" in page.locator("#wheel").inner_text()
    assert turned(-1) == (False, True)
    page.keyboard.press("Escape")
    assert turned() == (True, False)
    page.mouse.click(*place(page, 2.5))
    page.locator("h1").click()
    page.mouse.move(*place(page, 2.5))
    assert turned() == (True, False)


def test_spans_that_differ_much_have_an_axis_each_and_a_switch(
    opened: Open, tmp_path: Path, picture: Keep, place: Place, tooltip: Tell
) -> None:
    schedule(seconds=1e-3).explore(schedule(n=5, seconds=10.0)).save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")

    def ends() -> list[float]:
        page.wait_for_timeout(300)
        ranges = ("time", "time 0", "time 1")
        return [page.evaluate(f"{CHART}.get_model_by_name('{name}').end") for name in ranges]

    assert ends() == [100, 5, 50]
    page.mouse.move(*place(page, 1.5))
    assert "1 ms to 2 ms: 1 ms" in tooltip(page)
    picture(page, "explore-own-axes")
    page.get_by_role("button", name="zoom in").press("Enter")
    assert ends() == pytest.approx([75, 3.75, 37.5])
    page.get_by_label("time axes").select_option("one for all")
    assert ends() == pytest.approx([50, 50_000, 50])
    page.get_by_role("button", name="zoom in").press("Enter")
    assert ends() == pytest.approx([37.5, 37_500, 37.5])
    picture(page, "explore-one-axis")
    page.get_by_label("time axes").select_option("one for each chart")
    assert ends() == pytest.approx([100, 5, 50])
    page.mouse.click(*place(page, 2.5))
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(300)
    of_runs, first, second = ends()
    assert 50 < of_runs < 100
    assert [first, second] == pytest.approx([of_runs / 20, of_runs / 2]), "a zoom of one chart is that of all"


def test_times_beside_the_pointer_have_a_unit_that_fits(
    opened: Open, tmp_path: Path, place: Place, tooltip: Tell
) -> None:
    graph = ss.TaskGraph.from_edges([12e-6, 2.0, 3e-3], [(0, 1), (1, 2)])
    ss.simulate(graph, "generic[cores=1,contention=false]", "fifo").explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    page.mouse.move(*place(page, 2.0015))
    assert "2.000012 s to 2.003012 s: 3 ms" in tooltip(page)
    page.evaluate(f"{CHART}.get_model_by_name('time').setv({{start: 0, end: 24e-6}})")
    page.wait_for_timeout(300)
    page.mouse.move(*place(page, 6e-6))
    assert "0 µs to 12 µs: 12 µs" in tooltip(page)


def test_colours_are_chosen_on_the_page(opened: Open, tmp_path: Path) -> None:
    schedule().explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    assert page.get_by_text("MatMul", exact=True).count() == 1
    page.get_by_label("colour by").select_option("wait reason")
    assert page.get_by_text("dispatch", exact=True).count() == 1
    assert page.get_by_text("MatMul", exact=True).count() == 0


def many(n: int = 40_000, cores: int = 4) -> ss.Schedule:
    graph = ss.TaskGraph.from_edges(
        np.random.default_rng(0).uniform(0.5, 1.5, n), kinds=["a", "b"] * (n // 2)
    )
    return ss.simulate(graph, f"generic[cores={cores}]", "fifo", layout=f"{cores}x1")


def test_of_too_many_tasks_a_picture_stands_until_few_are_in_sight(
    opened: Open, tmp_path: Path, picture: Keep
) -> None:
    many().explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    shown = f"{CHART}.get_model_by_name('picture 0').visible"
    assert page.evaluate(shown)
    assert page.evaluate(BOXES) <= 10_000
    picture(page, "explore-many")
    for _ in range(4):
        page.get_by_role("button", name="zoom in").press("Enter")
        page.wait_for_timeout(200)
    start, end = page.evaluate(RANGE)
    page.wait_for_function(f"!{shown}")
    own = many()
    seen = ((own.finish_s >= start) & (own.start_s <= end)).sum()
    assert page.evaluate(BOXES) == pytest.approx(seen, abs=8)


def test_lines_are_means_of_what_runs(opened: Open, tmp_path: Path) -> None:
    own = many(20_000)
    own.explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    y = page.evaluate(f"Array.from({CHART}.get_model_by_name('cores busy 0').data.y)")
    assert np.mean(y[:-1]) == pytest.approx(own.utilization * own.n_cores, rel=1e-6)
    waiting = page.evaluate(f"Array.from({CHART}.get_model_by_name('ready tasks that wait 0').data.y)")
    assert np.mean(waiting[:-1]) == pytest.approx(own.metrics()["queue_wait_s"] / own.makespan_s, rel=1e-3)


def test_lines_count_aborted_runs(opened: Open, tmp_path: Path) -> None:
    """Of two cores, one runs task 0 in vain for 1 s; no task waits while it runs."""
    graph = ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
    ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio").explore().save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")

    def drawn(panel: str) -> list[float]:
        y = page.evaluate(f"Array.from({CHART}.get_model_by_name('{panel} 0').data.y)")
        return [float(np.mean(half)) for half in np.split(np.array(y[:-1]), 2)]

    assert drawn("cores busy") == pytest.approx([2, 1], abs=1e-6)
    assert drawn("tasks running") == pytest.approx([2, 1], abs=1e-6)
    assert drawn("ready tasks that wait") == pytest.approx([0, 0], abs=1e-6)


def test_the_picture_is_the_mean_colour_of_core_and_bin(opened: Open, tmp_path: Path) -> None:
    own = many(40_000, cores=2)
    own.explore(color="executor").save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html")
    pixels = page.evaluate(f"Array.from({CHART}.get_model_by_name('picture pixels 0').data.image[0])")
    top, below = np.array(pixels, np.uint32).view(np.uint8).reshape(2, -1, 4)[:, :, :3]
    assert (top[:900] == [0x00, 0x72, 0xB2]).mean() > 0.99, "core 0 is busy with executor 0"
    assert (below[:900] == [0xE6, 0x9F, 0x00]).mean() > 0.99, "core 1 with executor 1"


def test_two_schedules_share_time_and_a_phone_shows_them(opened: Open, tmp_path: Path, picture: Keep) -> None:
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 1.0], [(0, 2)])
    runs = [ss.simulate(graph, "knl-7250", policy, layout="8x8") for policy in ("fifo", "critical-path")]
    runs[0].explore(runs[1]).save(tmp_path / "chart.html")
    page = opened(tmp_path / "chart.html", width=390)
    picture(page, "explore-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    drawn = [page.evaluate(f"{CHART}.get_model_by_name('rectangles {i}').data.left.length") for i in range(2)]
    assert drawn == [3, 3]


def test_a_notebook_shows_it_in_a_frame(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "cell.html").write_text(
        f"<p>cell</p>{schedule(HOSTILE).explore()._repr_html_()}", encoding="utf-8"
    )
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.goto((tmp_path / "cell.html").as_uri())
    frame = page.frames[1]
    frame.wait_for_function("performance.getEntriesByName('simsched drawn').length")
    assert frame.evaluate(BOXES) == len(HOSTILE)
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.close()
