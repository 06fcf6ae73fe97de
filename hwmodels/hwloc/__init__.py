"""hwloc XML files: the topology of real machines, as `lstopo FILE.xml` writes it."""

from simsched.hwmodels.hwloc.reader import HWLOC, read_topology

__all__ = ["HWLOC", "read_topology"]
