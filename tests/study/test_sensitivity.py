"""What a makespan hangs on: closed forms, no effect, ties, and Sobol's indices of functions where they are known."""

import math
from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.errors import MachineError, SimschedError
from simsched.notes import Note, weighed
from simsched.replay.scenario import Scenario
from simsched.study.sensitivity import _indices, _ranked
from simsched.study.uncertain import Parameter, Uncertain

NAN = math.nan
FLOPS = ss.TaskGraph.from_edges([NAN], flops=[1e12])
BYTES = ss.TaskGraph.from_edges([NAN], bytes_B=[1e12])


def by_name(frame):
    return frame.set_index("parameter")


def test_one_task_of_operations_goes_with_the_inverse_of_the_rate():
    frame = by_name(ss.sensitivity(FLOPS, "generic", "fifo"))
    for name in ("cores.clock", "cores.flop_per_cycle"):
        assert frame.loc[name, "elasticity"] == pytest.approx(-1)
        assert frame.loc[name, "low_makespan_s"] == pytest.approx(1e12 / 32e9 * 1.05)
        assert frame.loc[name, "high_makespan_s"] == pytest.approx(1e12 / 32e9 / 1.05)
        assert frame.loc[name, "swing_share"] == pytest.approx(1.05 - 1 / 1.05)
    assert frame.loc["memory.modes.memory.core_bandwidth", "elasticity"] == 0


def test_one_task_of_bytes_goes_with_the_inverse_of_the_bandwidth():
    frame = by_name(ss.sensitivity(BYTES, "generic", "fifo"))
    assert frame.loc["memory.modes.memory.core_bandwidth", "elasticity"] == pytest.approx(-1)
    assert frame.loc["cores.clock", "elasticity"] == 0


def test_what_can_only_fall_has_one_side():
    """A core cannot sustain more than it issues: from 1.0 down only, and the elasticity is that of this side."""
    row = by_name(ss.sensitivity(FLOPS, "generic", "fifo")).loc["cores.sustained"]
    assert (row["low"], row["high"]) == (pytest.approx(1 / 1.05), 1)
    assert row["high_makespan_s"] == row["makespan_s"]
    assert row["elasticity"] == pytest.approx(-1)


def test_an_end_that_is_not_possible_is_moved_to_what_is():
    name = "runtime.unpinned_region"
    row = by_name(ss.sensitivity(FLOPS, "knl-7250", "fifo", parameters=[name])).loc[name]
    assert row["low"] == pytest.approx(1.31 / 1.25)
    graph = ss.TaskGraph.from_edges([1.0])
    found = Uncertain(graph, Scenario(ss.machine("knl-7250")))
    assert found.reachable(name, 1.31, 0.5) == pytest.approx(1)


def test_dispatch_of_a_chain_by_hand(engine):
    """Two tasks of 1 us, dispatched in 1 us each: from the first start on, a third of the 3 us is dispatch."""
    chain = ss.TaskGraph.from_edges([1e-6, 1e-6], [(0, 1)])
    frame = ss.sensitivity(
        chain, "generic[runtime.dispatch=1000]", "critical-path", parameters=["runtime.dispatch"], engine=engine,
        change=0.01,
    )  # fmt: skip
    assert frame["elasticity"][0] == pytest.approx(1 / 3, rel=1e-3)
    assert frame["confidence"][0] == "unverified", "a number that was varied is nobody's"
    assert (frame["low_makespan_s"][0], frame["high_makespan_s"][0]) == (
        pytest.approx(2.5e-6),
        pytest.approx(4e-6),
    )


def test_a_serial_share_of_a_curve_by_hand():
    """One task of 1 s on 4 cores, s of it serial: s + (1 - s) / 4."""
    graph = ss.TaskGraph.from_edges([1.0], kinds=["Conv2D"])
    model = ss.CostModel({"mine": ss.Curve(0.5)})
    mine = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], kinds=["mine", "Conv2D"])
    frame = by_name(ss.sensitivity(graph, "generic[cores=4]", "sequential"))
    row = frame.loc["costs.convolution.serial_share"]
    added = 0.00031 * math.sqrt(1e-3) * 3
    assert row["high_makespan_s"] == pytest.approx(0.128 + (1 - 0.128) / 4 + added)
    assert (row["low"], row["high"], row["confidence"]) == (0, 0.128, "med")
    given = by_name(ss.sensitivity(mine, "generic[cores=4]", "sequential", costs=model))
    assert given.loc["costs.mine.serial_share", "confidence"] == "given"
    assert (given.loc["costs.mine.serial_share", ["low", "high"]] == [0.25, 1.0]).all()
    assert given.loc["costs.mine.serial_share", "swing_s"] == pytest.approx(0.75 * 0.75)


def test_without_effect_is_zero_and_stays_in_the_table():
    frame = ss.sensitivity(ss.TaskGraph.from_edges([1.0]), "knl-7250", "fifo")
    facts = [f for f in ss.machine("knl-7250").facts if not isinstance(f.value, tuple)]
    counts = {
        "cores.count", "cores.per_tile", "cores.smt_ways", "cores.flop_per_cycle", "memory.modes.ddr.peak"
    }  # fmt: skip
    assert set(frame["parameter"]) >= {fact.key for fact in facts} - counts
    # That a kind nobody knows does not gain from cores is a rule, not a number that may be off: it has no interval.
    still = frame[(frame["swing_s"] == 0) & (frame["parameter"] != "costs.serial.serial_share")]
    assert len(still) > 30
    assert (still["elasticity"] == 0).all()
    assert still["rank"].nunique() == 1, "equal effects have one rank"
    assert still["parameter"].tolist()[:2] == ["cores.clock", "cores.sustained"], "in the order of the file"


def test_ranks_of_ties():
    frame = ss.sensitivity(
        FLOPS, "generic", "fifo", parameters=["runtime.pop", "cores.flop_per_cycle", "cores.clock"]
    )
    assert frame["parameter"].tolist() == ["cores.flop_per_cycle", "cores.clock", "runtime.pop"]
    assert frame["rank"].tolist() == [1, 1, 3]


def test_same_inputs_same_table():
    graph = ss.workload("lstm[layers=1,steps=2]")
    options = {"costs": ss.CostModel(noise="stragglers"), "seed": 3}
    one, other = (
        ss.sensitivity(graph, "generic[cores=4]", "critical-path", "2x2", **options) for _ in range(2)
    )
    assert one.equals(other)
    assert one["makespan_s"].nunique() == 1


def test_measured_tasks_do_not_hang_on_their_curve():
    points = (Point(1, 1.0), Point(4, 0.25))
    costs = ss.CostModel(measured=MeasuredCurves((MeasuredOp(Op("Conv2D", "2x2"), points),)))
    graph = ss.TaskGraph.from_edges([1.0], kinds=["Conv2D"], shapes=["2x2"])
    frame = by_name(ss.sensitivity(graph, "generic[cores=4]", "sequential", costs=costs))
    assert frame.loc["costs.convolution.serial_share", "swing_s"] == 0


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"parameters": ["cores.clok"]}, MachineError, r"no parameter 'cores\.clok'.*cores\.clock"),
        ({"parameters": ["cores.count"]}, MachineError, "no parameter"),
        ({"parameters": []}, SimschedError, r"parameters is \[\]; expected at least one"),
        ({"parameters": ["cores.clock"] * 2}, SimschedError, "'cores.clock' is listed twice"),
        ({"change": 0.0}, SimschedError, "change is 0"),
        ({"change": 1.0}, SimschedError, r"change is 1\.0"),
    ],
)
def test_impossible_questions(options, error, said):
    with pytest.raises(error, match=said):
        ss.sensitivity(FLOPS, "generic", "fifo", **options)


def uniform(name, low=0.0, high=1.0):
    return Parameter(name, (low + high) / 2, "", low, high, "med")


def test_indices_of_a_sum_are_known():
    """1 + x + 2 y, evenly spread: y explains four times as much as x, 0.8 and 0.2, and nothing is joint."""
    found = _indices(
        [uniform("x"), uniform("y"), uniform("z")], lambda v: 1 + v["x"] + 2 * v["y"], 1024, 0, 1
    )
    assert found[:, 0] == pytest.approx([0.2, 0.8, 0], abs=0.02)
    assert found[:, 3] == pytest.approx([0.2, 0.8, 0], abs=0.02)
    assert (found[:, 1] <= found[:, 0] + 1e-9).all()
    assert (found[:, 0] <= found[:, 2] + 1e-9).all()


def test_indices_of_a_product_are_joint():
    """X y between -1 and 1: neither explains anything by itself, each all of it together with the other."""
    both = [Parameter(name, 0.0, "", -1.0, 1.0, "med") for name in "xy"]
    found = _indices(both, lambda v: 2 + v["x"] * v["y"], 1024, 0, 1)
    assert found[:, 0] == pytest.approx([0, 0], abs=0.05)
    assert found[:, 3] == pytest.approx([1, 1], abs=0.05)


def test_what_does_not_vary_has_no_share():
    assert not _indices([uniform("x"), uniform("y", 3.0, 3.0)], lambda v: 5.0, 8, 0, 1).any()
    assert not _indices([uniform("y", 3.0, 3.0)], lambda v: 5.0, 8, 0, 1).any()


def test_sobol_of_one_task_is_its_rate():
    frame = by_name(
        ss.sobol(FLOPS, "generic", "fifo", parameters=["cores.clock", "runtime.pop"], samples=128)
    )
    assert frame.loc["cores.clock", "first"] == pytest.approx(1, abs=0.05)
    assert frame.loc["runtime.pop", ["first", "total"]].tolist() == [0, 0]
    assert frame["rank"].tolist() == [1, 2]


def test_sobol_takes_what_swings_most_and_is_drawn_from_its_seed():
    one, other = (ss.sobol(BYTES, "generic", "fifo", samples=8, seed=5) for _ in range(2))
    assert one.equals(other)
    assert one["parameter"].tolist() == ["memory.modes.memory.core_bandwidth"]
    nothing = ss.sobol(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", samples=8)
    assert (len(nothing), list(nothing)) == (0, list(one))
    with pytest.raises(SimschedError, match="samples is 12"):
        ss.sobol(BYTES, "generic", "fifo", samples=12)
    assert np.isfinite(one["first_high"]).all()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parameters": ["cores.clock"] * 2}, "'cores.clock' is listed twice"),
        ({"samples": 64.0}, r"samples is 64\.0; expected a power of two"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_indices(options, said):
    with pytest.raises(SimschedError, match=said):
        ss.sobol(FLOPS, "generic", "fifo", **{"parameters": ["cores.clock"], **options})


def test_indices_of_what_nothing_moves_are_none():
    assert ss.sobol(ss.TaskGraph.from_edges([], []), "generic", "fifo").empty


def test_where_nothing_moves_the_makespan_a_note_says_why():
    chain, said = (
        ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]),
        "none of the numbers that vary moves the makespan: ",
    )
    found = ss.sensitivity(chain, "generic", "fifo")
    assert found.text().startswith(
        f"none of {len(found)} numbers moves the makespan; .frame and --json have all"
    )
    assert "not shown" not in found.text()
    shown = " ".join(weighed(ss.sensitivity(chain, "generic", "fifo").notes)[:3])
    assert f"{said}given durations and" in shown, "an empty table says why, among the notes that are printed"
    assert said not in " ".join(ss.sensitivity(FLOPS, "generic", "fifo").notes)
    assert said in " ".join(ss.sobol(chain, "generic", "fifo", samples=2).notes)
    recorded = replace(chain, recorded_on=ss.RecordedOn.of("generic"))
    assert f"{said}recorded durations" in " ".join(ss.sensitivity(recorded, "generic", "fifo").notes)


def test_numbers_of_pairs_are_not_varied_and_a_note_says_so():
    """A message of 1e8 B takes 1 s, and the makespan of 3 s is said to depend on no number."""
    graph = ss.TaskGraph.from_edges([[1.0, 9.0], [9.0, 1.0]], [(0, 1)], edge_bytes=[1e8])
    machine = ss.machine("generic[cores=2,kinds=each]", pair_Bps=np.full((2, 2), 1e8))
    found = ss.sensitivity(graph, machine, "heft")
    assert (found["makespan_s"] == 3).all()
    assert (found["swing_s"] == 0).all()
    assert "numbers of pairs of places, which are lists and do not vary, set it" in " ".join(found.notes)


def test_a_number_that_matters_beyond_its_interval_alone_hides_none_without_effect():
    """A share of 1 that is exact has no swing, and an elasticity; it stands before those that have neither."""
    rows = [{"parameter": name, "swing_s": swing_s, "elasticity": elasticity, "makespan_s": 3.0}
            for name, swing_s, elasticity in (("a", 0.0, 0.0), ("b", 0.0, -1.0), ("c", 1.0, 1.0))]  # fmt: skip
    assert _ranked(rows, [], folds=True, unmoved=Note("")).shown["parameter"].tolist() == ["c", "b"]


def test_numbers_without_effect_are_counted_and_not_shown():
    found = ss.sensitivity(FLOPS, "generic", "fifo")
    still = (found["swing_s"] == 0).sum()
    assert 1 < still < len(found)
    assert (found.shown["swing_s"] > 0).all()
    assert len(found.shown) == len(found) - still == found.text(notes=False).count("\n")
    assert f"{still} numbers without effect are not shown; .frame and --json have all" in found.notes
    named = ss.sensitivity(FLOPS, "generic", "fifo", parameters=["cores.clock", "runtime.pop"])
    assert len(named.shown) == 2
    assert not any("not shown" in note for note in named.notes)


def test_one_number_without_effect_is_one():
    rows = [{"parameter": name, "swing_s": swing, "elasticity": swing, "makespan_s": 3.0} for name, swing in
            (("a", 0.0), ("b", 1.0))]  # fmt: skip
    found = _ranked(rows, [], folds=True, unmoved=Note(""))
    assert found.shown["parameter"].tolist() == ["b"]
    assert found.notes == ("1 number without effect is not shown; .frame and --json have all",)


def test_latencies_of_two_domains_vary_together():
    """The remote one would be below the near one in every fourth case; no machine has that, and it was an error."""
    graph = ss.workload("lstm[size=small,steps=2]")
    names = ["memory.modes.ddr.latency.any", "memory.modes.ddr.remote_latency.any"]
    found = ss.sobol(graph, "kunpeng-920", "fifo", parameters=names, samples=16)
    assert sorted(found["parameter"]) == names
    assert (found["total"] > 0).all()
