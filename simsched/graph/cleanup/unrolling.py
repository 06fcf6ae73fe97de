"""Repeating a graph: iterations in sequence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr
from simsched.graph.build import MAX_TASKS
from simsched.graph.cleanup.cleanup import Cleanup, multiplied
from simsched.graph.cleanup.objects import repeated, seconds_of
from simsched.graph.columns import Floats
from simsched.graph.data_checks import with_data
from simsched.graph.recording import measured_on
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import one_of, whole
from simsched.text import counted

#: Edges between iterations by scope: the last tasks of a scope times its first ones.
MAX_LINKS = 4_000_000


@dataclass(frozen=True)
class Unroll(Cleanup):
    """Put iterations of the graph one after another; each has data objects of its own.

    Parameters
    ----------
    iterations : int
        How many, the first included.
    between : str
        "barrier": an iteration starts once the one before has finished. "scope": the first tasks of a scope wait for
        the last of the same scope in the iteration before (a layer's weights are used once they are updated).
        "nothing": iterations are independent.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], scopes=["a", "b"])
    >>> for between in ("barrier", "scope", "nothing"):
    ...     print(between, graph.cleaned(f"unroll[iterations=2,between={between}]").n_edges)
    barrier 4
    scope 2
    nothing 0
    """

    name: ClassVar[str] = "unroll"
    iterations: int = whole(2)
    between: str = one_of("barrier", "scope", "nothing")

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph of all iterations.

        Raises
        ------
        GraphError
            If it would be too large.
        """
        n, k = graph.n_tasks, self.iterations
        joints = int(self.between == "barrier" and n > 0)
        if (n + joints) * k > MAX_TASKS:
            raise GraphError(f"{self}: {n} tasks {k} times are more than a graph can hold")
        size, links = n + joints, self._links(graph)
        edges = np.concatenate([_shifted(graph, size, k), *(links + size * i for i in range(k - 1))])
        unrolled = TaskGraph.from_edges(
            _repeated(seconds_of(graph), joints, k),
            edges[(edges < (size * k - joints)).all(axis=1)],
            kinds=_texts(graph.kinds.to_list(), "barrier", joints, k),
            names=None if graph.names is None else _numbered(graph.names.to_list(), joints, k),
            shapes=_texts(graph.shapes.to_list(), "", joints, k),
            scopes=_texts(graph.scopes.to_list(), "", joints, k),
            flops=_repeated(graph.flops, joints, k),
            bytes_B=_repeated(graph.bytes_B, joints, k),
            widths=np.tile(np.append(graph.widths, np.ones(joints, np.int32)), k)[: size * k - joints],
            name=graph.name,
            recorded_on=measured_on(graph),
            report=multiplied(self.noted(graph, f"{counted(n, 'task')} {counted(k, 'time')}"), k),
        )
        return with_data(unrolled, repeated(graph.data, size, k))

    def _links(self, graph: TaskGraph) -> Any:
        """Return the edges from the first iteration to the second, and to the barrier between them."""
        n = graph.n_tasks
        first = np.flatnonzero(graph.predecessors.degrees() == 0)
        last = np.flatnonzero(graph.successors.degrees() == 0)
        if self.between == "barrier" and n:
            into = np.stack([last, np.full(len(last), n)], 1)
            return np.concatenate([into, np.stack([np.full(len(first), n), first + n + 1], 1)])
        if self.between == "scope":
            return self._by_scope(graph)
        return np.empty((0, 2), np.int64)

    def _by_scope(self, graph: TaskGraph) -> Any:
        """Return edges from the last tasks of each scope to its first ones in the next iteration."""
        codes, order = graph.scopes.codes.tolist(), graph.topological_order.tolist()
        first = _untouched(codes, order, graph.predecessors)
        last = _untouched(codes, order[::-1], graph.successors)
        links = (self.iterations - 1) * sum(len(last[code]) * len(first[code]) for code in last)
        if links > MAX_LINKS:
            raise GraphError(
                f"{self}: {links} edges between iterations, more than {MAX_LINKS}; take between=barrier"
            )
        pairs = [(a, b + graph.n_tasks) for code in last for a in last[code] for b in first[code]]
        return np.array(pairs, np.int64).reshape(-1, 2)


def _untouched(codes: list[int], order: list[int], before: Csr) -> dict[int, list[int]]:
    """Return, for each scope, the tasks that no other task of it precedes; `before` gives predecessors."""
    #: Of each task the scopes that lead to it, a bit each.
    behind = [0] * len(codes)
    found: dict[int, list[int]] = {}
    for task in order:
        for other in before.neighbours(task).tolist():
            behind[task] |= behind[other] | 1 << codes[other]
        if not behind[task] >> codes[task] & 1:
            found.setdefault(codes[task], []).append(task)
    return found


def _shifted(graph: TaskGraph, size: int, k: int) -> Any:
    edges = np.stack([graph.successors.sources(), graph.successors.indices], 1).astype(np.int64)
    return (edges[None] + size * np.arange(k)[:, None, None]).reshape(-1, 2)


def _repeated(values: Floats, joints: int, k: int) -> Floats:
    once = np.concatenate([values, np.zeros((joints, *values.shape[1:]))])
    return np.concatenate([once] * k)[: len(once) * k - joints]


def _texts(values: list[str], joint: str, joints: int, k: int) -> list[str]:
    return (([*values, *[joint] * joints]) * k)[: (len(values) + joints) * k - joints]


def _numbered(names: list[str], joints: int, k: int) -> list[str]:
    every = [f"{name}@{i}" for i in range(k) for name in [*names, *["barrier"] * joints]]
    return every[: len(every) - joints]
