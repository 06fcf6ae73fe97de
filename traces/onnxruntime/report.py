"""What the report of an ONNX Runtime profile tells: the file, the run, its tasks, and what to be wary of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.graph import ImportReport, Recording
from simsched.traces.onnx.model import Model
from simsched.traces.onnxruntime.join import Task
from simsched.traces.onnxruntime.profile import Contents, Event, Run
from simsched.traces.shared.json_stream import shown
from simsched.traces.shared.lanes import covered
from simsched.traces.shared.libraries import of_providers

#: Spans of more runs than this are not listed in the report.
LISTED_RUNS = 20


@dataclass(frozen=True)
class Row:
    """One task of the graph: an execution and what is known of its node."""

    event: Event
    kind: str
    shape: str
    flops: float
    size: float
    scope: str = ""


def describe_contents(report: ImportReport, contents: Contents, chosen: int) -> None:
    """Tell of the profile as a whole, and of the run chosen from it."""
    run = contents.runs[chosen]
    report.facts.update(_run_facts(contents, chosen))
    if contents.sessions > 1:
        report.note(
            f"The file holds {contents.sessions} sessions, whose runs are counted as one list; the model must be "
            "that of the session of this run."
        )
    if contents.full:
        report.note("The profiler stopped at its limit of a million events: what came later is missing.")
    if run.device_events:
        report.note(
            f"{run.device_events} events of a device are not tasks: its kernels run while the nodes that launched them "
            "have long returned."
        )


def _run_facts(contents: Contents, chosen: int) -> dict[str, Any]:
    runs = contents.runs
    spans = [f"{run.span_us / 1e6:.6f}" for run in runs[:LISTED_RUNS]]
    return {
        "runs": len(runs),
        "run": chosen,
        "run_spans_s": ", ".join(spans + ["..."] * (len(runs) > LISTED_RUNS)),
        "span_s": runs[chosen].span_us / 1e6,
        "threads_of_all_runs": contents.threads,
    }


def describe_model(report: ImportReport, model: Model, tasks: Sequence[Task | None]) -> None:
    """Tell of the model, and which of its nodes did not run."""
    report.facts["model"] = model.file.name
    dropped = [node for node, task in zip(model.nodes, tasks, strict=True) if task is None]
    report.facts["nodes_not_run"] = len(dropped)
    if dropped:
        first = shown(dropped[0].name or f"a {dropped[0].op_type}")
        report.note(
            f"{len(dropped)} nodes of the model did not run in this run and are left out ({first} first); "
            "dependencies go through them."
        )


def describe_tasks(report: ImportReport, run: Run, rows: Sequence[Row], recording: Recording) -> None:
    """Tell of the tasks, who ran them, and what is suspicious about them."""
    spans = ((row.event.start_us, row.event.finish_us) for row in rows)
    covered_us = covered(spans, run.start_us, run.finish_us)
    widths = [row.event.width for row in rows]
    report.facts["covered_s"] = covered_us / 1e6
    report.facts["covered_share"] = covered_us / run.span_us if run.span_us else np.nan
    report.facts["before_first_s"] = (min(row.event.start_us for row in rows) - run.start_us) / 1e6
    report.facts["after_last_s"] = max(run.finish_us - max(row.event.finish_us for row in rows), 0) / 1e6
    report.facts["lanes"] = len(recording.lane_names)
    # The parallel executor leaves the nodes to threads of a pool, and the caller waits.
    parallel = any(row.event.thread != run.thread for row in rows)
    report.facts["executor"] = "parallel" if parallel else "sequential"
    report.facts["max_width"] = max(widths)
    report.facts["intra_op_threads"] = max(row.event.pool for row in rows)
    report.facts["zero_length_tasks"] = sum(row.event.finish_us == row.event.start_us for row in rows)
    report.facts["tasks_without_flops"] = sum(bool(np.isnan(row.flops)) for row in rows)
    if report.facts["run"] != report.facts["runs"] - 1:
        report.note("This is not the last run of the profile; early runs are slower, since they warm up.")
    if report.facts["zero_length_tasks"]:
        report.note("Some tasks took less than the clock's 1 us and have a duration of 0.")
    of_providers(report, (row.event.provider for row in rows))
    others = Counter(row.event.provider for row in rows) - Counter(
        {"CPUExecutionProvider": len(rows), "": len(rows)}
    )
    if others:
        names = ", ".join(f"{n} by {shown(name)}" for name, n in sorted(others.items()))
        report.note(
            f"Not all nodes ran on the processor ({names}): of those the profile may time the launch alone."
        )
