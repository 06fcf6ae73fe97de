"""Tables as text: what is unknown, wide characters, and any table on any width."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from simsched.document.markdown import markdown_table, markdown_text, unmarked
from simsched.document.parts import Table
from simsched.document.table_layout import GAP, Column, laid_out
from simsched.document.tables import table_text
from simsched.document.terminal import fitted_markdown
from simsched.text import cells_of, printable


def test_units_shares_and_what_is_unknown():
    frame = pd.DataFrame(
        {"name": ["a\x1bb", None], "makespan_s": [0.0123, np.nan], "utilization": [0.5, 1.0], "n": [1, 20]}
    )
    assert table_text(frame).splitlines() == [
        "name   makespan utilization  n",
        "a\\x1bb  12.3 ms       50.0%  1",
        "-             -      100.0% 20",
    ]


def test_an_empty_table_is_its_headings():
    assert table_text(pd.DataFrame({"layout": [], "makespan_s": []})) == "layout makespan"


def test_wide_characters_are_two_cells():
    lines = laid_out([Column("name", ["任务", "ab"], True), Column("n", ["1", "2"], False)]).splitlines()
    assert lines == ["name n", "任务 1", "ab   2"]


def test_what_does_not_fit_goes_on_below_beside_what_tells_rows_apart():
    columns = [Column("policy", ["fifo", "fifo"], True), Column("layout", ["1x2", "2x1"], True)]
    columns += [Column(f"number{i}", ["12345678", "9"], False) for i in range(6)]
    first, second = laid_out(columns, 45).split("\n\n")
    assert [block.splitlines()[1].split()[:2] for block in (first, second)] == [["fifo", "1x2"]] * 2
    assert "number5" not in first
    assert "number5" in second


words = st.text(alphabet="abc/é任 ", min_size=1, max_size=60).map(str.strip).filter(bool)
numbers = st.integers(0, 10**9).map(str)


@given(st.data(), st.integers(40, 120))
def test_any_table_fits_and_keeps_its_numbers(data, width):
    n_rows = data.draw(st.integers(1, 4))
    columns = []
    for i in range(data.draw(st.integers(1, 8))):
        cells = st.lists(numbers if i % 2 else words, min_size=n_rows, max_size=n_rows)
        columns.append(Column(data.draw(words), data.draw(cells), i % 2 == 0))
    text = laid_out(columns, width)
    key = sum(column.least for column in columns[:2]) + 2 * len(GAP)
    assert max(map(cells_of, text.splitlines())) <= max(width, key + max(column.least for column in columns))
    for column in columns[1::2]:
        assert all(number in text for number in column.cells)


def test_markdown_for_a_terminal_has_no_escapes_and_no_bars():
    markdown = "# Title\n\n| name | holds |\n| --- | --- |\n| a &lt; b | yes |\n\nSome words more than fit.\n"
    assert fitted_markdown(markdown, 16).splitlines() == [
        "# Title", "", "name  holds", "a < b yes", "", "Some words more", "than fit.",
    ]  # fmt: skip
    assert fitted_markdown(markdown, None) == markdown


def test_a_terminal_shows_no_escapes_of_markdown():
    names = ["conv*_1|2", "me@host #5", r"C:\dir", "_x_ <b>"]
    shown = fitted_markdown(markdown_table(Table("", ["name"], [[name] for name in names])), 40)
    assert shown.splitlines() == ["name", *names]


@given(st.text())
def test_markdown_is_undone(text):
    assert unmarked(markdown_text(text)) == printable(text)


def test_long_specs_of_policies_are_cut_in_the_middle_but_stay_distinct():
    spec = f"kind-widths[widths={';'.join(f'Kind{i}:8' for i in range(40))}]"
    cut = table_text(pd.DataFrame({"policy": ["fifo", spec]})).splitlines()[-1].rstrip()
    assert (len(cut), cut[:12], cut[-4:]) == (40, "kind-widths[", "9:8]")
    alike = [spec.replace("Kind20:8", f"Kind20:{width}") for width in (2, 4)]
    assert table_text(pd.DataFrame({"policy": alike})).splitlines()[1:] == alike
