"""Calibration and cross-check: whole graphs run, and the simulator is asked the same."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Calibration
from simsched.errors import SimschedError
from simsched.execute import Case, Settings, calibrate, interleaved
from simsched.execute.calibrating import calibration_cases
from simsched.execute.checking import _suited, crosscheck


def spinning(n=24):
    """Return independent tasks of two lengths that only wait, so that a busy machine hardly changes them."""
    seconds = np.where(np.arange(n) % 3 == 0, 4e-4, 1e-4)
    return ss.TaskGraph.from_edges(
        seconds, kinds=["long" if s > 2e-4 else "short" for s in seconds], name="spins"
    )


def test_every_width_is_measured():
    cases = calibration_cases([spinning(), spinning()], 3)
    assert [(str(case.policy), case.layout) for case in cases[:3]] == [
        ("fifo[order=random]", (3, 1)),
        ("fifo[order=random]", (1, 2)),
        ("fifo[order=random]", (1, 3)),
    ]
    assert len(cases) == 6


def test_spinning_tasks_are_found_to_spin(tmp_path):
    model = calibrate(spinning(), "host[cores=1]", repeats=5)
    table = model.calibration.points().set_index(["kind", "width"])["seconds"]
    assert table["long", 1] == pytest.approx(4e-4, rel=0.25)
    assert table["short", 1] == pytest.approx(1e-4, rel=0.25)
    model.save(tmp_path / "host.json")
    again = Calibration.load(tmp_path / "host.json").cost_model()
    schedule = ss.simulate(spinning(), "host[cores=1]", "sequential", costs=again)
    assert schedule.makespan_s == pytest.approx(8 * 4e-4 + 16 * 1e-4, rel=0.25)


def test_measured_beside_simulated(tmp_path):
    check = crosscheck(
        {"spins | of | mine": spinning()},
        ["critical-path", "sequential"],
        ["1x1"],
        3,
        machine="host[cores=1]",
    )
    table = check.table
    assert table["policy"].tolist() == ["critical-path", "sequential"]
    assert table["graph"].unique().tolist() == ["spins | of | mine"]
    assert (table["error"].abs() < 0.5).all()
    np.testing.assert_allclose(table["predicted_s"] / table["measured_s"] - 1, table["error"])
    numbers = check.summary()
    assert numbers["cases"] == 2
    assert numbers["median_error"] <= numbers["p90_error"] <= numbers["largest_error"]
    text = check.to_markdown(tmp_path / "check.md")
    assert (tmp_path / "check.md").read_text() == text
    assert "| spins / of / mine | sequential | 1x1 |" in text


def test_layouts_that_mean_nothing_to_a_policy_are_left_out():
    assert [(p, str(layout)) for p, layout in _suited(["sequential", "fifo"], ["2x1", "1x2"])] == [
        ("sequential", "1x2"),
        ("fifo", "2x1"),
        ("fifo", "1x2"),
    ]
    assert _suited(["corun"], [None]) == [("corun", None)]


@pytest.mark.parametrize("graphs", [[], {}, [ss.TaskGraph.from_edges([])]])
def test_nothing_to_measure(graphs):
    with pytest.raises(SimschedError, match="nothing to check"):
        crosscheck(graphs)
    with pytest.raises(SimschedError, match="no tasks to calibrate on"):
        calibrate(list(graphs.values()) if isinstance(graphs, dict) else graphs)


def test_each_run_that_counts_follows_one_of_its_own_case():
    """Settling runs count for nothing, but happen."""
    ran = []
    cases = [Case(spinning(4), "fifo", "1x1"), Case(spinning(4), "critical-path", "1x1")]
    runs = interleaved(cases, 2, Settings(machine="host[cores=1]", warmup=0, settle=2), ran.append)
    assert [len(run) for run in runs] == [2, 2]
    assert sum(ran) == 4
    with pytest.raises(SimschedError, match="settle is -1; expected a whole number"):
        Settings(settle=-1)
