"""TensorFlow as Graphi's paper describes it, beside OpenMP threads that spin, as those of its math library do."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.loads import loads
from simsched.policies.tensorflow import is_chunk, one_threaded
from simsched.policy import Layout, policy
from simsched.replay import simulate
from simsched.reproduce.spinning import among_spinning
from simsched.spec import Spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simsched.costs import CostModel
    from simsched.graph import TaskGraph
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine, RuntimeProfile
    from simsched.reproduce.graphi import Graphi
    from simsched.schedule import Schedule


class TensorFlowRuns:
    """Replays of chunked graphs.

    Parameters
    ----------
    system : Graphi
        The choices.
    machine : Machine
    costs : CostModel
        Of ops that OpenMP's threads run.
    runtime : RuntimeProfile
        The software's own costs, a lock taken once.
    """

    def __init__(self, system: Graphi, machine: Machine, costs: CostModel, runtime: RuntimeProfile) -> None:
        self._machine, self._costs = machine, replace(costs, curves=one_threaded())
        if system.ways == "one":
            self._machine = replace(machine, smt_ways=1, compute_throughput=(1.0,), memory_throughput=(1.0,))
        self._workers = int(system.published().inputs["machine"]["worker_cores"])
        self._spins = system.waiting == "spin" and machine.effects.share_cores
        self._whole = system.teams == "whole"
        pool = system.pool or (self._workers if self._whole else 0)
        self._policy = policy(str(Spec("tensorflow", {"pool": pool})))
        # A job takes the lock of its queue to be pushed and to be popped, like a task of the naive queue.
        times = float(system.locks)
        polled = times * runtime.pop_per_poller_s if system.idle == "polling" else 0.0
        self._runtime = replace(runtime, pop_s=times * runtime.pop_s, pop_per_poller_s=polled)

    def best_s(self, graph: TaskGraph, layouts: Sequence[str]) -> float:
        """Return the least seconds of a chunked graph over the numbers of executors of these layouts."""
        return min(self.run(graph, self._layout(Layout.parse(layout))).makespan_s for layout in layouts)

    def run(self, graph: TaskGraph, layout: Layout) -> Schedule:
        """Return the schedule of a chunked graph.

        Where OpenMP's threads spin, tasks are lengthened by what they lack in a replay in which those sleep.
        """
        slept = self._simulate(graph, layout)
        return self._simulate(graph, layout, self._lacking(slept, layout)) if self._spins else slept

    def _layout(self, layout: Layout) -> Layout:
        return Layout(layout.executors, self._workers) if self._whole else layout

    def _simulate(self, graph: TaskGraph, layout: Layout, factors: Seconds | None = None) -> Schedule:
        return simulate(
            graph, self._machine, self._policy, layout, self._costs, self._runtime, factors=factors
        )

    def _lacking(self, slept: Schedule, layout: Layout) -> Seconds:
        """Return by how much tasks were shorter than with all OpenMP threads on their cores all the time, shape (n,).

        None was that shared its cores with as many at work, or that the memory held up as long.
        """
        graph, machine = slept.graph, self._machine
        costs = self._costs.on(graph, machine, self._runtime.not_pinned())
        teams = ceil(layout.cores / self._workers)  # with a thread on a core
        on_team = among_spinning(loads(costs, layout.width, machine.effects), machine, teams)
        in_pool = among_spinning(loads(costs, 1, machine.effects), machine, teams + 1)
        took_s = slept.finish_s - slept.start_s
        wanted_s = slept.alone_s * np.where(is_chunk(graph), in_pool, on_team)
        return np.divide(np.maximum(wanted_s, took_s), took_s, out=np.ones_like(took_s), where=took_s > 0)
