"""Schedules of one graph above each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import stacked
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


def test_graphs_of_different_sizes_are_refused(make_schedule: MakeSchedule) -> None:
    with pytest.raises(SimschedError, match="graphs of 1 and 2 tasks"):
        stacked({"one": make_schedule([1.0]), "two": make_schedule([1.0, 2.0])})
    with pytest.raises(SimschedError, match="none"):
        stacked({})


def test_as_many_axes_as_schedules(both: dict[str, Schedule]) -> None:
    with pytest.raises(SimschedError, match="1 axes for 2 schedules"):
        stacked(both, stacked(both)[:1])


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
    replayed.save(tmp_path / "cnn.png")
    assert (tmp_path / "cnn.png").stat().st_size > 1000
    assert replayed._repr_html_().count("<svg") == 1
