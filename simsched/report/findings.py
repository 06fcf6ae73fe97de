"""`Findings`: the replays of a report, and their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pandas as pd

from simsched.defaults import BASELINE
from simsched.errors import SimschedError
from simsched.execute import RecordedReplay, replay_recorded
from simsched.explain import Explanation, explain
from simsched.notes import weighed
from simsched.policy import Policy, policy as policy_of
from simsched.policy.layout import BEST
from simsched.replay.advice import advised
from simsched.report.question import Question
from simsched.report.run import PolicyRun, Progress, TimeBudget, by_makespan, replayed
from simsched.report.sizes import by_core_count, by_layout, with_shortest
from simsched.schedule import Bounds, Schedule, bounds
from simsched.schedule.bounds import OneCore, one_core

Found = TypeVar("Found")


@dataclass(frozen=True, eq=False)
class Findings:
    """Results of a report, all from replays and their schedules.

    Parameters
    ----------
    question : Question
    runs : list of PolicyRun
        One per policy, in the order of the question.
    sequential : PolicyRun
        The baseline.
    limits : Bounds
        Lower bounds on the makespan.
    helps : DataFrame or None
        What would help most under the best policy; see `Explanation.what_if`.
    scaling : DataFrame or None
        The best policy by core count; see `simsched.predict`.
    layouts : DataFrame or None
        Of `layouts_policy`; see `simsched.tune`.
    recorded : RecordedReplay or None
        The recorded run and its replays, if there is one.
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
    runs: list[PolicyRun]
    sequential: PolicyRun
    limits: Bounds
    helps: pd.DataFrame | None
    scaling: pd.DataFrame | None
    layouts: pd.DataFrame | None
    recorded: RecordedReplay | None
    left_out: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, question: Question, progress: Progress | None = None) -> Findings:
        """Run all replays of a report.

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
            return TimeBudget(question.patience_s, progress)

        errors: list[Exception] = []
        runs = [_run(question, policy, patient(), errors) for policy in question.policies]
        if len(errors) == len(runs):
            raise errors[0]
        left_out: list[str] = []
        layouts = _tried("layouts", left_out, lambda: by_layout(question, by_makespan(runs), patient()))
        # Everything else concerns the best schedule, so its layout is found first.
        runs = (
            _tried("the shortest layout", left_out, lambda: with_shortest(question, runs, layouts, patient()))
            or runs
        )
        chosen = by_makespan(runs)[0]
        return cls(
            question=question,
            runs=runs,
            sequential=_sequential(question, runs, patient()),
            limits=bounds(question.graph, question.machine, question.costs, question.runtime),
            helps=_tried("what would help", left_out, lambda: _helps(question, chosen, patient())),
            scaling=_tried("core counts", left_out, lambda: by_core_count(question, chosen, patient())),
            layouts=layouts,
            recorded=_tried("the recorded run", left_out, lambda: _recorded(question)),
            left_out=left_out,
        )

    @property
    def done(self) -> list[PolicyRun]:
        """Runs that did not fail, those of the shortest mean makespan first, of equals the first named."""
        return by_makespan(self.runs)

    @property
    def best(self) -> PolicyRun:
        """The run of the shortest mean makespan."""
        return self.done[0]

    @property
    def schedule(self) -> Schedule:
        """The schedule of the best run."""
        return self.best.require_schedule()

    @cached_property
    def charted(self) -> dict[str, Schedule]:
        """Schedules of the chart by name: the best and another, the baseline only if alone; or recorded and best."""
        if self.recorded is not None:
            return {"recorded": self.recorded.recorded, self.best.name: self.schedule}
        others = [run for run in self.runs if run.schedule is not None and run is not self.best]
        others.sort(key=lambda run: run.name == BASELINE)
        return {run.name: run.require_schedule() for run in (self.best, *others[:1])}

    @cached_property
    def why(self) -> Explanation:
        """Explanation of the best schedule."""
        return explain(self.schedule)

    @property
    def seeded(self) -> bool:
        """Whether seeds make a difference to any run."""
        return any(run.seeded for run in self.runs)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes of the import and of all replays, each once, the weightiest first."""
        return weighed(self.question.graph.report.notes, *(run.require_schedule().notes for run in self.done))

    @cached_property
    def one_core(self) -> OneCore:
        """The core that speed-ups are over."""
        question = self.question
        return one_core(question.graph, question.machine, question.costs, question.runtime)


def _run(question: Question, policy: Policy, progress: Progress, errors: list[Exception]) -> PolicyRun:
    try:
        run = replayed(question, policy, policy.suited_or_best(question.layout), progress)
        return replace(run, schedule=advised(run.require_schedule(), progress))
    except Exception as error:
        errors.append(error)
        return PolicyRun(policy, None, np.empty(0), _error_text(error))


def _sequential(question: Question, runs: list[PolicyRun], progress: Progress) -> PolicyRun:
    ran = (run for run in runs if run.name == BASELINE and run.schedule is not None)
    return next(ran, None) or replayed(question, policy_of(BASELINE), BEST, progress)


def _helps(question: Question, best: PolicyRun, progress: Progress) -> pd.DataFrame:
    tasks = question.graph.n_tasks
    why = explain(best.require_schedule())
    return why.what_if(replays=question.replays, progress=lambda count: progress(count * tasks))


def _recorded(question: Question) -> RecordedReplay | None:
    return None if question.graph.recorded is None else replay_recorded(question.graph)


def _tried(what: str, left_out: list[str], find: Callable[[], Found]) -> Found | None:
    """Return what is found; a part that fails leaves the others intact."""
    try:
        return find()
    except Exception as error:
        left_out.append(f"{what}: {_error_text(error)}")
        return None


def _error_text(error: Exception) -> str:
    """Return the text of an error, with its class where another package's policy raised it."""
    return str(error) if isinstance(error, SimschedError) else f"{type(error).__name__}: {error}"
