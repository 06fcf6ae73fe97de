"""One number, whoever says it: rows of sweeps and predictions are `simulate`'s, to the bit."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError

GENERATOR = np.random.default_rng(5)
BELOW = np.argwhere(np.triu(GENERATOR.random((30, 30)) < 0.1, 1))
GRAPH = ss.TaskGraph.from_edges(
    GENERATOR.uniform(1e-3, 9e-3, 30), BELOW, kinds=["MatMul", "add", "mine"] * 10, bytes_B=[5e7] * 30
)
NOISE = 0.3


def test_rows_of_a_sweep(engine, tmp_path):
    sweep = ss.Sweep(
        graphs=[GRAPH],
        machines=["knl-7250[cores=8]", "xeon-8160x2[cores=8]"],
        policies=["fifo", "critical-path[pinned=false]", "corun", "kind-widths[other=2]"],
        noises=[NOISE],
        seeds=range(2),
        engine=engine,
    )
    frame = sweep.run(tmp_path / "rows")
    assert len(frame) == 16
    for row in frame.itertuples():
        schedule = ss.simulate(
            GRAPH,
            row.machine,
            row.policy,
            row.layout_used,
            costs=ss.CostModel(noise=NOISE),
            engine=engine,
            seed=row.seed,
        )
        told = {"makespan_s": schedule.makespan_s, **schedule.metrics()}
        assert {name: getattr(row, name) for name in told} == told


@pytest.mark.parametrize("policy", ["fifo", "critical-path", "corun"])
def test_rows_of_a_prediction(policy):
    costs = ss.CostModel(noise=NOISE)
    frame = ss.predict(GRAPH, "knl-7250", policy, [4, 68], costs=costs, samples=1, seed=3)
    for cores, layout, makespan_s in frame[["cores", "layout", "makespan_s"]].itertuples(index=False):
        machine = f"knl-7250[cores={cores}]"
        for given in (layout, "best"):
            assert ss.simulate(GRAPH, machine, policy, given, costs, seed=3).makespan_s == makespan_s


def test_graphs_without_names_are_refused():
    with pytest.raises(SimschedError, match=r"expected graphs by name, as in \{'mine': graph\}"):
        ss.replayed([GRAPH], "generic", ["fifo"])
