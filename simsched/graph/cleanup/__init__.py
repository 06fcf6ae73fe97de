"""Clean-up steps: explicit, composable changes of a task graph; see docs/cleanup.md."""

from simsched.graph.cleanup.cleanup import Cleanup, cleanup
from simsched.graph.cleanup.dropping import Backward, Drop, Forward, Select
from simsched.graph.cleanup.groups import Collapse, FuseChains, FuseSmall
from simsched.graph.cleanup.timing import RemoveOverhead, Scale
from simsched.graph.cleanup.unrolling import Unroll

__all__ = [
    "Backward",
    "Cleanup",
    "Collapse",
    "Drop",
    "Forward",
    "FuseChains",
    "FuseSmall",
    "RemoveOverhead",
    "Scale",
    "Select",
    "Unroll",
    "cleanup",
]
