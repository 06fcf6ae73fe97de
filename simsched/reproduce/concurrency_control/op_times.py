"""Seconds of TensorFlow's ops on a Xeon Phi: kinds of Table VI have its times, others derived ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel, Curve, TaskCosts
from simsched.costs.fitting.points import Op
from simsched.costs.kernels import Team
from simsched.graph import TaskGraph
from simsched.machine import machine as machine_of
from simsched.policies.corun import candidate_widths
from simsched.reproduce.one_core_seconds import LIBRARY, one_core_s, ops_of
from simsched.reproduce.published import Published, read_published
from simsched.workloads.mkl_layout import CONVERSIONS, REWRITTEN, with_conversions
from simsched.workloads.workload import family

#: The paper's machine (Sec. II-C).
MACHINE = "knl-7250[memory=cache]"
CORES = 68
#: The networks of the paper (Sec. IV-A: data sets and batches), as workloads.
NETWORKS = {
    "resnet50": "resnet50[size=cifar10,granularity=tensorflow]",
    "dcgan": "dcgan[size=mnist]",
    "inception_v3": "inception_v3[size=step]",
    "lstm": "lstm[size=ptb,joined=true]",
}
#: Networks of Table VI; others take the numbers of the first.
TIMED = ("resnet50", "lstm")
#: Families of kinds that are streams, and the kind of Table VI that represents them.
STREAMS, SPEAKER = ("element-wise", "reduction", "pooling", "data movement"), "Mul"
#: Kinds of Table VI that change more than this were controlled, whatever implements them: those of Eigen would lose.
CHANGED = 0.10
#: Steps of the search for an overhead, of a range up to four times the published one.
STEPS, OVERHEADS = 14, (0.0, 0.03)


@dataclass(frozen=True)
class _KindTimes:
    """Seconds of ops of a kind.

    Parameters
    ----------
    factor : float
        Seconds on one core over those of the kernel model.
    curve : Curve
        How they gain from threads.
    """

    factor: float
    curve: Curve


def paper() -> Published:
    """Return the data of the paper of concurrency control."""
    return read_published(files("simsched.reproduce") / "papers" / "concurrency-control.toml")


def controlled(kind: str) -> bool:
    """Return whether the runtime chooses a kind's thread count: MKL-DNN's, and those changed in Table VI."""
    if kind in REWRITTEN or kind in CONVERSIONS:
        return True
    changes = [1 - row[kind][1] / row[kind][0] for row in map(table_vi, TIMED) if kind in row]
    return max(changes, default=0.0) > CHANGED


def table_vi(network: str) -> Mapping[str, tuple[float, float]]:
    """Return the seconds per step of Table VI's kinds, recommended and with strategies 1 and 2 (inputs)."""
    rows = paper().inputs["op_times"][network]
    return {kind: (float(before) / 1e3, float(after) / 1e3) for kind, (before, after) in rows.items()}


@cache
def network_graph(network: str) -> TaskGraph:
    """Return a training step as TensorFlow runs it with MKL-DNN, with the seconds of its ops on one core."""
    net: Any = family(NETWORKS[network])
    graph = with_conversions(net.built(), str(net))
    seconds, ops = times_of(network).one_core_s, ops_of(graph)
    known = {op: seconds(op) for op in dict.fromkeys(ops)}
    return replace(
        graph,
        durations_s=np.array([known[op] for op in ops]),
        widths=np.ones(graph.n_tasks, np.int32),
        recorded_on=None,
    )


@cache
def network_costs(network: str) -> CostModel:
    """Return the speed-up of a network's ops by threads."""
    times = times_of(network)
    kinds = network_graph(network).kinds.labels
    return CostModel(curves={kind: times.of(kind).curve for kind in kinds}, library=LIBRARY)


def times_of(network: str) -> OpTimes:
    """Return the times of a network's kinds."""
    return _times(network if network in TIMED else TIMED[0])


class OpTimes:
    """Seconds of the kinds of ops of a network that Table VI times, and of others like it.

    Kinds of the table take its seconds under the recommended setting; of those that are controlled, the overhead of a
    thread is what gives its seconds under strategies 1 and 2. Of other kinds, streams take over the kernel model what
    `Mul` takes, the overhead of convolutions is as large as the fifth kind of the table allows, and the rest is the
    kernel model's; no kind takes more per step than that one.

    Parameters
    ----------
    network : str
        One of `TIMED`.
    """

    def __init__(self, network: str) -> None:
        self._machine = machine_of(MACHINE)
        team = Team(self._machine, 1)
        net: Any = family(NETWORKS[network])
        self._kernel_s = cache(lambda op: one_core_s(op, team))
        self._ops: dict[str, Counter[Op]] = {}
        for op, count in Counter(ops_of(with_conversions(net.built(), str(net)))).items():
            if op.flops or op.bytes_B:
                self._ops.setdefault(op.kind, Counter())[op] = count
        self._table = table_vi(network)
        self._most_s = min(before for before, _ in self._table.values())
        self._speaker = self._met(SPEAKER)
        self.of = cache(self._of)

    def one_core_s(self, op: Op) -> float:
        """Return the seconds of an op on one core."""
        return self.of(op.kind).factor * self._kernel_s(op) if op.flops or op.bytes_B else 0.0

    def _of(self, kind: str) -> _KindTimes:
        if kind in self._table:
            return self._met(kind)
        most_s, like = self._most_s, self._like(kind)
        if kind not in self._ops or self._recommended_s(kind, like) <= most_s:
            return like
        if like.curve.family == "convolution":
            return self._searched(
                lambda overhead: _KindTimes(1.0, _with(like.curve, overhead)),
                lambda times: self._recommended_s(kind, times) > most_s,
            )
        return self._scaled(kind, like, most_s)

    def _like(self, kind: str) -> _KindTimes:
        """Return the times of a kind that is not in the table."""
        curve = CostModel(library=LIBRARY).curve(kind)
        if curve.family in STREAMS:
            return _KindTimes(self._speaker.factor, _with(curve, self._speaker.curve.thread_overhead))
        return _KindTimes(1.0, replace(curve, serial_share=0.0) if curve.family == "convolution" else curve)

    def _met(self, kind: str) -> _KindTimes:
        """Return the times of a kind of the table."""
        before, after = self._table[kind]
        curve = CostModel(library=LIBRARY).curve(kind)
        if not controlled(kind):
            streamed = curve.family in STREAMS
            return self._scaled(
                kind,
                _KindTimes(1.0, _with(curve, self._speaker.curve.thread_overhead if streamed else 0.0)),
                before,
            )
        curve = replace(curve, serial_share=0.0)
        return self._searched(
            lambda overhead: self._scaled(kind, _KindTimes(1.0, _with(curve, overhead)), before),
            lambda times: self._controlled_s(kind, times) < after,
        )

    def _searched(
        self, made: Callable[[float], _KindTimes], beyond: Callable[[_KindTimes], bool]
    ) -> _KindTimes:
        """Return the times of the largest overhead that stays within a limit."""
        low, high = OVERHEADS
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(made(middle)) else (middle, high)
        return made(low)

    def _scaled(self, kind: str, times: _KindTimes, seconds: float) -> _KindTimes:
        """Return times scaled such that all ops of a kind take some seconds under the recommended setting."""
        for _ in range(30):
            found = self._recommended_s(kind, times)
            if abs(found / seconds - 1) < 1e-7:
                break
            times = replace(times, factor=times.factor * seconds / found)
        return times

    def _recommended_s(self, kind: str, times: _KindTimes) -> float:
        """Return the seconds of all ops of a kind under the recommended setting."""
        costs, counts = self._costs(kind, times)
        return float(counts @ costs.seconds(CORES))

    def _controlled_s(self, kind: str, times: _KindTimes) -> float:
        """Return the seconds of all ops of a kind with strategies 1 and 2."""
        costs, counts = self._costs(kind, times)
        widths, fastest = candidate_widths(costs, CORES, 2, 1)
        return float(counts @ costs.seconds(int(widths[fastest[:, 0].argmax(), 0])))

    def _costs(self, kind: str, times: _KindTimes) -> tuple[TaskCosts, npt.NDArray[np.int64]]:
        """Return the costs of the different ops of a kind, and how many there are of each."""
        ops, counts = list(self._ops[kind]), np.array(list(self._ops[kind].values()))
        graph = TaskGraph.from_edges(
            [times.factor * self._kernel_s(op) for op in ops],
            kinds=kind,
            flops=[np.nan if op.flops is None else op.flops for op in ops],
            bytes_B=[np.nan if op.bytes_B is None else op.bytes_B for op in ops],
        )
        return CostModel(curves={kind: times.curve}, library=LIBRARY).on(graph, self._machine), counts


_times = cache(OpTimes)


def _with(curve: Curve, overhead: float) -> Curve:
    return replace(curve, thread_overhead=overhead, family="given")
