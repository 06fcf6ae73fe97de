"""Cost curves fitted to measured points."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs.fitting import MeasuredOp, Op, Point, curve_of, fit_curve
from simsched.costs.fitting.parametric import formula
from simsched.costs.fitting.sampling import sampled_curve_of
from simsched.errors import CostError

RUNTIME = ss.RuntimeProfile(fork_join_s=1e-6, fork_join_per_thread_s=1e-7)


def points(widths, seconds):
    return [Point(w, c) for w, c in zip(widths, seconds, strict=True)]


def test_formula_by_hand():
    """4 ms, s = 0.2, a = 0.1, as in test_costs: 0.8 + 3.2 / 4 + 3 x 0.2 + 0.1 + 4 x 0.05 = 2.5 ms on four threads."""
    runtime = ss.RuntimeProfile(fork_join_s=1e-4, fork_join_per_thread_s=5e-5)
    assert formula(np.array([1.0, 4.0]), 4e-3, 0.2, 0.1, runtime).tolist() == pytest.approx([4e-3, 2.5e-3])


def test_it_is_the_formula_of_the_cost_model():
    tasks = ss.CostModel(default=ss.Curve(0.1, 0.02)).on(
        ss.TaskGraph.from_edges([0.01]), ss.machine("knl-7250")
    )
    widths = np.arange(1, 69)
    expected = formula(widths.astype(float), 0.01, 0.1, 0.02, ss.machine("knl-7250").runtime)
    assert [tasks.seconds_of(0, w) for w in widths.tolist()] == pytest.approx(
        np.minimum(expected, 0.01).tolist()
    )


@settings(max_examples=20)
@given(st.floats(1e-5, 10), st.floats(0, 1), st.floats(0, 0.05), st.sampled_from([3, 4, 7]))
def test_parameters_are_found_again(t1, s, a, n):
    widths = [1, 2, 4, 8, 16, 32, 64][:n]
    seconds = formula(np.array(widths, float), t1, s, a, RUNTIME)
    fit = fit_curve(points(widths, seconds), runtime=RUNTIME)
    again = formula(
        np.array(widths, float),
        fit.one_core_s.value,
        fit.serial_share.value,
        fit.thread_overhead.value,
        RUNTIME,
    )
    assert again == pytest.approx(seconds, rel=1e-5)
    assert fit.max_residual < 1e-5
    if n == 7:
        assert fit.one_core_s.value == pytest.approx(t1, rel=1e-5)
        assert fit.serial_share.value == pytest.approx(s, abs=1e-3)


def test_few_points_tell_few_parameters():
    one = fit_curve(points([4], [1.0]))
    assert (one.one_core_s.value, one.serial_share.value, one.thread_overhead.value) == (
        pytest.approx(4),
        0,
        0,
    )
    # 4 s and 3 s: 4 s' + 4 (1 - s') / 2 = 3.
    two = fit_curve(points([1, 2], [4.0, 3.0]))
    assert two.serial_share.value == pytest.approx(0.5)
    assert two.thread_overhead.value == 0
    assert two.intervals == "none"
    assert two.serial_share.low is None


def test_gains_beyond_the_cores_have_no_serial_share():
    fit = fit_curve(points([1, 2], [4.0, 1.5]))
    assert fit.serial_share.value == pytest.approx(0, abs=1e-9)
    assert fit.max_residual > 0.1


def test_goodness_of_fit_by_hand():
    """Two seconds on whatever width: the mean explains them as well as any curve."""
    flat = fit_curve(points([1, 2, 4], [2.0, 2.0, 2.0]))
    assert flat.r2_log is None
    assert flat.serial_share.value == pytest.approx(1, abs=1e-6)
    assert fit_curve(points([1, 2, 4], [4.0, 2.0, 1.0])).r2_log == pytest.approx(1)


@pytest.mark.parametrize("bootstrap", [0, 40])
def test_intervals_hold_the_truth_mostly(bootstrap):
    """Of 95 % intervals of 40 noisy curves at least 85 %; and of 50 % intervals no more than 75 %."""
    widths, generator = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64], float), np.random.default_rng(1)
    held = {0.95: [], 0.5: []}
    for _ in range(40 if not bootstrap else 12):
        seconds = formula(widths, 0.05, 0.04, 0.006, RUNTIME) * np.exp(generator.normal(0, 0.02, len(widths)))
        for confidence, hits in held.items():
            fit = fit_curve(
                points(widths.astype(int).tolist(), seconds), runtime=RUNTIME, confidence=confidence,
                bootstrap=bootstrap, generator=generator,
            )  # fmt: skip
            pairs = [(fit.one_core_s, 0.05), (fit.serial_share, 0.04), (fit.thread_overhead, 0.006)]
            hits += [found.low <= truth <= found.high for found, truth in pairs]
    assert np.mean(held[0.95]) >= 0.85
    assert np.mean(held[0.5]) <= 0.75


def test_a_share_of_zero_is_in_its_bootstrap_interval():
    """What the solver left a hair above the bound made intervals begin there, and sampled curves stay there."""
    widths, generator = np.array([1, 2, 4, 8, 16, 32, 64], float), np.random.default_rng(1)
    seconds = formula(widths, 0.01, 0.0, 0.006, RUNTIME) * np.exp(generator.normal(0, 0.02, len(widths)))
    fit = fit_curve(
        points(widths.astype(int).tolist(), seconds), runtime=RUNTIME, bootstrap=60, generator=generator
    )
    assert fit.serial_share.low == 0 < fit.serial_share.high
    sampled = [sampled_curve_of([fit], generator).serial_share for _ in range(40)]
    assert max(sampled) > fit.serial_share.high / 4


def test_same_generator_same_intervals():
    some = points([1, 2, 4, 8], [1.0, 0.55, 0.3, 0.2])
    one, other = (fit_curve(some, bootstrap=20, generator=np.random.default_rng(3)) for _ in range(2))
    assert one == other
    with pytest.raises(CostError, match="give it a generator"):
        fit_curve(some, bootstrap=20)


def test_what_cannot_be_fitted():
    with pytest.raises(CostError, match="no points"):
        fit_curve([])
    with pytest.raises(CostError, match="confidence is 95"):
        fit_curve(points([1], [1.0]), confidence=95)
    with pytest.raises(CostError, match="no fits"):
        curve_of([])


def test_curve_of_a_kind():
    fits = [fit_curve(points([1, 2], [4.0, c])) for c in (2.0, 3.0, 3.2)]
    assert curve_of(fits).serial_share == pytest.approx(0.5)
    assert curve_of(fits).family == "fitted"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Point(0, 1.0), "width 0"),
        (lambda: Point(2**31, 1.0), "width 2147483648; expected a whole number from 1 to 2147483647"),
        (lambda: Point(1.5, 1.0), "width 1.5"),
        (lambda: Point(float("nan"), 1.0), "width nan"),
        (lambda: Point(1, 1.0, runs=10**400), "0 runs, 0 dropped"),
        (lambda: Point(1, 0.0), "0.0 seconds"),
        (lambda: Point(1, float("nan")), "nan seconds"),
        (lambda: Point(1, 1.0, "tile"), "none of shared, apart"),
        (lambda: Point(1, 1.0, spread=-1), "spread is -1"),
        (lambda: Point(1, 1.0, runs=0), "0 runs"),
        (lambda: Op("mm", flops=-1.0), "flops of"),
        (lambda: MeasuredOp(Op("mm"), ()), "has no points"),
        (lambda: MeasuredOp(Op("mm"), (Point(1, 1.0), Point(1, 2.0))), "two points of"),
    ],
)
def test_impossible_points(make, message):
    with pytest.raises(CostError, match=message):
        make()


@given(st.floats(1e-7, 1e-1), st.integers(2, 6))
def test_equal_seconds_have_no_variance_to_explain(seconds, n):
    assert fit_curve([Point(w, seconds) for w in range(1, n + 1)]).r2_log is None


def test_draws_are_counted_from_zero():
    with pytest.raises(CostError, match="bootstrap is -1"):
        fit_curve([Point(w, 1.0 / w) for w in (1, 2, 3, 4)], bootstrap=-1, generator=np.random.default_rng(0))
