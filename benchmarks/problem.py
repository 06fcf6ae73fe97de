"""The file through which contenders in other languages get a graph.

Three int64: tasks, edges, workers; then the successors' indptr (int64, n + 1) and indices (int32, m), the seconds and
the levels of the tasks (float64, n each). Native byte order, nothing between.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import simsched as ss


def write(graph: ss.TaskGraph, workers: int, path: Path) -> None:
    """Write a graph's problem."""
    after = graph.successors
    with path.open("wb") as file:
        for array in (
            np.array([graph.n_tasks, graph.n_edges, workers], np.int64),
            after.indptr, after.indices, graph.durations_s, graph.levels(),
        ):  # fmt: skip
            array.tofile(file)


def read(path: Path) -> tuple[ss.TaskGraph, int]:
    """Return the graph of a problem and the number of workers."""

    def part(dtype: npt.DTypeLike, count: int) -> npt.NDArray[Any]:
        return np.fromfile(file, dtype, count)

    with path.open("rb") as file:
        n, m, workers = part(np.int64, 3).tolist()
        indptr, after, seconds = part(np.int64, n + 1), part(np.int32, m), part(np.float64, n)
    before = np.repeat(np.arange(n), np.diff(indptr))
    graph = ss.TaskGraph.from_edges(seconds, np.stack([before, after], axis=1), name=path.stem)
    return graph, workers
