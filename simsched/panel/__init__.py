"""A panel for notebooks: graph, machine, policy and layout by hand, simulated again at every change."""

from simsched.panel.panel import Panel, panel
from simsched.rooms import make_callable

__all__ = ["Panel", "panel"]

make_callable(__name__, panel)
