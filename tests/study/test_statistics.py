"""Verdicts: by hand, on simulated data whose truth is known, and where nothing can be told."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.errors import SimschedError
from simsched.study.statistics import holm, paired_ratio

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
CHAIN = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])


def runs(makespans):
    """A table of replays from a mapping of (graph, policy) to the makespans of its seeds."""
    rows = [
        {"graph": graph, "policy": policy, "seed": seed, "makespan_s": one}
        for (graph, policy), all_of_it in makespans.items()
        for seed, one in enumerate(all_of_it)
    ]
    return pd.DataFrame(rows)


def test_by_hand():
    """Ratios 1/2, 1/2, 1/4: their geometric mean is 2^(-4/3)."""
    found = paired_ratio(np.log([0.5, 0.5, 0.25]))
    assert found.ratio == pytest.approx(2 ** (-4 / 3))
    # sd of (-1, -1, -2) ln 2 is ln 2 / sqrt 3; over sqrt 3, times t(0.975, 2) = 4.3027.
    assert np.log(found.high / found.ratio) == pytest.approx(4.3027 * np.log(2) / 3, rel=1e-4)
    from scipy.stats import ttest_1samp

    assert found.p == pytest.approx(ttest_1samp(np.log([0.5, 0.5, 0.25]), 0).pvalue)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=20))
def test_turned_round_it_is_the_inverse(logs):
    one, other = paired_ratio(logs), paired_ratio(-np.array(logs))
    assert one.ratio * other.ratio == pytest.approx(1)
    assert one.low * other.high == pytest.approx(1)
    assert one.p == pytest.approx(other.p)
    assert one.low <= one.ratio * (1 + 1e-9)
    assert one.ratio <= one.high * (1 + 1e-9)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Log-normal ratios around 0.9: 95 of 100 intervals of 8 pairs hold it; and 5 of 100 tests of no difference err."""
    rng = np.random.default_rng(0)
    trials = [paired_ratio(np.log(0.9) + rng.normal(0, 0.1, 8)) for _ in range(2000)]
    assert np.mean([one.low <= 0.9 <= one.high for one in trials]) == pytest.approx(0.95, abs=0.015)
    none = [paired_ratio(rng.normal(0, 0.1, 8)).p < 0.05 for _ in range(2000)]
    assert np.mean(none) == pytest.approx(0.05, abs=0.015)


def test_verdicts_on_no_difference_err_once_in_twenty_families():
    """Five policies that are alike, ten pairs: without a correction two of five families would tell a difference."""
    rng = np.random.default_rng(1)
    errs = [
        (
            ss.verdicts(runs({("g", name): rng.lognormal(0, 0.1, 6) for name in "abcde"}))["verdict"]
            != "no difference shown"
        ).any()
        for _ in range(100)
    ]
    assert np.mean(errs) <= 0.09


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert np.isnan(holm([np.nan, 0.5])[0])
    assert holm([np.nan, 0.5])[1] == 0.5


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_never_lowers_and_keeps_the_order(p):
    found = holm(p)
    assert (found >= np.array(p) - 1e-15).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= -1e-15).all()


def test_noise_that_policies_share_is_no_difference():
    """A chain takes as long under either policy, whatever the noise: paired by seed they are the same."""
    noisy = ss.CostModel(noise=0.5)
    table = ss.replayed({"chain": CHAIN}, "generic[cores=2]", ["fifo", "critical-path"], costs=noisy)
    assert table.groupby("policy")["makespan_s"].std().gt(0).all()
    (row,) = ss.verdicts(table).itertuples()
    assert (row.ratio, row.low, row.high, row.p, row.verdict) == (1, 1, 1, 1, "no difference shown")


def test_a_difference_without_noise():
    (row,) = ss.verdicts(
        ss.replayed({"three": GRAPH}, "generic[cores=2]", ["fifo", "sequential"])
    ).itertuples()
    assert (row.ratio, row.verdict, row.pairs) == (pytest.approx(2 / 3), "faster", 20)
    assert row.said == "on three: fifo takes 33 % less time than sequential (95 %, of the noise alone)"
    (row,) = ss.verdicts(GRAPH, "generic[cores=2]", ["fifo", "sequential"], seeds=range(5)).itertuples()
    assert row.said.endswith("of noise 0.1 alone)")


def test_a_slower_policy_is_told_from_the_other_side():
    table = runs({("g", "slow"): [10.0, 11.0, 12.0], ("g", "fast"): [5.0, 5.4, 6.1]})
    (row,) = ss.verdicts(table).itertuples()
    assert row.verdict == "slower"
    assert row.said.startswith("on g: fast takes 4")


def test_over_these_graphs_and_over_graphs_like_these():
    """Each seed says the same, the graphs differ: these graphs have a difference, graphs like these none that shows."""
    table = runs({
        ("one", "a"): [1.0, 1.0, 1.0], ("one", "b"): [2.0, 2.01, 1.99],
        ("two", "a"): [1.0, 1.0, 1.0], ("two", "b"): [0.9, 0.901, 0.899],
    })  # fmt: skip
    *each, these = ss.verdicts(table).itertuples()
    assert [row.verdict for row in each] == ["faster", "slower"]
    assert (these.graph, these.verdict, these.pairs) == ("all", "faster", 3)
    like = ss.verdicts(table, over="graphs").iloc[-1]
    assert (like["verdict"], like["pairs"]) == ("no difference shown", 2)
    assert like["ratio"] == pytest.approx(these.ratio)


def test_an_interval_without_1_is_no_difference_among_many_pairs():
    """Policy b takes 8 to 16 % longer than a: p is 0.03, and 0.09 for the first of three pairs by Holm's procedure."""
    table = runs({("g", "a"): [1.0, 1.0, 1.0], ("g", "b"): [1.08, 1.12, 1.16], ("g", "c"): [1.5, 0.7, 1.0]})
    first, other, _ = ss.verdicts(table).itertuples()
    assert first.high < 1
    assert 0.05 < first.p_holm < 0.1
    assert first.said.endswith("%, which among so many pairs may be chance; of the noise alone)")
    assert other.low < 1 < other.high
    assert other.said.endswith(" %; of the noise alone)")


def test_verdicts_on_replays_say_what_they_are_not_sure_of():
    """One policy is surely faster by the nominal numbers, the other one in some of the worlds that could be true."""
    graph = ss.TaskGraph.from_edges([1e-3, 2e-3] * 8, [(i, i + 3) for i in range(13)], kinds="Conv2D")
    policies = ["fifo", "data-parallel"]
    machine = "knl-7250[cores=16]"
    found = ss.verdicts(graph, machine, policies, seeds=range(8))
    assert found["verdict"].item() == "faster"
    assert ss.compare(graph, machine, policies)["fastest_share"].tolist() == [0.75, 0.25]
    assert found.notes[0].startswith("intervals and p-values are of the noise 0.1 alone")
    measured = ss.replayed(graph, machine, policies, seeds=range(8)).frame
    assert ss.verdicts(measured).notes == ()


def test_one_seed_tells_nothing():
    table = ss.replayed({"three": GRAPH}, "generic[cores=2]", ["fifo", "sequential"], seeds=[4])
    (row,) = ss.verdicts(table).itertuples()
    assert np.isnan([row.low, row.high, row.p, row.p_holm]).all()
    assert row.verdict == "no difference shown"
    assert "a single pair tells of no spread" in row.said


def test_replays_are_those_of_simulate(engine):
    noisy = ss.CostModel(noise="stragglers[share=0.2]")
    table = ss.replayed(
        {"three": GRAPH}, "generic[cores=2]", ["fifo"], costs=noisy, engine=engine, seeds=[5, 3]
    )
    alone = [
        ss.simulate(GRAPH, "generic[cores=2]", "fifo", costs=noisy, seed=seed, engine=engine).makespan_s
        for seed in (5, 3)
    ]
    assert table["makespan_s"].tolist() == alone
    assert table["seed"].tolist() == [5, 3]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop(columns="seed"), "lacks seed"),
        (lambda t: t[t["policy"] == "a"], "two or more"),
        (lambda t: pd.concat([t, t.iloc[:1]]), "a on g, seed 0, is listed twice"),
        (lambda t: t.iloc[:-1], "makespan of b on g, seed 1, is missing"),
        (lambda t: t.assign(makespan_s=0.0), r"is 0\.0; every policy needs one above zero"),
    ],
)
def test_tables_that_do_not_suffice(change, said):
    table = runs({("g", "a"): [1.0, 2.0], ("g", "b"): [2.0, 3.0]})
    with pytest.raises(SimschedError, match=said):
        ss.verdicts(change(table))


def test_wide_intervals_are_written_without_exponents():
    (row,) = ss.verdicts(runs({("g", "a"): [1.0, 1.2], ("g", "b"): [1.2, 1.0]})).itertuples()
    assert row.said.endswith("(-90 to +914 %; of the noise alone)")


def test_questions_that_cannot_be_answered():
    table = runs({("g", "a"): [1.0, 2.0], ("g", "b"): [2.0, 3.0]})
    with pytest.raises(SimschedError, match="give two of them"):
        ss.verdicts(table, over="graphs")
    both = pd.concat([table, table.assign(graph="all")])
    with pytest.raises(SimschedError, match="a graph is called 'all'"):
        ss.verdicts(both)
    with pytest.raises(SimschedError, match="over is 'machines'"):
        ss.verdicts(table, over="machines")
    with pytest.raises(SimschedError, match="is listed twice"):
        ss.replayed({"g": GRAPH}, "generic", ["fifo", "fifo"], seeds=[1, 1])
    with pytest.raises(SimschedError, match="expected a list"):
        ss.replayed({"g": GRAPH}, "generic", "fifo")
