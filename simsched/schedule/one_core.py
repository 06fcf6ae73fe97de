"""`OneCore`: the core that speed-ups are over, and what all cores could gain over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.costs import CostModel, TaskCosts
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, RuntimeProfile


@dataclass(frozen=True)
class OneCore:
    """The one core that speed-ups are over.

    Where a machine has several kinds of cores, it is one of the kind on which all tasks in sequence take least; tasks
    that cannot run there take what they do on one of their fastest kind.

    Parameters
    ----------
    seconds_s : float
        All tasks in sequence, each alone there, at the clock of a core while all others are idle. Measured curves
        may gain more than their cores; then `Bounds.area_s` counts fewer core-seconds than these.
    capacity : float
        The speed-up if all cores did their parts of each task without loss: their number where they are alike, whatever
        number of their hardware threads is in use; cores of another kind count by the seconds of all tasks there.
    kind : str
        Name of its kind; empty where all cores are alike.

    References
    ----------
    Topcuoglu, Hariri, Wu, "Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing", IEEE
    Transactions on Parallel and Distributed Systems 13(3), 2002: speedup.

    Examples
    --------
    An MPE of Sunway's core groups does as much as two of its 64 CPEs:

    >>> import simsched as ss
    >>> graph, machine = ss.TaskGraph.from_edges([1.0], flops=[1e9]), ss.machine("sw26010[cores=65]")
    >>> one = OneCore.of(machine, ss.CostModel().on(graph, machine))
    >>> one.kind, one.capacity, one.efficiency(one.seconds_s / 16.5)
    ('MPE', 33.0, 0.5)
    """

    seconds_s: float
    capacity: float
    kind: str = ""

    @classmethod
    def of(cls, machine: Machine, task_costs: TaskCosts) -> OneCore:
        """Return that of the tasks with these costs on the machine."""
        if task_costs.kinds_s is None or machine.kinds is None:
            return cls(task_costs.in_sequence_s, float(machine.n_cores))
        totals_s, kind = _in_turn_s(task_costs.kinds_s).sum(axis=0), best_kind(task_costs)
        shares = np.divide(totals_s[kind], totals_s, out=np.ones(len(totals_s)), where=totals_s > 0)
        capacity = float((np.bincount(machine.kind_of, minlength=len(shares)) * shares).sum())
        return cls(task_costs.in_turn(kind).in_sequence_s, capacity, machine.kinds.names[kind])

    def speedup(self, makespan_s: float) -> float:
        """Return the speed-up of a makespan over this core; 1 where it is 0."""
        return self.seconds_s / makespan_s if makespan_s else 1.0

    def efficiency(self, makespan_s: float) -> float:
        """Return the speed-up of a makespan over the capacity; 1 where it is 0."""
        return self.speedup(makespan_s) / self.capacity if makespan_s else 1.0

    @property
    def in_words(self) -> str:
        """The core in words: `one core`, or `one core of kind MPE`."""
        return f"one core of kind {self.kind}" if self.kind else "one core"

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the kind of this core; nothing where all cores are alike."""
        if not self.kind:
            return ()
        return (f"speed-ups are over {self.in_words}, on which all tasks in sequence take least",)


def one_core(
    graph: TaskGraph, machine: Machine, costs: CostModel | None = None, runtime: RuntimeProfile | None = None
) -> OneCore:
    """Return the core that speed-ups of a graph on a machine are over.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    costs, runtime
        As in `simsched.bounds`.

    Examples
    --------
    >>> import simsched as ss
    >>> one_core(ss.TaskGraph.from_edges([1.0, 2.0, 3.0]), ss.machine("generic[cores=4]"))
    OneCore(seconds_s=6.0, capacity=4.0, kind='')
    """
    return OneCore.of(machine, (costs or CostModel()).on(graph, machine, runtime))


def best_kind(task_costs: TaskCosts) -> int:
    """Return the kind of cores on which all tasks in sequence take least; 0 where all are alike."""
    return 0 if task_costs.kinds_s is None else int(_in_turn_s(task_costs.kinds_s).sum(axis=0).argmin())


def _in_turn_s(kinds_s: Seconds) -> Seconds:
    """Return the seconds of each task on each kind, and the least of all where it cannot run there."""
    return np.where(np.isinf(kinds_s), kinds_s.min(axis=1, keepdims=True), kinds_s)
