"""Training steps under uniform settings, the strategies of concurrency control, and the manual optimum.

Strategy 3 to the letter: where no op fits, the most time-consuming starts all the same, at its own thread count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from simsched.machine import RuntimeProfile, machine as machine_of
from simsched.policies.corun import CoRun
from simsched.policy import CandidateRule, Problem, Start, View, policy
from simsched.replay import simulate
from simsched.reproduce.concurrency_control.op_times import MACHINE, controlled, network_costs, network_graph
from simsched.schedule import Schedule
from simsched.spec import Spec

if TYPE_CHECKING:
    from simsched.reproduce.concurrency_control.system import ConcurrencyControl


@dataclass(frozen=True, eq=False)
class OwnCounts(CandidateRule):
    """Candidate widths on the first hardware threads of cores; the longest task does not wait for its own.

    While a core idles and nothing fits, the most time-consuming ready task starts at its first width: on the cores that
    idle, and for the rest of its threads on second hardware threads of busy ones.

    Parameters
    ----------
    small : bool
        Strategy 4: whether small tasks start on second hardware threads, as in `CandidateRule`.
    """

    small: bool = True

    def decide(self, view: View) -> Iterable[Start]:
        """Return the one task to start next, on its cores, if any."""
        for start in super().decide(view):
            if start.cores:
                yield start
                continue
            idle, cores = view.idle_cores, view.problem.machine.n_cores
            first = bisect_left(idle, cores)
            pool = idle[:first] if first else idle
            yield replace(start, cores=tuple(pool[: start.width]))

    def _longest(self, view: View, idle: int) -> Start | None:
        _, least = max((self._offers[task][0][1], -task) for task in view.ready)
        width = self._offers[-least][0][0]
        cores = tuple(view.idle_cores[idle:][: max(width - idle, 0)])
        enough = min(width, idle) + len(cores) == width
        return Start(-least, cores=(*view.idle_cores[: min(width, idle)], *cores)) if enough else None

    def _on_second_threads(self, view: View) -> Start | None:
        return super()._on_second_threads(view) if self.small else None


@dataclass(frozen=True)
class Strategies(CoRun):
    """Strategies 1 to 3 of concurrency control, and 4 with `small`, with two hardware threads per core.

    Parameters
    ----------
    small : bool
        Strategy 4.
    """

    per_kind: bool = True
    smt: bool = True
    small: bool = True

    def prepared(self, problem: Problem) -> OwnCounts:
        """Return the rule with every task's candidate widths."""
        rule = super().prepared(problem)
        assert isinstance(rule, CandidateRule)  # noqa: S101 - narrows the type
        return OwnCounts(
            rule.widths,
            rule.estimates_s,
            rule.max_running,
            offered=rule.offered,
            serial_s=rule.serial_s,
            small=self.small,
        )


#: The paper's machine (Sec. II-C), by hardware threads of a core in use.
TWO_WAYS = "knl-7250[memory=cache,smt=2]"
ALL_WAYS = "knl-7250[memory=cache,smt=4]"
#: Time of TensorFlow's executor per op, no kernel: 2.25 us in a traced step of 1,202 ops on one thread of a Xeon of
#: 2.3 GHz, tracing included (TensorFlow 2.21, an LSTM of four layers), by the ratio of the clocks to 1.4 GHz.
EXECUTOR_S = 3.7e-6
RECOMMENDED = (1, 68)
#: TensorFlow's defaults; then OpenMP's threads are not bound, either.
DEFAULT = (272, 272)
#: Settings searched for the manual optimum: inter-op by intra-op, doubling, and up to two threads per core.
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
        self.uniform_s = cache(self._uniform_s)
        self.strategy = cache(self._strategy)
        self.manual = cache(self._manual)
        self.kinds_s = cache(self._kinds_s)

    def _uniform_s(self, network: str, inter_op: int, intra_op: int) -> float:
        waiting = 1.0 if self.system.waiting == "sleep" else oversubscription(inter_op, intra_op)
        return waiting * self._uniform(network, inter_op, intra_op).makespan_s

    def _uniform(self, network: str, inter_op: int, intra_op: int) -> Schedule:
        rule = policy(str(Spec("fifo", {"pinned": self.system.pinned, "oversubscribe": True})))
        graph, costs, layout = network_graph(network), network_costs(network), (inter_op, intra_op)
        return simulate(graph, ALL_WAYS, rule, layout, costs, runtime=_runtime())

    def _strategy(self, network: str, strategy: str) -> Schedule:
        graph = network_graph(network)
        kinds = ";".join(kind for kind in graph.kinds.labels if controlled(kind))
        rule: CoRun
        if strategy == "s1_s2":
            target = machine_of(MACHINE)
            rule = CoRun(per_kind=True, interval=self.system.interval, controlled=kinds, corun=False)
        else:
            target = machine_of(TWO_WAYS)
            rule = Strategies(interval=self.system.interval, controlled=kinds, small=strategy == "s3_s4")
        return simulate(graph, target, rule, rule.no_cap(target), network_costs(network), runtime=_runtime())

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
        """Return the speed-up of a uniform setting over the recommended one."""
        return self.seconds(network, "recommended") / self.uniform_s(network, inter_op, intra_op)

    def improvement(self, network: str, step: str) -> float:
        """Return the speed-up of the training by a step of Fig. 3."""
        before, after = (self.seconds(network, setting) for setting in BEFORE_AND_AFTER[step])
        return before / after - 1

    def manual_optimum(self, network: str, of: str) -> int:
        """Return one number of the fastest uniform setting."""
        return dict(zip(("inter_op", "intra_op"), self.manual(network), strict=True))[of]

    def default_over_recommended(self, network: str) -> float:
        """Return the slowdown of the default setting over the recommended one."""
        return self.seconds(network, "default") / self.seconds(network, "recommended")

    def corunning(self, network: str, strategy: str) -> float:
        """Return the mean number of ops that run at every start and finish."""
        return self.strategy(network, strategy).metrics()["mean_corunning_at_events"]


def _runtime() -> RuntimeProfile:
    """Return the software's own costs, with those of TensorFlow's executor.

    The time of changing a team's size is in the seconds of Table VI with strategies 1 and 2.
    """
    own = machine_of(MACHINE).runtime
    return replace(own, pop_s=own.pop_s + EXECUTOR_S, dispatch_s=own.dispatch_s + EXECUTOR_S, resize_s=0.0)


def oversubscription(inter_op: int, intra_op: int) -> float:
    """Return the number of threads per hardware thread, at least 1.

    Every inter-op thread has a team of OpenMP, whose threads spin for 200 ms after a region, longer than until the next
    one; Eigen's pool has `intra_op` more. A fair scheduler gives all of them equal shares.
    """
    return max(1.0, (inter_op + 1) * intra_op / machine_of(ALL_WAYS).n_threads)
