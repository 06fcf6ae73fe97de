"""Critical path first: the central scheduler of Graphi (Sec. 4-6, Alg. 1-2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.graph.adjacency import Csr
from simsched.machine import Machine
from simsched.policy import Layout, Problem, RankPolicy, Shortcuts
from simsched.policy.placement import executor_cores
from simsched.policy.shortcuts import released, require_small_s, small_tasks


@dataclass(frozen=True)
class CriticalPath(RankPolicy):
    """The ready task of the highest level first, on the lowest-numbered idle executor.

    The level is the longest accumulated estimate from the task to a sink, the task included, on the executors' width.
    Symmetric pinned executors, one central scheduler. Cost: one dispatch per task, inline ones excepted; O(log n) each.

    Parameters
    ----------
    small_s : float
        A task of at most so many estimated seconds on one thread is small: it runs on the executor whose task released
        it, without a decision; one that nothing releases runs on the light-weight executor, one thread on the first
        reserved core, where there is one. 0, the default, for none. A few dispatches are a reasonable bound, 1e-6 on a
        Knights Landing: a longer task gains more from co-running than it loses by being dispatched.
    reserved : int
        Cores that no executor takes, the last of the machine: for the light-weight executor and the scheduler.
    buffered : bool
        Whether a busy executor can be handed one task in advance, the lowest-numbered first. It hides the dispatch, and
        binds the task to an executor that may be free later than another.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([2.0, 2.0, 2.0, 4.0], [(2, 3)])
    >>> ss.compare(graph, "generic[cores=2]", ["fifo", "critical-path"])["makespan_s"].tolist()
    [8.0, 6.0]
    """

    name = "critical-path"

    small_s: float = 0.0
    reserved: int = 0
    buffered: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require_small_s(self.name, self.small_s)
        if self.reserved < 0:
            raise SpecError(f"critical-path[reserved={self.reserved}]: expected a number of cores, 0 or more")

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the negative level."""
        return -problem.levels

    def most_threads(self, machine: Machine) -> int:
        """Return the hardware threads except those of reserved cores."""
        return self._workers(machine) * machine.smt

    def checked_layout(self, machine: Machine, layout: Layout) -> Layout:
        """Return the layout; one that needs reserved cores is an error."""
        found, most = super().checked_layout(machine, layout), self.most_threads(machine)
        if found.cores > most and not self.oversubscribe:
            raise LayoutError(
                f"the layout {found} needs {found.cores} cores; {machine} has {most} besides the {self.reserved} "
                "reserved"
            )
        return found

    def executors(self, machine: Machine, layout: Layout) -> Csr:
        """Return the cores of each executor."""
        return executor_cores(machine, layout, self.placement, self.reserved)

    def shortcuts(self, problem: Problem) -> Shortcuts | None:
        """Return the small tasks, the light-weight executor and whether there are buffers."""
        if not self.small_s and not self.buffered:
            return None
        small, inline = small_tasks(problem, self.small_s), released(problem)
        light = bool(self.small_s) and self.reserved > 0
        return Shortcuts(
            single_threaded=small & ~inline & light,
            inline=small & inline,
            threads=np.array([self._workers(problem.machine)] if light else [], np.int32),
            buffered=self.buffered,
        )

    def _workers(self, machine: Machine) -> int:
        """Return the cores that executors take."""
        if self.reserved >= machine.n_cores:
            raise LayoutError(
                f"critical-path[reserved={self.reserved}] leaves no core of the {machine.n_cores} of {machine}"
            )
        return machine.n_cores - self.reserved
