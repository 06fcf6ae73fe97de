"""A replay, decided as far as it can be before it starts: arrays for a static policy, the object for a dynamic one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.policy import Policy, Problem, RankPolicy
from simsched.policy.policy import Discipline, Queue


@dataclass(frozen=True, eq=False)
class StaticPlan:
    """Everything a static policy decides, as arrays.

    Parameters
    ----------
    problem : Problem
    runtime : RuntimeProfile
    spec : str
        Spec of the policy.
    queue : {"central", "shared"}
        Who decides.
    discipline : {"rank", "fifo", "lifo"}
        How ready tasks are ordered.
    position : int32 array, shape (n,)
        Place of each task in the policy's order, ties broken by index; used by the discipline "rank".
    executors : Csr
        Cores of each executor.
    seconds : float64 array, shape (n,)
        Seconds that each task really takes on an executor.
    alone_s : float64 array, shape (n,)
        The same without noise.
    memory : (float64 array, int64 array), both of shape (n,), or None
        Memory share and demand of each task, as `TaskCosts.memory` gives them; None where nothing is shared.
    """

    problem: Problem
    runtime: RuntimeProfile
    spec: str
    queue: Queue
    discipline: Discipline
    position: Index
    executors: Csr
    seconds: Seconds
    alone_s: Seconds
    memory: tuple[Seconds, npt.NDArray[np.int64]] | None

    @property
    def dispatch_s(self) -> float:
        """Seconds that a start costs."""
        return self.runtime.pop_s if self.queue == "shared" else self.runtime.dispatch_s

    @property
    def per_poller_s(self) -> float:
        """Seconds that every further idle executor adds to a start."""
        return self.runtime.pop_per_poller_s if self.queue == "shared" else 0.0

    @classmethod
    def of(
        cls, problem: Problem, policy: RankPolicy, runtime: RuntimeProfile, noise: Seconds | None
    ) -> StaticPlan:
        """Ask a static policy for its arrays.

        Raises
        ------
        PolicyError
            If the rank is not one number a task.
        """
        assert problem.layout is not None  # noqa: S101 - narrows the type: static policies always have a layout
        alone = problem.seconds
        return cls(
            problem=problem,
            runtime=runtime,
            spec=str(policy),
            queue=policy.queue,
            discipline=policy.discipline,
            position=_position(policy, problem) if policy.discipline == "rank" else np.empty(0, np.int32),
            executors=policy.executors(problem.machine, problem.layout),
            seconds=alone if noise is None else alone * noise,
            alone_s=alone,
            memory=problem.costs.memory(problem.layout.width) if problem.machine.share_bandwidth else None,
        )


@dataclass(frozen=True, eq=False)
class DynamicPlan:
    """A dynamic policy, to be asked while the replay runs.

    Parameters
    ----------
    problem : Problem
    policy : Policy
        Prepared for the problem.
    runtime : RuntimeProfile
    noise : float64 array, shape (n,), or None
        Factor on each task's seconds.
    spec : str
        Spec of the policy.
    """

    problem: Problem
    policy: Policy
    runtime: RuntimeProfile
    noise: Seconds | None
    spec: str


Plan = StaticPlan | DynamicPlan


def _position(policy: RankPolicy, problem: Problem) -> Index:
    n = problem.graph.n_tasks
    rank = np.asarray(policy.rank(problem))
    if rank.shape != (n,) or rank.dtype.kind not in "iufb":
        raise PolicyError(
            f"policy {policy}: rank() returned {rank.dtype} of shape {rank.shape}; expected {n} numbers"
        )
    if rank.dtype.kind == "f" and np.isnan(rank).any():
        raise PolicyError(f"policy {policy}: rank() returned NaN for task {int(np.isnan(rank).argmax())}")
    position = np.empty(n, np.int32)
    position[np.argsort(rank, kind="stable")] = np.arange(n, dtype=np.int32)
    return position
