"""Cost models sampled from what is uncertain: intervals of curves, errors of measured medians, fits."""

from dataclasses import replace
from math import erf

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.curves import default_curves, ranges, sampled_between
from simsched.costs.fitting import (
    Calibration,
    Fingerprint,
    Fit,
    Interval,
    MeasuredCurves,
    MeasuredOp,
    Op,
    Point,
)
from simsched.costs.fitting.sampling import sampled_curve_of, sigma_of_error

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["Conv2D", "MatMul"], shapes=["4x4", "2x2"])


def draws(model, n=400):
    """Return models as they could be, but for the discrepancy, which has tests of its own."""
    sampled = [model.sampled(np.random.default_rng(seed)) for seed in range(n)]
    return [replace(one, discrepancy=None) for one in sampled]


def measured(spread=0.1, runs=25, widths=(1, 2, 4)):
    points = tuple(Point(w, 2.0 / w, spread=spread, runs=runs) for w in widths)
    return MeasuredCurves((MeasuredOp(Op("MatMul", "2x2"), points),))


def test_ends_of_the_interval_and_the_number_itself():
    assert [sampled_between(4.0, 2.0, 16.0, z) for z in (-1.959963984540054, 0, 1.959963984540054)] == [
        pytest.approx(2),
        4,
        pytest.approx(16),
    ]
    assert sampled_between(0.0, 0.0, 0.5, -1) == 0
    assert sampled_between(0.0, 0.0, 0.5, 1.959963984540054) == pytest.approx(0.5)


def test_intervals_that_leave_out_their_value_reach_as_far_as_it():
    """As percentiles of a bootstrap may: of a share that is least at zero, and of others."""
    for value, low, high in ((0.0, 0.1, 0.2), (0.5, 0.1, 0.2), (0.5, 0.6, 0.9)):
        fit = Fit(
            "apart", Interval(1.0), Interval(value, low, high), Interval(0.0), 0.95, "bootstrap", None, 0.0, 9
        )
        shares = [sampled_curve_of([fit], np.random.default_rng(seed)).serial_share for seed in range(200)]
        assert min(shares) <= value <= max(shares)
        assert 0 <= min(shares) < max(shares) <= 1


@given(z=st.floats(-6, 6), value=st.floats(0, 1), below=st.floats(0, 1), above=st.floats(1, 4))
def test_what_is_drawn_lies_on_its_side_of_the_number(z, value, below, above):
    sampled = sampled_between(value, value * below, value * above, z)
    assert sampled >= 0
    assert (sampled >= value - 1e-12) if z >= 0 else (sampled <= value + 1e-12)


def test_published_curves_are_drawn_within_their_intervals():
    low, high, _ = ranges()["convolution"]["serial_share"]
    assert (low, high) == (0, 0.128)
    shares = np.array([model.curve("Conv2D").serial_share for model in draws(ss.CostModel())])
    assert np.median(shares) == pytest.approx(0.004, abs=0.008)
    assert 0.9 <= ((low <= shares) & (shares <= high)).mean() <= 0.995
    assert all(
        m.curve("conv").serial_share == m.curve("Conv2D").serial_share for m in draws(ss.CostModel(), 9)
    )


def test_every_number_lies_within_its_own_interval():
    table, other = default_curves()
    for curve in [*table.values(), other]:
        for name, (low, high, _) in ranges()[curve.family].items():
            assert low <= getattr(curve, name) <= high


def test_curves_given_as_numbers_stay_as_they_are():
    given = ss.CostModel({"Conv2D": ss.Curve(0.5)}, noise=0.3)
    (sampled,) = draws(given, 1)
    assert sampled.curve("Conv2D") == ss.Curve(0.5)
    assert sampled.curve("nothing-known") == given.curve("nothing-known"), (
        "not assumed to gain, by definition"
    )
    assert sampled.noise == 0.3


def test_measured_seconds_vary_by_the_error_of_their_median():
    """A spread of 0.1 is sigma = asinh(0.1) / 0.6745 = 0.148; the median of 25 runs is off by 1.2533 / 5 of it."""
    models = draws(ss.CostModel(measured=measured()))
    seconds = np.array([m.on(GRAPH, ss.machine("generic")).seconds(2)[1] for m in models])
    assert np.log(seconds).std() == pytest.approx(0.148 * 1.2533 / 5, rel=0.1)
    assert np.median(seconds) == pytest.approx(1, rel=0.01)


def test_one_run_of_which_no_spread_is_known_is_taken_as_it_is():
    (sampled,) = draws(ss.CostModel(measured=measured(spread=None, runs=1)), 1)
    assert sampled.on(GRAPH, ss.machine("generic")).seconds(4)[1] == 0.5


def test_same_generator_same_model():
    one, other = (ss.CostModel(measured=measured()).sampled(np.random.default_rng(7)) for _ in range(2))
    machine = ss.machine("generic")
    assert one.on(GRAPH, machine).seconds(3).tolist() == other.on(GRAPH, machine).seconds(3).tolist()


def test_seconds_from_work_are_off_as_those_of_shapes_left_out():
    """Shapes of one kind whose seconds are their FLOPs, half of them 20 % off: a mean error of about 0.1."""
    flops = np.arange(1, 13) * 1e9
    points = [Point(1, f * 1e-9 * (1.2 if i % 2 else 1.0), runs=1000) for i, f in enumerate(flops)]
    ops = tuple(
        MeasuredOp(Op("MatMul", f"{i}x1", flops=f), (point,))
        for i, (f, point) in enumerate(zip(flops, points, strict=True))
    )
    graph = ss.TaskGraph.from_edges([np.nan], kinds=["MatMul"], shapes=["9x9"], flops=[5e9])
    models = draws(ss.CostModel(measured=MeasuredCurves(ops)), 200)
    seconds = [m.on(graph, ss.machine("generic")).one_core_s[0] for m in models]
    assert 0.07 <= np.log(seconds).std() <= 0.2


def test_kinds_that_work_hardly_tells_are_off_by_their_error_in_the_mean():
    """Seconds that fall as the FLOPs grow: no model of them is near."""
    flops, seconds = np.array([1e6, 1e7, 1e8, 1e9]), np.array([1e-3, 1e-4, 1e-5, 1e-6])
    ops = tuple(
        MeasuredOp(Op("MatMul", f"{i}x1", flops=f), (Point(1, s, runs=1000),))
        for i, (f, s) in enumerate(zip(flops, seconds, strict=True))
    )
    (error,) = MeasuredCurves(ops).kinds()["error"]
    assert 3 < error < 4, "three to four times too long, in the mean"
    graph = ss.TaskGraph.from_edges([np.nan], kinds=["MatMul"], shapes=["9x9"], flops=[1e8])
    models = draws(ss.CostModel(measured=MeasuredCurves(ops)))
    seconds = [m.on(graph, ss.machine("generic")).one_core_s[0] for m in models]
    assert 1.3 < np.log(seconds).std() < 2, (
        "an error of 3 is a factor of four, and no 3 on the scale of logarithms"
    )


@given(st.floats(0, 1e300))
def test_a_mean_error_of_log_normal_factors_and_its_sigma(error):
    sigma = sigma_of_error(error)
    assert np.exp(sigma**2 / 2) * erf(sigma / np.sqrt(2)) == pytest.approx(error, rel=1e-6, abs=1e-11)


def test_curves_of_a_calibration_are_drawn_from_its_fits():
    rng = np.random.default_rng(0)
    ops = []
    for shape in range(4):
        seconds = {w: (0.1 + 0.9 / w) * rng.lognormal(0, 0.05) for w in (1, 2, 4, 8, 16)}
        ops.append(MeasuredOp(Op("mine", str(shape)), tuple(Point(w, s, runs=9) for w, s in seconds.items())))
    host = Fingerprint.here()
    calibration = Calibration.of(ops, "made up", host=host, machine="generic")
    shares = [m.curve("mine").serial_share for m in draws(calibration.cost_model(), 100)]
    assert np.std(shares) > 0
    assert np.median(shares) == pytest.approx(calibration.curves()["mine"].serial_share, abs=0.05)


def test_spellings_of_a_kind_are_drawn_from_their_own_fits():
    def op(kind, serial):
        points = tuple(Point(w, serial + (1 - serial) / w) for w in (1, 2, 4))
        return MeasuredOp(Op(kind), points)

    calibration = Calibration.of([op("mine", 0.1), op("mine_backward", 0.5)], "made up", machine="generic")
    model = calibration.cost_model()
    for sampled in (model, *draws(model, 3)):
        found = [sampled.curve(kind).serial_share for kind in ("mine", "mine_backward")]
        assert found == [pytest.approx(0.1), pytest.approx(0.5)]


def test_tasks_beyond_the_widths_measured_are_known():
    table = ss.CostModel(measured=measured()).on(GRAPH, ss.machine("generic")).table
    assert table.beyond(4).tolist() == [False, False]
    assert table.beyond(5).tolist() == [False, True], "the first task was not measured: it follows its curve"
    assert table.part(slice(1, 2)).beyond(np.array([8])).tolist() == [True]
