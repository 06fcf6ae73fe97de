"""`host`: the running system as a machine: its cores, caches and memories as Linux shows them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from simsched.errors import MachineError
from simsched.hwmodels.described import described
from simsched.hwmodels.topology import Cache, Core, CoreKind, NumaNode, Package, Topology, whole
from simsched.hwmodels.topology_machine import in_order
from simsched.spec import parse_path
from simsched.system import Files, cpu_limit

_CPU, _NODE = "sys/devices/system/cpu", "sys/devices/system/node"
_LEVELS = (1, 2, 3)


@dataclass(frozen=True)
class _Seen:
    """A core as the system shows it: its CPUs, and what it shares, each by what distinguishes it from others."""

    cpus: tuple[int, ...]
    package: int
    node: int
    kind: CoreKind
    caches: Mapping[int, tuple[tuple[int, ...], Cache]]

    @property
    def order(self) -> tuple[object, ...]:
        """Sort key that makes cores of a package, a memory and a cache neighbours."""
        shared = tuple(self.caches[level][0] if level in self.caches else self.cpus for level in (3, 2))
        return (self.package, self.node, *shared, self.cpus)


@dataclass(frozen=True)
class _System:
    """The system below a root, restricted to some of its CPUs."""

    files: Files
    allowed: frozenset[int]

    def topology(self, limit: float | None, notes: list[str]) -> Topology:
        """Return the topology; with a limit of CPU time, of no more cores than it can keep busy."""
        cores = sorted(self._cores(), key=lambda core: core.order)
        if limit is not None and limit < len(cores):
            kept = max(int(limit), 1)
            notes.append(
                f"the control group gives the time of {limit:g} CPUs: {kept} of {len(cores)} cores are taken"
            )
            cores = cores[:kept]
        packages = sorted({core.package for core in cores})
        kinds = list(dict.fromkeys(core.kind for core in cores))
        caches = list(dict.fromkeys((key, cache) for core in cores for key, cache in core.caches.values()))
        places = {key: place for place, key in enumerate(caches)}
        nodes = self._nodes(cores)
        domain = {node.os_index: place for place, node in enumerate(nodes)}
        return Topology(
            source="host",
            dialect="sysfs",
            writer="",
            packages=tuple(self._package for _ in packages),
            numa=tuple(nodes),
            caches=tuple(cache for _, cache in caches),
            kinds=tuple(kinds),
            cores=tuple(
                Core(
                    core.cpus,
                    packages.index(core.package),
                    kinds.index(core.kind),
                    domain.get(core.node, -1),
                    *(places[core.caches[level]] if level in core.caches else -1 for level in _LEVELS),
                )
                for core in cores
            ),
            distances=self._distances(nodes),
            notes=tuple(notes),
        )

    def _cores(self) -> list[_Seen]:
        cores: list[_Seen] = []
        taken: set[int] = set()
        for cpu in sorted(self.allowed):
            if cpu in taken:
                continue
            topology = f"{_CPU}/cpu{cpu}/topology"
            siblings = (
                self.files.numbers(f"{topology}/core_cpus_list")
                or self.files.numbers(f"{topology}/thread_siblings_list")
                or frozenset()
            )
            cpus = tuple(sorted(((siblings & self.allowed) - taken) | {cpu}))
            taken.update(cpus)
            package = self.files.number(f"{topology}/physical_package_id")
            node = next((node for node, near in self._near.items() if cpu in near), -1)
            cores.append(
                _Seen(cpus, -1 if package is None else package, node, self._kind(cpu), self._caches(cpu))
            )
        return cores

    def _caches(self, cpu: int) -> dict[int, tuple[tuple[int, ...], Cache]]:
        folder, found = f"{_CPU}/cpu{cpu}/cache", {}
        for index in self.files.numbered(folder, "index"):
            level = self.files.number(f"{folder}/index{index}/level")
            if level not in _LEVELS or self.files.text(f"{folder}/index{index}/type") == "Instruction":
                continue
            shared = self.files.numbers(f"{folder}/index{index}/shared_cpu_list") or frozenset({cpu})
            line_B = self.files.number(f"{folder}/index{index}/coherency_line_size") or 0
            size_B = self.files.size_B(f"{folder}/index{index}/size")
            found[level] = (tuple(sorted(shared)), Cache(level, size_B, line_B))
        return found

    def _kind(self, cpu: int) -> CoreKind:
        names = [
            name
            for name in ("core", "atom")
            if cpu in (self.files.numbers(f"sys/devices/cpu_{name}/cpus") or ())
        ]
        capacity = self.files.number(f"{_CPU}/cpu{cpu}/cpu_capacity")
        if not names and capacity is not None:
            names = [f"capacity {capacity}"]
        base_kHz, most_kHz = (
            self.files.number(f"{_CPU}/cpu{cpu}/cpufreq/{name}") or 0
            for name in ("base_frequency", "cpuinfo_max_freq")
        )
        return CoreKind("".join(names), base_kHz * 1e3, most_kHz * 1e3, self._info_Hz)

    @cached_property
    def _near(self) -> dict[int, frozenset[int]]:
        """CPUs of every memory."""
        return {
            node: self.files.numbers(f"{_NODE}/node{node}/cpulist") or frozenset()
            for node in self.files.numbered(_NODE, "node")
        }

    def _nodes(self, cores: list[_Seen]) -> list[NumaNode]:
        nodes = []
        for node in self._near:
            near = tuple(place for place, core in enumerate(cores) if core.node == node)
            # Knights Landing shows its MCDRAM as memory without CPUs.
            kind = "MCDRAM" if not self._near[node] and "Xeon Phi" in self._package.model else "DRAM"
            nodes.append(NumaNode(node, kind, self._memory_B(f"{_NODE}/node{node}/meminfo"), near))
        if len(nodes) > 1:
            return nodes
        # Virtual machines count memory that was plugged in later for the system, and not for its only node.
        kept = nodes or [NumaNode(0, "DRAM", 0, tuple(range(len(cores))))]
        return [replace(kept[0], memory_B=max(kept[0].memory_B, self._memory_B("proc/meminfo")))]

    def _memory_B(self, path: str) -> int:
        match = re.search(r"MemTotal:\s*([0-9]{1,15}) kB", self.files.text(path) or "")
        return int(match[1]) * 1024 if match else 0

    def _distances(self, nodes: list[NumaNode]) -> tuple[tuple[float, ...], ...]:
        rows = []
        for node in nodes:
            words = (self.files.text(f"{_NODE}/node{node.os_index}/distance") or "").split()
            if len(words) != len(nodes) or not all(re.fullmatch("[0-9]{1,6}", word) for word in words):
                return ()
            rows.append(tuple(map(float, words)))
        return tuple(rows)

    @cached_property
    def _info(self) -> dict[str, str]:
        """Contents of `/proc/cpuinfo` for the first CPU that is allowed, or for the first."""
        blocks = [
            dict(re.findall(r"^([^\t:\n]+?)[\t ]*: ?(.*)$", block, re.MULTILINE))
            for block in (self.files.text("proc/cpuinfo") or "").split("\n\n")
        ]
        ours = {str(cpu) for cpu in self.allowed}
        return next((block for block in blocks if block.get("processor") in ours), blocks[0])

    @cached_property
    def _info_Hz(self) -> float:
        # Rounded to 0.1 GHz: a clock that moves while it is read would make another machine every time.
        text = self._info.get("cpu MHz", "")
        return round(float(text), -2) * 1e6 if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) else 0.0

    @cached_property
    def _package(self) -> Package:
        def stated(*names: str) -> str:
            return " ".join(next((self._info[name] for name in names if name in self._info), "").split())[
                :200
            ]

        return Package(
            stated("model name", "Model", "cpu model", "cpu", "uarch"),
            stated("vendor_id", "CPU implementer", "vendor"),
            whole(stated("cpu family")),
            whole(stated("CPU part", "model")),
            whole(stated("stepping")),
        )


def host() -> Callable[[str | None, str | None], Mapping[str, Any]]:
    """`host`: the running system, with the numbers of the table of cores, or of another machine (`host[like=NAME]`).

    Returns
    -------
    callable
        Takes `like` and `core`, each a name or None, and returns the content of a machine file.

    Examples
    --------
    >>> import simsched as ss
    >>> machine = ss.machine("host[like=xeon-8160x2]")
    >>> machine.n_cores >= 1, machine.runtime == ss.machine("xeon-8160x2").runtime
    (True, True)
    """
    return host_content


def host_content(
    like: str | None = None, core: str | None = None, topology: Topology | None = None
) -> Mapping[str, Any]:
    """Return the content of a machine file for the running system.

    Parameters
    ----------
    like, core : str, optional
        Machine, or core of the table, that supplies bandwidths, FLOPs per cycle, latencies and software costs. Without
        both, the table is searched for the processor.
    topology : Topology, optional
        Topology of the system; detected when not given.

    Raises
    ------
    MachineError
        If `like` is the host itself, or has mistakes, or the table does not know the processor.
    SpecError
        If no machine is called `like`.
    """
    if like and parse_path(like).name == "host":
        raise MachineError(
            f"host[like={like}]: the host's own numbers are what is missing; name another machine"
        )
    return described(topology or read_host(affinity=_affinity()), like, core, "host", "host")


def cpus() -> tuple[tuple[int, ...], ...]:
    """Return the system's CPUs of each core, in the order of the machine's cores, for pinning threads.

    Returns
    -------
    tuple of tuple of int
        Row i holds the CPUs of core i, one for each of its hardware threads.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.host import cpus
    >>> len(cpus()) == ss.machine("host").n_cores
    True
    """
    return tuple(core.pus for core in in_order(read_host(affinity=_affinity())))


def read_host(root: Path = Path("/"), affinity: Collection[int] | None = None) -> Topology:
    """Read the topology of the running system from `/sys` and `/proc`.

    Parameters
    ----------
    root : Path
        Folder of `sys` and `proc`.
    affinity : collection of int, optional
        CPUs that this process may run on; all that are online where not given.

    Returns
    -------
    Topology
        The CPUs that are online and allowed, and no more cores than the control group's CPU time feeds; its notes
        list what was left out.
    """
    files = Files(root)
    online = files.numbers("sys/devices/system/cpu/online") or frozenset(
        files.numbered("sys/devices/system/cpu", "cpu")
    )
    present = online or frozenset(affinity or range(os.cpu_count() or 1))
    allowed = present if affinity is None else present & frozenset(affinity)
    notes = []
    if not allowed:
        allowed = present
    elif len(allowed) < len(present):
        notes.append(f"the affinity mask allows {len(allowed)} of {len(present)} CPUs")
    if len(offline := files.numbers("sys/devices/system/cpu/offline") or ()):
        notes.append(f"{len(offline)} CPUs are offline")
    return _System(files, allowed).topology(cpu_limit(files), notes)


def _affinity() -> frozenset[int] | None:
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        return None
