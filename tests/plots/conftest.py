"""Schedules made by hand, and pictures drawn without a screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.schedule import Schedule

mpl.use("Agg")

MakeSchedule = Callable[..., Schedule]


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def make_schedule() -> MakeSchedule:
    """Give `schedule_of`, without an import between test files."""
    return schedule_of


def schedule_of(
    durations_s: Any,
    *,
    cores: int = 4,
    width: int = 1,
    scatter: bool = False,
    kinds: Any = None,
    edges: Any = (),
    **made: Any,
) -> Schedule:
    """Tasks dealt to teams of `width` cores in turn, each starting when its team is free."""
    durations = np.asarray(durations_s, np.float64)
    executors = max(cores // width, 1)
    team = (np.arange(len(durations)) % executors).astype(np.int32)
    finish = np.zeros(len(durations))
    for e in range(executors):
        finish[e::executors] = np.cumsum(durations[e::executors])
    members = np.arange(executors * width)
    members = members.reshape(width, executors).T.ravel() if scatter else members
    start = finish - durations
    return Schedule(
        graph=TaskGraph.from_edges(durations, edges, kinds=kinds, name="made"),
        ready_s=np.zeros(len(durations)),
        start_s=start,
        finish_s=finish,
        teams=Csr(np.arange(executors + 1, dtype=np.int64) * width, members.astype(np.int32)),
        team=team,
        executor=team,
        start_order=np.argsort(start, kind="stable").astype(np.int32),
        alone_s=durations,
        n_cores=cores,
        **made,
    )
