"""Schedules of one graph above each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.graph import Recording
from simsched.plots import stacked
from simsched.plots.gantt import LONGEST_NAME, MOST_NAMED, short_names
from simsched.plots.stacked import save_stacked, stacked_svg
from simsched.schedule import Schedule

MakeSchedule = Callable[..., Schedule]


@pytest.fixture
def both(make_schedule: MakeSchedule) -> dict[str, Schedule]:
    return {
        "one": make_schedule([3.0, 1.0], kinds=["a", "b"]),
        "other": make_schedule([1.0, 4.0], kinds=["a", "b"]),
    }


def test_one_time_axis_for_all(both: dict[str, Schedule]) -> None:
    axes = stacked(both)
    assert len({ax.get_xlim() for ax in axes}) == 1
    longest_s = max(schedule.makespan_s for schedule in both.values())
    assert axes[0].get_xlim()[1] == pytest.approx(longest_s)
    assert [ax.get_title(loc="left").partition(":")[0] for ax in axes] == ["one", "other"]


def test_spans_that_differ_by_more_than_three_times_have_an_axis_each(make_schedule: MakeSchedule) -> None:
    short, long = make_schedule([1e-3]), make_schedule([4e-3])
    axes = stacked({"short": short, "long": long})
    assert [ax.get_xlim()[1] for ax in axes] == pytest.approx([1.0, 4.0])
    assert [ax.get_xlabel() for ax in axes] == ["time (ms), an axis of its own"] * 2
    axes = stacked({"short": short, "long": long}, time_axis="one")
    assert [ax.get_xlim()[1] for ax in axes] == pytest.approx([4.0, 4.0])
    assert [ax.get_xlabel() for ax in axes] == ["", "time (ms)"]
    assert (
        stacked({"a": long, "b": make_schedule([3e-3])}, time_axis="own")[0].get_xlabel().endswith("its own")
    )
    assert "an axis of its own" in stacked_svg({"short": short, "long": long})


def test_graphs_of_different_sizes_are_refused(make_schedule: MakeSchedule) -> None:
    with pytest.raises(SimschedError, match="graphs of 1 and 2 tasks"):
        stacked({"one": make_schedule([1.0]), "two": make_schedule([1.0, 2.0])})
    with pytest.raises(SimschedError, match="none"):
        stacked({})


def test_as_many_axes_as_schedules(both: dict[str, Schedule]) -> None:
    with pytest.raises(SimschedError, match="1 axes for 2 schedules"):
        stacked(both, stacked(both)[:1])


def test_an_unknown_time_axis_is_refused(both: dict[str, Schedule]) -> None:
    with pytest.raises(SimschedError, match="time_axis='mine' is unknown; give one of auto, one, own"):
        stacked(both, time_axis="mine")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_saved_by_suffix(both: dict[str, Schedule], tmp_path: Path, suffix: str) -> None:
    save_stacked(both, tmp_path / f"both{suffix}")
    assert (tmp_path / f"both{suffix}").stat().st_size > 1000
    with pytest.raises(SimschedError, match=r"both\.csv: pictures are written as \.png"):
        save_stacked(both, tmp_path / "both.csv")


def test_names_are_escaped(both: dict[str, Schedule]) -> None:
    svg = stacked_svg({"<script>": both["one"], "&": both["other"]})
    assert "<script" not in svg


def test_a_recording_and_its_replays(tmp_path: Path) -> None:
    from simsched.traces.samples import sample_files

    kineto, execution_trace = sample_files("cnn")
    replayed = ss.replay_recorded(ss.load(kineto, execution_trace=execution_trace))
    assert [ax.get_title(loc="left").partition(":")[0][:8] for ax in replayed.gantt()] == [
        "recorded",
        "replayed",
        "replayed",
    ]
    names = [[label.get_text() for label in ax.get_yticklabels()] for ax in replayed.gantt()]
    assert names[0] == list(replayed.recorded.lane_names) == names[1] == names[2]
    replayed.save(tmp_path / "cnn.png")
    assert (tmp_path / "cnn.png").stat().st_size > 1000
    assert replayed._repr_html_().count("<img ") == 1


def test_a_replay_under_a_policy_has_executors_and_says_so() -> None:
    lanes = np.array([0, 1, 1], np.int32)
    run = Recording(
        np.array([0.0, 0.5, 1.5]), np.array([1.0, 1.5, 2.0]), lanes, ("host/CPU 0", "host/$CPU 1$")
    )
    replayed = ss.replay_recorded(ss.TaskGraph.from_edges([1.0, 1.0, 0.5], recording=run), "fifo")
    recorded, plain, calibrated = replayed.gantt()
    assert [label.get_text() for label in recorded.get_yticklabels()] == ["CPU 0", "$CPU 1$"]
    assert [label.get_text() for label in plain.get_yticklabels()] == ["executor 0", "executor 1"]
    assert plain.get_ylabel() == recorded.get_ylabel() == ""
    assert plain.get_title(loc="left") == "replayed under fifo without overheads (-25.00%): 1.5 s"
    assert calibrated.get_title(loc="left").startswith("replayed under fifo with 0 s a start")
    recorded.figure.draw_without_rendering()


def test_long_names_keep_their_end() -> None:
    assert short_names(["a/b/x", "a/b/y"]) == ["x", "y"]
    assert short_names(["/job:localhost/device:CPU:0 lane 0"]) == ["device:CPU:0 lane 0"]
    assert short_names(["ends/", "ends/"]) == ["ends/", "ends/"]
    cut = short_names([f"process 1234567 thread {i}000000000" for i in range(2)])
    assert [len(name) for name in cut] == [LONGEST_NAME] * 2
    assert cut[1] == "…" + "process 1234567 thread 1000000000"[1 - LONGEST_NAME :]


def test_many_lanes_are_numbered() -> None:
    run = Recording(np.zeros(1), np.ones(1), np.zeros(1, np.int32), tuple(map(str, range(MOST_NAMED + 1))))
    schedule = ss.TaskGraph.from_edges([1.0], recording=run).recorded
    assert schedule is not None
    assert ss.plots.gantt(schedule).get_ylabel() == "lane"
    some = ss.plots.gantt(schedule, max_rows=2)
    assert some.get_ylabel() == f"lane (first 2 of {MOST_NAMED + 1})"
    assert [label.get_text() for label in some.get_yticklabels()] == ["0", "1"]


def test_outlines_do_not_hide_tiny_tasks(make_schedule: MakeSchedule) -> None:
    drawn = ss.plots.gantt(make_schedule([1.0, 1e-4], cores=2)).collections[0]
    assert list(drawn.get_linewidth()) == [0.3, 0.0]
