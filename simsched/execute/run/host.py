"""Which CPUs of the system the hardware threads of the machine `host` are."""

from __future__ import annotations

from simsched.errors import LayoutError
from simsched.machine import Machine
from simsched.plugins import named


def cpus_of(machine: Machine) -> list[int]:
    """Return the system's number of each hardware thread in use.

    Raises
    ------
    LayoutError
        If the machine has more cores than the system: then it is another one.
    """
    cores: tuple[tuple[int, ...], ...] = named("hosts", "cpus")()
    if machine.n_cores > len(cores) or machine.smt > min(map(len, cores)):
        raise LayoutError(
            f"{machine} has {machine.n_cores} cores; graphs really run on this system, which has {len(cores)}"
        )
    # As everywhere: thread `way * n_cores + core` is a way of that core.
    return [cores[core][way] for way in range(machine.smt) for core in range(machine.n_cores)]
