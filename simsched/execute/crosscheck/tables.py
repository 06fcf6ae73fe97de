"""The tables of a cross-check's reports, as text: columns and rows, the same in HTML and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from simsched.document.parts import Table
from simsched.execute.crosscheck.frames import kinds_frame
from simsched.execute.crosscheck.verdict import RATIO_BAR, SOURCES, percent
from simsched.units import format_time

if TYPE_CHECKING:
    from simsched.execute.crosscheck.checked import Checked, CrossCheck
    from simsched.execute.run.execution import Execution

#: Rows of tables of the worst cases, and shown sentences per fact.
WORST = 10


def by_error(check: CrossCheck) -> list[Checked]:
    """Return the cases, those with the largest error first, then those without one, then the declined."""
    error = check.table["error"].abs()
    order = [check.cases[place] for place in error.sort_values(ascending=False, kind="stable").index]
    return sorted(order, key=lambda case: bool(case.doubt))


def cases_table(check: CrossCheck) -> Table:
    """Return one row per case, sorted by error; sources as shares of the measured makespan."""
    columns = (
        "graph",
        "policy",
        "layout",
        "measured",
        "spread",
        "runs",
        "dropped",
        "predicted",
        "error",
        *SOURCES.values(),
        "cannot tell here",
    )
    return Table("Cases by error", columns, [_case(case) for case in by_error(check)])


def _case(case: Checked) -> tuple[str, ...]:
    execution = case.execution
    return (
        case.graph, case.simulated.policy, case.simulated.layout, format_time(execution.median_s), percent(case.spread),
        f"{len(execution)}", dropped(execution), format_time(case.simulated.makespan_s), error_of(case),
        *("" if case.doubt else signed(share) for share in shares(case).values()), case.doubt,
    )  # fmt: skip


def error_of(case: Checked) -> str:
    """Return the error of a case with its sign, or that it is unknown."""
    return "cannot tell" if case.doubt else signed(case.error)


def dropped(execution: Execution) -> str:
    """Return the number of dropped runs; where all were disturbed none is dropped, which is stated."""
    return f"{execution.n_dropped}" if execution.undisturbed.any() else "0: all disturbed"


def shares(case: Checked) -> dict[str, float]:
    """Return the error by source, each as a share of the measured makespan; NaN where that is zero."""
    whole_s = case.execution.median_s or float("nan")
    return {name: getattr(case.sources, key) / whole_s for key, name in SOURCES.items()}


def rankings_table(check: CrossCheck) -> Table:
    """Return the rankings that differ, the most clearly measured first."""
    pairs = check.rankings
    wrong = pairs[pairs["differ"] & ~pairs["agree"]]
    return _pairs("Rankings that differ", wrong, np.log(wrong["measured_ratio"]).abs())


def ratios_table(check: CrossCheck) -> Table:
    """Return the worst ratios of policies beyond the bar."""
    pairs = check.rankings
    error = pairs["ratio_error"].abs()
    beyond = pairs[pairs["policies"] & (error > RATIO_BAR)]
    caption = f"Worst of {len(beyond)} ratios of policies beyond {percent(RATIO_BAR)}"
    return _pairs(caption, beyond, error[beyond.index], WORST)


def _pairs(caption: str, pairs: pd.DataFrame, worth: pd.Series[float], most: int | None = None) -> Table:
    order = worth.sort_values(ascending=False, kind="stable").index[:most]
    rows = [
        (
            str(row["graph"]), str(row["case_a"]), str(row["case_b"]), f"{row['measured_ratio']:.3f}",
            percent(row["spread_a"]), percent(row["spread_b"]), f"{row['predicted_ratio']:.3f}",
            signed(row["ratio_error"]),
        )
        for row in pairs.loc[order].to_dict("records")
    ]  # fmt: skip
    columns = ("graph", "A", "B", "measured B / A", "spread A", "spread B", "predicted B / A", "error")
    return Table(caption, columns, rows)


def all_kinds_table(check: CrossCheck) -> Table:
    """Return one row per kind over all cases."""
    cases = check.conclusive or check.cases
    return _kinds("Kinds of tasks over all cases", kinds_frame(pd.concat([case.tasks for case in cases])))


def kinds_table(case: Checked) -> Table:
    """Return one row per kind of a case."""
    return _kinds("Kinds of tasks", case.kinds)


def _kinds(caption: str, kinds: pd.DataFrame) -> Table:
    rows = [
        (
            row["kind"] or "no kind", f"{row['tasks']}", percent(row["share"]), signed(row["median_error"]),
            signed_time(row["error_s"]),
        )
        for row in kinds.head(WORST).to_dict("records")
    ]  # fmt: skip
    more = f" (the {WORST} furthest off of {len(kinds)})" if len(kinds) > WORST else ""
    columns = ("kind", "tasks", "share of the work", "median error", "predicted - measured")
    return Table(caption + more, columns, rows)


def worst_table(case: Checked) -> Table:
    """Return the tasks of a case with the largest errors, in seconds."""
    tasks = case.tasks
    off_s = tasks["predicted_s"] - tasks["measured_s"]
    worst = tasks.assign(off_s=off_s).loc[
        off_s.abs().sort_values(ascending=False, kind="stable").index[:WORST]
    ]
    rows = [
        (
            f"{row['task']}", row["name"], row["kind"] or "no kind", row["shape"], f"{row['width']}",
            format_time(row["measured_s"]), percent(row["spread"]), format_time(row["predicted_s"]),
            signed(row["error"]), signed_time(row["off_s"]), signed_time(row["start_error_s"]),
        )
        for row in worst.to_dict("records")
    ]  # fmt: skip
    columns = (
        "task",
        "name",
        "kind",
        "shape",
        "width",
        "measured",
        "spread",
        "predicted",
        "error",
        "predicted - measured",
        "start off by",
    )
    return Table(f"Tasks furthest off ({len(rows)} of {len(tasks)})", columns, rows)


def calibration_facts(check: CrossCheck) -> dict[str, str]:
    """Return the basis of the predictions."""
    calibration = check.calibration
    return {
        "host": str(calibration.host),
        "date": calibration.date,
        "method": calibration.method,
        "ops": f"{len(calibration.ops)}",
        **{
            key.removesuffix("_s").replace("_", " "): _fact(key, value)
            for key, value in calibration.facts.items()
        },
    }


def _fact(key: str, value: float | str) -> str:
    if isinstance(value, str):
        *said, rest = value.split("; ", WORST)
        return "; ".join([*said, f"and {rest.count('; ') + 1} more" if "; " in rest else rest])
    return format_time(value) if key.endswith("_s") else f"{value:.6g}"


def signed(share: float) -> str:
    """Return a share in percent with its sign."""
    return "unknown" if np.isnan(share) else f"{round(100 * share, 1) + 0.0:+.1f} %"


def signed_time(seconds: float) -> str:
    """Return a time with its sign and unit."""
    return ("-" if seconds < 0 else "+") + format_time(abs(seconds))
