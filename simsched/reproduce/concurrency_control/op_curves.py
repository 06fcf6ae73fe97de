"""Seconds of ops by width and sharing on a simulated machine, as a profiler would measure them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.costs import CostModel
from simsched.costs.fitting.climbing import widest
from simsched.costs.fitting.points import Op, Sharing
from simsched.graph import TaskGraph
from simsched.machine import Machine
from simsched.replay import simulate
from simsched.reproduce.concurrency_control.op_mixes import MixedOp
from simsched.reproduce.one_core_seconds import LIBRARY

Array = npt.NDArray[np.float64]

#: Placements that let threads share tiles, or not.
PLACEMENTS: dict[Sharing, str] = {"shared": "compact", "apart": "scatter"}


@dataclass(frozen=True)
class OpCurve:
    """One instance of an op and its seconds.

    Parameters
    ----------
    op : Op
    seconds : mapping of Sharing to float64 array
        Seconds on 1, 2, 3, ... threads, without noise.
    """

    op: Op
    seconds: Mapping[Sharing, Array]

    @property
    def best_s(self) -> float:
        """Seconds on the fastest width and sharing."""
        return min(float(row.min()) for row in self.seconds.values())


def op_curves(mix: Sequence[MixedOp], machine: Machine) -> list[OpCurve]:
    """Return the curve of every instance of a mix: each op replayed alone, on every width, in both placements."""
    distinct = _replayed(mix, machine)
    return [OpCurve(one.op, distinct[i]) for i, one in enumerate(mix) for _ in range(one.count)]


def _replayed(mix: Sequence[MixedOp], machine: Machine) -> list[dict[Sharing, Array]]:
    graph, costs = _chain(mix)
    found: list[dict[Sharing, Array]] = [{} for _ in mix]
    for sharing, most in widest(machine).items():
        policy, columns = f"fifo[placement={PLACEMENTS[sharing]}]", []
        for width in range(1, most + 1):
            run = simulate(graph, machine, policy, (1, width), costs)
            columns.append(run.finish_s - run.start_s)
        for rows, row in zip(found, np.stack(columns, axis=1), strict=True):
            rows[sharing] = row
    return found


def _chain(mix: Sequence[MixedOp]) -> tuple[TaskGraph, CostModel]:
    """Return a chain of the ops, so that each runs alone, and the cost model of their curves."""
    kinds = [one.op.kind if one.curve is None else f"published {i}" for i, one in enumerate(mix)]
    graph = TaskGraph.from_edges(
        [one.one_core_s for one in mix],
        [(i, i + 1) for i in range(len(mix) - 1)],
        kinds=kinds,
        flops=[np.nan if one.op.flops is None else one.op.flops for one in mix],
        bytes_B=[np.nan if one.op.bytes_B is None else one.op.bytes_B for one in mix],
    )
    own = {kind: one.curve for kind, one in zip(kinds, mix, strict=True) if one.curve is not None}
    return graph, CostModel(curves=own, library=LIBRARY)
