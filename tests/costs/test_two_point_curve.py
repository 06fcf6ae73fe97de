"""Cost curves through published facts of an op."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs import two_point_curve
from simsched.errors import CostError

KNL = ss.machine("knl-7250")


def seconds(one_core_s, curve, runtime):
    costs = ss.CostModel(default=curve).on(ss.TaskGraph.from_edges([one_core_s], kinds="x"), KNL, runtime)
    return np.array([costs.seconds(w)[0] for w in range(1, 69)])


# Concurrency control, Table II (inputs): best threads, seconds, how much slower 68 threads are.
PUBLISHED = [
    (26, 7.2e-3, 0.173),
    (42, 11.1e-3, 0.102),
    (68, 20.3e-3, 0.0),
    (36, 5.8e-3, 0.098),
    (56, 8.7e-3, 0.023),
    (68, 19.6e-3, 0.0),
]


@pytest.mark.parametrize("runtime", [KNL.runtime, ss.RuntimeProfile()], ids=["with fork and join", "without"])
@pytest.mark.parametrize(("best", "best_s", "slower"), PUBLISHED)
def test_published_curves_are_met(best, best_s, slower, runtime):
    curve = seconds(*two_point_curve(best, best_s, 68, slower, runtime), runtime)
    assert abs(int(curve.argmin()) + 1 - best) <= 1
    assert curve[best - 1] == pytest.approx(best_s, rel=1e-9)
    assert curve[67] / curve[best - 1] - 1 == pytest.approx(slower, abs=0.005)


@given(
    st.floats(0, 0.3),
    st.floats(0.003, 0.02),
    st.floats(1e-3, 1.0),
    st.sampled_from([KNL.runtime, ss.RuntimeProfile()]),
)
def test_a_curve_is_found_again(serial, overhead, one_core_s, runtime):
    """From the best real-valued width, its seconds and those at 68."""
    curve = ss.Curve(serial, overhead)
    a = overhead * np.sqrt(1e-3 * one_core_s) + runtime.region_per_thread_s
    best = np.sqrt((1 - serial) * one_core_s / a)
    if not 2 <= best <= 60:
        return

    def at(width):
        return (
            serial * one_core_s + (1 - serial) * one_core_s / width + a * width
            - overhead * np.sqrt(1e-3 * one_core_s) + runtime.region_s
        )  # fmt: skip

    found_s, found = two_point_curve(best, at(best), 68, at(68) / at(best) - 1, runtime)
    assert found_s == pytest.approx(one_core_s, rel=1e-6)
    assert found.serial_share == pytest.approx(curve.serial_share, abs=1e-6)
    assert found.thread_overhead == pytest.approx(curve.thread_overhead, rel=1e-6)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ((1, 1.0, 68, 0.1), "2 <= best <= widest"),
        ((70, 1.0, 68, 0.1), "2 <= best <= widest"),
        ((26, 0.0, 68, 0.1), "seconds above 0"),
        ((26, 1.0, 68, -0.1), "a gain of 0 or more"),
        ((26, 1.0, 68, 0.0), "only it, is 0 slower"),
        ((68, 1.0, 68, 0.1), "only it, is 0 slower"),
        ((26, 1e-6, 68, 0.1), "no cost curve does that"),
    ],
)
def test_impossible_facts(facts, says):
    with pytest.raises(CostError, match=says):
        two_point_curve(*facts, KNL.runtime)
