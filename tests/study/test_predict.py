"""Predictions by core count: interval, knee, what binds, weak scaling, what is extrapolated."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.errors import GraphError, SimschedError
from simsched.graph import Recording
from simsched.intervals import spread
from simsched.study.binding import (
    HARDLY,
    NO_WIDTH,
    OTHER_WIDTHS,
    RESOURCES,
    WIDER,
    binding,
    bottleneck,
    bound_by,
)
from simsched.study.core_counts import knee
from simsched.study.parts import PARTS
from simsched.testing import strategies as ours
from simsched.units import format_time

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
CONVOLUTION = ss.TaskGraph.from_edges([1.0], kinds=["Conv2D"])
NOISY = ss.CostModel(noise=0.2)


def test_exact_costs_have_no_width_of_interval():
    frame = ss.predict(GRAPH, "generic", "critical-path", [1, 2])
    assert frame["low_s"].tolist() == frame["high_s"].tolist() == frame["makespan_s"].tolist() == [6, 4]
    assert frame["samples"].tolist() == [20, 20]


def test_a_single_sample_has_no_interval():
    assert (
        ss.predict(GRAPH, "generic", "fifo", [1], NOISY, samples=1)[["low_s", "high_s"]].isna().all(axis=None)
    )


def test_noise_is_that_of_simulate_seed_by_seed():
    frame = ss.predict(GRAPH, "generic", "fifo", [1, 2], NOISY, seed=3, samples=7)
    for row, cores in zip(frame.itertuples(), (1, 2), strict=True):
        machine = f"generic[cores={cores}]"
        runs = [ss.simulate(GRAPH, machine, "fifo", costs=NOISY, seed=seed) for seed in range(3, 10)]
        found = spread([run.makespan_s for run in runs])
        assert (row.makespan_s, row.low_s, row.high_s) == pytest.approx(found)
    assert frame.equals(ss.predict(GRAPH, "generic", "fifo", [1, 2], NOISY, seed=3, samples=7))


def test_the_uncertainty_of_curves_is_in_the_interval():
    """One convolution on 8 cores: at least between what serial shares of 0 and 12.8 % make of it, its own inside."""
    (row,) = ss.predict(CONVOLUTION, "generic", "sequential", [8], samples=200).itertuples()

    def seconds(share: float, added: float) -> float:
        curve = ss.Curve(share, added)
        return ss.simulate(
            CONVOLUTION, "generic[cores=8]", "sequential", costs=ss.CostModel({"Conv2D": curve})
        ).makespan_s

    assert row.makespan_s == seconds(0.004, 0.00031)
    assert 1 / 8 <= row.low_s < row.makespan_s < row.high_s < 1, "no team gains more than its threads"
    assert row.high_s > seconds(0.1, 0.0)


def test_knee_of_amdahls_law():
    """A serial share s has its knee at (1 - s) / s cores."""
    for serial in (0.5, 0.2, 0.1, 0.01):
        cores = np.arange(1, 300)
        expected = round((1 - serial) / serial)
        assert cores[knee(cores, 1 / (serial + (1 - serial) / cores))] == expected


@given(st.lists(st.integers(1, 500), min_size=1, unique=True), st.floats(1e-3, 1e3))
def test_knee_does_not_depend_on_order_or_unit(cores, unit):
    speedup = np.array([unit / (0.05 + 0.95 / p) for p in cores])
    place = knee(cores, speedup)
    assert cores[place] == sorted(cores)[knee(sorted(cores), np.sort(speedup))]
    assert cores[place] == cores[knee(cores, speedup / unit)]


def test_knees_that_tie_and_none():
    assert knee([4, 1], [2.0, 1.0]) == 1, "speedup 2 on 4 cores is worth as much as 1 on 1: the fewest"
    assert knee([1, 2], [0.0, 0.0]) is None
    assert not ss.predict(ss.TaskGraph.from_edges([]), "generic", "fifo", [1, 2])["knee"].any()


def test_a_knee_at_the_end_says_that_it_may_lie_beyond():
    many = ss.TaskGraph.from_edges([1.0] * 64)
    frame = ss.predict(many, "generic", "fifo", [1, 4, 16])
    assert frame["knee"].tolist() == [False, False, True]
    assert frame["note"].tolist() == ["", "", "the knee may lie at more cores than were asked for"]


def test_what_binds_of_a_noisy_task_is_as_much_longer_or_shorter_as_the_task():
    """Half serial, on two cores: 0.75 s, of which 0.25 are lost in the team; a fifth of both passes."""
    graph, costs = ss.TaskGraph.from_edges([1.0]), ss.CostModel(default=ss.Curve(0.5))
    short = ss.simulate(graph, "generic[cores=2]", "sequential", costs=costs, factors=[0.2])
    found = bound_by(short)
    assert (found["team overhead"], found["dependencies"]) == pytest.approx((0.05, 0.1))


def test_what_binds_by_hand():
    """One core: another task waits for it until 4 s, the last one waited. Two: the chain of 4 s is the makespan."""
    frame = ss.predict(GRAPH, "generic", "critical-path", [1, 2])
    assert frame["binds"].tolist() == ["cores", "critical path"]
    assert frame["binds_share"].tolist() == [1, 1]


def test_dispatch_binds_where_tasks_are_tiny(engine):
    """Eight tasks of 1 us, one after another started in 10 us each: 80 us of dispatch, 1 us of work."""
    tiny = ss.TaskGraph.from_edges([1e-6] * 8)
    run = ss.simulate(tiny, "generic[cores=8]", "fifo", runtime=ss.RuntimeProfile(pop_s=1e-5), engine=engine)
    assert binding(bound_by(run))[0] in ("dispatch", "queue")
    assert sum(bound_by(run).values()) == pytest.approx(run.makespan_s)


def test_memory_binds_where_tasks_ask_for_more_than_there_is(engine):
    """Four tasks of 1 s ask for 4 x 10 GB/s of 10 GB/s: they take 4 s, 3 of them for the memory."""
    graph = ss.TaskGraph.from_edges([1.0] * 4, bytes_B=[1e10] * 4)
    machine = "generic[cores=4,bandwidth_Bps=1e10,contention=false,share_bandwidth=true]"
    run = ss.simulate(graph, machine, "fifo", engine=engine)
    assert run.makespan_s == pytest.approx(4)
    assert bound_by(run)["memory bandwidth"] == pytest.approx(3)
    assert binding(bound_by(run)) == ("memory bandwidth", pytest.approx(0.75))


def test_a_team_that_waits_for_its_own_bytes():
    """One task of 1 s moves 10 GB: on 4 cores with 10 GB/s together it takes 1 s, not 1/4."""
    graph = ss.TaskGraph.from_edges([1.0], kinds=["MatMul"], bytes_B=[1e10], flops=[1e12])
    run = ss.simulate(graph, "generic[cores=4,bandwidth_Bps=1e10]", "sequential")
    assert bound_by(run) == {"dependencies": 0.25, "memory bandwidth": 0.75}


def test_teams_bind_where_tasks_do_not_divide():
    """One task, nine tenths serial, on 4 cores: 0.9 + 0.1 / 4 = 0.925 s, 1/4 s of which is perfect."""
    costs = ss.CostModel({"mine": ss.Curve(0.9)})
    graph = ss.TaskGraph.from_edges([1.0], kinds=["mine"])
    found = bound_by(ss.simulate(graph, "generic[cores=4]", "sequential", costs=costs))
    assert found == {"dependencies": 0.25, "team overhead": pytest.approx(0.675)}


def test_aborted_runs_are_put_down_to_cores(engine):
    """Task 0 runs for 1.5 s in vain until the core on which it takes 1 s is free; they once ended in an IndexError."""
    graph = ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
    runtime = ss.RuntimeProfile(dispatch_s=0.5)
    run = ss.simulate(
        graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1", runtime=runtime, engine=engine
    )
    found = bound_by(run)
    assert found == {"cores": 1.5, "dispatch": 0.5, "dependencies": 1.0}
    assert sum(found.values()) == run.makespan_s == 3


@pytest.mark.parametrize("seed", range(5))
def test_parts_of_schedules_with_aborted_runs_add_up(seed):
    random = np.random.default_rng(seed)
    n, kinds = 60, 4
    graph = ss.TaskGraph.from_edges(
        random.lognormal(0, 1.5, (n, kinds)), [(int(random.integers(i)), i) for i in range(20, n)]
    )
    run = ss.simulate(graph, f"generic[cores={kinds},kinds=each]", "heteroprio")
    assert len(run.lost.task) > 0
    assert sum(bound_by(run).values()) == pytest.approx(run.makespan_s)


def test_members_without_work_and_narrow_teams_bind():
    """Two pieces of 1/2 s on four cores: 1/4 s is perfect, if another task waits. On one core: 1 s, which two halve."""
    costs = ss.CostModel({"mine": ss.Curve(0.0, grain_flops=1e9)})

    def found(layout, tasks=1):
        graph = ss.TaskGraph.from_edges([1.0] * tasks, kinds=["mine"] * tasks, flops=[2e9] * tasks)
        options = {"costs": costs, "runtime": ss.RuntimeProfile(), "layout": layout}
        return bound_by(ss.simulate(graph, "generic[cores=4]", "fifo", **options))

    assert found("1x4", 2) == {"cores": 0.5, "members without work": 0.5}
    assert found("1x4") == {"dependencies": 0.5}, "nobody waits for the other two cores"
    assert found("1x2") == {"dependencies": 0.5}
    assert found("4x1") == {"dependencies": 0.5, "narrow teams": 0.5}


SERIAL = ss.TaskGraph.from_edges([3.0, 1.0, 2.0, 0.5], [(0, 1), (1, 2), (0, 3)])


def test_the_critical_path_binds_serial_tasks_in_wide_teams():
    """A chain of 6 s beside a task of 0.5 s: two of the three cores of each team idle, and nobody waits for them."""
    frame = ss.predict(SERIAL, "generic", "critical-path", [6, 12], width=3, samples=1)
    assert frame["makespan_s"].tolist() == [6.0, 6.0]
    assert frame["binds"].tolist() == ["critical path", "critical path"]
    assert frame["binds_share"].tolist() == [1, 1]


def test_members_without_work_bind_serial_tasks_that_wait_for_a_team():
    """Four of 1 s in one team of three: while 1 s each keeps the next one waiting, a third of the cores works."""
    frame = ss.predict(ss.TaskGraph.from_edges([1.0] * 4), "generic", "fifo", [3], width=3, samples=1)
    assert frame["binds"].tolist() == ["members without work"]
    assert frame["binds_share"].tolist() == pytest.approx([2 / 3])


def test_the_critical_path_binds_up_to_a_twentieth_above_it():
    """All in sequence on one core: 19 s of 20 are a chain; and 18 of 20."""
    for first_s, binds in ((19.0, "critical path"), (18.0, "cores")):
        graph = ss.TaskGraph.from_edges([first_s / 2, first_s / 2, 20.0 - first_s], [(0, 1)])
        assert bottleneck(ss.simulate(graph, "generic[cores=1]", "critical-path")) == (binds, 1.0)


def test_memory_binds_a_critical_path_that_waits_for_it():
    graph = ss.TaskGraph.from_edges([1.0], kinds=["MatMul"], bytes_B=[1e10], flops=[1e12])
    run = ss.simulate(graph, "generic[cores=4,bandwidth_Bps=1e10]", "sequential")
    assert bottleneck(run) == ("memory bandwidth", 0.75)


def test_what_to_do_about_a_critical_path():
    """A task of two pieces is as fast on a team of one as of four, twice as fast on one of two."""
    serial = ss.predict(SERIAL, "generic", "fifo", [4, 8], samples=1)
    assert f"critical path at 4, 8 cores: {NO_WIDTH}" in serial.notes
    late = ss.TaskGraph.from_edges([9.5, 9.5, 1.0], [(0, 1)])
    notes = ss.predict(late, "generic", "critical-path", [1, 2], samples=1).notes
    assert {f"critical path at 2 cores: {NO_WIDTH}", f"critical path at 1 core: {HARDLY}"} <= {*notes}
    costs = ss.CostModel({"mine": ss.Curve(0.0, grain_flops=1e9)})
    graph = ss.TaskGraph.from_edges([1.0], kinds=["mine"], flops=[2e9])
    narrow = ss.predict(graph, "generic", "fifo", [4], costs, width=1, samples=1)
    assert f"critical path at 4 cores: {OTHER_WIDTHS}" in narrow.notes
    two = ss.predict(graph, "generic", "fifo", [1, 2, 4], costs, samples=1)
    assert f"critical path at 1 core: {WIDER}" in two.notes
    assert f"critical path at 2, 4 cores: {NO_WIDTH}" in two.notes
    slow = ss.predict(ss.TaskGraph.from_edges([[2.0, 1.0]]), "generic[kinds=each]", "fifo", [2], samples=1)
    assert any("another kind of cores" in note and "heft" in note for note in slow.notes)
    found = ss.machines(SERIAL, ["generic[cores=4]"], ["fifo"], samples=1)
    assert f"critical path on generic[cores=4]: {NO_WIDTH}" in found.notes


def test_kinds_of_which_nothing_is_known_are_named():
    """A label decides whether a task divides: gemm does, DGEMM does not, and the advice says that it is assumed."""
    unknown = ss.TaskGraph.from_edges([8.0, 8.0], [(0, 1)], kinds=["syrk", "DGEMM"])
    notes = ss.predict(unknown, "generic", "fifo", [4], samples=1).notes
    assert any(note.startswith("kinds taken to be serial") and "'syrk', 'DGEMM'" in note for note in notes)
    (advice,) = (note for note in notes if note.startswith("critical path at 4 cores"))
    assert advice.startswith(
        f"critical path at 4 cores: {NO_WIDTH}; of 'syrk', 'DGEMM', of which nothing is known"
    )
    given = ss.CostModel(dict.fromkeys(["syrk", "DGEMM"], ss.Curve(serial_share=1.0)))
    assert (
        f"critical path at 4 cores: {NO_WIDTH}"
        in ss.predict(unknown, "generic", "fifo", [4], given, samples=1).notes
    )


def test_given_durations_that_are_divided_say_so():
    """9 s in place of 16: the kind split is one of ONNX, and divides."""
    graph = ss.TaskGraph.from_edges([8.0, 8.0], [(0, 1)], kinds=["split", "merge"])
    found = ss.compare(graph, "generic[cores=8]", ["heft"])
    assert found["makespan_s"].tolist() == pytest.approx([9.0])
    assert any("those of 'split' are divided over wider teams" in note for note in found.notes)


def test_weak_scaling_says_a_note_once():
    graph = ss.TaskGraph.from_edges([1.0, 1.0])
    notes = ss.predict(graph, "generic", "fifo", [2, 4, 8], weak=True, samples=1).notes
    (note,) = (note for note in notes if "given durations" in note)
    assert note.startswith("at 8 cores: 8 given durations are taken as they are")


def test_what_grew_explains_a_slow_down():
    """A pop takes 10 us for each idle executor besides: the more executors poll, the longer 64 tasks of 1 us take."""
    tiny = ss.TaskGraph.from_edges([1e-6] * 64)
    runtime = ss.RuntimeProfile(pop_s=1e-6, pop_per_poller_s=1e-5)
    frame = ss.predict(tiny, "generic", "fifo", [16, 4, 8], runtime=runtime, width=1, samples=1).set_index(
        "cores"
    )
    assert frame["makespan_s"].sort_index().is_monotonic_increasing
    assert frame["grew"][4] == ""
    grown_s = frame["dispatch_s"][16] - frame["dispatch_s"][8]
    assert frame["grew"][16].startswith(f"dispatch +{format_time(grown_s)}")


def test_parts_of_predictions_add_up_and_name_every_resource():
    frame = ss.predict(
        ss.workload("lstm[layers=2,steps=3]"), "knl-7250", "critical-path", [4, 16, 64], samples=1
    )
    assert frame[list(PARTS)].sum(axis=1).to_numpy() == pytest.approx(
        frame["makespan_s"].to_numpy(), rel=1e-6
    )
    assert sorted(RESOURCES) == sorted(resource for _, resources in PARTS.values() for resource in resources)


@settings(max_examples=15)
@given(
    graph=ours.graphs(widths=4),
    machine=ours.machines(),
    runtime=ours.runtimes(),
    policy=st.sampled_from(["fifo", "critical-path", "corun", "sequential"]),
    noise=st.sampled_from([0.0, 0.4]),
)
def test_parts_add_up_to_the_makespan(graph, machine, runtime, policy, noise):
    run = ss.simulate(graph, machine, policy, costs=ss.CostModel(noise=noise), runtime=runtime)
    found = bound_by(run)
    assert set(found) <= set(RESOURCES)
    assert sum(found.values()) == pytest.approx(run.makespan_s, rel=1e-6, abs=1e-12)


def test_weak_scaling_by_copies():
    """A chain of 3 s a core: as many chains as cores take as long, at full efficiency."""
    chain = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
    frame = ss.predict(chain, "generic", "fifo", [1, 2, 8], weak=True)
    assert frame["tasks"].tolist() == [2, 4, 16]
    assert frame["makespan_s"].tolist() == [3, 3, 3]
    assert frame["efficiency"].tolist() == pytest.approx([1, 1, 1])
    assert frame["speedup"].tolist() == pytest.approx([1, 2, 8])
    assert not frame["knee"].any(), "with more work on more cores there is none"


def test_copies_of_a_recording_are_as_uncertain_as_it():
    """Their seconds passed for numbers that are given: intervals of two and more copies had no width."""
    run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 0], np.int32), ("main",))
    chain = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds="k", recording=run)
    frame = ss.predict(chain, policy="fifo", cores=[1, 2, 8], weak=True)
    assert frame["makespan_s"].tolist() == [3, 3, 3]
    assert (frame["high_s"] / frame["low_s"] > 1.2).all()
    assert not any("recorded_on=" in note for note in frame.notes)


def test_weak_scaling_of_a_graph_that_grows():
    frame = ss.predict(lambda cores: ss.TaskGraph.from_edges([1.0] * (cores + 1)), "generic", "fifo", [1, 3])
    assert frame["tasks"].tolist() == [2, 4]
    assert frame["makespan_s"].tolist() == [2, 2]
    assert not frame["knee"].any()


def test_core_counts_that_tiles_cannot_give_are_the_nearest():
    found = ss.predict(GRAPH, "knl-7250[cores=3]", "fifo", "1,3,4,67", samples=1)
    assert found["cores"].tolist() == [2, 4, 68]
    said = "1, 3 and 67 cores were asked for, and 2, 4 and 68 taken, the nearest that knl-7250[cores=3] has: tiles of"
    assert found.notes[0].startswith(said)
    found = ss.predict(GRAPH, "core-i7-1370p", "fifo", "2,7", samples=1)
    assert found["cores"].tolist() == [7]
    assert found.notes[0].startswith("2 cores were asked for, and 7 taken, the nearest")
    assert found.notes[0].endswith("kinds of cores keep their shares unless kinds=none")
    assert all(
        "asked for" not in note for note in ss.predict(GRAPH, "knl-7250", "fifo", "2", samples=1).notes
    )


def test_what_cannot_grow():
    with pytest.raises(GraphError, match=r"cores=3 is 1\.5 times 2"):
        ss.predict(GRAPH, "generic", "fifo", [2, 3], weak=True)
    with pytest.raises(SimschedError, match="expected a TaskGraph"):
        ss.predict(lambda cores: cores, "generic", "fifo", [2])
    with pytest.raises(SimschedError, match="samples is 0"):
        ss.predict(GRAPH, "generic", "fifo", [2], samples=0)
    with pytest.raises(SimschedError, match="seed is -1"):
        ss.predict(GRAPH, "generic", "fifo", [2], seed=-1)


def test_more_cores_than_are_built_are_marked():
    frame = ss.predict(GRAPH, "knl-7250", "fifo", [34, 68, 136], samples=1)
    assert frame["extrapolated"].tolist() == [False, False, True]
    assert frame["note"].tolist() == [
        "",
        "",
        "the machine is built with 68 cores, whose memory it keeps: 325 GB/s",
    ]


def test_wider_teams_than_measured_are_marked():
    points = tuple(Point(width, 1.0 / width) for width in (1, 2, 4))
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["mine", "other"], shapes=["2x2", "2x2"])
    costs = ss.CostModel(measured=MeasuredCurves((MeasuredOp(Op("mine", "2x2"), points),)))
    frame = ss.predict(graph, "generic", "sequential", [8], costs, width=8)
    assert frame["extrapolated"].tolist() == [True]
    assert frame["note"][0] == "1 tasks run on up to 8 threads, more than they were measured on"
    best = ss.predict(graph, "generic", "sequential", [4, 8], costs)
    assert best["layout"].tolist() == ["1x4", "1x4"]
    assert best["extrapolated"].tolist() == [False, False]


def test_speedup_counts_hardware_threads():
    """Two threads of a core at work: the one-core seconds are still those of all tasks."""
    frame = ss.predict(ss.TaskGraph.from_edges([1.0] * 4), "knl-7250[smt=2,contention=false]", "fifo", [2])
    assert frame["speedup"].tolist() == [pytest.approx(4.0 / frame["makespan_s"][0])]


def test_speedup_is_over_one_core_where_teams_gain_more_than_their_cores():
    """1 s on one core, 0.4 s on two, 0.3 s on four; the least core-seconds of a task are 0.8."""
    op = MeasuredOp(Op("mine", "2x2"), (Point(1, 1.0), Point(2, 0.4), Point(4, 0.3)))
    graph = ss.TaskGraph.from_edges([1.0] * 3, kinds="mine", shapes="2x2")
    costs = ss.CostModel(measured=MeasuredCurves((op,)))
    frame = ss.predict(graph, "generic", "sequential", [1, 2, 4], costs, samples=1)
    assert frame["makespan_s"].tolist() == pytest.approx([3.0, 1.2, 0.9])
    assert frame["area_s"].tolist() == pytest.approx([3.0, 1.2, 0.6])
    assert frame["speedup"].tolist() == pytest.approx([1.0, 2.5, 3 / 0.9])
    assert frame["efficiency"].tolist() == pytest.approx([1.0, 1.25, 3 / 3.6])


def test_columns_are_fit_for_files(tmp_path):
    frame = ss.predict(GRAPH, "generic", "fifo", [1, 2])
    frame.to_parquet(tmp_path / "p.parquet")
    assert pd.read_parquet(tmp_path / "p.parquet").equals(frame)


def test_another_replay_falls_between_the_ends_as_often_as_they_say():
    draws = np.random.default_rng(0).normal(size=(4000, 100))
    for samples, share in ((20, 19 / 21), (39, 0.95), (99, 0.95)):
        ends = [spread(row[:samples]) for row in draws]
        within = [end.low <= other <= end.high for end, other in zip(ends, draws[:, -1], strict=True)]
        assert np.mean(within) == pytest.approx(share, abs=0.012)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"width": 0}, "width is 0; expected cores of one executor"),
        ({"width": -1}, "width is -1"),
        ({"samples": 0}, "samples is 0"),
        ({"samples": 2.5}, r"samples is 2\.5"),
    ],
)
def test_impossible_widths_and_samples(options, said):
    with pytest.raises(ss.SimschedError, match=said):
        ss.predict(GRAPH, "generic", "fifo", [2], **options)


def test_speedup_is_over_the_best_kind_where_the_graph_gives_seconds_by_kind():
    """All tasks in sequence take 4 s on core 0, 40 s on core 1, which does a tenth of its work."""
    graph, machine = ss.TaskGraph.from_edges([[1.0, 10.0], [3.0, 30.0]]), "generic[cores=2,kinds=each]"
    (row,) = ss.predict(graph, machine, "heft", [2], samples=1).to_dict("records")
    assert (row["makespan_s"], row["speedup"], row["efficiency"]) == (4.0, 1.0, pytest.approx(1 / 1.1))
    assert ss.compare(graph, machine, ["heft"])["speedup"].tolist() == [1.0]


def test_efficiency_counts_kinds_by_what_they_do():
    """One task on each of 256 CPEs and two on each of 4 MPEs, twice as fast: nothing is lost, and no more is gained."""
    graph = ss.TaskGraph.from_edges([1.0] * 264, kinds="mine", flops=[2e9] * 264)
    free = "sw26010[contention=false,runtime.dispatch=0,runtime.pop=0,runtime.pop_per_poller=0]"
    row = ss.predict(graph, free, "heft", [260], width=1, samples=1).iloc[0]
    assert (row["makespan_s"], row["speedup"], row["efficiency"]) == (1.0, 132.0, 1.0)


def test_bounds_on_several_kinds_of_cores_are_not_of_the_kinds_that_were_chosen():
    """The slow kind has 0.37 of the speed; what no policy beats is all of both kinds busy."""
    graph, laptop = ss.TaskGraph.from_edges([1.0] * 20), "core-i7-1370p"
    row = ss.predict(graph, laptop, "fifo", [14], width=1, samples=1).iloc[0]
    assert row["area_s"] == ss.bounds(graph, laptop).area_s == pytest.approx(20 / (6 + 8 * 0.37))
    assert row["speedup"] == 20 / row["makespan_s"]
    assert row["efficiency"] == pytest.approx(row["speedup"] / (6 + 8 * 0.37))
