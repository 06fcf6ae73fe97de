"""`Cleanup`, the base of all clean-up steps, and `cleanup`, which makes one from its spec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simsched.errors import SpecError
from simsched.graph.recording import THREADS, recorded_threads
from simsched.graph.report import TRACED_WORK, ImportReport
from simsched.parameters import Parameters
from simsched.plugins import named
from simsched.spec import made, parse

if TYPE_CHECKING:
    from simsched.graph.taskgraph import TaskGraph

#: Facts that a reader measured in the file and that no clean-up changes; all others describe the former graph.
OF_THE_FILE = (
    "span_s",
    "untraced_step_s",
    "untraced_least_s",
    "tracing_s_per_operator",
    "operators",
    "operators_in_tasks",
    "tracing_removed_s",
    TRACED_WORK,
)


@dataclass(frozen=True)
class Cleanup(Parameters):
    """Base of all clean-up steps: a frozen dataclass with `apply`; the given graph stays unchanged.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 4.0], [(0, 1), (1, 2)])
    >>> graph.cleaned("fuse-chains", "scale[factor=0.5]").durations_s
    array([3.5])
    """

    def apply(self, graph: TaskGraph) -> TaskGraph:
        """Return the changed graph.

        Raises
        ------
        GraphError
            If the graph lacks data that the step needs.
        """
        raise SpecError(f"clean-up step {self} has no apply(); write one that returns a TaskGraph")

    def noted(self, graph: TaskGraph, sentence: str) -> ImportReport:
        """Return the report of a graph, for the graph derived from it, with an additional sentence."""
        facts = {key: value for key, value in graph.report.facts.items() if key in OF_THE_FILE}
        if (threads := recorded_threads(graph)) is not None:
            facts[THREADS] = threads
        return replace(graph.report, facts=facts, notes=[*graph.report.notes, f"{self}: {sentence}"])


def multiplied(report: ImportReport, times: float) -> ImportReport:
    """Return a report of so many times the tasks: all counts change alike."""
    if "operators_in_tasks" in report.facts:
        report.facts["operators_in_tasks"] *= times
    return report


def cleanup(step: str | Cleanup) -> Cleanup:
    """Return a clean-up step from its spec, `drop[kinds=Identity]`; a `Cleanup` is returned unchanged.

    Parameters
    ----------
    step : str or Cleanup

    Returns
    -------
    Cleanup

    Raises
    ------
    SpecError
        If there is no such step, or it has no such parameter or value.

    Examples
    --------
    >>> from simsched.graph.cleanup import cleanup
    >>> cleanup("drop[kinds=Identity]").kinds
    'Identity'
    """
    if isinstance(step, Cleanup):
        return step
    if not isinstance(step, str):
        raise SpecError(f"{step!r:.60} is not a clean-up step; give a name, as in fuse-chains, or a Cleanup")
    spec = parse(step)
    cls: type[Any] = named("cleanups", spec.name)
    found: Cleanup = made(cls, "clean-up step", spec)
    return found
