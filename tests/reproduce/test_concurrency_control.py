"""Concurrency control: inputs come out as printed, predictions within the bars, choices change what they should."""

import pytest

import simsched as ss
from simsched.reproduce.concurrency_control import ConcurrencyControl
from simsched.reproduce.concurrency_control_ops import PublishedOps
from simsched.reproduce.concurrency_control_runs import EXECUTOR_S, MANUAL, Runs, _among_spinning
from simsched.reproduce.one_core_seconds import ops_of, with_kernel_seconds

KNL = ss.machine("knl-7250[memory=cache]")


@pytest.fixture(scope="module")
def made():
    """All tables but V, which test_profiling.py covers."""
    return ss.reproduce(
        "concurrency-control", tables=["Table I", "Table II", "Table III", "Fig. 3", "Fig. 4"]
    )


@pytest.fixture(scope="module")
def runs():
    return Runs(ConcurrencyControl())


def numbers(made, table, quantity):
    return {
        tuple(row.case.values()): row.simulated
        for row in made.rows
        if (row.table, row.quantity) == (table, quantity)
    }


def test_inputs_come_out_as_printed(made):
    """One gain is 1.9 instead of 2.3 %: no serial share is below nothing."""
    rows = [row for row in made.rows if row.use == "input"]
    assert len(rows) == 18
    off = [row for row in rows if not row.as_printed]
    assert [(row.quantity, row.paper) for row in off] == [("gain over 68 threads", 0.023)]


def test_errors_of_times_are_within_the_bar(made):
    """Nothing is fitted to these: 30 % in the median."""
    assert made.summary()["time_rows"] == 12
    assert made.summary()["time_median"] < 0.3


def test_statements(made):
    """Those that do not hold are explained on the page."""
    failing = {claim.words[:30] for claim in made.claims if not claim.holds}
    assert len(made.claims) == 8
    assert failing == {
        "Each of the three steps gains,",
        "All strategies together beat t",
        "The default setting, 272 ops a",
        "With strategy 4 more ops run a",
    }


def test_steps_multiply_to_the_total(made):
    gains = numbers(made, "Fig. 3", "improvement")
    for network in ("resnet50", "dcgan", "inception_v3", "lstm"):
        product = 1.0
        for step in ("s1_s2", "s3", "s4"):
            product *= 1 + gains[network, step]
        assert 1 + gains[network, "total"] == pytest.approx(product, rel=1e-12)


def test_speedups_are_those_of_the_times(made):
    times, ratios = (numbers(made, "Table I", name) for name in ("time", "speed-up over (1, 68)"))
    assert len(times) == 18
    for case, ms in times.items():
        assert ratios[case] == pytest.approx(times[case[0], 1, 68] / ms, rel=1e-12)


def test_the_manual_optimum_is_the_fastest_of_all(runs):
    best = runs.manual("dcgan")
    assert runs.seconds("dcgan", "manual") == min(runs.uniform_s("dcgan", *setting) for setting in MANUAL)
    assert (runs.manual_optimum("dcgan", "inter_op"), runs.manual_optimum("dcgan", "intra_op")) == best


def test_strategies_one_by_one(runs):
    """Without 3 one op runs at a time; 4 is a schedule on two hardware threads a core."""
    assert runs.strategy("dcgan", "s1_s2").metrics()["mean_corunning_at_events"] == 1
    assert runs.corunning("dcgan", "s3") > 1
    assert runs.strategy("dcgan", "s3").machine.smt == 1
    assert runs.strategy("dcgan", "s3_s4").machine.smt == 2


def test_one_core_seconds_are_those_of_the_kernels():
    """64 x 100 by 100 x 1024 at 0.75 of 89.6 GFLOP/s takes at least 0.195 ms; what moves nothing takes nothing."""
    graph = ss.workload("dcgan[size=mnist]")
    timed = with_kernel_seconds(graph, KNL)
    assert (timed.durations_s >= 0).all()
    for op, seconds in zip(ops_of(graph), timed.durations_s.tolist(), strict=True):
        if op.kind == "MatMul":
            assert seconds >= op.flops / KNL.core_flops
        if not op.flops and not op.bytes_B:
            assert seconds == 0


def test_a_forward_convolution_takes_on_one_core_what_its_gradient_takes():
    ops = PublishedOps()
    image = (32, 17, 17, 384)
    forward, gradient = (ops._seconds(op, image)[0] for op in ("conv2d", "conv2d_backprop_input"))
    assert forward == gradient


def test_spinning_threads_by_hand():
    """Alone on 34 threads nobody is slowed; 2 x 68 threads are two a core; 16 a core yield and count as four."""
    graph = ss.TaskGraph.from_edges([1.0], flops=[1e9], bytes_B=[0.0])
    compute = ss.machine("knl-7250[smt=4]").compute_throughput
    slowed = [_among_spinning(graph, *setting).item() for setting in ((1, 34), (2, 68), (8, 136))]
    assert slowed == pytest.approx([1, 2 / compute[1], 4 / compute[3]])


def test_spinning_threads_do_not_lengthen_what_a_team_waits_for_itself():
    """Of a convolution on 68 threads beside 68 that spin, the overhead is not slowed; the rest takes 2 / throughput."""
    graph = ss.TaskGraph.from_edges([1.0], flops=[1e9], bytes_B=[0.0], kinds=["Conv2D"])
    costs = ss.CostModel(library="tensorflow-1.9").on(graph, KNL)
    waited = costs.overhead(68).item()
    assert 0.1 < waited < 0.9
    core = 2 / ss.machine("knl-7250[smt=4]").compute_throughput[1]
    assert _among_spinning(graph, 2, 68).item() == pytest.approx((1 - waited) * core + waited)


def test_the_executor_takes_its_time_for_every_op(runs):
    """One op after another, from the start of the first: 3.7 us before each of the others of 1,408."""
    traced = Runs(ConcurrencyControl(executor="traced"))
    others = runs.graph("lstm").n_tasks - 1
    more_s = traced.uniform_s("lstm", 1, 68) - runs.uniform_s("lstm", 1, 68)
    assert more_s == pytest.approx(others * EXECUTOR_S)
    more_s = traced.seconds("lstm", "s1_s2") - runs.seconds("lstm", "s1_s2")
    assert more_s == pytest.approx(others * EXECUTOR_S)


def test_more_hardware_threads_of_a_core_wait_at_once(runs):
    """136 threads an op: their overhead doubles with their number, but is not stretched by sharing cores as well."""
    assert runs.uniform_s("dcgan", 1, 136) < 2 * runs.uniform_s("dcgan", 1, 68)


def test_the_picture_of_what_runs_at_every_start_and_finish(made, runs):
    """Two strategies of ResNet-50: as many ops as its schedules have events, and their means."""
    ax = made.plot("Fig. 4")
    events = ax.get_lines()[0].get_ydata()
    assert events.mean() == pytest.approx(runs.corunning("resnet50", "s3"))
    means = {float(line.get_ydata()[0]) for line in ax.get_lines() if len(line.get_ydata()) == 2}
    assert means == {runs.corunning("resnet50", "s3"), runs.corunning("resnet50", "s3_s4"), 1.61, 1.89}


def test_choices(runs):
    spinning = Runs(ConcurrencyControl(waiting="spin"))
    assert spinning.uniform_s("dcgan", 1, 68) == pytest.approx(runs.uniform_s("dcgan", 1, 68), rel=1e-9)
    assert spinning.uniform_s("dcgan", 4, 68) > 1.5 * runs.uniform_s("dcgan", 4, 68)
    loose, rough, waits = (
        Runs(ConcurrencyControl(**choice))
        for choice in ({"pinned": False}, {"costs": "roofline"}, {"fill": False})
    )
    assert loose.uniform_s("dcgan", 2, 34) > runs.uniform_s("dcgan", 2, 34)
    assert rough.uniform_s("dcgan", 1, 68) < runs.uniform_s("dcgan", 1, 68)
    assert waits.corunning("dcgan", "s3") < runs.corunning("dcgan", "s3")
    with pytest.raises(ss.SimschedError, match=r"waiting='doze'\]: expected one of sleep, spin"):
        ss.reproduce("concurrency-control", waiting="doze")
