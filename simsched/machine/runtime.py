"""`RuntimeProfile`: the software's own costs on a machine."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf

import numpy as np

from simsched.errors import MachineError
from simsched.parameters import is_number


@dataclass(frozen=True)
class RuntimeProfile:
    """The software's own costs (docs/semantics.md, rules 3, 4 and 6).

    Parameters
    ----------
    dispatch_s : float
        Seconds that a central scheduler spends on each start; it serves one start after another.
    decide_s : float or None
        The same for a policy that chooses widths during the run; `dispatch_s` when not given.
    pop_s, pop_per_poller_s : float
        Seconds to take a task from a shared queue, and the addition of every other polling executor.
    fork_join_s, fork_join_per_thread_s : float
        Seconds to fork and join a team of more than one thread, and the addition of each thread.
    barrier_s, barrier_per_thread_s : float
        Seconds of the barrier at the end of such a team's work, and the addition of each thread.
    resize_s : float
        Seconds that a team pays if one of its cores last ran in a team of another size, and teams are reused.
    team_creation_s, team_creation_per_thread_s : float
        The same if teams are not reused: seconds to create the new team's threads, and what each thread adds.
    reuse_teams : bool
        Whether the runtime keeps its threads when a team changes size.
    unpinned_region : float
        Factor on the costs of forking, joining and the barrier if threads are not pinned; at least 1.
    misplaced : float
        If threads are not pinned, the share of them that the operating system runs on a random core, in [0, 1].

    Examples
    --------
    >>> import simsched as ss
    >>> runtime = ss.RuntimeProfile(dispatch_s=1e-6, fork_join_s=2e-6, barrier_s=1e-6, resize_s=5e-6)
    >>> runtime.choice_s, runtime.region_s, runtime.region_per_thread_s, runtime.resize_costs_s
    (1e-06, 3e-06, 0.0, (5e-06, 0.0))
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0])
    >>> ss.simulate(graph, "generic[cores=1]", "critical-path", runtime=runtime).makespan_s
    3.000001
    """

    dispatch_s: float = 0.0
    decide_s: float | None = None
    pop_s: float = 0.0
    pop_per_poller_s: float = 0.0
    fork_join_s: float = 0.0
    fork_join_per_thread_s: float = 0.0
    barrier_s: float = 0.0
    barrier_per_thread_s: float = 0.0
    resize_s: float = 0.0
    team_creation_s: float = 0.0
    team_creation_per_thread_s: float = 0.0
    reuse_teams: bool = True
    unpinned_region: float = 1.0
    misplaced: float = 0.0

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self) if field.name != "reuse_teams"):
            value = getattr(self, name)
            if value is None and name == "decide_s":
                continue
            if not is_number(value) or not 0 <= value < inf:
                raise MachineError(f"runtime cost {name} is {value!r}; it must be zero or more, and finite")
        if not isinstance(self.reuse_teams, (bool, np.bool_)):
            raise MachineError(f"reuse_teams is {self.reuse_teams!r}; expected True or False")
        if self.unpinned_region < 1:
            raise MachineError(f"unpinned_region is {self.unpinned_region}; expected at least 1")
        if self.misplaced > 1:
            raise MachineError(f"misplaced is {self.misplaced}; expected a share from 0 to 1")

    @property
    def choice_s(self) -> float:
        """Seconds of a start decided by a policy at run time."""
        return self.dispatch_s if self.decide_s is None else self.decide_s

    @property
    def region_s(self) -> float:
        """Seconds of an empty parallel region with its barrier, without the part of each thread."""
        return self.fork_join_s + self.barrier_s

    @property
    def region_per_thread_s(self) -> float:
        """Seconds per thread of an empty parallel region with its barrier."""
        return self.fork_join_per_thread_s + self.barrier_per_thread_s

    def not_pinned(self) -> RuntimeProfile:
        """Return the costs of threads that are not pinned: teams take longer to fork, join and wait.

        Returns
        -------
        RuntimeProfile

        Examples
        --------
        >>> import simsched as ss
        >>> ss.RuntimeProfile(fork_join_s=1e-6, unpinned_region=2.0).not_pinned().fork_join_s
        2e-06
        """
        slower = {
            name: getattr(self, name) * self.unpinned_region
            for name in ("fork_join_s", "fork_join_per_thread_s", "barrier_s", "barrier_per_thread_s")
        }
        return replace(self, **slower)

    @property
    def resize_costs_s(self) -> tuple[float, float]:
        """Seconds of changing a team's size, and the additional seconds per thread."""
        if self.reuse_teams:
            return self.resize_s, 0.0
        return self.team_creation_s, self.team_creation_per_thread_s
