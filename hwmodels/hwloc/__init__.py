"""hwloc XML files: the topology of real machines, as `lstopo FILE.xml` writes it."""

from simsched.hwmodels.hwloc.machines import HWLOC
from simsched.hwmodels.hwloc.reader import read_topology

__all__ = ["HWLOC", "read_topology"]
