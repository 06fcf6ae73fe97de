"""Collapsing a graph to the layers or modules named by its scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.errors import GraphError
from simsched.graph.adjacency import from_edges, strong_components
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.cleanup.groups import Groups, merged
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import whole


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
