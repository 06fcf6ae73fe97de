"""Invariants of every simulated schedule; each check raises `AssertionError` with the tasks and times concerned."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simsched.policy import Layout
from simsched.schedule import Schedule
from simsched.schedule.runs import Runs

#: Rounding of sums of floats in different orders.
RELATIVE = 1e-9


def hold(holds: object, failure: str) -> None:
    """Raise `AssertionError` with a message if a condition fails."""
    if not holds:
        raise AssertionError(failure)


def check_schedule(schedule: Schedule) -> None:
    """Check precedence, exclusive cores and lower bounds.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_schedule
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_schedule(run)
    >>> check_schedule(replace(run, start_s=run.start_s - 0.5))
    Traceback (most recent call last):
        ...
    AssertionError: task 0 starts before it is ready: ready 0.0, start -0.5, finish 1.0 s
    """
    check_precedence(schedule)
    check_cores(schedule)
    check_bounds(schedule)


def check_precedence(schedule: Schedule) -> None:
    """Check that every task runs once, is ready when its last predecessor finishes, and starts then or later.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_precedence
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_precedence(run)
    >>> check_precedence(replace(run, start_s=run.start_s - 0.5))
    Traceback (most recent call last):
        ...
    AssertionError: task 0 starts before it is ready: ready 0.0, start -0.5, finish 1.0 s
    """
    graph = schedule.graph
    ready = np.zeros(graph.n_tasks)
    np.maximum.at(ready, graph.successors.indices, schedule.finish_s[graph.successors.sources()])
    _hold(schedule.ready_s == ready, schedule, "is not ready when its last predecessor finishes")
    _hold(schedule.start_s >= schedule.ready_s, schedule, "starts before it is ready")
    _hold(schedule.finish_s >= schedule.start_s, schedule, "finishes before it starts")
    order = np.sort(schedule.start_order)
    hold(np.array_equal(order, np.arange(graph.n_tasks)), "a task was started twice or never")
    started = schedule.start_s[schedule.start_order]
    hold((np.diff(started) >= 0).all(), "the start order is not in order of time")


def check_cores(schedule: Schedule) -> None:
    """Check that no core runs two tasks at a time, and that every team has cores of the machine.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_cores
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_cores(run)
    >>> check_cores(replace(run, start_s=run.start_s * 0))
    Traceback (most recent call last):
        ...
    AssertionError: core 0 runs tasks 0 and 1 at once
    """
    runs, widths = Runs.of(schedule), schedule.teams.degrees()
    _hold(schedule.widths >= 1, schedule, "has no cores")
    cores = np.concatenate([schedule.teams.neighbours(t) for t in runs.team] or [np.empty(0, np.int32)])
    if len(cores) and (cores.min() < 0 or cores.max() >= schedule.n_cores):
        raise AssertionError(f"core {cores.max()} is not one of {schedule.n_cores}")
    run = np.repeat(np.arange(len(runs)), widths[runs.team])
    # Tasks of no length hold no core; at one instant a core changes hands.
    lasting = runs.end_s[run] > runs.start_s[run]
    run, cores = run[lasting], cores[lasting]
    order = np.lexsort((runs.start_s[run], cores))
    run, cores = run[order], cores[order]
    clash = np.flatnonzero((cores[1:] == cores[:-1]) & (runs.start_s[run[1:]] < runs.end_s[run[:-1]]))
    if len(clash):
        one, other = runs.task[run[clash[0]]], runs.task[run[clash[0] + 1]]
        raise AssertionError(f"core {cores[clash[0]]} runs tasks {one} and {other} at once")


def check_bounds(schedule: Schedule) -> None:
    """Check that the makespan is at least the critical path and the area.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_bounds
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_bounds(run)
    >>> check_bounds(replace(run, finish_s=run.finish_s / 2))
    Traceback (most recent call last):
        ...
    AssertionError: the makespan 1.5 is below the bound 3.0
    """
    numbers = schedule.metrics()
    bound = max(numbers["critical_path_s"], numbers["area_s"])
    # Short tasks that start late are known only to the digits of their end time.
    rounding_s = schedule.graph.n_tasks * float(np.spacing(schedule.finish_s.max(initial=0.0)))
    if schedule.makespan_s < bound * (1 - RELATIVE) - rounding_s:
        raise AssertionError(f"the makespan {schedule.makespan_s} is below the bound {bound}")


def check_work_conserving(schedule: Schedule) -> None:
    """Check that no executor, or core without a layout, idles while a task is ready; without software costs.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_work_conserving
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_work_conserving(run)
    >>> check_work_conserving(replace(run, start_s=run.start_s + 1, finish_s=run.finish_s + 1))
    Traceback (most recent call last):
        ...
    AssertionError: task 0 waits from 0.0 to 1.0 s beside idle executors
    """
    if schedule.layout:
        what, places, held = (
            "executors",
            Layout.parse(schedule.layout).executors,
            np.ones_like(schedule.widths),
        )
    else:
        what, places, held = "cores", schedule.require_machine().n_threads, schedule.widths
    waits = schedule.start_s > schedule.ready_s
    for task in np.flatnonzero(waits):
        busy = _least_busy(schedule, held, schedule.ready_s[task], schedule.start_s[task])
        if busy < places:
            raise AssertionError(
                f"task {task} waits from {schedule.ready_s[task]} to {schedule.start_s[task]} s beside idle {what}"
            )


def _least_busy(schedule: Schedule, held: npt.NDArray[np.integer], begin_s: float, end_s: float) -> int:
    """Return the least number of busy places at any time within an interval, each task holding some."""
    inside = (
        (schedule.start_s < end_s) & (schedule.finish_s > begin_s) & (schedule.finish_s > schedule.start_s)
    )
    times = np.unique(
        np.clip(np.r_[schedule.start_s[inside], schedule.finish_s[inside], begin_s, end_s], begin_s, end_s)
    )
    middles = (times[1:] + times[:-1]) / 2
    # Neighbouring floats have no midpoint to check.
    middles = middles[(middles > times[:-1]) & (middles < times[1:])]
    running = (schedule.start_s[inside, None] <= middles) & (schedule.finish_s[inside, None] > middles)
    return int((running * held[inside, None]).sum(axis=0).min(initial=np.iinfo(np.int64).max))


def check_graham(schedule: Schedule) -> None:
    """Check that list scheduling on m executors takes at most work / m + (1 - 1/m) critical path.

    For schedules without software costs, of fixed layouts or, where there is none, of teams of one core.

    Parameters
    ----------
    schedule : Schedule

    Raises
    ------
    AssertionError
        If that does not hold; the message names tasks and times.

    References
    ----------
    Bounds on multiprocessing timing anomalies. SIAM J. Applied Mathematics 17(2), 1969.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import simsched as ss
    >>> from simsched.testing import check_graham
    >>> run = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), "generic[cores=2]", "fifo")
    >>> check_graham(run)
    >>> check_graham(replace(run, finish_s=run.finish_s * 2))
    Traceback (most recent call last):
        ...
    AssertionError: the makespan 6.0 is above Graham's bound 3.0
    """
    executors = (
        Layout.parse(schedule.layout).executors if schedule.layout else schedule.require_machine().n_threads
    )
    bound = schedule.alone_s.sum() / executors + (1 - 1 / executors) * schedule.metrics()["critical_path_s"]
    if schedule.makespan_s > bound * (1 + RELATIVE):
        raise AssertionError(f"the makespan {schedule.makespan_s} is above Graham's bound {bound}")


def _hold(holds: npt.NDArray[np.bool_], schedule: Schedule, failure: str) -> None:
    if not holds.all():
        task = int(np.argmin(holds))
        start, finish = float(schedule.start_s[task]), float(schedule.finish_s[task])
        times = f"ready {float(schedule.ready_s[task])}, start {start}, finish {finish} s"
        raise AssertionError(f"task {task} {failure}: {times}")
