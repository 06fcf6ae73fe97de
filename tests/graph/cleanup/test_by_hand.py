"""Each clean-up step on a graph small enough to do by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import GraphError, SpecError
from simsched.graph import Recording, TaskGraph
from simsched.graph.cleanup import Collapse, Drop, Select
from simsched.graph.cleanup.timing import levelled


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    return list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))


def recorded(
    start_s: list[float],
    finish_s: list[float],
    lanes: list[int],
    pairs: list[tuple[int, int]],
    **options: Any,
) -> TaskGraph:
    run = Recording(
        np.array(start_s, float), np.array(finish_s, float), np.array(lanes, np.int32), ("a", "b")
    )
    return TaskGraph.from_edges(run.finish_s - run.start_s, pairs, recording=run, **options)


def test_a_chain_becomes_its_longest_task_with_the_sum_of_all() -> None:
    graph = TaskGraph.from_edges(
        [1.0, 4.0, 2.0, 8.0], [(0, 1), (1, 2), (2, 3), (0, 3)], kinds=["a", "b", "c", "d"], flops=[1, 2, 3, 4],
        bytes_B=[1.0, np.nan, 3.0, 4.0],
    )  # fmt: skip
    fused = graph.cleaned("fuse-chains")
    # 0 has two successors and 3 two predecessors: only 1 and 2 are a chain.
    assert fused.durations_s.tolist() == [1.0, 6.0, 8.0]
    assert fused.kinds.to_list() == ["a", "b", "d"]
    assert fused.flops.tolist() == [1, 5, 4]
    assert np.isnan(fused.bytes_B[1])
    assert edges(fused) == [(0, 1), (0, 2), (1, 2)]
    assert fused.task_name(1) == "b 1 and 1 more"
    assert "4 tasks became 3" in fused.report.notes[-1]
    assert graph.n_tasks == 4


def test_chains_of_different_widths_stay_apart() -> None:
    graph = TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1), (1, 2)], widths=[1, 2, 2])
    assert graph.cleaned("fuse-chains").durations_s.tolist() == [1.0, 2.0]


def test_tiny_tasks_join_what_alone_they_wait_for_else_what_alone_waits_for_them() -> None:
    tiny = 1e-9
    # 1 waits for 0 alone. 2 begins alone, and 3 alone waits for it. 4 has two of both: it stays.
    graph = TaskGraph.from_edges(
        [1, tiny, tiny, 1, tiny, 1, 1], [(0, 1), (1, 4), (2, 3), (3, 4), (4, 5), (4, 6)]
    )
    fused = graph.cleaned("fuse-small[below_s=0.001]")
    assert fused.durations_s.tolist() == [1 + tiny, 1 + tiny, tiny, 1, 1]
    assert edges(fused) == [(0, 2), (1, 2), (2, 3), (2, 4)]


def test_dropping_keeps_dependencies_through_what_is_dropped() -> None:
    graph = TaskGraph.from_edges(
        [1, 2, 3, 4, 5],
        [(0, 2), (1, 2), (2, 3), (3, 4)],
        kinds=["A", "A", "Identity", "Reshape", "B"],
        names=list("abcde"),
    )
    kept = graph.cleaned("drop")
    assert kept.durations_s.tolist() == [1, 2, 5]
    assert edges(kept) == [(0, 2), (1, 2)]
    assert "2 tasks that held 7 s were left out" in kept.report.notes[-1]
    assert graph.cleaned("drop[names=a+c]").names.to_list() == ["b", "d", "e"]
    assert Drop(kinds="a").apply(graph).n_tasks == 3


def test_a_joint_of_many_is_not_dropped_at_any_price() -> None:
    n = 200
    pairs = [(i, n) for i in range(n)] + [(n, n + 1 + i) for i in range(n)]
    graph = TaskGraph.from_edges(np.ones(2 * n + 1), pairs, kinds=["a"] * n + ["noop"] + ["b"] * n)
    with pytest.raises(GraphError, match=r"more than 3204 dependencies.*keep tasks that join many"):
        graph.cleaned("drop")


def test_a_chain_hands_on_what_many_gave_it() -> None:
    """A hundred tasks, then a hundred tasks in a row that are left out: the last one waits for the first hundred."""
    n = 100
    pairs = [(i, n) for i in range(n)] + [(n + i, n + i + 1) for i in range(n)]
    graph = TaskGraph.from_edges(np.ones(2 * n + 1), pairs, kinds=["a"] * n + ["noop"] * n + ["b"])
    assert edges(graph.cleaned("drop")) == [(i, n) for i in range(n)]


def test_selecting() -> None:
    graph = TaskGraph.from_edges([1, 2, 3], [(0, 1), (1, 2)], scopes=["enc/1", "mid", "enc/2"])
    assert edges(Select(scopes="enc*").apply(graph)) == [(0, 1)]
    with pytest.raises(GraphError, match=r"no task matches select\[scopes=dec\*\]"):
        graph.cleaned("select[scopes=dec*]")
    with pytest.raises(SpecError, match="expected patterns of what to keep"):
        graph.cleaned("select")


def test_collapsing_to_layers() -> None:
    graph = TaskGraph.from_edges(
        [1, 2, 4, 8], [(0, 1), (1, 2), (2, 3)], scopes=["net/l1/mul", "net/l1/add", "net/l2/mul", ""]
    )
    layers = Collapse(depth=2).apply(graph)
    assert layers.durations_s.tolist() == [3, 4, 8]
    assert layers.scopes.to_list() == ["net/l1", "net/l2", ""]
    assert graph.cleaned("collapse").durations_s.tolist() == [7, 8]
    with pytest.raises(GraphError, match="no task has a scope"):
        TaskGraph.from_edges([1]).cleaned("collapse")


def test_a_slash_before_a_scope_is_no_part_of_it() -> None:
    graph = TaskGraph.from_edges([1, 2, 3, 4], scopes=["/a/x", "b/y", "a/z", "/"])
    assert graph.cleaned("collapse").durations_s.tolist() == [4, 2, 4]


def test_scopes_that_wait_for_each_other_are_split_by_entry() -> None:
    """Forward through l1 and l2, backward through l2 and l1: l1 is entered twice, l2 once."""
    graph = TaskGraph.from_edges([1, 2, 4, 8], [(0, 1), (1, 2), (2, 3)], scopes=["l1", "l2", "l2", "l1"])
    collapsed = graph.cleaned("collapse")
    assert collapsed.durations_s.tolist() == [1, 6, 8]
    assert collapsed.scopes.to_list() == ["l1", "l2", "l1"]
    assert edges(collapsed) == [(0, 1), (1, 2)]


def test_forward_and_backward() -> None:
    graph = TaskGraph.from_edges(
        [1, 2, 4, 8, 16],
        [(0, 1), (1, 2), (2, 3), (0, 3)],
        kinds=["conv", "loss", "ConvBackward0", "assign", "read"],
    )
    assert graph.cleaned("forward").durations_s.tolist() == [1, 2, 16]
    # What waits for the backward pass, the update, is part of it.
    assert graph.cleaned("backward").durations_s.tolist() == [4, 8]
    with pytest.raises(GraphError, match="no task matches"):
        graph.cleaned("backward[words=nothing]")


def test_unrolling_with_a_barrier() -> None:
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 1)], names=["a", "b", "c"], widths=[1, 2, 3])
    twice = graph.cleaned("unroll")
    assert twice.durations_s.tolist() == [1, 2, 4, 0, 1, 2, 4]
    assert edges(twice) == [(0, 1), (1, 3), (2, 3), (3, 4), (3, 6), (4, 5)]
    assert twice.names.to_list() == ["a@0", "b@0", "c@0", "barrier@0", "a@1", "b@1", "c@1"]
    assert twice.widths.tolist() == [1, 2, 3, 1, 1, 2, 3]


def test_unrolling_by_scope_and_without_order() -> None:
    """An update of l1 is what the next iteration's l1 waits for; l2 starts on its own."""
    graph = TaskGraph.from_edges([1, 2, 4], [(0, 1), (1, 2)], scopes=["l1", "l2", "l1"])
    assert edges(graph.cleaned("unroll[between=scope]")) == [(0, 1), (1, 2), (1, 4), (2, 3), (3, 4), (4, 5)]
    assert edges(graph.cleaned("unroll[between=nothing]")) == [(0, 1), (1, 2), (3, 4), (4, 5)]


def test_unrolling_by_scope_refuses_what_wants_a_barrier() -> None:
    """Without scopes and edges every task waits for every one of the iteration before: 2001 times 2001 are too many."""
    assert TaskGraph.from_edges(np.ones(40)).cleaned("unroll[between=scope]").n_edges == 1600
    with pytest.raises(GraphError, match=r"4004001 edges between iterations.*take between=barrier"):
        TaskGraph.from_edges(np.ones(2001)).cleaned("unroll[between=scope]")


def test_scaling_some_kinds() -> None:
    graph = recorded([0, 2], [2, 3], [0, 0], [(0, 1)])
    scaled = graph.cleaned("scale[factor=3,names=*0]")
    assert scaled.durations_s.tolist() == [6, 1]
    assert scaled.recorded is None
    with pytest.raises(SpecError, match="a number above 0"):
        graph.cleaned("scale[factor=0]")
    with pytest.raises(GraphError, match="beyond all numbers"):
        graph.cleaned("scale[factor=1e308]", "scale[factor=10]")


def test_tracing_overhead_from_the_untraced_time() -> None:
    """A step of 10 s traced, 7 s untraced, 3 operators: each costs 1 s more; task 0 has only half of that."""
    graph = recorded([0, 0.5, 5], [0.5, 4.5, 10], [0, 0, 0], [])
    cleaned = graph.cleaned("remove-overhead[untraced_s=7]")
    assert cleaned.durations_s.tolist() == [0, 2.75, 3.75]
    assert "3 s of tracing taken out of 3 tasks" in cleaned.report.notes[-1]
    with pytest.raises(GraphError, match="give untraced_s="):
        graph.cleaned("remove-overhead")


def traced() -> TaskGraph:
    graph = recorded([0, 5], [5, 10], [0, 0], [])
    graph.report.facts |= {
        "span_s": 10.0,
        "operators": 4,
        "operators_in_tasks": 4,
        "tracing_s_per_operator": 0.5,
    }
    return graph


@pytest.mark.parametrize(
    ("step", "left"),
    [
        ("scale", [4, 4]),
        ("select[names=*0]", [4]),
        ("drop[names=*0]", [4]),
        ("unroll[between=nothing]", [4] * 4),
    ],
)
def test_tasks_lose_what_their_own_operators_cost_whatever_went_before(step: str, left: list[float]) -> None:
    """Four operators of half a second in two tasks: each has a second of tracing."""
    assert traced().cleaned(step, "remove-overhead").durations_s.tolist() == left


def test_the_cost_of_tracing_is_taken_out_once() -> None:
    once = traced().cleaned("remove-overhead")
    assert once.report.facts["tracing_removed_s"] == 2
    with pytest.raises(GraphError, match="taken out already"):
        once.cleaned("select[names=*0]", "remove-overhead[each_s=0.1]")


def test_the_untraced_time_is_said_of_the_whole_step_alone() -> None:
    """Traced 10 s, 8 s of work without tracing, and the untraced step took 8.5 s, on one thread."""
    graph = traced()
    graph.report.facts |= {"untraced_least_s": 8.5, "traced_work_s": 10.0}
    graph.report.notes.append("tracing made the step 1.18 times as long")

    def said(*steps: str) -> tuple[str, ...]:
        found = ss.predict(graph.cleaned(*steps), cores=[1])
        return tuple(note for note in found.notes if "tracing" in note and ": 2 s of" not in note)

    assert said()[0].startswith("without tracing, the step took 8.5 s, which no interval at 1 core holds: ")
    assert '--clean remove-overhead (graph.cleaned("remove-overhead"))' in said()[0]
    taken = (
        "2 s of tracing taken out; without tracing, the step took 8.5 s, which an interval at 1 core holds"
    )
    assert said("remove-overhead") == (taken,)
    assert said("remove-overhead", "scale[factor=3]") == ()


def test_no_task_loses_more_than_it_has() -> None:
    cleaned = recorded([0, 1], [1, 2], [0, 0], []).cleaned("remove-overhead[each_s=5]")
    assert cleaned.durations_s.tolist() == [0, 0]
    assert "8 s more were due" in cleaned.report.notes[-1]


@pytest.mark.parametrize("total", [0.0, 0.5, 3.0, 7.0, 100.0])
def test_levelled_takes_alike(total: float) -> None:
    seconds = np.array([5.0, 0.0, 1.0, 2.0])
    left = levelled(seconds, total)
    assert seconds.sum() - left.sum() == pytest.approx(min(total, 8.0))
    lost = seconds - left
    assert (np.isclose(lost, lost.max()) | (left == 0)).all()
    assert levelled(np.empty(0), 1.0).tolist() == []


def test_the_recording_goes_with_what_is_fused_where_it_can() -> None:
    kept = recorded([0, 1, 5], [1, 3, 6], [0, 0, 1], [(0, 1), (1, 2)]).cleaned(
        "select[names=*0+*1]", "fuse-chains"
    )
    assert kept.recorded is not None
    assert (kept.recorded.start_s.tolist(), kept.recorded.finish_s.tolist()) == ([0], [3])
    fused = recorded([0, 1, 5], [1, 3, 6], [0, 0, 1], [(0, 1), (1, 2)]).cleaned("fuse-chains")
    assert fused.recorded is None
    assert "the recorded schedule is left out" in fused.report.notes[-1]


def test_facts_of_the_old_graph_do_not_stay() -> None:
    graph = recorded([0, 1], [1, 2], [0, 0], [(0, 1)])
    graph.report.facts |= {"span_s": 2.0, "critical_path_s": 2.0}
    cleaned = graph.cleaned("fuse-chains")
    assert cleaned.report.facts == {"span_s": 2.0, "recorded_threads": 1, "tasks": 1, "edges": 0}


@pytest.mark.parametrize("step", ["scale[factor=2.0]", "fuse-small[below_s=1.0]", "drop[kinds=a]"])
def test_the_machine_of_the_recording_stays(step: str, tmp_path: Path) -> None:
    """Two threads, whatever happens to the recording, of which `drop` leaves one lane."""
    graph = recorded([0, 1, 5, 9], [1, 3, 6, 10], [0, 0, 1, 0], [(0, 1), (1, 2)], kinds=["b", "b", "a", "b"])
    cleaned = graph.cleaned(step, "scale[factor=1.0]")
    cleaned.save(tmp_path / "cleaned.simsched")
    for found in (cleaned, ss.load(tmp_path / "cleaned.simsched")):
        schedule = ss.simulate(found, policy="fifo", layout="2x1")
        assert schedule.require_machine().spec == "generic[cores=2]"
        assert sorted(schedule.finish_s - schedule.start_s) == pytest.approx(sorted(cleaned.durations_s))


def test_no_dependency_passes_through_what_nothing_kept_waits_for() -> None:
    """100 forward tasks, each with a backward one that also waits for the one before: the last waits for all."""
    n = 100
    pairs = [*((task, n + task) for task in range(n)), *((n + task, n + task + 1) for task in range(n - 1))]
    graph = ss.TaskGraph.from_edges([1.0] * (2 * n), pairs, kinds=["MatMul"] * n + ["MatMulGrad"] * n)
    kept = graph.cleaned("forward")
    assert (kept.n_tasks, kept.n_edges) == (n, 0)


def test_unknown_steps() -> None:
    with pytest.raises(SpecError, match="no clean-up step is called 'fuse'"):
        ss.TaskGraph.from_edges([1]).cleaned("fuse")
    with pytest.raises(SpecError, match="drop"):
        ss.TaskGraph.from_edges([1]).cleaned("drop[what=1]")
