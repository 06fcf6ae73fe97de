"""Graphs that the benchmarks share."""

from __future__ import annotations

import numpy as np

import simsched as ss


def layered(n: int, width: int = 256, predecessors: int = 3, seed: int = 0) -> ss.TaskGraph:
    """Return `n` tasks in layers of `width`, each after `predecessors` of the layer before it, of 0.5 to 1.5 s."""
    generator = np.random.default_rng(seed)
    tasks = np.arange(width, n)
    picks = np.argpartition(generator.random((len(tasks), width), np.float32), predecessors, axis=1)
    before = (tasks // width - 1)[:, None] * width + picks[:, :predecessors]
    edges = np.stack([before.ravel(), np.repeat(tasks, predecessors)], axis=1)
    return ss.TaskGraph.from_edges(generator.uniform(0.5, 1.5, n), edges, name=f"layered {n}")
