"""Variation of the seconds of an op from run to run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting import MeasuredOp, Point
from simsched.execute.run.execution import Execution
from simsched.execute.run.run import Case
from simsched.graph import TaskGraph

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
