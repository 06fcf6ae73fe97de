"""A panel for notebooks: graph, machine, policy and layout by hand, simulated again at every change."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from simsched.costs import CostModel
from simsched.graph import TaskGraph
from simsched.machine import Machine, RuntimeProfile
from simsched.panel.panel import Panel, panel
from simsched.policy import Layout, Policy

__all__ = ["Panel", "panel"]


class _Room(ModuleType):
    """`simsched.panel` is this room and, called, the function of its name: `ss.panel(graph)`."""

    def __call__(
        self,
        graph: TaskGraph | Sequence[TaskGraph],
        machine: str | Path | Machine,
        policy: str | Policy | type[Policy],
        layout: str | Layout | tuple[int, int] | None = None,
        costs: CostModel | None = None,
        runtime: RuntimeProfile | None = None,
        seed: int = 0,
    ) -> Panel:
        """See `simsched.panel.panel.panel`."""
        return panel(graph, machine, policy, layout, costs, runtime, seed)


sys.modules[__name__].__class__ = _Room
