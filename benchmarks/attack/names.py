"""Hostile names in pages and in the panel: nothing in a name may run, be requested or break the page.

    python benchmarks/attack/names.py [--names N] [--seed N] [--bars]

Names are made of what ends an attribute, a script, a style, a comment or a formula, and of what runs then, in
random spellings, with control characters and half pairs between. Each page and each panel has some of them as names
of tasks, kinds, scopes and the graph. Pages are interactive charts and reports, opened in headless Chromium; panels
run in a real JupyterLab, where the policy is changed, too.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "equipment"))

from gantt import BROWSERS
from lab_server import Server, jupyterlab
from verdict import Bar, verdict

import simsched as ss

#: Names of a page, and of a panel; pages for each panel.
EACH, PAGES = 24, 4
BREAKS = (
    "", '"', "'", "`", ">", "'>", '">', "-->", "]]>", "</script>", "</style>", "</textarea>", "</title>",
    "</iframe>", "</svg>", "\\", "\\u003c/script>", "${", "$$", "\\(", "@{", "{{", "\n\n", "\r", "\u2028", "\0",
    "\ud800", "\u202e", "%3C", "&lt;/script&gt;",
)  # fmt: skip
RUNS = (
    "<img src=x onerror=HIT>", "<svg onload=HIT>", "<script>HIT</script>",
    "<iframe srcdoc='<script>HIT</script>'></iframe>", "<details open ontoggle=HIT>x</details>",
    "<input autofocus onfocus=HIT>", '<a href="javascript:HIT">x</a>', "[x](javascript:HIT)",
    "$\\href{javascript:HIT}{x}$", "<style>@import 'http://hostile.invalid/x'</style>",
    "<link rel=stylesheet href=http://hostile.invalid/x>", "<img src=http://hostile.invalid/x>",
    "<base href=http://hostile.invalid/>", "<meta http-equiv=refresh content='0;url=http://hostile.invalid/'>",
    "${HIT}", "';HIT//", "\";HIT//", "HIT", "{safe}HIT", "<body onload=HIT>",
    "<object data=http://hostile.invalid/x>", "<math><mtext><img src=x onerror=HIT></mtext></math>",
)  # fmt: skip
HIT = "(window.hit=1,alert(1))"

CELLS = """import simsched as ss
edges = [(i, i + 1) for i in range(len(names) - 1)]
graph = ss.TaskGraph.from_edges([1.0] * len(names), edges, names=names, kinds=names, scopes=names, name=names[0])
ss.panel([graph, graph], "generic[cores=2]", "fifo")"""


def names(count: int, generator: random.Random) -> list[str]:
    """Return hostile names."""
    return [
        _spelt("".join(generator.choices(BREAKS, k=2)) + generator.choice(RUNS), generator)
        for _ in range(count)
    ]


def _spelt(name: str, generator: random.Random) -> str:
    """Return a name whose letters of markup are of either case, and that has a control character in some cases."""
    head, hit, tail = name.partition("HIT")
    mixed = (
        "".join(generator.choice((c.upper(), c.lower())) for c in head) if generator.random() < 0.3 else head
    )
    at = generator.randrange(len(mixed) + 1) if generator.random() < 0.2 else None
    if at is not None:
        mixed = mixed[:at] + generator.choice("\t\n\0\x1b\x7f") + mixed[at:]
    return mixed + hit.replace("HIT", HIT) + tail


def graph_of(found: list[str]) -> ss.TaskGraph:
    """Return a chain of tasks of these names."""
    edges = [(i, i + 1) for i in range(len(found) - 1)]
    return ss.TaskGraph.from_edges(
        [1.0] * len(found), edges, names=found, kinds=found, scopes=found, name=found[0]
    )


def watched(page: Any, wrong: list[str], *origins: str) -> None:
    """Note each dialog, error and request to elsewhere of a page."""
    own = ("file:", "blob:", "data:", "about:", *origins)
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("request", lambda r: wrong.append(f"request: {r.url}") if not r.url.startswith(own) else None)


def hit(page: Any) -> bool:
    """Return whether a name has run in a page or a frame of it."""
    return any(frame.evaluate("window.hit") for frame in page.frames)


def pages(browser: Any, found: list[str], folder: Path, wrong: list[str]) -> int:
    """Open an interactive chart and a report of these names; return how many have drawn."""
    graph = graph_of(found)
    ss.simulate(graph, "generic[cores=2]", "fifo").explore().save(folder / "chart.html")
    ss.report(graph, "generic[cores=2]", ["fifo", "critical-path"]).save(folder / "report.html")
    drawn = 0
    for file in ("chart.html", "report.html"):
        page = browser.new_page()
        watched(page, wrong)
        page.goto((folder / file).as_uri())
        page.wait_for_function("performance.getEntriesByName('simsched drawn').length")
        drawn += 1
        if hit(page):
            wrong.append(f"a name has run in {file}")
        page.close()
    return drawn


def panel(page: Any, lab: Server, found: list[str], number: int, wrong: list[str]) -> int:
    """Show these names in the panel, and change the policy; return how many panels have drawn."""
    lab.run(page, lab.write(f"panel{number}.ipynb", f"names = {found!a}\n{CELLS}"))
    frame = page.locator(".simsched-chart iframe").element_handle().content_frame()
    frame.wait_for_function("performance.getEntriesByName('simsched drawn').length")
    field = page.get_by_label("policy", exact=True)
    field.fill("critical-path")
    field.press("Enter")
    page.wait_for_timeout(2000)
    if hit(page):
        wrong.append("a name has run in the panel")
    lab.close(page)
    return 1


def main(given: argparse.Namespace) -> list[Bar]:
    """Print what went wrong; return the goals."""
    from playwright.sync_api import sync_playwright

    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        sys.exit(f"no browser: install one of {', '.join(BROWSERS)}")
    generator = random.Random(given.seed)  # noqa: S311 - no secret
    begin, wrong, drawn, panels = time.perf_counter(), list[str](), 0, 0
    rounds = -(-given.names // (EACH * (PAGES + 1)))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(rounds * PAGES):
            drawn += pages(browser, names(EACH, generator), Path(name), wrong)
        with jupyterlab(Path(name)) as lab:
            visited = browser.new_page(viewport={"width": 1400, "height": 1500})
            watched(visited, wrong, lab.url, lab.url.replace("http", "ws", 1))
            for number in range(rounds):
                panels += panel(visited, lab, names(EACH, generator), number, wrong)
        browser.close()
    print(
        f"{rounds * EACH * (PAGES + 1)} names, {drawn} pages and {panels} panels in {time.perf_counter() - begin:.0f} s"
    )
    for said in dict.fromkeys(wrong):
        print(f"  {said[:200]!r}")
    return [
        Bar("names", rounds * EACH * (PAGES + 1), given.names, True),
        Bar("pages and panels that did not draw", rounds * (2 * PAGES + 1) - drawn - panels, 0, False),
        Bar("names that ran, were requested or broke a page", len(wrong), 0, False),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--names", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    verdict(main(arguments), arguments.bars)
