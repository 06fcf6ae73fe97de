"""Description of an optimum, and its schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import numpy as np

from simsched.costs import CostModel
from simsched.exact.placing import Placed, Times
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.machine import Machine, RuntimeProfile
from simsched.machine.ways import DataWays
from simsched.policy import Layout
from simsched.policy.placement import executor_cores
from simsched.schedule import Schedule

#: Costs of the software not included in a task's seconds; forking, joining and barriers are part of these.
DECISIONS = (
    "dispatch_s", "decide_s", "pop_s", "pop_per_poller_s", "resize_s", "team_creation_s", "team_creation_per_thread_s",
)  # fmt: skip


def left_out(
    graph: TaskGraph, machine: Machine, costs: CostModel, runtime: RuntimeProfile
) -> tuple[str, ...]:
    """Return, one sentence each, the parts of a graph's replay on a machine that its optimum leaves out."""
    return tuple(_left_out(machine, costs, runtime, None if graph.data is None else machine.data))


def _left_out(
    machine: Machine, costs: CostModel, runtime: RuntimeProfile, ways: DataWays | None
) -> Iterator[str]:
    shared = [field.name for field in fields(machine.effects) if getattr(machine.effects, field.name)]
    if shared:
        yield (
            f"left out: what running tasks share here ({', '.join(shared)}), which slows them: the bound holds, the "
            "makespan may be out of reach"
        )
    if paid := [name for name in DECISIONS if getattr(runtime, name)]:
        yield (
            f"left out: what the software costs between tasks ({', '.join(paid)}), which delays them: the bound holds, "
            "the makespan may be out of reach"
        )
    if ways is not None:
        yield (
            f"left out: moves of data ([data={ways.mode}]), for which tasks wait: the bound holds, the makespan "
            "may be out of reach; the policy optimal counts them"
        )
    if costs.noise:
        yield "left out: noise; a noisy replay can be shorter than the bound"


def schedule_of(
    graph: TaskGraph,
    machine: Machine,
    layout: Layout | None,
    best: Placed,
    alone_s: Times,
    notes: tuple[str, ...],
    seed: int,
) -> Schedule:
    """Return the schedule of placed tasks."""
    if layout is not None:
        teams = executor_cores(machine, layout, "compact")
        team = np.array([held[0] for held in best.held], np.int32)
    else:
        distinct = {cores: row for row, cores in enumerate(sorted(set(map(tuple, best.held))))}
        teams = Csr(
            np.cumsum([0, *map(len, distinct)]),
            np.array([core for cores in distinct for core in cores], np.int32),
        )
        team = np.array([distinct[tuple(held)] for held in best.held], np.int32)
    return Schedule(
        graph=graph,
        ready_s=best.ready,
        start_s=best.start,
        finish_s=best.finish,
        teams=teams,
        team=team,
        executor=team.copy(),
        start_order=best.order,
        alone_s=alone_s,
        n_cores=machine.n_threads,
        machine=machine,
        policy="optimum",
        layout=str(layout or ""),
        engine="cp-sat",
        seed=seed,
        notes=notes,
    )
