"""`Result`: a DataFrame with its notes, its picture and its display."""

import copy
import pickle

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import simsched as ss
from simsched.document.result import Result
from simsched.errors import SimschedError
from simsched.notes import Note, Weight, weighed

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
TWO = "generic[cores=2]"
NASTY = "<script>x</script>$a$\x1b[2J"


def results():
    return {
        "compare": ss.compare(GRAPH, TWO, ["fifo", "sequential"]),
        "tune": ss.tune(GRAPH, TWO),
        "widths": ss.tune(GRAPH, TWO, method="widths", evaluations=4),
        "predict": ss.predict(GRAPH, TWO, "fifo", [1, 2], samples=2),
        "replayed": ss.replayed(GRAPH, TWO, ["fifo", "sequential"], seeds=[0, 1]),
        "verdicts": ss.verdicts(GRAPH, TWO, ["fifo", "sequential"], seeds=[0, 1]),
        "sensitivity": ss.sensitivity(GRAPH, TWO, parameters=["cores.clock", "runtime.dispatch"]),
        "sobol": ss.sobol(GRAPH, TWO, parameters=["cores.clock"], samples=2),
    }


@pytest.fixture(scope="module")
def found():
    return results()


def test_each_has_notes_a_picture_and_a_display(found):
    for name, result in found.items():
        assert isinstance(result, Result), name
        assert result.notes == tuple(dict.fromkeys(result.notes)) != (), name
        assert result.plot().has_data(), name
        plt.close("all")
        assert type(result.frame) is type(result[result.columns[:2]]) is type(result.head(1)) is pd.DataFrame
        pd.testing.assert_frame_equal(result.frame, pd.DataFrame(result))
        for note in result.notes:
            assert f"note: {note}" in repr(result)
            assert note in result._repr_html_()


def test_numbers_have_units_and_long_sentences_are_whole():
    table = pd.DataFrame({"makespan_s": [0.0042], "gap": [0.25], "said": [40 * "word "], "low_s": [None]})
    result = Result.of(table, hidden=["gap"])
    assert result.text().splitlines()[1].startswith("  4.2 ms word word")
    html = result._repr_html_()
    assert ("4.2 ms" in html, "25.0%" in html, (40 * "word ").strip() in html) == (True, False, True)
    assert "low" not in result.text()
    assert Result.of(table)["gap"].tolist() == [0.25]
    assert "25.0%" in Result.of(table).text()


def test_nothing_from_a_file_is_markup_or_obeyed():
    result = Result.of(pd.DataFrame({"policy": [NASTY]}), [NASTY])
    html = result._repr_html_()
    assert "<script" not in html
    assert "mathjax_ignore" in html
    assert "\x1b" not in html + repr(result)


def test_long_tables_are_cut_in_displays_alone():
    result = Result.of(pd.DataFrame({"row": range(100)}))
    with pd.option_context("display.max_rows", 10):
        assert len(repr(result).splitlines()) == 12
        assert "90 more rows: .frame has all" in repr(result)
        assert "90 more rows" in result._repr_html_()
    assert len(result.text().splitlines()) == 101


def test_pickle_and_parquet_keep_what_they_should(found, tmp_path):
    for name, result in found.items():
        again = pickle.loads(pickle.dumps(result))  # noqa: S301 - our own
        assert (type(again), again.notes, again.hidden) == (Result, result.notes, result.hidden), name
        pd.testing.assert_frame_equal(again.frame, result.frame)
        pd.testing.assert_frame_equal(pd.DataFrame(copy.deepcopy(result)), result.frame)
        result.to_parquet(tmp_path / "table.parquet")
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), result.frame)


def test_no_picture_says_what_there_is():
    with pytest.raises(SimschedError, match=r"\.frame\.plot"):
        Result.of(pd.DataFrame({"a": [1]})).plot()


def test_the_weightiest_note_is_first_and_each_is_there_once():
    doubt, assumed = Note("no dependencies", Weight.DOUBT), Note("a roofline", Weight.ASSUMPTION)
    assert weighed(["merged", assumed], ["merged", doubt], [assumed]) == (doubt, assumed, "merged")
    assert weighed(["no dependencies", "a"], [doubt]) == ("no dependencies", "a")
    again = pickle.loads(pickle.dumps(doubt))  # noqa: S301 - our own
    assert again.weight is Weight.DOUBT


def test_speedup_has_one_base():
    """Tasks of 1, 2 and 3 s take 6 s on one core, and 4 s on two."""
    compared = ss.compare(GRAPH, TWO, ["fifo"])
    tuned = ss.tune(GRAPH, TWO, "fifo", ["2x1"])
    predicted = ss.predict(GRAPH, TWO, "fifo", [2], width=1, samples=1)
    assert [frame["speedup"].tolist() for frame in (compared, tuned, predicted)] == [[1.5]] * 3


def test_a_table_that_is_piped_does_not_depend_on_the_terminals_width(monkeypatch):
    """The environment keeps COLUMNS of a shell's terminal where output goes to a file."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    found = ss.tune(graph, "generic[cores=4]", "fifo")
    shown = set()
    for columns in ("40", "80", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        shown |= {repr(found), str(found)}
    assert len(shown) == 1
