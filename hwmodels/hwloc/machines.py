"""`HWLOC`: machines from hwloc files, with the numbers of a machine that is alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simsched.errors import MachineError
from simsched.hwmodels.hwloc.reader import read_topology
from simsched.hwmodels.phi import content_of, recognised
from simsched.hwmodels.preset import Preset
from simsched.hwmodels.topology import Topology
from simsched.plugins import registered


class HwlocFiles:
    """Reader of hwloc's XML files as machines.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import simsched as ss
    >>> text = '''<topology version="2.0"><object type="Machine" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="NUMANode" os_index="0" cpuset="0x3" nodeset="0x1" local_memory="1073741824"/>
    ... <object type="Package" os_index="0" cpuset="0x3" nodeset="0x1">
    ... <object type="Core" os_index="0" cpuset="0x1" nodeset="0x1">
    ... <object type="PU" os_index="0" cpuset="0x1" nodeset="0x1"/></object>
    ... <object type="Core" os_index="1" cpuset="0x2" nodeset="0x1">
    ... <object type="PU" os_index="1" cpuset="0x2" nodeset="0x1"/></object>
    ... </object></object></topology>'''
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "small.xml").write_text(text)
    ...     machine = ss.machine(f"{folder}/small.xml[like=xeon-8160x2]")
    >>> machine.n_cores, machine.core_flops == ss.machine("xeon-8160x2").core_flops
    (2, True)
    """

    suffixes: tuple[str, ...] = (".xml", ".xml.gz")

    def read(self, path: Path, like: str | None) -> Mapping[str, Any]:
        """Return the content of a machine file: structure and sizes of the topology, other numbers of `like`.

        A Xeon Phi is recognised and needs no `like`.

        Raises
        ------
        MachineError
            If the file is malformed, or its processor is not recognised and `like` is not given.
        """
        topology = read_topology(path)
        like = like or recognised(topology)
        if like is None:
            raise MachineError(_missing(path, topology))
        name = path.name.removesuffix(".gz").removesuffix(".xml")
        return content_of(topology, Preset.named(like, topology), name)


def _missing(path: Path, topology: Topology) -> str:
    names = ", ".join(name for name in registered("machines") if name != "host")
    return (
        f"{path}: {topology.told()}. An hwloc file does not know what a core computes (cores.flop_per_cycle, "
        "cores.sustained, cores.compute_throughput), what memory delivers (memory.modes: core_bandwidth, bandwidth, "
        "latency), the times of a cache line (structure.same_l3, structure.other_socket, ...) and the software's costs "
        f"(runtime): write {path}[like=NAME] to take them from another machine ({names}, or a file of your own), and "
        f"each that you know better behind it: {path}[like=NAME,cores.flop_per_cycle=32,bandwidth_Bps=2e11]"
    )


HWLOC = HwlocFiles()
