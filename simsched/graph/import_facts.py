"""Facts of every import, whatever the format: counts, time covered, parallelism, suspected false edges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from simsched.graph.adjacency import Csr
from simsched.graph.recording import Recording, Seconds
from simsched.graph.taskgraph import TaskGraph
from simsched.text import counted

#: Half of the unit of traces' clocks: times that round to the same nanosecond are no early start.
HALF_NS = 5e-10
_BLOCK = 1 << 17


def complete(graph: TaskGraph) -> TaskGraph:
    """Add the facts common to all formats to a graph's report, unless its reader has stated them already.

    =====================  ==================================================================================
    work_s                 sum of the durations
    critical_path_s        longest path through them
    average_parallelism    one over the other
    data_objects, data_B   what tasks hand to each other, and its bytes, as far as these are known
    lanes                  workers or threads that ran tasks
    span_s                 seconds that the recording covers
    covered_s              seconds of it in which at least one task ran, and `covered_share` of it
    early_starts           edges whose second task started before the first had finished: suspected false,
                           and `worst_early_start_s` by how much at most
    =====================  ==================================================================================
    """
    facts = graph.report.facts
    facts.setdefault("tasks", graph.n_tasks)
    facts.setdefault("edges", graph.n_edges)
    if graph.n_tasks and not np.isnan(graph.work_s):
        facts.setdefault("work_s", graph.work_s)
        facts.setdefault("critical_path_s", graph.critical_path_s)
        if graph.critical_path_s:
            facts.setdefault("average_parallelism", graph.average_parallelism)
    if graph.data is not None and graph.data.n:
        facts.setdefault("data_objects", graph.data.n)
        facts.setdefault("data_B", float(np.nansum(graph.data.size_B)))
    if graph.n_tasks and graph.recording is not None:
        _recorded(graph, graph.recording)
    return graph


def _recorded(graph: TaskGraph, run: Recording) -> None:
    facts = graph.report.facts
    facts.setdefault("lanes", len(np.unique(run.lanes)))
    facts.setdefault("span_s", float(run.finish_s.max() - run.start_s.min()))
    facts.setdefault("covered_s", covered_s(run.start_s, run.finish_s))
    if facts["span_s"]:
        facts.setdefault("covered_share", facts["covered_s"] / facts["span_s"])
    early_s = np.concatenate([np.zeros(0), *_early_s(graph.successors, run)])
    facts.setdefault("early_starts", len(early_s))
    if facts["early_starts"] and len(early_s):
        facts.setdefault("worst_early_start_s", float(early_s.max()))
        graph.report.doubt(
            f"{counted(len(early_s), 'suspect edge')}: the second task started up to {early_s.max():.3g} s before the "
            "first had finished"
        )


def _early_s(successors: Csr, run: Recording) -> Iterator[Seconds]:
    """Yield by how much second tasks started before the first had finished, where they did."""
    for sources, targets in successors.blocks():
        early_s = run.finish_s[sources] - run.start_s[targets]
        yield early_s[early_s > HALF_NS]


def covered_s(start_s: Seconds, finish_s: Seconds) -> float:
    """Return the seconds in which at least one task ran.

    Parameters
    ----------
    start_s, finish_s : float64 arrays, shape (n,)
        Of each task.

    Examples
    --------
    >>> covered_s(np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 6.0]))
    4.0
    """
    if not np.all(start_s[1:] >= start_s[:-1]):
        order = np.argsort(start_s, kind="stable")
        start_s, finish_s = start_s[order], finish_s[order]
    reached_s, own_s = -np.inf, np.empty(len(start_s))
    for begin in range(0, len(start_s), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        until_s = np.maximum.accumulate(np.append(reached_s, finish_s[part]))
        # What a task covers that none before it did.
        np.maximum(until_s[1:] - np.maximum(start_s[part], until_s[:-1]), 0.0, out=own_s[part])
        reached_s = until_s[-1]
    return float(own_s.sum())
