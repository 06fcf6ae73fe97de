"""`CostModel`: seconds of a task on a team, when nothing disturbs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from simsched.costs.carrying import carried, one_core_of_recorded
from simsched.costs.curves import REFERENCE_S, Curve, default_curves, normalised
from simsched.costs.task_costs import TaskCosts
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile


@dataclass(frozen=True)
class CostModel:
    """How recorded seconds become seconds on another width and another machine.

    Parameters
    ----------
    curves : mapping of str to Curve
        Curves of kinds, instead of the defaults in `curves.toml`.
    default : Curve, optional
        Curve of every kind not listed anywhere; the default does not gain from more cores.
    noise : float
        Standard deviation of the logarithm of the seconds that really pass over those estimated; drawn per task
        from the replay's seed.
    """

    curves: Mapping[str, Curve] = field(default_factory=dict)
    default: Curve | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.noise < float("inf"):
            raise CostError(f"noise is {self.noise}; it must be zero or more, and finite")

    def curve(self, kind: str) -> Curve:
        """Return the curve of a kind."""
        table, other = default_curves()
        name = normalised(kind)
        for curves in ({normalised(k): c for k, c in self.curves.items()}, table):
            if name in curves:
                return curves[name]
        return self.default or other

    def on(self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile | None = None) -> TaskCosts:
        """Return the costs of a graph's tasks on a machine.

        Raises
        ------
        CostError
            If a task has no duration, and no FLOPs or bytes to estimate one from.
        """
        runtime = machine.runtime if runtime is None else runtime
        curves, codes = [self.curve(kind) for kind in graph.kinds.labels], graph.kinds.codes
        serial = np.array([c.serial_share for c in curves])[codes]
        overhead = np.array([c.thread_overhead for c in curves])[codes]
        fork, per_thread = (
            np.where(serial < 1, s, 0.0) for s in (runtime.fork_join_s, runtime.fork_join_per_thread_s)
        )
        recorded = one_core_of_recorded(graph, (serial, overhead, fork, per_thread))
        one_core, notes = carried(graph, machine, recorded)
        estimated_bytes = np.where(np.isnan(recorded), np.nan_to_num(graph.bytes_B), 0.0)
        return TaskCosts(
            one_core_s=one_core,
            serial_share=serial,
            thread_s=overhead * np.sqrt(REFERENCE_S * one_core),
            fork_join_s=fork,
            fork_join_per_thread_s=per_thread,
            floor_s=estimated_bytes / machine.bandwidth_Bps,
            n_cores=machine.n_cores,
            notes=(*notes, _families(graph, curves)),
        )


def _families(graph: TaskGraph, curves: Sequence[Curve]) -> str:
    """Return how many tasks follow the curve of each family."""
    counts: Counter[str] = Counter()
    for curve, count in zip(
        curves, np.bincount(graph.kinds.codes, minlength=len(curves)).tolist(), strict=True
    ):
        counts[curve.family] += count
    return "cost curves: " + ", ".join(f"{count} {family}" for family, count in counts.most_common() if count)
