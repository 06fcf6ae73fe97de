"""Sweeps: a replay for each combination of graphs, machines, policies, layouts and seeds."""

from simsched.sweep.axes import Range
from simsched.sweep.store import results
from simsched.sweep.sweep import Sweep

__all__ = ["Range", "Sweep", "results"]
