"""Changing the seconds of tasks: scaling, and removing the cost of tracing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from simsched.errors import GraphError
from simsched.graph.checks import kind_means
from simsched.graph.cleanup.cleanup import Cleanup
from simsched.graph.cleanup.matching import Matching
from simsched.graph.recording import Seconds, measured_on
from simsched.graph.report import TRACED
from simsched.graph.taskgraph import TaskGraph
from simsched.parameters import not_negative, positive
from simsched.units import format_time


@dataclass(frozen=True)
class Scale(Matching):
    """Multiply durations.

    Parameters
    ----------
    kinds, names, scopes : str
        Of which tasks; of all when nothing is given.
    factor : float
        By what.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], kinds=["MatMul", "Add"])
    >>> graph.cleaned("scale[kinds=MatMul,factor=0.5]").durations_s.tolist()
    [0.5, 2.0]
    """

    name: ClassVar[str] = "scale"
    factor: float = positive(1.0)

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph with other durations, without the recorded schedule, which no longer fits them."""
        chosen = self.mask(graph)
        with np.errstate(over="ignore"):  # Rejected below, by name.
            seconds = np.where(chosen, graph.durations_s * self.factor, graph.durations_s)
        return _timed(graph, seconds, self, f"durations of {int(chosen.sum())} tasks were multiplied")


@dataclass(frozen=True)
class RemoveOverhead(Cleanup):
    """Take the cost of tracing out of the durations.

    What an operator costs more when traced is the time of the traced step less that of the untraced one, over the
    operators recorded, as the reader found it (`tracing_s_per_operator` of the report), unless it is given. Each task
    loses as much for each operator recorded in it, itself included, shared evenly among tasks where the reader does not
    count them per task; none loses more than it has.

    Parameters
    ----------
    untraced_s : float
        Seconds of the same step without tracing; 0: the report's value.
    each_s : float
        Seconds that tracing costs an operator; 0: from the untraced step.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([5e-6, 3e-6], [(0, 1)])
    >>> graph.cleaned("remove-overhead[each_s=1e-06]").durations_s.round(9).tolist()
    [4e-06, 2e-06]
    """

    name: ClassVar[str] = "remove-overhead"
    untraced_s: float = not_negative(0.0)
    each_s: float = not_negative(0.0)

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the graph with shorter durations.

        Raises
        ------
        GraphError
            If neither the report nor the step give the cost of tracing, it was removed already, or durations are
            unknown.
        """
        if "tracing_removed_s" in graph.report.facts:
            raise GraphError(f"graph {graph.name!r}: the cost of tracing is taken out already; do so once")
        if np.isnan(graph.work_s):
            raise GraphError(f"graph {graph.name!r} has unknown durations, from which nothing can be taken")
        operators = graph.report.facts.get("operators_in_tasks", graph.n_tasks)
        wanted = self._each(graph) * operators
        seconds = levelled(graph.durations_s, wanted)
        removed = graph.work_s - float(seconds.sum())
        sentence = f"{format_time(removed)} of tracing taken out of {graph.n_tasks} tasks"
        if removed < 0.999 * wanted:
            sentence += (
                f"; {format_time(wanted - removed)} more were due, but tasks do not take longer than that"
            )
        cleaned = _timed(graph, seconds, self, sentence)
        notes = cleaned.report.notes
        notes[:] = [note for note in notes if not note.startswith(TRACED)]
        cleaned.report.facts["tracing_removed_s"] = removed
        return cleaned

    def _each(self, graph: TaskGraph) -> float:
        facts = graph.report.facts
        if self.each_s:
            return self.each_s
        if self.untraced_s:
            traced_s = float(
                facts.get("span_s", graph.recorded.makespan_s if graph.recorded else graph.work_s)
            )
            return max(traced_s - self.untraced_s, 0.0) / max(int(facts.get("operators", graph.n_tasks)), 1)
        if "tracing_s_per_operator" in facts:
            return max(float(facts["tracing_s_per_operator"]), 0.0)
        raise GraphError(
            f"graph {graph.name!r}: the report has no untraced step; give untraced_s= (time the same step without "
            "tracing) or each_s="
        )


def levelled(seconds: Seconds, total_s: float) -> Seconds:
    """Return seconds reduced by `total_s` in total, by equal amounts as far as they are long enough.

    Examples
    --------
    >>> levelled(np.array([1.0, 5.0, 9.0]), 7.0)
    array([0., 2., 6.])
    """
    ascending = np.sort(seconds)
    rest = total_s - np.concatenate([[0.0], np.cumsum(ascending)[:-1]])
    shares = rest / np.arange(len(seconds), 0, -1) if len(seconds) else rest[:0]
    # The first task that has its share and more: it and all longer ones lose that.
    enough = np.flatnonzero(ascending >= shares)
    share = max(float(shares[enough[0]]), 0.0) if len(enough) else np.inf
    return np.maximum(seconds - share, 0.0)


def _timed(graph: TaskGraph, seconds: Seconds, step: Cleanup, sentence: str) -> TaskGraph:
    by_kind = _by_kind(graph, seconds)
    finite = graph.seconds_by_kind is None or np.isfinite(graph.seconds_by_kind)
    if np.isinf(seconds).any() or (by_kind is not None and np.isinf(by_kind)[finite].any()):
        raise GraphError(f"{step}: durations beyond all numbers")
    if by_kind is not None:
        seconds = kind_means(by_kind)
    report = step.noted(graph, sentence)
    return replace(
        graph,
        durations_s=seconds,
        seconds_by_kind=by_kind,
        recorded_on=measured_on(graph),
        recording=None,
        report=report,
    )


def _by_kind(graph: TaskGraph, seconds: Seconds) -> Seconds | None:
    """Return the seconds on each kind of core, changed as the means are."""
    if graph.seconds_by_kind is None:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        factors = np.where(graph.durations_s > 0, seconds / graph.durations_s, 1.0)
        return np.where(np.isinf(graph.seconds_by_kind), np.inf, graph.seconds_by_kind * factors[:, None])
