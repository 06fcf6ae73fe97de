"""Reports of small graphs, made once."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.graph import Recording

HOSTILE = [
    "<script>alert(1)</script>",
    "![x](http://a/b.png)",
    "a|b `c` *d* @somebody #12",
    "</table>\x1b[2J",
    "$x^{",
]


def hostile_graph() -> ss.TaskGraph:
    """Every text of it is hostile."""
    n = len(HOSTILE)
    return ss.TaskGraph.from_edges(
        [1.0] * n, [(i, i + 1) for i in range(n - 1)], names=HOSTILE, kinds=HOSTILE, shapes="2x2", scopes=HOSTILE,
        flops=[1e9] * n, bytes_B=[1e8] * n, name=HOSTILE[0],
    )  # fmt: skip


@pytest.fixture(scope="session")
def hostile() -> ss.Report:
    graph = hostile_graph()
    graph.report.note(f"read {HOSTILE[0]} and {HOSTILE[1]}")
    return ss.report(graph, "generic[cores=2]", ["fifo", "sequential"], seeds=2, replays=4)


@pytest.fixture(scope="session")
def three() -> ss.Report:
    """Three tasks that can be worked out by hand: 4 s on two cores, 6 s one after another."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], kinds=["a", "b", "b"], name="three")
    return ss.report(graph, "generic[cores=2]", ["sequential", "fifo", "critical-path"], seeds=2, replays=8)


@pytest.fixture(scope="session")
def recorded() -> ss.Report:
    """One worker, 0.5 s idle before each task but the first."""
    run = Recording(
        np.array([0.0, 1.5, 3.0]), np.array([1.0, 2.5, 4.0]), np.zeros(3, np.int32), ("worker <b>",)
    )
    graph = ss.TaskGraph.from_edges([1.0] * 3, kinds="a", recording=run, name="run")
    return ss.report(graph, "generic[cores=2]", ["fifo"], seeds=2, replays=2)
