"""Start order against a label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from simsched.errors import SimschedError
from simsched.plots import diagonal_score, start_order, start_order_frame
from simsched.schedule import Schedule

MakeSchedule = Callable[..., Schedule]


def test_the_frame_is_in_start_order(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([3.0, 1.0, 1.0, 1.0], cores=2)
    frame = start_order_frame(schedule, [0, np.nan, 2, 1])
    assert frame.columns.tolist() == ["position", "task", "start_s", "label"]
    assert frame["task"].tolist() == [0, 1, 3, 2]
    assert frame["start_s"].tolist() == [0, 0, 1, 3]
    np.testing.assert_array_equal(frame["label"], [0, np.nan, 1, 2])


def test_the_score_is_spearmans(make_schedule: MakeSchedule) -> None:
    generator = np.random.default_rng(0)
    schedule = make_schedule(generator.random(50))
    label = generator.integers(0, 9, 50).astype(float)
    label[::7] = np.nan
    frame = start_order_frame(schedule, label).dropna()
    # It takes half a second to import, in each worker.
    from scipy.stats import spearmanr

    expected = spearmanr(frame["position"], frame["label"]).statistic
    assert diagonal_score(schedule, label) == pytest.approx(expected, abs=1e-12)


def test_the_score_of_perfect_and_reversed_orders(make_schedule: MakeSchedule) -> None:
    schedule = make_schedule([1.0] * 5, cores=1)
    assert diagonal_score(schedule, range(5)) == pytest.approx(1)
    assert diagonal_score(schedule, range(5, 0, -1)) == pytest.approx(-1)


@pytest.mark.parametrize("label", [[7, 7, 7], [np.nan, 1, np.nan], [np.nan] * 3])
def test_without_two_different_labels_there_is_no_score(
    make_schedule: MakeSchedule, label: list[float]
) -> None:
    schedule = make_schedule([1.0] * 3)
    assert np.isnan(diagonal_score(schedule, label))
    assert "unknown" in start_order(schedule, label).get_title(loc="left")


@pytest.mark.parametrize("label", [[1, 2], [[1, 2, 3]], ["a", "b", "c"]])
def test_a_label_is_one_number_a_task(make_schedule: MakeSchedule, label: object) -> None:
    with pytest.raises(SimschedError, match="one number per task"):
        start_order_frame(make_schedule([1.0] * 3), label)


def test_it_is_drawn(make_schedule: MakeSchedule) -> None:
    ax = start_order(make_schedule([1.0] * 6), pd.Series(range(6), name="layer + $step$"))
    assert len(ax.lines[0].get_xdata()) == 6
    assert ax.get_ylabel() == "layer + $step$"
    ax.figure.canvas.draw()


def test_an_empty_schedule_is_drawn(make_schedule: MakeSchedule) -> None:
    start_order(make_schedule([]), []).figure.canvas.draw()
