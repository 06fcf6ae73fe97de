"""Tables as text: what is unknown, wide characters, and any table on any width."""

import numpy as np
import pandas as pd
from hypothesis import given, strategies as st
from unmarked import unmarked

from simsched.document.markdown import markdown, markdown_text
from simsched.document.parts import Bullets, Document, Paragraph, Section, Table
from simsched.document.result import table_of
from simsched.document.terminal import LEAST_TEXT, document_text, fitted, table_text
from simsched.text import cells_of, printable


def test_units_shares_and_what_is_unknown():
    frame = pd.DataFrame(
        {"name": ["a\x1bb", None], "makespan_s": [0.0123, np.nan], "utilization": [0.5, 1.0], "n": [1, 20]}
    )
    assert table_text(table_of(frame)).splitlines() == [
        "name   makespan utilization  n",
        "a\\x1bb  12.3 ms       50.0%  1",
        "-             -      100.0% 20",
    ]


def test_an_empty_table_is_its_headings():
    assert table_text(table_of(pd.DataFrame({"layout": [], "makespan_s": []}))) == "layout makespan"


def test_wide_characters_are_two_cells():
    table = Table("", ["name", "n"], [["任务", "1"], ["ab", "2"]])
    assert table_text(table).splitlines() == ["name n", "任务 1", "ab   2"]


def test_what_does_not_fit_goes_on_below_beside_what_tells_rows_apart():
    titles = ["policy", "layout", *(f"number{i}" for i in range(6))]
    table = Table("", titles, [["fifo", "1x2", *["12345678"] * 6], ["fifo", "2x1", *["9"] * 6]])
    first, second = table_text(table, 45).split("\n\n")
    assert [block.splitlines()[1].split()[:2] for block in (first, second)] == [["fifo", "1x2"]] * 2
    assert "number5" not in first
    assert "number5" in second


words = st.text(alphabet="abc/é任[ ", min_size=1, max_size=60).map(str.strip).filter(bool)
numbers = st.integers(0, 10**9).map(str)


def letters(text):
    return sorted("".join(text.split()))


@given(st.data(), st.integers(40, 120))
def test_any_table_fits_and_keeps_all_of_it(data, width):
    n_rows, n_columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 8))
    kinds = [words if i % 2 else numbers for i in range(n_columns)]
    rows = [[data.draw(kind) for kind in kinds] for _ in range(n_rows)]
    table = Table("", [data.draw(words) for _ in range(n_columns)], rows)
    text = table_text(table, width)
    assert max(map(cells_of, text.splitlines())) <= width
    if "\n\n" not in text:
        assert letters(text) == letters("".join(map("".join, [table.columns, *rows])))
    assert not {*letters("".join(map("".join, rows)))} - {*text}
    if max(cells_of(word) for title in table.columns for word in title.split()) <= LEAST_TEXT:
        assert all(number in text for row in rows for number in row[::2])


@given(words, st.integers(40, 60))
def test_any_line_fits_and_keeps_all_of_it(line, width):
    folded = fitted(f"name   {line}", width)
    assert max(map(cells_of, folded.splitlines())) <= width
    assert letters(folded) == letters(f"name{line}")


def test_a_document_is_text_on_a_terminal_and_markdown_elsewhere():
    table = Table("", ["name", "holds"], [["a < b", "yes"]])
    document = Document("Title", [Section("Part", [table, Paragraph("Some words more than fit.")])])
    assert document_text(document, 16).splitlines() == [
        "# Title", "", "## Part", "", "name  holds", "a < b yes", "", "Some words more", "than fit.",
    ]  # fmt: skip
    assert "| a < b | yes |" in markdown(document)


def test_a_terminal_shows_names_as_they_are():
    names = ["conv*_1|2", "me@host #5", r"C:\dir", "_x_ <b>", "[bold]x[/bold]", ":smile:"]
    document = Document("", [Table("", ["name"], [[name] for name in names]), Bullets(names)])
    shown = document_text(document, 40).splitlines()
    assert shown[2:] == ["name", *names, "", *(f"- {name}" for name in names)]


@given(st.text())
def test_markdown_is_undone(text):
    assert unmarked(markdown_text(text)) == printable(text)


def test_long_specs_of_policies_are_cut_in_the_middle_but_stay_distinct():
    spec = f"kind-widths[widths={';'.join(f'Kind{i}:8' for i in range(40))}]"
    cut = table_text(table_of(pd.DataFrame({"policy": ["fifo", spec]}))).splitlines()[-1].rstrip()
    assert (len(cut), cut[:12], cut[-4:]) == (40, "kind-widths[", "9:8]")
    alike = [spec.replace("Kind20:8", f"Kind20:{width}") for width in (2, 4)]
    assert table_text(table_of(pd.DataFrame({"policy": alike}))).splitlines()[1:] == alike
