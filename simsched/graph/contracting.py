"""Removal of nodes from a graph whose dependencies go through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from simsched.errors import GraphError
from simsched.graph.adjacency import find_cycle, from_edges
from simsched.graph.edges import Caller, cycle_text

#: Leaving nodes out can join each of their predecessors with each of their successors.
MAX_EDGES = 4_000_000

Edge = tuple[int, int]


def contracted(
    edges: Iterable[Edge], kept: Sequence[bool], most: int | None = None, called: Caller = "node {}".format
) -> list[Edge]:
    """Return the edges between kept nodes, direct ones and those through removed nodes, each once, sorted.

    Parameters
    ----------
    edges : iterable of pairs of int
        Indices (before, after).
    kept : sequence of bool, one per node
        Whether the node is kept.
    most : int, optional
        Edges that there may be; `MAX_EDGES` when not given.
    called : function of int to str
        Name of a node in messages.

    Raises
    ------
    GraphError
        If nodes left out form a cycle, which the message names, or there would be more than `most`.

    Examples
    --------
    >>> contracted([(0, 1), (1, 2), (2, 3), (0, 3)], [True, False, False, True])
    [(0, 3)]
    """
    most = MAX_EDGES if most is None else most
    before: dict[int, set[int]] = defaultdict(set)
    for a, b in edges:
        before[b].add(a)
    through = _sources(before, kept, most, called)
    found: set[Edge] = set()
    for b, sources in before.items():
        if kept[b]:
            for a in sources:
                found.update([(a, b)] if kept[a] else ((source, b) for source in through[a]))
                _refuse_many(len(found), most)
    return sorted(found)


def _sources(
    before: dict[int, set[int]], kept: Sequence[bool], most: int, called: Caller
) -> dict[int, frozenset[int]]:
    """Return, for each removed node, the kept ones that reach it through other removed nodes."""
    dropped = [i for i in range(len(kept)) if not kept[i]]
    after: dict[int, list[int]] = defaultdict(list)
    waits = dict.fromkeys(dropped, 0)
    for b in dropped:
        for a in before.get(b, ()):
            if not kept[a]:
                after[a].append(b)
                waits[b] += 1
    through: dict[int, frozenset[int]] = {}
    ready, held = [i for i in dropped if not waits[i]], 0
    for i in ready:
        handed = {through[a] for a in before.get(i, ()) if not kept[a]}
        direct = frozenset(a for a in before.get(i, ()) if kept[a])
        if len(handed) == 1 and not direct:
            # Chains of nodes left out pass the same set on.
            (through[i],) = handed
        else:
            through[i] = direct.union(*handed)
            held += len(through[i])
            _refuse_many(held, most)
        for b in after[i]:
            waits[b] -= 1
            if not waits[b]:
                ready.append(b)
    if len(ready) < len(dropped):
        cycle = _cycle([(a, b) for b in dropped for a in before.get(b, ()) if not kept[a]], len(kept))
        raise GraphError(
            f"nodes that are left out depend on each other in a cycle: {cycle_text(cycle, called)}"
        )
    return through


def _cycle(edges: list[Edge], n: int) -> list[int]:
    """Return the nodes of one cycle that some edges form."""
    if loops := [a for a, b in edges if a == b]:
        return loops[:1]
    pairs = np.array(edges, np.int64)
    return find_cycle(from_edges(n, pairs[:, 0], pairs[:, 1])[0])


def _refuse_many(n: int, most: int) -> None:
    if n > most:
        raise GraphError(f"more than {most} dependencies, most of them through nodes that are left out")
