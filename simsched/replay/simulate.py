"""`simulate()`: one replay, from graph, machine and policy to a `Schedule`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy.typing as npt

from simsched.costs import CostModel
from simsched.defaults import POLICY
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.policy import Layout, Policy
from simsched.replay.advice import remarked
from simsched.replay.memory_limit import MemoryLimit
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.spec import Engine


def simulate(
    graph: TaskGraph,
    machine: str | Path | Machine | None = None,
    policy: str | Policy | type[Policy] = POLICY,
    layout: str | Layout | tuple[int, int] | None = None,
    costs: CostModel | None = None,
    runtime: RuntimeProfile | None = None,
    engine: Engine = "auto",
    seed: int = 0,
    *,
    factors: npt.ArrayLike | None = None,
    progress: Callable[[int], object] | None = None,
    memory_limit: MemoryLimit = "note",
) -> Schedule:
    """Replay a task graph on a machine under a policy.

    Parameters
    ----------
    graph : TaskGraph
    machine, policy
        As `simsched.machine` and `simsched.policy` take them. No machine: that of the recording (`recorded_on`, else as
        many `generic` cores as it had threads), or `knl-7250` for graphs that were not recorded.
    layout : str, Layout or pair of int, optional
        Executors x cores, as in "8x8". When not given, found by an estimate (`simsched.policy.estimate`) without
        replays, or with two where fewer executors may be shorter; where layouts only limit what a policy decides as
        tasks run (`corun`), by replays of the four shortest estimates. "best" returns the shortest of up to 15 replays.
        `schedule.inputs.layout_by` and `layout_why` explain the choice.
    costs : CostModel, optional
        How recorded seconds become seconds on this machine; `CostModel()` when not given.
    runtime : RuntimeProfile, optional
        The software's own costs; the machine's when not given. `RuntimeProfile()` has none.
    engine : {"auto", "simpy", "native"}
        "auto" takes the compiled engine ("native") if it can do this replay; `schedule.inputs.engine_why` says why.
    seed : int
        Seed of all random numbers: noise, random order, places of threads that are not pinned.
    factors : array_like of float, shape (n,), optional
        Each task's actual seconds over those that policies see; sampled from the noise of `costs` when not given.
    progress : callable, optional
        Called now and then with the number of tasks finished since its last call.
    memory_limit : {"note", "ignore", "spill", "wait", "error"}
        What to do where data objects need more memory than a place has (docs/semantics.md, rule 10).

    Returns
    -------
    Schedule
        The same to the bit for the same arguments. `simsched.compare` with this policy alone gives its interval.

    Raises
    ------
    SimschedError
        If an argument is impossible, or the policy does something impossible; the message gives the reason.

    Examples
    --------
    >>> simulate(TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)]), "generic[cores=2]", "fifo").makespan_s
    4.0
    """
    scenario = Scenario.on(graph, machine, layout, costs, runtime, engine, seed, progress, memory_limit)
    return remarked(scenario.replay(graph, policy, factors))
