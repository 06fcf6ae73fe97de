"""`host`: the running system as a machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from simsched.errors import MachineError
from simsched.hwmodels.described import described
from simsched.hwmodels.host.cores import System
from simsched.hwmodels.topology import Topology
from simsched.hwmodels.topology_machine import in_order
from simsched.spec import parse_path
from simsched.system import Files, cpu_limit


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
    return System(files, allowed).topology(cpu_limit(files), notes)


def _affinity() -> frozenset[int] | None:
    try:
        return frozenset(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not on every system
        return None
