"""Compressed sparse rows (CSR) of a directed graph: building, transposing, ordering, finding a cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from simsched.graph.columns import ReadOnly

Index = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: Nodes or edges that are looked at together, so that millions take no further memory.
_BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Csr(ReadOnly):
    """Neighbours of every node, ascending.

    Parameters
    ----------
    indptr : int64 array, shape (n + 1,)
        Neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`.
    indices : int32 array, shape (m,)
        The neighbours.
    """

    indptr: Ints
    indices: Index

    @property
    def n(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    def neighbours(self, i: int) -> Index:
        """Return the neighbours of node `i`, ascending."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    @cached_property
    def forward(self) -> bool:
        """Whether every node has a lower number than its neighbours, as in graphs written down in program order."""
        return all(bool(np.all(sources < targets)) for sources, targets in self.blocks())

    @property
    def topological_order(self) -> Index | None:
        """Node numbers, every node before its neighbours, 0 to n - 1 if that works; None for a cycle."""
        # Millions of numbers that are their own places are not kept.
        order = np.arange(self.n, dtype=np.int32) if self.forward else self._sorted
        if order is not None:
            order.setflags(write=False)
        return order

    @cached_property
    def _sorted(self) -> Index | None:
        return topological_order(self)

    def degrees(self) -> Index:
        """Return the number of neighbours of each node."""
        return np.diff(self.indptr).astype(np.int32)

    def sources(self) -> Index:
        """Return, for every entry of `indices`, its node."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))

    def blocks(self) -> Iterator[tuple[Index, Index]]:
        """Yield the ends of all edges in the order of `indices`, those of some nodes at a time."""
        for begin in range(0, self.n, _BLOCK):
            ends = self.indptr[begin : begin + _BLOCK + 1]
            nodes = np.arange(begin, begin + len(ends) - 1, dtype=np.int32)
            yield np.repeat(nodes, np.diff(ends)), self.indices[ends[0] : ends[-1]]

    def transposed(self, n: int | None = None) -> Csr:
        """Return the graph with every edge reversed, of `n` nodes where its targets are others than its sources."""
        # A stable sort by target leaves the sources of one target ascending.
        order = np.argsort(self.indices, kind="stable")
        return Csr(pointers(self.indices, self.n if n is None else n), self.sources()[order])


def place_in(order: npt.NDArray[np.integer], n: int | None = None) -> Index:
    """Return the place of each of `n` numbers in an order, shape (n,): its inverse; -1 of numbers that it leaves out.

    Examples
    --------
    >>> place_in(np.array([2, 0, 1])).tolist(), place_in(np.array([2, 0]), 4).tolist()
    ([1, 2, 0], [1, -1, 0, -1])
    """
    found = np.full(len(order) if n is None else n, -1, np.int32)
    found[order] = np.arange(len(order), dtype=np.int32)
    return found


def pointers(rows: npt.NDArray[np.integer], n: int) -> Ints:
    """Return where each of `n` rows begins, and the last one ends, in entries sorted by row; shape (n + 1,)."""
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return indptr


def steps(counts: Ints) -> tuple[Ints, Ints]:
    """Return the row and the number, from 0, of each entry of rows with so many entries.

    Examples
    --------
    >>> import numpy as np
    >>> row, step = steps(np.array([2, 0, 1]))
    >>> row.tolist(), step.tolist()
    ([0, 0, 2], [0, 1, 0])
    """
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def entries(rows: Csr, row: npt.NDArray[np.integer]) -> tuple[Ints, Index]:
    """Return, for each task and each entry of its row, the task and the entry; tasks ascending.

    Parameters
    ----------
    rows : Csr
    row : int array, shape (n,)
        The row of each task.
    """
    task, within = steps(rows.degrees()[row].astype(np.int64))
    return task, rows.indices[rows.indptr[row][task] + within]


def from_edges(
    n: int, sources: npt.NDArray[np.signedinteger], targets: npt.NDArray[np.signedinteger]
) -> tuple[Csr, int]:
    """Build the CSR of `n` nodes; return it with the number of duplicate edges that were merged.

    Parameters
    ----------
    n : int
        Number of nodes, less than 2**31.
    sources, targets : int arrays, shape (m,)
        Endpoints, each in [0, n).
    """
    keys = None if _ascending(sources, targets) else _distinct(n, sources, targets)
    count = len(sources) if keys is None else len(keys)
    indptr, indices = np.zeros(n + 1, np.int64), np.empty(count, np.int32)
    for begin in range(0, count, _BLOCK):
        part = slice(begin, begin + _BLOCK)
        rows, indices[part] = (sources[part], targets[part]) if keys is None else np.divmod(keys[part], n)
        first, last = int(rows[0]), int(rows[-1])
        indptr[first + 1 : last + 2] += np.bincount(rows - first)
    return Csr(np.cumsum(indptr, out=indptr), indices), len(sources) - count


def _ascending(sources: npt.NDArray[np.signedinteger], targets: npt.NDArray[np.signedinteger]) -> bool:
    """Return whether edges are sorted by their first and second nodes, each once."""
    for begin in range(0, len(sources), _BLOCK):
        first, second = (ends[begin : begin + _BLOCK + 1] for ends in (sources, targets))
        later = (first[1:] > first[:-1]) | ((first[1:] == first[:-1]) & (second[1:] > second[:-1]))
        if not later.all():
            return False
    return True


def _distinct(n: int, sources: npt.NDArray[np.signedinteger], targets: npt.NDArray[np.signedinteger]) -> Ints:
    """Return `source * n + target` of edges, ascending, each once."""
    keys = sources.astype(np.int64)
    keys *= n
    keys += targets
    keys.sort()
    first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    return keys if first.all() else keys[first]


def topological_order(successors: Csr) -> Index | None:
    """Return an order with every node before its successors, or None if there is a cycle.

    The strong components are such an order, which SciPy numbers in (reverse) topological order. The result is verified.

    References
    ----------
    "A space-efficient algorithm for finding strongly connected components", Information Processing Letters
    116(1), 2016: what SciPy implements, without recursion.
    """
    n, sources = successors.n, successors.sources()
    count, labels = strong_components(successors)
    if count < n or np.any(sources == successors.indices):
        return None
    order = np.empty(n, np.int32)
    order[labels] = np.arange(n, dtype=np.int32)
    before, after = labels[sources], labels[successors.indices]
    if np.all(before > after):
        return order[::-1].copy()
    return order if np.all(before < after) else _kahn(successors)


def strong_components(successors: Csr) -> tuple[int, Index]:
    """Return the number of strongly connected components, and that of each node."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    # csgraph computes with float64 values and int32 indices only; given as such, nothing is converted.
    weights = np.ones(len(successors.indices))
    indptr = successors.indptr.astype(np.int32)
    matrix = csr_array((weights, successors.indices, indptr), shape=(successors.n,) * 2)
    count, labels = connected_components(matrix, directed=True, connection="strong")
    return int(count), labels.astype(np.int32, copy=False)


def _kahn(successors: Csr) -> Index:
    """Order an acyclic graph without SciPy's component numbers, in case they change."""
    waiting = np.bincount(successors.indices, minlength=successors.n)
    order = np.flatnonzero(waiting == 0).tolist()
    for node in order:
        for after in successors.neighbours(node).tolist():
            waiting[after] -= 1
            if not waiting[after]:
                order.append(after)
    return np.asarray(order, np.int32)


def find_cycle(successors: Csr) -> list[int]:
    """Return the nodes of one cycle, in order, of a graph known to have a cycle of two nodes or more."""
    _, labels = strong_components(successors)
    sizes = np.bincount(labels)
    node = int(np.flatnonzero(sizes[labels] > 1)[0])
    seen: dict[int, int] = {}
    while node not in seen:
        seen[node] = len(seen)
        after = successors.neighbours(node)
        node = int(after[labels[after] == labels[node]][0])
    return list(seen)[seen[node] :]
