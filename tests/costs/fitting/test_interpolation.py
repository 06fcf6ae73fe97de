"""Curves through measured widths."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from simsched.costs.fitting import WidthCurve, dents
from simsched.errors import CostError


def test_linear_by_hand():
    """Between 1 and 5 threads a quarter of the way each; beyond the last the line goes on, as it rises."""
    curve = WidthCurve([1, 5, 9], [8.0, 4.0, 5.0], "linear")
    assert curve([1, 2, 3, 5, 7, 9, 13]).tolist() == [8, 7, 6, 4, 4.5, 5, 6]


def test_nothing_is_gained_beyond_what_was_measured():
    assert WidthCurve([1, 2], [8.0, 4.0])([2, 4, 64]).tolist() == [4, 4, 4]


def test_below_the_narrowest_the_gain_goes_on_as_a_power():
    """Half on twice the threads: twice on half. Four times faster on twice the threads is not believed."""
    assert WidthCurve([2, 4], [4.0, 2.0])([1]).tolist() == [8]
    assert WidthCurve([2, 4], [8.0, 2.0])([1]).tolist() == [16]
    assert WidthCurve([2, 4], [2.0, 4.0])([1]).tolist() == [2]


@pytest.mark.parametrize("method", ["linear", "pchip"])
def test_several_curves_have_the_bits_of_each_alone(method):
    rows, at = [[8.0, 4.5, 4.0], [1.0, 2.0, 1.5], [3.0, 3.0, 3.0]], [1, 2, 3, 5, 9]
    together = WidthCurve([2, 3, 8], rows, method)(at)
    assert together.tolist() == [WidthCurve([2, 3, 8], row, method)(at).tolist() for row in rows]
    assert WidthCurve([2, 3, 8], np.empty((0, 3)), method)(at).shape == (0, 5)


def test_one_point_is_all_there_is():
    assert WidthCurve([2], [4.0])([1, 2, 64]).tolist() == [4, 4, 4]


def test_a_gain_of_the_inverse_width_is_met():
    curve = WidthCurve([1, 4, 16, 64], 6.4 / np.array([1, 4, 16, 64]))
    assert curve(np.arange(1, 65)) == pytest.approx(6.4 / np.arange(1, 65))


curves = st.lists(
    st.tuples(st.integers(1, 80), st.floats(1e-6, 1e3)), min_size=1, max_size=8, unique_by=lambda row: row[0]
).map(sorted)


@given(curves, st.sampled_from(["linear", "pchip"]))
def test_measured_is_kept_and_between_lies_between(rows, method):
    widths, seconds = zip(*rows, strict=True)
    curve = WidthCurve(widths, seconds, method)
    assert curve(widths).tolist() == list(seconds)
    for (a, low), (b, high) in pairwise(rows):
        between = curve(np.arange(a, b + 1))
        assert (between >= min(low, high) * (1 - 1e-9)).all()
        assert (between <= max(low, high) * (1 + 1e-9)).all()
        steps = np.diff(between) * (1 if high >= low else -1)
        assert (steps >= -1e-9 * max(low, high)).all()
    everywhere = curve(np.arange(1, 300))
    assert (np.isfinite(everywhere) & (everywhere > 0)).all()


@pytest.mark.parametrize(
    ("widths", "seconds", "message"),
    [
        ([], [], "at least one"),
        ([1, 2], [1.0], "expected as many"),
        ([1, 2], [[[1.0, 2.0]]], "expected as many"),
        ([2, 1], [1.0, 1.0], "not ascending"),
        ([1, 1], [1.0, 1.0], "not ascending"),
        ([0, 1], [1.0, 1.0], "not ascending"),
        ([1.5], [1.0], "not ascending whole numbers"),
        ([1, np.inf], [1.0, 1.0], "not ascending whole numbers"),
        ([1, np.nan], [1.0, 1.0], "not ascending whole numbers"),
        ([1], [0.0], "not above zero"),
        ([1], [np.inf], "not above zero"),
    ],
)
def test_impossible_curves(widths, seconds, message):
    with pytest.raises(CostError, match=message):
        WidthCurve(widths, seconds)
    with pytest.raises(CostError, match="method 'cubic'"):
        WidthCurve([1], [1.0], "cubic")


@given(st.lists(st.integers(1, 100), min_size=3, max_size=10, unique=True).map(sorted), st.floats(0, 1))
def test_convex_curves_have_no_dents(widths, slope):
    assert dents(widths, [5 / w + slope * w for w in widths]) == {}


def test_dents_by_hand():
    """3 on the line from 4 to 2, where 3.6 was measured."""
    assert dents([1, 2, 3, 4], [8.0, 4.0, 3.6, 2.0]) == {3: 0.2}
    assert dents([1, 2], [1.0, 2.0]) == {}


@given(st.floats(1e-9, 1e3), st.sampled_from(["linear", "pchip"]))
def test_what_was_measured_flat_stays_flat(seconds, method):
    """Else a width that was never measured would be the fastest, by a rounding."""
    assert (WidthCurve([1, 4, 9], [seconds] * 3, method)(np.arange(1, 12)) == seconds).all()
