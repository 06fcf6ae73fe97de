"""The page of a report: well-formed, self-contained, escaped, and small."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pytest

import simsched as ss

mpl.use("Agg")

VOID = {"meta", "img", "link", "br"}


class Outline(HTMLParser):
    """Checks that elements nest; keeps what they are."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def outline(page: str) -> Outline:
    parser = Outline()
    parser.feed(page)
    assert not parser.open
    return parser


def test_it_is_whole_and_loads_nothing(three):
    page = outline(three.html)
    for tag, attributes in page.elements:
        for key in ("src", "href", "xlink:href"):
            value = attributes.get(key) or ""
            assert value.startswith(("data:", "#")) or not value, (tag, value)
    assert "http://" not in re.sub(r'xmlns(:xlink)?="[^"]*"', "", three.html)


def test_the_licence_of_what_is_packed_can_be_read(three):
    assert "<!-- BokehJS" in three.html
    assert "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS" in three.html


def test_landmarks_headings_and_alternatives(three):
    elements = outline(three.html).elements
    tags = [tag for tag, _ in elements]
    assert tags.count("main") == tags.count("h1") == tags.count("nav") == tags.count("footer") == 1
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    links = [attributes["href"] for tag, attributes in elements if tag == "a"]
    assert all(link.removeprefix("#") in ids for link in links)
    pictures = [a for tag, a in elements if tag == "img" or (tag == "svg" and a.get("aria-hidden") != "true")]
    assert len(pictures) >= 8
    assert all(a.get("alt") or a.get("aria-label") for a in pictures)
    # Those within a picture are its own affair.
    own = re.findall(r'<(?:main|section|h2|div|script)[^>]* id="([^"]+)"', three.html)
    assert len(own) == len(set(own)) > 15


def test_hostile_names_are_escaped(hostile):
    page = outline(hostile.html)
    assert "<script>alert" not in hostile.html
    assert "\x1b" not in hostile.html
    assert not [a for _, a in page.elements for key in a if key.startswith("on")]
    assert {tag for tag, _ in page.elements if tag == "script"} == {"script"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in hostile.html


def test_a_recorded_run(recorded):
    assert "worker <b>" not in recorded.html
    assert "From the top: recorded, then fifo." in recorded.html


@pytest.mark.parametrize(
    ("seconds", "edges"),
    [([], []), ([2.0], []), ([0.0, 0.0], [(0, 1)]), ([1.0, 2.0, 3.0, 4.0], [(0, 1), (2, 3)])],
    ids=["empty", "one task", "no time", "disconnected"],
)
def test_graphs_at_the_edge(seconds, edges):
    graph = ss.TaskGraph.from_edges(seconds, edges)
    made = ss.report(graph, "generic[cores=2]", ["fifo", "corun"], seeds=2, replays=2)
    outline(made.html)
    assert "nan" not in made.markdown.lower().replace("nanosecond", "")
    assert (made.sentences == []) == (made.findings.best.interval.middle == 0)


def test_1_000_tasks_take_less_than_1_5_MB():
    """`benchmarks/report.py` has 16,000."""
    n, rng = 1_000, np.random.default_rng(0)
    before = rng.integers(0, n - 1, 2 * n)
    edges = np.stack([before, rng.integers(before + 1, n)], axis=1)
    names = [f"gradients/layer{i % 97}/block{i % 13}/convolution/backward/input/{i}" for i in range(n)]
    kinds = [f"Kind{i % 40}" for i in range(n)]
    graph = ss.TaskGraph.from_edges(
        rng.exponential(1e-4, n), edges, names=names, kinds=kinds, scopes=names,
        shapes=[f"{i}x64" for i in range(n)], flops=rng.uniform(1e6, 1e9, n), bytes_B=rng.uniform(1e5, 1e7, n),
    )  # fmt: skip
    made = ss.report(graph, "knl-7250", ["fifo"], replays=2, seeds=1)
    assert len(made.html.encode()) < 1_500_000
    assert made.html.count("<img ") >= 3, "what would be large is an image"


def test_a_notebook_shows_it_in_a_frame(three):
    shown = three._repr_html_()
    assert '<iframe class="simsched-frame" title="Report: three takes 4 s' in shown
    assert 'sandbox="allow-scripts allow-downloads"' in shown
