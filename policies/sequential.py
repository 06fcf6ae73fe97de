"""One executor with all cores runs one task after another: the default of a framework."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError
from simsched.machine import Machine
from simsched.policy import Layout, Problem, RankPolicy


@dataclass(frozen=True)
class Sequential(RankPolicy):
    """Ready tasks one by one in the order of the program (task index), each on all cores.

    The layout is `1xw`. Cost: one dispatch per task; O(log n) per decision.

    Parameters
    ----------
    placement, prefer, pinned, oversubscribe
        As in `RankPolicy`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> one = ss.simulate(graph, "generic[cores=4]", "sequential")
    >>> one.layout, one.start_order.tolist(), one.makespan_s
    ('1x4', [0, 1, 2], 6.0)
    """

    name = "sequential"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the task index."""
        return np.arange(problem.graph.n_tasks)

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return one executor, of all cores or a part of them."""
        return tuple(dict.fromkeys(Layout(1, layout.width) for layout in super().layouts(machine)))

    def suited(self, layout: Layout | None) -> Layout | None:
        """Return the layout if it has one executor."""
        return layout if layout is not None and layout.n_executors == 1 else None

    def checked_layout(self, machine: Machine, layout: Layout) -> Layout:
        """Return the layout; more than one executor is an error."""
        if layout.n_executors > 1:
            raise LayoutError(f"sequential has one executor; give a layout 1xw instead of {layout}")
        return super().checked_layout(machine, layout)
