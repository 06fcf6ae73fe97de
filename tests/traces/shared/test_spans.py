"""Spans of lanes: how they lie within each other."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, strategies as st

from simsched.traces.shared import timeline
from simsched.traces.shared.spans import Spans, distinct, nest

Drawn = tuple[int, int, int]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 1)), max_size=10))
def test_nesting_is_what_it_is_by_definition(drawn: list[Drawn]) -> None:
    start, length, lane = np.array(drawn, np.int64).reshape(-1, 3).T
    label = np.zeros(len(drawn), np.int32)
    lanes = [("", "a"), ("", "b")]
    spans = Spans(start, start + length, lane.astype(np.int32), label, label, [""], lanes)
    if nest(spans):
        return
    for one in range(len(drawn)):
        there = [other for other in range(len(drawn)) if drawn[other][2] == drawn[one][2]]
        assert spans.depth[one] == sum(_holds(drawn, other, one) for other in there)
        assert spans.inner[one] == any(_holds(drawn, one, other) for other in there)


def _holds(drawn: list[Drawn], outer: int, inner: int) -> bool:
    """Tell whether a span lies within another one; of two alike, the later in the file lies within."""
    (a, long, _), (b, short, _) = drawn[outer], drawn[inner]
    if outer == inner or not a <= b <= b + short <= a + long:
        return False
    if (a, long) == (b, short):
        return outer < inner
    # A moment at the very end of a span is after it.
    return b < a + long


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 4))), st.integers(1, 5))
def test_rows_by_lane_are_those_of_lexsort(drawn: list[Drawn], block: int) -> None:
    lane, first, last = np.array(drawn, np.int64).reshape(-1, 3).T
    with patch.object(timeline, "_BLOCK", block):
        assert timeline.by_lane(lane, first, last).tolist() == np.lexsort((first, last, lane)).tolist()
        assert timeline.by_lane(lane).tolist() == np.argsort(lane, kind="stable").tolist()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_distinct_edges_are_those_of_unique(drawn: list[tuple[int, int]]) -> None:
    edges = np.array(drawn, np.int32).reshape(-1, 2)
    assert distinct(edges).tolist() == np.unique(edges, axis=0).tolist()
