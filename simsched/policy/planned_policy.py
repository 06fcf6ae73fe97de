"""`PlannedPolicy`: a static policy that says before the replay where each task runs, and in which order."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.errors import PolicyError
from simsched.graph.adjacency import Index
from simsched.policy.platform import Platform
from simsched.policy.policy import Discipline
from simsched.policy.rank_policy import RankPolicy


@dataclass(frozen=True, eq=False)
class Assignment:
    """Executor of each task, and the order in which executors run their tasks.

    Parameters
    ----------
    executor : int32 array, shape (n,)
        Executor that runs each task.
    order : int32 array, shape (n,)
        All tasks, each after those that it waits for: every executor runs its own in this order.
    notes : tuple of str
        Remarks on this plan, in the `notes` of its schedule.

    Examples
    --------
    >>> import numpy as np
    >>> plan = Assignment(executor=np.array([0, 1, 0], np.int32), order=np.array([1, 0, 2], np.int32))
    >>> plan.executor[plan.order].tolist()
    [1, 0, 0]
    """

    executor: Index
    order: Index
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlannedPolicy(RankPolicy):
    """A static policy that assigns tasks to executors: subclass it and write `plan`.

    Each executor runs its tasks in the planned order, each as soon as it is ready and its data have arrived. What a
    task reads is sent when its producer ends, since the plan says where to.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> class InTurn(ss.PlannedPolicy):
    ...     name = "in-turn"
    ...
    ...     def plan(self, platform, seed):
    ...         tasks = np.arange(platform.successors.n, dtype=np.int32)
    ...         return ss.Assignment(tasks % platform.n_executors, tasks)
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], edge_bytes=4e6)
    >>> ss.simulate(graph, "generic[cores=2,link_Bps=1e6,data=sent]", InTurn()).start_s.tolist()
    [0.0, 0.0, 1.0]
    """

    @property
    def discipline(self) -> Discipline:
        """Order of the plan.

        Examples
        --------
        >>> PlannedPolicy().discipline
        'planned'
        """
        return "planned"

    def plan(self, platform: Platform, seed: int) -> Assignment:
        """Return where each task runs, and in which order.

        Parameters
        ----------
        platform : Platform
            Estimated seconds of tasks and of messages.
        seed : int
            Of the replay, for policies with random choices.

        Returns
        -------
        Assignment

        Raises
        ------
        PolicyError
            If a subclass does not override this method.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> class OnTheFirst(ss.PlannedPolicy):
        ...     name = "on-the-first"
        ...
        ...     def plan(self, platform, seed):
        ...         tasks = np.arange(platform.successors.n, dtype=np.int32)
        ...         return ss.Assignment(np.zeros_like(tasks), tasks)
        >>> ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", OnTheFirst()).makespan_s
        3.0
        """
        raise PolicyError(f"policy {self} has no plan(); write one that returns an Assignment")
