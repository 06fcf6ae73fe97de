"""Searches of widths by kind, and of policies, layouts and widths at once."""

import sys

import pytest

import simsched as ss
from simsched.errors import LayoutError, MissingExtraError, PolicyError, SimschedError, SpecError
from simsched.plots import tuning, tuning_frame
from simsched.policies.kind_widths import KindWidths

#: Two that divide behind one that does not, then one of each.
GRAPH = ss.TaskGraph.from_edges(
    [4.0, 8.0, 8.0, 8.0, 4.0], [(0, 1), (0, 2), (1, 3), (2, 4)], kinds=["one", "wide", "wide", "wide", "one"]
)
COSTS = ss.CostModel(curves={"wide": ss.Curve(0.0), "one": ss.Curve(1.0)})
MACHINE = "generic[cores=4]"


def test_kind_widths_by_hand(engine):
    """4 s alone, two wide ones of 4 s on 2 cores each, then wide and narrow side by side: 4 + 4 + 4 s.

    On all 4 cores 2 s each, one after another: after 4 + 2 s the narrow one, if it is first, keeps the second wide one
    from all cores; by level the wide one is first.
    """
    two = ss.simulate(GRAPH, MACHINE, "kind-widths[widths=wide:2]", costs=COSTS, engine=engine)
    assert two.makespan_s == 12
    assert two.widths.tolist() == [1, 2, 2, 2, 1]
    one = ss.simulate(GRAPH, MACHINE, "kind-widths[widths=wide:1]", costs=COSTS, engine=engine)
    assert (one.makespan_s, one.widths.tolist()) == (20, [1] * 5)


def test_names_of_kinds_come_back():
    widths = {"a,b;c": 2, "mine::custom": 3, "x[1]=%": 1}
    policy = KindWidths.of(widths, 4)
    assert policy.by_kind() == widths
    assert ss.policy(str(policy)) == policy


@pytest.mark.parametrize(
    ("policy", "error", "message"),
    [
        ("kind-widths[widths=wide]", SpecError, "'wide' is not kind:cores"),
        ("kind-widths[widths=wide:0]", SpecError, "the least width is 1"),
        ("kind-widths[other=0]", SpecError, "the least width is 1"),
        ("kind-widths[widths=one:1;one:2]", SpecError, "'one' has two widths"),
        ("kind-widths[widths=wode:2]", PolicyError, "no tasks of kind 'wode'; it has one, wide"),
        ("kind-widths[widths=wide:5]", LayoutError, "a width of 5 is beyond the 4 cores"),
    ],
)
def test_widths_that_cannot_be(policy, error, message):
    with pytest.raises(error, match=message):
        ss.simulate(GRAPH, MACHINE, policy, costs=COSTS)


def test_descent_finds_the_widths():
    frame = ss.tune(GRAPH, MACHINE, "kind-widths", costs=COSTS, method="widths")
    best = frame.iloc[0]
    # All 12 choices of 3 candidates a kind, and of those equal for both: nothing is shorter.
    every = [
        ss.simulate(GRAPH, MACHINE, KindWidths.of({"wide": w, "one": o}), costs=COSTS).makespan_s
        for w in (1, 2, 4)
        for o in (1, 2, 4)
    ]
    assert best["makespan_s"] == min(every) == 12
    assert frame["makespan_s"].is_monotonic_increasing
    assert sorted(frame["evaluation"]) == list(range(1, len(frame) + 1))
    assert ss.simulate(GRAPH, MACHINE, best["policy"], costs=COSTS).makespan_s == best["makespan_s"]


@pytest.mark.parametrize("evaluations", [1, 2, 4])
def test_no_more_than_asked_for_is_spent(evaluations):
    for method in ("widths", "optuna"):
        frame = ss.tune(GRAPH, MACHINE, "kind-widths", costs=COSTS, method=method, evaluations=evaluations)
        assert len(frame) == evaluations


def test_optuna_searches_policies_layouts_and_widths_and_repeats_itself():
    policies = ["critical-path", "sequential", "corun", "kind-widths"]
    one, two = (
        ss.tune(GRAPH, MACHINE, policies, costs=COSTS, method="optuna", evaluations=40, seed=3)
        for _ in range(2)
    )
    assert one.equals(two)
    assert {policy.split("[")[0] for policy in one["policy"]} == set(policies)
    assert not one.duplicated(["policy", "layout"]).any()
    assert one["makespan_s"][0] == pytest.approx(12)
    for row in one.head(3).to_dict("records"):
        again = ss.simulate(GRAPH, MACHINE, row["policy"], row["layout"] or None, COSTS, seed=3)
        assert again.makespan_s == row["makespan_s"]


def test_optuna_keeps_to_the_layouts_given_and_the_workers():
    given = ss.tune(GRAPH, MACHINE, "fifo", ["2x2", "1x1"], COSTS, method="optuna", evaluations=20)
    assert sorted(given["layout"]) == ["1x1", "2x2"]
    fewer = ss.tune(GRAPH, MACHINE, "fifo", costs=COSTS, method="optuna", evaluations=20, reserved=1)
    assert (fewer["executors"] * fewer["width"]).max() == 3


@pytest.mark.parametrize("method", ["widths", "optuna"])
def test_tasks_of_unknown_kind_have_the_width_of_all_others(method):
    graph = ss.TaskGraph.from_edges([4.0, 4.0, 4.0], [(0, 1)], kinds=["", "", "wide"])
    costs = ss.CostModel(curves={"wide": ss.Curve(0.0), "": ss.Curve(1.0)})
    frame = ss.tune(graph, MACHINE, "kind-widths", costs=costs, method=method, evaluations=40)
    assert frame["makespan_s"][0] == 8
    assert ss.simulate(graph, MACHINE, frame["policy"][0], costs=costs).makespan_s == 8


def test_enumeration_of_several_policies():
    frame = ss.tune(GRAPH, MACHINE, ["fifo", "critical-path"], costs=COSTS)
    assert len(frame) == 6
    assert set(frame["policy"]) == {"fifo", "critical-path"}


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("fifo", {"method": "best"}, "method is 'best'; expected one of enumerate, widths, optuna"),
        ("fifo", {"method": "widths"}, "searches the widths of kind-widths, not of fifo"),
        ([], {}, "there is no policy to tune"),
        ("fifo", {"method": "optuna", "evaluations": 0}, "evaluations is 0"),
        ("kind-widths", {"method": "widths", "layouts": ["2x1"]}, "give no layouts"),
        ("kind-widths", {"method": "widths", "reserved": 1}, "no reserved cores"),
        (5, {}, "5 is not a policy"),
    ],
)
def test_what_cannot_be_searched(policy, options, message):
    with pytest.raises(SimschedError, match=message):
        ss.tune(GRAPH, MACHINE, policy, **options)


def test_without_optuna(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[tune\]'"):
        ss.tune(GRAPH, MACHINE, "fifo", method="optuna")


def test_the_history():
    found = {
        "every layout": ss.tune(GRAPH, MACHINE, "fifo", costs=COSTS),
        "widths": ss.tune(GRAPH, MACHINE, "kind-widths", costs=COSTS, method="widths"),
    }
    history = tuning_frame(found)
    assert list(history["search"].unique()) == list(found)
    for name, rows in history.groupby("search"):
        assert rows["evaluation"].tolist() == list(range(1, len(rows) + 1))
        assert rows["best_s"].is_monotonic_decreasing
        assert rows["best_s"].iloc[-1] == found[name]["makespan_s"][0]
    ax = tuning(history)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(found)
    with pytest.raises(ss.SimschedError, match="no search to draw"):
        tuning_frame({})
