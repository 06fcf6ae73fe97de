"""`Sweep`: which points there are, what their rows say, and that each can be replayed."""

import json
import os

import numpy as np
import pandas as pd
import pytest

import simsched as ss
from simsched.errors import SimschedError, SpecError, SweepError
from simsched.sweep import Range, results, running

MACHINE = "generic[cores=4]"


def sweep(graph, **options):
    return ss.Sweep(**{"graphs": [graph], "machines": [MACHINE], "policies": ["fifo"], **options})


def test_product_has_every_combination_once(graph):
    made = sweep(
        graph, policies=["fifo", "critical-path"], layouts=["2x1", "4x1"], seeds=range(3), noises=[0, 0.5]
    )
    rows = [made.point(number) for number in range(len(made))]
    assert len(made) == 2 * 2 * 3 * 2
    assert len({(p.policy, p.layout, p.seed, p.noise) for p in rows}) == len(made)


def test_what_does_not_matter_to_a_policy_is_no_point(graph):
    made = sweep(
        graph,
        policies=["sequential", "critical-path"],
        layouts=["2x1", "4x1"],
        policy_parameters={"reserved": [0, 1]},
    )
    assert len(made) == 1 + 2 * 2
    assert made.point(0).layout is None
    assert made.point(0).policy_parameters == ()


@pytest.mark.parametrize("design", ["sobol", "latin-hypercube"])
def test_sampled_designs_fill_the_space_evenly(graph, design):
    ranges = {"core_bandwidth_Bps": Range(1e9, 1e11, log=True), "cores": Range(4, 11)}
    made = sweep(
        graph, policies=["fifo", "critical-path"], machine_parameters=ranges, design=design, samples=64
    )
    points = [made.point(number) for number in range(64)]
    bandwidths = np.array([dict(point.machine_parameters)["core_bandwidth_Bps"] for point in points])
    cores = [dict(point.machine_parameters)["cores"] for point in points]
    assert np.bincount([point.policy for point in points]).tolist() == [32, 32]
    assert np.bincount(cores, minlength=12)[4:].tolist() == [8] * 8
    assert np.histogram(np.log10(bandwidths), [9, 9.5, 10, 10.5, 11])[0].tolist() == [16] * 4
    again = sweep(
        graph, policies=["fifo", "critical-path"], machine_parameters=ranges, design=design, samples=64
    )
    assert (again.choices == made.choices).all()


def test_rows_hold_inputs_outcome_and_versions(graph, tmp_path):
    made = sweep(
        graph, machine_parameters={"cores": [2, 4]}, policies=["critical-path", "sequential"], layouts=["2x1"],
        policy_parameters={"reserved": [0]}, scalings=[1.0, {"B": 2.0}], noises=[0.1], seeds=[7],
    )  # fmt: skip
    frame = made.run(tmp_path / "store")
    assert frame["point"].tolist() == list(range(len(made)))
    assert frame["machine"].unique().tolist() == ["generic[cores=2]", "generic[cores=4]"]
    assert frame["machine.cores"].unique().tolist() == [2, 4]
    assert frame.loc[frame["policy"] == "sequential", "policy.reserved"].isna().all()
    assert set(frame["scaling"]) == {"1", '{"B": 2.0}'}
    assert set(frame["seed"]) == {7}
    assert set(frame["noise"]) == {0.1}
    assert frame["error"].isna().all()
    assert set(frame["layout_used"]) == {"2x1", "1x2", "1x4"}
    assert (frame["makespan_s"] > 0).all()
    assert frame["numpy"].unique().tolist() == [np.__version__]
    pd.testing.assert_frame_equal(frame, results(tmp_path / "store"))
    pd.testing.assert_frame_equal(frame, pd.read_parquet(tmp_path / "store" / "results.parquet"))


def test_every_row_is_replayed_to_the_bit(graph, tmp_path):
    made = sweep(
        graph, policies=["fifo[order=random]", "corun"], seeds=range(5), noises=[0.3], layouts=["2x1", None]
    )
    frame = made.run(tmp_path / "store")
    for _, row in frame.iterrows():
        schedule = made.replay(row)
        assert schedule.makespan_s == row["makespan_s"]
        assert schedule.layout == row["layout_used"]
    assert frame["makespan_s"].nunique() > 5


def test_a_row_and_the_store_are_enough_to_replay(graph, tmp_path):
    made = sweep(
        graph, policies=["fifo[order=random]"], seeds=[5], noises=[0.3], machine_parameters={"cores": [3]}
    )
    row = made.run(tmp_path / "store").iloc[0]
    stored = ss.load(tmp_path / "store" / "graphs" / f"{row['graph_id']}.simsched")
    costs = ss.CostModel(noise=row["noise"])
    schedule = ss.simulate(
        stored, row["machine"], row["policy"], row["layout_used"], costs, seed=int(row["seed"])
    )
    assert schedule.makespan_s == row["makespan_s"]


def test_rows_of_another_sweep_are_not_replayed(graph, tmp_path):
    row = sweep(graph).run(tmp_path / "store").iloc[0]
    with pytest.raises(SweepError, match="is of sweep"):
        sweep(graph, seeds=[1]).replay(row)
    with pytest.raises(SweepError, match="not a row of a sweep"):
        sweep(graph).replay({"makespan_s": 1.0})


def test_what_fails_is_the_error_of_its_row(graph, tmp_path):
    frame = sweep(graph, layouts=["2x1", "99x1"]).run(tmp_path / "store")
    assert frame["error"].isna().tolist() == [True, False]
    assert frame["error"][1].startswith("LayoutError: the layout 99x1 needs 99 cores")
    assert np.isnan(frame["makespan_s"][1])


def test_scaled_seconds_are_longer_schedules(graph, tmp_path):
    frame = sweep(graph, scalings=[1.0, 3.0, {"B": 10.0}]).run(tmp_path / "store")
    assert frame["makespan_s"].tolist() == [5.0, 15.0, 40.0]


def test_scaling_a_generated_graph_scales_its_work(tmp_path):
    graph = ss.workload("lstm[layers=1,steps=2,hidden=64,batch=4]")
    frame = sweep(graph, machines=["generic[cores=1,contention=false]"], scalings=[1.0, 2.0]).run(
        tmp_path / "store"
    )
    assert frame["makespan_s"][1] == pytest.approx(2 * frame["makespan_s"][0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"graphs": []}, "graphs"),
        ({"machines": "generic"}, "machines"),
        ({"seeds": [-1]}, "seed"),
        ({"noises": ["much"]}, "noise"),
        ({"scalings": [0.0]}, "scalings"),
        ({"scalings": [{"A": -1.0}]}, "scalings"),
        ({"policy_parameters": {"nonsense": [1]}}, "no policy has 'nonsense'"),
        ({"machine_parameters": {"corez": [1]}}, "no parameter 'corez'; did you mean cores?"),
        ({"graphs": ["lsmt"]}, "no such workload .*; did you mean lstm?"),
        ({"machine_parameters": {"cores": [[1]]}}, "machine.cores"),
        ({"machine_parameters": {"cores": Range(1, 2)}}, "a range has no product"),
        ({"samples": 4}, "samples"),
        ({"design": "sobol"}, "samples"),
        ({"design": "random"}, "no design 'random'"),
        ({"engine": "fast"}, "no engine 'fast'"),
        ({"costs": 1}, "CostModel"),
        ({"seeds": range(4000), "noises": [0.1] * 3000}, "12000000 points"),
        ({"seeds": range(10**12)}, "seed: 1000000000000 values; 10000000 are the most"),
        ({"design": "sobol", "samples": 4, "design_seed": -1}, "design_seed is -1"),
        ({"seeds": [1 << 63]}, "below 2\\^63"),
    ],
)
def test_impossible_sweeps_are_refused_at_once(graph, options, words):
    with pytest.raises(SimschedError, match=words):
        sweep(graph, **options)


def test_ranges_are_checked():
    for low, high, log in ((2, 1, False), (0.0, 1.0, True), (0.0, float("inf"), False)):
        with pytest.raises(SpecError, match="Range"):
            Range(low, high, log)
    for low, high in (("1", 2), (None, 2), (False, 2)):
        with pytest.raises(SpecError, match="the ends of a range are numbers"):
            Range(low, high)


def test_policies_in_python_run_in_processes(graph, lethal, tmp_path):
    from lethal import Decides

    native = sweep(graph, seeds=range(4)).run(tmp_path / "a")
    frame = sweep(graph, policies=[Decides()], seeds=range(4)).run(tmp_path / "b", workers=2)
    assert frame["makespan_s"].tolist() == native["makespan_s"].tolist()
    simpy = sweep(graph, seeds=range(4), engine="simpy").run(tmp_path / "c", workers=2)
    assert simpy["makespan_s"].tolist() == native["makespan_s"].tolist()
    assert set(simpy["engine_used"]) == {"simpy"}


def test_progress_adds_up(graph, tmp_path):
    told = []
    sweep(graph, seeds=range(50)).run(tmp_path / "store", progress=told.append)
    assert sum(told) == 50
    sweep(graph, seeds=range(50)).run(tmp_path / "store", progress=told.append)
    assert sum(told) == 100


def test_the_head_says_what_the_sweep_is(graph, tmp_path):
    made = sweep(graph, layouts=["2x1"], seeds=[3])
    made.run(tmp_path / "store")
    head = json.loads((tmp_path / "store" / "sweep.json").read_text())
    assert head["layout"] == ["2x1"]
    assert head["seed"] == [3]
    (stored,) = (tmp_path / "store" / "graphs").iterdir()
    assert ss.load(stored).durations_s.tolist() == graph.durations_s.tolist()


def test_noise_models_are_an_axis(graph, tmp_path):
    made = sweep(graph, layouts=["4x1"], noises=[0.2, "stragglers[share=0.5]"], seeds=[3])
    frame = made.run(tmp_path / "store")
    assert frame["noise"].tolist() == ["lognormal[sigma=0.2]", "stragglers[share=0.5]"]
    for row in frame.to_dict("records"):
        costs = ss.CostModel(noise=row["noise"])
        again = ss.simulate(graph, MACHINE, "fifo", "4x1", costs=costs, seed=3)
        assert again.makespan_s == row["makespan_s"]
        assert made.replay(row["point"]).makespan_s == row["makespan_s"]


def test_noise_of_the_cost_model_is_told(graph, tmp_path):
    costs = ss.CostModel(noise="stragglers")
    frame = sweep(graph, costs=costs).run(tmp_path / "store")
    assert frame["noise"].tolist() == ["stragglers"]


def test_parameters_from_numpy_are_numbers(graph):
    made = sweep(graph, machine_parameters={"cores": np.array([2, 4])})
    assert [made.replay(number).machine.spec for number in range(2)] == [
        "generic[cores=2]",
        "generic[cores=4]",
    ]


def test_a_sweep_takes_the_cpus_of_its_process_and_not_of_the_machine(graph, tmp_path, monkeypatch):
    """A batch job of three CPUs on a node of 64."""
    begun = []

    class Threads(running.Threads):
        def __init__(self, made, count, store):
            begun.append(count)
            super().__init__(made, count, store)

    monkeypatch.setattr(running, "Threads", Threads)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 9})
    sweep(graph).run(tmp_path / "a")
    sweep(graph).run(tmp_path / "b", workers=7)
    assert len(begun) == 2
    assert begun[0] <= 3
    assert begun[1] == 7


def test_runs_that_nobody_aborted_lost_nothing(tmp_path):
    """Two points, of which one aborts runs: the other lost 0 core-seconds, which is known."""
    graph = ss.TaskGraph.from_edges([[4.0, 1.0], [4.0, 1.0]])
    machine = "generic[cores=2,kinds=each]"
    frame = ss.Sweep(graphs=[graph], machines=[machine], policies=["heteroprio", "fifo"]).run(tmp_path)
    assert (frame["lost_core_s"] >= 0).all()
