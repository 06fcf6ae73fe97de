"""Training steps under uniform settings, the strategies of concurrency control, and the manual optimum."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs import CostModel
from simsched.costs.loads import loads
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.machine import machine as machine_of
from simsched.policies.corun import CoRun
from simsched.policy import policy
from simsched.replay import simulate
from simsched.reproduce.one_core_seconds import LIBRARY, with_kernel_seconds
from simsched.reproduce.op_mixes import NETWORKS
from simsched.reproduce.spinning import among_spinning
from simsched.schedule import Schedule
from simsched.spec import Spec, made
from simsched.workloads import workload

if TYPE_CHECKING:
    from simsched.reproduce.concurrency_control import ConcurrencyControl

#: The paper's machine (Sec. II-C), by hardware threads of a core in use.
COSTS = CostModel(library=LIBRARY)
MACHINE = "knl-7250[memory=cache]"
TWO_WAYS = "knl-7250[memory=cache,smt=2]"
ALL_WAYS = "knl-7250[memory=cache,smt=4]"
#: A training step of Inception has about 16,000 ops in TensorFlow (Sec. IV-A).
STEPS = {**NETWORKS, "inception_v3": "inception_v3[size=step]"}
#: An op of TensorFlow's executor beside its kernel: 2.25 us in a traced step of 1,202 ops on one thread of a Xeon of
#: 2.3 GHz, tracing included (TensorFlow 2.21, an LSTM of four layers), by the ratio of the clocks to 1.4 GHz: at most.
EXECUTOR_S = 3.7e-6
RECOMMENDED = (1, 68)
#: What TensorFlow takes where nothing is set; then OpenMP's threads are not bound, either.
DEFAULT = (272, 272)
#: Settings that the manual optimum is sought among: inter-op by intra-op, doubling, and up to two threads a core.
MANUAL = [(inter, intra) for inter in (1, 2, 4, 8, 16) for intra in (8, 16, 34, 68, 136)]
#: Each step of Fig. 3 as times before and after.
BEFORE_AND_AFTER = {
    "s1_s2": ("recommended", "s1_s2"),
    "s3": ("s1_s2", "s3"),
    "s4": ("s3", "s3_s4"),
    "total": ("recommended", "s3_s4"),
    "over_manual": ("manual", "s3_s4"),
}


class Runs:
    """Replays of the networks' training steps; each runs once.

    Parameters
    ----------
    system : ConcurrencyControl
        The choices.
    """

    def __init__(self, system: ConcurrencyControl) -> None:
        self.system = system
        self.graph = cache(self._graph)
        self.uniform_s = cache(self._uniform_s)
        self.strategy = cache(self._strategy)
        self.manual = cache(self._manual)
        self.kinds_s = cache(self._kinds_s)

    def _graph(self, network: str) -> TaskGraph:
        graph = workload(STEPS[network])
        return with_kernel_seconds(graph, machine_of(MACHINE)) if self.system.costs == "kernels" else graph

    def _runtime(self) -> RuntimeProfile:
        """Return the software's own costs, with those of TensorFlow's executor."""
        own = machine_of(MACHINE).runtime
        executor_s = EXECUTOR_S if self.system.executor == "traced" else 0.0
        return replace(own, pop_s=own.pop_s + executor_s, dispatch_s=own.dispatch_s + executor_s)

    def _uniform_s(self, network: str, inter_op: int, intra_op: int) -> float:
        return self._uniform(network, inter_op, intra_op).makespan_s

    def _uniform(self, network: str, inter_op: int, intra_op: int) -> Schedule:
        graph, layout = self.graph(network), (inter_op, intra_op)
        rule = policy(str(Spec("fifo", {"pinned": self.system.pinned, "oversubscribe": True})))
        if self.system.waiting == "sleep":
            return simulate(graph, ALL_WAYS, rule, layout, COSTS, runtime=self._runtime())
        target = machine_of(ALL_WAYS).varied({"share_cores": False})
        slowed = _among_spinning(graph, *layout)
        return simulate(graph, target, rule, layout, COSTS, runtime=self._runtime(), factors=slowed)

    def _strategy(self, network: str, strategy: str) -> Schedule:
        params = {"per_kind": True, "interval": self.system.interval}
        params |= {"s1_s2": {"beside": False}}.get(
            strategy, {"fill": self.system.fill, "smt": strategy == "s3_s4"}
        )
        target = machine_of(TWO_WAYS if strategy == "s3_s4" else MACHINE)
        rule = made(CoRun, "policy", Spec("corun", params))
        return simulate(
            self.graph(network), target, rule, rule.no_cap(target), COSTS, runtime=self._runtime()
        )

    def _manual(self, network: str) -> tuple[int, int]:
        return min(MANUAL, key=lambda setting: self.uniform_s(network, *setting))

    def seconds(self, network: str, setting: str) -> float:
        """Return the seconds of a training step: recommended, default, manual, s1_s2, s3 or s3_s4."""
        if setting == "manual":
            return self.uniform_s(network, *self.manual(network))
        if setting == "recommended":
            return self.uniform_s(network, *RECOMMENDED)
        if setting == "default":
            return Runs(replace(self.system, pinned=False)).uniform_s(network, *DEFAULT)
        return self.strategy(network, setting).makespan_s

    def uniform_ms(self, network: str, inter_op: int, intra_op: int) -> float:
        """Return the milliseconds of a training step under a uniform setting."""
        return 1e3 * self.uniform_s(network, inter_op, intra_op)

    def kind_ms(self, network: str, kinds: str, column: str, rank: int) -> float:
        """Return the milliseconds of one of the most time-consuming kinds of ops, ranked under the recommended setting.

        Parameters
        ----------
        network, kinds : str
        column : {"recommended", "s1_s2"}
        rank : int
            From 1, that of the most time-consuming.
        """
        recommended = self.kinds_s(network, "recommended")
        ranked = sorted(recommended, key=lambda kind: (-recommended[kind], kind))
        return 1e3 * self.kinds_s(network, column)[ranked[rank - 1]]

    def _kinds_s(self, network: str, column: str) -> dict[str, float]:
        """Return the seconds of all ops of each kind, on their teams."""
        done = (
            self.strategy(network, column)
            if column != "recommended"
            else self._uniform(network, *RECOMMENDED)
        )
        kinds = done.graph.kinds
        seconds = np.bincount(kinds.codes, done.finish_s - done.start_s, len(kinds.labels))
        return dict(zip(kinds.labels, seconds.tolist(), strict=True))

    def speedup(self, network: str, inter_op: int, intra_op: int) -> float:
        """Return how much faster a uniform setting is than the recommended one."""
        return self.seconds(network, "recommended") / self.uniform_s(network, inter_op, intra_op)

    def improvement(self, network: str, step: str) -> float:
        """Return by how much a step of Fig. 3 speeds the training up."""
        before, after = (self.seconds(network, setting) for setting in BEFORE_AND_AFTER[step])
        return before / after - 1

    def manual_optimum(self, network: str, of: str) -> int:
        """Return one number of the fastest uniform setting."""
        return dict(zip(("inter_op", "intra_op"), self.manual(network), strict=True))[of]

    def default_over_recommended(self, network: str) -> float:
        """Return how much slower the default setting is than the recommended one."""
        return self.seconds(network, "default") / self.seconds(network, "recommended")

    def corunning(self, network: str, strategy: str) -> float:
        """Return the mean number of ops that run at every start and finish."""
        return self.strategy(network, strategy).metrics()["mean_corunning_at_events"]


def _among_spinning(graph: TaskGraph, inter_op: int, intra_op: int) -> Seconds:
    """Return how much longer each task takes where the threads of all teams run, working or spinning."""
    target = machine_of(ALL_WAYS)
    asked = loads(COSTS.on(graph, target), intra_op, target.effects)
    return among_spinning(asked, target, ceil(inter_op * intra_op / target.n_cores))
