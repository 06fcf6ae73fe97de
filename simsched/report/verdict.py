"""What a report comes to, in a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.plots.canvas import plain
from simsched.schedule.explanation.core_time import labelled
from simsched.sweep.compare import BASELINE
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.report.findings import Findings, Run

#: Makespans that differ by less are called the same.
SAME = 0.005
#: Of what a machine's own cores give, fewer cores that give almost as much lose at most this share.
ALMOST = 0.05
LONGEST_NAME = 60


def headline(found: Findings) -> str:
    """Return which policy is best, in a sentence."""
    question, best = found.question, found.best
    graph = plain(question.graph.name, LONGEST_NAME)
    if not question.graph.n_tasks:
        return f"{graph} has no tasks: there is nothing to schedule."
    cores = question.machine.n_cores
    on = f"{question.machine.spec} ({cores} {'core' if cores == 1 else 'cores'})"
    takes = f"{graph} takes {format_time(best.interval.middle)} on {on} under {run_name(best)}"
    if len(found.done) == 1:
        return f"{takes}."
    return f"{takes}, the shortest of {len(found.done)} policies{_over_others(found)}."


def run_name(run: Run) -> str:
    """Return a policy with the layout that it ran with."""
    layout = run.require_schedule().layout
    return run.name + (f", {layout}" if layout else "")


def _over_others(found: Findings) -> str:
    best, second = found.done[:2]
    if not best.interval.middle:
        return ""
    ratio = second.interval.middle / best.interval.middle
    longer = f"{ratio - 1:.1%} longer" if ratio < 2 else f"{ratio:.3g} times as long"
    told = f"; {second.name} takes {longer}" if ratio >= 1 + SAME else f", level with {second.name}"
    if overlapping(best, second):
        told += ", which the seeds do not tell apart"
    if BASELINE in {best.name, second.name}:
        return told
    return f"{told}, {BASELINE} {found.sequential.makespan_s / best.interval.middle:.3g} times as long"


def overlapping(one: Run, other: Run) -> bool:
    """Tell whether the intervals of two runs overlap; those of one seed have none."""
    a, b = one.interval, other.interval
    return bool(one.seeded and other.seeded and a.low <= b.high and b.low <= a.high)


def sentences(found: Findings) -> list[str]:
    """Return what else a reader should know first; nothing for a graph without tasks or time."""
    if not found.schedule.makespan_s:
        return []
    parts = [
        _bound(found),
        _core_time(found),
        _helps(found),
        _scaling(found),
        _layouts(found),
        _recorded(found),
    ]
    return [*filter(None, parts), *_failed(found)]


def _bound(found: Findings) -> str:
    limits, mean_s = found.limits, found.best.interval.middle
    by = "the critical path" if limits.critical_path_s >= limits.area_s else "the work over all cores"
    gap = mean_s / limits.bound_s - 1 if limits.bound_s else 0.0
    if not limits.bound_s:
        return ""
    return (
        f"No policy takes less than {format_time(limits.bound_s)}, which {by} sets; the best one is {gap:.1%} above "
        f"it, with an efficiency of {found.efficiency(mean_s):.1%} (speed-up over one core, over all cores)."
    )


def _core_time(found: Findings) -> str:
    frame = found.why.core_time
    work = float(frame.loc[frame["cause"] == "work", "share"].sum())
    rest = frame[(frame["cause"] != "work") & (frame["share"] > SAME)].sort_values("share")
    if rest.empty:
        return f"Of the cores' time {work:.1%} is work."
    most = rest.iloc[-1]
    what = labelled(str(most["group"]), str(most["cause"]))
    return f"Of the cores' time {work:.1%} is work; most of the rest is {what} ({float(most['share']):.1%})."


def _helps(found: Findings) -> str:
    if found.helps is None or found.helps.empty:
        return ""
    tasks = found.helps[found.helps["gain"] > 0]
    if tasks.empty:
        return "No task or kind that was tried makes it shorter on its own."
    first = tasks.iloc[0]
    name, speedup = plain(str(first["name"]), LONGEST_NAME), float(first["speedup"])
    return f"What would help most: {name} {speedup:g} times as fast, which saves {float(first['gain']):.1%}."


def _scaling(found: Findings) -> str:
    frame, own = found.scaling, found.question.machine.n_cores
    if frame is None or not (frame["cores"] == own).any():
        return ""
    times = frame.set_index("cores")["makespan_s"]
    enough = int(times.index[times <= (1 + ALMOST) * times[own]].min())
    told = [f"{enough} take at most {ALMOST:.0%} longer"] if enough < own else []
    most = int(times.index.max())
    if most > own:
        saved = 1 - times[most] / times[own]
        told.append(f"{most} would save {saved:.1%}" if saved >= SAME else f"{most} would save nothing")
    return f"Fewer or more cores: {'; '.join(told)}." if told else ""


def _layouts(found: Findings) -> str:
    frame = found.layouts
    if frame is None or not len(frame) or not frame["makespan_s"].min() > 0:
        return ""
    first = frame.iloc[0]
    shortest = f"{first['layout']} is the shortest, {format_time(first['makespan_s'])}"
    told = f"Of {len(frame)} layouts of {first['policy']}, {shortest}"
    used = next((run for run in found.done if run.name == first["policy"]), None)
    if used is None or used.require_schedule().layout == first["layout"]:
        return f"{told}: the one that was used."
    if first["makespan_s"] < (1 - SAME) * found.best.interval.middle and used is not found.best:
        return f"{told}: less than the best policy took."
    # The layout that was used is not always one of those that are tried.
    more = first["makespan_s"] / used.interval.middle - 1
    than = "as long as" if abs(more) < SAME else f"{abs(more):.1%} {'more' if more > 0 else 'less'} than"
    return f"{told}: {than} with {used.require_schedule().layout}."


def _recorded(found: Findings) -> str:
    run = found.recorded
    if run is None or not run.recorded.makespan_s:
        return ""
    faster = run.recorded.makespan_s / found.best.interval.middle
    return (
        f"The recorded run took {format_time(run.recorded.makespan_s)}, {faster:.3g} times what the best policy "
        f"takes here. On its own lanes, with the overheads that its gaps tell, it is off by "
        f"{abs(run.calibrated_error):.1%}."
    )


def _failed(found: Findings) -> list[str]:
    failed = [run.name for run in found.runs if run.schedule is None]
    return [f"Not replayed: {', '.join(failed)}; the table of policies says why."] if failed else []


def interval_text(run: Run) -> str:
    """Return the interval of a run's mean makespan; "no spread" where seeds make no difference."""
    low, high = run.interval.low, run.interval.high
    return "no spread" if np.isnan(low) else f"{format_time(low)} to {format_time(high)}"
