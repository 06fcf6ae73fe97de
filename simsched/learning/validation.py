"""Leave-one-out: each recording predicted from the others; `Learned.validate`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import mode
from typing import TYPE_CHECKING, Any

import numpy as np

from simsched.errors import GraphError
from simsched.graph import TaskGraph
from simsched.learning.observed import Observed, observed
from simsched.learning.predicting import Case
from simsched.notes import Note, Weight
from simsched.policy import Layout, Policy, policy as policy_of

if TYPE_CHECKING:
    from simsched.document.result import Result
    from simsched.learning.learned import Learned

    Learn = Callable[[Sequence[TaskGraph]], Learned]


def validated(
    recordings: Sequence[TaskGraph],
    learn: Learn,
    policies: str | Policy | Sequence[str | Policy],
    repeats: Sequence[object] | None,
    samples: int,
) -> Result:
    """Return the table of `Learned.validate`; `learn` is what learns from the recordings that are not held out."""
    from simsched.document.result import Result

    runs = observed(recordings)
    several = [policies] * len(runs) if isinstance(policies, str | Policy) else list(policies)
    settings = list(range(len(runs))) if repeats is None else list(repeats)
    if len(several) != len(runs) or len(settings) != len(runs):
        raise GraphError(
            f"{len(runs)} recordings, {len(several)} policies and {len(settings)} repeats; give as many"
        )
    by_setting: dict[object, list[int]] = defaultdict(list)
    for i, setting in enumerate(settings):
        by_setting[runs[i].program, setting].append(i)
    whole = learn(recordings).runs
    rows = []
    for members in by_setting.values():
        rest = [run for i, run in enumerate(runs) if i not in members]
        mates = [run for run in rest if run.program == runs[members[0]].program]
        if mates:
            held = {"recorded_s": float(np.median([whole[i].makespan_s for i in members]))}
            lost = float(np.median([whole[i].interrupted for i in members]))
            learned, policy = learn([run.graph for run in rest]), policy_of(several[members[0]])
            # A worker that never got a core has no lane in a run: most runs of a setting show how many there were.
            size = mode([(runs[i].lanes, runs[i].width, runs[i].waiting) for i in members])
            rows.append(held | _row(learned, mates[0], size, policy, lost, samples))
    if not rows:
        raise GraphError(
            "no program has two recordings of different settings: there is nothing to predict one from"
        )
    for row in rows:
        row["error"] = row["predicted_s"] / row["recorded_s"] - 1 if row["recorded_s"] else float("nan")
        row["undisturbed_error"] = _undisturbed(row)
        row["within"] = row["low_s"] <= row["recorded_s"] <= row["high_s"]
    columns = (
        "program", "policy", "layout", "recorded_s", "predicted_s", "error", "low_s", "high_s", "within",
        "undisturbed_error",
    )  # fmt: skip
    return Result.of([{key: row[key] for key in columns} for row in rows], [_summary(rows)])


def _undisturbed(row: Mapping[str, Any]) -> float:
    expected = (1.0 + row["share"]) / (1.0 + row["lost"])
    return float((1.0 + row["error"]) / expected - 1.0)


def _row(
    learned: Learned, mate: Observed, size: tuple[int, int, int], policy: Policy, lost: float, samples: int
) -> dict[str, Any]:
    """Return the prediction of a held-out setting, of which only the size is used: lanes, width, threads that wait."""
    lanes, width, waiting = size
    layout = Layout(lanes, width)
    case = Case(mate.graph, learned.program_of(mate.graph), policy, layout, layout.cores, waiting=waiting)
    found = case.row(learned, samples)
    return {
        "program": mate.program,
        "policy": str(policy),
        "layout": str(layout),
        "predicted_s": found["makespan_s"],
        "low_s": found["low_s"],
        "high_s": found["high_s"],
        "share": found["interrupted"],
        "lost": lost,
    }


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    errors = np.abs([row["error"] for row in rows])
    apart = np.abs([row["undisturbed_error"] for row in rows])
    held = np.mean([row["within"] for row in rows])
    within = "" if np.isnan(rows[0]["low_s"]) else f"; {held:.0%} within their intervals"
    said = (
        f"{len(rows)} settings, each predicted from the others: median error {np.median(errors):.1%}, 90th percentile "
        f"{np.quantile(errors, 0.9):.1%}; without interruptions {np.median(apart):.1%} and "
        f"{np.quantile(apart, 0.9):.1%}{within}"
    )
    return Note(said, Weight.FACT)
