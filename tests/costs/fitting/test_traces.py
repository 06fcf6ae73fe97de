"""Curves from recordings of the same step on different numbers of threads."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.fitting import Calibration, curves_from_traces
from simsched.costs.fitting.traces import match
from simsched.errors import CostError
from simsched.testing.strategies import graphs

SHARED = Path(__file__).parents[3] / "../shared/samples"

EDGES = [(0, 2), (1, 2), (2, 3)]
KINDS = ["mm", "mm", "add", "view"]
SHAPES = ["8x8", "8x8", "8x8", ""]


def recording(seconds, order=(0, 1, 2, 3), **columns):
    """The step with its tasks in another order."""
    place = np.argsort(order)
    return ss.TaskGraph.from_edges(
        np.asarray(seconds, float)[list(order)],
        place[np.array(EDGES)],
        kinds=[KINDS[i] for i in order],
        shapes=[SHAPES[i] for i in order],
        names=["abcd"[i] + f"#{i + len(seconds) * int(sum(order))}" for i in order],
        **columns,
    )


ONE, TWO = recording([4, 2, 1, 0]), recording([2, 1.2, 1, 0], (1, 0, 2, 3))


def test_by_hand():
    """Of mm 4 and 2 s on one thread, 2 and 1.2 s on two: medians 3 and 1.6, half interquartile ranges 0.5 and 0.2."""
    found = curves_from_traces([ONE, TWO], [1, 2])
    assert found.task_seconds.tolist() == [[4, 2], [2, 1.2], [1, 1], [0, 0]]
    mm, add = found.ops
    assert (mm.op.kind, mm.op.shape, mm.points[0].runs) == ("mm", "8x8", 2)
    assert [p.seconds for p in mm.points] == [3, pytest.approx(1.6)]
    assert [p.spread for p in mm.points] == pytest.approx([0.5 / 3, 0.2 / 1.6])
    assert [p.seconds for p in add.points] == [1, 1]
    assert "4 of 4 tasks matched (4 by structure); 100.0% of their edges are the same" in found.notes[0]
    assert "1 kind and shape left out: no common task" in found.notes[1]


def test_tasks_without_edges_have_none_to_compare():
    graphs = [
        ss.TaskGraph.from_edges([s], kinds="mm", names=["a"], widths=w) for w, s in ((1, 4.0), (2, 3.0))
    ]
    assert curves_from_traces(graphs).notes == ("on 2 threads: 1 of 1 tasks matched (1 by structure)",)


def test_recordings_come_in_any_order():
    found = curves_from_traces([TWO, ONE], [2, 1])
    assert found.widths == (1, 2)
    assert found.task_seconds.tolist() == [[2, 1.2], [4, 2], [1, 1], [0, 0]]


def test_curves_replay():
    """Each task at its own measured seconds on either width; the task of no seconds keeps them."""
    found = curves_from_traces([ONE, TWO], [1, 2])
    costs = ss.CostModel(measured=found.of_tasks())
    totals = [ss.simulate(ONE, "generic[cores=2]", "sequential", f"1x{w}", costs).makespan_s for w in (1, 2)]
    assert totals == [pytest.approx(7), pytest.approx(4.2)]
    with pytest.raises(CostError, match="4 tasks were measured, but graph has 1"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", costs=costs)
    model = Calibration.of(found.ops, "two traces", machine="generic").cost_model()
    assert ss.simulate(ONE, "generic[cores=2]", "sequential", "1x1", model).makespan_s == pytest.approx(7)


def test_what_one_recording_has_alone_is_said():
    longer = ss.TaskGraph.from_edges(
        [4, 2, 9, 1, 0], [(0, 3), (1, 3), (2, 3), (3, 4)], kinds=["mm", "mm", "dropout", "add", "view"],
        shapes=["8x8", "8x8", "", "8x8", ""], names=["a", "b", "x", "c", "d"],
    )  # fmt: skip
    found = curves_from_traces([ONE, longer], [1, 2])
    assert found.matches[0].of.tolist() == [0, 1, 3, 4]
    assert "1 of 5 tasks of graph have no counterpart: 1 dropout" in found.notes[1]
    assert found.matches[0].edges_kept == 1
    reverse = curves_from_traces([longer, ONE], [2, 1])
    assert np.isnan(reverse.task_seconds[2]).tolist() == [True, False]


def test_widths_of_the_graphs_where_they_tell():
    two = recording([2, 1.2, 1, 0], widths=[2, 2, 1, 1])
    assert curves_from_traces([ONE, two]).widths == (1, 2)


@pytest.mark.parametrize(
    ("recordings", "widths", "message"),
    [
        ([ONE], None, "a curve needs recordings on two or more numbers of threads; got 1"),
        ([ONE, TWO], None, r"widths=\[1, 2\]"),
        ([ONE, TWO], [2, 2], "a different number for each"),
        ([ONE, TWO], [1], "a different number for each"),
        ([ONE, TWO], [0, 1], "a different number for each"),
        ([ONE, ss.TaskGraph.from_edges([1.0], kinds="other")], [1, 2], "no task in common"),
    ],
)
def test_what_tells_no_curve(recordings, widths, message):
    with pytest.raises(CostError, match=message):
        curves_from_traces(recordings, widths)


@given(graphs(), st.randoms(use_true_random=False))
def test_a_renumbered_graph_is_matched_whole(graph, random):
    """Every task finds one of its kind with predecessors and successors of the same kinds, one to one."""
    order = list(range(graph.n_tasks))
    random.shuffle(order)
    place = np.argsort(order)
    sources = np.repeat(np.arange(graph.n_tasks), np.diff(graph.successors.indptr))
    other = ss.TaskGraph.from_edges(
        graph.durations_s[order],
        np.stack([place[sources], place[graph.successors.indices]], axis=1) if graph.n_edges else (),
        kinds=[graph.kinds[i] for i in order],
    )
    found = match(graph, other)
    assert sorted(found.of.tolist()) == list(range(graph.n_tasks))
    assert found.by.get("structure", 0) == graph.n_tasks
    assert found.notes == ()
    for task, theirs in enumerate(found.of.tolist()):
        assert graph.kinds[task] == other.kinds[theirs]
        for side in ("predecessors", "successors"):
            near, far = (
                sorted(g.kinds[int(t)] for t in getattr(g, side).neighbours(i))
                for g, i in ((graph, task), (other, theirs))
            )
            assert near == far


@pytest.mark.skipif(not SHARED.exists(), reason="the shared samples are not here")
@pytest.mark.parametrize("name", ["pytorch/inception", "onnx/inception", "onnx/lstm4_unrolled"])
def test_shared_samples(name):
    """One and two threads of the same step: all tasks and edges match; replayed, the medians add up."""
    where = SHARED / name
    if name.startswith("pytorch"):
        paths = [
            [where.with_name(f"{where.name}_t{t}.{e}.json.gz") for e in ("kineto", "et")] for t in (1, 2)
        ]
        steps = [ss.load(kineto, execution_trace=trace) for kineto, trace in paths]
    else:
        paths = [
            [where.with_name(f"{where.name}.t{t}.{e}.gz") for e in ("ortprof.json", "optimized.zeroed.onnx")]
            for t in (1, 2)
        ]
        steps = [ss.load(profile, model=onnx) for profile, onnx in paths]
    found = curves_from_traces(steps, [1, 2])
    assert (found.matches[0].of >= 0).all()
    assert found.matches[0].edges_kept == 1
    costs = ss.CostModel(measured=found.of_tasks())
    machine = ss.machine("generic[cores=2]")
    for width, step in zip((1, 2), steps, strict=True):
        run = ss.simulate(steps[0], machine, "sequential", f"1x{width}", costs)
        assert run.makespan_s == pytest.approx(step.work_s, rel=0.001)
