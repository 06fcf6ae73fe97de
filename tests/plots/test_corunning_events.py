"""How many tasks run at every start and finish."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import simsched as ss
from simsched.plots import corunning_events, corunning_events_frame

MakeSchedule = Callable[..., ss.Schedule]


def test_events_by_hand() -> None:
    """Two cores. 0 (1 s) and 1 (2 s) start; 0 finishes, 2 (2 s) starts; 1 finishes, and 2.

    Running: 1, 2, 2 (0 still counts), 2, 2, 1: a mean of 10 / 6.
    """
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 2)])
    schedule = ss.simulate(graph, "generic[cores=2]", "fifo")
    frame = schedule.corunning()
    assert frame["time_s"].tolist() == [0, 0, 1, 1, 2, 3]
    assert frame["event"].tolist() == ["start", "start", "finish", "start", "finish", "finish"]
    assert frame["task"].tolist() == [0, 1, 0, 2, 1, 2]
    assert frame["tasks_running"].tolist() == [1, 2, 2, 2, 2, 1]
    metrics = schedule.metrics()
    assert metrics["mean_corunning_at_events"] == 10 / 6
    assert metrics["max_corunning"] == 2
    assert metrics["mean_corunning"] == 5 / 3


def test_one_after_another_is_one_at_every_event(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([1.0, 0.5, 2.0], cores=1)
    assert schedule.corunning()["tasks_running"].tolist() == [1] * 6
    assert schedule.metrics()["mean_corunning_at_events"] == 1


def test_tasks_of_no_length_have_no_events(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([0.0, 1.0, 0.0])
    assert corunning_events_frame(schedule)["task"].tolist() == [1, 1]


@pytest.mark.parametrize("durations", [[], [0.0], [5.0] * 100])
def test_it_is_drawn(make_schedule: MakeSchedule, durations: list[float]) -> None:
    schedule = make_schedule(durations)
    ax = corunning_events(schedule)
    mean = schedule.metrics()["mean_corunning_at_events"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["tasks running", f"mean {mean:.3g}"]
    assert len(ax.lines[0].get_xdata()) == 2 * sum(seconds > 0 for seconds in durations)
    ax.figure.canvas.draw()
