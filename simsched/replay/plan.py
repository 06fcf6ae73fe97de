"""Plans, made before a replay starts: arrays for a static policy; for a dynamic one, the policy to ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.costs.loads import Loads, loads
from simsched.errors import PolicyError
from simsched.graph.adjacency import Csr, Index, place_in
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.machine.ways import Kinds
from simsched.policy import CandidateRule, Policy, Problem, RankPolicy, Shortcuts
from simsched.policy.bound import Bound
from simsched.policy.placement import displaced
from simsched.policy.policy import Discipline, Queue
from simsched.policy.pushing import Pushing
from simsched.replay.data import DataPlan
from simsched.replay.memory_limit import MemoryLimit
from simsched.replay.policy_checks import (
    discipline_of,
    executors_of,
    planned_cores_of,
    planned_of,
    prepared_of,
    queue_of,
    remarks_of,
    require_static,
    shortcuts_of,
)

#: Disciplines that use the ranks of policies.
RANKED = ("rank", "pushed", "affinity", "spoliation")
#: Called with the number of tasks that have finished since its last call.
Progress = Callable[[int], object] | None


def actual(estimated_s: Seconds, factors: Seconds | None) -> Seconds:
    """Return the actual seconds of tasks, by kind or not, from estimates and a factor for each; None for no noise."""
    if factors is None:
        return estimated_s
    return estimated_s * (factors if estimated_s.ndim == 1 else factors[:, None])


@dataclass(frozen=True, eq=False)
class Singly:
    """Seconds and demand of tasks on an executor of one thread.

    Parameters
    ----------
    seconds : float64 array, shape (n,) or (n, kinds)
        Seconds that each task really takes there, or on one of each kind of core.
    alone_s : float64 array, of the same shape
        The same without noise.
    loads : Loads or None
        Demand of each task on shared resources, by kind like the seconds; None where nothing is shared.
    """

    seconds: Seconds
    alone_s: Seconds
    loads: Loads | None

    @classmethod
    def of(cls, problem: Problem, factors: Seconds | None) -> Singly:
        """Return the seconds and demand of a problem's tasks on one thread."""
        if (kinds := problem.machine.kinds) is None:
            alone, widths = problem.costs.seconds(1), [1]
        else:
            widths = [1] * len(kinds.names)
            alone = problem.costs.by_kind_s(widths)
        return cls(actual(alone, factors), alone, _loads(problem, widths))


@dataclass(frozen=True, eq=False)
class StaticPlan:
    """All decisions of a static policy, as arrays.

    Parameters
    ----------
    problem : Problem
    runtime : RuntimeProfile
    spec : str
        Spec of the policy.
    queue : {"central", "shared"}
        Decision maker, as in `Policy.queue`.
    discipline : {"rank", "fifo", "lifo", "planned", "pushed", "affinity", "spoliation"}
        How ready tasks are ordered.
    prefer : {"lowest", "producer"}
        Which of several idle executors takes a task, as in `RankPolicy`.
    position : int32 array, shape (n,)
        Place of each task in the policy's order, ties broken by index; used by the disciplines "rank" and "planned".
        For "pushed", "affinity" and "spoliation", equal where the ranks are.
    executors : Csr
        Cores of each executor.
    seconds : float64 array, shape (n,) or (n, kinds)
        Seconds that each task really takes on an executor, or on one of each kind of core.
    alone_s : float64 array, of the same shape
        The same without noise.
    loads : Loads or None
        Demand of each task on shared resources, by kind like the seconds; None where nothing is shared.
    displaced : int32 array, shape (n, width), or None
        For each thread of each task's team the hardware thread on which the operating system runs it, or -1 for that of
        the executor; None where threads are pinned.
    shortcuts : Shortcuts or None
        Shortcuts past the queue of the executors.
    singly : Singly or None
        Seconds of tasks on the single-threaded executors, if the shortcuts have some.
    kind_of : int32 array, shape (executors,), or None
        Kind of the cores of each executor, those of the shortcuts last; None where all are alike.
    assigned : int32 array, shape (n,), or None
        Executor that runs each task, where the policy planned it.
    data : DataPlan or None
        What tasks read and how it gets to them; None where it is near.
    pushing : Pushing
        Of the discipline "pushed".
    rank_s : float64 array, shape (n,)
        Ranks in seconds, where `pushing` counts these; else empty.
    notes : tuple of str
        Remarks on the policy's plan or ranks.
    bound : Bound or None
        Kinds of cores that can run each task, where some tasks cannot run on all.
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
    displaced: npt.NDArray[np.int32] | None
    shortcuts: Shortcuts | None = None
    singly: Singly | None = None
    kind_of: Index | None = None
    assigned: Index | None = None
    data: DataPlan | None = None
    pushing: Pushing = field(default_factory=Pushing)
    rank_s: Seconds = field(default_factory=lambda: np.empty(0))
    notes: tuple[str, ...] = ()
    bound: Bound | None = None

    @property
    def singles(self) -> Index:
        """Hardware threads of the single-threaded executors, shape (k,)."""
        return np.empty(0, np.int32) if self.shortcuts is None else self.shortcuts.threads

    def teams(self, executor: Index, task: Index) -> tuple[Csr, Index]:
        """Return the distinct teams that ran, and the row of each run's team, given its executor and its task."""
        if self.displaced is None:
            return _joined(
                self.executors, Csr(np.arange(len(self.singles) + 1, dtype=np.int64), self.singles)
            ), executor
        single = executor >= self.executors.n
        moved, width = self.displaced[task], self.displaced.shape[1]
        wide, row = _moved(self.executors.indices.reshape(-1, width)[executor[~single]], moved[~single])
        narrow, narrow_row = _moved(
            self.singles[executor[single] - self.executors.n, None], moved[single, :1]
        )
        team = np.empty(len(executor), np.int32)
        team[~single], team[single] = row, narrow_row + wide.n
        return _joined(wide, narrow), team

    def alone(self, executor: Index) -> Seconds:
        """Return each task's undisturbed seconds on the team that ran it, from its executor."""
        place = slice(None) if self.kind_of is None else (np.arange(len(executor)), self.kind_of[executor])
        teams = np.asarray(self.alone_s[place])
        if self.singly is None:
            return teams
        return np.where(executor >= self.executors.n, self.singly.alone_s[place], teams)

    @property
    def dispatch_s(self) -> float:
        """Seconds of a start."""
        return self.runtime.pop_s if self.queue == "shared" else self.runtime.dispatch_s

    @property
    def per_poller_s(self) -> float:
        """Seconds that every further idle executor adds to a start."""
        return self.runtime.pop_per_poller_s if self.queue == "shared" else 0.0

    @classmethod
    def of(
        cls,
        problem: Problem,
        policy: RankPolicy,
        runtime: RuntimeProfile,
        factors: Seconds | None,
        memory_limit: MemoryLimit = "note",
    ) -> StaticPlan:
        """Return the plan of a static policy, from its ranks, executors and shortcuts.

        Raises
        ------
        PolicyError
            If the rank is not one number per task, or executors, shortcuts or the discipline are impossible; or if it
            overrides methods of dynamic policies.
        """
        require_static(policy)
        bound = Bound.on(problem.graph, problem.machine)
        shortcuts = None if bound is not None else shortcuts_of(policy, problem)
        discipline, executors = discipline_of(policy), executors_of(policy, problem)
        planned, kind_of = (
            planned_of(policy, problem, executors),
            _kind_of(problem, executors, shortcuts, discipline),
        )
        alone = problem.seconds if kind_of is None else problem.seconds_by_kind
        first = executors.indices[executors.indptr[:-1]]
        places = None if planned is None else _places(problem, first[planned.executor])
        return cls(
            problem=problem,
            runtime=runtime,
            spec=str(policy),
            queue=queue_of(policy),
            discipline=discipline,
            position=place_in(planned.order) if planned else _position(policy, problem, discipline),
            executors=executors,
            seconds=actual(alone, factors),
            alone_s=alone,
            prefer=policy.prefer,
            loads=_loads(problem, problem.widths_of_kinds),
            displaced=None if policy.pinned else displaced(problem, runtime.misplaced),
            shortcuts=shortcuts,
            singly=Singly.of(problem, factors) if shortcuts is not None and len(shortcuts.threads) else None,
            kind_of=kind_of,
            assigned=planned.executor if planned else None,
            data=DataPlan.of(problem, memory_limit, places, aborts=discipline == "spoliation"),
            pushing=policy.pushing,
            rank_s=_ranks_s(policy, problem, discipline),
            notes=planned.notes if planned else policy.rank_notes(problem),
            bound=bound,
        )


def _places(problem: Problem, threads: Index | None) -> Index | None:
    """Return the place of each task's data, from the first thread of its planned team."""
    network = problem.machine.network
    return None if threads is None or network is None else network.place_of[threads % problem.machine.n_cores]


def _ranks_s(policy: RankPolicy, problem: Problem, discipline: Discipline) -> Seconds:
    """Return ranks where starts are compared with them; else nothing."""
    counts = discipline == "pushed" and policy.pushing.levels
    return np.asarray(policy.rank(problem) if counts else (), np.float64)


@dataclass(frozen=True, eq=False)
class DynamicPlan:
    """A dynamic policy, to be called during the replay.

    Parameters
    ----------
    problem : Problem
    policy : Policy
        Prepared for the problem.
    runtime : RuntimeProfile
    factors : float64 array, shape (n,), or None
        Actual over estimated seconds of each task; None where they are the same.
    spec : str
        Spec of the policy.
    data : DataPlan or None
        As in `StaticPlan`.
    notes : tuple of str
        Remarks of the prepared policy.
    """

    problem: Problem
    policy: Policy
    runtime: RuntimeProfile
    factors: Seconds | None
    spec: str
    data: DataPlan | None = None
    notes: tuple[str, ...] = ()

    @property
    def rule(self) -> CandidateRule | None:
        """The policy where it is the rule that both engines know; a subclass may decide otherwise."""
        return self.policy if type(self.policy) is CandidateRule else None

    @classmethod
    def of(
        cls,
        problem: Problem,
        policy: Policy,
        runtime: RuntimeProfile,
        factors: Seconds | None,
        memory_limit: MemoryLimit = "note",
    ) -> DynamicPlan:
        """Return the plan of a dynamic policy, which prepares itself for the problem.

        Raises
        ------
        PolicyError
            If the decision maker is not a policy, does not fit the problem, has another queue, or plans cores that do
            not exist.
        """
        prepared = prepared_of(policy, problem)
        data = DataPlan.of(problem, memory_limit, _places(problem, planned_cores_of(prepared, problem)))
        return cls(problem, prepared, runtime, factors, str(policy), data, remarks_of(prepared))

    @property
    def dispatch_s(self) -> float:
        """Seconds that a decision costs."""
        return self.runtime.pop_s if self.policy.queue == "shared" else self.runtime.choice_s

    @property
    def per_poller_s(self) -> float:
        """Seconds that every further idle core adds to it."""
        return self.runtime.pop_per_poller_s if self.policy.queue == "shared" else 0.0


Plan = StaticPlan | DynamicPlan


def _joined(above: Csr, below: Csr) -> Csr:
    if not below.n:
        return above
    return Csr(np.r_[above.indptr, below.indptr[1:] + above.indptr[-1]], np.r_[above.indices, below.indices])


def _moved(home: Index, displaced: Index) -> tuple[Csr, Index]:
    """Return the distinct teams where displaced threads run elsewhere, and the row of each; all of one width."""
    cores = np.sort(np.where(displaced < 0, home, displaced), axis=1)
    # As numpy.unique() of rows finds them, in a quarter of its time.
    order = np.lexsort(cores.T[::-1])
    teams = cores[order]
    first = np.ones(len(teams), bool)
    first[1:] = (teams[1:] != teams[:-1]).any(axis=1)
    row = np.empty(len(teams), np.int32)
    row[order] = np.cumsum(first) - 1
    distinct = teams[first]
    indptr = np.arange(len(distinct) + 1, dtype=np.int64) * cores.shape[1]
    return Csr(indptr, distinct.ravel()), row


def _loads(problem: Problem, widths: Sequence[int]) -> Loads | None:
    """Return the demand of each task on a team of each kind of core of some width; None where nothing is shared."""
    costs, effects = problem.costs, problem.machine.effects
    if not effects.any or problem.machine.kinds is None:
        return loads(costs, widths[0], effects) if effects.any else None
    columns = [loads(costs.of_kind(kind), width, effects) for kind, width in enumerate(widths)]
    return Loads(
        *(
            np.stack([getattr(one, name) for one in columns], axis=1).ravel()
            for name in Loads.__dataclass_fields__
        )
    )


def _kind_of(
    problem: Problem, executors: Csr, shortcuts: Shortcuts | None, discipline: Discipline
) -> Index | None:
    """Return the kind of each executor's cores, those of shortcuts last; None where all cores are alike."""
    machine = problem.machine
    if machine.kinds is None:
        return None
    first = executors.indices[executors.indptr[:-1]]
    if shortcuts is not None:
        first = np.append(first, shortcuts.threads)
    found = machine.kind_of[first % machine.n_cores]
    return _as_one(problem, machine.kinds)[found] if discipline in ("affinity", "spoliation") else found


def _as_one(problem: Problem, kinds: Kinds) -> Index:
    """Return of each kind of cores the first that has the same seconds, speed and link."""
    stated = kinds.speeds, kinds.link_Bps, kinds.link_latency_s, kinds.flops_ratio, kinds.bandwidth_ratio
    table = np.vstack([problem.seconds_by_kind, *(np.array(row) for row in stated if row)])
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(own.tobytes(), kind) for kind, own in enumerate(table.T)], np.int32)


def _position(policy: RankPolicy, problem: Problem, discipline: Discipline) -> Index:
    """Return the place of each task in the order of the policy's ranks, or raise `PolicyError`."""
    if discipline not in RANKED:
        return np.empty(0, np.int32)
    n = problem.graph.n_tasks
    given = policy.rank(problem)
    try:
        rank = np.asarray(given)
    except ValueError:
        raise PolicyError(f"policy {policy}: rank() returned {given!r}; expected {n} numbers") from None
    if rank.shape != (n,) or rank.dtype.kind not in "iufb":
        raise PolicyError(
            f"policy {policy}: rank() returned {rank.dtype} of shape {rank.shape}; expected {n} numbers"
        )
    if rank.dtype.kind == "f" and np.isnan(rank).any():
        raise PolicyError(f"policy {policy}: rank() returned NaN for task {int(np.isnan(rank).argmax())}")
    if discipline != "rank":
        return np.unique(rank, return_inverse=True)[1].astype(np.int32)
    return place_in(_ascending(rank))


def _ascending(rank: npt.NDArray[Any]) -> npt.NDArray[np.integer]:
    """Return the order of ascending ranks, of equals the lower index first."""
    # NumPy sorts three times as fast where it need not be stable; without ties that is the same order.
    order = np.argsort(rank)
    ranked = rank[order]
    return np.argsort(rank, kind="stable") if (ranked[1:] == ranked[:-1]).any() else order
