"""Rankings and ratios, worked out by hand."""

import numpy as np
import pytest

import simsched as ss

GRAPH = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1)])


@pytest.fixture
def case(made_up):
    """Return what makes a case that took some seconds, a run each; predicted are 2 s on 2x1 and 3 s on 1x1."""

    def made(seconds, policy="fifo", layout="2x1", name="graph", **options):
        runs = [made_up.run(made_up.measured(GRAPH, [0, 0, 0], [s] * 3), **options) for s in seconds]
        return made_up.checked(GRAPH, runs, policy, layout, name)

    return made


def test_ratios_and_rankings(made_up, case):
    check = made_up.crosscheck(
        case([2.0] * 4),
        case([2.9, 3.0, 3.0, 3.1], layout="1x1"),
        case([1.9, 2.0, 2.1, 2.2], "critical-path"),
        case([9.0], name="other"),
    )
    pairs = check.rankings.set_index(["case_a", "case_b"])
    assert len(pairs) == 3
    assert pairs["measured_ratio"].tolist() == pytest.approx([1.5, 2.05 / 2, 2.05 / 3])
    assert pairs["predicted_ratio"].tolist() == pytest.approx([1.5, 1, 2 / 3])
    assert pairs["ratio_error"].tolist() == pytest.approx([0, 2 / 2.05 - 1, (2 / 3) / (2.05 / 3) - 1])
    assert pairs["differ"].tolist() == [True, False, True]
    assert pairs["agree"].tolist() == [True, False, True]
    # Only fifo and critical-path are policies on one layout.
    assert pairs["policies"].tolist() == [False, True, False]
    assert pairs["spread_a"].tolist() == pytest.approx([0, 0, 0.05 / 3])
    numbers = check.summary()
    assert (numbers["rankings"], numbers["rankings_agree"]) == (2, 1)
    assert numbers["ratios"] == 1
    assert numbers["median_ratio_error"] == numbers["p90_ratio_error"] == pytest.approx(1 - 2 / 2.05)
    assert numbers["ratios_within"] == 1


def test_a_wrong_ranking_is_counted(made_up, case):
    check = made_up.crosscheck(case([3.0]), case([2.0], layout="1x1"))
    assert check.rankings["differ"].tolist() == [True]
    assert check.summary()["rankings_agree"] == 0


def test_a_policy_without_layout_is_compared_with_all(made_up, case):
    check = made_up.crosscheck(case([2.0]), case([2.0], "kind-widths", None), case([2.0], layout="1x1"))
    assert check.table["layout"].tolist() == ["2x1", "", "1x1"]
    assert check.rankings["policies"].tolist() == [True, False, True]


def test_one_case_has_no_rankings(made_up, case):
    check = made_up.crosscheck(case([2.0]))
    assert len(check.rankings) == 0
    numbers = check.summary()
    assert numbers["rankings"] == numbers["ratios"] == 0
    assert all(np.isnan(numbers[key]) for key in ("rankings_agree", "p90_ratio_error", "ratios_within"))


def test_dropped_runs_and_the_slow_regime_are_counted(made_up, case):
    fast = case([2.0] * 9, latency_s=1e-7)
    slow = case([2.0] * 3, latency_s=3e-7, stolen=0.2)
    numbers = made_up.crosscheck(fast, slow).summary()
    assert (numbers["runs"], numbers["dropped"], numbers["disturbed"]) == (12, 0, 1)
    assert numbers["largest_stolen"] == 0.2
    assert numbers["slow_regime"] == 0.25
    assert numbers["latency_s"] == 1e-7
    alone = made_up.crosscheck(case([2.0], latency_s=float("nan"), stolen=float("nan"))).summary()
    assert all(np.isnan(alone[key]) for key in ("latency_s", "slow_regime", "largest_stolen"))
