"""Seconds and memory of building a task graph from arrays: one million tasks, three million edges.

Usage: python benchmarks/build_graph.py [--tasks N] [--repeats N]

The graph has layers of 256 tasks with three predecessors each in the layer before. Every measurement runs in
a fresh process: memory is the peak of the whole process above what it held with inputs and libraries loaded.
The limits of the project, 3 s and 400 MB, are asserted for the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import scipy.sparse.csgraph  # noqa: F401 - loaded here, so that its memory is not the graph's
from graphs import layered_edges
from measure import Memory, fresh, seconds

from simsched.graph import TaskGraph
from simsched.native import find

LIMIT_S, LIMIT_MB = 3.0, 400.0
CASES = ("sorted", "shuffled edges", "shuffled tasks")

Edges = npt.NDArray[np.int64]


def shuffled(edges: Edges, n: int, case: str) -> Edges:
    """Return the edges of a graph of `n` tasks in one of the orders of `CASES`."""
    rng = np.random.default_rng(0)
    if case == "shuffled tasks":
        edges = rng.permutation(n)[edges]
    if case == "sorted":
        return edges[np.lexsort((edges[:, 1], edges[:, 0]))]
    return rng.permutation(edges)


def measure(n: int, case: str) -> dict[str, float]:
    """Build one graph in this process; return seconds and megabytes of each step."""
    durations, edges = np.random.default_rng(1).random(n), shuffled(layered_edges(n), n, case)
    TaskGraph.from_edges([1.0, 1.0, 1.0], [(2, 1), (1, 0)])
    used, begin = Memory(), time.perf_counter()
    graph = TaskGraph.from_edges(durations, edges)
    result = {"build_s": time.perf_counter() - begin, "build_MB": used.peak() / 1e6}
    assert (graph.n_tasks, graph.n_edges) == (n, len(edges))
    result["levels_s"] = seconds(graph.levels) if find() else float("nan")
    result["depths_s"] = seconds(lambda: graph.depths)
    assert graph.depths.max() == (n - 1) // 256
    with patch("simsched.graph.longest_path.core", lambda: None):
        result["levels_python_s"] = seconds(graph.levels)
    return result


def medians(n: int, case: str, repeats: int) -> dict[str, float]:
    """Return the median of each number over processes of their own."""
    command = [sys.executable, __file__, "--tasks", str(n), "--case", case]
    runs = [fresh(command) for _ in range(repeats)]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main() -> None:
    """Print the table, and fail where a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--case", choices=CASES, help="measure one, once, in this process")
    given = parser.parse_args()
    if given.case:
        print(json.dumps(measure(given.tasks, given.case)))
        return
    for case in CASES:
        result = medians(given.tasks, case, given.repeats)
        print(f"{case:<15}", *(f"{key} {value:8.3f}" for key, value in result.items()), sep="  ")
        if given.tasks <= 1_000_000:
            assert result["build_s"] < LIMIT_S
            assert result["build_MB"] < LIMIT_MB


if __name__ == "__main__":
    main()
