"""Recorded runs beside their replays: python benchmarks/recorded.py [--samples FOLDER] [--statistics].

The bundled recordings, and all ONNX Runtime and PyTorch ones of a folder of further samples where there is one. Goal:
overheads calibrated from a trace's own gaps, and from those of other recordings ("held out"), both beat a replay
without overheads in every row. Held out are the other runs of the same profile (ONNX Runtime), or else the other
recordings of networks alike; where there is none the column is empty. `undisturbed` is held out, too, beside what the
run would have taken without its interruptions; `busy host` counts interruptions as overheads.

`--statistics`: what a start costs by other statistics of the others' gaps, all recordings of one lane.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

import simsched as ss
from simsched.execute.gaps import DISPATCH, INTERRUPTED, Gaps
from simsched.traces.samples import SAMPLES, sample_files

SHARED = Path(__file__).resolve().parents[2] / "shared/samples"
#: PyTorch recordings hold one step each; these networks are alike.
ALIKE = {
    "cnn": "branches",
    "branches_t1": "branches",
    "inception_t1": "inception",
    "inception_t2": "inception",
}
#: Errors that differ by less are the same: times are recorded in nanoseconds at best.
SAME = 1e-9
ERRORS = ("plain", "calibrated", "held out", "undisturbed", "busy host")


@dataclass(frozen=True)
class Recorded:
    """A recording, and what it is alike."""

    name: str
    group: str
    graph: ss.TaskGraph

    def others(self, every: list[Recorded]) -> list[ss.TaskGraph]:
        """Return what else is alike."""
        return [other.graph for other in every if other.group == self.group and other is not self]


def pytorch(folder: Path) -> Iterator[Recorded]:
    """Yield the bundled recordings and those of a folder."""
    files = {f"bundled {name}": sample_files(name) for name in SAMPLES}
    for kineto in sorted(folder.glob("pytorch/*.kineto.json.gz")):
        trace = kineto.with_name(kineto.name.replace(".kineto.", ".et."))
        files[kineto.name.removesuffix(".kineto.json.gz")] = (kineto, trace)
    for name, (kineto, trace) in files.items():
        key = name.removeprefix("bundled ")
        graph = ss.load(kineto, execution_trace=trace)
        yield Recorded(f"PyTorch {name}", f"PyTorch {ALIKE.get(key, key.removesuffix('_t1'))}", graph)


def onnxruntime(folder: Path) -> Iterator[Recorded]:
    """Yield every run of the profiles of a folder."""
    for profile in sorted(folder.glob("onnx/*.ortprof.json.gz")):
        name = profile.name.removesuffix(".ortprof.json.gz")
        model = profile.with_name(f"{name}.optimized.zeroed.onnx.gz")
        runs = int(ss.load(profile, model=model).report.facts["runs"])
        for run in range(runs):
            yield Recorded(f"ONNX {name} run {run}", f"ONNX {name}", ss.load(profile, model=model, run=run))


def row(one: Recorded, every: list[Recorded]) -> dict[str, object]:
    """Return a recording's row of the table."""
    own = ss.replay_recorded(one.graph)
    recorded_s, interrupted_s = own.recorded.makespan_s, own.gaps.interrupted_s
    held_out = undisturbed = busy = np.nan
    if others := one.others(every):
        replayed = ss.replay_recorded(one.graph, calibrated_on=others)
        held_out = replayed.calibrated_error
        undisturbed = replayed.calibrated.makespan_s / (recorded_s - interrupted_s) - 1
        busy = ss.replay_recorded(one.graph, calibrated_on=others, interruptions=True).calibrated_error
    errors = (own.plain_error, own.calibrated_error, held_out, undisturbed, busy)
    return {
        "recording": one.name,
        "lanes": own.recorded.n_cores,
        "tasks": one.graph.n_tasks,
        "recorded": recorded_s,
        "a start": own.overheads.dispatch_s,
        "interrupted": interrupted_s / recorded_s,
        **dict(zip(ERRORS, errors, strict=True)),
    }


def beats(table: pd.DataFrame, column: str) -> pd.Series[bool]:
    """Return which rows have a smaller error than a plain replay."""
    return table[column].isna() | (table[column].abs() < table["plain"].abs() - SAME)


def shown(table: pd.DataFrame) -> str:
    """Return the table as Markdown."""
    lines = [f"| {' | '.join(table.columns)} |", f"|{' --- |' * len(table.columns)}"]
    for values in table.itertuples(index=False):
        name, lanes, tasks, recorded_s, dispatch_s, interrupted, *errors = values
        told = ["" if np.isnan(error) else f"{error:+.2%}" for error in errors]
        lines.append(
            f"| {name} | {lanes} | {tasks} | {recorded_s * 1e3:.2f} ms | {dispatch_s * 1e6:.1f} µs "
            f"| {interrupted:.1%} | {' | '.join(told)} |"
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
        told = {"none": 0.0} | {name: len(true_s) * rule(pooled[0]) for name, rule in constant.items()}
        told["mean by kind up to 100 medians"] = by_kind(*pooled, kinds)
        for name, total_s in told.items():
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


def main() -> int:
    """Print the table; exit status 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=Path, default=SHARED, help="Folder with pytorch/ and onnx/.")
    parser.add_argument("--statistics", action="store_true")
    options = parser.parse_args()
    every = [*pytorch(options.samples), *onnxruntime(options.samples)]
    table = pd.DataFrame([row(one, every) for one in every])
    print(shown(table))
    for column in ERRORS:
        if table[column].notna().any():
            print(f"{column:<12} {summary(table[column])}")
    if options.statistics:
        statistics(every)
    met = True
    for column in (column for column in ("calibrated", "held out") if table[column].notna().any()):
        lost = table["recording"][~beats(table, column)].tolist()
        met &= not lost
        print(
            f"{'MISSED' if lost else 'holds'}  {column} beats plain in every row{f'; not in {lost}' if lost else ''}"
        )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
