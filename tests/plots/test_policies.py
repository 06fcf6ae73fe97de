"""Policies by workloads: pairs of a seed, intervals, what is drawn."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.intervals import spread
from simsched.plots import policies, policies_frame

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
CHAIN = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
NOISY = ss.CostModel(noise=0.3)


def test_without_noise_by_hand():
    frame = policies_frame({"three": GRAPH, "$x$": CHAIN}, "generic[cores=2]", ["sequential", "fifo"])
    assert frame["makespan_s"].tolist() == pytest.approx([6, 4, 3, 3])
    assert frame["relative"].tolist() == pytest.approx([1, 2 / 3, 1, 1])
    assert (frame["low_s"] == frame["high_s"]).all()
    assert frame["seeds"].tolist() == [10] * 4


def test_policies_are_compared_within_a_seed():
    """A chain takes as long under either policy, whatever the noise: paired, there is no difference at all."""
    frame = policies_frame({"chain": CHAIN}, "generic[cores=2]", ["fifo", "critical-path"], costs=NOISY)
    assert frame["relative_low"].tolist() == [1, 1]
    assert frame["relative_high"].tolist() == [1, 1]
    assert (frame["low_s"] < frame["high_s"]).all()
    again = policies_frame({"chain": CHAIN}, "generic[cores=2]", ["fifo", "critical-path"], costs=NOISY)
    assert again.equals(frame)


def test_a_single_seed_has_no_interval():
    frame = policies_frame({"three": GRAPH}, "generic[cores=2]", ["fifo"], costs=NOISY, seeds=[3])
    assert np.isnan(frame[["low_s", "high_s", "relative_low", "relative_high"]].to_numpy()).all()
    policies(frame).figure.canvas.draw()


def test_medians_intervals_and_names_are_drawn():
    frame = policies_frame(
        {"three": GRAPH, "$\\frac{": CHAIN}, "generic[cores=2]", ["fifo", "sequential"], costs=NOISY
    )
    ax = policies(frame)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["fifo", "sequential"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["three", "$\\frac{"]
    assert len(ax.containers) == 2
    line, _, (bars,) = ax.containers[1]
    rows = frame[frame["policy"] == "sequential"]
    assert line.get_xdata().tolist() == rows["relative"].tolist()
    ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
    assert ends == [pytest.approx(pair) for pair in rows[["relative_low", "relative_high"]].values.tolist()]
    assert ax.get_xlabel() == "makespan over that of fifo"
    assert ax.get_xscale() == "linear"
    ax.figure.canvas.draw()


def test_far_apart_policies_have_a_logarithmic_axis():
    many = ss.TaskGraph.from_edges([1.0] * 16)
    assert policies(policies_frame({"many": many}, "generic", ["fifo", "sequential"])).get_xscale() == "log"


def test_a_graph_of_no_length():
    frame = policies_frame({"empty": ss.TaskGraph.from_edges([])}, "generic[cores=2]", ["fifo", "corun"])
    assert frame["relative"].tolist() == [1, 1]


@pytest.mark.parametrize(("name", "wrong"), [("graphs", {}), ("policies", []), ("seeds", [])])
def test_nothing_to_replay_is_an_error(name, wrong):
    given = {"graphs": {"three": GRAPH}, "machine": "generic", "policies": ["fifo"], name: wrong}
    with pytest.raises(SimschedError, match=f"{name} is .*at least one"):
        policies_frame(**given)


def test_missing_columns_are_named():
    with pytest.raises(SimschedError, match=r"lacks .*relative"):
        policies(ss.compare(GRAPH, "generic[cores=2]", ["fifo"]))


def test_a_spread_holds_what_it_says():
    wide = spread(np.random.default_rng(1).normal(0, 1, 20_000))
    assert (wide.low, wide.high) == pytest.approx((-1.96, 1.96), abs=0.1)
    assert np.isnan(spread([1.0]).low)
