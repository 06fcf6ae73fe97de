"""Notebooks in a real JupyterLab: a bundled one, the panel as a person uses it, and names that try to do harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lab_server import POLL_MS, Server

pytestmark = pytest.mark.browser

Run = Callable[[str], Any]
Keep = Callable[[Any, str], None]
Place = Callable[..., tuple[float, float]]
Tell = Callable[[Any], str]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# Four tasks of 1 s on four cores: 2, 1 and 4 cores take 2, 4 and 1 s.
BY_HAND = """import simsched as ss
graph = ss.TaskGraph.from_edges([1.0] * 4, names=["load", "multiply", "add", "store"], kinds=["a", "b"] * 2)
by_hand = ss.panel(graph, "generic[cores=2]", "fifo")
by_hand"""

HOSTILE = r"""import pandas
import simsched as ss
pandas.set_option("display.html.use_mathjax", False)
names = ["<img src=x onerror=\"top.hit=1;alert(1)\">", "</script><script>top.hit=1;alert(2)</script>",
         "'\"`${alert(3)}", "@at{safe} $$x$$", r"$\href{javascript:alert(4)}{formula}$", "[link](javascript:alert(5))",
         "</textarea></iframe><svg onload=\"top.hit=1\">"]
edges = [(i, i + 1) for i in range(len(names) - 1)]
graph = ss.TaskGraph.from_edges([1.0] * len(names), edges, names=names, kinds=names, scopes=names, name="".join(names))
schedule = ss.simulate(graph, "generic[cores=2]", "fifo")
panel = ss.panel([graph, graph], "generic[cores=2]", "fifo")"""
SHOWN = ("graph", "schedule", "schedule.tasks", "schedule.explain()", "print(schedule.explain(2))",
         "schedule.gantt();", "graph.draw();", "schedule.explain().plot_critical_path();", "schedule.explore()",
         "panel")  # fmt: skip

RANGE = """() => {
  const range = Object.values(Bokeh.index)[0].model.document.get_model_by_name("time")
  return [range.start, range.end]
}"""
# A task in sight that is wide enough to be pointed at.
BOX = """([from, to]) => {
  const { left, right, top } = Object.values(Bokeh.index)[0].model.document.get_model_by_name("rectangles 0").data
  const k = left.findIndex((x, i) => x > from && right[i] < to && right[i] - x > (to - from) / 100)
  return [left[k], right[k], top[k] + 0.45]
}"""
CHART = "Object.values(Bokeh.index)[0].model.document.get_model_by_name"

# pandas 2 asks the MathJax of former days alone to leave its tables as they are.
FORMULAS = (
    ".jp-OutputArea mjx-container:not(table.dataframe.tex2jax_ignore:not(.mathjax_ignore) mjx-container)"
)


def chart(page: Any, output: str = ".jp-OutputArea") -> Any:
    """Return the frame of an interactive chart, once it has drawn."""
    element = page.locator(f"{output} iframe[title^='Gantt']").first
    element.evaluate("(frame) => frame.scrollIntoView()")
    frame = element.element_handle().content_frame()
    frame.wait_for_function("performance.getEntriesByName('simsched drawn').length", polling=POLL_MS)
    return frame


def typed(page: Any, label: str, value: str) -> None:
    """Write into a field, as Enter takes it."""
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")


def says(page: Any, makespan: str) -> None:
    """Wait until the panel says so."""
    page.locator(".simsched-makespan").get_by_text(makespan, exact=True).wait_for()


def test_a_bundled_notebook_runs_and_its_chart_is_pointed_at_and_zoomed(
    lab: Server, ran: Run, picture: Keep, place: Place, tooltip: Tell
) -> None:
    notebook = json.loads((NOTEBOOKS / "01_first_replay.ipynb").read_text("utf-8"))
    # Up to its chart: all of it runs where the site is built.
    charts = [at for at, cell in enumerate(notebook["cells"]) if ".explore(" in "".join(cell["source"])]
    del notebook["cells"][charts[0] + 1 :]
    (lab.folder / "first.ipynb").write_text(json.dumps(notebook), "utf-8")
    page = ran("first.ipynb")
    frame = chart(page)
    start, end = frame.evaluate(RANGE)
    page.mouse.click(*place(frame, (start + end) / 2))
    page.mouse.wheel(0, -600)
    frame.wait_for_timeout(300)
    nearer = frame.evaluate(RANGE)
    assert start < nearer[0] < nearer[1] < end
    begin, finish, row = frame.evaluate(BOX, nearer)
    page.mouse.move(*place(frame, (begin + finish) / 2, row))
    assert "why then" in tooltip(frame)
    picture(page, "jupyterlab-first-replay")


def test_the_wheel_over_a_chart_scrolls_the_notebook_until_the_chart_was_clicked(
    lab: Server, ran: Run, place: Place
) -> None:
    page = ran(lab.write("wheel.ipynb", BY_HAND, "by_hand.schedule.explore()"))
    page.set_viewport_size({"width": 1440, "height": 700})
    notebook = page.locator(".jp-WindowedPanel-outer")
    for output in (".simsched-chart", ".jp-RenderedHTMLCommon:not(.simsched-chart *)"):
        frame = chart(page, output)
        page.wait_for_timeout(500)

        def turned(frame: Any = frame) -> tuple[bool, bool]:
            top, seen = notebook.evaluate("(one) => one.scrollTop"), frame.evaluate(RANGE)
            page.mouse.wheel(0, -100)
            moved = (False, False)
            # A busy machine takes its time; what moves, moves alone.
            for _ in range(100):
                page.wait_for_timeout(100)
                before = moved
                moved = notebook.evaluate("(one) => one.scrollTop") != top, frame.evaluate(RANGE) != seen
                if any(before):
                    break
            return moved

        page.mouse.move(*place(frame, 1.0))
        assert turned() == (True, False)
        page.mouse.click(*place(frame, 1.0))
        assert turned() == (False, True)
        page.locator("#jp-top-panel").click(position={"x": 1000, "y": 10})
        frame.get_by_text("Click the chart").first.wait_for()
        page.wait_for_timeout(500)
        page.mouse.move(*place(frame, 1.0))
        page.keyboard.down("Control")
        assert turned() == (False, True)
        page.keyboard.up("Control")


def test_a_notebook_that_is_not_trusted_shows_still_pictures(lab: Server, ran: Run, picture: Keep) -> None:
    shown = ("schedule", "schedule.explore()", "schedule.explain()", 'ss.report(graph, "generic[cores=2]")')
    page = ran(lab.write("trusted.ipynb", BY_HAND, "schedule = by_hand.schedule", *shown))
    page.keyboard.press("Control+s")
    saved, outputs = dict[str, Any](), 0
    while outputs < 1 + len(shown):
        page.wait_for_timeout(500)
        # While it is being written, the file may be empty or end early.
        with suppress(json.JSONDecodeError):
            saved = json.loads((lab.folder / "trusted.ipynb").read_text("utf-8"))
        outputs = sum(len(cell["outputs"]) for cell in saved.get("cells", ()))
    assert page.locator(".simsched-still:visible").count() == 0, "the frame is what is seen here"
    # What is not what was signed is not trusted.
    saved["metadata"]["title"] = "changed by somebody"
    for cell in saved["cells"]:
        cell["source"] = "# from somebody else"
    (lab.folder / "untrusted.ipynb").write_text(json.dumps(saved), "utf-8")
    lab.close(page)
    page.set_viewport_size({"width": 1440, "height": 900})
    lab.open(page, "untrusted.ipynb")
    areas = page.locator(".jp-Notebook .jp-OutputArea-output")
    areas.nth(len(shown)).wait_for(timeout=60_000)
    page.wait_for_timeout(2000)
    assert page.locator(".jp-Notebook iframe").count() == 0, "it is not trusted"
    for area in areas.all():
        picture_of = area.locator("img").first
        picture_of.evaluate("(one) => one.scrollIntoView()")
        assert picture_of.evaluate("(one) => one.complete && one.naturalWidth > 300 && one.offsetWidth > 300")
        right = area.evaluate("(one) => one.scrollWidth - one.clientWidth")
        assert right <= 0, "nothing is cut"
    picture(page, "jupyterlab-untrusted")


def test_nothing_is_cut_in_a_window_of_1440_pixels(lab: Server, ran: Run, picture: Keep) -> None:
    cells = (
        'graph = ss.workload("lstm[size=small,steps=4]")', 'schedule = ss.simulate(graph, "knl-7250", "fifo", "8x8")',
        "schedule", "schedule.explore()", "schedule.explain()", 'ss.panel(graph, "knl-7250", "fifo", "8x8")',
        'ss.compare(graph, "knl-7250", ["fifo", "critical-path"], "8x8")', 'ss.predict(graph, cores=[8, 32, 68])',
        'ss.verdicts(graph, "knl-7250", ["fifo", "critical-path"], "8x8", seeds=range(3))',
    )  # fmt: skip
    page = ran(lab.write("wide.ipynb", "import simsched as ss", *cells))
    page.set_viewport_size({"width": 1440, "height": 1400})
    chart(page)
    page.wait_for_timeout(2000)
    for area in page.locator(".jp-Notebook .jp-OutputArea-output").all():
        beyond = "(one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]"
        assert max(area.evaluate(beyond)) <= 0, "nothing scrolls but the notebook"
        for table in area.locator("div:has(> table)").all():
            assert table.evaluate("(one) => one.scrollWidth - one.clientWidth") <= 0, (
                "no column is out of sight"
            )
    frames = [
        one.content_frame() for one in page.locator(".jp-Notebook iframe[title^=Gantt]").element_handles()
    ]
    assert len(frames) == 2
    for frame in frames:
        page_in_it = "document.documentElement"
        beyond = f"[{page_in_it}.scrollWidth - innerWidth, {page_in_it}.scrollHeight - innerHeight]"
        assert max(frame.evaluate(beyond)) <= 0, "the frame is as large as what is in it"
    picture(page, "jupyterlab-1440")


def test_the_panel_simulates_again_and_its_chart_follows(
    lab: Server, ran: Run, picture: Keep, place: Place, tooltip: Tell
) -> None:
    page = ran(lab.write("panel.ipynb", BY_HAND))
    says(page, "2 s")
    frame = chart(page)
    slider = page.locator(".noUi-handle").first
    slider.press("ArrowLeft")
    says(page, "4 s")
    assert page.get_by_text("+100.0 % against the base (2 s)").count() == 1
    frame.wait_for_function(f"{CHART}('rectangles 0').data.right.at(-1) === 4")
    assert frame.evaluate(RANGE) == [0, 4]
    assert set(frame.evaluate(f"Array.from({CHART}('rectangles 0').data.top)")) == {-0.45}, "one row is left"
    page.mouse.move(*place(frame, 2.5))
    said = tooltip(frame)
    picture(page, "jupyterlab-panel")
    assert "add" in said
    assert "2 s no core was free" in said


def test_a_second_view_of_the_panel_shows_what_the_first_one_does(lab: Server, ran: Run) -> None:
    page = ran(lab.write("views.ipynb", BY_HAND))
    chart(page)
    page.locator(".noUi-handle").first.press("ArrowLeft")
    says(page, "4 s")
    page.locator(".simsched-makespan").click(button="right")
    page.get_by_text("Create New View for Cell Output").click()
    page.locator(".simsched-chart").nth(1).wait_for()
    frames = [each.content_frame() for each in page.locator(".simsched-chart iframe").element_handles()]
    assert len(frames) == 2
    frames[1].wait_for_function("performance.getEntriesByName('simsched drawn').length")
    frames[1].wait_for_function(f"{CHART}('rectangles 0').data.right.at(-1) === 4")
    page.locator(".noUi-handle").nth(1).press("ArrowRight")
    for frame in frames:
        frame.wait_for_function(f"{CHART}('rectangles 0').data.right.at(-1) === 2")


def test_the_panel_keeps_colours_and_a_zoom_from_one_schedule_to_the_next(
    lab: Server, ran: Run, place: Place
) -> None:
    page = ran(lab.write("zoom.ipynb", BY_HAND))
    frame = chart(page)
    frame.get_by_label("colour by").select_option("wait reason")
    page.mouse.click(*place(frame, 1.0))
    page.mouse.wheel(0, -300)
    frame.wait_for_timeout(300)
    seen = frame.evaluate(RANGE)
    assert 0 < seen[0] < seen[1] < 2
    typed(page, "machine", "generic[cores=1]")
    says(page, "4 s")
    frame.wait_for_function(f"{CHART}('time').reset_end === 4")
    assert frame.evaluate(RANGE) == pytest.approx(seen)
    assert frame.get_by_text("no core", exact=True).count() == 1, "the legend is that of wait reasons"


def test_the_panel_says_what_is_impossible_and_keeps_what_was_good(
    lab: Server, ran: Run, picture: Keep
) -> None:
    page = ran(lab.write("wrong.ipynb", BY_HAND))
    frame = chart(page)
    for label, wrong, said in [
        ("layout", "9x9", "the layout 9x9 needs 81 cores"),
        ("layout", "<img src=x>", "'<img src=x>' is not a layout"),
        ("policy", "fifi", "did you mean fifo?"),
        ("machine", "generic[cores=0]", "cores"),
    ]:
        good = page.get_by_label(label, exact=True).input_value()
        typed(page, label, wrong)
        page.get_by_role("alert").get_by_text(said).wait_for()
        says(page, "2 s")
        assert frame.evaluate(f"{CHART}('rectangles 0').data.right.at(-1)") == 2
        picture(page, "jupyterlab-panel-wrong")
        typed(page, label, good)
        page.get_by_role("alert").wait_for(state="detached")


def test_hostile_names_execute_nothing_in_any_output(
    lab: Server, ran: Run, picture: Keep, tooltip: Tell, place: Place
) -> None:
    page = ran(lab.write("hostile.ipynb", HOSTILE, *SHOWN))
    frame = chart(page, ".simsched-chart")
    page.get_by_label("tiles", exact=True).click()
    page.wait_for_timeout(1000)
    for task in range(7):
        page.mouse.move(*place(frame, task + 0.5))
        tooltip(frame)
    picture(page, "jupyterlab-hostile")
    rows = page.locator(".jp-WindowedPanel-outer")
    # Cells out of sight are not in the page; the step leaves each place in sight at least once.
    step = rows.evaluate("(one) => one.clientHeight") - 300
    for top in range(0, rows.evaluate("(one) => one.scrollHeight"), step):
        rows.evaluate("(one, top) => one.scrollTo(0, top)", top)
        page.wait_for_timeout(500)
        for view in page.frames:
            assert view.locator("img[src=x], svg[onload], a[href^=javascript]").count() == 0
        assert page.locator(FORMULAS).count() == 0, "no name becomes a formula"
    assert page.evaluate("window.hit") is None
