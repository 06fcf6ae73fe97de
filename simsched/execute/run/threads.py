"""Threads: CPUs of the machine `host`, those that a case runs on, and crews, made once for every set of CPUs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from simsched.errors import EngineError, LayoutError
from simsched.execute.kernels.module import module
from simsched.machine import Machine
from simsched.plugins import named
from simsched.replay.plan import Plan, StaticPlan


def cpus_of(machine: Machine) -> list[int]:
    """Return the system's number of each hardware thread in use.

    Raises
    ------
    LayoutError
        If the machine has more cores than the system: then it is another one.
    """
    cores: tuple[tuple[int, ...], ...] = named("hosts", "cpus")()
    if machine.n_cores > len(cores) or machine.smt > min(map(len, cores)):
        raise LayoutError(
            f"{machine} has {machine.n_cores} cores; graphs really run on this system, which has {len(cores)}"
        )
    # As everywhere: thread `way * n_cores + core` is a way of that core.
    return [cores[core][way] for way in range(machine.smt) for core in range(machine.n_cores)]


Cpus = tuple[tuple[int, ...], ...]
Scheduler = Literal["worker", "thread"]


@dataclass(frozen=True)
class Threads:
    """The threads of a case.

    Parameters
    ----------
    cpus : tuple of tuple of int
        CPUs that each may run on; that of a scheduler last.
    scheduler : bool
        Whether the last one decides and the others only run tasks.
    share : bool
        Whether there may be fewer CPUs than threads.
    measure_latency : bool
        Whether the first two are on separate CPUs.
    """

    cpus: Cpus
    scheduler: bool
    share: bool
    measure_latency: bool


def threads_of(plan: Plan, cpus: list[int], scheduler: Scheduler) -> Threads:
    """Return the CPUs of the workers, and of a scheduler.

    Parameters
    ----------
    plan : StaticPlan or DynamicPlan
    cpus : list of int
        CPU of each hardware thread of the machine.
    scheduler : {"worker", "thread"}
        See `simsched.execute.Settings`.

    Raises
    ------
    LayoutError
        If there is no separate core for a scheduler.
    """
    every = tuple(sorted(cpus))
    if isinstance(plan, StaticPlan):
        workers = [cpus[thread] for thread in plan.executors.indices.tolist()]
        pinned, may_share = plan.displaced is None, len(workers) > len(set(workers))
    else:
        workers, pinned, may_share = cpus, True, False
    masks = [(cpu,) if pinned else every for cpu in workers]
    if scheduler == "thread":
        spare = [cpu for cpu in every if cpu not in workers]
        if not (spare and pinned) and not may_share:
            raise LayoutError(
                f"scheduler='thread' needs a core beside the {len(workers)} workers, and the machine has {len(every)}: "
                "a busy scheduler on a core that it shares makes runs 25 times as long; take a smaller layout, or "
                "scheduler='worker'"
            )
        masks.append((spare[0],) if spare and pinned else every)
    alone = pinned and not may_share
    return Threads(tuple(masks), scheduler == "thread", may_share, alone and len(workers) > 1)


class Crews:
    """The crews of one measurement."""

    def __init__(self) -> None:
        self._made: dict[Cpus, Any] = {}

    def on(self, cpus: Cpus) -> Any:
        """Return the crew whose workers may run on these CPUs.

        Raises
        ------
        EngineError
            If the system does not let them.
        """
        if cpus not in self._made:
            try:
                self._made[cpus] = module().Crew([list(each) for each in cpus])
            except RuntimeError as error:
                raise EngineError(f"no threads to run on: {error}") from error
        return self._made[cpus]
