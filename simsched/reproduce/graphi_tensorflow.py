"""TensorFlow as Graphi's paper describes it, beside OpenMP threads that spin, as those of its math library do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.loads import loads
from simsched.policies.tensorflow import is_chunk, one_threaded
from simsched.replay import simulate
from simsched.reproduce.spinning import among_spinning

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
        The software's own costs, with what a job takes of its queue's lock to be pushed and popped.
    """

    def __init__(self, system: Graphi, machine: Machine, costs: CostModel, runtime: RuntimeProfile) -> None:
        self._machine, self._costs = machine, replace(costs, curves=one_threaded())
        self._spins = system.waiting == "spin" and machine.effects.share_cores
        self._runtime = runtime if system.idle == "polling" else replace(runtime, pop_per_poller_s=0.0)

    def best_s(self, graph: TaskGraph, layouts: Sequence[str]) -> float:
        """Return the least seconds of a chunked graph over these layouts."""
        return min(self.run(graph, layout).makespan_s for layout in layouts)

    def run(self, graph: TaskGraph, layout: str) -> Schedule:
        """Return the schedule of a chunked graph.

        Where OpenMP's threads spin, chunks are lengthened by what they lack in a replay in which those sleep.
        """
        slept = self._simulate(graph, layout)
        return self._simulate(graph, layout, self._lacking(slept)) if self._spins else slept

    def _simulate(self, graph: TaskGraph, layout: str, factors: Seconds | None = None) -> Schedule:
        return simulate(
            graph, self._machine, "tensorflow", layout, self._costs, self._runtime, factors=factors
        )

    def _lacking(self, slept: Schedule) -> Seconds:
        """Return by how much chunks were shorter than with an OpenMP thread on their core all the time, shape (n,).

        None was that shared its core with one at work, or that the memory held up as long.
        """
        graph, machine = slept.graph, self._machine
        alone = loads(self._costs.on(graph, machine, self._runtime.not_pinned()), 1, machine.effects)
        took_s = slept.finish_s - slept.start_s
        wanted_s = slept.alone_s * np.where(is_chunk(graph), among_spinning(alone, machine, 2), 1.0)
        return np.divide(np.maximum(wanted_s, took_s), took_s, out=np.ones_like(took_s), where=took_s > 0)
