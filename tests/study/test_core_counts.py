"""Core counts as text."""

import pytest

import simsched as ss
from simsched.errors import MachineError
from simsched.study.core_counts import core_counts

KNL = ss.machine("knl-7250")


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("8-256", [8, 16, 32, 64, 128, 256]),
        ("17-136", [17, 34, 68, 136]),
        ("8-100", [8, 16, 32, 64, 100]),
        ("4", [4]),
        ("4-4", [4]),
        (" 2-8 , 6,4", [2, 4, 8, 6]),
        ("1,2", [1, 2]),
    ],
)
def test_ranges_double(text, counts):
    assert core_counts(text, KNL) == counts


@pytest.mark.parametrize(
    "text", ["", ",", "a", "1,two", "1--4", "-4", "8-4", "0", "0-4", "1.5", "1-2-3", "²", "1e3"]
)
def test_what_is_no_core_count_is_named(text):
    with pytest.raises(MachineError, match="cores is"):
        core_counts(text, KNL)


def test_none_are_halves_and_doubles_of_whole_tiles():
    assert core_counts(None, KNL) == [2, 4, 8, 16, 34, 68, 136, 272]


def test_prediction_takes_text():
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    assert ss.predict(graph, "generic", "fifo", "1-4", samples=1)["cores"].tolist() == [1, 2, 4]
