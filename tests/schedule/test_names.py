"""Names of tasks in the table of a schedule."""

import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.graph import LabelColumn
from simsched.schedule.frame import name_column, numbered


@given(st.lists(st.sampled_from(["", "MatMul", "é", "a b"]), max_size=130))
def test_numbered_names(kinds):
    assert numbered(LabelColumn.from_strings(kinds)).to_list() == [
        f"{k or 'task'} {i}" for i, k in enumerate(kinds)
    ]


@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 99, 100, 101, 12_345])
def test_every_number_of_digits(n):
    assert numbered(LabelColumn.constant("", n)).to_list() == [f"task {i}" for i in range(n)]


@pytest.mark.parametrize("names", [None, ["a", "ü", ""]])
def test_with_and_without_pyarrow(names, monkeypatch):
    graph = ss.TaskGraph.from_edges(np.ones(3), names=names, kinds="mm")
    expected = names or ["mm 0", "mm 1", "mm 2"]
    assert ss.simulate(graph, "generic", "fifo").tasks["name"].tolist() == expected
    assert list(name_column(graph)) == expected
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert name_column(graph) == expected
