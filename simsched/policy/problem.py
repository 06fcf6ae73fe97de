"""Input of a policy: the problem, before the replay starts, and a read-only view of a running replay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from simsched.costs import TaskCosts
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.policy.layout import Layout
from simsched.policy.platform import Platform


@dataclass(frozen=True, eq=False)
class Problem:
    """The case of a replay: the graph, the machine and the estimates.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    costs : TaskCosts
        Estimated seconds of each task by width; actual seconds may differ through noise and sharing.
    layout : Layout or None
        The fixed executors and their width; for dynamic policies, the limits asked for.
    seed : int
        Seed of all random numbers.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.policy import Problem
    >>> graph, machine = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), ss.machine("generic[cores=2]")
    >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
    >>> problem.seconds.tolist(), problem.levels.tolist()
    ([1.0, 2.0, 3.0], [4.0, 2.0, 3.0])
    """

    graph: TaskGraph
    machine: Machine
    costs: TaskCosts
    layout: Layout | None = None
    seed: int = 0

    @cached_property
    def seconds(self) -> Seconds:
        """Estimated seconds of each task on the layout's width (on one core without a layout), shape (n,)."""
        return _read_only(self.costs.seconds(self.layout.width if self.layout else 1))

    @cached_property
    def levels(self) -> Seconds:
        """Longest accumulated `seconds` from each task to a sink, the task included, shape (n,)."""
        return _read_only(self.graph.levels(self.seconds))

    @property
    def fastest_widths(self) -> npt.NDArray[np.int64]:
        """The narrowest width on which each task is estimated to be fastest, shape (n,)."""
        return self.costs.fastest_widths

    def platform(self, executors: Csr) -> Platform:
        """Return the input of a planner: seconds of tasks on executors, and of messages between these.

        Parameters
        ----------
        executors : Csr
            Hardware threads of each executor.

        Returns
        -------
        Platform

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.policy import Problem
        >>> graph = ss.TaskGraph.from_edges([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], edge_bytes=[5.0])
        >>> machine = ss.machine("generic[cores=2,kinds=each,link_Bps=1.0,data=sent]")
        >>> problem = Problem(graph, machine, ss.CostModel().on(graph, machine), ss.Layout(2, 1))
        >>> platform = problem.platform(ss.policy("fifo").executors(machine, problem.layout))
        >>> platform.seconds(1).tolist(), platform.message_s(0, 0, 1)
        ([3.0, 1.0], 5.0)
        """
        graph, machine = self.graph, self.machine
        first = executors.indices[executors.indptr[:-1]] % machine.n_cores
        network = None if graph.data is None else machine.network
        place_of = np.zeros_like(first) if network is None else network.place_of[first]
        latency_s, s_per_B = (np.zeros((1, 1)),) * 2 if network is None else network.between_tasks
        return Platform(
            successors=graph.successors,
            kind_seconds=self.seconds_by_kind,
            kind_of=machine.kind_of[first],
            place_of=place_of,
            edge_bytes=np.zeros(graph.n_edges)
            if graph.data is None
            else graph.data.edge_bytes(graph.successors),
            latency_s=latency_s,
            s_per_B=s_per_B,
        )

    @cached_property
    def seconds_by_kind(self) -> Seconds:
        """Estimated seconds of each task on a team of each kind of core, shape (n, kinds)."""
        return _read_only(self.costs.by_kind_s(self.widths_of_kinds))

    @cached_property
    def widths_of_kinds(self) -> tuple[int, ...]:
        """Width of the teams of each kind of core: the layout's (1 without one); that of a device is 1."""
        width, kinds = self.layout.width if self.layout else 1, self.machine.kinds
        return (
            (width,)
            if kinds is None
            else tuple(1 if bps > 0 else width for bps in kinds.link_Bps or (0,) * len(kinds.names))
        )

    def generator(self) -> np.random.Generator:
        """Return a fresh generator of the replay's random numbers for the policy."""
        return np.random.default_rng([self.seed, 1])


def _read_only(column: Seconds) -> Seconds:
    """Return a read-only column for a policy: writing into the estimates would change the replay."""
    column.setflags(write=False)
    return column


@dataclass(frozen=True)
class Running:
    """A task that is dispatched or running.

    Parameters
    ----------
    task : int
        Index of the task.
    cores : tuple of int
        Its team.
    finish_s : float
        When it is estimated to finish: an estimate, not the future.

    Examples
    --------
    >>> import simsched as ss
    >>> class OneByOne(ss.Policy):
    ...     def decide(self, view):
    ...         print(view.now_s, *view.running)
    ...         if view.ready and view.idle_cores:
    ...             yield ss.Start(view.ready[0])
    >>> _ = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", OneByOne)
    0.0
    0.0 Running(task=0, cores=(0,), finish_s=1.0)
    """

    task: int
    cores: tuple[int, ...]
    finish_s: float


class View(Protocol):
    """The state of a replay, read-only (docs/semantics.md, rule 8).

    Values that were read stay unchanged; the view itself continues with the replay.

    Examples
    --------
    >>> import simsched as ss
    >>> class HighestLevel(ss.Policy):
    ...     def decide(self, view):
    ...         if view.ready and view.idle_cores:
    ...             yield ss.Start(max(view.ready, key=lambda task: view.levels[task]))
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> ss.simulate(graph, "generic[cores=1]", HighestLevel).start_order.tolist()
    [0, 2, 1]
    """

    @property
    def now_s(self) -> float:
        """Seconds since the start."""

    @property
    def ready(self) -> Sequence[int]:
        """Tasks that can start, ascending."""

    @property
    def newly_ready(self) -> Sequence[int]:
        """Tasks that became ready since the previous call of `decide`, in that order."""

    @property
    def newly_finished(self) -> Sequence[int]:
        """Tasks that finished since the previous call of `decide`, in that order."""

    @property
    def running(self) -> Sequence[Running]:
        """Tasks dispatched or running, in the order in which they were started."""

    @property
    def idle_cores(self) -> Sequence[int]:
        """Cores that no task holds, ascending."""

    @property
    def problem(self) -> Problem:
        """The graph, the machine and the estimates."""

    @property
    def levels(self) -> Seconds:
        """Longest accumulated estimate from each task to a sink, shape (n,)."""

    def ready_s(self, task: int) -> float:
        """Return when a ready or started task became ready; other tasks are an error."""

    def seconds(self, task: int, width: int = 1, core: int | None = None) -> float:
        """Return the estimated seconds of a task on `width` cores, 1 or more, of the kind of a core if given."""

    def missing_B(self, task: int, core: int) -> float:
        """Return the bytes that a task reads and that are neither at a core's place nor on their way there."""

    def fetch_s(self, task: int, core: int) -> float:
        """Return the seconds until all that a task reads would be at a core's place, if nothing else moved.

        That is the wait of a task placed there now: objects on their way there count with what is left of it. Objects
        that are sent move side by side, in equal shares of links that they share; those that are read, one by one.
        """

    def free_B(self, core: int) -> float:
        """Return the bytes that a core's place can still hold; without `memory_limit="wait"` or `"spill"`, its size."""
