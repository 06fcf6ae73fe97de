"""Cost curves: the frame by hand, and what is drawn of it."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Calibration, MeasuredOp, Op, Overheads, Point
from simsched.errors import SimschedError
from simsched.plots import cost_curves, cost_curves_frame, model_curves_frame


def calibration():
    """Return three ops: one on both sharings with noise, one on two widths only, one on one width."""
    rng = np.random.default_rng(0)
    both = [Point(1, 8e-3)] + [
        Point(w, float(8e-3 * (0.05 + 0.95 / w) * np.exp(rng.normal(0, 0.03))), sharing, 0.02)
        for sharing, most in (("shared", 17), ("apart", 9))
        for w in range(3, most, 2)
    ]
    ops = [
        MeasuredOp(Op("short $x$", "4"), (Point(1, 1e-5),)),
        MeasuredOp(Op("long", "8"), tuple(both)),
        MeasuredOp(Op("middle", "6"), (Point(1, 1e-4), Point(2, 6e-5))),
    ]
    return Calibration.of(ops, "made up", overheads=Overheads(fork_join_s=1e-7))


def test_every_width_has_a_row_and_intervals_hold_the_curve():
    frame = cost_curves_frame(calibration())
    assert list(dict.fromkeys(frame["kind"])) == ["long", "middle", "short $x$"]
    long = frame[frame["kind"] == "long"]
    assert long.groupby("sharing")["width"].apply(list).to_dict() == {
        "shared": list(range(1, 16)),
        "apart": list(range(1, 8)),
    }
    assert (long["low_s"] <= long["fitted_s"]).all()
    assert (long["fitted_s"] <= long["high_s"]).all()
    assert long["measured_s"].notna().sum() == 8 + 4
    measured = long.dropna(subset="measured_s")
    assert ((measured["fitted_s"] / measured["measured_s"] - 1).abs() < 0.1).all()
    middle = frame[frame["kind"] == "middle"]
    assert middle["fitted_s"].tolist() == pytest.approx([1e-4, 6e-5])
    assert middle["low_s"].isna().all()
    assert frame[frame["kind"] == "short $x$"]["fitted_s"].isna().all()
    assert cost_curves_frame(calibration(), max_ops=1)["kind"].unique().tolist() == ["long"]


def test_points_curves_and_names_are_drawn():
    found = calibration()
    ax = found.plot(max_ops=3)
    assert len(ax.containers) == 4
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "long 8, shared",
        "long 8, apart",
        "middle 6",
        "short $x$ 4",
    ]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert ax.get_ylabel() == "time (ms)"
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4", "8", "15"]
    assert cost_curves(cost_curves_frame(found), ax) is ax


def test_an_empty_frame_is_empty_axes_and_a_wrong_one_an_error():
    frame = cost_curves_frame(calibration())
    assert not cost_curves(frame.iloc[:0]).containers
    with pytest.raises(SimschedError, match="this one lacks width"):
        cost_curves(frame.drop(columns="width"))


def test_curves_as_replays_take_them():
    graph = ss.TaskGraph.from_edges(
        [2.0, 1.0, 5.0, np.nan], kinds=["MatMul", "MatMul", "Add", "Add"], shapes="8x8;8x8", widths=[1, 1, 3, 1],
        flops=[1e9] * 4, bytes_B=[1e6] * 4,
    )  # fmt: skip
    frame = model_curves_frame(graph, "generic[cores=4]")
    one = frame[frame["kind"] == "Add"]
    assert one["width"].tolist() == [1, 2, 3, 4], "the recorded width beside powers of two"
    assert one["measured_s"].dropna().tolist() == [5.0]
    for width, seconds in zip(one["width"], one["fitted_s"], strict=True):
        again = ss.simulate(graph, "generic[cores=4]", "fifo", (1, width))
        assert again.alone_s[2] == seconds
    assert model_curves_frame(graph, "generic[cores=4]", max_kinds=1)["kind"].unique().tolist() == ["Add"]
    assert len(cost_curves(frame).containers) == 2


def test_curves_of_seconds_by_kind_of_cores_are_those_of_one_kind():
    """All tasks in sequence take 4 s on core 0, 9 s on core 1; the mean over both is what no core takes."""
    graph = ss.TaskGraph.from_edges([[1.0, 8.0], [3.0, 1.0]], kinds=["a", "b"])
    frame = model_curves_frame(graph, "generic[cores=2,kinds=each]")
    assert frame.groupby("kind")["fitted_s"].max().tolist() == [1.0, 3.0]
    assert frame["measured_s"].isna().all()


def test_tasks_of_no_length_have_curves_too():
    frame = model_curves_frame(ss.TaskGraph.from_edges([0.0]), "generic[cores=2]")
    assert cost_curves(frame).get_yscale() == "linear"
    assert model_curves_frame(ss.TaskGraph.from_edges([]), "generic[cores=2]").empty
