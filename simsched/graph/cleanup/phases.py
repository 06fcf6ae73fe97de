"""Splitting a training step into its forward and backward passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.errors import GraphError
from simsched.graph.adjacency import Mask
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.cleanup.dropping import without
from simsched.graph.cleanup.matching import Matching
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import text

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
        return without(graph, after, self.noted(graph, sentence))


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
        return without(graph, ~after, self.noted(graph, sentence))
