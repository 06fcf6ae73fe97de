"""Merging groups of tasks into one task each: given ones, neighbours, or the layers that scopes name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr, from_edges, strong_components
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.cleanup.objects import of_groups
from simsched.graph.columns import Floats
from simsched.graph.data_checks import with_data
from simsched.graph.recording import Recording, measured_on
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import positive, whole

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
        recorded_on=measured_on(graph),
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


@dataclass(frozen=True)
class FuseChains(Cleanup):
    """Make one task of tasks that can only run one after another: each the only successor of its only predecessor.

    Tasks recorded on different numbers of threads stay separate.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 4.0], [(0, 1)])
    >>> graph.cleaned("fuse-chains").durations_s.tolist()
    [3.0, 4.0]
    """

    name: ClassVar[str] = "fuse-chains"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of chains; critical path and work stay unchanged."""
        only = _only(graph.predecessors)
        alone = graph.successors.degrees() == 1
        linked = (only >= 0) & alone[only] & (graph.widths == graph.widths[only])
        groups = np.arange(graph.n_tasks, dtype=np.int64)
        for task in graph.topological_order.tolist():
            if linked[task]:
                groups[task] = groups[only[task]]
        return merged(graph, groups, self.noted(graph, _count(graph, groups)))


@dataclass(frozen=True)
class FuseSmall(Cleanup):
    """Fuse tiny tasks into what they alone wait for, else into what alone waits for them.

    A task that joins its only predecessor makes the others that wait for that one wait for the task, too: the price of
    fewer tasks, bounded by `below_s` for each. Tasks with several of both stay.

    Parameters
    ----------
    below_s : float
        Seconds; tasks that take less are tiny.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1e-07, 2.0, 3.0], [(0, 1), (0, 2), (1, 3)])
    >>> graph.cleaned("fuse-small[below_s=1e-06]").n_tasks
    3
    """

    name: ClassVar[str] = "fuse-small"
    below_s: float = positive(1e-6)

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph with tiny tasks merged into others."""
        tiny = graph.durations_s < self.below_s
        groups = np.arange(graph.n_tasks, dtype=np.int64)
        order = graph.topological_order.tolist()
        # A group that is all one waits for cannot be reached from it: joining closes no cycle.
        _join(groups, tiny, order, graph.predecessors)
        left = tiny & (np.bincount(groups, minlength=graph.n_tasks)[groups] == 1)
        _join(groups, left, order[::-1], graph.successors)
        return merged(graph, groups, self.noted(graph, _count(graph, groups)))


def _join(
    groups: Groups, joining: np.ndarray[tuple[int], np.dtype[np.bool_]], order: list[int], beside: Csr
) -> None:
    for task in order:
        if joining[task]:
            near = {int(groups[other]) for other in beside.neighbours(task).tolist()}
            if len(near) == 1:
                groups[task] = near.pop()


def _only(neighbours: Csr) -> Groups:
    """Return the only neighbour of each node, -1 where there is none or more than one."""
    only = np.full(neighbours.n, -1, np.int64)
    alone = np.flatnonzero(neighbours.degrees() == 1)
    only[alone] = neighbours.indices[neighbours.indptr[alone]]
    return only


def _count(graph: TaskGraph, groups: Groups) -> str:
    return f"{graph.n_tasks} tasks became {len(np.unique(groups))}"


@dataclass(frozen=True)
class Collapse(Cleanup):
    """Make one task of each scope, as far as that makes no cycle: layers, modules, cells.

    Where the tasks of scopes wait for each other in both directions (a layer's forward and backward ops), each of these
    scopes becomes one task per entry into it.

    Parameters
    ----------
    depth : int
        Parts of a scope that count, from the outermost: with 2, `model/layer1/gates` is `model/layer1`.

    Examples
    --------
    >>> import simsched as ss
    >>> scopes = ["model/a/gates", "model/a/state", "model/b"]
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 1), (1, 2)], scopes=scopes)
    >>> graph.cleaned("collapse[depth=2]").durations_s.tolist()
    [3.0, 3.0]
    """

    name: ClassVar[str] = "collapse"
    depth: int = whole(1)

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of scopes; tasks without one stay.

        Raises
        ------
        GraphError
            If no task has a scope.
        """
        if not any(graph.scopes.labels):
            raise GraphError(f"graph {graph.name!r}: no task has a scope to collapse to")
        cut = ["/".join(label.strip("/").split("/")[: self.depth]) for label in graph.scopes.labels]
        codes = np.unique(cut, return_inverse=True)[1][graph.scopes.codes].astype(np.int64)
        apart = np.array([scope == "" for scope in cut])[graph.scopes.codes]
        codes[apart] = len(cut) + np.flatnonzero(apart)
        groups = acyclic_groups(graph, codes)
        sentence = f"{graph.n_tasks} tasks became {len(np.unique(groups))}"
        scopes = [cut[code] for code in graph.scopes.codes.tolist()]
        return merged(graph, groups, self.noted(graph, sentence), scopes)


def acyclic_groups(graph: TaskGraph, groups: Groups) -> Groups:
    """Return groups that form no cycle: those that do are split by how often they are entered."""
    _, whole_groups = np.unique(groups, return_inverse=True)
    entered = _times_entered(graph, whole_groups)
    split = np.zeros(graph.n_tasks, bool)
    while True:
        parts = whole_groups * (entered.max(initial=0) + 2) + np.where(split, entered + 1, 0)
        found = np.unique(parts, return_inverse=True)[1]
        tangled = _tangled(graph, found)
        if not tangled.any():
            return found.astype(np.int64)
        # All parts of a scope together: groups split by levels alone form no cycle.
        split |= np.isin(whole_groups, whole_groups[tangled])


def _times_entered(graph: TaskGraph, groups: Groups) -> Groups:
    """Return the most changes of group along a path of edges to each task."""
    starts, before = graph.predecessors.indptr.tolist(), graph.predecessors.indices.tolist()
    group, entered = groups.tolist(), [0] * graph.n_tasks
    for task in graph.topological_order.tolist():
        own, most = group[task], 0
        for i in before[starts[task] : starts[task + 1]]:
            most = max(most, entered[i] + (group[i] != own))
        entered[task] = most
    return np.array(entered, np.int64)


def _tangled(graph: TaskGraph, groups: Groups) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which tasks are in groups that form a cycle."""
    count = int(groups.max(initial=-1)) + 1
    before, after = groups[graph.successors.sources()], groups[graph.successors.indices]
    crossing = before != after
    links, _ = from_edges(count, before[crossing], after[crossing])
    _, component = strong_components(links)
    tangled: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
        np.bincount(component, minlength=1)[component[groups]] > 1
    )
    return tangled
