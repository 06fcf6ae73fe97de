"""Graphs that the benchmarks share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import simsched as ss


def layered_edges(n: int, width: int = 256, predecessors: int = 3, seed: int = 0) -> npt.NDArray[np.int64]:
    """Return the edges of `n` tasks in layers of `width`, each after `predecessors` of the layer before it.

    Returns
    -------
    int64 array, shape ((n - width) * predecessors, 2)
        Task indices (before, after), by the latter.
    """
    generator = np.random.default_rng(seed)
    tasks = np.arange(width, n)
    picks = np.empty((len(tasks), 0), np.int64)
    for count in range(predecessors):
        # One of those that are left: a number among them, moved past those already taken.
        pick = generator.integers(0, width - count, len(tasks))
        for taken in np.sort(picks, axis=1).T:
            pick += pick >= taken
        picks = np.column_stack([picks, pick])
    before = (tasks // width - 1)[:, None] * width + picks
    return np.stack([before.ravel(), np.repeat(tasks, predecessors)], axis=1)


def layered(n: int, width: int = 256, predecessors: int = 3, seed: int = 0) -> ss.TaskGraph:
    """Return such a graph, of tasks of 0.5 to 1.5 s."""
    seconds = np.random.default_rng([seed, 1]).uniform(0.5, 1.5, n)
    return ss.TaskGraph.from_edges(seconds, layered_edges(n, width, predecessors, seed), name=f"layered {n}")
