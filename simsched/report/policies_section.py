"""The policies side by side: table, picture, chart; and the best one by cores and by layout."""

from __future__ import annotations

import pandas as pd

from simsched.document.parts import Facts, Folded, Markup, Paragraph, Part, Picture, Section, Table
from simsched.intervals import Interval, share_within
from simsched.plots import comparison, layouts, layouts_frame, scaling
from simsched.plots.canvas import plain
from simsched.report.findings import Findings
from simsched.report.page import chart
from simsched.report.question import PolicyRun
from simsched.report.verdict import LONGEST_LAYOUT, interval_text, overlapping, used_layout
from simsched.study.worlds import tied_shares
from simsched.units import format_time

COLUMNS = (
    "policy",
    "layout",
    "chosen by",
    "makespan",
    "over best",
    "above bound",
    "speed-up",
    "efficiency",
    "in use",
)
INTERVAL, OF_SEEDS = "interval", "95 % interval of the mean"
LONGEST_ERROR = 200


def policies_section(found: Findings) -> Section:
    """Return the section of the numbers."""
    limits = found.limits
    bounds = {
        "critical path, each task on its fastest width": format_time(limits.critical_path_s),
        "work over all cores": format_time(limits.area_s),
        "lower bound, the larger": format_time(limits.bound_s),
    }
    parts: list[Part] = [
        _policies_table(found),
        Facts("Lower bounds of every policy", bounds),
        Paragraph(_meaning(found)),
        _how_chosen(found),
    ]
    if len(found.done) > 1:
        parts.insert(1, _picture(found))
    return Section("Policies", parts, "policies")


def _policies_table(found: Findings) -> Table:
    """Return one row per policy, the shortest makespan first; failed ones last, with the reason."""
    columns = [*COLUMNS]
    shown = [*[INTERVAL] * found.uncertain, *[OF_SEEDS] * found.seeded]
    columns[columns.index("over best") : columns.index("over best")] = shown
    failed = [run for run in found.runs if run.schedule is None]
    rows = [tuple(_row(found, run)[column] for column in columns) for run in found.done]
    rows += [
        (run.name, "", "", f"failed: {plain(run.error, LONGEST_ERROR)}", *[""] * (len(columns) - 4))
        for run in failed
    ]
    return Table(f"Policies on {found.question.machine.spec}, the shortest first", tuple(columns), rows)


def _row(found: Findings, run: PolicyRun) -> dict[str, str]:
    schedule, mean_s = run.require_schedule(), run.interval.middle
    best_s, bound_s = found.best.interval.middle, found.limits.bound_s
    return {
        "policy": run.name,
        "layout": plain(run.layout, LONGEST_LAYOUT),
        "chosen by": run.layout_by,
        "makespan": format_time(mean_s),
        INTERVAL: interval_text(run.may_take),
        OF_SEEDS: interval_text(run.interval),
        "over best": _longer(mean_s, best_s) if best_s else "-",
        "above bound": _longer(mean_s, bound_s) if bound_s else "-",
        "speed-up": f"{found.one_core.speedup(mean_s):.3g}" if mean_s else "-",
        "efficiency": f"{found.one_core.efficiency(mean_s):.1%}",
        "in use": f"{schedule.utilization:.1%}",
    }


def _how_chosen(found: Findings) -> Folded:
    """Return how the layout of each policy was found, and widths by kind in full."""
    rows = [(run.name, run.layout, run.layout_why) for run in found.done]
    return Folded(
        "How each layout was chosen",
        [
            Table(
                "Layouts of the policies; replays are those made to choose, before any of this report",
                ("policy", "layout", "how"),
                rows,
            )
        ],
    )


def _longer(seconds: float, than: float) -> str:
    """Return by how much one time is longer than another, in percent; as a factor from twice on."""
    return f"{seconds / than - 1:+.1%}" if seconds < 2 * than else f"{seconds / than:.3g} x"


def _meaning(found: Findings) -> str:
    kinds = found.question.machine.kinds is not None
    by_kind = ", of which those of another kind count by what they do" if kinds else ""
    of_kind = ", on which that takes least," if kinds else ""
    words = (
        "A layout is executors x cores of each, or at most so many tasks x the most cores of each where a policy "
        f"decides the widths of teams. Speed-up is over {found.one_core.in_words}{of_kind} that runs every task alone; "
        f"efficiency is the speed-up over the number of cores{by_kind}; in use is the share of their time held by "
        "running tasks."
    )
    if found.uncertain:
        share = share_within(len(found.best.worlds_s))
        words += f" Of replays with costs and machine numbers that could be true, {share:.0%} fall in the interval."
        if ties := tied_shares(found.fastest_share):
            words += f" Of policies, {ties}."
    if not found.seeded:
        return f"{words} Seeds make no difference here: nothing is random."
    tied = [run.name for run in found.done[1:] if overlapping(found.best, run)]
    more = f" Not distinguished from the best: {', '.join(tied)}." if tied else ""
    return (
        f"{words} Where seeds make a difference, makespans are geometric means over {found.question.seeds} "
        f"of them, with the 95 % interval of that mean.{more}"
    )


def _picture(found: Findings) -> Picture:
    frame = pd.DataFrame({
        "policy": [run.name for run in found.done],
        "layout": [run.require_schedule().layout for run in found.done],
        "makespan_s": [run.interval.middle for run in found.done],
        "bound_s": found.limits.bound_s,
        "speedup": [found.one_core.speedup(run.interval.middle) for run in found.done],
    })  # fmt: skip
    if found.uncertain:
        frame["low_s"] = [run.may_take.low for run in found.done]
        frame["high_s"] = [run.may_take.high for run in found.done]
        frame["fastest_share"] = found.fastest_share
    words = "; ".join(f"{run.name} {format_time(run.interval.middle)}" for run in found.done)
    return Picture(
        lambda figure: comparison(frame, figure.add_subplot()),
        800,
        90 + 32 * len(frame),
        f"Makespan by policy: {words}",
    )


def chart_section(found: Findings) -> Section:
    """Return the section of the interactive chart: the best policy with another, or with the recorded run."""
    return Section("What ran where and when", [Markup(lambda: chart(found.charted))], "schedules")


MOST_LAYOUTS = 10
SIZE_COLUMNS = ("layout", "makespan", "over the shortest", "speed-up", "cores in use")


def cores_section(found: Findings) -> Section | None:
    """Return makespan and efficiency by core count; None where the machine has one size only."""
    if (frame := found.scaling) is None:
        return None
    words = "; ".join(
        f"{row['cores']} cores {format_time(row['makespan_s'])}" for row in frame.to_dict("records")
    )
    machine = found.question.machine
    parts: list[Part] = [
        Paragraph(
            f"The same graph under {found.best.name} on {machine.spec} with other core counts, {_whose(found)}; its "
            f"tiles stay whole and its memory stays as it is.{_beyond(frame)}"
        ),
        Picture(
            lambda figure: scaling(frame, figure.add_subplot()), 800, 380, f"Makespan by core count: {words}"
        ),
        _cores_table(frame),
    ]
    return Section("More and fewer cores", parts, "cores")


def _beyond(frame: pd.DataFrame) -> str:
    """Return a sentence on the core counts that are extrapolated; nothing where none is."""
    counts = [str(cores) for cores in frame["cores"][frame["extrapolated"]]]
    said = " Extrapolated, beyond what the machine is built with or tasks were measured on"
    return f"{said}: {', '.join(counts)} cores." if counts else ""


def _whose(found: Findings) -> str:
    if found.best.layout_by == "given":
        return "with executors in proportion to those of the given layout"
    return "each with its best layout" if found.best.layout_by == "replays" else "each with widths found anew"


def _cores_table(frame: pd.DataFrame) -> Table:
    between = bool((frame["low_s"] < frame["high_s"]).any())
    columns = ["cores", "layout", "chosen by", "makespan", "lower bound", "speed-up", "efficiency"]
    if between:
        columns.insert(4, INTERVAL)
    rows = []
    for row in frame.to_dict("records"):
        cells = [
            str(row["cores"]),
            plain(str(row["layout"]), LONGEST_LAYOUT),
            str(row["layout_by"]),
            format_time(row["makespan_s"]),
            format_time(row["bound_s"]),
            f"{row['speedup']:.3g}" if row["makespan_s"] else "-",
            f"{row['efficiency']:.1%}",
        ]
        if between:
            cells.insert(4, interval_text(Interval(row["makespan_s"], row["low_s"], row["high_s"])))
        rows.append(tuple(cells))
    return Table("By core count", tuple(columns), rows)


def layouts_section(found: Findings) -> Section | None:
    """Return the heat map of layouts; None where no policy takes several."""
    if (tuned := found.layouts) is None:
        return None
    first = tuned.iloc[0]
    frame = layouts_frame(_pictured(found, tuned), found.question.machine.n_threads)
    policy, used = str(first["policy"]), used_layout(found)
    shown = tuned[(tuned.index < MOST_LAYOUTS) | (tuned["layout"] == used)]
    rows = [
        (
            str(row["layout"]) + (" (as above)" if row["layout"] == used else ""),
            format_time(row["makespan_s"]),
            _longer(row["makespan_s"], first["makespan_s"]) if first["makespan_s"] else "-",
            f"{row['speedup']:.3g}",
            f"{row['utilization']:.1%}",
        )
        for row in shown.to_dict("records")
    ]
    size = (240 + 62 * frame["width"].nunique(), 110 + 40 * frame["executors"].nunique())
    parts: list[Part] = [
        Paragraph(
            f"Executors x cores of each, under {policy}, the best policy that has executors, each layout replayed"
            f"{_with_seed(found, policy)}. The picture has those of even parts of the machine, and the shortest."
        ),
        Picture(
            lambda figure: layouts(frame, figure.add_subplot()), *size,
            f"Layouts of {policy} as a heat map; the best is {first['layout']} with {format_time(first['makespan_s'])}",
        ),
        Table(f"{len(rows)} of {len(tuned)} layouts, the shortest first", SIZE_COLUMNS, rows),
    ]  # fmt: skip
    return Section("Layouts", parts, "layouts")


def _pictured(found: Findings, tuned: pd.DataFrame) -> pd.DataFrame:
    """Return the layouts of the grid, and the shortest."""
    executors, widths = found.question.grid
    shown = tuned["executors"].isin(executors) & tuned["width"].isin(widths)
    return tuned[shown | (tuned.index == 0)]


def _with_seed(found: Findings, policy: str) -> str:
    seeded = any(run.seeded for run in found.done if run.name == policy)
    return f" with seed {found.question.seed}" if seeded else ""
