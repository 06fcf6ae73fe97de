"""Wavefront: one task per core, by diagonals (W-Par, Sec. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from simsched.policy import Problem, RankPolicy


@dataclass(frozen=True)
class Wavefront(RankPolicy):
    """The ready task of the lowest depth first.

    The depth is the number of edges on the longest path from a source: on the cells of a stacked recurrent network it
    is layer + step, the anti-diagonal. There is no barrier between diagonals: free cores take ready tasks as they
    appear, as under OmpSs. Cost: a pop from a shared queue; O(log n) per decision.

    Parameters
    ----------
    placement, prefer, pinned, oversubscribe
        As in `RankPolicy`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0, 1.0], [(0, 1), (1, 2), (0, 3)])
    >>> ss.simulate(graph, "generic[cores=1]", "wavefront").start_order.tolist()
    [0, 1, 3, 2]
    """

    name = "wavefront"
    queue = "shared"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the depth."""
        return problem.graph.depths
