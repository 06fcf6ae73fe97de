"""Errors of tasks and kinds, worked out by hand."""

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.execute.crosscheck.frames import kinds_frame


@pytest.fixture
def case(made_up):
    """Two tasks in turn, predicted to take 1 s each; the second starts late. The last run was disturbed."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], kinds=["a", "b"])
    times = [([0, 2], [2, 2.5]), ([1, 4], [4, 4.5]), ([0, 4], [4, 4.5]), ([0, 90], [90, 99])]
    return made_up.checked(
        graph, [made_up.run(made_up.measured(graph, *t), stolen=0.5 * (t[0][1] == 90)) for t in times]
    )


def test_tasks_are_medians_over_the_runs_that_count(case):
    tasks = case.tasks
    assert tasks["measured_s"].tolist() == [3, 0.5]
    assert tasks["predicted_s"].tolist() == [1, 1]
    assert tasks["error"].tolist() == pytest.approx([1 / 3 - 1, 1])
    assert tasks["spread"].tolist() == pytest.approx([1 / 3, 0])
    # Measured starts of the second task, from the first start of its run: 2, 3 and 4 s.
    assert tasks["start_error_s"].tolist() == [0, 1 - 3]
    assert tasks["kind"].tolist() == ["a", "b"]
    assert tasks["width"].tolist() == tasks["predicted_width"].tolist() == [1, 1]


def test_kinds_add_up(case):
    kinds = case.kinds
    assert kinds["kind"].tolist() == ["a", "b"]
    assert kinds["error_s"].tolist() == [1 - 3, 1 - 0.5]
    assert kinds["share"].tolist() == pytest.approx([3 / 3.5, 0.5 / 3.5])
    assert kinds["tasks"].tolist() == [1, 1]
    assert kinds_frame(pd.concat([case.tasks, case.tasks]))["error_s"].tolist() == [-4, 1]


def test_a_task_that_took_no_time_has_no_relative_error(made_up):
    graph = ss.TaskGraph.from_edges([1.0, 0.0])
    tasks = made_up.checked(graph, [made_up.run(made_up.measured(graph, [0, 1], [1, 1]))]).tasks
    assert np.isnan(tasks["error"][1])
    assert np.isnan(tasks["spread"][1])
