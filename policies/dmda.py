"""dmda: StarPU's deque model that counts the data a task misses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.errors import SpecError
from simsched.policies.dm import Dm


@dataclass(frozen=True, kw_only=True)
class Dmda(Dm):
    """Deque Model, Data Aware, of StarPU: as `dm`, but a task is expected to start when its data have arrived.

    The worker is that of the least expected end plus `beta` times the seconds of all messages to it, which are expected
    one after another from when the task becomes ready.

    Cost: O(tasks x executors + edges x executors).

    Parameters
    ----------
    beta : float
        Weight of data that have to be moved: `STARPU_SCHED_BETA`; that of the end is 1.

    References
    ----------
    Augonnet, Clet-Ortega, Thibault, Namyst: Data-Aware Task Scheduling on Multi-Accelerator Based Platforms. ICPADS
    2010, Sec. IV. StarPU 1.4, deque_modeling_policy_data_aware.c.

    Examples
    --------
    0 leaves 5 s of data for 2 on core 0, where 1 of 2 s is before it in the queue: it ends earlier there all the same.

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=[0.0, 5.0])
    >>> machine = "generic[cores=2,link_Bps=1.0,data=sent]"
    >>> [ss.simulate(graph, machine, policy, layout="2x1").executor.tolist() for policy in ("dm", "dmda")]
    [[0, 0, 1], [0, 0, 0]]
    """

    name = "dmda"
    data_aware: ClassVar[bool] = True

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta < float("inf"):
            raise SpecError(f"{self.name}[beta={self.beta}]: expected a weight of 0 or more")

    @property
    def weight(self) -> float:
        """Weight of the seconds of missing data."""
        return self.beta
