"""Graphi: critical path first on symmetric executors, against a naive queue, one executor, and TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import product
from statistics import mean

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel
from simsched.graph import TaskGraph
from simsched.machine import Machine, machine as machine_of
from simsched.parameters import one_of, positive, text
from simsched.policies.tensorflow import chunked, one_threaded
from simsched.policy import Policy, policy
from simsched.replay import simulate
from simsched.reproduce.pictures import bars
from simsched.reproduce.system import Drawing, Predicted, Prediction, System, Verdict
from simsched.schedule import Schedule
from simsched.spec import Scalar, Spec
from simsched.workloads import workload

#: Number of random orders averaged for the naive queue's time.
DRAWS = 5
RECURRENT = ("lstm", "phased_lstm")
NETWORKS = (*RECURRENT, "pathnet", "googlenet")
SIZES = ("small", "medium", "large")


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


RATIO = "critical-path time over naive-queue time"
OVER_GRAPHI = "TensorFlow time over Graphi time"
SPEED_UP = "best speed-up over sequential"
AGAINST = "share of pairs of cells that finish against the diagonals"
#: Layouts of 8 to 16 executors.
FEW = ("8x8", "16x4")
#: Name of a forward op of a cell: stepT/layerL/...
CELL = re.compile(r"step(\d+)/layer(\d+)/")


def critical_path_first_wins(predicted: Predicted) -> Verdict:
    """All ratios of Table 2 are below 1 as printed."""
    quantity = next(q for q in predicted.system.published().quantities if q.name == RATIO)
    cases = [case for case, *_ in quantity.asked()]
    above = sum(predicted.printed("Table 2", RATIO, **case) >= 1 for case in cases)
    most = max(cases, key=lambda case: predicted("Table 2", RATIO, **case))
    return not above, (
        f"{above} of {len(cases)} ratios are not below 1 to {quantity.decimals} decimals; the largest is "
        f"{most['network']} {most['layout']}, {predicted('Table 2', RATIO, **most):.4f}"
    )


def parallel_wins(predicted: Predicted) -> Verdict:
    """The best speed-up of every network and size is above 1, to the decimal that Sec. 7.3 prints."""
    found = {
        f"{network} {size}": round(predicted("Fig. 6", SPEED_UP, network=network, size=size), 1)
        for network in NETWORKS
        for size in SIZES
    }
    none = [name for name, value in found.items() if value <= 1]
    return (
        not none,
        f"best speed-ups of {min(found.values())} to {max(found.values())}; none for {', '.join(none)}",
    )


def small_gains_more(predicted: Predicted) -> Verdict:
    """The best speed-up falls from small to large networks."""
    found = {
        network: [predicted("Fig. 6", SPEED_UP, network=network, size=size) for size in sizes]
        for network in RECURRENT
        for sizes in [("small", "large")]
    }
    said = "; ".join(f"{network} {small:.3g} and {large:.3g}" for network, (small, large) in found.items())
    return all(small > large for small, large in found.values()), said


def best_between_8_and_16(runs: Runs) -> Verdict:
    """The best layout of both recurrent networks in every size."""
    said, holds = [], True
    for network, size in product(RECURRENT, ("small", "medium", "large")):
        best = runs.best_layout(network, size)
        said.append(f"{network} {size} {best}")
        if best not in FEW:
            holds = False
            few = min(runs.graphi_s(network, size, layout) for layout in FEW)
            said[-1] += (
                f" (the better of {' and '.join(FEW)} takes {few / runs.best_s(network, size) - 1:.1%} longer)"
            )
    return holds, ", ".join(said)


def recovers_the_diagonal(predicted: Predicted) -> Verdict:
    """Under critical path first no cell finishes before one of an earlier diagonal, in no layout."""
    found = _against(predicted, "critical path first")
    return max(found.values()) == 0, _said(found)


def naive_leaves_the_diagonal(predicted: Predicted) -> Verdict:
    """Under the naive queue some cells do, wherever more ops are ready than executors are idle."""
    found = _against(predicted, "naive queue")
    return max(found.values()) > 0, _said(found)


def _against(predicted: Predicted, engine: str) -> dict[str, float]:
    """Return the rows of Sec. 7.4 of an engine, by layout."""
    quantity = next(q for q in predicted.system.published().quantities if q.name == AGAINST)
    cases = [case for case, *_ in quantity.asked() if case["engine"] == engine]
    return {str(case["layout"]): predicted("Sec. 7.4", AGAINST, **case) for case in cases}


def against_the_diagonal(schedule: Schedule) -> float:
    """Return the share of pairs of forward cells on different diagonals that finish in the wrong order.

    A cell is on diagonal layer + step; it finishes with the last of its forward ops.
    """
    cells: dict[tuple[int, int], float] = {}
    names = schedule.graph.names
    for task, name in enumerate(names.to_list() if names is not None else ()):
        if match := CELL.match(name):
            cell = int(match[1]), int(match[2])
            cells[cell] = max(cells.get(cell, 0.0), float(schedule.finish_s[task]))
    diagonal: npt.NDArray[np.int64] = np.array([sum(cell) for cell in cells])
    finish_s = np.array(list(cells.values()))
    earlier = diagonal[:, None] < diagonal
    return float((finish_s[:, None] > finish_s)[earlier].mean())


def _said(shares: dict[str, float]) -> str:
    said = ", ".join(f"{layout} {share:.2%}" for layout, share in shares.items())
    return f"pairs of cells that finish against the diagonals: {said}"


@dataclass(frozen=True)
class Graphi(System):
    """Critical path first on symmetric executors, beside a naive queue, one executor with all cores, and TensorFlow.

    Parameters
    ----------
    machine : str
        With the 400 GB/s that the paper gives its MCDRAM; see `simsched.machine`.
    software : float
        Factor on the machine's seconds of a dispatch and a pop, which are those of two cache lines.
    gates : {"own", "shared", "joined"}
        Whether each gate of a recurrent cell has its own two matrix products, one of its input and one of its state;
        all share two such; or one of both side by side.
    library : str
        What divides the ops over threads, by their shapes; see docs/costs.md.
    order : {"random", "fifo", "lifo"}
        Which ready op the naive queue gives.
    small_s : float
        Most estimated seconds of a small op.
    buffered : bool
        Whether busy executors are handed one op in advance.
    idle : {"parked", "polling"}
        Whether TensorFlow's idle threads are parked, as Eigen's are, or poll a lock like those of the naive queue.

    Examples
    --------
    >>> from simsched.reproduce import system_of
    >>> system_of("graphi").published().tables
    ('Table 2', 'Fig. 5', 'Fig. 6', 'Sec. 7.4', 'Abstract')
    """

    name = "graphi"

    machine: str = text("knl-7250[bandwidth_Bps=4e11]")
    software: float = positive(1.0)
    gates: str = one_of("own", "shared", "joined")
    library: str = text("graphi")
    order: str = one_of("random", "fifo", "lifo")
    small_s: float = positive(1e-6)
    buffered: bool = False
    idle: str = one_of("parked", "polling")

    def predictions(self) -> Mapping[tuple[str, str], Prediction]:
        """Return ratios of batch times."""
        runs = Runs(self)

        def over_naive(network: str, size: str, layout: str) -> float:
            return runs.graphi_s(network, size, layout) / runs.naive_s(network, size, layout)

        def over_sequential(network: str, size: str, layout: str) -> float:
            return runs.graphi_s(network, size, layout) / runs.sequential_s(network, size)

        def over_graphi(network: str, size: str) -> float:
            return runs.tensorflow_s(network, size) / runs.best_s(network, size)

        def speed_up(network: str, size: str) -> float:
            return runs.sequential_s(network, size) / runs.best_s(network, size)

        def against(network: str, size: str, engine: str, layout: str) -> float:
            own = engine == "critical path first"
            found = [runs.graphi(network, size, layout)] if own else runs.naive(network, size, layout)
            return mean(against_the_diagonal(run) for run in found)

        def extreme(one: Prediction, bound: str, networks: tuple[str, ...] = NETWORKS) -> float:
            found = [one(network, size) for network in networks for size in SIZES]
            return min(found) if bound == "least" else max(found)

        return {
            ("Table 2", RATIO): over_naive,
            ("Fig. 5", f"{OVER_GRAPHI}, best layout of each"): over_graphi,
            ("Fig. 6", "time over sequential time"): over_sequential,
            ("Fig. 6", SPEED_UP): speed_up,
            ("Fig. 6", f"{SPEED_UP}, range over networks and sizes"): partial(extreme, speed_up),
            ("Sec. 7.4", AGAINST): against,
            ("Abstract", f"{OVER_GRAPHI}, range over networks and sizes"): partial(extreme, over_graphi),
        }

    def verdicts(self) -> Mapping[str, Callable[[Predicted], Verdict]]:
        """Return the checks of signs, best layouts and the recovered diagonal."""
        runs = Runs(self)
        return {
            "critical_path_first_wins": critical_path_first_wins,
            "recovers_the_diagonal": recovers_the_diagonal,
            "naive_leaves_the_diagonal": naive_leaves_the_diagonal,
            "small_gains_more": small_gains_more,
            "best_between_8_and_16": lambda _: best_between_8_and_16(runs),
            "parallel_wins": parallel_wins,
        }

    def pictures(self) -> Mapping[str, Drawing]:
        """Return bars by network in the paper's form."""
        return {
            table: partial(bars, label, group, quantity, quantity, log=False)
            for table, label, group, quantity in (
                ("Table 2", "{network}", "{layout}", RATIO),
                ("Fig. 5", "{network}", "{size}", f"{OVER_GRAPHI}, best layout of each"),
                ("Fig. 6", "{network} {size}", "{layout}", "time over sequential time"),
            )
        }
