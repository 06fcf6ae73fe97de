"""`Findings`: the replays of a report, by policy, by layout and on fewer and more cores, and their results."""

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
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.notes import Weight, weighed, weight_of
from simsched.policy import Policy, policy as policy_of
from simsched.policy.bound import can_run
from simsched.policy.layout import BEST, Best, Layout
from simsched.replay.advice import advised
from simsched.replay.layouts import chosen_by_replays
from simsched.report.question import PolicyRun, Progress, Question, TimeBudget, by_makespan, replayed
from simsched.schedule import Bounds, Schedule, bounds
from simsched.schedule.one_core import OneCore, one_core
from simsched.study.core_counts import knee
from simsched.study.predict import beyond
from simsched.study.worlds import fastest_shares, undecided

#: Fewer layouts add nothing to the table of policies.
LEAST_LAYOUTS = 3


def _by_layout(question: Question, runs: list[PolicyRun], progress: Progress) -> pd.DataFrame | None:
    """Return the layouts of the first run whose policy takes several numbers of executors, as `tune` does.

    Of equally short ones the layout of the run is first. All are replayed with the first seed.

    Parameters
    ----------
    question : Question
    runs : list of PolicyRun
        The shortest first; none failed.
    progress : callable
    """
    from simsched.study import tune

    for run in runs:
        layouts = dict.fromkeys([*_of(run), *question.layouts_of(run.policy)])
        if len(layouts) >= LEAST_LAYOUTS and len({layout.executors for layout in layouts}) > 1:
            found = tune(
                question.graph, question.machine, run.policy, layouts, question.costs, question.runtime,
                question.engine, question.seed, samples=1, progress=progress,
            )  # fmt: skip
            found["policy"] = run.name
            return found
    return None


def _of(run: PolicyRun) -> list[Layout]:
    written = run.require_schedule().layout
    return [Layout.parse(written)] if written else []


def _with_shortest(
    question: Question, runs: list[PolicyRun], layouts: pd.DataFrame | None, progress: Progress
) -> list[PolicyRun]:
    """Return the runs, that of the tuned policy with its shortest layout, unless a layout was given.

    The few replays that find a best layout may miss one that is a little shorter, which all layouts have.
    """
    if layouts is None or question.layout is not None:
        return runs
    first, done = layouts.iloc[0], [run.name if run.schedule else "" for run in runs]
    place = done.index(first["policy"])
    used = runs[place]
    if first["makespan_s"] >= used.require_schedule().makespan_s:
        return runs
    again = replayed(question, used.policy, Layout.parse(first["layout"]), progress)
    # The shortest with the first seed need not be the shortest in the mean of all.
    if again.interval.middle >= used.interval.middle:
        return runs
    return [*runs[:place], _chosen(again, len(layouts)), *runs[place + 1 :]]


def _chosen(run: PolicyRun, layouts: int) -> PolicyRun:
    """Return a run with the note that replays chose its layout."""
    why = f"the shortest of the replays of {layouts} layouts"
    return replace(run, schedule=chosen_by_replays(run.require_schedule(), why))


def _by_core_count(
    question: Question, best: PolicyRun, progress: Progress
) -> list[tuple[Question, PolicyRun]]:
    """Return the question of each core count and the best policy's run there, with its best layout; at its own, `best`.

    Where a layout was given, each count has as many of its executors in proportion, at least one.
    """
    own, runs = question.machine.n_cores, []
    for count in question.core_counts:
        machine = question.machine if count == own else question.machine.varied({"cores": count})
        if (layout := _scaled(best.policy.suited(question.layout), machine, own)) is None:
            continue
        of_count = replace(question, machine=machine)
        run = best if count == own else replayed(of_count, best.policy, layout, progress)
        runs.append((of_count, run))
    return runs


def _in_worlds(
    runs: list[tuple[Question, PolicyRun]], progress: Progress
) -> list[tuple[Question, PolicyRun]]:
    """Return the same, all in as many worlds; without these, where the best run has none."""
    if not any(run.worlds_s for _, run in runs):
        return runs
    return [(of, run if run.worlds_s else of.with_worlds([run], progress)[0]) for of, run in runs]


def _scaling(runs: list[tuple[Question, PolicyRun]]) -> pd.DataFrame | None:
    """Return a row for each core count, or None where there is one only.

    Returns
    -------
    DataFrame or None
        cores, layout, layout_by, makespan_s, low_s, high_s, critical_path_s, area_s, bound_s, speedup, efficiency,
        knee, extrapolated.
    """
    rows = [_row(of_count, run) for of_count, run in runs]
    return _with_knee(pd.DataFrame(rows)) if len(rows) > 1 else None


def _scaled(given: Layout | None, machine: Machine, own: int) -> Layout | Best | None:
    """Return a given layout with executors in proportion to the cores, None if it has no room; or "best"."""
    if given is None or machine.n_cores == own:
        return given or BEST
    scaled = Layout(max(given.executors * machine.n_cores // own, 1), given.width)
    return scaled if scaled.executors > 1 or scaled.width <= machine.n_threads else None


def _row(question: Question, run: PolicyRun) -> dict[str, object]:
    machine = question.machine
    given = question.graph, machine, question.costs, question.runtime
    limits, mean = bounds(*given), run.may_take
    one = one_core(*given)
    return {
        "cores": machine.n_cores,
        "layout": run.layout,
        "layout_by": run.layout_by,
        "makespan_s": mean.middle,
        "low_s": mean.low,
        "high_s": mean.high,
        "samples": max(len(run.worlds_s), 1),
        "critical_path_s": limits.critical_path_s,
        "area_s": limits.area_s,
        "bound_s": limits.bound_s,
        "speedup": one.speedup(mean.middle),
        "efficiency": one.efficiency(mean.middle),
        "extrapolated": bool(beyond(run.require_schedule())),
    }


def _with_knee(frame: pd.DataFrame) -> pd.DataFrame:
    place = knee(frame["cores"], frame["speedup"]) if frame["makespan_s"].any() else None
    return frame.assign(knee=[place is not None and row == place for row in frame.index])


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
        layouts = _tried("layouts", left_out, lambda: _by_layout(question, by_makespan(runs), patient()))
        # Everything else concerns the best schedule, so its layout is found first.
        runs = (
            _tried(
                "the shortest layout", left_out, lambda: _with_shortest(question, runs, layouts, patient())
            )
            or runs
        )
        runs = _tried("intervals", left_out, lambda: question.with_worlds(runs, patient())) or runs
        chosen = by_makespan(runs)[0]
        sizes = _tried("core counts", left_out, lambda: _by_core_count(question, chosen, patient())) or []
        sizes = _tried("intervals of core counts", left_out, lambda: _in_worlds(sizes, patient())) or sizes
        return cls(
            question=question,
            runs=runs,
            sequential=_sequential(question, runs, patient()),
            limits=bounds(question.graph, question.machine, question.costs, question.runtime),
            helps=_tried("what would help", left_out, lambda: _helps(question, chosen, patient())),
            scaling=_scaling(sizes),
            layouts=layouts,
            recorded=_tried(
                "the recorded run",
                left_out,
                lambda: None if question.graph.recorded is None else replay_recorded(question.graph),
            ),
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
    def uncertain(self) -> bool:
        """Whether makespans have intervals that are more than a number."""
        return any(run.may_take.low < run.may_take.high for run in self.done)

    @property
    def fastest_share(self) -> Seconds:
        """Share of sampled worlds in which each run of `done` is the fastest; NaN without samples."""
        return fastest_shares([run.worlds_s or [run.interval.middle] for run in self.done])

    @property
    def undecided(self) -> str:
        """A sentence where another policy than the best may well be the fastest; else nothing."""
        frame = pd.DataFrame(
            {
                "policy": [run.name for run in self.done],
                "makespan_s": [run.interval.middle for run in self.done],
                "fastest_share": self.fastest_share,
            }
        )
        doubts = (note for note in undecided(frame, "policy") if weight_of(note) is Weight.DOUBT)
        return "".join(f"{note[0].upper()}{note[1:]}." for note in doubts)

    @property
    def seeded(self) -> bool:
        """Whether seeds make a difference to any run."""
        return any(run.seeded for run in self.runs)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes of the question, the import and all replays, each once, the weightiest first."""
        asked = self.question
        replayed = (run.require_schedule().notes for run in self.done)
        return weighed(asked.notes, asked.graph.report.notes, *replayed)

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
        return PolicyRun(policy, None, np.empty(0), _error_text(error), called=question.name_of(policy))


def _sequential(question: Question, runs: list[PolicyRun], progress: Progress) -> PolicyRun:
    ran = (run for run in runs if run.name == BASELINE and run.schedule is not None)
    if not can_run(policy_of(BASELINE), question.graph, question.machine):
        return next(run for run in runs if run.schedule is not None)
    return next(ran, None) or replayed(question, policy_of(BASELINE), BEST, progress)


def _helps(question: Question, best: PolicyRun, progress: Progress) -> pd.DataFrame:
    tasks = question.graph.n_tasks
    why = explain(best.require_schedule())
    return why.what_if(replays=question.replays, progress=lambda count: progress(count * tasks))


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
