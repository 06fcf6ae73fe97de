"""Runs of Graphi, its naive scheduler, its sequential engine and TensorFlow on the simulated machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, cached_property
from statistics import mean
from typing import TYPE_CHECKING

from simsched.costs import CostModel
from simsched.machine import Machine, machine as machine_of
from simsched.policies.tensorflow import chunked, one_threaded
from simsched.policy import policy
from simsched.replay import simulate
from simsched.spec import Scalar, Spec
from simsched.workloads import workload

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.policy import Policy
    from simsched.reproduce.graphi.system import Graphi
    from simsched.schedule import Schedule

#: Number of random orders averaged for the naive queue's time.
DRAWS = 5
RECURRENT = ("lstm", "phased_lstm")


class Runs:
    """Schedules and seconds by network, size and layout, each simulated once.

    Parameters
    ----------
    system : Graphi
        The choices.
    """

    def __init__(self, system: Graphi) -> None:
        self._choices = system
        self._machine: Machine = machine_of(system.machine)
        own, factor = self._machine.runtime, float(system.software)
        self._runtime = replace(own, dispatch_s=factor * own.dispatch_s, pop_s=factor * own.pop_s)
        # A task takes the lock to be pushed and to be popped; the model has one place to charge both.
        self._queue = replace(
            self._runtime, pop_s=2 * self._runtime.pop_s, pop_per_poller_s=2 * self._runtime.pop_per_poller_s
        )
        self._counts = system.published().inputs["executor_counts"]
        self._costs = CostModel(library=str(system.library))
        # One graph and one schedule per case, however many rows use it.
        self.graph = cache(self._graph)
        self._chunked = cache(self._cut)
        self.graphi = cache(self._graphi)
        self.naive = cache(self._naive)
        self.sequential_s = cache(self._sequential_s)
        self.tensorflow_s = cache(self._tensorflow_s)

    @cached_property
    def engine(self) -> Policy:
        """Graphi's scheduler with its reserved cores."""
        reserved = self._choices.published().inputs["machine"]["reserved_cores"]
        params: dict[str, Scalar] = {
            "small_s": float(self._choices.small_s), "reserved": int(reserved), "buffered": self._choices.buffered,
        }  # fmt: skip
        return policy(str(Spec("critical-path", params)))

    def layouts(self, network: str) -> list[str]:
        """Return the layouts that the paper tries, all cores on one executor first."""
        own = self._counts[network] if network in ("pathnet", "googlenet") else []
        return [self._counts["sequential"], *self._counts["all"], *own]

    def graphi_s(self, network: str, size: str, layout: str) -> float:
        """Return Graphi's seconds."""
        return self.graphi(network, size, layout).makespan_s

    def naive_s(self, network: str, size: str, layout: str) -> float:
        """Return the naive queue's seconds: the mean over its random orders."""
        return mean(run.makespan_s for run in self.naive(network, size, layout))

    def best_s(self, network: str, size: str) -> float:
        """Return Graphi's seconds in its best layout."""
        return self.graphi_s(network, size, self.best_layout(network, size))

    def best_layout(self, network: str, size: str) -> str:
        """Return the layout in which Graphi is fastest, as its profiler finds it."""
        return min(self.layouts(network), key=lambda layout: self.graphi_s(network, size, layout))

    def _graph(self, network: str, size: str) -> TaskGraph:
        gates: dict[str, Scalar] = {}
        if network in RECURRENT:
            gates["fused"] = self._choices.gates != "own"
            gates["joined"] = self._choices.gates == "joined"
        return workload(network, size=size, **gates)

    def _cut(self, network: str, size: str) -> TaskGraph:
        threads = self._choices.published().inputs["machine"]["worker_cores"]
        return chunked(self.graph(network, size), int(threads))

    def _graphi(self, network: str, size: str, layout: str) -> Schedule:
        return self._run(self.graph(network, size), self.engine, layout)

    def _naive(self, network: str, size: str, layout: str) -> tuple[Schedule, ...]:
        chosen, graph = policy(f"fifo[order={self._choices.order}]"), self.graph(network, size)
        draws = DRAWS if self._choices.order == "random" else 1
        return tuple(
            simulate(graph, self._machine, chosen, layout, self._costs, self._queue, seed=seed)
            for seed in range(draws)
        )

    def _sequential_s(self, network: str, size: str) -> float:
        return self._run(
            self.graph(network, size), policy("sequential"), self._counts["sequential"]
        ).makespan_s

    def _tensorflow_s(self, network: str, size: str) -> float:
        polled = self._queue.pop_per_poller_s if self._choices.idle == "polling" else 0.0
        return min(
            simulate(
                self._chunked(network, size), self._machine, "tensorflow", layout,
                replace(self._costs, curves=one_threaded()), replace(self._queue, pop_per_poller_s=polled),
            ).makespan_s
            for layout in self.layouts(network)
        )  # fmt: skip

    def _run(self, graph: TaskGraph, chosen: Policy, layout: str) -> Schedule:
        return simulate(graph, self._machine, chosen, layout, self._costs, self._runtime)
