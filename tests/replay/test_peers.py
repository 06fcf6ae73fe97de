"""Cases that other simulators' own tests fix, from seconds and edges alone; more beside what each is about.

HEFT, CPOP and DSLab: tests/policies/test_planners.py. Estee's list schedulers and rigid tasks, WRENCH's batch service:
test_runtimes.py and test_backfilling.py there. SimGrid: test_data.py, test_fair_shares.py, tests/machine/test_power.py.
"""

from __future__ import annotations

import pytest

import simsched as ss

#: Estee, tests/test_estee: seconds and edges of its eight tasks.
ESTEE = [2, 3, 2, 1, 1, 6, 1, 1], [(0, 2), (2, 4), (1, 4), (3, 4), (3, 5), (4, 7), (5, 7), (6, 7), (2, 7)]


@pytest.mark.parametrize(("workers", "least", "most"), [(1, 17, 17), (2, 9, 12), (3, 8, 9)])
def test_any_order_of_estee(workers, least, most, engine):
    """Ready tasks in random order, on as many workers, which are next to each other."""
    graph = ss.TaskGraph.from_edges(*ESTEE)
    found = {
        ss.simulate(
            graph,
            f"generic[cores={workers}]",
            "fifo[order=random]",
            layout=f"{workers}x1",
            seed=seed,
            engine=engine,
        ).makespan_s
        for seed in range(50)
    }
    assert least <= min(found) <= max(found) <= most
    assert (len(found) == 1) == (workers == 1)


def test_scheduling_takes_time_in_estee(engine):
    """Each decision takes 2 s: 3 s from 2 on, then 1 s from 7, 10 and 13 on."""
    chain = ss.TaskGraph.from_edges([3, 1, 1, 1], [(0, 1), (1, 2), (2, 3)])
    runtime = ss.RuntimeProfile(dispatch_s=2.0)
    schedule = ss.simulate(
        chain, "generic[cores=1]", "critical-path", layout="1x1", runtime=runtime, engine=engine
    )
    assert schedule.finish_s.tolist() == [5, 8, 11, 14]


@pytest.mark.parametrize(
    ("one_core_s", "serial", "ends"), [(100, 0.7, 77.5), (100, 0.1, 32.5), (100 / 0.3, 0.0, 100 / 1.2)]
)
def test_speed_ups_of_wrench(one_core_s, serial, ends, engine):
    """Work of 100 s on 4 cores: 30 % of it parallel, 90 % of it, and all of it at an efficiency of 0.3."""
    graph = ss.TaskGraph.from_edges([one_core_s], kinds="work")
    costs = ss.CostModel({"work": ss.Curve(serial_share=serial)})
    schedule = ss.simulate(graph, "generic[cores=4]", "sequential", costs=costs, engine=engine)
    assert schedule.makespan_s == pytest.approx(ends)
