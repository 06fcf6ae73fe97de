"""Tasks running and cores busy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import simsched as ss
from simsched.plots import corunning, corunning_frame
from simsched.schedule import Schedule

MakeSchedule = Callable[..., Schedule]


def test_the_frame_of_three_tasks(make_schedule: MakeSchedule) -> None:
    frame = corunning_frame(make_schedule([1.0, 2.0, 3.0], cores=4, width=2))
    assert frame["time_s"].tolist() == [0, 1, 2, 4]
    assert frame["tasks_running"].tolist() == [2, 2, 1, 0]
    assert frame["cores_busy"].tolist() == [4, 4, 2, 0]


def test_its_integral_is_the_utilization(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(np.random.default_rng(0).random(100), cores=6, width=2)
    frame = corunning_frame(schedule)
    core_seconds = (frame["cores_busy"].to_numpy()[:-1] * np.diff(frame["time_s"])).sum()
    assert core_seconds / (6 * schedule.makespan_s) == pytest.approx(schedule.utilization)
    assert frame["tasks_running"].iloc[-1] == 0


def test_tasks_of_no_length_count_for_nothing(make_schedule: MakeSchedule) -> None:
    assert corunning_frame(make_schedule([0.0, 0.0])).to_numpy().tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("durations", [[], [0.0], [1e-5, 2e-5], [5.0] * 100])
def test_it_is_drawn(make_schedule: MakeSchedule, durations: list[float]) -> None:
    ax = corunning(make_schedule(durations))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "cores busy",
        "tasks running",
        "4 cores",
    ]
    ax.figure.canvas.draw()


def test_hardware_threads_are_not_called_cores() -> None:
    schedule = ss.simulate(ss.TaskGraph.from_edges([1.0] * 4), "knl-7250[cores=2,smt=2]", "fifo", "4x1")
    names = [text.get_text() for text in corunning(schedule).get_legend().get_texts()]
    assert (names[0], names[-1]) == ("hardware threads busy", "4 hardware threads")
    page = schedule.explore()._repr_html_()
    assert "hardware threads busy" in page
    assert "cores busy" not in page
