"""What people see of a calibration, and the noise that its spreads tell."""

import copy
from math import sinh

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import CalibratedModel, Calibration, MeasuredOp, Op, Overheads, Pair, Point
from simsched.costs.fitting.report import report
from simsched.document.terminal import parts_text
from simsched.errors import CostError


def calibration(spreads=(0.02, 0.03, 0.04, None), **more):
    """Return an op named like markup on 1, 2, 4 and 8 threads: 8 ms, a tenth of it serial, and a little noise."""
    points = [
        Point(w, 8e-3 * (0.1 + 0.9 / w) * noise, "apart", spread, runs=10, dropped=2)
        for w, noise, spread in zip((1, 2, 4, 8), (1, 1.01, 0.99, 1.01), spreads, strict=True)
    ]
    one = MeasuredOp(Op("<b>mm</b>", "8x8;8x8"), tuple(points))
    return Calibration.of([one, MeasuredOp(Op("relu"), (Point(1, 1e-5),))], "by hand", **more)


PAIR = Pair(("mm", "relu"), ("8x8", ""), (1, 1), (1.25, 1.5), runs=9, dropped=1, spreads=(0.01, 0.02))


def test_the_summary_says_how_much_and_how_well():
    found = calibration(overheads=Overheads(wake_up_s=5e-6, fork_join_s=1e-7), pairs=[PAIR]).summary()
    assert found["ops"] == 2
    assert found["points"] == "5 on 1, 2, 4, 8 threads"
    assert found["measurements"] == "41 that count, 8 dropped"
    assert found["spread, median"] == "3.0%"
    assert found["curves"] == "1, 1 of them with intervals"
    assert float(str(found["r² of log seconds, median"])) > 0.99
    assert (found["wake up"], found["fork join"]) == ("5 µs", "100 ns")
    assert found["pairs"] == "1, slowdowns 1.25 to 1.5"


def test_what_was_not_measured_is_not_summed_up():
    bare = Calibration.of([MeasuredOp(Op("relu"), (Point(1, 1e-5),))], "by hand").summary()
    assert not {"curves", "pairs", "wake up", "spread, median"} & set(bare)
    exact = Calibration.of([MeasuredOp(Op("relu"), (Point(1, 2e-5), Point(2, 1e-5)))], "by hand").summary()
    assert exact["curves"] == "1, 0 of them with intervals"
    assert "r² of log seconds, median" not in exact


def test_cards_escape_names_and_say_the_method():
    found = calibration(machine="<i>x</i>")
    assert "&lt;i&gt;x" in found._repr_html_()
    assert "by hand" in found._repr_html_()
    model = found.cost_model()
    assert model._repr_html_() == found._repr_html_()


def test_calibrations_and_models_are_short_as_text():
    found = calibration(machine="x")
    assert repr(found) == "<Calibration of 'x': 5 points of 2 ops; summary() has more>"
    assert repr(found.cost_model()) == f"<CalibratedModel of {found!r}>"
    assert repr(CalibratedModel()) == "<CalibratedModel of no calibration>"
    assert copy.deepcopy(found) == found


def test_the_report_has_intervals_and_pairs():
    found = parts_text(report(calibration(pairs=[PAIR])))
    assert "beside kind" in found
    assert "1.25" in found
    row = next(line for line in found.splitlines() if "apart" in line and " to " in line)
    assert row.count(" to ") == 3
    bare = parts_text(report(Calibration.of([MeasuredOp(Op("relu"), (Point(1, 1e-5),))], "by hand")))
    assert "serial share" not in bare
    assert "beside kind" not in bare


def test_pairs_as_a_table():
    table = calibration(pairs=[PAIR]).pairs_frame()
    assert table["kind"].tolist() == ["mm", "relu"]
    assert table["beside_kind"].tolist() == ["relu", "mm"]
    assert table["slowdown"].tolist() == [1.25, 1.5]
    assert table["spread"].tolist() == [0.01, 0.02]
    assert table["runs"].tolist() == [9, 9]
    assert list(calibration().pairs_frame().columns) == list(table.columns)
    with pytest.raises(CostError, match="spread that is below zero"):
        Pair(("a", "b"), ("", ""), (1, 1), (1.0, 1.0), spreads=(-1.0, 0.0))


def test_the_noise_of_log_normal_runs_is_found_again():
    """Half the interquartile range over the median of exp(N(0, 0.1)) gives 0.1 back."""
    draws = np.exp(np.random.default_rng(0).normal(0, 0.1, 200_000))
    low, middle, high = np.percentile(draws, [25, 50, 75])
    found = calibration(spreads=[float((high - low) / 2 / middle)] * 4)
    assert found.measured_noise() == pytest.approx(0.1, rel=0.01)
    assert found.cost_model(noise="measured").noise == found.measured_noise()
    assert sinh(0.6744898 * calibration().measured_noise()) == pytest.approx(0.03)
    with pytest.raises(CostError, match="no point of this calibration has a spread"):
        calibration(spreads=[None] * 4).cost_model(noise="measured")


def test_forks_are_not_paid_twice():
    """Measured seconds of wide teams hold their fork: a profile with one of a second adds nothing to them."""
    graph = ss.TaskGraph.from_edges([1.0], kinds="<b>mm</b>", shapes="8x8;8x8")
    found = calibration(overheads=Overheads(fork_join_s=1.0, barrier_s=1.0), machine="generic")
    assert found.runtime().region_s == 2.0
    schedule = ss.simulate(
        graph, "generic[cores=8]", "fifo", "1x8", found.cost_model(), runtime=found.runtime()
    )
    assert schedule.makespan_s == found.ops[0].points[-1].seconds
