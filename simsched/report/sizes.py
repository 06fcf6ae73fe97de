"""The best policy by layout, and on fewer and more cores."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from simsched.machine import Machine
from simsched.policy.layout import BEST, Best, Layout
from simsched.report.question import Question
from simsched.report.run import PolicyRun, Progress, replayed
from simsched.schedule import bounds
from simsched.schedule.bounds import one_core
from simsched.study.core_counts import knee
from simsched.study.predict import beyond

#: Fewer layouts add nothing to the table of policies.
LEAST_LAYOUTS = 3


def by_layout(question: Question, runs: list[PolicyRun], progress: Progress) -> pd.DataFrame | None:
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
            return tune(
                question.graph, question.machine, run.policy, layouts, question.costs, question.runtime,
                question.engine, question.seed, progress=progress,
            )  # fmt: skip
    return None


def _of(run: PolicyRun) -> list[Layout]:
    written = run.require_schedule().layout
    return [Layout.parse(written)] if written else []


def with_shortest(
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
    schedule = run.require_schedule()
    assert schedule.inputs is not None  # noqa: S101 - narrows the type: it was simulated
    why = f"the shortest of the replays of {layouts} layouts"
    found = replace(schedule, inputs=replace(schedule.inputs, layout_by="replays", layout_why=why))
    return replace(run, schedule=found)


def by_core_count(question: Question, best: PolicyRun, progress: Progress) -> pd.DataFrame | None:
    """Return the best policy on other core counts, each with its best layout; on the machine's own, `best`.

    Parameters
    ----------
    question : Question
    best : PolicyRun
    progress : callable

    Returns
    -------
    DataFrame or None
        One row per core count: cores, layout, layout_by, makespan_s, low_s, high_s, critical_path_s, area_s, bound_s,
        speedup, efficiency, knee, extrapolated; None where there is one core count only. Where a layout was given,
        each count has as many of its executors in proportion, at least one.
    """
    own, rows = question.machine.n_cores, []
    for count in question.core_counts:
        machine = question.machine if count == own else question.machine.varied({"cores": count})
        layout = _scaled(best.policy.suited(question.layout), machine, own)
        if layout is None:
            continue
        run = (
            best
            if count == own
            else replayed(replace(question, machine=machine), best.policy, layout, progress)
        )
        rows.append(_row(question, machine, run))
    return _with_knee(pd.DataFrame(rows)) if len(rows) > 1 else None


def _scaled(given: Layout | None, machine: Machine, own: int) -> Layout | Best | None:
    """Return a given layout with executors in proportion to the cores, None if it has no room; or "best"."""
    if given is None or machine.n_cores == own:
        return given or BEST
    scaled = Layout(max(given.executors * machine.n_cores // own, 1), given.width)
    return scaled if scaled.executors > 1 or scaled.width <= machine.n_threads else None


def _row(question: Question, machine: Machine, run: PolicyRun) -> dict[str, object]:
    given = question.graph, machine, question.costs, question.runtime
    limits, mean = bounds(*given), run.interval
    one = one_core(*given)
    return {
        "cores": machine.n_cores,
        "layout": run.layout,
        "layout_by": run.layout_by,
        "makespan_s": mean.middle,
        "low_s": mean.low,
        "high_s": mean.high,
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
