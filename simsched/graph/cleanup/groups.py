"""Merging groups of tasks into one task each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.graph.cleanup.objects import of_groups
from simsched.graph.columns import Floats
from simsched.graph.data_checks import with_data
from simsched.graph.recording import Recording
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import TaskGraph

Groups = npt.NDArray[np.int64]


def merged(
    graph: TaskGraph,
    groups: Groups,
    report: ImportReport,
    scopes: list[str] | None = None,
    kind: str | None = None,
) -> TaskGraph:
    """Return the graph whose tasks are groups of a graph's tasks; edges within a group vanish.

    A group's seconds, FLOPs and bytes are the sums of its tasks' (bytes that only pass between them included); kind,
    name, shape, scope, width and lane are those of its longest task. Groups are in the order of their first tasks.
    Data objects that only pass between a group's tasks vanish.

    Parameters
    ----------
    graph : TaskGraph
    groups : int64 array, shape (n,)
        A number for each task; equal numbers are one group. The groups must form no cycle.
    report : ImportReport
        Of the new graph.
    scopes : list of str, optional
        Of each task, in place of the graph's.
    kind : str, optional
        Of groups of several tasks.

    Raises
    ------
    GraphError
        If the groups form a cycle.
    """
    of, leaders, sizes = _numbered(graph, groups)
    before, after = of[graph.successors.sources()], of[graph.successors.indices]
    crossing = before != after
    every_scope = graph.scopes.to_list() if scopes is None else scopes
    run, remark = _recording(graph, of, leaders)
    if remark:
        report.note(remark)
    found = TaskGraph.from_edges(
        _seconds(graph, of, len(leaders)),
        np.unique(np.stack([before[crossing], after[crossing]], axis=1), axis=0),
        kinds=[
            graph.kinds[i] if kind is None or size == 1 else kind
            for i, size in zip(leaders, sizes, strict=True)
        ],
        names=_names(graph, leaders, sizes),
        shapes=[graph.shapes[i] for i in leaders],
        scopes=[every_scope[i] for i in leaders],
        flops=summed(graph.flops, of, len(leaders)),
        bytes_B=summed(graph.bytes_B, of, len(leaders)),
        widths=graph.widths[leaders],
        name=graph.name,
        recorded_on=graph.recorded_on,
        report=report,
        recording=run,
    )
    return with_data(found, of_groups(graph.data, of))


def _seconds(graph: TaskGraph, of: Groups, n: int) -> Floats:
    """Return the seconds of each of `n` groups, on each kind of core where the graph has them."""
    if graph.seconds_by_kind is None:
        return summed(graph.durations_s, of, n)
    return np.stack([summed(seconds, of, n) for seconds in graph.seconds_by_kind.T], axis=1)


def summed(values: Floats, of: Groups, n: int) -> Floats:
    """Return the sum of each of `n` groups; NaN where a value is unknown."""
    return np.bincount(of, weights=values, minlength=n).astype(np.float64)


def _numbered(graph: TaskGraph, groups: Groups) -> tuple[Groups, list[int], list[int]]:
    """Return each task's group, numbered by first tasks, each group's longest task and number of tasks."""
    _, first, of = np.unique(groups, return_index=True, return_inverse=True)
    place = np.empty(len(first), np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    of = place[of]
    # Of each group the last in this order: the longest, and of equally long ones the first.
    order = np.lexsort((-np.arange(graph.n_tasks), np.nan_to_num(graph.durations_s, nan=-1.0), of))
    sizes = np.bincount(of, minlength=len(first))
    return of, order[np.cumsum(sizes) - 1].tolist(), sizes.tolist()


def _names(graph: TaskGraph, leaders: list[int], sizes: list[int]) -> list[str] | None:
    if graph.names is None and max(sizes, default=1) == 1:
        return None
    called = map(graph.task_name, leaders)
    return [
        name if size == 1 else f"{name} and {size - 1} more" for name, size in zip(called, sizes, strict=True)
    ]


def _recording(graph: TaskGraph, of: Groups, leaders: list[int]) -> tuple[Recording | None, str]:
    """Return the recording of the groups, from first start to last finish, or None where those would overlap."""
    run = graph.recording
    if run is None or not leaders:
        return run, ""
    start = np.full(len(leaders), np.inf)
    finish = np.full(len(leaders), -np.inf)
    np.minimum.at(start, of, run.start_s)
    np.maximum.at(finish, of, run.finish_s)
    lanes = run.lanes[leaders]
    astray = bool((run.lanes != lanes[of]).any())
    if astray or _overlaps(lanes, start, finish) > _overlaps(run.lanes, run.start_s, run.finish_s):
        return (
            None,
            "the recorded schedule is left out: tasks that became one did not run one after another on one lane",
        )
    return Recording(start, finish, lanes, run.lane_names), ""


def _overlaps(lanes: npt.NDArray[np.int32], start: Floats, finish: Floats) -> int:
    """Return how many tasks start before the previous task on their lane has finished."""
    order = np.lexsort((finish, start, lanes))
    same = lanes[order][1:] == lanes[order][:-1]
    return int((same & (start[order][1:] < finish[order][:-1])).sum())
