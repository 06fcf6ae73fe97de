"""dmda: StarPU's deque model that counts the data a task misses."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.errors import SpecError
from simsched.policies.dm import Dm
from simsched.policy.pushing import Pushing


@dataclass(frozen=True, kw_only=True)
class Dmda(Dm):
    """Deque Model, Data Aware, of StarPU: as `dm`, but a task is expected to start when its data have arrived.

    The worker is that of the least `alpha` times the expected end plus `beta` times the seconds of all messages to it,
    which are expected one after another from when the task becomes ready, unless they are on their way already.

    Cost: O(tasks x executors + edges x executors).

    Parameters
    ----------
    alpha, beta : float
        Weights of the end, and of data that have to be moved: `STARPU_SCHED_ALPHA` and `STARPU_SCHED_BETA`.

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

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for weight in ("alpha", "beta"):
            if not 0 <= getattr(self, weight) < float("inf"):
                raise SpecError(
                    f"{self.name}[{weight}={getattr(self, weight)}]: expected a weight of 0 or more"
                )

    @property
    def pushing(self) -> Pushing:
        """Choice of a worker by its expected end and the missing data."""
        return Pushing(alpha=self.alpha, beta=self.beta, aware=True)
