"""Seconds that pass other than estimated, given task by task."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import CostError


@pytest.mark.rule("Information", "Randomness")
def test_policies_decide_by_the_estimates(replay):
    """The second task is estimated to be the longest and goes first, though it takes no time."""
    schedule = replay([1.0, 2.0, 1.5], [], machine="generic[cores=1]", factors=[5, 0, 1])
    assert schedule.start_order.tolist() == [1, 2, 0]
    assert schedule.finish_s.tolist() == [6.5, 0, 1.5]
    assert schedule.alone_s.tolist() == [1, 2, 1.5]


def test_a_dynamic_policy(replay):
    plain = replay([1.0, 2.0], [(0, 1)], "corun")
    slower = replay([1.0, 2.0], [(0, 1)], "corun", factors=[2.0, 3.0])
    took = plain.finish_s - plain.start_s
    np.testing.assert_allclose(slower.finish_s - slower.start_s, took * [2, 3])


def test_factors_stand_in_place_of_noise(replay):
    noisy = ss.CostModel(noise=0.5)
    assert replay([1.0, 2.0], [], costs=noisy, factors=[1, 1]).finish_s.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("factors", "says"),
    [
        ([1.0], r"float64 of shape \(1,\); expected a number for each of 2 tasks"),
        (["a", "b"], "expected a number for each of 2 tasks"),
        ([1.0, -1.0], r"factor of task 1 is -1\.0; it must be zero or more"),
        ([np.nan, 1.0], "factor of task 0 is nan"),
        ([1.0, np.inf], "factor of task 1 is inf"),
    ],
)
def test_bad_factors(replay, factors, says):
    with pytest.raises(CostError, match=says):
        replay([1.0, 2.0], [], factors=factors)
