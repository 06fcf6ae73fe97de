"""What a dynamic policy sees while the replay runs; it can look and cannot touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from simsched.graph.taskgraph import Seconds
    from simsched.policy.problem import Problem


@dataclass(frozen=True)
class Running:
    """A task on its way: dispatched or running.

    Parameters
    ----------
    task : int
        Index of the task.
    cores : tuple of int
        Its team.
    finish_s : float
        When it is estimated to finish: an estimate, not the future.
    """

    task: int
    cores: tuple[int, ...]
    finish_s: float


class View(Protocol):
    """The state of a replay, read-only (docs/semantics.md, rule 8)."""

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        ...

    @property
    def ready(self) -> Sequence[int]:
        """Tasks that can start, ascending."""
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
        """Return when a ready task became ready."""
        ...

    def seconds(self, task: int, width: int = 1) -> float:
        """Return the estimated seconds of a task on `width` cores."""
        ...
