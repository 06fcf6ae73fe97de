"""Recorded runs beside their replays: python benchmarks/recorded.py [--samples FOLDER] [--statistics] [--bars].

The bundled recordings, and those of a folder of further samples where there is one, each under the policy nearest to
that of its runtime, on as many executors as it has lanes. Columns are errors beside the recorded span:

- `plain`: without overheads;
- `calibrated`, `held out`: with what a start costs, by the usual gaps of the trace, and by those of other recordings;
- `interrupted`, `held out, interrupted`: with that, and with executors as long away as they were
  while tasks were ready.

Held out are the other runs of the same profile (ONNX Runtime), or else the other recordings of programs alike; where
there is none the column is empty. `--bars`: which goals hold: both costs of a start beat a plain replay in every
row, and `GOALS`, the largest `interrupted` error.

`--statistics`: what a start costs by other statistics of the others' gaps, all recordings of one lane.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from recordings import GOALS, ROOT, Recorded, recordings

import simsched as ss
from simsched.execute.recorded.gaps import DISPATCH, INTERRUPTED, Gaps, absences_s

SHARED = ROOT.parent / "shared/samples"
#: Errors that differ by less are the same: times are recorded in nanoseconds at best.
SAME = 1e-9
ERRORS = ("plain", "calibrated", "interrupted", "held out", "held out, interrupted")


def row(one: Recorded, every: list[Recorded]) -> dict[str, object]:
    """Return a recording's row of the table."""
    own = ss.replay_recorded(one.graph, one.policy)
    errors = {"plain": own.plain_error, "calibrated": own.calibrated_error}
    errors["interrupted"] = ss.replay_recorded(one.graph, one.policy, interruptions=True).calibrated_error
    if others := one.others(every):
        for column, interruptions in (("held out", False), ("held out, interrupted", True)):
            errors[column] = ss.replay_recorded(
                one.graph, one.policy, calibrated_on=others, interruptions=interruptions
            ).calibrated_error
    return {
        "recording": one.name,
        "policy": own.plain.policy,
        "lanes": own.recorded.n_cores,
        "tasks": one.graph.n_tasks,
        "recorded": own.recorded.makespan_s,
        "a start": own.overheads.dispatch_s,
        "away": absences_s(own.recorded, own.gaps, own_tasks=one.policy is None).sum(),
        **{name: errors.get(name, np.nan) for name in ERRORS},
    }


def beats(table: pd.DataFrame, column: str) -> pd.Series[bool]:
    """Return which rows have a smaller error than a plain replay."""
    return table[column].isna() | (table[column].abs() < table["plain"].abs() - SAME)


def shown(table: pd.DataFrame) -> str:
    """Return the table as Markdown."""
    lines = [f"| {' | '.join(table.columns)} |", f"|{' --- |' * len(table.columns)}"]
    for values in table.itertuples(index=False):
        name, policy, lanes, tasks, recorded_s, dispatch_s, away_s, *errors = values
        told = ["" if np.isnan(error) else f"{error:+.2%}" for error in errors]
        lines.append(
            f"| {name} | {policy} | {lanes} | {tasks} | {recorded_s * 1e3:.2f} ms | {dispatch_s * 1e6:.1f} µs "
            f"| {away_s * 1e3:.2f} ms | {' | '.join(told)} |"
        )
    return "\n".join(lines)


def summary(errors: pd.Series[float]) -> str:
    """Return the absolute errors of a column in one line."""
    told = errors.abs().dropna()
    return (
        f"absolute error median {told.median():.2%}, mean {told.mean():.2%}, largest {told.max():.2%} "
        f"of {len(told)}"
    )


def starts_s(graph: ss.TaskGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return the gaps of a graph's dispatches, interruptions included, and the kinds of the tasks behind them."""
    assert graph.recorded is not None
    gaps = Gaps.of(graph.recorded)
    told = np.isin(gaps.cause, (DISPATCH, INTERRUPTED))
    return gaps.seconds[told], np.array(list(graph.kinds))[told]


def ordinary_mean(limit: float) -> Callable[[np.ndarray], float]:
    """Return the mean of the gaps up to `limit` times their median."""
    return lambda seconds: float(seconds[seconds <= limit * np.median(seconds)].mean())


def statistics(every: list[Recorded]) -> None:
    """Print the held-out errors of one-lane recordings, whose makespan is tasks and gaps, by statistic of a gap."""
    constant: dict[str, Callable[[np.ndarray], float]] = {
        "median": np.median,
        **{f"mean up to {limit} medians": ordinary_mean(limit) for limit in (3, 10, 30, 100, 300)},
        "mean": np.mean,
    }
    errors: dict[str, list[float]] = {
        name: [] for name in ("none", *constant, "mean by kind up to 100 medians")
    }
    for one in every:
        assert one.graph.recorded is not None
        others = one.others(every)
        if not others or one.graph.recorded.n_cores > 1:
            continue
        recorded_s, (true_s, kinds) = one.graph.recorded.makespan_s, starts_s(one.graph)
        pooled = [np.concatenate(columns) for columns in zip(*map(starts_s, others), strict=True)]
        sums = {"none": 0.0} | {name: len(true_s) * rule(pooled[0]) for name, rule in constant.items()}
        sums["mean by kind up to 100 medians"] = by_kind(*pooled, kinds)
        for name, total_s in sums.items():
            errors[name].append((total_s - true_s.sum()) / recorded_s)
    plain = np.abs(errors["none"])
    for name, found in errors.items():
        lost = int((np.abs(found) >= plain).sum()) if name != "none" else 0
        print(f"{name:<30} {summary(pd.Series(found))}, no better than none in {lost}")


def by_kind(seconds: np.ndarray, kinds: np.ndarray, wanted: np.ndarray) -> float:
    """Return the sum of the mean gaps before each wanted kind; of a kind not seen, the mean of all."""
    usual = seconds <= 100 * np.median(seconds)
    means = pd.Series(seconds[usual]).groupby(kinds[usual]).mean()
    return float(pd.Series(wanted).map(means).fillna(seconds[usual].mean()).sum())


def goals(every: list[Recorded], table: pd.DataFrame) -> bool:
    """Print which goals hold; return whether all of them do."""
    held = True
    for column in (column for column in ("calibrated", "held out") if table[column].notna().any()):
        lost = table["recording"][~beats(table, column)].tolist()
        held &= told(f"{column} beats plain in every row", lost)
    for runtime, most in GOALS.items():
        own = table[[one.runtime == runtime for one in every]]
        lost = [
            f"{name} {error:+.2%}"
            for name, error in zip(own["recording"], own["interrupted"], strict=True)
            if abs(error) > most
        ]
        if len(own):
            held &= told(f"{runtime}, interrupted: {len(own)} errors of at most {most:.0%}", lost)
    return held


def told(goal: str, lost: list[str]) -> bool:
    """Print whether a goal holds, and where not; return whether."""
    print(f"{'MISSED' if lost else 'holds'}  {goal}{f'; not in {lost}' if lost else ''}")
    return not lost


def main() -> int:
    """Print the table; exit status 1 where a goal is missed and `--bars` asks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=Path, default=SHARED, help="Folder of recordings, by format.")
    parser.add_argument("--statistics", action="store_true")
    parser.add_argument(
        "--bars", action="store_true", help="Print which goals hold; exit status 1 if one does not."
    )
    options = parser.parse_args()
    every = list(recordings(options.samples))
    table = pd.DataFrame([row(one, every) for one in every])
    print(shown(table))
    for column in ERRORS:
        if table[column].notna().any():
            print(f"{column:<21} {summary(table[column])}")
    if options.statistics:
        statistics(every)
    return 0 if not options.bars or goals(every, table) else 1


if __name__ == "__main__":
    sys.exit(main())
