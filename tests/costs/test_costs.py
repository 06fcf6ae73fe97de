"""Cost curves, the roofline, and seconds carried to another machine."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs import Curve
from simsched.costs.curves import default_curves, normalised, unknown_kinds
from simsched.errors import CostError
from simsched.testing.strategies import graphs, machines, runtimes
from simsched.traces.samples import SAMPLES, sample_files

GENERIC = ss.machine("generic[cores=64]")
KNL = ss.machine("knl-7250")


def on(seconds, machine=GENERIC, costs=None, runtime=None, **columns):
    return (costs or ss.CostModel()).on(ss.TaskGraph.from_edges(seconds, **columns), machine, runtime)


@pytest.mark.parametrize("width", [0, -1, np.array([2, 0])])
def test_a_team_has_a_core(width):
    with pytest.raises(CostError, match=r"a width is (0|-1); the least is 1"):
        on([4e-3, 4e-3]).seconds(width)


def test_curve_by_hand():
    """S = 0.2, a = 0.1, t1 = 4 ms: A = 0.1 sqrt(1 ms x 4 ms) = 0.2 ms a thread, fork 0.1 ms + 0.05 ms a thread.

    c(4) = 0.8 + 3.2 / 4 + 3 x 0.2 + 0.1 + 4 x 0.05 = 2.5 ms.
    """
    costs = ss.CostModel(curves={"mine": ss.Curve(0.2, 0.1)})
    runtime = ss.RuntimeProfile(fork_join_s=1e-4, fork_join_per_thread_s=5e-5)
    tasks = on([4e-3], costs=costs, runtime=runtime, kinds="mine")
    assert tasks.seconds(4)[0] == pytest.approx(2.5e-3, rel=1e-12)
    assert tasks.seconds(1)[0] == 4e-3


def test_small_tasks_run_on_one_thread_of_their_team():
    """A 10 us product cannot gain from a team that costs 8.5 us to fork: it takes 10 us on any width."""
    tasks = on([1e-5], KNL, kinds="MatMul")
    assert [tasks.seconds(w)[0] for w in (1, 2, 68)] == [1e-5] * 3


def test_unknown_kinds_do_not_gain_from_cores():
    tasks = on([1.0, 1.0, 1.0], kinds=["", "mine::custom", "view"])
    assert tasks.seconds(64).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "kind", ["MatMul", "aten::addmm", "mm_", "com.microsoft.FusedMatMul", "aten::linear_backward"]
)
def test_kinds_are_recognised(kind):
    assert ss.CostModel().curve(kind).family == "matrix product"


@pytest.mark.parametrize("name", SAMPLES)
def test_no_operator_that_computes_is_taken_as_serial(name):
    """Of the kinds in the bundled samples, those with FLOPs have a curve of their own family."""
    kineto, execution_trace = sample_files(name)
    graph = ss.load(kineto, execution_trace=execution_trace)
    computing = {graph.kinds[task] for task in np.flatnonzero(graph.flops > 0)}
    assert {kind for kind in computing if ss.CostModel().curve(kind).family == "serial"} == set()


def test_table_has_no_kind_twice_and_spells_them_normalised():
    """A kind that its own spelling cannot reach would never be used."""
    table, other = default_curves()
    assert other.serial_share == 1
    assert [k for k in table if normalised(k) != k] == []


def test_published_points_are_met():
    """Inputs, not predictions: GEMM 64x512x512 gains nothing beyond 8 threads, 32,768 products beyond 16 (Graphi)."""
    gemm = on([np.nan], KNL, kinds="gemm", flops=[64 * 512 * 512 * 2], bytes_B=[1.4e6])
    assert gemm.seconds(4)[0] / gemm.seconds(8)[0] > 1.1
    assert gemm.seconds(8)[0] / gemm.seconds(64)[0] < 1.01
    product = on([np.nan], KNL, kinds="mul", flops=[32768], bytes_B=[32768 * 12])
    assert product.seconds(8)[0] / product.seconds(16)[0] > 1.1
    assert product.seconds(16)[0] / product.seconds(64)[0] < 1.01


def test_a_task_divides_no_further_than_its_grains():
    """12 MFLOP in grains of 3: four pieces. 1 s on 2 cores 0.5 s, on 4 and more 0.25 s, with what four threads fork."""
    costs = ss.CostModel(curves={"mine": Curve(0.0, grain_flops=3e6)})
    graph = ss.TaskGraph.from_edges([1.0], kinds="mine", flops=[12e6])
    tasks = costs.on(graph, ss.machine("generic"), ss.RuntimeProfile(fork_join_per_thread_s=0.01))
    assert [tasks.seconds(w)[0] for w in (1, 2, 4, 16)] == [1.0, 0.52, 0.29, 0.29]
    assert tasks.fastest_widths.tolist() == [4]
    unknown = costs.on(
        ss.TaskGraph.from_edges([1.0], kinds="mine"), ss.machine("generic"), ss.RuntimeProfile()
    )
    assert unknown.seconds(16)[0] == 1 / 16


def test_the_memory_binds_recorded_tasks_too():
    """1 s on one core of 10 GB/s and 10 GB: all of it waits for the memory. 16 cores reach 40 GB/s: 0.25 s, not 1 / 16.

    Of 1 TB no more than 10 GB can have come from memory: the rest was found in caches. 1 GB leaves 0.1 s, over 4.
    """
    machine = ss.machine("generic[bandwidth_Bps=4e10,sharpness=300]")
    tasks = on([1, 1, 1, 1], machine, kinds="add", bytes_B=[1e10, 1e12, 1e9, np.nan])
    assert tasks.seconds(16).tolist() == [0.25, 0.25, 0.0625, 0.0625]
    assert tasks.seconds(2).tolist() == [0.5] * 4
    share, demand_Bps, core = tasks.memory(16)
    assert share.tolist() == [1, 1, 0.4, 0]
    assert demand_Bps.tolist() == [4e10, 4e10, 1.6e10, 0]
    # Each core moves 10 GB/s by itself, four times its part of 40 GB/s.
    assert core.tolist() == [0.25, 0.25, 1, 1]
    assert tasks.memory(1)[2].tolist() == [1] * 4


def test_a_curve_divides_by_one_thing():
    with pytest.raises(CostError, match="give grain_flops or grain_B, not both"):
        Curve(0.0, grain_flops=1.0, grain_B=1.0)
    with pytest.raises(CostError, match="grain_B is -1"):
        Curve(0.0, grain_B=-1.0)


def test_recorded_seconds_at_the_recorded_width_are_kept():
    kinds = ["conv2d", "mm", "add", "view", "mm"]
    seconds = [7.2e-3, 1e-3, 3e-5, 2e-6, 0.0]
    graph = ss.TaskGraph.from_edges(seconds, kinds=kinds, widths=np.array([26, 8, 4, 68, 2]))
    tasks = ss.CostModel().on(graph, KNL)
    for task, width in enumerate(graph.widths.tolist()):
        assert tasks.seconds(width)[task] == pytest.approx(seconds[task], rel=1e-12)


@given(graphs(widths=8), machines(), runtimes(), st.integers(1, 8))
def test_costs_are_consistent(graph, machine, runtime, width):
    """The recorded width gives the recorded seconds; no width beats the area; one by one equals all at once."""
    tasks = ss.CostModel().on(graph, machine, runtime)
    at_recorded = tasks.seconds(graph.widths.astype(np.int64))
    np.testing.assert_allclose(at_recorded, graph.durations_s, rtol=1e-9, atol=1e-15)
    all_at_once = tasks.seconds(width)
    assert [tasks.seconds_of(t, width) for t in range(graph.n_tasks)] == all_at_once.tolist()
    assert (all_at_once * width >= tasks.one_core_s * (1 - 1e-12)).all()
    assert (all_at_once <= tasks.one_core_s).all()


@given(graphs(), machines(), runtimes())
def test_fastest_width_is_the_fastest(graph, machine, runtime):
    tasks = ss.CostModel().on(graph, machine, runtime)
    widths = tasks.fastest_widths
    every = np.stack([tasks.seconds(w) for w in range(1, machine.n_threads + 1)])
    chosen = tasks.seconds(widths)
    assert (widths >= 1).all()
    assert (widths <= machine.n_threads).all()
    assert (chosen == every.min(axis=0, initial=np.inf)).all()


@given(
    st.lists(st.tuples(st.floats(0, 1e12), st.floats(0, 1e11)), min_size=1, max_size=8),
    machines(),
    runtimes(),
)
def test_fastest_width_where_the_memory_binds(work, machine, runtime):
    flops, moved = np.array(work).T
    graph = ss.TaskGraph.from_edges(np.full(len(work), np.nan), flops=flops, bytes_B=moved, kinds="Conv")
    tasks = ss.CostModel().on(graph, machine, runtime)
    every = np.stack([tasks.seconds(w) for w in range(1, machine.n_threads + 1)])
    assert (tasks.seconds(tasks.fastest_widths) == every.min(axis=0)).all()


def test_roofline_where_there_is_no_duration():
    """32 GFLOP/s and 10 GB/s a core: 64 GFLOP take 2 s, 30 GB take 3 s, and of both the longer counts."""
    nan = np.nan
    tasks = on([nan, nan, nan, 7], flops=[64e9, 64e9, nan, 64e9], bytes_B=[nan, 30e9, 30e9, 30e9])
    assert tasks.seconds(1).tolist() == [2, 3, 3, 7]
    assert any("roofline time on" in note for note in tasks.notes)


def test_roofline_is_bounded_by_the_memory():
    """30 GB at 160 GB/s for all cores: not under 0.1875 s, however wide the team."""
    machine = ss.machine("generic[cores=64,bandwidth_Bps=1.6e11]")
    tasks = on([np.nan], machine, flops=[0], bytes_B=[30e9], kinds="add")
    assert tasks.seconds(64)[0] == pytest.approx(30 / 160)


@pytest.mark.parametrize("width", [1, 16, 64])
@pytest.mark.parametrize(
    ("machine", "most_Bps"),
    [
        ("generic[cores=64,bandwidth_Bps=5e9]", 5e9),
        ("generic[cores=64,core_bandwidth_Bps=1e12]", 640e9),
        ("knl-7250[cluster=snc4,bandwidth_Bps=2e10]", 2e10),
        ("epyc-9654x2[core_bandwidth_Bps=2e11]", 588e9),
    ],
)
def test_one_core_too_is_bounded_by_the_memory(machine, most_Bps, width):
    """A core that could move more than its domain has: 30 GB take no less than the memory needs for them."""
    tasks = on([np.nan], ss.machine(machine), flops=[0], bytes_B=[30e9], kinds="add")
    assert tasks.seconds(width)[0] >= 30e9 / most_Bps * (1 - 1e-9)


def test_no_duration_and_no_work_is_an_error():
    with pytest.raises(CostError, match=r"task 1 \('b'\) has no duration, and neither FLOPs nor bytes"):
        on([1.0, np.nan], names=["a", "b"])


def test_no_duration_and_no_work_in_a_file_is_an_error_that_names_it(tmp_path):
    (tmp_path / "steps.dot").write_text("digraph { a [duration_s=1]; a -> b }", "utf-8")
    with pytest.raises(CostError, match=r"^steps.dot: task 1 \('b'\) has no duration.*\(1 such task\)"):
        ss.CostModel().on(ss.load(tmp_path / "steps.dot"), ss.machine("generic"))


def test_seconds_are_carried_by_the_ratio_of_the_rooflines():
    """Recorded on cores of 64 GFLOP/s and 5 GB/s, replayed on 32 GFLOP/s and 10 GB/s: compute x 2, memory x 1/2."""
    origin = ss.RecordedOn("fast core", core_flops=64e9, core_bandwidth_Bps=5e9)
    nan = np.nan
    tasks = on([1, 1, 1], flops=[64e9, 0, nan], bytes_B=[1, 5e9, nan], recorded_on=origin)
    assert tasks.seconds(1).tolist() == [2, 0.5, 1]
    assert (
        tasks.notes[0]
        == "2 durations recorded on fast core carried to generic by the ratio of their rooflines"
    )
    said = "1 recorded duration is taken as it is"
    assert tasks.notes[1] == f"{said}, though recorded on fast core: their tasks have neither FLOPs nor bytes"


@pytest.mark.parametrize(
    ("clock_Hz", "factor", "said"),
    [
        (2.1e9, 1.5, ""),
        (None, 3 / 1.4, ", for which 3 GHz are assumed,"),
    ],
)
def test_seconds_without_known_work_are_carried_by_the_ratio_of_the_clocks(clock_Hz, factor, said):
    """Splitting and transposing move nothing: they are instructions, of which a core at 1.4 GHz runs fewer a second."""
    origin = ss.RecordedOn("there", core_flops=64e9, core_bandwidth_Bps=5e9, clock_Hz=clock_Hz)
    tasks = on([2.0, 2.0], KNL, flops=[0, np.nan], bytes_B=[0, np.nan], recorded_on=origin)
    assert tasks.seconds(1).tolist() == pytest.approx([2 * factor] * 2)
    carried = "carried to knl-7250 by the ratio of their clocks"
    assert tasks.notes[0] == f"2 durations without known work recorded on there{said} {carried}"


def test_seconds_from_an_unknown_machine_are_taken_as_they_are():
    tasks = on([1.0], KNL, flops=[1e9], bytes_B=[1e6], recorded_on=ss.RecordedOn("somewhere"))
    assert tasks.seconds(1).tolist() == [1.0]
    said = "1 recorded duration is taken as it is"
    assert (
        tasks.notes[0]
        == f"{said}; somewhere, on which they were recorded, has no known speed: recorded_on= can give it"
    )


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_impossible_curves(bad):
    with pytest.raises(CostError, match="serial_share"):
        ss.Curve(bad)
    with pytest.raises(CostError, match="thread_overhead"):
        ss.Curve(0.5, -1.0)
    with pytest.raises(CostError, match="noise"):
        ss.CostModel(noise=-1.0)


def test_a_kind_takes_the_curve_that_is_spelled_as_it_is():
    model = ss.CostModel({"aten::tanh": ss.Curve(0.1), "aten::tanh_backward": ss.Curve(0.5)})
    for sampled in (model, model.sampled(np.random.default_rng(0))):
        shares = [sampled.curve(kind).serial_share for kind in ("aten::tanh", "aten::tanh_backward", "Tanh")]
        assert shares == [0.1, 0.5, 0.5]


def test_curves_of_kinds_that_no_task_has_are_named():
    """One of several may be meant for other graphs; none of all is a misspelling."""
    graph, curves = ss.TaskGraph.from_edges([1.0], kinds="Conv2D"), {"Convd2": ss.Curve(0.1)}
    said = "no task is of a kind whose curve is given ('Convd2'); kinds are 'Conv2D'"
    assert said in ss.CostModel(curves).on(graph, GENERIC).notes
    assert not [
        note
        for model in (ss.CostModel(), ss.CostModel({**curves, "conv2d": ss.Curve(0.1)}))
        for note in model.on(graph, GENERIC).notes
        if "no task is of" in note
    ]


def test_kinds_that_name_functions_gain_from_no_team():
    """Python's `sum`, submitted to a pool, took a quarter on a team of four: it passed for a reduction of tensors."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["sum", "load"])
    graph.report.facts["kinds_are"] = "functions"
    for model in (ss.CostModel(), ss.CostModel().sampled(np.random.default_rng(0))):
        costs = model.on(graph, KNL)
        assert costs.seconds(4).tolist() == costs.seconds(1).tolist()
    given = ss.CostModel({"sum": ss.Curve(0.0)})
    for model in (given, given.sampled(np.random.default_rng(0))):
        costs = model.on(graph, KNL)
        assert (costs.seconds(4) / costs.seconds(1)).tolist() == pytest.approx([0.25, 1.0], rel=1e-3)


def test_seconds_on_several_threads_are_no_less_work_on_fewer():
    """A task of 4 s on 2 cores took 4 s on one, in an interval of no width."""
    kinds, widths = ["mine", "mine", "", "gemm"], [3, 1, 2, 2]
    graph = ss.TaskGraph.from_edges(
        [6.0, 5.0, 4.0, np.nan], kinds=kinds, widths=widths, flops=[np.nan] * 3 + [1e9]
    )
    costs = ss.CostModel().on(graph, ss.machine("generic[cores=4]"))
    by_width = [costs.seconds(width)[:3].tolist() for width in (1, 2, 3, 4)]
    assert by_width == [[18.0, 5.0, 8.0], [9.0, 5.0, 4.0], [6.0, 5.0, 4.0], [6.0, 5.0, 4.0]]
    assert any(
        "tasks ('mine', 'no kind') but that they ran on several threads" in note for note in costs.notes
    )
    worlds = [
        ss.CostModel().sampled(np.random.default_rng(seed)).on(graph, ss.machine("generic[cores=4]"))
        for seed in range(40)
    ]
    alone, three = (np.array([world.seconds(width)[0] for world in worlds]) for width in (1, 3))
    assert three == pytest.approx(6.0, rel=1e-12), "the seconds that are given"
    assert unknown_kinds(graph, [ss.CostModel().curve(kind) for kind in graph.kinds.labels]) == ()
    assert 6.0 <= alone.min() < 12.0 < alone.max() == pytest.approx(18.0)


def test_seconds_are_carried_to_no_more_than_the_peak():
    """A product at 97.7 GFLOP/s, on a host of whom 62.2 are known, took a Knights Landing beyond its peak."""
    known = ss.RecordedOn("host", core_flops=62.2e9, core_bandwidth_Bps=2e10)
    flops = [33.6e6, 33.6e6]
    graph = ss.TaskGraph.from_edges([343.5e-6, 686e-6], kinds="gemm", flops=flops, recorded_on=known)
    costs = ss.CostModel().on(graph, KNL)
    assert costs.one_core_s[0] == pytest.approx(33.6e6 / 89.6e9)
    assert costs.one_core_s[1] == pytest.approx(686e-6 * 62.2e9 / KNL.core_flops)
    assert any(note.startswith("1 task is faster on host than is known of it") for note in costs.notes)


@pytest.mark.parametrize("kind", ["aten::_fused_adam_", "aten::_fused_adamw_", "aten::index"])
def test_operators_that_pytorch_divides_gain_from_teams(kind):
    """The fused optimizer stayed on one thread, and took half of a small network's step on 64 cores."""
    assert ss.CostModel().curve(kind).serial_share == 0.0


@pytest.mark.parametrize("curves", [["MatMul"], {1: ss.Curve(0.1)}])
def test_curves_are_given_by_kind(curves):
    with pytest.raises(CostError, match="expected curves by kind"):
        ss.CostModel(curves)
