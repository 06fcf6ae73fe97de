"""The density of a chart, against a sum made one task and core at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from simsched.plots import rectangles as module
from simsched.plots.rectangles import count_rectangles, density, rectangles, team_runs
from simsched.schedule import Schedule

MakeSchedule = Callable[..., Schedule]


def slow_density(schedule: Schedule, weights: np.ndarray, rows: int, bins: int, end: float) -> np.ndarray:
    result = np.zeros((rows, bins, weights.shape[1]))
    edges = np.linspace(0, end, bins + 1)
    for task in range(schedule.graph.n_tasks):
        left, right = schedule.start_s[task], schedule.finish_s[task]
        share = np.clip(np.minimum(edges[1:], right) - np.maximum(edges[:-1], left), 0, None) * bins / end
        for core in schedule.cores(task):
            if core < rows:
                result[core] += share[:, None] * weights[task]
    return result


@pytest.mark.parametrize("scatter", [False, True])
@pytest.mark.parametrize("rows", [6, 4, 1])
@pytest.mark.parametrize("chunk", [1_000_000, 3])
def test_it_equals_the_sum_over_tasks_and_cores(
    make_schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch, scatter: bool, rows: int, chunk: int
) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    generator = np.random.default_rng(1)
    schedule = make_schedule(generator.choice([0.0, 0.1, 1.0, 2.5], 40), cores=6, width=3, scatter=scatter)
    weights = generator.random((40, 2))
    end = float(schedule.finish_s.max())
    runs = team_runs(schedule.teams, rows)
    fast = density(schedule, runs, weights, rows=rows, bins=17, span_s=(0.0, end))
    np.testing.assert_allclose(fast, slow_density(schedule, weights, rows, 17, end), atol=1e-12)


def test_busy_share_is_the_utilization(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule(np.random.default_rng(2).random(500), cores=8, width=2)
    span = (0.0, float(schedule.finish_s.max()))
    runs = team_runs(schedule.teams, 8)
    share = density(schedule, runs, np.ones((500, 1)), rows=8, bins=100, span_s=span)
    assert share.mean() == pytest.approx(schedule.utilization, rel=1e-12)
    assert share.min() > -1e-9
    assert share.max() < 1 + 1e-9


def test_runs_merge_neighbouring_cores(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([1.0, 1.0, 1.0], cores=6, width=3)
    runs = team_runs(schedule.teams, 5)
    boxes = rectangles(schedule, runs)
    assert count_rectangles(schedule, runs) == len(boxes) == 3
    assert boxes.first.tolist() == [0, 3, 0]
    assert boxes.length.tolist() == [3, 2, 3]
