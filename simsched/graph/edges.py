"""Edges given by users, checked: pairs of task indices, no self-loop, no cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph.adjacency import Csr, find_cycle, from_edges
from simsched.graph.checks import refuse_where
from simsched.parameters import is_whole

MAX_EDGES = 2**31 - 1

#: Name of a task in messages: its index, and its name if it has one.
Caller = Callable[[int], str]


def adjacency(
    n: int, edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr, called: Caller
) -> tuple[Csr, int]:
    """Return the successors of `n` tasks and how many duplicate edges were merged.

    Parameters
    ----------
    n : int
        Number of tasks.
    edges : (m, 2) array or iterable of pairs, or Csr
        Task indices (before, after); or the successors of each task, ascending, each once.
    called : function of int to str
        Name of a task in messages.

    Raises
    ------
    GraphError
        If an edge is not a pair of whole numbers, has an endpoint outside 0 to n - 1 or two equal ones, or edges
        form a cycle.
    """
    if isinstance(edges, Csr):
        _refuse_malformed(edges, n, called)
        return edges, 0
    pairs = pairs_of(edges)
    if len(pairs) > MAX_EDGES:
        raise GraphError(f"{len(pairs)} edges are more than {MAX_EDGES}, the most a graph can hold")
    _refuse_outside(pairs, n)
    # Not narrower ones, nor those without a sign, whose sums with others could leave the whole numbers.
    sources, targets = (pairs if pairs.dtype.kind == "i" else pairs.astype(np.int64)).T
    refuse_where(
        sources == targets,
        lambda edge: f"edge {edge} is a self-loop on {called(int(sources[edge]))}; leave it out",
    )
    successors, merged = from_edges(n, sources, targets)
    refuse_cycle(successors, called)
    return successors, merged


def _refuse_malformed(successors: Csr, n: int, called: Caller) -> None:
    """Check successors that are given as rows; what is found of their order is kept for later."""
    indptr, indices = successors.indptr, successors.indices
    if indptr.dtype != np.int64 or indices.dtype != np.int32 or indptr.ndim != 1 or indices.ndim != 1:
        raise GraphError(
            f"rows of edges are of {indptr.dtype} and {indices.dtype}; expected int64 (indptr) and int32 (indices)"
        )
    if len(indptr) != n + 1:
        raise GraphError(f"{len(indptr) - 1} rows of edges for {n} tasks; expected a row per task")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError(f"indptr of edges does not ascend from 0 to {len(indices)}, the number of edges")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n:
        raise GraphError(f"edges go to tasks {indices.min()} to {indices.max()}; expected 0 to {n - 1}")
    later = indices[1:] > indices[:-1]
    begins = indptr[1:-1]
    later[begins[(begins > 0) & (begins < len(indices))] - 1] = True
    refuse_where(~later, lambda edge: f"edge {edge + 1} goes to a task that does not ascend within its row")
    if not successors.forward:
        refuse_where(
            successors.sources() == indices, lambda edge: f"edge {edge} is a self-loop; leave it out"
        )
        refuse_cycle(successors, called)


def refuse_cycle(successors: Csr, called: Caller) -> None:
    """Check that there is a topological order.

    Raises
    ------
    GraphError
        If there is a cycle; the message names one.
    """
    if not successors.forward and successors.topological_order is None:
        raise cycle_error(successors, called)


def cycle_error(successors: Csr, called: Caller) -> GraphError:
    """Return the error that names a cycle of a graph known to have one."""
    return GraphError(f"the graph has a cycle: {cycle_text(find_cycle(successors), called)}")


def cycle_text(cycle: list[int], called: Caller, most: int = 8) -> str:
    """Return a cycle as shown in messages: the names of its nodes, in order, and the first one again."""
    shown = [called(task) for task in cycle[:most]]
    if len(cycle) > most:
        shown.append(f"... {len(cycle) - most} more")
    return " -> ".join([*shown, called(cycle[0])])


def _refuse_outside(pairs: npt.NDArray[Any], n: int) -> None:
    # Only an invalid graph pays for finding the edge.
    if not len(pairs) or (pairs.min() >= 0 and pairs.max() < n):
        return
    edge = np.flatnonzero(((pairs < 0) | (pairs >= n)).any(axis=1))[0]
    before, after = pairs[edge].tolist()
    tasks = f"whose tasks are 0 to {n - 1}" if n else "which has no tasks"
    raise GraphError(f"edge {edge} ({before} -> {after}) leaves the graph, {tasks}")


def pairs_of(edges: npt.ArrayLike | Iterable[Sequence[int]] | Csr) -> npt.NDArray[Any]:
    """Return edges as an (m, 2) array of whole numbers.

    Raises
    ------
    GraphError
        If an edge is not a pair of whole numbers.
    """
    pairs: Any = edges
    if not isinstance(edges, (list, tuple)) and not hasattr(edges, "__array__"):
        if not isinstance(edges, Iterable):
            raise GraphError(f"edges are pairs of task indices; got {edges!r}")
        pairs = list(edges)
    try:
        array = np.asarray(pairs)
    except (TypeError, ValueError, OverflowError):
        return _object_pairs(pairs)  # ragged
    if array.ndim in (1, 2) and not len(array):
        return np.empty((0, 2), np.int64)
    if array.ndim == 2 and array.shape[1] == 2 and array.dtype.kind in "iu":
        return array
    if isinstance(pairs, (list, tuple)) or (array.dtype.kind == "O" and array.ndim):
        return _object_pairs(pairs)
    raise GraphError(
        f"edges are an (m, 2) array of whole numbers, task indices; got {array.dtype} of shape {array.shape}"
    )


def _object_pairs(edges: Any) -> npt.NDArray[Any]:
    """Return pairs of whole numbers that NumPy has no type for; reject anything else, naming the row."""
    for row, pair in enumerate(edges):
        try:
            ends = list(islice(pair, 3))
        except TypeError:
            ends = []
        if len(ends) != 2 or isinstance(pair, (str, bytes)):
            raise GraphError(f"edge {row} is {pair!r}; an edge is a pair of task indices")
        for end in ends:
            if not is_whole(end):
                raise GraphError(f"edge {row} has endpoint {end!r}; give task indices, whole numbers")
    return np.array([[int(end) for end in pair] for pair in edges], object)
