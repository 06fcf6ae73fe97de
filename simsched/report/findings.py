"""`Findings`: the replays of a report, and what was found out from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from simsched.errors import SimschedError
from simsched.intervals import Interval
from simsched.policy import Policy
from simsched.policy import policy as policy_of
from simsched.report.patience import Patience, Progress
from simsched.schedule import Bounds, Explanation, Schedule, bounds, explain
from simsched.schedule.bounds import on_one_core_s
from simsched.sweep.compare import BASELINE
from simsched.sweep.statistics import typical

if TYPE_CHECKING:
    import pandas as pd

    from simsched.execute import RecordedReplay
    from simsched.graph.taskgraph import Seconds
    from simsched.report.question import Question

Found = TypeVar("Found")

#: Fewer layouts tell no more than the table of policies does.
LEAST_LAYOUTS = 3


@dataclass(frozen=True, eq=False)
class Run:
    """What came of a policy.

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
        """Geometric mean of the makespans in seconds and its 95 % interval, whose ends are NaN for a single seed."""
        return typical(self.makespans_s)

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


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found out; all of it comes from replays and from what schedules tell.

    Parameters
    ----------
    question : Question
    runs : list of Run
        One a policy, in the order of the question.
    sequential : Schedule
        What speed-ups are measured against.
    limits : Bounds
        Lower bounds on the makespan.
    helps : DataFrame or None
        What would help most under the best policy; see `Explanation.what_if`.
    scaling : DataFrame or None
        The best policy by core count; see `simsched.predict`.
    layouts : DataFrame or None
        Of `layouts_policy`; see `simsched.tune`.
    recorded : RecordedReplay or None
        The recorded run beside its replays, where there is one.
    left_out : list of str
        What could not be found out, and why.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], name="three")
    >>> found = ss.report(graph, "generic[cores=2]", ["sequential", "fifo"]).findings
    >>> [run.name for run in found.runs], [run.makespans_s.tolist() for run in found.runs]
    (['sequential', 'fifo'], [[6.0], [4.0]])
    >>> found.best.name, found.limits.bound_s
    ('fifo', 4.0)
    """

    question: Question
    runs: list[Run]
    sequential: Schedule
    limits: Bounds
    helps: pd.DataFrame | None
    scaling: pd.DataFrame | None
    layouts: pd.DataFrame | None
    recorded: RecordedReplay | None
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, question: Question, progress: Progress | None = None) -> Findings:
        """Replay all that a report needs.

        Parameters
        ----------
        question : Question
        progress : callable, optional
            Called now and then with the number of tasks replayed since its last call.

        Raises
        ------
        SimschedError
            If no policy can be replayed.
        """

        def patient() -> Progress:
            return Patience(question.patience_s, progress)

        errors: list[Exception] = []
        runs = [_run(question, policy, patient(), errors) for policy in question.policies]
        if len(errors) == len(runs):
            raise errors[0]
        left_out: list[str] = []
        chosen = best_of(runs)
        return cls(
            question=question,
            runs=runs,
            sequential=_sequential(question, runs),
            limits=bounds(question.graph, question.machine, question.costs, question.runtime),
            helps=_tried("what would help", left_out, lambda: _helps(question, chosen, patient())),
            scaling=_tried("core counts", left_out, lambda: _scaling(question, chosen, patient())),
            layouts=_tried("layouts", left_out, lambda: _layouts(question, runs, patient())),
            recorded=_tried("the recorded run", left_out, lambda: _recorded(question)),
            left_out=left_out,
        )

    @property
    def done(self) -> list[Run]:
        """Runs that did not fail, those of the shortest mean makespan first, of equal ones that named first."""
        return _by_makespan(self.runs)

    @property
    def best(self) -> Run:
        """The run of the shortest mean makespan."""
        return self.done[0]

    @property
    def schedule(self) -> Schedule:
        """The schedule of the best run."""
        return self.best.require_schedule()

    @property
    def other(self) -> Schedule | None:
        """What stands beside the best: the recorded run, or the first other policy, the baseline only if alone."""
        if self.recorded is not None:
            return self.recorded.recorded
        others = [run for run in self.runs if run.schedule is not None and run is not self.best]
        others.sort(key=lambda run: run.name == BASELINE)
        return others[0].schedule if others else None

    @cached_property
    def why(self) -> Explanation:
        """Why the best schedule is as long as it is."""
        return explain(self.schedule)

    @property
    def seeded(self) -> bool:
        """Whether seeds make a difference to any run."""
        return any(run.seeded for run in self.runs)

    def efficiency(self, makespan_s: float) -> float:
        """Return the speed-up of a makespan over one core that runs every task alone, over the hardware threads."""
        return self.one_core_s / makespan_s / self.question.machine.n_threads if makespan_s else 1.0

    @cached_property
    def one_core_s(self) -> float:
        """Seconds of all tasks one after another, each alone on one core."""
        question = self.question
        return on_one_core_s(question.graph, question.machine, question.costs, question.runtime)


def best_of(runs: list[Run]) -> Run:
    """Return the run of the shortest mean makespan."""
    return _by_makespan(runs)[0]


def _by_makespan(runs: list[Run]) -> list[Run]:
    return sorted((run for run in runs if run.schedule is not None), key=lambda run: run.interval.middle)


def _run(question: Question, policy: Policy, progress: Progress, errors: list[Exception]) -> Run:
    try:
        first = question.replay(policy, progress=progress)
        makespans = [first.makespan_s]
        rest = range(question.seed + 1, question.seed + question.seeds)
        for seed in rest:
            again = question.replay(policy, seed, progress)
            # Seeds that change nothing once change nothing ever: most policies draw nothing.
            if seed == rest[0] and _alike(first, again):
                break
            makespans.append(again.makespan_s)
    except Exception as error:
        errors.append(error)
        return Run(policy, None, np.empty(0), _told(error))
    return Run(policy, first, np.array(makespans))


def _alike(one: Schedule, other: Schedule) -> bool:
    return bool(np.array_equal(one.start_s, other.start_s) and np.array_equal(one.finish_s, other.finish_s))


def _sequential(question: Question, runs: list[Run]) -> Schedule:
    ran = (run.schedule for run in runs if run.name == BASELINE and run.schedule is not None)
    return next(ran, None) or question.replay(policy_of(BASELINE))


def _helps(question: Question, best: Run, progress: Progress) -> pd.DataFrame:
    tasks = question.graph.n_tasks
    why = explain(best.require_schedule())
    return why.what_if(replays=question.replays, progress=lambda count: progress(count * tasks))


def _scaling(question: Question, best: Run, progress: Progress) -> pd.DataFrame | None:
    from simsched.sweep import predict

    layout = best.policy.suited(question.layout)
    counts = [count for count in question.core_counts if layout is None or count >= layout.width]
    if len(counts) < 2:
        return None
    return predict(
        question.graph, question.machine, best.policy, counts, question.costs, question.runtime,
        question.engine, question.seed, width=None if layout is None else layout.width,
        samples=len(best.makespans_s), progress=progress,
    )  # fmt: skip


def _layouts(question: Question, runs: list[Run], progress: Progress) -> pd.DataFrame | None:
    """Return the layouts of the best policy that takes several numbers of executors."""
    from simsched.sweep import tune

    for run in _by_makespan(runs):
        layouts = question.layouts_of(run.policy)
        if len(layouts) >= LEAST_LAYOUTS and len({layout.executors for layout in layouts}) > 1:
            return tune(
                question.graph, question.machine, run.policy, layouts, question.costs, question.runtime,
                question.engine, question.seed, progress=progress,
            )  # fmt: skip
    return None


def _recorded(question: Question) -> RecordedReplay | None:
    from simsched.execute import replay_recorded

    return None if question.graph.recorded is None else replay_recorded(question.graph)


def _tried(what: str, left_out: list[str], find: Callable[[], Found]) -> Found | None:
    """Return what is found; one part that fails takes no other with it."""
    try:
        return find()
    except Exception as error:
        left_out.append(f"{what}: {_told(error)}")
        return None


def _told(error: Exception) -> str:
    """Return what is said of an error: policies of others raise whatever they like, and then its kind belongs to it."""
    return str(error) if isinstance(error, SimschedError) else f"{type(error).__name__}: {error}"
