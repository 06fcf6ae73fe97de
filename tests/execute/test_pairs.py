"""Ops beside each other: what counts, by hand; and tasks that spin, which disturb nobody."""

from dataclasses import replace

import numpy as np
import pytest

import simsched as ss
from simsched.costs.fitting import Calibration, MeasuredOp, Op, Point
from simsched.errors import EngineError
from simsched.execute import calibrate
from simsched.execute.calibrate.pairs import (
    OneTeam,
    chains,
    measured_pairs,
    pairs_on,
    slowdowns,
    strands,
    team_width,
)
from simsched.execute.run.execution import Execution, MeasuredRun

TWO = ss.machine("generic[cores=2]")


def measured(**seconds):
    return [MeasuredOp(Op(kind, "8x8"), (Point(1, s),)) for kind, s in seconds.items()]


def graph(kinds, scopes=None):
    return ss.TaskGraph.from_edges(np.ones(len(kinds)), kinds=list(kinds), shapes="8x8", scopes=scopes)


def test_those_that_take_most_of_the_time_come_first():
    """Three of 2 ms, one of 5 ms, one of 1 ms: 6, 5 and 1 ms."""
    found = strands([graph("aab"), graph("ca")], measured(b=5e-3, c=1e-3, a=2e-3), 1)
    assert [(s.measured.op.kind, round(s.work_s * 1e3)) for s in found] == [("a", 6), ("b", 5), ("c", 1)]


def test_chains_share_weights_as_the_graph_does_and_take_fresh_ones_each_time():
    a, b = strands([graph("aba", ["x", "y", "z"])], measured(a=2e-3, b=1e-3), 1)
    both = chains((a, b), (3, 4))
    assert both.kinds.to_list() == list("aaabbbb")
    assert both.durations_s.tolist() == [2e-3] * 3 + [1e-3] * 4
    assert both.scopes.to_list() == ["0/0/x", "0/0/z", "0/1/x", "1/0/y", "1/1/y", "1/2/y", "1/3/y"]
    assert [both.successors.neighbours(i).tolist() for i in range(7)] == [[1], [2], [], [4], [5], [6], []]


def schedules(durations):
    """Return chains of these seconds side by side, and each alone at one second a task."""
    ops = strands([graph("ab")], measured(a=1.0, b=1.0), 1)
    lengths = [len(row) for row in durations]
    beside = ss.simulate(chains(ops, lengths), TWO, "fifo", "2x1", runtime=ss.RuntimeProfile())
    finish = np.concatenate([np.cumsum(row) for row in durations])
    beside = replace(beside, start_s=finish - np.concatenate(durations), finish_s=finish)
    alone = [
        ss.simulate(chains([op], [n]), TWO, OneTeam(team=team), "1x1", runtime=ss.RuntimeProfile())
        for team, (op, n) in enumerate(zip(ops, lengths, strict=True))
    ]
    return beside, alone, lengths


def test_only_tasks_that_were_not_alone_count():
    """The second chain ends after 3 s: of the first the task from 3 to 4 s, as fast as alone, does not count."""
    beside, alone, lengths = schedules([[1.5, 1.5, 1.0], [1.0, 1.0, 1.0]])
    assert slowdowns(beside, alone, lengths) == pytest.approx((1.5, 1.0))


def test_a_task_longer_than_the_other_chain_counts_where_there_is_no_other():
    beside, alone, lengths = schedules([[4.0, 1.0], [1.0, 1.0]])
    assert slowdowns(beside, alone, lengths) == pytest.approx((4.0, 1.0))


def test_each_chain_runs_alone_on_the_cores_that_it_has_beside_the_other():
    _, alone, _ = schedules([[1.0], [1.0]])
    assert [one.teams.indices[one.team].tolist() for one in alone] == [[0], [1]]
    four = ss.machine("generic[cores=4]")
    assert OneTeam(team=1).executors(four, ss.Layout(1, 2)).indices.tolist() == [2, 3]
    assert [team_width(machine) for machine in (ss.machine("knl-7250"), four, TWO)] == [34, 2, 1]


def slower_beside(cases, factor=1.5, disturbed=()):
    """Run cases on paper: whatever is beside another takes longer; some turns are disturbed, and much longer."""
    found = []
    for case in cases:
        schedule = ss.simulate(case.graph, TWO, case.policy, case.layout, runtime=ss.RuntimeProfile())
        slow = factor if case.layout[0] == 2 else 1.0
        runs = []
        for turn in range(5):
            times = slow * (1 + turn / 100 if case.layout[0] == 2 else 1) * (9 if turn in disturbed else 1)
            run = replace(schedule, start_s=times * schedule.start_s, finish_s=times * schedule.finish_s)
            runs.append(MeasuredRun(run, 0.5 if turn in disturbed else 0.0, 0, float("nan"), (), ()))
        found.append(Execution(tuple(runs)))
    return found


def test_every_two_are_paired_and_medians_told():
    ops = measured(a=2e-3, b=1e-3, c=1e-4)
    found = measured_pairs([graph("abc")], TWO, ops, 2, slower_beside)
    assert [pair.kinds for pair in found.pairs] == [("a", "a"), ("a", "b"), ("b", "b")]
    for pair in found.pairs:
        assert pair.slowdowns == pytest.approx((1.5 * 1.02,) * 2)
        assert pair.spreads == pytest.approx((1.5 * 0.01,) * 2)
        assert (pair.runs, pair.dropped, pair.widths) == (5, 0, (1, 1))


def test_disturbed_turns_are_dropped_unless_all_are():
    def run(disturbed):
        return lambda cases: slower_beside(cases, disturbed=disturbed)

    (pair,) = measured_pairs([graph("a")], TWO, measured(a=1e-3), 1, run([0, 4])).pairs
    assert (pair.runs, pair.dropped) == (3, 2)
    assert pair.slowdowns == pytest.approx((1.5 * 1.02,) * 2)
    (pair,) = measured_pairs([graph("a")], TWO, measured(a=1e-3), 1, run(range(5))).pairs
    assert (pair.runs, pair.dropped) == (5, 0)


def test_further_turns_of_one_graph_alone_do_not_count():
    def run(cases):
        beside, *alone = slower_beside(cases)
        return [beside, Execution(alone[0].runs[:3]), alone[1]]

    (pair,) = measured_pairs([graph("a")], TWO, measured(a=1e-3), 1, run).pairs
    assert (pair.runs, pair.dropped) == (3, 0)
    assert pair.slowdowns == pytest.approx((1.5 * 1.01,) * 2)


def test_ops_that_are_too_far_apart_are_left_out():
    found = measured_pairs([graph("ab")], TWO, measured(a=1.0, b=2e-6), 2, slower_beside)
    assert [pair.kinds for pair in found.pairs] == [("a", "a"), ("b", "b")]
    assert found.left_out == ("a(8x8) beside b(8x8)",)


@pytest.mark.parametrize(("machine", "most"), [("generic[cores=1]", 1), ("generic[cores=2]", -1)])
def test_pairs_that_cannot_run(machine, most):
    with pytest.raises(EngineError, match=f"pairs={most} on"):
        pairs_on(ss.machine(machine), most)
    with pytest.raises(EngineError, match="pairs=-2 on"):
        calibrate(graph("a"), repeats=10**9, pairs=-2)


@pytest.mark.usefixtures("native")
def test_pairs_for_real(tmp_path):
    """Tasks that only wait do not slow each other down, and products of matrices run beside each other, too."""
    if ss.machine("host").n_threads < 2:
        with pytest.raises(EngineError, match="a pair needs two"):
            calibrate(graph("a"), pairs=1)
        return
    mixed = ss.TaskGraph.from_edges(
        [3e-4] * 4, kinds=["wait", "wait", "MatMul", "MatMul"], shapes=["", "", *["64x64;64x64"] * 2]
    )
    model = calibrate(mixed, repeats=3, pairs=2)
    table = model.calibration.pairs_frame()
    assert len(model.calibration.pairs) == 3
    waits = table[(table["kind"] == "wait") & (table["beside_kind"] == "wait")]
    assert waits["slowdown"].between(0.5, 2).all()
    assert (table["slowdown"] > 0.2).all()
    model.save(tmp_path / "host.json")
    assert Calibration.load(tmp_path / "host.json").pairs == model.calibration.pairs
