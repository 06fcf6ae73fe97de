"""Which widths whole graphs run on, on a host of many cores that is not there: its seconds are those of a table."""

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.errors import EngineError
from simsched.execute import calibrate
from simsched.execute.calibrate.measuring import chosen_widths, climbed, grid_cases
from simsched.execute.run.execution import Execution, MeasuredRun

HOST = ss.machine("knl-7250[contention=false]")


def seconds(kind, width, sharing):
    """Return seconds: long ops gain to the end where threads are apart, up to 9 where they share; short ones never."""
    best = {"long": 100 if sharing == "apart" else 9, "short": 1}[kind]
    return (1 / min(width, best) + 0.01 * max(width - best, 0)) * (1e-3 if kind == "long" else 1e-5)


def table(sharing, scale=1.0):
    ops = [
        MeasuredOp(Op(kind, "8x8"), tuple(Point(w, scale * seconds(kind, w, sharing)) for w in range(1, 69)))
        for kind in ("long", "short")
    ]
    return ss.CostModel(measured=MeasuredCurves(ops))


class FakeHost:
    """Takes, run by run, as long as the table says, the median run exactly so."""

    def __init__(self, runs=(0.9, 1.0, 1.1), stolen=()):
        self.cases, self._runs, self._stolen = [], runs, stolen

    def __call__(self, cases):
        self.cases += cases
        return [self._execution(case) for case in cases]

    def _execution(self, case):
        sharing = "apart" if "scatter" in case.policy else "shared"
        schedules = [
            ss.simulate(
                case.graph, HOST, case.policy, case.layout, table(sharing, scale), ss.RuntimeProfile()
            )
            for scale in self._runs
        ]
        runs = [MeasuredRun(s, 0.0, 0, float("nan"), (), ()) for s in schedules]
        runs += [MeasuredRun(schedules[0], stolen, 0, float("nan"), (), ()) for stolen in self._stolen]
        return Execution(tuple(runs))


def graph(kinds, name="made up"):
    return ss.TaskGraph.from_edges(np.ones(len(kinds)), kinds=kinds, shapes="8x8", name=name)


def test_each_op_stops_by_itself_and_runs_end_with_the_last():
    """Apart: "long" climbs to 33 of 34 tiles; shared it rises at 13. "short" rises at 5 both times."""
    host = FakeHost()
    ops, runs = climbed([graph(["long", "short", "long"])], HOST, host, step=4)
    found = {one.op.kind: {s: [p.width for p in one.of(s)] for s in ("shared", "apart")} for one in ops}
    assert found["long"] == {"shared": [1, 5, 9, 13], "apart": [*range(1, 34, 4)]}
    assert found["short"] == {"shared": [1, 5], "apart": [1, 5]}
    for one in ops:
        for point in one.points:
            assert point.seconds == pytest.approx(seconds(one.op.kind, point.width, point.sharing))
    layouts = [(case.layout, "scatter" in case.policy) for case in host.cases]
    assert layouts[:4] == [((34, 1), True), ((13, 5), False), ((7, 9), False), ((5, 13), False)]
    assert layouts[4:] == [((34 // w, w), True) for w in range(5, 34, 4)]
    assert len(runs) == len(host.cases) == 12


def test_graphs_whose_ops_have_stopped_run_no_more():
    host = FakeHost()
    climbed([graph(["long"], "a"), graph(["short"], "b")], HOST, host, step=8)
    assert [(case.graph.name, case.layout[1]) for case in host.cases[:6]] == [
        ("a", 1), ("b", 1), ("a", 9), ("b", 9), ("a", 17), ("a", 9),
    ]  # fmt: skip


def test_points_know_their_spread_and_what_was_dropped():
    """0.9, 1 and 1.1 of the median: quartiles 0.95 and 1.05. One run of four was disturbed, three tasks each."""
    ops, _ = climbed([graph(["long"] * 3)], HOST, FakeHost(stolen=[0.5]), step=64)
    for point in ops[0].points:
        assert point.spread == pytest.approx(0.05)
        assert (point.runs, point.dropped) == (9, 3)
    (once,), _ = climbed([graph(["long"])], HOST, FakeHost(runs=[1.0]), step=64)
    assert {point.spread for point in once.points} == {None}


def test_small_rises_can_be_ignored():
    flat, _ = climbed([graph(["short"])], HOST, FakeHost(), step=4, tolerance=0.5)
    assert max(point.width for point in flat[0].points) > 5


def test_the_size_of_the_host_decides_where_nothing_is_asked():
    assert chosen_widths(ss.machine("generic[cores=8]"), None, None) == ("sweep", 4)
    assert chosen_widths(ss.machine("generic[cores=9]"), None, None) == ("climb", 4)
    assert chosen_widths(ss.machine("generic[cores=2]"), None, 1) == ("climb", 1)
    assert chosen_widths(ss.machine("generic[cores=2]"), "climb", 2) == ("climb", 2)
    assert chosen_widths(ss.machine("generic[cores=16]"), [8, 1, 8], None) == ([1, 8], 4)


def test_a_grid_fills_the_host():
    cases = grid_cases([graph(["long"])], HOST, [1, 5, 68])
    assert [case.layout for case in cases] == [(68, 1), (13, 5), (1, 68)]


@pytest.mark.parametrize(
    ("widths", "step", "says"),
    [
        ("all", None, "widths='all'; expected 'sweep', 'climb' or a list"),
        ([1, 3], None, r"widths=\[1, 3\]; generic.* has teams of 1 to 2"),
        ([0], None, "teams of 1 to 2"),
        ([], None, "teams of 1 to 2"),
        (["2"], None, "teams of 1 to 2"),
        ([1, "2"], None, "teams of 1 to 2"),
        ([True], None, "teams of 1 to 2"),
        (2, None, "widths=2; .* teams of 1 to 2 threads, of which give a list"),
        ("sweep", 2, "step=2 with widths='sweep'"),
        ("climb", 0, "step=0"),
    ],
)
def test_widths_that_cannot_be(widths, step, says):
    with pytest.raises(EngineError, match=says):
        chosen_widths(ss.machine("generic[cores=2]"), widths, step)


@pytest.mark.usefixtures("native")
def test_more_threads_than_the_host_has_are_refused():
    with pytest.raises(EngineError, match="has teams of 1 to"):
        calibrate(graph(["spin"]), widths=[1, 4096])


@pytest.mark.usefixtures("native")
def test_climbing_for_real():
    """A spinning task takes as long on every width: whatever the last digits say, it is measured on one or two."""
    spins = ss.TaskGraph.from_edges([2e-4] * 12, kinds="wait", name="spins")
    found = calibrate(spins, repeats=3, widths="climb", step=1, pairs=0).calibration
    assert [point.width for point in found.ops[0].points][:2] == [1, 2][: ss.machine("host").n_cores]
    assert 1.9e-4 < found.ops[0].points[0].seconds < 1e-3
    assert found.ops[0].points[0].spread is not None
    assert found.method.endswith("widths: climb in steps of 1")
    assert found.overheads.wake_up_s > 0
    assert found.overheads.dispatch_s > 0
    # And of a policy that chooses widths; disturbed runs are done again.
    assert found.facts["runs"] >= 3 * (len(found.ops[0].points) + 1)
    assert found.overheads.decide_s > 0
