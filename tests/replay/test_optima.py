"""List schedules against optimal makespans: by brute force on tiny graphs, and the published ones of the STG set."""

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tarballs import unpack

import simsched as ss
from simsched.testing import check_graham
from simsched.testing.strategies import graphs

STG = Path(__file__).parents[2] / "../shared/samples/stg"


def brute_force(graph, workers):
    """Return the optimal makespan of one-core tasks: the best list schedule over all orders is optimal."""
    best = np.inf
    for order in itertools.permutations(range(graph.n_tasks)):
        best = min(best, list_makespan(graph, order, workers))
    return best


def list_makespan(graph, order, workers):
    """Return the makespan when tasks start in `order`, each as early as its predecessors and a worker allow."""
    finish, free = {}, [0.0] * workers
    for task in order:
        before = graph.predecessors.neighbours(task).tolist()
        if any(p not in finish for p in before):
            return np.inf
        worker = free.index(min(free))
        start = max([free[worker], *(finish[p] for p in before)])
        free[worker] = finish[task] = start + graph.durations_s[task]
    return max(finish.values(), default=0.0)


@settings(max_examples=10, deadline=None)
@given(graphs(max_tasks=5), st.integers(1, 3))
def test_no_policy_beats_brute_force(graph, workers):
    optimum = brute_force(graph, workers)
    for policy in ("fifo", "critical-path", "wavefront", "corun"):
        costs = ss.CostModel(curves=dict.fromkeys(graph.kinds.labels, ss.Curve(1.0)))
        schedule = ss.simulate(graph, f"generic[cores={workers}]", policy, costs=costs)
        assert schedule.makespan_s >= optimum * (1 - 1e-12)


def published():
    """Return (graph name, workers, optimum) of every published row at hand."""
    if not STG.exists():
        return []
    with (STG / "optima.csv").open() as file:
        return [
            (row["graph"], int(row["processors"]), float(row["optimal_makespan"]))
            for row in csv.DictReader(file)
        ]


@pytest.fixture(scope="module")
def stg(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stg")
    unpack(STG / "stg_50_100.tar.gz", folder)
    return folder


# One test for all rows: a thousand parametrised ones would say no more. Collected only where the set is at hand.
if published():

    def test_published_optima(stg, record_property):
        """Never below the optimum; critical path within Graham's bound, and mostly optimal."""
        # Every fourth row; `benchmarks/optimum.py` has all.
        rows, optimal = published()[::4], 0
        for name, workers, optimum in rows:
            graph = ss.load(stg / name)
            for policy in ("critical-path", "fifo", "wavefront"):
                schedule = ss.simulate(graph, f"generic[cores={workers}]", policy, f"{workers}x1")
                assert schedule.makespan_s >= optimum, (name, workers, policy)
                check_graham(schedule)
                optimal += policy == "critical-path" and schedule.makespan_s == optimum
        record_property("critical-path optimal", f"{optimal} of {len(rows)}")
        # The published study of the whole set finds 72 % for critical-path-first lists.
        assert optimal / len(rows) > 0.6
