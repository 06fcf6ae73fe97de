"""Explanation of the best schedule's length, and possible improvements."""

from __future__ import annotations

import pandas as pd

from simsched.document.parts import Bullets, Folded, Paragraph, Part, Picture, Section, Table
from simsched.explain import explain
from simsched.explain.core_time import LEAST_SHARE, labelled
from simsched.plots import core_time, what_if
from simsched.plots.canvas import plain
from simsched.report.findings import Findings
from simsched.report.verdict import run_name
from simsched.units import format_time

MOST_SEGMENTS = 15
#: Height of the causes next to the bars.
LEGEND_PX = 240


def why_section(found: Findings) -> Section:
    """Return the section on where the time of the best schedule went."""
    frames = core_times(found)
    why = found.why
    words = "; ".join(f"{labelled(g, c)} {share:.1%}" for g, c, share in _shares(frames[found.best.name]))
    parts: list[Part] = [
        Paragraph(_which(found)),
        core_time_table(found),
        Picture(lambda figure: core_time(frames, figure.add_subplot()), 880, 90 + max(40 * len(frames), LEGEND_PX),
                f"Where the cores' time went, a bar a policy; under {found.best.name}: {words}"),
        waits_table(found),
        *_path(found),
        *_helps(found),
    ]  # fmt: skip
    return Section("Why it takes so long", [*parts, Bullets(why.notes)] if why.notes else parts, "why")


def _which(found: Findings) -> str:
    """Return which schedule is explained."""
    best, schedule = found.best, found.schedule
    seed = (
        f" with seed {schedule.seed}, which takes {format_time(schedule.makespan_s)}" if best.seeded else ""
    )
    return f"Of the schedule under {run_name(best)}, the shortest{seed}."


def core_times(found: Findings) -> dict[str, pd.DataFrame]:
    """Return the core-time of every policy."""
    others = {run.name: explain(run.require_schedule()).core_time for run in found.done[1:]}
    return {found.best.name: found.why.core_time, **others}


def _shares(frame: pd.DataFrame) -> list[tuple[str, str, float]]:
    seen = frame[frame["share"].abs() >= LEAST_SHARE]
    return list(zip(seen["group"].tolist(), seen["cause"].tolist(), seen["share"].tolist(), strict=True))


def core_time_table(found: Findings) -> Table:
    """Return the use of the cores' time under the best policy."""
    frame = found.why.core_time
    seen = frame[frame["share"].abs() >= LEAST_SHARE]
    rows = [
        (labelled(str(row["group"]), str(row["cause"])), format_time(row["core_s"]), f"{row['share']:.1%}")
        for row in seen.to_dict("records")
    ]
    return Table("Where the cores' time went", ("what", "core-seconds", "share"), rows)


def waits_table(found: Findings) -> Table:
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
    rows = [
        (format_time(row["begin_s"]), format_time(row["seconds_s"]), str(row["part"]), plain(str(row["name"]), 60),
         str(row["after"]))
        for row in longest.to_dict("records")
    ]  # fmt: skip
    columns = ("begins", "takes", "part", "task", "had waited for")
    return [
        Paragraph(
            f"The critical path through time leads from the first start to the last finish without a gap, in "
            f"{len(path)} segments: {words}."
        ),
        Picture(lambda figure: found.why.plot_critical_path(figure.add_subplot()), 880, 300,
                f"Critical path through time, one row per kind of task: {words}"),
        Folded(f"Its {len(rows)} longest segments", [Table("Longest segments, in order of time", columns, rows)]),
    ]  # fmt: skip


def _helps(found: Findings) -> list[Part]:
    frame = found.helps
    if frame is None or frame.empty:
        return []
    columns = ("rank", "what", "tasks", "times as fast", "on the path", "makespan", "saves")
    rows = [
        (str(row["rank"]), plain(str(row["name"]), 60), str(row["n_tasks"]), f"{row['speedup']:g}",
         format_time(row["on_path_s"]), format_time(row["makespan_s"]), f"{row['gain']:.2%}")
        for row in frame.to_dict("records")
    ]  # fmt: skip
    words = "; ".join(f"{row[1]}, {row[3]} times as fast, saves {row[6]}" for row in rows[:5])
    return [
        Table("What would help most, each row a replay with the same layout", columns, rows),
        Picture(
            lambda figure: what_if(frame, figure.add_subplot()),
            800,
            80 + 22 * len(frame),
            f"Makespan saved: {words}",
        ),
    ]
