"""View of a running replay for a dynamic policy; it is read-only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from simsched.graph.taskgraph import Seconds
from simsched.policy.problem import Problem


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
        ...

    @property
    def ready(self) -> Sequence[int]:
        """Tasks that can start, ascending."""
        ...

    @property
    def newly_ready(self) -> Sequence[int]:
        """Tasks that became ready since the previous call of `decide`, in that order."""
        ...

    @property
    def running(self) -> Sequence[Running]:
        """Tasks dispatched or running, in the order in which they were started."""
        ...

    @property
    def idle_cores(self) -> Sequence[int]:
        """Cores that no task holds, ascending."""
        ...

    @property
    def problem(self) -> Problem:
        """The graph, the machine and the estimates."""
        ...

    @property
    def levels(self) -> Seconds:
        """Longest accumulated estimate from each task to a sink, shape (n,)."""
        ...

    def ready_s(self, task: int) -> float:
        """Return when a ready or started task became ready; other tasks are an error."""
        ...

    def seconds(self, task: int, width: int = 1, core: int | None = None) -> float:
        """Return the estimated seconds of a task on `width` cores, 1 or more, of the kind of a core if given."""
        ...

    def missing_B(self, task: int, core: int) -> float:
        """Return the bytes that a task reads and that are neither at a core's place nor on their way there."""
        ...

    def fetch_s(self, task: int, core: int) -> float:
        """Return the estimated seconds to move these bytes there, one object after another, if nothing else moves."""
        ...

    def free_B(self, core: int) -> float:
        """Return the bytes that a core's place can still hold; without `memory_limit="wait"` or `"spill"`, its size."""
        ...
