"""Which tasks of two recordings of the same step are the same: by what they are, and by what is around them.

Tasks are told apart by kind, shape, name and scope, then by those of all that comes before and after them. Of tasks
that are alike in all this, as many on both sides, the first is the first. Where a recording has a task more or fewer,
everything after and before it looks different: what is left is matched by its neighbours, then by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph

Signature = npt.NDArray[np.int64]
#: Numbers that differ from run to run: at the end of a name, after `#`.
_RUNNING = re.compile(r"#[0-9]+$")


@dataclass(frozen=True, eq=False)
class Match:
    """Tasks of one graph and theirs in another.

    Parameters
    ----------
    of : int64 array, shape (n,)
        Task of the other graph for each of the one; -1 where it has none.
    by : mapping of str to int
        How many were matched by "structure", "neighbours" and "label".
    notes : tuple of str
        Mismatches, in sentences.
    edges_kept : float
        Share of the edges between matched tasks that the other graph has, too; NaN where there are none.
    """

    of: Signature
    by: dict[str, int]
    notes: tuple[str, ...]
    edges_kept: float


class _Codes:
    """Numbers for things, the same for equal things of both graphs."""

    def __init__(self) -> None:
        self._known: dict[Hashable, int] = {}

    def __call__(self, thing: Hashable) -> int:
        return self._known.setdefault(thing, len(self._known))


def match(one: TaskGraph, other: TaskGraph) -> Match:
    """Match the tasks of two graphs; O((n + m) log n)."""
    codes = _Codes()
    of, taken = np.full(one.n_tasks, -1, np.int64), np.zeros(other.n_tasks, np.bool_)
    by: dict[str, int] = {}
    places = [_places(graph) for graph in (one, other)]
    labels = [_labels(graph, codes, with_names=True) for graph in (one, other)]
    plain = [_labels(graph, codes, with_names=False) for graph in (one, other)]
    rounds: list[tuple[str, Callable[[int], Signature]]] = [
        ("structure", lambda i: _structure((one, other)[i], labels[i], codes)),
        ("structure", lambda i: _structure((one, other)[i], plain[i], codes)),
        ("neighbours", lambda i: _neighbours((one, other)[i], labels[i], codes)),
        ("label", lambda i: labels[i]),
        ("label", lambda i: plain[i]),
    ]
    for name, signature in rounds:
        left = [np.flatnonzero(of < 0), np.flatnonzero(~taken)]
        if not min(map(len, left)):
            break
        found = _paired([signature(i) for i in (0, 1)], left, places)
        of[found[0]] = found[1]
        taken[found[1]] = True
        by[name] = by.get(name, 0) + len(found[0])
    return Match(of, by, _notes(one, other, of, taken), _edges_kept(one, other, of))


def _places(graph: TaskGraph) -> Signature:
    """Return the place of each task in the order it ran in, else in topological order."""
    key = graph.recording.start_s if graph.recording is not None else None
    order = graph.topological_order if key is None else np.argsort(key, kind="stable")
    place = np.empty(graph.n_tasks, np.int64)
    place[order] = np.arange(graph.n_tasks)
    return place


def _labels(graph: TaskGraph, codes: _Codes, *, with_names: bool) -> Signature:
    names: Sequence[str] = [""] * graph.n_tasks
    if with_names and graph.names is not None:
        names = [_RUNNING.sub("", name) for name in graph.names.to_list()]
    columns = (graph.kinds.to_list(), graph.shapes.to_list(), graph.scopes.to_list(), names)
    return np.array([codes(row) for row in zip(*columns, strict=True)], np.int64)


def _structure(graph: TaskGraph, labels: Signature, codes: _Codes) -> Signature:
    """Return signatures of each task with all that comes before it, and with all that comes after it."""
    order = graph.topological_order
    before = _along(order, graph.predecessors.neighbours, labels, codes)
    after = _along(order[::-1], graph.successors.neighbours, labels, codes)
    return np.array(
        [codes(("both", *pair)) for pair in zip(before.tolist(), after.tolist(), strict=True)], np.int64
    )


def _along(
    order: npt.NDArray[np.int32],
    next_to: Callable[[int], npt.NDArray[np.int32]],
    labels: Signature,
    codes: _Codes,
) -> Signature:
    found = np.zeros(len(labels), np.int64)
    for task in order.tolist():
        near = tuple(sorted(found[next_to(task)].tolist()))
        found[task] = codes(("along", int(labels[task]), near))
    return found


def _neighbours(graph: TaskGraph, labels: Signature, codes: _Codes) -> Signature:
    rows = (
        tuple(
            tuple(sorted(labels[side.neighbours(task)].tolist()))
            for side in (graph.predecessors, graph.successors)
        )
        for task in range(graph.n_tasks)
    )
    return np.array([codes(("near", int(labels[task]), *row)) for task, row in enumerate(rows)], np.int64)


def _paired(
    signatures: list[Signature], left: list[Signature], places: list[Signature]
) -> tuple[Signature, Signature]:
    """Return tasks of both sides whose signature as many have on the one as on the other, each in its order."""
    ordered = []
    for signature, tasks, place in zip(signatures, left, places, strict=True):
        mine = tasks[np.lexsort((place[tasks], signature[tasks]))]
        ordered.append((mine, *np.unique(signature[mine], return_counts=True)))
    (a, keys_a, count_a), (b, keys_b, count_b) = ordered
    both, in_a, in_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    same = both[count_a[in_a] == count_b[in_b]]
    return a[np.isin(signatures[0][a], same)], b[np.isin(signatures[1][b], same)]


def _notes(one: TaskGraph, other: TaskGraph, of: Signature, taken: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    notes = []
    for graph, alone in ((one, np.flatnonzero(of < 0)), (other, np.flatnonzero(~taken))):
        if len(alone):
            kinds, counts = np.unique(graph.kinds.codes[alone], return_counts=True)
            said = ", ".join(f"{count} {graph.kinds.labels[kind] or 'of no kind'}" for kind, count in zip(
                kinds.tolist(), counts.tolist(), strict=True))  # fmt: skip
            notes.append(f"{len(alone)} of {graph.n_tasks} tasks of {graph.name} have no counterpart: {said}")
    return tuple(notes)


def _edges_kept(one: TaskGraph, other: TaskGraph, of: Signature) -> float:
    sources = np.repeat(np.arange(one.n_tasks), np.diff(one.successors.indptr))
    a, b = of[sources], of[one.successors.indices]
    known = (a >= 0) & (b >= 0)
    if not known.any():
        return float("nan")
    theirs = np.repeat(np.arange(other.n_tasks), np.diff(other.successors.indptr)) * other.n_tasks
    return float(np.isin(a[known] * other.n_tasks + b[known], theirs + other.successors.indices).mean())
