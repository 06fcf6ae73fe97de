"""Linear clustering: the longest path that is left becomes a cluster (Kim and Browne)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.adjacency import Index
from simsched.native import find
from simsched.policy import Assignment, PlannedPolicy, Platform
from simsched.policy.planning import Priorities, plan_clusters
from simsched.policy.planning.compiled import bound
from simsched.policy.planning.paths import Paths


@dataclass(frozen=True, kw_only=True)
class LinearClustering(PlannedPolicy):
    """Linear clustering: the longest path of the tasks that are left runs on one executor, again and again.

    Paths are as long as their mean seconds, messages included. Where there are more clusters than executors, those of
    the most seconds go first, each to the executor that is done first, and tasks by their longest paths to a sink.

    Cost: O((tasks + edges) log(tasks) + clusters x executors), and tasks whose longest path changes with each cluster.

    References
    ----------
    Kim, Browne: A General Approach to Mapping of Parallel Computation upon Multiprocessor Architectures. ICPP 1988;
    with the longest path as in Gerasoulis, Yang: A Comparison of Clustering Heuristics for Scheduling Directed Acyclic
    Graphs on Multiprocessors. JPDC 16(4), 1992.

    Examples
    --------
    Two cores of different kinds; 5 and 1 s of data from the first task to the others, between cores:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([[2.0, 3.0], [3.0, 1.0], [4.0, 2.0]], [(0, 1), (0, 2)], edge_bytes=[5.0, 1.0])
    >>> machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    >>> schedule = ss.simulate(graph, machine, "linear-clustering")
    >>> schedule.executor.tolist(), schedule.start_s.tolist()
    ([1, 1, 0], [0.0, 3.0, 4.0])
    """

    name = "linear-clustering"
    family = "clustering"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order."""
        return plan_clusters(platform, linear_clusters(platform))


def linear_clusters(platform: Platform) -> Index:
    """Return the cluster of each task, numbered in the order in which they are found.

    Of equal paths, the one of the lower first task, then of the lower next one, is taken.
    """
    ranks, native = Priorities(platform), find()
    if native is not None:
        return np.asarray(native.linear_clusters(bound(native, platform), ranks.seconds, ranks.messages))
    paths, cluster = Paths(platform, ranks.seconds, ranks.messages), np.empty(platform.successors.n, np.int32)
    number = 0
    while path := paths.longest():
        cluster[path] = number
        paths.take_out(path)
        number += 1
    return cluster
