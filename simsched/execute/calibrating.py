"""The seconds of a graph's ops by width, read from whole graphs that run on this host.

An op that runs alone in a loop finds its operands in the caches and is 7-10 % too fast. So whole graphs run, in random
order, on executors of every width, and the ops' seconds are read from their measured schedules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from simsched.costs.fitting import Calibration, MeasuredOp, Op, Overheads, Point, measured_ops
from simsched.execute.execution import Execution
from simsched.execute.run import Case
from simsched.graph import TaskGraph

METHOD = (
    "whole graphs in random order on executors of each width; seconds of an op on a width: mean over its tasks of "
    "their medians over the runs that count"
)


def calibration_cases(
    graphs: Sequence[TaskGraph], n_threads: int, layouts: Iterable[tuple[int, int]] = ()
) -> list[Case]:
    """Return the cases that measure graphs: each in random order on layouts of executors.

    On as many executors of each width as there is room for, and on further layouts: an op is slower beside others.
    """
    every = dict.fromkeys([*((n_threads // width, width) for width in range(1, n_threads + 1)), *layouts])
    return [Case(graph, "fifo[order=random]", layout) for graph in graphs for layout in every]


def calibrated(runs: Sequence[tuple[Case, Execution]], layout: tuple[int, int] | None = None) -> Calibration:
    """Return what runs of calibration cases tell.

    Parameters
    ----------
    runs : sequence of (Case, Execution)
    layout : (int, int), optional
        Executors and width of the cases to be predicted: of that width, runs beside as many others are taken where
        there are such; of other widths, and when not given, those on all threads.
    """
    of_width: dict[int, set[int]] = {}
    for case, _ in runs:
        executors, width = _layout(case)
        of_width.setdefault(width, set()).add(executors)
    chosen = {width: max(counts) for width, counts in of_width.items()}
    if layout is not None and layout[0] in of_width.get(layout[1], ()):
        chosen[layout[1]] = layout[0]
    taken = [(case, run) for case, run in runs if chosen[_layout(case)[1]] == _layout(case)[0]]
    rows = [row for case, execution in taken for row in _points(case.graph, execution)]
    latencies = [run.latency_s for _, run in taken if np.isfinite(run.latency_s)]
    facts: dict[str, float | str] = {
        "runs": sum(len(execution) for _, execution in taken),
        "dropped": sum(execution.n_dropped for _, execution in taken),
    }
    if latencies:
        facts["core_to_core_s"] = float(np.median(latencies))
    return Calibration.of(_merged(rows), METHOD, overheads=_overheads(taken), facts=facts)


def _layout(case: Case) -> tuple[int, int]:
    assert isinstance(case.layout, tuple)  # noqa: S101 - narrows the type: calibration cases are made so
    return case.layout


def _points(graph: TaskGraph, execution: Execution) -> Iterator[tuple[Op, Point]]:
    """Yield an op and its point for each kind and shape of a graph."""
    width, seconds = int(execution.schedule.widths[0]), execution.median_tasks_s
    _, label = np.unique(np.stack([graph.kinds.codes, graph.shapes.codes]), axis=1, return_inverse=True)
    label = label.ravel()
    for number in range(int(label.max(initial=-1)) + 1):
        tasks = np.flatnonzero(label == number)
        first, mean = int(tasks[0]), float(seconds[tasks].mean())
        op = Op(
            graph.kinds.labels[graph.kinds.codes[first]],
            graph.shapes.labels[graph.shapes.codes[first]],
            _known(graph.flops[tasks]),
            _known(graph.bytes_B[tasks]),
        )
        runs = int(execution.kept.sum())
        yield op, Point(width, max(mean, 1e-9), "shared" if width > 1 else "apart", None, runs * len(tasks))


def _known(amounts: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float | None:
    middle = np.median(amounts)
    return None if np.isnan(middle) else float(middle)


def _merged(rows: Sequence[tuple[Op, Point]]) -> list[MeasuredOp]:
    """Return the ops, those that several graphs have with the mean of their points, weighted by runs."""
    found: dict[tuple[str, str, int], tuple[Op, list[Point]]] = {}
    for op, point in rows:
        found.setdefault((op.kind, op.shape, point.width), (op, []))[1].append(point)
    merged = []
    for op, points in found.values():
        runs = sum(point.runs for point in points)
        seconds = sum(point.seconds * point.runs for point in points) / runs
        merged.append((op, Point(points[0].width, seconds, points[0].sharing, None, runs)))
    return list(measured_ops(merged))


def _overheads(runs: Sequence[tuple[Case, Execution]]) -> Overheads:
    """Return what a decision costs: the gap between the tasks of an executor that did not have to wait for one."""
    gaps = np.concatenate([_gaps(execution) for _, execution in runs])
    cost_s = float(np.median(gaps)) if len(gaps) else 0.0
    return Overheads(dispatch_s=cost_s, pop_s=cost_s)


def _gaps(execution: Execution) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    schedule = execution.schedule
    order = np.lexsort((schedule.start_s, schedule.executor))
    same = schedule.executor[order[1:]] == schedule.executor[order[:-1]]
    gap = schedule.start_s[order[1:]] - schedule.finish_s[order[:-1]]
    waited = schedule.ready_s[order[1:]] > schedule.finish_s[order[:-1]]
    return np.asarray(gap[same & ~waited])
