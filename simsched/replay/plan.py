"""A replay, decided as far as it can be before it starts: arrays for a static policy, the object for a dynamic one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.costs.loads import Loads, loads
from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr, Index
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.policy import Policy, Problem, RankPolicy
from simsched.policy.placement import strays
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
    prefer : {"lowest", "producer"}
        Which of several idle executors takes a task.
    position : int32 array, shape (n,)
        Place of each task in the policy's order, ties broken by index; used by the discipline "rank".
    executors : Csr
        Cores of each executor.
    seconds : float64 array, shape (n,)
        Seconds that each task really takes on an executor.
    alone_s : float64 array, shape (n,)
        The same without noise.
    loads : Loads or None
        What each task asks of what running tasks share; None where nothing is shared.
    strays : int32 array, shape (n, width), or None
        For each thread of each task's team the hardware thread on which the operating system runs it, or -1 for that of
        the executor; None where threads are pinned.
    """

    problem: Problem
    runtime: RuntimeProfile
    spec: str
    queue: Queue
    discipline: Discipline
    prefer: str
    position: Index
    executors: Csr
    seconds: Seconds
    alone_s: Seconds
    loads: Loads | None
    strays: npt.NDArray[np.int32] | None

    def teams(self, executor: Index) -> tuple[Csr, Index]:
        """Return the distinct teams that ran, and the row of each task's, from the executors that ran them."""
        if self.strays is None:
            return self.executors, executor
        width = self.strays.shape[1]
        home = self.executors.indices.reshape(-1, width)[executor]
        cores = np.sort(np.where(self.strays < 0, home, self.strays), axis=1)
        distinct, team = np.unique(cores, axis=0, return_inverse=True)
        indptr = np.arange(len(distinct) + 1, dtype=np.int64) * width
        return Csr(indptr, distinct.ravel()), team.ravel().astype(np.int32)

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
        alone, effects = problem.seconds, problem.machine.effects
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
            prefer=policy.prefer,
            loads=loads(problem.costs, problem.layout.width, effects) if effects.any else None,
            strays=None if policy.pinned else strays(problem, runtime.misplaced),
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
