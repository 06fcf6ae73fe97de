"""What tests of planners use: platforms from tables of papers, and the times of a plan, by the rules of the replay."""

from __future__ import annotations

import numpy as np

from simsched.graph.adjacency import from_edges
from simsched.policy.platform import Platform

#: Topcuoglu, Hariri, Wu 2002, Fig. 3.
TOPCUOGLU = (
    [[14, 16, 9], [13, 19, 18], [11, 13, 19], [13, 8, 17], [12, 13, 10], [13, 16, 9], [7, 15, 11], [5, 11, 14],
     [18, 12, 20], [21, 7, 16]],
    [(0, 1, 18), (0, 2, 12), (0, 3, 9), (0, 4, 11), (0, 5, 14), (1, 7, 19), (1, 8, 16), (2, 6, 23), (3, 7, 27),
     (3, 8, 23), (4, 8, 13), (5, 7, 15), (6, 9, 17), (7, 9, 11), (8, 9, 13)],
)  # fmt: skip
#: Arabnejad, Barbosa 2014, Fig. 2.
ARABNEJAD = (
    [[22, 21, 36], [22, 18, 18], [32, 27, 43], [7, 10, 4], [29, 27, 35], [26, 17, 24], [14, 25, 30], [29, 23, 36],
     [15, 21, 8], [13, 16, 33]],
    [(0, 1, 17), (0, 2, 31), (0, 3, 29), (0, 4, 13), (0, 5, 7), (1, 7, 3), (1, 8, 30), (2, 6, 16), (3, 7, 11),
     (3, 8, 7), (4, 8, 57), (5, 7, 5), (6, 9, 9), (7, 9, 42), (8, 9, 7)],
)  # fmt: skip
#: Kwok, Ahmad 1999, Fig. 3: seconds of each task, on any processor.
KWOK = (
    [2, 3, 3, 4, 5, 4, 4, 4, 1],
    [(0, 1, 4), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 6, 10), (1, 5, 1), (1, 6, 1), (2, 7, 1), (3, 7, 1), (5, 8, 5),
     (6, 8, 6), (7, 8, 5)],
)  # fmt: skip
#: Estee, tests/test_estee: seconds, and bytes on edges.
ESTEE = (
    [2, 3, 2, 1, 1, 6, 1, 1],
    [(0, 2, 1), (2, 4, 1), (1, 4, 3), (3, 4, 6), (3, 5, 6), (4, 7, 1), (5, 7, 1), (6, 7, 2), (2, 7, 1)],
)


def platform_of(seconds, edges, processors=None, places=None, latency_s=0.0):
    """Return the platform of a table: seconds of tasks on processors, and what edges cost between places."""
    table = np.array(seconds, np.float64)
    if table.ndim == 1:
        table = table[:, None]
    kinds = table.shape[1]
    processors = kinds if processors is None else processors
    kind_of = np.arange(processors) % kinds
    place_of = np.arange(processors) if places is None else np.array(places)
    pairs = np.array([edge[:2] for edge in edges], np.int64).reshape(-1, 2)
    successors, merged = from_edges(len(table), pairs[:, 0], pairs[:, 1])
    assert not merged
    costs = {(i, j): cost for i, j, cost in edges}
    rows = zip(successors.sources().tolist(), successors.indices.tolist(), strict=True)
    apart = 1.0 - np.eye(int(place_of.max()) + 1)
    return Platform(
        successors=successors,
        kind_seconds=table,
        kind_of=kind_of.astype(np.int32),
        place_of=place_of.astype(np.int32),
        edge_bytes=np.array([costs[row] for row in rows], np.float64),
        latency_s=latency_s * apart,
        s_per_B=apart,
    )


def replayed(platform, assignment):
    """Return start and finish of each task, one after the other on its executor, and each when its data are there."""
    n = platform.successors.n
    executor, order = assignment.executor.tolist(), assignment.order.tolist()
    assert sorted(order) == list(range(n))
    starts, finishes, free = [0.0] * n, [None] * n, [0.0] * platform.n_executors
    inputs = [[] for _ in range(n)]
    for edge, (i, j) in enumerate(
        zip(platform.successors.sources(), platform.successors.indices, strict=True)
    ):
        inputs[j].append((int(i), edge))
    for task in order:
        where = executor[task]
        arrivals = [
            finishes[before] + platform.message_s(edge, executor[before], where)
            for before, edge in inputs[task]
        ]
        starts[task] = max([free[where], *arrivals])
        finishes[task] = free[where] = starts[task] + float(platform.seconds(task)[where])
    return starts, finishes


def makespan(platform, policy):
    """Return the end of a policy's plan."""
    return max(replayed(platform, policy.plan(platform, 0))[1])
