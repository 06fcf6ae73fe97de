"""Clustering: forks and joins that DSC solves optimally, paths of linear clustering, clusters on few executors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.policies.dsc import dominant_sequences
from simsched.policies.linear_clustering import linear_clusters
from simsched.policy.planning import Priorities, plan_clusters

from .planned import KWOK, makespan, platform_of, replayed
from .test_planners import platforms

#: Seconds, and what an edge costs.
LEAVES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8)


def optimum_of_star(root: int, leaves: list[tuple[int, int]]) -> int:
    """Return the shortest fork or join: those of the greatest seconds and cost beside the root, one after another."""
    by_length = sorted(leaves, key=sum, reverse=True)
    lengths = [*map(sum, by_length), 0]
    return root + min(
        max(sum(seconds for seconds, _ in by_length[:k]), lengths[k]) for k in range(len(lengths))
    )


@given(st.integers(0, 9), LEAVES)
def test_dsc_is_optimal_for_forks(root, leaves):
    """Yang, Gerasoulis 1994, Sec. 5."""
    seconds = [root, *(one for one, _ in leaves)]
    edges = [(0, task, cost) for task, (_, cost) in enumerate(leaves, 1)]
    platform = platform_of(seconds, edges, processors=len(seconds))
    assert makespan(platform, ss.policy("dsc")) == optimum_of_star(root, leaves)


@given(st.integers(0, 9), LEAVES)
def test_dsc_is_optimal_for_joins(root, leaves):
    """Yang, Gerasoulis 1994, Sec. 5: predecessors come along into the cluster of the last."""
    seconds, last = [*(one for one, _ in leaves), root], len(leaves)
    edges = [(task, last, cost) for task, (_, cost) in enumerate(leaves)]
    platform = platform_of(seconds, edges, processors=len(seconds))
    assert makespan(platform, ss.policy("dsc")) == optimum_of_star(root, leaves)


def test_dsc_leaves_the_cluster_to_the_dominant_sequence():
    """The longest path goes 0 (1 s), 10 s of data, 2 (5 s), which also waits for 1 (1 s, 1 s of data).

    1 could start at 1 beside 0, in place of 3; but 2 is on the path, and could start there. 3 needs 1, too, so 1 does
    not come along when 2 joins 0, at 5.
    """
    platform = platform_of([1, 1, 5, 1], [(0, 1, 2), (0, 2, 10), (1, 2, 1), (1, 3, 1)], processors=4)
    cluster, start = dominant_sequences(platform)
    assert cluster.tolist() == [0, 1, 0, 1]
    assert (start / 4).tolist() == [0, 3, 5, 4]
    assert makespan(platform, ss.policy("dsc")) == 10


def test_linear_clustering_of_the_survey():
    """Kwok, Ahmad: the path 1, 7, 9 of 23 s, then 4 and 8, 2 and 6; 19 s."""
    platform = platform_of(*KWOK, processors=9)
    assert linear_clusters(platform).tolist() == [0, 2, 4, 1, 3, 2, 0, 1, 0]
    assert makespan(platform, ss.policy("linear-clustering")) == 19


@settings(max_examples=20)
@given(platforms())
def test_clusters_are_longest_paths(platform):
    """Each is a path, the first as long as the critical path, and none longer than the one before."""
    ranks, graph = Priorities(platform), platform.successors
    messages = dict(
        zip(zip(graph.sources().tolist(), graph.indices.tolist(), strict=True), ranks.messages, strict=True)
    )
    cluster, order = linear_clusters(platform), graph.topological_order
    lengths = []
    for number in range(cluster.max(initial=-1) + 1):
        path = [task for task in order.tolist() if cluster[task] == number]
        edges = pairwise(path)
        lengths.append(sum(ranks.seconds[path].tolist()) + sum(messages[edge] for edge in edges))
    assert lengths == pytest.approx(sorted(lengths, reverse=True))
    assert max(lengths, default=0) == pytest.approx(ranks.b_level.max(initial=0))


@settings(max_examples=20)
@given(platforms())
def test_dsc_is_never_longer_than_no_clusters(platform):
    """Each zeroing reduces a start: with an executor for each task, the critical path with messages is a bound."""
    alike = platform_of(
        platform.mean_seconds,
        [
            (i, j, message)
            for i, j, message in zip(
                platform.successors.sources().tolist(), platform.successors.indices.tolist(),
                platform.mean_message_s.tolist(), strict=True,
            )
        ],
        processors=max(platform.successors.n, 1),
    )  # fmt: skip
    ends = replayed(alike, ss.policy("dsc").plan(alike, 0))[1]
    alone = replayed(alike, plan_clusters(alike, np.arange(alike.successors.n, dtype=np.int32)))[1]
    assert max(ends, default=0) <= max(alone, default=0) * (1 + 1e-12)


def test_heaviest_clusters_go_first_where_executors_are_few():
    """5, 4, 3 and 3 s on two executors: 5 and 3 on the first, 4 and 3 on the second."""
    platform = platform_of([3, 4, 5, 3], [], processors=2)
    cluster = np.arange(4, dtype=np.int32)
    assert plan_clusters(platform, cluster).executor.tolist() == [1, 1, 0, 0]
    # On an executor that is three times as fast, three of them.
    unequal = platform_of([[9, 3], [12, 4], [15, 5], [9, 3]], [])
    assert plan_clusters(unequal, cluster).executor.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("policy", ["dsc", "linear-clustering"])
def test_both_engines_replay_what_is_planned(policy, engine):
    seconds, edges = KWOK
    graph = ss.TaskGraph.from_edges(
        [float(one) for one in seconds],
        [edge[:2] for edge in edges],
        edge_bytes=[float(edge[2]) for edge in edges],
    )
    schedule = ss.simulate(graph, "generic[cores=9,link_Bps=1.0,data=sent]", policy, engine=engine)
    starts, _ = replayed(platform := platform_of(*KWOK, processors=9), ss.policy(policy).plan(platform, 0))
    assert schedule.start_s.tolist() == starts
