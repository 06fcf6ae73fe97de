"""Removal of tasks, with dependencies through them kept, and of the forward or the backward pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Mask
from simsched.graph.cleanup.cleanup import Cleanup, multiplied
from simsched.graph.cleanup.matching import Matching
from simsched.graph.cleanup.objects import of_kept, seconds_of
from simsched.graph.columns import LabelColumn
from simsched.graph.contracting import contracted
from simsched.graph.data_checks import with_data
from simsched.graph.recording import Recording
from simsched.graph.report import ImportReport
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import text

#: Ops that compute nothing: they name memory or order other ops.
BOOK_KEEPING = (
    "noop+no_op+identity*+reshape+view*+_unsafe_view+squeeze+unsqueeze+expanddims+expand+stopgradient+variablev2+const"
    "+placeholder+alias+detach+t+transpose_view+permute+as_strided+split_view+select+getitem+shape+resolve_conj"
    "+resolve_neg+dummy+taskwait+control"
)
#: Edges may grow to so many for each task and edge that was there: a joint of p predecessors and s successors makes
#: p times s.
MOST_GROWTH = 4


@dataclass(frozen=True)
class Drop(Matching):
    """Leave tasks out; their predecessors become those of their successors.

    Parameters
    ----------
    kinds, names, scopes : str
        Which; ops that only keep books (identities, views, constants, ...) when nothing is given.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 0.1, 2.0], [(0, 1), (1, 2)], kinds=["MatMul", "Identity", "Add"])
    >>> left = graph.cleaned("drop[kinds=Identity]")
    >>> left.kinds.to_list(), left.n_edges
    (['MatMul', 'Add'], 1)
    """

    name: ClassVar[str] = "drop"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph without them."""
        step = self if self.chooses else replace(self, kinds=BOOK_KEEPING)
        dropped = step.mask(graph)
        seconds = float(np.nansum(graph.durations_s[dropped]))
        report = self.noted(graph, f"{int(dropped.sum())} tasks that held {seconds:.6g} s were left out")
        return _without(graph, dropped, report)


@dataclass(frozen=True)
class Select(Matching):
    """Keep some tasks only: a layer, an iteration, a step; dependencies through others stay.

    Parameters
    ----------
    kinds, names, scopes : str
        Which.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 0.1, 2.0], [(0, 1), (1, 2)], scopes=["layer1", "layer2", "layer1"])
    >>> layer = graph.cleaned("select[scopes=layer1]")
    >>> layer.durations_s.tolist(), layer.n_edges
    ([1.0, 2.0], 1)
    """

    name: ClassVar[str] = "select"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of them.

        Raises
        ------
        SpecError
            If no pattern is given.
        GraphError
            If no task matches.
        """
        if not self.chooses:
            raise self.refused("scopes", "patterns of what to keep; kinds=, names= or scopes=")
        kept = self.mask(graph)
        if not kept.any():
            raise GraphError(f"graph {graph.name!r}: no task matches {self}")
        return _without(
            graph, ~kept, self.noted(graph, f"{int(kept.sum())} of {graph.n_tasks} tasks were kept")
        )


def _without(graph: TaskGraph, dropped: Mask, report: ImportReport) -> TaskGraph:
    """Return a graph without some of its tasks.

    Raises
    ------
    GraphError
        If that would make more edges than `MOST_GROWTH` times the tasks and edges that there were.
    """
    kept = np.flatnonzero(~dropped)
    index = np.full(graph.n_tasks, -1, np.int64)
    index[kept] = np.arange(len(kept))
    # Nothing passes through tasks that none of the kept ones waits for.
    leads = ~dropped
    backwards = graph.topological_order[::-1]
    for task in backwards[dropped[backwards]].tolist():
        leads[task] = leads[graph.successors.neighbours(task)].any()
    ends = graph.successors.indices
    pairs = zip(*(nodes[leads[ends]].tolist() for nodes in (graph.successors.sources(), ends)), strict=True)
    most = MOST_GROWTH * (graph.n_edges + graph.n_tasks)
    try:
        edges = contracted(pairs, (~dropped).tolist(), most)
    except GraphError as error:
        raise GraphError(
            f"graph {graph.name!r}: {error}; keep tasks that join many others, or collapse instead"
        ) from None
    run = graph.recording
    found = TaskGraph.from_edges(
        seconds_of(graph)[kept],
        index[np.array(edges, np.int64).reshape(-1, 2)],
        kinds=_taken(graph.kinds, kept),
        names=None if graph.names is None else [graph.names[i] for i in kept.tolist()],
        shapes=_taken(graph.shapes, kept),
        scopes=_taken(graph.scopes, kept),
        flops=graph.flops[kept],
        bytes_B=graph.bytes_B[kept],
        widths=graph.widths[kept],
        name=graph.name,
        recorded_on=graph.recorded_on,
        report=multiplied(report, len(kept) / max(graph.n_tasks, 1)),
        recording=None
        if run is None
        else Recording(
            run.start_s[kept],
            run.finish_s[kept],
            run.lanes[kept],
            run.lane_names,
            None if run.priorities is None else run.priorities[kept],
        ),
    )
    return with_data(found, of_kept(graph, dropped, index, report))


def _taken(column: LabelColumn, kept: npt.NDArray[np.int64]) -> list[str]:
    return [column.labels[code] for code in column.codes[kept].tolist()]


#: Frameworks' words for ops of the backward pass, in kinds, names or scopes.
BACKWARD = "*backward*+*grad*+*bprop*"


@dataclass(frozen=True)
class _Phase(Cleanup):
    """Base of both: backward tasks are recognised by words.

    Parameters
    ----------
    words : str
        Patterns, joined by `+`, one of which kind, name or scope of a backward task matches.
    """

    words: str = text(BACKWARD)

    def backward(self, graph: TaskGraph) -> Mask:
        """Return which tasks belong to the backward pass or wait for it, shape (n,).

        Raises
        ------
        GraphError
            If none or all of them are.
        """
        found = Matching(kinds=self.words).mask(graph) | Matching(scopes=self.words).mask(graph)
        found |= Matching(names=self.words).mask(graph)
        if found.all() or not found.any():
            how_many = "all tasks match" if found.any() else "no task matches"
            raise GraphError(
                f"graph {graph.name!r}: {how_many} {self.words}; give words= of the backward pass"
            )
        for task in graph.topological_order.tolist():
            found[task] |= found[graph.predecessors.neighbours(task)].any()
        return found


@dataclass(frozen=True)
class Forward(_Phase):
    """Keep the forward pass: all that is not of the backward pass, and does not wait for it.

    Parameters
    ----------
    words : str
        Patterns, joined by `+`, one of which kind, name or scope of a backward task matches.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 0.5], [(0, 1), (1, 2)], kinds=["MatMul", "MatMulGrad", "Sgd"])
    >>> graph.cleaned("forward").kinds.to_list()
    ['MatMul']
    """

    name: ClassVar[str] = "forward"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of the forward pass."""
        after = self.backward(graph)
        sentence = f"{int((~after).sum())} tasks of the forward pass were kept of {graph.n_tasks}"
        return _without(graph, after, self.noted(graph, sentence))


@dataclass(frozen=True)
class Backward(_Phase):
    """Keep the backward pass and all that waits for it, as weight updates.

    Parameters
    ----------
    words : str
        Patterns, joined by `+`, one of which kind, name or scope of a backward task matches.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 0.5], [(0, 1), (1, 2)], kinds=["MatMul", "MatMulGrad", "Sgd"])
    >>> graph.cleaned("backward").kinds.to_list()
    ['MatMulGrad', 'Sgd']
    """

    name: ClassVar[str] = "backward"

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of the backward pass."""
        after = self.backward(graph)
        sentence = f"{int(after.sum())} tasks of the backward pass were kept of {graph.n_tasks}"
        return _without(graph, ~after, self.noted(graph, sentence))
