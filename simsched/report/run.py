"""`PolicyRun`: the result of a policy, the replays of its seeds, and how long a part of a report may take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import process_time

import numpy as np

from simsched.errors import SimschedError
from simsched.graph.taskgraph import Seconds
from simsched.intervals import Interval, typical
from simsched.policy import Layout, Policy
from simsched.policy.layout import Best
from simsched.progress import check_progress
from simsched.report.question import Question
from simsched.schedule import Schedule

Progress = Callable[[int], object]


class TimeBudget:
    """Progress of one part of a report, which ends once its time budget is spent.

    Parameters
    ----------
    seconds : float
        Of CPU time from now on, which does not depend on other work, nor on the number of cores.
    progress : callable or None
        Called with the same counts.
    """

    def __init__(self, seconds: float, progress: Progress | None) -> None:
        self._seconds, self._report = seconds, check_progress(progress)
        self._until_s = process_time() + seconds

    def __call__(self, count: int) -> None:
        """Report progress.

        Raises
        ------
        SimschedError
            If the time is over.
        """
        self._report(count)
        if process_time() > self._until_s:
            raise SimschedError(
                f"its replays take more than {self._seconds:g} s of CPU time; patience_s (--patience) allows more"
            )


@dataclass(frozen=True, eq=False)
class PolicyRun:
    """The result of a policy.

    Parameters
    ----------
    policy : Policy
    schedule : Schedule or None
        Of the first seed; None where the replay failed.
    makespans_s : float64 array, shape (seeds,)
        Of each seed; a single one where seeds make no difference.
    error : str
        Why it failed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> run = ss.report(graph, "generic[cores=2]", ["fifo"]).findings.best
    >>> run.name, run.seeded, run.require_schedule().makespan_s
    ('fifo', False, 4.0)
    """

    policy: Policy
    schedule: Schedule | None
    makespans_s: Seconds
    error: str = ""

    @property
    def name(self) -> str:
        """The policy as text."""
        return str(self.policy)

    @cached_property
    def interval(self) -> Interval:
        """Geometric mean of the makespans in seconds and its 95 % interval, NaN for a single seed."""
        return typical(self.makespans_s)

    @property
    def layout(self) -> str:
        """Its layout, or a description of its own widths."""
        schedule = self.require_schedule()
        fitted = "" if schedule.policy == self.name else schedule.policy.partition("[")[2].removesuffix("]")
        return schedule.layout or fitted.removeprefix("widths=") or "its own widths"

    @property
    def layout_by(self) -> str:
        """Origin of its layout: "given", "estimate" or "replays"; "-" where the policy decides per task."""
        inputs = self.require_schedule().inputs
        return (inputs.layout_by if inputs else "") or "-"

    @property
    def layout_why(self) -> str:
        """Origin of its layout, in words."""
        inputs = self.require_schedule().inputs
        return (inputs.layout_why if inputs else "") or "the policy decides the widths task by task"

    @property
    def seeded(self) -> bool:
        """Whether seeds make a difference."""
        return len(self.makespans_s) > 1

    def require_schedule(self) -> Schedule:
        """Return the schedule.

        Raises
        ------
        SimschedError
            If the replay failed.
        """
        if self.schedule is None:
            raise SimschedError(f"policy {self.name} has no schedule: {self.error}")
        return self.schedule


def replayed(question: Question, policy: Policy, layout: Layout | Best, progress: Progress) -> PolicyRun:
    """Return the run of a policy on all seeds of a question; the first seed finds the layout of all.

    Parameters
    ----------
    question : Question
    policy : Policy
    layout : Layout or "best"
    progress : callable
        Called with the number of tasks replayed since its last call.

    Raises
    ------
    SimschedError
        If it cannot be replayed.
    """
    first = question.replay(policy, layout, progress=progress)
    makespans, rest = [first.makespan_s], range(question.seed + 1, question.seed + question.seeds)
    found = first.inputs
    for seed in rest:
        again = question.replay(
            found.policy if found else policy, found.layout if found else layout, seed, progress
        )
        # Seeds that make no difference once never do: most policies use no random numbers.
        if seed == rest[0] and _alike(first, again):
            break
        makespans.append(again.makespan_s)
    return PolicyRun(policy, first, np.array(makespans))


def _alike(one: Schedule, other: Schedule) -> bool:
    return bool(np.array_equal(one.start_s, other.start_s) and np.array_equal(one.finish_s, other.finish_s))


def by_makespan(runs: list[PolicyRun]) -> list[PolicyRun]:
    """Return the runs that did not fail, those of the shortest mean makespan first, of equals the first."""
    return sorted((run for run in runs if run.schedule is not None), key=lambda run: run.interval.middle)
