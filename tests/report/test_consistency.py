"""No line of a report contradicts another: its sentences and tables are read back, as a reader has them."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from unmarked import unmarked

import simsched as ss
from simsched.report.policies_section import OF_SEEDS
from simsched.testing.strategies import graphs, machines
from simsched.units import UNITS

POLICIES = ["sequential", "fifo", "critical-path", "corun", "kind-widths", "tensorflow"]
#: Half of the last of three digits, twice: of two times that are compared.
ROUNDING = 0.0101
#: Half of the last digit of a percentage.
DIGIT = 0.00051
Rows = list[dict[str, str]]
_PER_S = {unit.name: unit.per_s for unit in UNITS}
_TIME = re.compile(r"([\d.]+(?:e[+-]?\d+)?) (s|ms|µs|ns)\b")


def tables_of(markdown: str) -> dict[str, Rows]:
    """Return the rows of each table by its caption; a column without a name is called by its place."""
    found = re.findall(r"^\*\*(.*)\*\*\n\n((?:^\|.*\n)+)", markdown, re.MULTILINE)
    return {unmarked(caption): _rows(block.splitlines()) for caption, block in found}


def _rows(lines: list[str]) -> Rows:
    columns, _, *rows = (
        [unmarked(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    )
    names = [name or str(place) for place, name in enumerate(columns)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def seconds(text: str) -> float:
    """Return the first time of a text, in seconds."""
    found = _TIME.search(text)
    assert found, text
    return float(found[1]) / _PER_S[found[2]]


def share(text: str) -> float:
    """Return the first percentage of a text as a share."""
    found = re.search(r"([+-]?[\d.]+)%", text)
    assert found, text
    return float(found[1]) / 100


def over(text: str) -> float:
    """Return by what share a time is longer than another, of "+3.0%" or "2.5 x"."""
    return share(text) if text.endswith("%") else float(text.removesuffix(" x")) - 1


def near(one: float, other: float) -> bool:
    return one == pytest.approx(other, rel=ROUNDING, abs=1e-12)


def ratio_near(more: float, long_s: float, short_s: float) -> bool:
    """Tell whether one time is longer than another by a share, as far as their digits say."""
    return 1 + more == pytest.approx(long_s / short_s, rel=ROUNDING, abs=DIGIT)


def captioned(tables: dict[str, Rows], end: str) -> Rows | None:
    return next((rows for caption, rows in tables.items() if end in caption), None)


class Page:
    """What a reader reads."""

    def __init__(self, report: ss.Report) -> None:
        self.given = report.findings.question.layout is not None
        self.own = report.findings.question.machine.n_cores
        self.headline, self.sentences = report.headline, report.sentences
        self.markdown, self.tables = report.markdown, tables_of(report.markdown)
        self.policies = [row for row in self.tables[self.policies_caption] if "failed" not in row["makespan"]]
        self.best = self.policies[0]
        self.takes_s = seconds(self.best["makespan"])
        self.seeded = self.best.get(OF_SEEDS, "no spread") != "no spread"

    @property
    def policies_caption(self) -> str:
        return next(caption for caption in self.tables if caption.startswith("Policies on"))

    def sentence(self, part: str) -> str | None:
        return next((sentence for sentence in self.sentences if part in sentence), None)

    def of_policy(self, name: str) -> dict[str, str]:
        return next(row for row in self.policies if row["policy"] == name)

    def check(self) -> None:
        self.check_headline()
        self.check_policies()
        self.check_bound()
        self.check_core_time()
        self.check_helps()
        self.check_cores()
        self.check_layouts()

    def check_headline(self) -> None:
        if "has no tasks" in self.headline:
            return
        assert f"under {self.best['policy']}, {self.best['layout']}" in self.headline
        between = self.best.get("interval", "no spread")
        between = "" if between == "no spread" else f" ({between})"
        assert f"takes {self.best['makespan']}{between} on" in self.headline
        assert f"shortest of {len(self.policies)} policies" in self.headline
        for name, more in re.findall(r"([\w-]+) takes ([\d.]+)% longer", self.headline):
            assert ratio_near(float(more) / 100, seconds(self.of_policy(name)["makespan"]), self.takes_s)
        for name in re.findall(r"level with ([\w-]+)", self.headline):
            assert near(seconds(self.of_policy(name)["makespan"]), self.takes_s)

    def check_policies(self) -> None:
        times = [seconds(row["makespan"]) for row in self.policies]
        assert times == sorted(times)
        assert all(row["chosen by"] in {"given", "estimate", "replays", "-"} for row in self.policies)
        if self.takes_s:
            for row, time_s in zip(self.policies, times, strict=True):
                assert ratio_near(over(row["over best"]), time_s, self.takes_s)

    def check_bound(self) -> None:
        facts = {row["0"]: row["1"] for row in self.tables["Lower bounds of every policy"]}
        bound_s = seconds(facts["lower bound, the larger"])
        if said := self.sentence("No policy takes less than"):
            assert all(seconds(row["makespan"]) >= bound_s * (1 - ROUNDING) for row in self.policies)
            assert share(said) >= 0
        if said := said or self.sentence("The lower bound is"):
            assert seconds(said) == bound_s
            assert f"efficiency of {self.best['efficiency']}" in said
            assert ratio_near(share(said) * (-1 if "below it" in said else 1), self.takes_s, bound_s)
        for row in self.policies if bound_s else ():
            assert ratio_near(over(row["above bound"]), seconds(row["makespan"]), bound_s)

    def check_core_time(self) -> None:
        if not (said := self.sentence("% is work")):
            return
        rows = {row["what"]: row["share"] for row in self.tables["Where the cores' time went"]}
        assert f"{rows.get('work', '0.0%')} is work" in said
        rest = {what: share(text) for what, text in rows.items() if what != "work"}
        if most := re.search(r"the rest is (.*) \(([\d.]+)%\)", said):
            assert rest[most[1]] == max(rest.values()) == share(f"{most[2]}%")

    def check_helps(self) -> None:
        rows = captioned(self.tables, "What would help most")
        if rows is None or self.seeded or not self.takes_s:
            return
        for row in rows:
            assert near(seconds(row["makespan"]), (1 - share(row["saves"])) * self.takes_s)
        if said := self.sentence("hat would help most"):
            assert rows[0]["what"] in said
            assert f"{rows[0]['times as fast']} times as fast" in said
            assert share(said) == pytest.approx(share(rows[0]["saves"]), abs=DIGIT)

    def check_cores(self) -> None:
        rows = captioned(self.tables, "By core count")
        if rows is None:
            return
        times = {int(row["cores"]): seconds(row["makespan"]) for row in rows}
        own = next(row for row in rows if int(row["cores"]) == self.own)
        assert {key: own[key] for key in own if key in self.best} == {
            key: self.best[key] for key in own if key in self.best
        }
        said = self.sentence("Fewer or more cores") or ""
        if fewer := re.search(r"(\d+) cores? take at most 5%", said):
            assert times[int(fewer[1])] <= 1.05 * self.takes_s * (1 + ROUNDING)
        if more := re.search(r"(\d+) cores would save ([\d.]+)%", said):
            assert times[int(more[1])] == min(s for count, s in times.items() if count > self.own)
            assert ratio_near(-float(more[2]) / 100, times[int(more[1])], self.takes_s)
        if "would not be faster" in said:
            assert all(s >= self.takes_s * (1 - ROUNDING) for count, s in times.items() if count > self.own)

    def check_layouts(self) -> None:
        rows, said = captioned(self.tables, " layouts, the shortest first"), self.sentence("layouts of") or ""
        if rows is None:
            return
        policy = re.search(r"under ([\w-]+), the best policy that has executors", self.markdown)
        assert policy
        used = next(row for row in rows if "(as above)" in row["layout"])
        above, times = self.of_policy(policy[1]), [seconds(row["makespan"]) for row in rows]
        assert used["layout"] == f"{above['layout']} (as above)"
        assert times == sorted(times)
        if above.get(OF_SEEDS, "no spread") == "no spread":
            assert used["makespan"] == above["makespan"]
            if not self.given:
                assert used["makespan"] == rows[0]["makespan"]
                assert min(times) >= self.takes_s
        if "is the shortest" in said:
            named = re.search(r"([\dx]+) is the shortest", said)
            assert named
            assert rows[0]["layout"].removesuffix(" (as above)") == named[1]
        if less := re.search(r"([\d.]+)% less than", said):
            assert ratio_near(-float(less[1]) / 100, times[0], seconds(used["makespan"]))


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    graphs(12, widths=2), machines(6), st.sampled_from([None, None, "1x1"]), st.sampled_from([0.0, 0.0, 0.2])
)
def test_no_line_of_a_random_report_contradicts_another(graph, machine, layout, noise):
    costs = ss.CostModel(noise=noise)
    Page(ss.report(graph, machine, POLICIES, layout, costs, seeds=3, replays=4)).check()


@pytest.mark.parametrize(
    ("workload", "machine", "layout"),
    [
        ("transformer[layers=1]", "epyc-9654x2", None),
        ("lstm[size=small,steps=2]", "knl-7250", None),
        ("lstm[size=small,steps=2]", "knl-7250", "8x8"),
    ],
)
def test_no_line_of_a_report_of_a_workload_contradicts_another(workload, machine, layout):
    page = Page(ss.report(ss.workload(workload), machine, POLICIES, layout, seeds=2, replays=4))
    assert any(row["chosen by"] == "given" for row in page.policies) == (layout is not None)
    page.check()
