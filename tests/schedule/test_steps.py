"""Step functions of time."""

import numpy as np
from hypothesis import given, strategies as st

from simsched.schedule.steps import Steps, on_common_times

TIMES = st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 7.5])


def made(spans):
    begin_s, end_s = (np.array([span[i] for span in spans], np.float64) for i in (0, 1))
    return Steps.of(begin_s, end_s, np.ones(len(spans), np.int64))


def test_by_hand():
    """0 to 2 s and 1 to 3 s: 1, 2, 1, 0."""
    steps = made([(0, 2), (1, 3)])
    assert steps.time_s.tolist() == [0, 1, 2, 3]
    assert steps.level.tolist() == [1, 2, 1, 0]
    assert steps.at(np.array([-1, 0, 1.5, 9])).tolist() == [0, 1, 2, 0]
    begin_s, end_s = np.array([0, 0.5, 1, 1, 4]), np.array([3, 1.5, 2, 1, 5.0])
    assert steps.above(1, begin_s, end_s).tolist() == [1, 0.5, 1, 0, 0]
    assert steps.above(0, begin_s, end_s).tolist() == [3, 1, 1, 0, 0]


@given(
    st.lists(st.tuples(TIMES, TIMES).map(sorted), max_size=8),
    st.tuples(TIMES, TIMES).map(sorted),
    st.integers(0, 3),
)
def test_above_is_the_sum_over_moments(spans, within, level):
    steps, (begin_s, end_s) = made(spans), within
    dt, (levels,) = on_common_times([steps], begin_s, end_s)
    found = steps.above(level, np.array([begin_s]), np.array([end_s]))[0]
    assert np.isclose(found, (dt * (levels > level)).sum(), rtol=1e-12, atol=1e-12)
    if (levels > level).all():
        assert found == end_s - begin_s
