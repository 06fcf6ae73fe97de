"""What survives a thief: repeated runs, further turns, and cases that are declined; all with made-up samples."""

import importlib.util
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Calibration, MeasuredOp, Op, Point
from simsched.errors import SimschedError
from simsched.execute import Settings
from simsched.execute.calibrate.calibrating import (
    calibrated,
    calibration_cases,
    case_doubt,
    doubt,
    op_doubts,
    with_doubts,
)
from simsched.execute.run.execution import Execution
from simsched.execute.run.run import HOPELESS, Tries

GRAPH = ss.TaskGraph.from_edges([1e-3] * 4, [(0, 1), (1, 2), (2, 3)], kinds="MatMul", shapes="8x8;8x8")


class Thief:
    """A host on which a chain of four tasks takes 4 ms, some per cent more or less, and what bursts steal.

    Bursts of 1 to 50 ms steal a share of the time; the clock goes on while runs last.
    """

    def __init__(self, made_up, share, seed=0, task_s=1e-3):
        self.random, self.made_up, self.share, self.task_s = (
            np.random.default_rng(seed),
            made_up,
            share,
            task_s,
        )
        self.now_s, self.next_s, self.burst_s = 0.0, 0.0, 0.0
        self._plan()

    def _plan(self):
        self.burst_s = float(np.clip(7e-3 * np.exp(0.8 * self.random.standard_normal()), 1e-3, 50e-3))
        between_s = self.burst_s * (1 - self.share) / self.share if self.share else np.inf
        self.next_s = self.now_s + between_s * float(self.random.exponential())

    def clock(self):
        return self.now_s

    def run(self):
        began_s, stolen_s, finish = self.now_s, 0.0, []
        scale = np.exp(0.03 * self.random.standard_normal())
        for _ in range(GRAPH.n_tasks):
            self.now_s += self.task_s * scale * np.exp(0.02 * self.random.standard_normal())
            while self.share and self.next_s < self.now_s:
                self.now_s, stolen_s = self.now_s + self.burst_s, stolen_s + self.burst_s
                self._plan()
            finish.append(self.now_s - began_s)
        schedule = self.made_up.measured(GRAPH, [0.0, *finish[:-1]], finish, cores=1)
        return self.made_up.run(schedule, stolen=stolen_s / (self.now_s - began_s))


@pytest.fixture
def measured(made_up):
    """Return what measures the chain on a host with a thief."""

    def made(share, turns=20, patience=3.0, precision=np.inf, **options):
        thief = Thief(made_up, share, **options)
        tries = Tries(patience=patience, clock=thief.clock)
        for _ in range(turns):
            tries.take(thief.run, thief.run)
        while tries.lacks(precision):
            tries.take_further(thief.run, thief.run)
        return Execution(tuple(tries.runs), repeated=tries.repeated)

    return made


@pytest.mark.parametrize("seed", range(5))
def test_a_thief_of_a_third_changes_no_figure(measured, seed):
    """The thief lengthens four of ten runs; medians of what is kept are within 3 % all the same, tasks' and runs'."""
    execution = measured(0.3, seed=seed)
    assert execution.repeated
    assert execution.undisturbed.all()
    assert execution.median_s == pytest.approx(4e-3, rel=0.03)
    np.testing.assert_allclose(execution.median_tasks_s, 1e-3, rtol=0.03)
    assert not doubt(execution.makespans_s, execution.undisturbed)
    case = replace(calibration_cases([GRAPH], 1)[0], layout=(1, 1))
    assert calibrated([(case, execution)]).ops[0].points[0].seconds == pytest.approx(1e-3, rel=0.03)


def test_a_calm_host_runs_as_often_as_was_asked_for(measured):
    execution = measured(0.0, precision=0.05)
    assert (len(execution), execution.repeated, execution.n_dropped) == (20, 0, 0)
    assert execution.median_s == np.median(execution.makespans_s)


def test_runs_that_scatter_are_followed_by_more(measured):
    assert 0.005 < measured(0.0).uncertainty < 0.02
    execution = measured(0.0, precision=0.004)
    assert 20 < len(execution) < 80
    assert execution.uncertainty <= 0.004
    # Patience ends it: runs of four times the time of those asked for.
    assert len(measured(0.0, precision=1e-6)) == pytest.approx(80, abs=2)


def test_long_runs_are_never_undisturbed_and_soon_given_up(measured):
    execution = measured(0.3, task_s=0.1)
    assert not execution.undisturbed.any()
    assert execution.repeated < HOPELESS
    assert len(execution) == 20
    assert doubt(execution.makespans_s, execution.undisturbed) == "0 of 20 runs were undisturbed"
    (one,) = op_doubts([(GRAPH, execution)])
    assert str(one) == "MatMul 8x8;8x8 on 1 thread: 0 of 20 runs were undisturbed"


def test_repeats_take_no_longer_than_patience_allows(made_up):
    """Every run is disturbed and takes a second."""
    schedule = made_up.measured(GRAPH, [0, 1, 2, 3], [1, 2, 3, 4])
    seconds, shares = count(), iter(np.linspace(0.9, 0.1, 17))
    tries = Tries(patience=3.0, clock=lambda: float(next(seconds)))

    def run():
        return made_up.run(schedule, stolen=next(shares))

    for _ in range(4):
        tries.take(run, run)
    assert tries.repeated == 12
    # The one of each turn that lost least.
    np.testing.assert_allclose([run.stolen for run in tries.runs], np.linspace(0.9, 0.1, 17)[[3, 7, 11, 15]])
    assert not tries.lacks(0.01)


def test_uncertainty_is_the_error_of_the_median(made_up):
    """For 25 normal runs of sigma 2 %, sqrt(pi / 2) sigma / 5 = 0.5 %."""
    random = np.random.default_rng(0)

    def uncertainty():
        seconds = 1 + 0.02 * random.standard_normal(25)
        runs = [made_up.run(made_up.measured(GRAPH, [0] * 4, [s] * 4)) for s in seconds]
        return Execution(tuple(runs)).uncertainty

    assert np.mean([uncertainty() for _ in range(100)]) == pytest.approx(0.005, rel=0.15)


def test_halves_that_differ_tell_nothing():
    calm = np.ones(20, bool)
    assert not doubt(np.repeat([1.0, 1.1], 10), calm)
    assert doubt(np.repeat([1.0, 1.3], 10), calm) == "its earlier and later runs differ by 30%"
    # Runs in a slow state now and then are not its fault: it has fast ones in both halves.
    assert not doubt(np.tile([1.0, 1.3], 10), calm)
    # What few runs tell is not split.
    assert not doubt(np.repeat([1.0, 1.3], 3), np.ones(6, bool))


@pytest.fixture
def parts(made_up, measured):
    """Return what makes a case, and runs that calibrate it."""

    def made(seconds, basis_seconds, stolen=0.0, basis_stolen=0.0):
        def runs(each, share):
            return [made_up.run(made_up.measured(GRAPH, [0, s, 2 * s, 3 * s], [s, 2 * s, 3 * s, 4 * s], cores=1),
                                stolen=share) for s in each]  # fmt: skip

        case = made_up.checked(GRAPH, runs(seconds, stolen), layout="1x1")
        return case, Execution(tuple(runs(basis_seconds, basis_stolen)))

    return made


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (([1e-3] * 20, [1e-3] * 20), ""),
        (([1e-3] * 20, [1e-3] * 20, 0.5), "0 of 20 runs were undisturbed"),
        (([1e-3] * 20, [1e-3] * 20, 0.0, 0.5), "of those that calibrate ops, 0 of 20 runs were undisturbed"),
        ((np.tile([1e-3, 1.5e-3], 10), [1e-3] * 20), "runs scatter so much that the ratio is uncertain by 20%"),
        (([1e-3] * 20, np.repeat([1e-3, 1.5e-3], 10)), "runs scatter so much that the ratio is uncertain by 20%"),
    ],
)  # fmt: skip
def test_a_case_is_declined_for_what_it_rests_on(parts, given, why):
    case, basis = parts(*given)
    assert case_doubt(case.execution, case.simulated, [basis]) == why


def test_decisions_that_cannot_be_timed_decline_a_case(parts):
    case, basis = parts([1e-3] * 20, [1e-3] * 20)
    _, disturbed = parts([1e-3], [1e-3] * 20, 0.0, 0.5)
    assert case_doubt(case.execution, case.simulated, [basis], [basis]) == ""
    assert "of those that time decisions, 0 of 20" in case_doubt(
        case.execution, case.simulated, [basis], [disturbed]
    )


def test_a_calibration_names_ops_that_it_cannot_tell(parts):
    _, disturbed = parts([1e-3], [1e-3] * 20, 0.0, 0.5)
    case = calibration_cases([GRAPH], 1)[0]
    found = Calibration.of([MeasuredOp(Op("MatMul", "8x8;8x8"), (Point(1, 1e-3),))], "made up")
    told = with_doubts(found, [(case, disturbed)]).facts["cannot_tell_here"]
    assert told == "MatMul 8x8;8x8 on 1 thread: 0 of 20 runs were undisturbed"
    # Another graph's runs tell the op.
    _, calm = parts([1e-3], [1e-3] * 20)
    assert "cannot_tell_here" not in with_doubts(found, [(case, disturbed), (case, calm)]).facts


def test_declined_cases_count_for_no_figure(parts, made_up, tmp_path):
    kept, _ = parts([1e-3] * 20, [1e-3])
    other, _ = parts([9e-3] * 20, [1e-3], 0.5)
    declined = replace(other, doubt="0 of 20 runs were undisturbed")
    check = made_up.crosscheck(declined, kept)
    numbers = check.summary()
    assert (numbers["cases"], numbers["declined"]) == (1, 1)
    assert numbers["largest_error"] == abs(kept.error)
    assert check.conclusive == (kept,)
    assert check.table["cannot_tell"].tolist() == ["0 of 20 runs were undisturbed", ""]
    assert not len(check.rankings)
    text = check.to_markdown()
    assert "Cannot tell here: 1 of 2 cases stayed disturbed" in text
    rows = [line for line in text.splitlines() if line.startswith("| graph | fifo")]
    assert "cannot tell" in rows[1]
    assert rows[1].endswith("| 0 of 20 runs were undisturbed |")
    check.to_html(tmp_path / "check.html")
    assert "fifo 1x1: cannot tell" in (tmp_path / "check.html").read_text("utf-8")


def test_where_all_are_declined_there_is_no_verdict(parts, made_up, tmp_path):
    case, _ = parts([1e-3] * 20, [1e-3], 0.5)
    check = made_up.crosscheck(replace(case, doubt="0 of 20 runs were undisturbed"))
    assert "Cannot tell here: others disturbed the runs of all 1 cases." in check.to_markdown()
    check.to_html(tmp_path / "check.html")


@pytest.mark.parametrize(("name", "value"), [("patience", -1), ("patience", np.inf), ("precision", 0)])
def test_settings_that_cannot_be(name, value):
    with pytest.raises(SimschedError, match=f"{name} is {value}; expected"):
        Settings(**{name: value})


def test_the_benchmark_thief_steals_its_share():
    path = Path(__file__).parents[2] / "benchmarks/thief.py"
    spec = importlib.util.spec_from_file_location("thief", path)
    thief = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(thief)
    taken = np.array(list(islice(thief.bursts(0.3, np.random.default_rng(0)), 4000)))
    assert taken[:, 0].sum() / taken[:, 1].sum() == pytest.approx(0.3, abs=0.02)
    assert taken[:, 0].min() >= 1e-3
    assert taken[:, 0].max() <= 50e-3
