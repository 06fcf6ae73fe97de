"""Intervals of predictions: sampled machines, the same samples on both engines, and intervals without width."""

import sys
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs.curves import sampled_between
from simsched.costs.normal import NormalByName
from simsched.errors import MachineError, SimschedError
from simsched.graph.recording import Recording
from simsched.machine import Machine
from simsched.notes import Note
from simsched.plugins import registered
from simsched.replay.scenario import Scenario
from simsched.study.compare import default_seeds
from simsched.study.predict import EXACT
from simsched.study.uncertain import COUNTS, MachineNumbers, Uncertain
from simsched.study.worlds import undecided

NAN = float("nan")
PRODUCTS = ss.TaskGraph.from_edges(
    [NAN] * 4, [(0, 2), (1, 3)], kinds="MatMul", flops=[1e9, 2e9, 1e9, 3e9], bytes_B=[1e6] * 4
)
CELLS = ss.workload("lstm[size=small,layers=1,steps=3]")


def numbers(spec):
    return MachineNumbers.of(ss.machine(spec))


def test_ops_in_local_memories_are_planned_once():
    """A world has other seconds of the same programs: nobody plans for numbers that nobody knows."""
    machine = ss.machine("sw26010")
    there = Uncertain(CELLS, Scenario(machine)).changed({"ldm.dma_latency": 0.5}).machine
    group = there.tables["ldm"].core_group()
    assert group.dma_latency_s == 0.5e-6
    assert group.stated == machine.tables["ldm"].core_group()
    assert group.stated.stated is None


@pytest.mark.parametrize("spec", ["knl-7250", "xeon-8160x2", "generic"])
def test_machines_are_sampled_within_the_intervals_of_their_numbers(spec):
    machine, known = ss.machine(spec), numbers(spec)
    ends = {one.name: (one.low, one.high) for one in known.parameters}
    sampled = [known.sampled(machine, seed) for seed in range(5)]
    for one in sampled:
        values = {fact.key: fact.value for fact in one.facts if fact.key in ends}
        assert all(ends[name][0] <= value <= ends[name][1] for name, value in values.items())
        assert one.effects == machine.effects
        assert one.n_cores == machine.n_cores
    assert len({one.core_flops for one in sampled}) == 5
    assert known.sampled(machine, 3).core_flops == sampled[3].core_flops


@pytest.mark.parametrize(
    "spec", ["knl-7250", "knl-7210[cluster=snc4,memory=ddr]", "epyc-9654x2", "kunpeng-920"]
)
def test_numbers_have_their_whole_spread(spec):
    """Latencies of a remote domain that were less than the near one's pulled all numbers of six worlds in ten along."""
    machine, known = ss.machine(spec), numbers(spec)
    clock = next(one for one in known.parameters if one.name == "cores.clock")
    pulled = []
    for seed in range(40):
        z = NormalByName.on(machine, seed)(clock.name)
        expected = np.clip(sampled_between(clock.value, clock.low, clock.high, z), clock.low, clock.high)
        values = {fact.key: fact.value for fact in known.sampled(machine, seed).facts}
        pulled += [seed] if values[clock.name] != pytest.approx(expected) else []
    assert pulled == []


def test_machines_of_other_core_counts_have_the_same_numbers():
    known = numbers("knl-7250")
    few, many = (known.sampled(ss.machine(f"knl-7250[cores={n}]"), 7) for n in (2, 136))
    assert few.core_flops == many.core_flops


@pytest.mark.parametrize("name", sorted(registered("machines").keys() - {"host"}))
def test_numbers_as_stated_make_the_nominal_machine_of_any_number_of_cores(name):
    """Sampled bandwidths of a whole A64FX were those of one of its four domains, and of cores with the whole curve."""
    machine = ss.machine(name)
    values = {
        fact.key: fact.value
        for fact in machine.facts
        if not isinstance(fact.value, tuple) and fact.unit not in COUNTS
    }
    for share in (1 / 4, 1 / 2, 1, 2):
        nominal = machine.varied({"cores": max(round(share * machine.n_cores), 1)})
        same = Uncertain(CELLS, Scenario(nominal)).changed(values).machine
        for field in fields(Machine):
            if field.name not in ("spec", "tables", "facts", "stated_speed"):
                assert getattr(same, field.name) == getattr(nominal, field.name), (nominal.spec, field.name)


def test_machines_that_were_changed_are_not_sampled_as_those_of_their_file():
    xeon = ss.machine("xeon-8160x2")
    fast = replace(xeon, core_flops=2 * xeon.core_flops, peak_flops=2 * xeon.peak_flops)
    assert ss.simulate(PRODUCTS, fast, "fifo").makespan_s < ss.simulate(PRODUCTS, xeon, "fifo").makespan_s
    for ask, policy in ((ss.compare, [["fifo"]]), (ss.predict, ["fifo"])):
        with pytest.raises(MachineError, match=r"with dataclasses.replace \(core_flops, peak_flops\)"):
            ask(PRODUCTS, fast, *policy)
    with pytest.raises(SimschedError, match=r"two machines xeon-8160x2 that differ; .*spec='mine'"):
        ss.machines(PRODUCTS, [xeon, fast], ["fifo"], samples=1)
    named = ss.machines(PRODUCTS, [xeon, replace(fast, spec="mine")], ["fifo"], samples=1)
    assert named["machine"].tolist() == ["mine", "xeon-8160x2"]


def test_numbers_between_brackets_are_given():
    spec = "generic[cores.clock=2.0]"
    assert "cores.clock" not in [one.name for one in numbers(spec).parameters]
    sampled = numbers(spec).sampled(ss.machine(spec), 1)
    assert {fact.key: fact.value for fact in sampled.facts}["cores.clock"] == 2.0


def test_both_engines_have_the_same_samples():
    found = [
        ss.predict(PRODUCTS, "generic", "fifo", [1, 4], engine=engine, samples=5)
        for engine in ("simpy", "native")
    ]
    columns = ["makespan_s", "low_s", "high_s"]
    assert found[0][columns].equals(found[1][columns])


@pytest.mark.parametrize("policy", ["fifo", "kind-widths", "corun"])
def test_intervals_of_compare_are_those_of_predict(policy):
    (row,) = ss.compare(PRODUCTS, "generic[cores=4]", [policy], seed=2, samples=6).itertuples()
    (other,) = ss.predict(PRODUCTS, "generic", policy, [4], seed=2, samples=6).itertuples()
    assert (row.makespan_s, row.low_s, row.high_s) == (other.makespan_s, other.low_s, other.high_s)
    assert row.low_s < row.makespan_s < row.high_s
    assert row.fastest_share == 1.0


def test_a_policy_is_as_often_the_fastest_as_it_is_in_simulated_worlds():
    machine, known, wins = ss.machine("xeon-8160x2"), numbers("xeon-8160x2"), [0, 0]
    frame = ss.compare(CELLS, machine, ["critical-path", "data-parallel"], samples=8)
    nominal = [ss.simulate(CELLS, machine, row.policy, layout=row.layout) for row in frame.itertuples()]
    for seed in range(8):
        costs = ss.CostModel().sampled(np.random.default_rng([seed, 1])) if seed else ss.CostModel()
        world = known.sampled(machine, seed) if seed else machine
        seconds = [
            ss.simulate(
                CELLS, world, one.policy, one.layout, costs.while_busy(one.utilization * one.n_cores)
            ).makespan_s
            for one in nominal
        ]
        wins = [won + (one <= 1.005 * min(seconds)) for won, one in zip(wins, seconds, strict=True)]
    assert frame["fastest_share"].tolist() == [won / 8 for won in wins]
    assert 0 < min(wins) < 8


def test_it_is_said_where_policies_differ_by_less_than_is_known():
    frame = ss.compare(CELLS, "xeon-8160x2", ["sequential", "critical-path", "data-parallel"])
    shares = dict(zip(frame["policy"], frame["fastest_share"], strict=True))
    assert shares.pop("sequential") == 0.0
    (said,) = [note for note in frame.notes if "the fastest" in note]
    named = [f"{name} in {share:.0%}" for name, share in shares.items()]
    assert said.startswith("which policy is the fastest is not decided")
    assert all(one in said for one in named)
    assert "sequential" not in said
    alone = ss.compare(CELLS, "xeon-8160x2", ["sequential", "critical-path"])
    assert not [note for note in alone.notes if "the fastest" in note]


def test_it_is_decided_where_one_that_takes_as_long_as_the_shortest_is_always_the_fastest():
    frame = pd.DataFrame(
        {"makespan_s": [1.0, 0.998, 2.0], "fastest_share": [1.0, 0.6, 0.0], "policy": [*"abc"]}
    )
    ties = "all within 0.5% of the shortest count as the fastest, so shares add up to 160%"
    assert undecided(frame, "policy") == [ties]
    assert not undecided(frame.assign(fastest_share=[1.0, 0.0, 0.0]), "policy")
    many = pd.DataFrame({"makespan_s": [1.0] * 6, "fastest_share": [0.5] * 6, "policy": [*"abcdef"]})
    (said,) = undecided(many, "policy")
    assert "d in 50%, e in 50%, f in 50% (all within 0.5% of the shortest count as the fastest" in said
    assert undecided(frame.assign(fastest_share=[0.9, 0.6, 0.0]), "policy")
    assert undecided(frame.assign(makespan_s=[1.1, 0.998, 2.0]), "policy")


def test_comparisons_without_uncertainty_have_no_intervals():
    given = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    exact = ss.compare(given, "generic[cores=2]", ["fifo", "critical-path"])
    assert exact["low_s"].tolist() == exact["high_s"].tolist() == exact["makespan_s"].tolist()
    assert "fastest share" not in str(exact)
    assert not [note for note in exact.notes if "no intervals" in note]


def test_plans_have_intervals_where_twenty_do_not_take_minutes_else_a_note_says_so(monkeypatch):
    policies = ["fifo", "heft"]
    plans = ss.compare(PRODUCTS, "generic[cores=2]", policies)
    assert (plans["low_s"] < plans["high_s"]).all()
    assert plans["fastest_share"].sum() >= 1.0
    monkeypatch.setattr(sys.modules[default_seeds.__module__], "MOST_PLANNED", PRODUCTS.n_tasks - 1)
    said = "no intervals, which can take minutes with {}: samples=20 or --samples 20 adds them"
    for found in (
        ss.compare(PRODUCTS, "generic[cores=2]", policies),
        ss.tune(PRODUCTS, "generic[cores=2]", "heft", layouts=["2x1"]),
    ):
        assert found[["low_s", "high_s", "fastest_share"]].isna().all(axis=None)
        assert [note for note in found.notes if "interval" in note] == [said.format("heft")]
    assert said.format("corun") in ss.compare(PRODUCTS, "core-i7-1370p[cores=4]", ["fifo", "corun"]).notes
    asked = ss.compare(PRODUCTS, "generic[cores=2]", policies, samples=3)
    assert (asked["low_s"] < asked["high_s"]).all()


def test_a_search_of_seconds_is_not_repeated_twenty_times_however_small_the_graph_is():
    found = ss.compare(PRODUCTS, "generic[cores=2]", ["optimal[effort=0.01]"], "2x1")
    assert found["low_s"].isna().all()
    assert any("with optimal[effort=0.01]: samples=20" in note for note in found.notes)


@pytest.mark.parametrize("samples", [0, 2.5, True])
def test_impossible_numbers_of_worlds(samples):
    with pytest.raises(ss.SimschedError, match="samples is"):
        ss.compare(PRODUCTS, "generic[cores=2]", ["fifo"], samples=samples)


def test_worlds_of_one_seed_are_no_worlds_of_the_next():
    """Of three samples, an end is the nominal makespan or that of a world."""
    pairs = [ss.predict(PRODUCTS, "generic", "fifo", [4], seed=seed, samples=3) for seed in range(6)]
    ends = [end for (row,) in (pair.itertuples() for pair in pairs) for end in (row.low_s, row.high_s)]
    others = [end for end in ends if end != pairs[0].makespan_s[0]]
    assert len(set(others)) == len(others) >= 6


@settings(max_examples=8)
@given(seed=st.integers(0, 2**31))
def test_intervals_hold_the_prediction_and_come_from_the_seed(seed):
    one, other = (ss.predict(PRODUCTS, "generic", "fifo", [2, 8], seed=seed, samples=4) for _ in range(2))
    assert (one["low_s"] <= one["makespan_s"]).all()
    assert (one["makespan_s"] <= one["high_s"]).all()
    assert (one["low_s"] < one["high_s"]).all()
    assert one.equals(other)


def test_intervals_are_wider_beyond_the_cores_that_are_built():
    """Recorded on one core: of 2, 8 and 32, each is further away."""
    graph = ss.TaskGraph.from_edges([1.0], kinds="Conv2D")
    frame = ss.predict(graph, "generic", "sequential", [2, 8, 32], samples=40)
    widths = np.log(frame["high_s"] / frame["low_s"])
    assert (np.diff(widths) > 0).all()


def test_intervals_without_width_say_so():
    exact = ss.predict(ss.TaskGraph.from_edges([1.0, 2.0]), "generic", "fifo", [1, 2])
    assert (exact["low_s"] == exact["high_s"]).all()
    assert EXACT in exact.notes
    assert EXACT not in ss.predict(PRODUCTS, "generic", "fifo", [1, 2], samples=3).notes
    assert isinstance(EXACT, Note)


@pytest.mark.parametrize("spec", ["knc-7120p", "sw26010-pro", "grace-hopper"])
def test_numbers_that_have_to_be_whole_do_not_keep_the_others_from_being_sampled(spec):
    """Eight memory controllers or 128 rows of a block have no value near them: such machines were never sampled."""
    machine, known = ss.machine(spec), numbers(spec)
    assert not {"structure.memory_controllers", "ldm.gemm_m"} & {one.name for one in known.parameters}
    assert all(known.sampled(machine, seed) != machine for seed in range(5))


def test_numbers_of_single_kinds_are_sampled_and_given():
    """The clock of the GPU is its own, that of the CPU is the machine's; the one in brackets is exact."""
    machine, known = ss.machine("grace-hopper"), numbers("grace-hopper")
    names = {one.name for one in known.parameters}
    assert {"kinds.clock.GPU", "kinds.core_bandwidth.GPU", "kinds.start.GPU", "cores.clock"} <= names
    assert "kinds.clock.CPU" not in names
    sampled = [known.sampled(machine, seed) for seed in range(5)]
    assert {one.kinds.flops_ratio[0] for one in sampled} == {1.0}
    assert len({one.kinds.flops_ratio[1] for one in sampled}) == 5
    assert "kinds.clock.GPU" not in {
        one.name for one in numbers("grace-hopper[kinds.clock.GPU=1.98]").parameters
    }


def test_an_interval_is_as_wide_as_the_least_certain_number_that_it_rests_on():
    """A task of a second on a core takes milliseconds on a GPU of unverified numbers, each within a factor of 2."""
    graph = ss.TaskGraph.from_edges(
        [1.0], kinds="MatMul", flops=[7e10], recorded_on=ss.machine("grace-hopper")
    )
    (row,) = ss.predict(graph, "grace-hopper", "heft", [73]).to_dict("records")
    assert row["low_s"] < 0.75 * row["makespan_s"]
    assert row["high_s"] > 1.5 * row["makespan_s"]


def test_what_a_machine_recorded_is_not_uncertain_by_its_numbers():
    """Its clock is that of the recording, whatever it is; on another machine both may be wrong."""
    graph = ss.TaskGraph.from_edges(
        [1.0, 2.0], [(0, 1)], kinds="MatMul", flops=[1e10, 2e10], recorded_on="epyc-7702"
    )
    own, other = (ss.sensitivity(graph, chip, "fifo", (1, 1)) for chip in ("epyc-7702", "xeon-8160x2"))
    assert not own[own["parameter"] == "cores.clock"]["swing_s"].gt(0).any()
    assert other[other["parameter"] == "cores.clock"]["swing_s"].gt(0.1).all()
    interval = ss.predict(graph, "epyc-7702", "fifo", [1])[["low_s", "makespan_s", "high_s"]]
    assert interval.to_numpy() == pytest.approx(3.0, rel=0.2)


def recorded(gap_s):
    """Two tasks of 1 s on one worker, with a gap between them."""
    start = np.array([0.0, 1.0 + gap_s])
    run = Recording(start, start + 1, np.zeros(2, np.int32), ("worker",))
    return ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], recording=run)


def test_what_a_recording_took_is_said_where_its_cores_are_asked_for():
    """Gaps are no tasks: 2 s of 2 s, or of 4 s; other cores than those of the recording took nobody any time."""
    for gap_s, one, two in (
        (0.0, "took 2 s on 1 thread", ""),
        (
            2.0,
            "took 4 s on 1 thread, which the interval at 1 core does not hold:",
            "intervals at 1 core do not hold:",
        ),
    ):
        graph = recorded(gap_s)
        for found, said in (
            (ss.predict(graph, cores=[1, 2]), one),
            (ss.compare(graph, policies=["fifo"]), one),
            (ss.compare(graph, policies=["fifo", "sequential"]), two),
        ):
            (note,) = (note for note in found.notes if "the recording itself" in note)
            assert said in note
            assert not gap_s or note == found.notes[0], "what the recording contradicts comes first"
    for machine, cores, samples in ((None, 2, 20), ("knl-7250", 1, 20), (None, 1, 1)):
        found = ss.predict(graph, machine, cores=[cores], samples=samples)
        lacks = [note for note in found.notes if "intervals hold no interruptions" in note]
        assert len(lacks) == (cores == 2), "said of other core counts than the recording's"
        assert not any("the recording itself" in note for note in found.notes)


@pytest.mark.parametrize(("samples", "said"), [(1, "one sample: no intervals;"), (2, "intervals hold 33% ")])
def test_intervals_of_few_samples_say_what_they_hold(samples, said):
    asked = (PRODUCTS, "generic[cores=2]")
    for found in (
        ss.compare(*asked, ["fifo"], samples=samples),
        ss.tune(*asked, "fifo", ["2x1"], samples=samples),
        ss.predict(*asked, "fifo", [2], samples=samples),
        ss.machines(PRODUCTS, ["generic[cores=2]"], samples=samples),
    ):
        (note,) = [note for note in found.notes if "interval" in note]
        assert note.startswith(said)
