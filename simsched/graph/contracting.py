"""Leaving nodes out of a graph whose dependences go through them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from simsched.errors import GraphError

#: Leaving nodes out can join each of their predecessors with each of their successors.
MAX_EDGES = 4_000_000

Edge = tuple[int, int]


def contracted(edges: Iterable[Edge], kept: Sequence[bool], most: int | None = None) -> list[Edge]:
    """Return the edges between kept nodes, direct ones and those through nodes left out, each once, sorted.

    Parameters
    ----------
    edges : iterable of pairs of int
        Indices (before, after).
    kept : sequence of bool, one a node
        Whether it stays.
    most : int, optional
        Edges that there may be; `MAX_EDGES` when not given.

    Raises
    ------
    GraphError
        If nodes left out form a cycle, or there would be more than `most`.

    Examples
    --------
    >>> contracted([(0, 1), (1, 2), (2, 3), (0, 3)], [True, False, False, True])
    [(0, 3)]
    """
    most = MAX_EDGES if most is None else most
    before: dict[int, set[int]] = defaultdict(set)
    for a, b in edges:
        before[b].add(a)
    through = _sources(before, kept, most)
    found: set[Edge] = set()
    for b, sources in before.items():
        if kept[b]:
            for a in sources:
                found.update([(a, b)] if kept[a] else ((source, b) for source in through[a]))
                _refuse_many(len(found), most)
    return sorted(found)


def _sources(before: dict[int, set[int]], kept: Sequence[bool], most: int) -> dict[int, frozenset[int]]:
    """Return for each node left out the kept ones that reach it through others left out."""
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
            # Chains of nodes left out hand the same set on.
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
        stuck = next(i for i in dropped if waits[i])
        raise GraphError(f"nodes that are left out depend on each other in a cycle, node {stuck} among them")
    return through


def _refuse_many(n: int, most: int) -> None:
    if n > most:
        raise GraphError(f"more than {most} dependences, most of them through nodes that are left out")
