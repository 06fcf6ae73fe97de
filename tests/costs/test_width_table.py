"""Measured seconds by width in place of the formula: in costs, bounds, candidates and both engines."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched import native
from simsched.costs.width_table import WidthTable
from simsched.errors import CostError
from simsched.policies.corun import candidate_widths
from simsched.testing.equivalence import cases, check_same
from simsched.testing.strategies import graphs, machines


@dataclass
class Given:
    """The same rows, whatever the machine."""

    rows: list
    seconds_s: list
    overhead_s: list

    def on(self, graph, machine):
        table = WidthTable(
            np.asarray(self.rows, np.int32),
            np.asarray(self.seconds_s, float),
            np.asarray(self.overhead_s, float),
        )
        return table, ("measured",)


GRAPH = ss.TaskGraph.from_edges([9.0, 5.0, np.nan], kinds=["mm", "view", "mm"])
# Slower on two threads than on one, fastest on three; one column is of no use.
COSTS = ss.CostModel(measured=Given([0, -1, 0], [[0, 4, 5, 1, 2]], [0.1]))
MACHINE = ss.machine("generic[cores=4]")


def test_by_hand():
    tasks = COSTS.on(GRAPH, MACHINE)
    assert tasks.one_core_s.tolist() == [4, 5, 4]
    assert [tasks.seconds(w).tolist() for w in (2, 3, 4, 9)] == [[5, 5, 5], [1, 5, 1], [2, 5, 2], [2, 5, 2]]
    assert tasks.seconds(np.array([2, 3, 4])).tolist() == [5, 5, 2]
    assert tasks.fastest_widths.tolist() == [3, 1, 3]
    assert tasks.least_core_seconds().tolist() == [3, 5, 3]
    # 0.1 s a further thread: 0.2 of 1 s on three; none where the team gains nothing.
    assert tasks.overhead(3).tolist() == [0.2, 0, 0.2]
    assert tasks.overhead(2).tolist() == [0, 0, 0]
    measured, recorded, curves = tasks.notes
    assert (measured, curves) == ("measured", "cost curves: 1 serial")
    assert recorded.startswith(
        "1 given duration is taken as it is, and as exact; load(..., recorded_on=) or --recorded-on"
    )


def test_bounds_know_that_measured_curves_may_gain_more_than_cores():
    """3 + 5 + 3 core-seconds on four cores."""
    assert ss.bounds(GRAPH, MACHINE, COSTS).area_s == 11 / 4
    assert ss.bounds(GRAPH, MACHINE, COSTS).critical_path_s == 5


def test_candidates_of_co_running_come_from_the_table():
    widths, seconds = candidate_widths(COSTS.on(GRAPH, MACHINE), 4, 1, 2)
    assert widths[0].tolist() == [3, 4]
    assert seconds[0].tolist() == [1, 2]


def test_a_sequential_replay_takes_the_measured_seconds(engine):
    schedule = ss.simulate(GRAPH, MACHINE, "sequential", "1x3", COSTS, ss.RuntimeProfile(), engine)
    assert schedule.makespan_s == 1 + 5 + 1
    assert schedule.notes[0] == "measured"


def test_a_graph_that_is_all_measured_needs_nothing_else():
    costs = ss.CostModel(measured=Given([0], [[0, 2.0, 1.0]], [0]))
    tasks = costs.on(ss.TaskGraph.from_edges([np.nan]), MACHINE)
    assert tasks.notes == ("measured",)
    assert tasks.seconds(2).tolist() == [1]


def test_measured_seconds_are_not_carried_from_where_the_graph_was_recorded():
    origin = ss.RecordedOn("fast core", core_flops=64e9, core_bandwidth_Bps=5e9)
    graph = ss.TaskGraph.from_edges([1.0, 1.0], flops=[64e9] * 2, bytes_B=[1, 1], recorded_on=origin)
    tasks = ss.CostModel(measured=Given([0, -1], [[0, 7.0]], [0])).on(graph, MACHINE)
    assert tasks.one_core_s.tolist() == [7, 2]


@pytest.mark.parametrize(
    ("rows", "seconds", "overheads", "message"),
    [
        ([0], [[0, -1.0]], [0], "negative or not finite"),
        ([0], [[0, np.inf]], [0], "negative or not finite"),
        ([1], [[0, 1.0]], [0], "beyond the 1"),
        ([0], [[0]], [0], "has shape"),
        ([0], [[0, 1.0]], [], "0 overheads for 1 curves"),
    ],
)
def test_impossible_tables(rows, seconds, overheads, message):
    with pytest.raises(CostError, match=message):
        Given(rows, seconds, overheads).on(None, None)


def test_what_is_not_measured_seconds():
    with pytest.raises(CostError, match="3 is not measured seconds"):
        ss.CostModel(measured=3)


@st.composite
def models(draw, graph, widest):
    """A cost model that knows some tasks, by any numbers: rising, falling, zero."""
    n_curves = draw(st.integers(1, 3))
    number = st.sampled_from([0.0, 1e-6, 0.1, 0.5, 1.0, 3.0])
    row = st.lists(number, min_size=widest + 1, max_size=widest + 1)
    return ss.CostModel(
        noise=draw(st.sampled_from([0.0, 0.3])),
        measured=Given(
            draw(st.lists(st.integers(-1, n_curves - 1), min_size=graph.n_tasks, max_size=graph.n_tasks)),
            draw(st.lists(row, min_size=n_curves, max_size=n_curves)),
            draw(st.lists(number, min_size=n_curves, max_size=n_curves)),
        ),
    )


@given(st.data(), graphs(widths=4), machines(), st.integers(1, 12))
def test_one_task_has_the_same_bits_as_all(data, graph, machine, width):
    tasks = data.draw(models(graph, data.draw(st.integers(1, machine.n_threads)))).on(graph, machine)
    every = np.stack([tasks.seconds(w) for w in range(1, machine.n_threads + 1)])
    assert (tasks.seconds(tasks.fastest_widths) == every.min(axis=0, initial=np.inf)).all()
    for column, one in (
        (tasks.seconds(width), tasks.seconds_of),
        (tasks.overhead(width), tasks.overhead_of),
        (tasks.memory(width)[0], lambda t, w: tasks.memory_of(t, w)[0]),
        (tasks.memory(width)[1], lambda t, w: tasks.memory_of(t, w)[1]),
        (tasks.memory(width)[2], lambda t, w: tasks.memory_of(t, w)[2]),
    ):
        assert column.tolist() == [one(task, width) for task in range(graph.n_tasks)]
    half = slice(graph.n_tasks // 2, None)
    assert tasks.part(half).seconds(width).tolist() == tasks.seconds(width)[half].tolist()


@pytest.mark.skipif(not native.find(), reason="the compiled module is missing")
@settings(max_examples=20)
@given(cases(), st.data())
def test_both_engines_give_the_same_bits(case, data):
    case["costs"] = data.draw(models(case["graph"], case["machine"].n_threads))
    check_same(*(ss.simulate(**case, engine=engine) for engine in ("simpy", "native")))
