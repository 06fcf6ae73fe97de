"""Reports of cross-checks: pages and Markdown."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import simsched as ss
from simsched.document.html import text as escaped
from simsched.document.markdown import markdown_text
from simsched.errors import SimschedError
from simsched.notes import Weight, weight_of

HOSTILE = "<script>alert(1)</script>|\x1b[31m"


class Balance(HTMLParser):
    """Notes the tags that are open, and those that close another."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.seen = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def parsed(text):
    balance = Balance()
    balance.feed(text)
    assert (balance.open, balance.wrong) == ([], [])
    return balance


@pytest.fixture
def case(made_up):
    """Return what makes a case of tasks that took longer than predicted."""

    def made(n=6, scale=1.1, policy="fifo", layout="2x1", name="graph", kinds=None, **options):
        seconds, edges = np.linspace(1e-3, 2e-3, n), [(i, i + 2) for i in range(n - 2)]
        graph = ss.TaskGraph.from_edges(seconds, edges, kinds=kinds or ["MatMul"] * n)
        slower = ss.TaskGraph.from_edges(seconds * scale, edges)
        times = ss.simulate(slower, "generic[cores=2]", "fifo", "2x1")
        schedule = made_up.measured(graph, times.start_s, times.finish_s, times.executor)
        return made_up.checked(graph, [made_up.run(schedule, **options)] * 3, policy, layout, name)

    return made


@pytest.fixture
def page(tmp_path, made_up):
    def written(*cases):
        made_up.crosscheck(*cases).to_html(tmp_path / "check.html")
        return (tmp_path / "check.html").read_text("utf-8")

    return written


def test_a_page_tells_everything_and_needs_nothing(page, case):
    text = page(case(), case(policy="critical-path", scale=1.3), case(policy="corun", layout=None))
    balance = parsed(text)
    assert [tag for tag, _ in balance.seen].count("details") == 3
    assert text.index("<summary>graph, critical-path 2x1") < text.index("<summary>graph, fifo 2x1")
    for said in ("Goals m", "Core to core", "Tasks furthest off", "kernel times", "made up", "60 ns"):
        assert said in text
    for tag, attributes in balance.seen:
        assert tag not in ("script", "link", "iframe")
        assert all(
            not (value or "").startswith(("http", "//"))
            for key, value in attributes.items()
            if "xmlns" not in key
        )


def test_notes_travel_with_every_output(page, made_up, case):
    """Notes of imports, runs and replays, each once, the weightiest first: in results, tables, Markdown and pages."""
    cases = [case(stolen=0.5), case(policy="critical-path")]
    cases[1].simulated.graph.report.doubt("nobody knows $its| dependencies")
    check = made_up.crosscheck(*cases)
    error = f"{100 * check.summary()['median_error']:.3g} %"
    assert repr(check) == f"<CrossCheck: 2 cases, median error {error}; table has them>"
    declined = made_up.crosscheck(*(replace(one, doubt="disturbed") for one in cases))
    assert repr(declined) == "<CrossCheck: 2 cases (2 declined), median error unknown; table has them>"
    assert weight_of(check.notes[0]) == Weight.DOUBT
    assert weight_of(check.notes[-1]) == Weight.FACT
    assert "nobody knows $its| dependencies" in check.notes
    assert check.notes == check.table.notes
    assert len({*check.notes}) == len(check.notes)
    assert {note for one in cases for note in one.notes} == {*check.notes}
    for source in (cases[0].execution.schedule.notes, cases[1].simulated.notes):
        assert {*source} <= {*check.notes}
    (doubt,) = cases[0].execution.doubts
    assert f"{cases[0].graph}, {cases[0].name}: {doubt}" in check.notes
    listed = check.to_markdown().partition("## Notes\n\n")[2].splitlines()
    assert listed == [f"- {markdown_text(note)}" for note in check.notes]
    whole = page(*cases).partition("<h2>Notes</h2>")[2]
    assert [whole.count(escaped(note)) for note in check.notes] == [1] * len(check.notes)


def test_hostile_names_are_escaped(page, case):
    text = page(case(name=HOSTILE, kinds=[HOSTILE, "</svg>", "$x^{", "&amp;", "'\"", "a"]))
    parsed(text)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\x1b" not in text


def test_hostile_names_in_markdown(made_up, case):
    text = made_up.crosscheck(case(name=HOSTILE, kinds=[HOSTILE] * 6)).to_markdown()
    assert "<script" not in text
    assert "\x1b" not in text
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 3
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_cases_that_took_no_time(page, made_up, case):
    nothing, instant = ss.TaskGraph.from_edges([]), ss.TaskGraph.from_edges([0.0, 0.0])
    cases = [
        made_up.checked(graph, [made_up.run(made_up.measured(graph, times, times))], name=name)
        for graph, times, name in ((nothing, [], "nothing"), (instant, [0, 0], "instant"))
    ]
    check = made_up.crosscheck(*cases)
    assert check.table["error"].isna().all()
    assert np.isnan(check.summary()["median_error"])
    assert "unknown" in check.to_markdown()
    assert "no case took time" in page(*cases)
    text = page(*cases, case())
    parsed(text)
    # What has no error comes last.
    assert text.index("<summary>graph, fifo") < text.index("<summary>nothing, fifo")


def test_one_case(page, case):
    text = page(case())
    parsed(text)
    assert "There is nothing to rank" in text


def test_disturbed_cases_are_said(page, case):
    text = page(case(stolen=0.5))
    assert "every run lost more than 1% of its time" in text
    assert "0: all disturbed" in text


def test_large_graphs_stay_light(page, case):
    text = page(*[case(n=2000, name=f"graph {i}") for i in range(4)])
    assert text.count("data:image/png;base64") == 8
    assert len(text) < 4 * 60_000


def test_a_report_that_cannot_be_written(tmp_path, made_up, case):
    check = made_up.crosscheck(case())
    for write in (check.to_html, check.to_markdown):
        with pytest.raises(SimschedError, match="there is no folder"):
            write(tmp_path / "missing" / "check")
