"""A report as a person reads it: on a screen, on a phone, in the dark, by the keyboard, on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import simsched as ss

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Keep = Callable[[Any, str], None]

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "'\"`${alert(3)}",
    "@at{safe} $$x$$",
]

#: Elements that can be tabbed to, those in bokeh's shadow roots included, by what they say.
FOCUSED = """() => {
  let one = document.activeElement
  while (one && one.shadowRoot && one.shadowRoot.activeElement) one = one.shadowRoot.activeElement
  const ring = getComputedStyle(one)
  return [one.getAttribute("aria-label") || one.innerText || one.tagName, parseFloat(ring.outlineWidth) || 0]
}"""
NAMELESS = """() => [...document.querySelectorAll("img, svg:not([aria-hidden=true])")]
  .filter((one) => !(one.getAttribute("alt") || one.getAttribute("aria-label"))).length"""
WIDE = "document.documentElement.scrollWidth"


@pytest.fixture(scope="module")
def lstm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of a real workload, as it is written."""
    path = tmp_path_factory.mktemp("report") / "lstm.html"
    graph = ss.workload("lstm[layers=2,steps=2,hidden=64]")
    ss.report(graph, "knl-7250", ["fifo", "critical-path"], "16x4", replays=4).save(path)
    return path


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every text is hostile."""
    path = tmp_path_factory.mktemp("report") / "hostile.html"
    n = len(HOSTILE)
    graph = ss.TaskGraph.from_edges(
        [1.0] * n, [(i, i + 1) for i in range(n - 1)], names=HOSTILE, kinds=HOSTILE, scopes=HOSTILE,
        flops=[1e9] * n, bytes_B=[1e8] * n, name=HOSTILE[0],
    )  # fmt: skip
    graph.report.note(HOSTILE[1])
    ss.report(graph, "generic[cores=1]", ["fifo", "sequential"], command=HOSTILE[0], replays=4).save(path)
    return path


def test_it_fits_a_screen(looked_at: Open, lstm: Path, picture: Keep) -> None:
    page = looked_at(lstm)
    assert page.evaluate(WIDE) == 1280
    assert page.evaluate(NAMELESS) == 0
    assert not page.locator(".still").is_visible()
    picture(page, "report")


def test_it_fits_a_phone(opened: Open, lstm: Path, picture: Keep) -> None:
    page = opened(lstm, width=360)
    assert page.evaluate(WIDE) == 360
    boxes = page.evaluate(
        "[...document.querySelectorAll('.wide, figure')].map((box) => box.getBoundingClientRect().right)"
    )
    assert max(boxes) <= 360
    picture(page, "report-phone")


def test_it_is_dark_for_those_who_like_it(looked_at: Open, lstm: Path, picture: Keep) -> None:
    page = looked_at(lstm)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert light == "rgb(255, 255, 255)"
    assert max(int(part) for part in dark.removeprefix("rgb(").removesuffix(")").split(",")) < 40
    picture(page, "report-dark")
    page.emulate_media(color_scheme="light")


def test_the_keyboard_reaches_everything(opened: Open, lstm: Path) -> None:
    page = opened(lstm)
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))
    names = [name for name, _ in reached]
    assert names[0] == "Skip to the summary"
    assert {
        "In short",
        "Policies",
        "zoom in",
        "whole run",
        "Every number of the machine, with its source",
    } <= set(names)
    ringed = {name for name, width in reached if width >= 2}
    assert {
        "Skip to the summary",
        "Policies",
        "zoom in",
        "Policies on knl-7250, the shortest first",
    } <= ringed


def test_the_skip_link_and_folded_parts_work(opened: Open, lstm: Path) -> None:
    page = opened(lstm)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#verdict")
    page.get_by_text("Every number of the machine").press("Enter")
    assert page.get_by_role("cell", name="cores.count").is_visible()


def place(page: Any) -> tuple[float, float]:
    """Return where the middle of the first core of the first chart is."""
    page.locator("#chart").scroll_into_view_if_needed()
    x, y = page.evaluate(
        """() => {
          const root = Object.values(Bokeh.index)[0]
          const plot = root.child_views.find((child) => child.model.name === "chart 0")
          const box = plot.el.getBoundingClientRect(), frame = plot.frame
          window.scrollBy(0, box.y - 200)
          return [box.x + frame.x_scale.compute(0.5), 200 + frame.y_scale.compute(0)]
        }"""
    )
    return x, y


def test_pointing_at_a_task_says_what_it_is(looked_at: Open, hostile: Path, picture: Keep) -> None:
    page = looked_at(hostile)
    page.mouse.move(*place(page))
    page.wait_for_timeout(300)
    said = page.locator(".bk-tooltip-content").first.inner_text()
    assert HOSTILE[0] in said
    assert "0 s to 1 s: 1 s" in said
    picture(page, "report-hostile")


def test_names_from_a_file_execute_nothing(looked_at: Open, hostile: Path) -> None:
    page = looked_at(hostile)
    assert page.locator("img[src=x]").count() == 0
    assert page.evaluate("document.title").startswith(HOSTILE[0])
    assert page.get_by_text(HOSTILE[1]).count() >= 1


def test_it_is_printed_with_the_still_picture(looked_at: Open, lstm: Path) -> None:
    page = looked_at(lstm)
    printed = page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(printed) > 50_000
    page.emulate_media(media="print")
    assert page.locator(".still").is_visible()
    assert not page.locator(".moving").is_visible()
    assert not page.get_by_role("navigation").is_visible()
    assert page.get_by_role("cell", name="cores.count").is_visible(), "folded parts are printed, too"
    page.emulate_media(media="screen")


def test_without_scripts_the_still_picture_stays(browser: Any, lstm: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(lstm.as_uri())
    assert page.locator(".still").is_visible()
    assert not page.locator(".moving").is_visible()
    page.close()
