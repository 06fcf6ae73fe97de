"""Pages in headless Chromium. Without one, or without Playwright, these tests are left out, and it is said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lab_server import Server, jupyterlab

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PLACE = """([time, row]) => {
  const root = Object.values(Bokeh.index)[0]
  const plot = root.child_views.find((child) => child.model.name === "chart 0")
  const box = plot.el.getBoundingClientRect(), frame = plot.frame
  return [box.x + frame.x_scale.compute(time), box.y + frame.y_scale.compute(row)]
}"""
PICTURES = Path(__file__).parents[2] / "out" / "browser"

collect_ignore_glob = [] if CHROMIUM and find_spec("playwright") else ["test_*.py"]


def pytest_report_header() -> list[str]:
    """Say what is left out."""
    return ["left out, as Chromium or Playwright is missing: tests/browser"] if collect_ignore_glob else []


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # The user of a container's CI may not make the namespaces of Chromium's own sandbox.
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


def watched(page: Any, wrong: list[str], *origins: str) -> None:
    """Note each error, dialog and request to elsewhere of a page and its frames."""
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    own = ("file:", "blob:", "data:", *origins)
    page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(own) else None)


@contextmanager
def opening(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open pages once they have drawn; in the end, nothing they did may have been an error, a dialog or a request."""
    wrong: list[str] = []
    pages = []

    def open_page(path: Path, width: int = 1280) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900})
        pages.append(page)
        watched(page, wrong)
        page.goto(path.as_uri())
        drawn(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not wrong


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page for one test."""
    with opening(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def looked_at(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a page once for all tests that only look at it: opening one takes longer than most tests."""
    with opening(browser) as open_page:
        yield cache(open_page)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One JupyterLab for all tests that need it."""
    with jupyterlab(tmp_path_factory.mktemp("notebooks")) as server:
        yield server


@pytest.fixture(scope="session")
def visitor(browser: Any, lab: Server) -> tuple[Any, list[str]]:
    """One page of JupyterLab for all tests, which takes seconds to load, and what went wrong in it."""
    page, wrong = browser.new_page(), list[str]()
    watched(page, wrong, lab.url, lab.url.replace("http", "ws", 1))
    return page, wrong


@pytest.fixture
def ran(visitor: tuple[Any, list[str]], lab: Server) -> Iterator[Callable[[str], Any]]:
    """Run a notebook in JupyterLab; afterwards, no error of its page, no dialog and no request to elsewhere may be."""
    page, wrong = visitor
    wrong.clear()

    def run(name: str) -> Any:
        page.set_viewport_size({"width": 1400, "height": 1500})
        lab.run(page, name)
        return page

    yield run
    lab.close(page)
    assert not wrong


@pytest.fixture
def place() -> Callable[..., tuple[float, float]]:
    """Where on the screen a time and a row of the first chart of a page, or of a frame in one, are."""

    def of(view: Any, time: float, row: float = 0.0) -> tuple[float, float]:
        x, y = view.evaluate(PLACE, [time, row])
        if hasattr(view, "frame_element"):
            box = view.frame_element().bounding_box()
            return x + box["x"], y + box["y"]
        return x, y

    return of


@pytest.fixture
def tooltip() -> Callable[[Any], str]:
    """What is said beside the pointer."""

    def of(view: Any) -> str:
        tip = view.locator(".bk-tooltip-content").first
        tip.wait_for()
        view.wait_for_timeout(300)
        said: str = tip.inner_text()
        return said

    return of


@pytest.fixture
def picture() -> Callable[[Any, str], None]:
    """Keep what a page looks like, for people who ask for it: `SIMSCHED_PICTURES=1 pytest tests/browser`."""

    def keep(page: Any, name: str) -> None:
        if "SIMSCHED_PICTURES" not in os.environ:
            return
        PICTURES.mkdir(parents=True, exist_ok=True)
        high = page.evaluate("document.documentElement.scrollHeight")
        # A page that the browser makes longer only for the picture has canvases from before.
        page.set_viewport_size({"width": page.viewport_size["width"], "height": high})
        page.wait_for_timeout(300)
        page.screenshot(path=PICTURES / f"{name}.png")

    return keep


def drawn(page: Any) -> None:
    """Wait until the chart's script has drawn, and the browser has painted that."""
    page.wait_for_function("performance.getEntriesByName('simsched drawn').length")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))")
