"""The panel in a real JupyterLab in headless Chromium: milliseconds from a change of a control to the painted picture.

`python benchmarks/panel.py` prints medians for 16,000 tasks, beside the goal.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests" / "equipment"))

from gantt import BROWSERS
from lab_server import jupyterlab
from measure import Spread, where

TASKS = 16_000
GOAL_MS = 300.0

CELL = f"""import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from gantt import made
import simsched as ss
ss.panel(made({TASKS}).graph, "knl-7250", "critical-path", "32x2")"""

# In the notebook: when somebody last did something. What a widget sends, it sends then.
CHANGES = """() => {
  for (const event of ["keydown", "click"])
    addEventListener(event, () => { window.changed = performance.timeOrigin + performance.now() }, true)
}"""
# In the chart's frame: when what was drawn has been painted, two frames later.
PAINTS = """() => {
  window.painted = []
  const mark = performance.mark.bind(performance)
  const now = () => window.painted.push(performance.timeOrigin + performance.now())
  performance.mark = (name) => { mark(name); requestAnimationFrame(() => requestAnimationFrame(now)) }
}"""


class Change(NamedTuple):
    """What is changed, and how somebody does it."""

    what: str
    do: Callable[[Any, int], None]


def _slide(page: Any, time: int) -> None:
    page.locator(".noUi-handle").first.press("ArrowRight" if time % 2 else "ArrowLeft")


def _switch(page: Any, _: int) -> None:
    page.get_by_label("memory bandwidth").click()


def _typed(label: str, *values: str) -> Callable[[Any, int], None]:
    def do(page: Any, time: int) -> None:
        field = page.get_by_label(label, exact=True)
        field.fill(values[time % len(values)])
        field.press("Enter")

    return do


CHANGES_BY_HAND = (
    Change("cores, by the slider", _slide),
    Change("memory bandwidth, by its switch", _switch),
    Change("layout", _typed("layout", "16x4", "32x2")),
    Change("policy", _typed("policy", "fifo", "critical-path")),
    Change("machine", _typed("machine", "generic[cores=64]", "knl-7250")),
)


def measured(page: Any, chart: Any, change: Change, repeats: int) -> Spread:
    """Return the milliseconds of each time."""
    found = []
    for time in range(repeats):
        before = chart.evaluate("painted.length")
        change.do(page, time)
        chart.wait_for_function(f"painted.length > {before}")
        found.append(chart.evaluate(f"painted[{before}]") - page.evaluate("changed"))
        page.wait_for_timeout(700)
    return Spread(found)


def main() -> None:
    """Print a line a change; fail with --bars where a goal is missed."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--bars", action="store_true", help="fail where a goal is missed")
    options = parser.parse_args()
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        sys.exit(f"no browser: install one of {', '.join(BROWSERS)}")
    met = True
    print(f"{where()}\n{TASKS} tasks; median, least and most of {options.repeats}; goal {GOAL_MS:g} ms")
    with (
        tempfile.TemporaryDirectory() as folder,
        jupyterlab(Path(folder)) as lab,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1500})
        lab.run(page, lab.write("panel.ipynb", CELL))
        chart = page.locator(".simsched-chart iframe").element_handle().content_frame()
        chart.wait_for_function("performance.getEntriesByName('simsched drawn').length")
        page.wait_for_timeout(2000)
        page.evaluate(CHANGES)
        chart.evaluate(PAINTS)
        for change in CHANGES_BY_HAND:
            spread = measured(page, chart, change, options.repeats)
            met &= spread.median <= GOAL_MS
            print(
                f"{change.what:<32} {spread.median:>6.0f} {min(spread.values):>6.0f} {max(spread.values):>6.0f}",
                flush=True,
            )
        browser.close()
    if options.bars and not met:
        sys.exit("a goal is missed")


if __name__ == "__main__":
    main()
