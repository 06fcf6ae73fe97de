"""lws: StarPU's locality work stealing."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policies.work_stealing import WorkStealing


@dataclass(frozen=True)
class Lws(WorkStealing):
    """Locality Work Stealing of StarPU: as `work-stealing`, from the nearest core that has a task.

    Applications of StarPU may give priorities, here levels, by `priorities=true`.

    Parameters
    ----------
    victims, priorities
        As of `work-stealing`.

    References
    ----------
    StarPU 1.4, work_stealing_policy.c (lws). Blumofe and Leiserson, Scheduling multithreaded computations by work
    stealing, Journal of the ACM 46(5), 1999.

    Examples
    --------
    0 leaves 1, 2 and 3 on core 0, 1 with more after it: core 0 runs the newest, 3, or with priorities 1.

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0, 2.0, 5.0], [(0, 1), (0, 2), (0, 3), (1, 4)])
    >>> for policy in ("lws", "lws[priorities=true]"):
    ...     print(ss.simulate(graph, "generic[cores=2]", policy).executor.tolist())
    [0, 1, 0, 0, 1]
    [0, 0, 1, 1, 0]
    """

    name = "lws"

    victims: str = "near"
