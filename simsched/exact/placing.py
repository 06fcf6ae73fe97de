"""Tasks started in an order, each as early as possible, on cores that hold one task at a time."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from simsched.graph import TaskGraph
from simsched.graph.adjacency import place_in

Order = npt.NDArray[np.integer]
Times = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Placed:
    """Times and places of tasks.

    Parameters
    ----------
    ready, start, finish : float64 arrays, shape (n,)
        In the unit of the lengths that were given.
    order : int32 array, shape (n,)
        Task indices as they start.
    held : list of list of int
        The cores (executors) of each task, ascending.
    """

    ready: Times
    start: Times
    finish: Times
    order: npt.NDArray[np.int32]
    held: list[list[int]]

    @property
    def length(self) -> float:
        """Finish of the last task."""
        return float(self.finish.max(initial=0.0))


def placed(graph: TaskGraph, order: Order, widths: Order, lengths: Times | Order, capacity: int) -> Placed:
    """Place tasks in an order, each as early as possible on the cores that are free first.

    Where the order is that of a schedule's starts, no task starts later than there: no more tasks before it run
    when it starts. A task of no length holds no core.

    Parameters
    ----------
    graph : TaskGraph
    order : int array, shape (n,)
        Every task after its predecessors.
    widths, lengths : arrays, shape (n,)
    capacity : int
        Cores (executors) there are.
    """
    ready, start, finish = (np.zeros(graph.n_tasks) for _ in range(3))
    free = np.zeros(capacity)
    held: list[list[int]] = [[]] * graph.n_tasks
    for task in order.tolist():
        ready[task] = finish[graph.predecessors.neighbours(task)].max(initial=0.0)
        width, length = int(widths[task]), float(lengths[task])
        cores = np.argsort(free, kind="stable")[:width]
        start[task] = ready[task] if not length else max(ready[task], free[cores[-1]])
        finish[task] = start[task] + length
        held[task] = np.sort(cores).tolist()
        if length:
            free[cores] = finish[task]
    return Placed(ready, start, finish, np.lexsort((place_in(order), start)).astype(np.int32), held)


def list_order(graph: TaskGraph, levels: Times, widths: Order, lengths: Times, capacity: int) -> Order:
    """Return the order in which tasks start, the highest level first of those that are ready.

    One that does not fit lets no other pass.

    Parameters
    ----------
    graph : TaskGraph
    levels, widths, lengths : arrays, shape (n,)
    capacity : int
        Cores (executors) there are.
    """
    held, missing = np.where(lengths > 0, widths, 0).tolist(), graph.predecessors.degrees().tolist()
    ready = [(-levels[task], task) for task in np.flatnonzero(graph.predecessors.degrees() == 0).tolist()]
    heapify(ready)
    running: list[tuple[float, int]] = []
    order: list[int] = []
    now, idle = 0.0, capacity
    while ready or running:
        while ready and held[ready[0][1]] <= idle:
            task = heappop(ready)[1]
            idle -= held[task]
            order.append(task)
            heappush(running, (now + lengths[task], task))
        now = running[0][0]
        while running and running[0][0] == now:
            task = heappop(running)[1]
            idle += held[task]
            for after in graph.successors.neighbours(task).tolist():
                missing[after] -= 1
                if not missing[after]:
                    heappush(ready, (-levels[after], after))
    return np.array(order, np.int64)


def start_order(graph: TaskGraph, start: Times | Order, lengths: Times | Order) -> Order:
    """Return the order of a schedule's starts, in which tasks of no length come where they are ready.

    Parameters
    ----------
    graph : TaskGraph
    start, lengths : arrays, shape (n,)
        A schedule, both in one unit; a task of no length may start late in it.
    """
    time, held = np.asarray(start, np.float64).copy(), np.asarray(lengths) > 0
    finish = time + lengths
    for task in graph.topological_order[~held[graph.topological_order]].tolist():
        time[task] = finish[task] = finish[graph.predecessors.neighbours(task)].max(initial=0.0)
    return np.lexsort((place_in(graph.topological_order), held, time))
