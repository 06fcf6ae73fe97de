"""Resources that tasks wait for: executors where a layout fixes them, else cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.graph.adjacency import Csr, Index, Ints
from simsched.policy import RankPolicy
from simsched.schedule.runs import Runs
from simsched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a schedule, each held by one task at a time, and those of each task.

    Parameters
    ----------
    places : Csr
        Row i holds the places of team i.
    row : int32 array, shape (runs,)
        The team of each run, as in `Runs.of`.
    pool : int64 array, shape (runs,)
        Tasks of one pool wait for the same places.
    capacity : tuple of int
        Places of each pool.
    owned : int32 array
        Cores that some task could have had.
    apart : bool
        Whether no two places have a core in common.
    """

    places: Csr
    row: Index
    pool: Ints
    capacity: tuple[int, ...]
    owned: Index
    apart: bool

    @property
    def widths(self) -> Ints:
        """Places that each run took, shape (runs,)."""
        return self.places.degrees()[self.row].astype(np.int64)

    @classmethod
    def of(cls, schedule: Schedule) -> Places:
        """Return executors as places under a static policy, cores under a dynamic one, the lanes of a real run."""
        inputs = schedule.inputs
        if inputs is not None and isinstance(inputs.policy, RankPolicy):
            return cls._executors(schedule, inputs.policy)
        row = Runs.of(schedule).team
        cores = np.unique(schedule.teams.indices)
        # A dynamic policy may take any core, a real run has shown those that it could.
        owned = cores if inputs is None else np.arange(schedule.n_cores, dtype=np.int32)
        pool, capacity = np.zeros(len(row), np.int64), (len(owned),)
        return cls(schedule.teams, row, pool, capacity, owned, inputs is not None)

    @classmethod
    def _executors(cls, schedule: Schedule, policy: RankPolicy) -> Places:
        assert schedule.inputs is not None  # noqa: S101 - narrows the type: the caller has looked
        assert schedule.inputs.layout is not None  # noqa: S101 - narrows the type: static policies always have one
        layout = schedule.inputs.layout
        executor = Runs.of(schedule).executor
        count = max(int(executor.max(initial=-1)) + 1, layout.n_executors)
        each = Csr(np.arange(count + 1, dtype=np.int64), np.arange(count, dtype=np.int32))
        # Of single-threaded executors the lowest idle one takes a task: all of them were used before one had to wait.
        pool = (executor >= layout.n_executors).astype(np.int64)
        cores = np.r_[policy.executors(schedule.require_machine(), layout).indices, schedule.teams.indices]
        owned = np.unique(cores).astype(np.int32)
        used = schedule.teams.indices
        apart = policy.pinned and len(np.unique(used)) == len(used)
        return cls(each, executor, pool, (layout.n_executors, count - layout.n_executors), owned, apart)
