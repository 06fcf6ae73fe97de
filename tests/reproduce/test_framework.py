"""Rows, claims, summary and texts of a made-up paper, computed by hand."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import FormatError, SimschedError, SpecError
from simsched.parameters import positive, whole
from simsched.plugins import registered
from simsched.reproduce import Row, System, system_of
from simsched.reproduce.published import read_published
from simsched.reproduce.reproduction import write_reproduction
from simsched.reproduce.system import count_rows

PAPER = """
title = "A |made| <b>up</b> paper"
citation = "Nobody, nowhere"
[inputs.machine]
at = "Sec. 1"
cores = 4
[[quantities]]
table = "Table 1"
name = "speed-up"
unit = "1"
at = "Table 1"
neutral = 1
cases = [{ net = ["a", "b"], cores = [1, 2, 4] }, { net = "c", cores = 8 }]
values = [["a", 2, 1.50], ["a", 4, 2.0], ["b", 2, 0.9], ["c", 8, 5]]
inputs = [["a", 1, 1.0]]
[[quantities]]
table = "Fig. 2"
name = "time"
unit = "s"
at = "Fig. 2"
cases = [{ shape = [[1, 2], [3, 4]] }]
values = [[[3, 4], 12.0]]
[[statements]]
key = "more"
table = "Table 1"
at = "Sec. 2"
words = "More cores | are faster"
[[statements]]
key = "less"
table = "Fig. 2"
at = "Sec. 3"
words = "Fewer too"
"""


@dataclass(frozen=True)
class Made(System):
    """A system of the test."""

    name = "made"
    scale: float = positive(1.0)
    file: str = ""

    def __post_init__(self):
        assert self.scale > 0

    def published(self):
        return read_published(Path(self.file))

    def predictions(self):
        return {
            ("Table 1", "speed-up"): lambda net, cores: self.scale * (cores - (net == "b") * 0.5),
            ("Fig. 2", "time"): lambda shape: self.scale * shape[0] * shape[1],
        }

    def verdicts(self):
        def more(predicted):
            one, four = (predicted("Table 1", "speed-up", net="a", cores=cores) for cores in (1, 4))
            return four > one, f"{four:g} and {one:g}"

        return {"more": more, "less": lambda predicted: (False, "no")}


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "made.toml"
    path.write_text(PAPER)
    return path


@pytest.fixture
def made(paper):
    return ss.reproduce(Made(file=str(paper)))


def test_every_case_is_a_row_in_order(made):
    cases = [(row.case, row.paper, row.use) for row in made.rows if row.table == "Table 1"]
    assert cases == [
        ({"net": "a", "cores": 1}, 1.0, "input"),
        ({"net": "a", "cores": 2}, 1.5, "check"),
        ({"net": "a", "cores": 4}, 2.0, "check"),
        ({"net": "b", "cores": 1}, None, "check"),
        ({"net": "b", "cores": 2}, 0.9, "check"),
        ({"net": "b", "cores": 4}, None, "check"),
        ({"net": "c", "cores": 8}, 5.0, "check"),
    ]
    assert [row.simulated for row in made.rows] == [1, 2, 4, 0.5, 1.5, 3.5, 8, 2, 12]
    assert made.rows[-1].case == {"shape": (3, 4)}
    assert count_rows(made.system) == len(made.rows) == 9
    assert made.tables == ("Table 1", "Fig. 2")


def test_errors_signs_and_orderings_by_hand(made):
    """Errors 1/3, 1, 2/3, 3/5 of ratios, 0 of the time; b on 2 cores lies on the wrong side; inputs count nowhere."""
    numbers = made.summary()
    assert (numbers["rows"], numbers["inputs"], numbers["scored"]) == (9, 1, 5)
    assert (numbers["ratio_rows"], numbers["time_rows"], numbers["other_rows"]) == (4, 1, 0)
    assert numbers["ratio_median"] == pytest.approx((3 / 5 + 2 / 3) / 2)
    assert numbers["ratio_p90"] == pytest.approx(0.9)
    assert numbers["time_median"] == 0
    assert (numbers["signs"], numbers["signs_agree"]) == (4, 3)
    # Published 1.5, 2, 0.9, 5; simulated 2, 4, 1.5, 8.
    assert (numbers["orderings"], numbers["orderings_agree"]) == (6, 6)
    assert (numbers["claims"], numbers["claims_agree"]) == (2, 1)
    assert numbers["as_printed"] == 1
    assert numbers["ratio_worst"] == 1


def test_what_was_in_view_stands_apart_and_the_worst_case_is_named(paper):
    """Seen are a on 4 cores, 4 for 2.0, and c, 8 for 5; the second statement, too."""
    text = PAPER.replace(
        ', ["a", 4, 2.0], ["b", 2, 0.9], ["c", 8, 5]]',
        ', ["b", 2, 1.6]]\nseen = [["a", 4, 2.0], ["c", 8, 5]]',
    )
    paper.write_text(text.replace('words = "Fewer too"', 'words = "Fewer too"\nuse = "seen"'))
    made = ss.reproduce(Made(file=str(paper)))
    numbers = made.summary()
    assert (numbers["scored"], numbers["seen"]) == (3, 2)
    assert numbers["seen_ratio_median"] == pytest.approx((1 + 3 / 5) / 2)
    assert (numbers["claims"], numbers["seen_claims"], numbers["seen_claims_agree"]) == (1, 1, 0)
    assert str(made).partition(": ")[2] == (
        "9 rows, 1 with a published number that is an input. 3 with a published number to predict: 1 equal as printed; "
        "2 ratios: absolute error median 19.8%, 90th percentile 30.6%, "
        "worst +33.3% (Table 1, speed-up, net=a, cores=2); "
        "1 time: absolute error median 0.0%, 90th percentile 0.0%, worst +0.0% (Fig. 2, time, shape=3/4); "
        "2 of 2 signs agree; 0 of 1 orderings agree (fewer than two in three: Table 1, speed-up: 0 of 1); "
        "1 of 1 claims agree. 2 with a published number in view when a choice was made: 0 equal as printed; "
        "2 ratios: absolute error median 80.0%, 90th percentile 96.0%, "
        "worst +100.0% (Table 1, speed-up, net=a, cores=4); "
        "2 of 2 signs agree; 1 of 1 orderings agree; 0 of 1 claims agree."
    )


@pytest.mark.parametrize(
    ("simulated", "paper", "decimals", "agrees"),
    [(6.552, 6.6, 1, True), (6.549, 6.6, 1, False), (1414.4, 1414, 0, True), (1.04e9, 1e9, -8, True)],
)
def test_as_printed(simulated, paper, decimals, agrees):
    assert Row("s", "t", {}, "q", "s", simulated, paper, decimals=decimals).as_printed is agrees


@pytest.mark.parametrize(
    ("simulated", "agrees"), [(0.9997, False), (0.9951, False), (0.994, True), (1.2, False)]
)
def test_a_sign_counts_as_printed(simulated, agrees):
    assert Row("s", "t", {}, "q", "1", simulated, 0.92, decimals=2, neutral=1.0).same_side is agrees


def test_nothing_published_has_no_error():
    assert Row("s", "t", {}, "q", "s", 1.0).relative_error is None
    assert Row("s", "t", {}, "q", "s", 1.0, 0.0).relative_error is None
    assert not Row("s", "t", {}, "q", "s", 1.0).as_printed
    assert Row("s", "t", {}, "q", "1", 1.0, 1.0, neutral=1.0).same_side is None


def test_records_are_json(made):
    again = json.loads(json.dumps(made.records()))
    assert again[1] == {
        "system": "made", "table": "Table 1", "case": {"net": "a", "cores": 2}, "quantity": "speed-up", "unit": "1",
        "simulated": 2.0, "paper": 1.5, "relative_error": pytest.approx(1 / 3), "use": "check",
    }  # fmt: skip
    assert again[-1]["case"] == {"shape": [3, 4]}


def test_frames(made):
    assert made.table["case"].tolist()[:2] == ["net=a, cores=1", "net=a, cores=2"]
    wide = made.pivot("Table 1", "speed-up")
    assert wide.loc[("b",), "4"].item() == 3.5
    assert wide.columns.tolist() == ["1", "2", "4", "8"]
    assert made.frame("Fig. 2")["simulated"].tolist() == [2, 12]
    with pytest.raises(SpecError, match=r"no speed of 'Table 1'; it has Table 1: speed-up; Fig. 2: time"):
        made.frame("Table 1", "speed")


def test_what_cannot_be_printed_stands_as_its_escape(paper):
    paper.write_text(
        PAPER.replace('unit = "s"', r'unit = "s\u001b[2J"').replace('"Sec. 1"', r'"Sec.\u001b 1"')
    )
    text = ss.reproduce(Made(file=str(paper))).to_markdown()
    assert all(line.isprintable() for line in text.splitlines())
    assert r"s\\x1b[2J" in text
    assert r"Sec.\\x1b 1" in text


def test_markdown_and_page_are_escaped(made):
    text = made.to_markdown()
    assert "| net | cores 1 | 2 | 4 | 8 |" in text
    assert "| a | 1.00 (1.0 in) | 2.00 (1.50, +33.3%) | 4.00 (2.0, +100.0%) |  |" in text
    assert r"| More cores \| are faster | Sec. 2 | yes | 4 and 1 |" in text
    assert "| Fewer too | Sec. 3 | **no** | no |" in text
    assert "<b>up</b>" not in made._repr_html_()
    assert made._repr_html_().count("<table") == 2


def test_one_table_alone(paper):
    one = ss.reproduce(Made(file=str(paper)), ["Fig. 2"])
    assert ss.reproduce(Made(file=str(paper)), "Fig. 2").rows == one.rows
    assert count_rows(one.system, "Fig. 2") == len(one.rows)
    assert [row.table for row in one.rows] == ["Fig. 2"] * 2
    assert [claim.words for claim in one.claims] == ["Fewer too"]
    with pytest.raises(SpecError, match=r"made has no table 'Table 7'; it has Table 1; Fig. 2"):
        ss.reproduce(Made(file=str(paper)), ["Table 7"])


def test_progress_counts_rows(paper):
    seen = []
    ss.reproduce(Made(file=str(paper)), progress=seen.append)
    assert seen == [1] * 9


def test_a_folder(made, tmp_path):
    assert [path.name[-3:] for path in write_reproduction(tmp_path / "out", made)] == [".md"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["a", 2, 1.50]', '["a", 3, 1.50]', r"Table 1, speed-up: \('a', 3\) is not a case"),
        ('["a", 2, 1.50]', '["a", 4, 1.50]', "given twice"),
        ('net = ["a", "b"]', 'net = ["a", "a"]', "two cases have the same values"),
        ('["a", 2, 1.50]', '["a", 2, "fast"]', r"'fast' of \('a', 2\) is not a number"),
        ('["a", 2, 1.50]', "[]", r"\(\) is not a case"),
        ('net = ["a", "b"]', "net = [{ deep = 1 }]", r"quantities.0.cases.0.net"),
        ('unit = "s"\n', "", "quantities.1.unit: Field required"),
        ("title", "titel", "titel: Extra inputs are not permitted"),
        ("title =", "title", "Expected '='"),
    ],
)
def test_a_wrong_data_file_says_where(tmp_path, old, new, says):
    path = tmp_path / "wrong.toml"
    path.write_text(PAPER.replace(old, new, 1))
    with pytest.raises(FormatError, match=f"(?s)wrong.toml: .*{says}"):
        read_published(path)


def test_a_quantity_that_nothing_predicts(paper):
    class Half(Made):
        def predictions(self):
            return {("Table 1", "speed-up"): lambda net, cores: float("nan")}

        def verdicts(self):
            return {}

    with pytest.raises(SimschedError, match=r"Table 1, speed-up, net=a, cores=1 came out as nan"):
        ss.reproduce(Half(file=str(paper)))
    with pytest.raises(SimschedError, match=r"nothing predicts 'time' of 'Fig. 2'"):
        ss.reproduce(Half(file=str(paper)), ["Fig. 2"])


def test_systems_by_name():
    assert str(system_of("chaos")) == "chaos"
    with pytest.raises(SpecError, match=r"no published system is called 'choas'.*did you mean chaos"):
        system_of("choas")
    with pytest.raises(SpecError, match="give a name"):
        system_of(3)


@pytest.mark.parametrize("name", registered("reproductions"))
def test_every_system_predicts_and_judges_all_of_its_paper(name):
    system = system_of(name)
    published = system.published()
    assert {(q.table, q.name) for q in published.quantities} == set(system.predictions())
    assert {statement.key for statement in published.statements} == set(system.verdicts())
    assert set(system.pictures()) <= set(published.tables)
    assert "Abstract" in published.tables


def test_numbers_above_zero():
    @dataclass(frozen=True)
    class Choices(System):
        name = "choices"
        factor: float = positive(2.5)
        count: int = whole(3)

    assert str(Choices(factor=0.5)) == "choices[factor=0.5]"
    for wrong in (0.0, -1.0, float("inf"), float("nan"), "x", True):
        with pytest.raises(SpecError, match=r"choices\[factor=.*expected a number above 0"):
            Choices(factor=wrong)
