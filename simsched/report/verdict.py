"""Conclusions of a report, in a few sentences, and the explanation of the best schedule's length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from simsched.defaults import BASELINE
from simsched.document.parts import Bullets, Folded, Paragraph, Part, Picture, Section, Table
from simsched.explain import explain
from simsched.explain.core_time import LEAST_SHARE, SHARED, labelled, seen_parts
from simsched.explain.path import task_names
from simsched.intervals import SAME, Interval
from simsched.plots import core_time, what_if
from simsched.plots.canvas import plain
from simsched.report.findings import Findings
from simsched.report.question import PolicyRun
from simsched.text import counted
from simsched.units import format_time

#: Largest share of speed that fewer cores may lose and still count as almost equal to the machine's own.
ALMOST = 0.05
LONGEST_NAME = 60
#: Widths by kind are many; the table of how layouts were chosen has all of them.
LONGEST_LAYOUT = 20
#: Origins of a layout, in words.
CHOSEN = {
    "given": "the layout that was given",
    "replays": "the best layout that replays find",
    "estimate": "widths by kind that an estimate finds",
}


def headline(found: Findings) -> str:
    """Return the best policy, in a sentence."""
    question, best = found.question, found.best
    graph = plain(question.graph.name, LONGEST_NAME)
    if not question.graph.n_tasks:
        return f"{graph} has no tasks: there is nothing to schedule."
    on = f"{question.machine.spec} ({counted(question.machine.n_cores, 'core')})"
    between = f" ({interval_text(best.may_take)})" if best.may_take.low < best.may_take.high else ""
    takes = f"{graph} takes {format_time(best.interval.middle)}{between} on {on} under {_run_name(best)}"
    if len(found.done) == 1:
        return f"{takes} ({_chosen(best)})."
    return f"{takes}, the shortest of {len(found.done)} policies, {_layouts_of(found)}{_over_others(found)}."


def _run_name(run: PolicyRun) -> str:
    """Return a policy with the layout of its run."""
    return f"{run.name}, {plain(run.layout, LONGEST_LAYOUT)}"


def _chosen(run: PolicyRun) -> str:
    """Return how the layout of the only run was chosen."""
    return CHOSEN.get(run.layout_by, "it decides the widths of teams task by task")


def _layouts_of(found: Findings) -> str:
    if (given := found.question.layout) is None:
        return "layouts found by replays"
    return f"the layout {given} given to those that take it"


def _over_others(found: Findings) -> str:
    best, second = found.done[:2]
    if not best.interval.middle:
        return ""
    ratio = second.interval.middle / best.interval.middle
    said = f"; {_against(second.name, ratio)}" if ratio >= 1 + SAME else f", level with {_level(found)}"
    if overlapping(best, second):
        said += ", a difference within the spread of the seeds"
    if BASELINE in {best.name, second.name} or found.sequential.name != BASELINE:
        return said
    return f"{said}, {_against(BASELINE, found.sequential.interval.middle / best.interval.middle)}"


def _level(found: Findings) -> str:
    """Return the policies whose makespan is that of the best: the first by name, the others by number."""
    best, *others = found.done
    level = [run.name for run in others if run.interval.middle < best.interval.middle * (1 + SAME)]
    return level[0] + (f" and {counted(len(level) - 1, 'other')}" if len(level) > 1 else "")


def _against(name: str, ratio: float) -> str:
    """Return how much longer or shorter a policy's makespan is, as a ratio to another's."""
    if abs(ratio - 1) < SAME:
        return f"{name} takes as long"
    if ratio > 1:
        return f"{name} takes " + (f"{ratio - 1:.1%} longer" if ratio < 2 else f"{ratio:.3g} times as long")
    return f"{name} is " + (f"{1 - ratio:.1%} shorter" if ratio > 0.5 else f"{1 / ratio:.3g} times as fast")


def overlapping(one: PolicyRun, other: PolicyRun) -> bool:
    """Return whether the intervals of two runs overlap; those of one seed have none."""
    a, b = one.interval, other.interval
    return bool(one.seeded and other.seeded and a.low <= b.high and b.low <= a.high)


def sentences(found: Findings) -> list[str]:
    """Return further conclusions for readers; nothing for a graph without tasks or time."""
    if not found.schedule.makespan_s:
        return []
    parts = [
        found.undecided,
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
    one = found.one_core
    reached = (
        f"with an efficiency of {one.efficiency(mean_s):.1%} (speed-up over {one.in_words}, over all cores)"
    )
    if gap < -1e-9:  # not by rounding
        return (
            f"The lower bound is {format_time(limits.bound_s)}, which {by} sets, without noise and with one task at a "
            f"time on each hardware thread; the best policy is {-gap:.1%} below it, {reached}."
        )
    return (
        f"No policy takes less than {format_time(limits.bound_s)}, which {by} sets; the best one is "
        f"{max(gap, 0.0):.1%} above it, {reached}."
    )


def _core_time(found: Findings) -> str:
    frame = found.why.core_time
    work = float(frame.loc[frame["cause"] == "work", "share"].sum())
    rest = frame[(frame["cause"] != "work") & (frame["share"] > SAME)].sort_values("share")
    whose = "cores'" if found.question.machine.smt == 1 else "hardware threads'"
    if rest.empty:
        return _of_first(found, f"Of the {whose} time {work:.1%} is work.")
    most = rest.iloc[-1]
    what = labelled(str(most["group"]), str(most["cause"]))
    said = f"{what} ({float(most['share']):.1%})"
    if (frame["cause"].eq(SHARED) & (frame["share"] < -SAME)).any() and most["cause"] == "hardware threads":
        said += ", counted for each of the threads that share a core"
    return _of_first(found, f"Of the {whose} time {work:.1%} is work; most of the rest is {said}.")


def _of_first(found: Findings, sentence: str) -> str:
    """Return a sentence that holds for the first seed, with a remark where other seeds may differ."""
    return _of_seed(found, sentence) if found.best.seeded else sentence


def _of_seed(found: Findings, sentence: str) -> str:
    return f"With seed {found.question.seed}, {sentence[0].lower()}{sentence[1:]}"


def _helps(found: Findings) -> str:
    if found.helps is None or found.helps.empty:
        return ""
    tasks = found.helps[found.helps["gain"] > 0]
    if tasks.empty:
        return _of_first(found, "No task or kind that was tried makes it shorter on its own.")
    first = tasks.iloc[0]
    saved = (
        f"{_helped(first)} {float(first['speedup']):g} times as fast, which saves {float(first['gain']):.1%}"
    )
    return _of_first(found, f"What would help most, with the same layout: {saved}.")


def _helped(row: Mapping[Any, Any] | pd.Series[Any]) -> str:
    """Return the task, or the tasks, that a row of `what_if` makes faster."""
    if row["what"] == "kind":
        return f"all tasks of kind '{plain(str(row['kind']), LONGEST_NAME)}'"
    return plain(str(row["name"]), LONGEST_NAME)


def _scaling(found: Findings) -> str:
    frame, own = found.scaling, found.question.machine.n_cores
    if frame is None or not (frame["cores"] == own).any():
        return ""
    times = frame.set_index("cores")["makespan_s"]
    enough = int(times.index[times <= (1 + ALMOST) * times[own]].min())
    parts = (
        [f"{counted(enough, 'core takes', 'cores take')} at most {ALMOST:.0%} longer"] if enough < own else []
    )
    more = times[times.index > own]
    if len(more):
        saved = 1 - more.min() / times[own]
        said = f"would save {saved:.1%}" if saved >= SAME else "would not be faster"
        count = more.idxmin() if saved >= SAME else more.index.max()
        beyond = " (extrapolated)" * bool(frame["extrapolated"][frame["cores"] == count].any())
        parts.append(f"{counted(count, 'core')} {said}{beyond}")
    return f"Fewer or more cores, under {found.best.name}: {'; '.join(parts)}." if parts else ""


def _layouts(found: Findings) -> str:
    frame = found.layouts
    if frame is None or not len(frame) or not frame["makespan_s"].min() > 0:
        return ""
    first = frame.iloc[0]
    policy, used = str(first["policy"]), used_layout(found)
    among = f"Of {len(frame)} layouts of {policy}, all replayed, "
    if used == first["layout"]:
        said = f"{among}{used} is the shortest; the other tables have it, too."
    else:
        times = frame.set_index("layout")["makespan_s"]
        why = "was given" if found.question.layout is not None else "the other tables have"
        shortest = f"{first['layout']} is the shortest, {format_time(first['makespan_s'])}"
        said = (
            f"{among}{shortest}: {1 - first['makespan_s'] / times[used]:.1%} less than {used}, which {why}."
        )
    seeded = any(run.seeded for run in found.done if run.name == policy)
    return _of_seed(found, said) if seeded else said


def used_layout(found: Findings) -> str:
    """Return the layout that the policy of the tried layouts has in the other tables."""
    assert found.layouts is not None  # noqa: S101 - narrows the type: callers looked
    policy = found.layouts.iloc[0]["policy"]
    return next(run for run in found.done if run.name == policy).require_schedule().layout


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


def interval_text(found: Interval) -> str:
    """Return the ends of an interval; "no spread" where they are equal, or there is one sample."""
    return f"{format_time(found.low)} to {format_time(found.high)}" if found.low < found.high else "no spread"


MOST_SEGMENTS = 15
#: Height of the causes next to the bars.
LEGEND_PX = 240


def why_section(found: Findings) -> Section:
    """Return the section on where the time of the best schedule went."""
    others = {run.name: explain(run.require_schedule()).core_time for run in found.done[1:]}
    frames = {found.best.name: found.why.core_time, **others}
    why = found.why
    words = "; ".join(f"{labelled(g, c)} {share:.1%}" for g, c, share in seen_parts(frames[found.best.name]))
    parts: list[Part] = [
        Paragraph(_which(found)),
        _core_time_table(found),
        Picture(lambda figure: core_time(frames, figure.add_subplot()), 880, 90 + max(40 * len(frames), LEGEND_PX),
                f"Where the cores' time went, a bar a policy; under {found.best.name}: {words}"),
        _waits_table(found),
        *_path(found),
        *_help_parts(found),
    ]  # fmt: skip
    return Section("Why it takes so long", [*parts, Bullets(why.notes)] if why.notes else parts, "why")


def _which(found: Findings) -> str:
    """Return which schedule is explained."""
    best, schedule = found.best, found.schedule
    seed = (
        f" with seed {schedule.seed}, which takes {format_time(schedule.makespan_s)}" if best.seeded else ""
    )
    return f"Of the schedule under {_run_name(best)}, the shortest{seed}."


def _core_time_table(found: Findings) -> Table:
    """Return the use of the cores' time under the best policy."""
    frame = found.why.core_time
    seen = frame[frame["share"].abs() >= LEAST_SHARE]
    rows = [
        (labelled(str(row["group"]), str(row["cause"])), format_time(row["core_s"]), f"{row['share']:.1%}")
        for row in seen.to_dict("records")
    ]
    return Table("Where the cores' time went", ("what", "core-seconds", "share"), rows)


def _waits_table(found: Findings) -> Table:
    """Return the causes of waits under the best policy."""
    waits = found.why.tasks
    rows = []
    for reason, name, column in (
        ("no core", "a core", "no_core_s"),
        ("queue", "the queue", "queue_s"),
        ("dispatch", "dispatch", "dispatch_s"),
        ("data", "data", "data_s"),
    ):
        seconds = waits[column]
        rows.append((
            name, str(int((waits["reason"] == reason).sum())), format_time(float(seconds.sum())),
            format_time(float(seconds.max()) if len(seconds) else 0.0),
        ))  # fmt: skip
    at_once = waits["reason"].isin(["none", "dependency"]).sum()
    rows.append(("nothing: started as soon as ready", str(int(at_once)), format_time(0.0), format_time(0.0)))
    columns = ("waited mostly for", "tasks", "seconds of all tasks", "longest of a task")
    return Table("What tasks waited for, once ready", columns, rows)


def _path(found: Findings) -> list[Part]:
    path = found.why.critical_path
    if path.empty:
        return []
    by_part = path.groupby("part", observed=True)["seconds_s"].sum()
    words = ", ".join(f"{part} {format_time(seconds)}" for part, seconds in by_part.items())
    longest = path.nlargest(MOST_SEGMENTS, "seconds_s").sort_index()
    others = task_names(found.why.schedule.graph, longest["other"])
    rows = [
        (format_time(row["begin_s"]), format_time(row["seconds_s"]), str(row["part"]), plain(str(row["name"]), 60),
         str(row["after"]), plain(other, 60))
        for row, other in zip(longest.to_dict("records"), others, strict=True)
    ]  # fmt: skip
    columns = ("begins", "takes", "part", "task", "had waited for", "of task")
    return [
        Paragraph(
            f"The critical path through time leads from the first start to the last finish without a gap, in "
            f"{len(path)} segments: {words}."
        ),
        Picture(lambda figure: found.why.plot_critical_path(figure.add_subplot()), 880, 300,
                f"Critical path through time, one row per kind of task: {words}"),
        Folded(f"Its {len(rows)} longest segments", [Table("Longest segments, in order of time", columns, rows)]),
    ]  # fmt: skip


def _help_parts(found: Findings) -> list[Part]:
    frame = found.helps
    if frame is None or frame.empty:
        return []
    columns = ("rank", "what", "tasks", "times as fast", "on the path", "makespan", "saves")
    rows = [
        (str(row["rank"]), _helped(row), str(row["n_tasks"]), f"{row['speedup']:g}",
         format_time(row["on_path_s"]), format_time(row["makespan_s"]), f"{row['gain']:.2%}")
        for row in frame.to_dict("records")
    ]  # fmt: skip
    words = "; ".join(f"{row[1]}, {row[3]} times as fast, saves {row[6]}" for row in rows[:5])
    return [
        Table(
            "What would help most, each row a replay with the same layout; the policy still plans with the old seconds",
            columns,
            rows,
        ),
        Picture(
            lambda figure: what_if(frame, figure.add_subplot()),
            800,
            80 + 22 * len(frame),
            f"Makespan saved: {words}",
        ),
    ]
