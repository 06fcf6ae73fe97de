"""Measured curves in a cost model: measured shapes, other shapes of the same kinds, everything else."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched import native
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.costs.fitting.by_work import work_model
from simsched.errors import CostError
from simsched.testing import check_schedule
from simsched.testing.equivalence import check_same

NAN = np.nan
ENGINES = ["simpy", "native"] if native.find() else ["simpy"]
MACHINE = ss.machine("generic[cores=4]")


def op(kind, shape, seconds, flops=None, bytes_B=None, sharing="apart"):
    points = [Point(w, c, "apart" if w == 1 else sharing) for w, c in seconds.items()]
    return MeasuredOp(Op(kind, shape, flops, bytes_B), tuple(points))


MM = [
    op("mm", "8x8;8x8", {1: 2.0, 2: 1.5, 4: 3.0}, 1e9, 100.0),
    op("mm", "9x9;9x9", {1: 4.0, 2: 3.0, 4: 6.0}, 2e9, 200.0),
]


def test_measured_shapes_by_hand():
    graph = ss.TaskGraph.from_edges([9.0, 7.0], kinds=["mm", "view"], shapes=["8x8;8x8", "8x8"])
    tasks = ss.CostModel(measured=MeasuredCurves(MM, method="linear")).on(graph, MACHINE)
    assert [tasks.seconds(w)[0] for w in (1, 2, 3, 4, 9)] == [2, 1.5, 2.25, 3, 3]
    assert tasks.seconds(4)[1] == 7
    assert tasks.fastest_widths.tolist() == [2, 1]
    assert tasks.notes[0] == "1 of 2 tasks take measured seconds"


def test_other_shapes_of_the_kind_take_their_work():
    """2 s a GFLOP on one thread and 1.5 on two: three GFLOP take 6 and 4.5; without FLOPs the duration is kept."""
    graph = ss.TaskGraph.from_edges([NAN, 7.0], kinds="mm", shapes="7x7;7x7", flops=[3e9, NAN])
    tasks = ss.CostModel(measured=MeasuredCurves(MM)).on(graph, MACHINE)
    assert tasks.seconds(1).tolist() == [pytest.approx(6), 7]
    assert tasks.seconds(2).tolist()[0] == pytest.approx(4.5)
    assert "1 task of shapes not measured: seconds predicted from the work: mm" in tasks.notes
    without = ss.CostModel(measured=MeasuredCurves(MM, unmeasured_shapes=False))
    unknown = ss.TaskGraph.from_edges([NAN], kinds="mm", shapes="7x7;5x3")
    with pytest.raises(CostError, match="has no duration"):
        without.on(unknown, MACHINE)


def test_kinds_say_how_far_off_they_are():
    """Each shape from the other: proportional to FLOPs, and to bytes, without error; the FLOPs come first."""
    table = MeasuredCurves(MM).kinds(widest=4)
    assert table.loc[0, ["kind", "shapes", "terms"]].tolist() == ["mm", 2, "FLOPs"]
    assert table.loc[0, "error"] == pytest.approx(0, abs=1e-12)


def test_work_is_learned_once(monkeypatch):
    """A sweep replays a graph again and again: of each kind the best terms are looked for the first time."""
    learned = []
    monkeypatch.setattr(
        "simsched.costs.fitting.measured.work_model", lambda *data: learned.append(data) or work_model(*data)
    )
    graph = ss.TaskGraph.from_edges([NAN, 1.0], kinds=["mm", "add"], shapes="7x7;7x7", flops=[3e9, NAN])
    curves = MeasuredCurves([*MM, op("mul", "8x8", {1: 1.0}, 1.0, 1.0)])
    tables = [curves.on(graph, MACHINE)[0] for _ in range(3)]
    assert len(learned) == 1
    assert [table.seconds_s.tolist() for table in tables[1:]] == [tables[0].seconds_s.tolist()] * 2


def test_error_leaving_shapes_out_by_hand():
    """1 s and 3 s for 1 and 2 FLOP: from the other, 1.5 instead of 1 and 2 instead of 3; 50 % and 33 %."""
    model = work_model(np.array([[1.0, NAN, 0.0], [2.0, NAN, 0.0]]), np.array([[1.0], [3.0]]))
    assert model.terms == ("FLOPs",)
    assert model.error == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert work_model(np.array([[NAN, NAN, 0.0]]), np.array([[1.0]])) is None
    assert np.isnan(work_model(np.array([[1.0, NAN, 0.0]]), np.array([[1.0]])).error)


@given(st.floats(0, 1), st.floats(1e-12, 1e-9), st.floats(0, 1e-9), st.integers(6, 10))
def test_linear_work_is_found(constant, per_flop, per_byte, n):
    generator = np.random.default_rng(n)
    flops, moved = generator.uniform(1e6, 1e9, n), generator.uniform(1e6, 1e9, n)
    seconds = constant + per_flop * flops + per_byte * moved
    model = work_model(
        np.stack([flops, moved, np.zeros(n)], axis=1), np.stack([seconds, seconds / 2], axis=1)
    )
    assert model.error < 1e-4
    assert (model.coefficients >= 0).all()
    found = model.seconds(np.array([[5e8, 5e8, 0.0]]))[0]
    expected = constant + (per_flop + per_byte) * 5e8
    assert found == pytest.approx([expected, expected / 2], rel=1e-3)


def test_convolutions_of_few_filters_take_longer_for_what_they_lay_out():
    """1 s for 1e9 FLOPs and 1 s for 1e8 bytes of columns: 9 and 25 taps on 6, 10, ... filters tell them apart."""

    def convolution(filters, side, measured=True):
        shape = f"1x{filters}x20x20;{filters}x{filters}x{side}x{side}"
        flops, columns_B = 2.0 * 400 * filters**2 * side**2, 4.0 * 400 * filters * side**2 * (side > 1)
        seconds = flops / 1e9 + columns_B / 1e8
        return op("Conv", shape, {1: seconds}, flops, 4.0) if measured else (shape, flops, seconds)

    known = [convolution(filters, side) for filters in (6, 10, 24, 64) for side in (1, 3, 5)]
    for side in (1, 3, 5):
        shape, flops, seconds = convolution(16, side, measured=False)
        graph = ss.TaskGraph.from_edges([NAN], kinds="Conv", shapes=shape, flops=[flops], bytes_B=[4.0])
        table = MeasuredCurves(known).on(graph, MACHINE)[0]
        assert table.seconds_s[0, 1] == pytest.approx(seconds, rel=1e-6)


def test_sharing_of_tiles():
    """Where the replay adds what crowded tiles cost, threads apart; else those that share; else what there is."""
    both = MeasuredOp(Op("mm"), (Point(1, 4.0), Point(2, 3.0, "shared"), Point(2, 2.0, "apart")))
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm")

    def on_two(machine, sharing=None):
        return (
            ss.CostModel(measured=MeasuredCurves([both], sharing=sharing)).on(graph, machine).seconds_of(0, 2)
        )

    knl = ss.machine("knl-7250")
    assert on_two(knl) == 2
    assert on_two(knl.varied({"share_tiles": False})) == 3
    assert on_two(knl, "shared") == 3
    only = MeasuredCurves([op("mm", "", {1: 4.0, 2: 3.0}, sharing="shared")], sharing="apart")
    assert ss.CostModel(measured=only).on(graph, knl).seconds_of(0, 2) == 3


def test_another_machine_is_refused():
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm")
    costs = ss.CostModel(measured=MeasuredCurves(MM, machine="host"))
    with pytest.raises(
        CostError, match=r"measured on host are asked for on generic.*cost_model\(machine='generic'\)"
    ):
        ss.simulate(graph, "generic", "fifo", costs=costs)
    assert ss.CostModel(measured=MeasuredCurves(MM, "generic")).on(graph, MACHINE).seconds_of(0, 1) == 1


def test_no_op_twice():
    with pytest.raises(CostError, match=r"mm\(8x8;8x8\) was measured twice"):
        MeasuredCurves([MM[0], MM[1], MM[0]])


def test_an_empty_graph_and_no_ops():
    empty = ss.TaskGraph.from_edges([])
    assert ss.CostModel(measured=MeasuredCurves(MM)).on(empty, MACHINE).seconds(2).tolist() == []
    graph = ss.TaskGraph.from_edges([1.0], kinds="mm")
    assert ss.CostModel(measured=MeasuredCurves([])).on(graph, MACHINE).seconds(2).tolist() == [0.5]


@given(st.data())
def test_every_policy_replays_with_measured_seconds(data):
    """On both engines the same bits, whatever was measured."""
    kinds = data.draw(st.lists(st.sampled_from(["mm", "view", "add"]), min_size=1, max_size=12))
    widths = st.dictionaries(st.integers(1, 6), st.sampled_from([1e-6, 0.1, 0.5, 2.0]), min_size=1)
    ops = [
        op(kind, "", data.draw(widths), 1e6) for kind in data.draw(st.sets(st.sampled_from(["mm", "add"])))
    ]
    edges = [(i, j) for j in range(len(kinds)) for i in range(j) if (i * 7 + j * 3) % 4 == 0]
    graph = ss.TaskGraph.from_edges(np.ones(len(kinds)), edges, kinds=kinds, flops=1e6 * np.ones(len(kinds)))
    costs = ss.CostModel(measured=MeasuredCurves(ops, method=data.draw(st.sampled_from(["linear", "pchip"]))))
    machine = data.draw(st.sampled_from(["generic[cores=4]", "knl-7250[cores=6]"]))
    policy = data.draw(st.sampled_from(["sequential", "fifo", "critical-path", "corun", "wavefront"]))
    schedules = [ss.simulate(graph, machine, policy, costs=costs, engine=e) for e in ENGINES]
    for schedule in schedules:
        check_schedule(schedule)
        assert schedule.makespan_s >= ss.bounds(graph, machine, costs).critical_path_s * (1 - 1e-9)
    check_same(schedules[0], schedules[-1])
