"""Worlds in which seconds are off: who is off alike, what is exact, what grows with the width, what intervals hold."""

import tomllib
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs.curves import default_curves
from simsched.costs.discrepancy import (
    ORIGINS,
    REGIMES,
    Discrepancy,
    grouped,
    seen_threads,
    sigmas,
)
from simsched.costs.fitting import Calibration, MeasuredCurves, MeasuredOp, Op, Point
from simsched.costs.normal import NormalByName
from simsched.graph import Recording

NAN = float("nan")
MACHINE = ss.machine("knl-7250")
#: A product that was measured, one that was not, a stream, and an op that only names memory.
MIXED = ss.TaskGraph.from_edges(
    [NAN, NAN, 2.0, 1.0],
    kinds=["MatMul", "MatMul", "Add", "Reshape"],
    shapes=["2x2", "9x9", "", ""],
    flops=[1e9, 1e12, 1e6, NAN],
    bytes_B=[1e6, 1e6, 1e9, NAN],
    widths=[1, 1, 4, 1],
)
MEASURED = MeasuredCurves(
    [MeasuredOp(Op("MatMul", "2x2"), tuple(Point(w, 2.0 / w, runs=9) for w in (1, 2)))],
    unmeasured_shapes=False,
)
MODEL = ss.CostModel(measured=MEASURED)


def of(seed, graph=MIXED, model=MODEL, machine=MACHINE):
    return replace(model, discrepancy=Discrepancy(seed)).on(graph, machine)


def test_every_number_has_a_source_and_names_that_there_are():
    table = tomllib.loads((files("simsched.costs") / "discrepancies.toml").read_text("utf-8"))
    assert [row["name"] for row in table["origin"]] == list(ORIGINS)
    assert list(table["width"]) == list(REGIMES)
    families = {curve.family for curve in default_curves()[0].values()}
    numbers = [*table["width"].values(), *table["row"]]
    numbers += [number for row in table["origin"] for name, number in row.items() if name != "name"]
    assert all(number.get("sigma", number.get("share")) >= 0 and number["source"] for number in numbers)
    assert all(row["family"] in families and row["regime"] in REGIMES for row in table["row"])


def test_where_seconds_come_from_and_what_bounds_them():
    costs = MODEL.on(MIXED, MACHINE)
    groups, where = grouped(costs, MIXED, MACHINE, [MODEL.curve(kind) for kind in MIXED.kinds.labels])
    found = [(groups[g].origin, groups[g].regime, groups[g].family, groups[g].width) for g in where]
    assert found[:2] == [
        ("measured", "compute", "matrix product", 2),
        ("estimated", "compute", "matrix product", 1),
    ]
    assert found[2:] == [("given", "memory", "element-wise", 4), ("given", "memory", "book-keeping", 1)]


@settings(max_examples=8)
@given(seed=st.integers(0, 2**62), width=st.integers(1, 272))
def test_one_task_and_all_tasks_have_the_same_bits(seed, width):
    costs = of(seed)
    assert [costs.seconds_of(task, width) for task in range(4)] == costs.seconds(width).tolist()
    assert of(seed).seconds(width).tolist() == costs.seconds(width).tolist()


@settings(max_examples=8)
@given(seed=st.integers(0, 2**62))
def test_no_team_gains_more_than_its_threads(seed):
    costs = of(seed)
    widths = np.array([1, 2, 3, 4, 7, 68, 272])
    every = np.array([costs.seconds(width) for width in widths.tolist()])
    gains = every[0] / every
    assert (gains <= widths[:, None] * (1 + 1e-9)).all()
    assert (costs.fastest_widths >= 1).all()


@pytest.mark.parametrize("seed", range(1, 20))
def test_what_threads_add_is_at_most_all_of_a_task_where_teams_gain_more_than_the_curve(seed):
    """It stayed as long where the team was faster: a share above 1, which the compiled engine refused."""
    graph = ss.TaskGraph.from_edges([3.5e-4, 4e-3], kinds="Conv2D", flops=[2e7, 4.5e8], bytes_B=[2e5, 3e6])
    costs = of(seed, graph, ss.CostModel(), ss.machine("grace"))
    for width in (1, 2, 9, 72, 144):
        share, (memory, *_) = costs.overhead(width), costs.memory(width)
        assert ((share >= 0) & (share <= 1) & (memory >= 0)).all()
        assert [costs.overhead_of(task, width) for task in (0, 1)] == share.tolist()


def test_tasks_of_a_kind_and_regime_are_off_alike():
    twins = ss.TaskGraph.from_edges(
        [NAN] * 3, kinds=["MatMul", "aten::mm", "Conv2D"], flops=[1e12, 3e12, 1e12]
    )
    plain = ss.CostModel().on(twins, MACHINE).one_core_s
    one, other, third = of(5, twins, ss.CostModel()).one_core_s / plain
    assert one == pytest.approx(other) != pytest.approx(third)


@pytest.mark.parametrize(
    ("origin", "machine", "expected"),
    [
        (None, "generic[cores=2]", ["recorded"] * 3),
        (None, "knl-7250", ["taken"] * 3),
        (ss.RecordedOn("somewhere"), "knl-7250", ["taken"] * 3),
        ("knl-7250[cores=34]", "knl-7250", ["recorded"] * 3),
        ("grace", "knl-7250", ["carried", "clocked", "clocked"]),
        ("grace", "generic", ["recorded"] * 3),
    ],
)
def test_recorded_seconds_are_as_sure_as_the_way_to_the_machine(origin, machine, expected):
    """Seconds of an unknown machine once counted as recorded on any other, within 17 %."""
    ends = np.array([1.0, 2.0, 3.0])
    run = Recording(ends - 1, ends, np.zeros(3, np.int32), ("main",))
    graph = ss.TaskGraph.from_edges(
        [1.0] * 3, kinds=["MatMul", "split", "mine"], flops=[1e9, 0, NAN], bytes_B=[0, 0, NAN],
        recording=run, recorded_on=None if origin is None else ss.RecordedOn.of(origin),
    )  # fmt: skip
    on, model = ss.machine(machine), ss.CostModel()
    curves = [model.curve(kind) for kind in graph.kinds.labels]
    groups, where = grouped(model.on(graph, on), graph, on, curves)
    assert [groups[g].origin for g in where] == expected


SEEDS = Path(__file__).parents[1] / "traces" / "seeds"


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        ("chakra/linked/main.json", "taken"),
        ("chakra/nodes/main.et", "taken"),
        ("dax/v3/main.dax", "taken"),
        ("stg/three/main.stg", "given"),
        ("dot/any/main.dot", "given"),
    ],
)
def test_formats_of_measured_runs_without_times_of_starts_do_not_give_exact_seconds(file, origin):
    """Intervals of a step were [77, 92] ms by one file, and [24, 216] ms by another that has its starts, too."""
    assert origins(ss.load(SEEDS / file)) == {origin}


@pytest.mark.parametrize("step", ["scale[factor=2]", "unroll[iterations=2]", "collapse"])
def test_seconds_stay_measured_where_a_clean_up_drops_the_recording(step):
    starts, ends = np.array([0.0, 0.0]), np.array([1.0, 2.0])
    run = Recording(starts, ends, np.arange(2, dtype=np.int32), ("a", "b"))
    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], scopes="layer", recording=run)
    assert origins(graph.cleaned(step)) == {"taken"}
    assert origins(replace(graph, recording=None).cleaned(step)) == {"given"}


def origins(graph):
    graph, model = replace(graph, durations_s=np.nan_to_num(graph.durations_s, nan=1.0)), ss.CostModel()
    curves = [model.curve(kind) for kind in graph.kinds.labels]
    return {one.origin for one in grouped(model.on(graph, MACHINE), graph, MACHINE, curves)[0]}


def test_numbers_that_are_given_are_exact():
    graph = ss.TaskGraph.from_edges([1.0, 2.0], kinds=["mine", "Reshape"])
    model = ss.CostModel({"mine": ss.Curve(0.5)})
    for width in (1, 8):
        exact = model.on(graph, MACHINE).seconds(width).tolist()
        assert of(3, graph, model).seconds(width).tolist() == exact


@pytest.mark.parametrize("kinds", [None, "mine"])
def test_given_seconds_of_tasks_that_no_curve_speeds_up_are_exact_on_any_team(kinds):
    """In half of all worlds, wider teams shortened them, below the bound."""
    graph = ss.TaskGraph.from_edges([3.0, 5.0], [(0, 1)], kinds=kinds)
    table = ss.compare(graph, "generic[cores=4]", ["kind-widths", "fifo"], samples=20)
    ends = table[["low_s", "high_s", "bound_s", "fastest_share"]]
    assert ends.to_numpy().tolist() == [[8.0, 8.0, 8.0, 1.0]] * 2


def test_a_recording_is_off_as_a_whole_and_on_more_cores_than_it_had():
    run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 0], np.int32), ("main",))
    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["Add", "Add"], recording=run)

    def spread_of(cores):
        machine = ss.machine(f"generic[cores={cores}]")
        ratios = [of(seed, graph, ss.CostModel(), machine).one_core_s / [1.0, 2.0] for seed in range(100)]
        assert all(one == pytest.approx(other) for one, other in ratios)
        return np.log(ratios).std()

    known = sigmas()["recorded"]
    assert spread_of(1) == pytest.approx(np.hypot(known.common, known.discrepancy), rel=0.25)
    assert spread_of(1) < spread_of(4) < spread_of(64)


@pytest.mark.parametrize("machine", ["apple-m1", "core-i7-1370p", "sw26010", "grace-hopper"])
def test_seconds_from_rooflines_are_off_on_all_kinds_of_cores_alike(machine):
    graph, target = ss.TaskGraph.from_edges([NAN] * 2, kinds="Mine", flops=[1e9, 1e6]), ss.machine(machine)
    exact, world = ss.CostModel().on(graph, target), of(3, graph, ss.CostModel(), target)
    off = world.one_core_s / exact.one_core_s
    assert (off != 1).all()
    for kind in range(len(target.kinds.names)):
        assert world.of_kind(kind).seconds(1) / exact.of_kind(kind).seconds(1) == pytest.approx(off)


def test_seconds_converted_to_a_device_are_off_as_those_of_another_machine():
    seconds = np.linspace(0.1, 1.0, 50)
    run = Recording(0 * seconds, seconds, np.arange(50, dtype=np.int32), tuple(map(str, range(50))))
    graph = ss.TaskGraph.from_edges(seconds, kinds="Add", flops=1e9 * seconds**2, recording=run)
    target = ss.machine("grace-hopper")
    exact = ss.CostModel().on(graph, target).kinds_s
    worlds = [of(seed, graph, ss.CostModel(), target) for seed in range(100)]
    here, there = np.log([one.kinds_s[0] / exact[0] for one in worlds]).T
    for one in worlds:
        assert one.kinds_s[:, 0] == pytest.approx(one.one_core_s)
    known = sigmas()["carried"]
    assert (there - here).std() == pytest.approx(np.hypot(known.common, known.discrepancy), rel=0.25)


@pytest.mark.parametrize(
    ("bytes_B", "on", "times"),
    [(1e6, "true", 2), (1e6, "false", 4), (float("nan"), "true", 4), (0.0, "false", 2)],
)
def test_what_the_replay_has_of_company_is_not_as_uncertain_again_with_each_doubling(bytes_B, on, times):
    """Sixteen times the cores are four doublings, or two where known bytes wait for shared bandwidth, or are none."""
    run = Recording(np.zeros(1), np.ones(1), np.zeros(1, np.int32), ("main",))
    graph = ss.TaskGraph.from_edges([1.0], kinds="mine", bytes_B=[bytes_B], recording=run)
    machines = [ss.machine(f"generic[cores={n},share_bandwidth={on}]") for n in (1, 2, 16)]
    off = [np.log(of(7, graph, ss.CostModel(), machine).one_core_s[0]) for machine in machines]
    assert (off[2] - off[0]) / (off[1] - off[0]) == pytest.approx(times)


def test_a_recording_tells_less_of_fewer_cores_than_it_had_as_tasks_have_less_company_there():
    """Of pairs of undisturbed recordings, intervals of 95 % on one core from two held 57 to 73 %."""
    lanes = np.arange(4, dtype=np.int32)
    run = Recording(np.zeros(4), np.ones(4), lanes, tuple("abcd"))
    graph = ss.TaskGraph.from_edges([1.0] * 4, kinds="Add", recording=run)
    logs = [
        np.log([of(seed, graph, ss.CostModel(), ss.machine(f"generic[cores={n}]")).one_core_s[0] for n in (1, 4, 16)])
        for seed in range(100)
    ]  # fmt: skip
    one, four, sixteen = np.std(logs, axis=0)
    assert one == pytest.approx(sixteen, rel=0.25)
    assert one > 2 * four
    # A host on which more cores slow tasks down is one on which fewer do not.
    (down, up) = (np.array(logs)[:, i] - np.array(logs)[:, 1] for i in (0, 2))
    assert down == pytest.approx(-up)


def test_company_is_that_of_the_busy_threads_not_of_a_machine_that_idles():
    """Intervals of a chain of tasks widened with cores that it never used."""
    run = Recording(np.array([0.0, 1.0]), np.array([1.0, 3.0]), np.zeros(2, np.int32), ("main",))
    graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds="mine", recording=run)
    one, many = (
        ss.predict(graph, f"generic[cores={cores}]", "fifo", [cores], width=1)
        .loc[0, ["low_s", "high_s"]]
        .tolist()
        for cores in (1, 64)
    )
    assert one == many
    busy = [replace(ss.CostModel(), discrepancy=Discrepancy(3)).while_busy(threads) for threads in (64, None)]
    level = [model.on(graph, ss.machine("generic[cores=64]")).one_core_s[0] for model in busy]
    assert level[0] == level[1] != 1.0


def test_recordings_whose_workers_idled_were_seen_with_less_company():
    lanes = np.arange(4, dtype=np.int32)
    start_s = np.array([0.0, 1.0, 2.0, 3.0])
    names = tuple("abcd")
    in_turn = ss.TaskGraph.from_edges(
        [1.0] * 4, kinds="mine", recording=Recording(start_s, start_s + 1, lanes, names)
    )
    at_once = ss.TaskGraph.from_edges(
        [1.0] * 4, kinds="mine", recording=Recording(np.zeros(4), np.ones(4), lanes, names)
    )
    machine = ss.machine("generic[cores=4]")
    costs = ss.CostModel().on(in_turn, machine)
    assert [seen_threads("recorded", costs, graph, machine) for graph in (in_turn, at_once)] == [1.0, 4.0]


def test_starting_a_team_makes_seconds_uncertain_only_on_teams_that_it_bounds():
    """To start a team takes 50 us: of a product of 3 ms more than a tenth on 8 cores, not on 4."""
    machine = ss.machine("generic").varied({"runtime.fork_join": 50.0})
    graph = ss.TaskGraph.from_edges([3e-3], kinds="MatMul", recording=Recording(
        np.zeros(1), np.full(1, 3e-3), np.zeros(1, np.int32), ("main",)))  # fmt: skip
    costs = ss.CostModel().on(graph, machine)
    ((group,), _) = grouped(costs, graph, machine, [ss.CostModel().curve("MatMul")])
    assert (group.bound, group.regime, group.easy) == ("compute", "overhead", 4)
    z, width = NormalByName.on(machine, 5), sigmas()["recorded"].width
    easy = width["compute"] * z("matrix product compute width")
    hard = width["overhead"] * z("matrix product overhead width")
    world = of(5, graph, ss.CostModel(), machine).stretch[0]
    assert np.log(world[[2, 4, 16]]) == pytest.approx([easy, 2 * easy, 2 * easy + 2 * hard])


def test_what_errs_on_one_machine_says_nothing_of_another():
    graph = ss.TaskGraph.from_edges([NAN], kinds="MatMul", flops=[1e12])
    logs = [
        [
            np.log(of(seed, graph, ss.CostModel(), ss.machine(name)).one_core_s[0])
            for name in ("grace", "a64fx")
        ]
        for seed in range(100)
    ]
    assert abs(np.corrcoef(np.transpose(logs))[0, 1]) < 0.3
    halves = [of(3, graph, ss.CostModel(), ss.machine(f"grace[cores={n}]")).one_core_s[0] for n in (72, 144)]
    assert halves[0] == halves[1]


def test_seconds_are_less_certain_the_wider_the_team_beyond_what_was_measured():
    widths = (1, 2, 4, 16, 64)
    logs = np.log([[of(seed).seconds(width)[0] for width in widths] for seed in range(100)])
    spreads = logs.std(axis=0)
    assert spreads[0] == pytest.approx(spreads[1]), "both were measured"
    assert (np.diff(spreads[1:]) > 0).all()


def test_disturbed_and_scattering_calibrations_are_less_certain():
    ops = [MeasuredOp(Op("MatMul", "2x2"), (Point(1, 1.0),))]
    graph = ss.TaskGraph.from_edges([NAN], kinds="MatMul", shapes="2x2")
    spreads = []
    for facts in ({"runs": 20, "dropped": 0}, {"runs": 20, "dropped": 10}, {"scatter": 0.25}):
        of_host = Calibration.of(ops, "by hand", machine="generic", facts=facts)
        sampled = [of_host.cost_model().sampled(np.random.default_rng(seed)) for seed in range(60)]
        one_core = ss.machine("generic[cores=1]")
        spreads.append(np.std([np.log(one.on(graph, one_core).one_core_s[0]) for one in sampled]))
    known = sigmas()["measured"]
    assert spreads[0] == pytest.approx(np.hypot(known.common, known.discrepancy), rel=0.25)
    assert min(spreads[1:]) > 0.2


def test_intervals_hold_truths_of_the_stated_model():
    """Calibrated on one thread, run on two: truths from the formula of the page, by numbers of their own."""
    op = MeasuredOp(Op("MatMul", "2x2", flops=1e9), (Point(1, 1.0, runs=100),))
    model = ss.CostModel(measured=MeasuredCurves([op]))
    graph = ss.TaskGraph.from_edges([NAN], kinds="MatMul", shapes="2x2", flops=[1e9])
    known, rng = sigmas()["measured"], np.random.default_rng(0)
    z = rng.standard_normal((4, 2000))
    level = known.common * z[0] + known.cores * z[1] + known.of("matrix product", "compute") * z[2]
    truths = np.exp(level) * np.maximum(np.exp(known.width["compute"] * z[3]) / 2**known.gain, 0.5)
    held = []
    for seed in range(3):
        (row,) = ss.predict(
            graph, "generic", "sequential", [2], model, width=2, samples=40, seed=100 * seed
        ).itertuples()
        held.append(((row.low_s <= truths) & (truths <= row.high_s)).mean())
    assert 0.90 <= np.mean(held) <= 0.99
