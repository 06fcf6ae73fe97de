"""The seconds of a graph's ops by width, read from whole graphs that run on this host, and doubts about these.

An op that runs alone in a loop finds its operands in the caches and is 7-10 % too fast. So whole graphs run, in random
order, on executors of every width, and the ops' seconds are read from their measured schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import Z95
from simsched.costs.fitting import Calibration, MeasuredOp, Op, Overheads, Point, measured_ops
from simsched.costs.fitting.points import Sharing
from simsched.execute.recorded.gaps import DISPATCH, Gaps
from simsched.execute.run.execution import FEWEST, Execution, too_few
from simsched.execute.run.run import Case
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.policy import RankPolicy, policy as policy_of
from simsched.schedule import Schedule
from simsched.text import counted

#: Of `calibration_cases` and `deciding_cases`.
Runs = Sequence[tuple[Case, Execution]]
METHOD = (
    "whole graphs in random order on executors of each width; seconds of an op on a width: mean over its tasks of "
    "their medians over the runs that count, times what makes them add up to a graph's median work"
)


def calibration_cases(
    graphs: Sequence[TaskGraph], n_threads: int, layouts: Iterable[tuple[int, int]] = ()
) -> list[Case]:
    """Return the cases that measure graphs: each in random order on layouts of executors.

    On as many executors of each width as fit, and on further layouts: an op is slower next to others.
    """
    every = dict.fromkeys([*((n_threads // width, width) for width in range(1, n_threads + 1)), *layouts])
    return [Case(graph, "fifo[order=random]", layout) for graph in graphs for layout in every]


def deciding_cases(graphs: Sequence[TaskGraph], layouts: Iterable[tuple[int, int]]) -> list[Case]:
    """Return the cases that measure the cost of a policy that chooses widths during the run."""
    return [Case(graph, "corun[candidates=1]", layout) for graph in graphs for layout in layouts]


def calibrated(runs: Runs, layout: tuple[int, int] | None = None) -> Calibration:
    """Return the results of runs of calibration cases.

    Parameters
    ----------
    runs : sequence of (Case, Execution)
        Of `calibration_cases` and `deciding_cases`.
    layout : (int, int), optional
        Executors and width of the cases to be predicted: of each width, runs on as many executors are taken, or on the
        most below that; those on all threads when not given.
    """
    taken, decisions = taken_runs(runs, layout), deciding_runs(runs, layout)
    rows = [row for case, execution in taken for row in _points(case.graph, execution)]
    latencies = [run.latency_s for _, run in taken if np.isfinite(run.latency_s)]
    facts: dict[str, float | str] = {
        "runs": sum(len(execution) for _, execution in taken),
        "dropped": sum(execution.n_dropped for _, execution in taken),
    }
    if scatter := _scatter([run for _, run in taken]):
        facts["scatter"] = scatter
    if latencies:
        facts["core_to_core_s"] = float(np.median(latencies))
    cost_s = _gap_s([run for _, run in taken]) or 0.0
    return Calibration.of(
        _merged(rows),
        METHOD,
        overheads=Overheads(dispatch_s=cost_s, pop_s=cost_s, decide_s=_gap_s(decisions)),
        facts=facts,
    )


def taken_runs(runs: Runs, layout: tuple[int, int] | None = None) -> list[tuple[Case, Execution]]:
    """Return the runs from which `calibrated` takes the seconds of ops, for cases of a layout."""
    static = [(case, run) for case, run in runs if not _decides(case)]
    of_width: dict[int, set[int]] = {}
    for case, _ in static:
        executors, width = _layout(case)
        of_width.setdefault(width, set()).add(executors)
    most = inf if layout is None else layout[0]
    chosen = {
        width: max((count for count in counts if count <= most), default=min(counts))
        for width, counts in of_width.items()
    }
    return [(case, run) for case, run in static if chosen[_layout(case)[1]] == _layout(case)[0]]


def deciding_runs(runs: Runs, layout: tuple[int, int] | None = None) -> list[Execution]:
    """Return the runs from which `calibrated` takes the seconds of decisions, for cases of a layout."""
    return [run for case, run in runs if _decides(case) and layout in (None, _layout(case))]


def _scatter(runs: Sequence[Execution]) -> float:
    """Return the standard deviation of the log of a makespan from run to run: the 95th percentile of all, over 1.96.

    Shared hosts are in one of several states for milliseconds to seconds, which half of the runs hardly show.
    """
    off = [
        np.log(run.makespans_s[run.kept & (run.makespans_s > 0)] / run.median_s)
        for run in runs
        if run.median_s > 0
    ]
    return float(np.quantile(np.abs(np.concatenate(off)), 0.95)) / Z95 if off else 0.0


def _layout(case: Case) -> tuple[int, int]:
    assert isinstance(case.layout, tuple)  # noqa: S101 - narrows the type: calibration cases are made so
    return case.layout


def _points(graph: TaskGraph, execution: Execution) -> Iterator[tuple[Op, Point]]:
    """Yield an op and its point for each kind and shape of a graph."""
    if not graph.n_tasks:
        return
    width, seconds, machine = (
        int(execution.schedule.widths[0]),
        _seconds(execution),
        execution.schedule.machine,
    )
    sharing: Sharing = (
        "shared" if width > 1 and machine is not None and machine.cores_per_tile > 1 else "apart"
    )
    for (kind, shape), tasks in tasks_by_op(graph).items():
        op = Op(kind, shape, _known(graph.flops[tasks]), _known(graph.bytes_B[tasks]))
        runs = int(execution.kept.sum()) * len(tasks)
        yield op, Point(width, max(float(seconds[tasks].mean()), 1e-9), sharing, None, runs)


def _seconds(execution: Execution) -> Seconds:
    """Return the medians of the tasks, scaled so that they add up to the median work of a run.

    Delays are rare and long: medians alone add up to 2 to 7 % less than the time of a run.
    """
    medians = execution.median_tasks_s
    work_s = np.median(
        [
            float((s.finish_s - s.start_s).sum())
            for s, kept in zip(execution, execution.kept, strict=True)
            if kept
        ]
    )
    total_s = float(medians.sum())
    return medians * (work_s / total_s) if total_s > 0 else medians


def _known(amounts: Seconds) -> float | None:
    middle = np.median(amounts)
    return None if np.isnan(middle) else float(middle)


def _merged(rows: Sequence[tuple[Op, Point]]) -> list[MeasuredOp]:
    """Return the ops; those that several graphs have get the mean of their points, weighted by runs."""
    found: dict[tuple[str, str, int], tuple[Op, list[Point]]] = {}
    for op, point in rows:
        found.setdefault((op.kind, op.shape, point.width), (op, []))[1].append(point)
    merged = []
    for op, points in found.values():
        runs = sum(point.runs for point in points)
        seconds = sum(point.seconds * point.runs for point in points) / runs
        merged.append((op, Point(points[0].width, seconds, points[0].sharing, None, runs)))
    return list(measured_ops(merged))


def _decides(case: Case) -> bool:
    return not isinstance(policy_of(case.policy), RankPolicy)


def _gap_s(runs: Sequence[Execution]) -> float | None:
    """Return the cost of a start: the mean gap between tasks of an executor that had no need to wait.

    Of every run, and of those the median; None where there was no such gap.
    """
    kept = [s for run in runs for s, counts in zip(run, run.kept, strict=True) if counts]
    means = [float(gaps.mean()) for s in kept if len(gaps := Gaps.of(s).of_cause(DISPATCH))]
    return float(np.median(means)) if means else None


#: Kind and shape.
Key = tuple[str, str]


def tasks_by_op(graph: TaskGraph) -> dict[Key, npt.NDArray[np.intp]]:
    """Return the tasks of each kind and shape, ascending."""
    pairs = np.stack([graph.kinds.codes, graph.shapes.codes])
    distinct, label = np.unique(pairs, axis=1, return_inverse=True)
    order = np.argsort(label.ravel(), kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label.ravel(), minlength=distinct.shape[1]))[:-1])
    return {
        (graph.kinds.labels[kind], graph.shapes.labels[shape]): tasks
        for (kind, shape), tasks in zip(distinct.T.tolist(), groups, strict=True)
    }


def with_spreads(ops: Sequence[MeasuredOp], runs: Sequence[tuple[Case, Execution]]) -> tuple[MeasuredOp, ...]:
    """Return ops whose points have their spread and the number of dropped measurements.

    The spread is that of a task from run to run (half the interquartile range over the median), its median over the
    op's tasks; tasks of one op that differ from each other in every run do not widen it.

    Parameters
    ----------
    ops : sequence of MeasuredOp
    runs : sequence of (Case, Execution)
        Those that the points were read from.
    """
    spreads: dict[tuple[Key, int], list[float]] = {}
    dropped: dict[tuple[Key, int], int] = {}
    for case, execution in runs:
        of_task, width = _spreads(execution), int(execution.schedule.widths[0]) if case.graph.n_tasks else 0
        for key, tasks in tasks_by_op(case.graph).items():
            spreads.setdefault((key, width), []).extend(of_task[tasks].tolist())
            dropped[key, width] = dropped.get((key, width), 0) + execution.n_dropped * len(tasks)
    return tuple(_with_spreads(one, spreads, dropped) for one in ops)


def _with_spreads(
    one: MeasuredOp,
    spreads: Mapping[tuple[Key, int], Sequence[float]],
    dropped: Mapping[tuple[Key, int], int],
) -> MeasuredOp:
    def scattered(point: Point) -> Point:
        key = ((one.op.kind, one.op.shape), point.width)
        known = [spread for spread in spreads.get(key, ()) if np.isfinite(spread)]
        spread = float(np.median(known)) if known else None
        return replace(point, spread=spread, dropped=dropped.get(key, 0))

    return replace(one, points=tuple(scattered(point) for point in one.points))


def _spreads(execution: Execution) -> npt.NDArray[np.float64]:
    """Return the spread of each task over the runs that count, shape (n,); NaN where fewer than two count."""
    kept = [run.schedule for run, kept in zip(execution.runs, execution.kept, strict=True) if kept]
    seconds = np.array([schedule.finish_s - schedule.start_s for schedule in kept])
    if len(kept) < 2:
        return np.full(seconds.shape[1], np.nan)
    low, middle, high = np.percentile(seconds, [25, 50, 75], axis=0)
    return np.asarray(np.divide((high - low) / 2, middle, out=np.full_like(middle, np.nan), where=middle > 0))


#: Largest difference of the low quartiles of the earlier and the later half of the runs, as a share of the lower one.
APART = 0.2
#: Largest standard error of predicted over measured makespan that comes from the scatter of runs.
UNCERTAIN = 0.04
#: Share of a prediction's core-seconds on teams of a width for which runs on that width count.
RESTS = 0.5


def doubt(seconds: npt.NDArray[np.float64], undisturbed: npt.NDArray[np.bool_]) -> str:
    """Return why these runs do not determine the true seconds of something; empty where they do.

    Parameters
    ----------
    seconds : float64 array, shape (runs,)
        Its seconds in each run, in the order of the runs.
    undisturbed : bool array, shape (runs,)
        Which runs were undisturbed.

    Examples
    --------
    >>> calm, noisy = np.ones(20, bool), np.arange(20) < 2
    >>> doubt(np.full(20, 1e-3), calm), doubt(np.full(20, 1e-3), noisy)
    ('', '2 of 20 runs were undisturbed')
    >>> doubt(np.repeat([1e-3, 2e-3], 10), calm)
    'its earlier and later runs differ by 100%'
    """
    clean = seconds[undisturbed]
    if too_few(undisturbed):
        return f"{len(clean)} of {len(seconds)} runs were undisturbed"
    if len(clean) >= FEWEST:
        low, high = sorted(float(np.percentile(half, 25)) for half in np.array_split(clean, 2))
        if high > (1 + APART) * low:
            return f"its earlier and later runs differ by {high / max(low, 1e-12) - 1:.0%}"
    return ""


@dataclass(frozen=True)
class OpDoubt:
    """An op whose seconds are unknown on teams of one width.

    Parameters
    ----------
    kind, shape : str
    width : int
        Threads.
    why : str
    """

    kind: str
    shape: str
    width: int
    why: str

    def __str__(self) -> str:
        """Return it as a sentence."""
        op = " ".join(word for word in (self.kind or "no kind", self.shape) if word)
        return f"{op} on {counted(self.width, 'thread')}: {self.why}"


def op_doubts(measured: Sequence[tuple[TaskGraph, Execution]]) -> tuple[OpDoubt, ...]:
    """Return the ops whose seconds these runs do not determine.

    Parameters
    ----------
    measured : sequence of (TaskGraph, Execution)
        Runs that ops are calibrated from. An op of several graphs is determined if one of them determines it.
    """
    found: dict[tuple[str, str, int], list[str]] = {}
    for graph, execution in measured:
        width = int(execution.schedule.widths[0]) if graph.n_tasks else 0
        seconds = np.array([schedule.finish_s - schedule.start_s for schedule in execution])
        for (kind, shape), tasks in tasks_by_op(graph).items():
            why = doubt(seconds[:, tasks].mean(axis=1), execution.undisturbed)
            found.setdefault((kind, shape, width), []).append(why)
    return tuple(OpDoubt(*key, whys[0]) for key, whys in found.items() if all(whys))


def with_doubts(calibration: Calibration, runs: Sequence[tuple[Case, Execution]]) -> Calibration:
    """Return a calibration whose facts include the ops that its runs do not determine.

    Parameters
    ----------
    calibration : Calibration
    runs : sequence of (Case, Execution)
        Each on teams of one width.
    """
    found = op_doubts([(case.graph, run) for case, run in runs])
    facts = {"cannot_tell_here": "; ".join(map(str, found))} if found else {}
    return replace(calibration, facts={**calibration.facts, **facts})


def case_doubt(
    execution: Execution,
    simulated: Schedule,
    basis: Sequence[Execution],
    deciding: Sequence[Execution] = (),
) -> str:
    """Return why measured and predicted makespan of a case cannot be compared here; empty where they can.

    Parameters
    ----------
    execution : Execution
        The measurements.
    simulated : Schedule
        The predicted schedule.
    basis : sequence of Execution
        Runs that the ops' seconds are calibrated from, on one width each.
    deciding : sequence of Execution
        Runs that the seconds of decisions are calibrated from.
    """
    if why := doubt(execution.makespans_s, execution.undisturbed):
        return why
    used = [run for run in basis if _used(simulated, run) >= RESTS]
    for what, runs in (("calibrate ops", used), ("time decisions", deciding)):
        for run in runs:
            if too_few(run.undisturbed):
                return f"of those that {what}, {doubt(run.makespans_s, run.undisturbed)}"
    error = np.hypot(execution.uncertainty, max((run.uncertainty for run in used), default=0.0))
    return f"runs scatter so much that the ratio is uncertain by {error:.0%}" if error > UNCERTAIN else ""


def _used(simulated: Schedule, run: Execution) -> float:
    """Return the share of a prediction's core-seconds spent on teams of the width of a run."""
    area = (simulated.finish_s - simulated.start_s) * simulated.widths
    total, widths = float(area.sum()), run.schedule.widths[:1]
    return float(area[np.isin(simulated.widths, widths)].sum()) / total if total > 0 else 0.0
