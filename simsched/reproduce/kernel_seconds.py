"""Seconds of matrix products by shape, in place of cost curves: the kernel model for whole graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.curves import default_curves, normalised
from simsched.costs.kernel_team import Team
from simsched.costs.kernels import gemm_s
from simsched.costs.library import parameters
from simsched.costs.width_table import WidthTable
from simsched.graph.shapes import parse_shape
from simsched.reproduce.one_core_seconds import LIBRARY

if TYPE_CHECKING:
    from simsched.graph import TaskGraph
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine


@dataclass(frozen=True)
class KernelSeconds:
    """Matrix products divide into blocks of their output, not into equal parts of their operations.

    A gradient of weights, 512 x 64 times 64 x 512, has 64 blocks of 64 x 64 and its forward product 8, though both
    have the same operations. Takes the place of cost curves, as in `CostModel(measured=KernelSeconds())`, for products
    of two matrices whose shapes are known; a product too small to gain runs on one thread, as there.

    Parameters
    ----------
    library : str
        How products divide; see `simsched/costs/kernels.toml`.
    """

    library: str = LIBRARY

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of a graph's matrix products on a machine, and a sentence.

        Raises
        ------
        CostError
            If there is no such library.
        """
        rows = np.full(graph.n_tasks, -1, np.int32)
        known: dict[str, int] = {}
        curves: list[Seconds] = []
        for task in np.flatnonzero(_products(graph)).tolist():
            text = graph.shapes[task]
            if text not in known:
                known[text] = len(curves)
                curves.append(_curve(graph.shape(task), machine, self.library))
            rows[task] = known[text]
        seconds = np.stack(curves) if curves else np.zeros((0, machine.n_threads + 1))
        note = f"kernels by shape: {int((rows >= 0).sum())} matrix products of {len(curves)} shapes"
        return WidthTable(rows, seconds, np.zeros(len(curves))), (note,)

    def drawn(self, generator: np.random.Generator) -> KernelSeconds:
        """Return itself: what is uncertain of it are the machine's numbers."""
        return self


@lru_cache(maxsize=4096)
def _curve(shape: tuple[tuple[int, ...], ...], machine: Machine, library: str) -> Seconds:
    """Return the seconds on 0, 1, 2, ... threads, as a row of a `WidthTable`."""
    (m, k), (_, n) = shape
    params, widths = parameters(library), range(1, machine.n_threads + 1)
    teams = (Team(machine, width, ways=-(-width // machine.n_cores)) for width in widths)
    # Rows of a framework's matrices are contiguous, to BLAS its columns.
    seconds = np.array([gemm_s(n, m, k, team, params=params) for team in teams])
    return np.concatenate([[0.0], np.minimum(seconds, seconds[0])])


def _products(graph: TaskGraph) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which tasks are products of two matrices of known shapes."""
    curves, other = default_curves()
    kinds = [curves.get(normalised(kind), other).family == "matrix product" for kind in graph.kinds.labels]
    shapes = [_fit(label) for label in graph.shapes.labels]
    return np.array(kinds, np.bool_)[graph.kinds.codes] & np.array(shapes, np.bool_)[graph.shapes.codes]


def _fit(text: str) -> bool:
    shape = parse_shape(text)
    return (
        len(shape) == 2
        and all(len(dims) == 2 and min(dims) > 0 for dims in shape)
        and shape[0][1] == shape[1][0]
    )
