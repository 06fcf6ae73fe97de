"""A suite that any machine can be run through: ours in the tests, and yours."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np

from simsched import native
from simsched.errors import MachineError
from simsched.machine import Machine
from simsched.machine import machine as machine_of
from simsched.testing.equivalence import check_same
from simsched.testing.numbers import idle_numbers, observed, replays
from simsched.testing.structures import check_structure, hold

#: Rounding of sums of floats.
RELATIVE = 1e-9


def check_machine(machine: str | Path | Machine, *, uncounted: Iterable[str] = ()) -> None:
    """Check that a machine is sensible, at its own size and others, and that each of its numbers changes a result.

    - Distances are symmetric, 0 to the core itself, and no way is shorter by a third core.
    - Tiles and memory domains have all cores, and the picture has each once.
    - More threads never reach less bandwidth, nor one more than a core has, nor all more than the memory has.
    - With half, twice and three times the cores it stays sensible, keeps what a core, tile and domain have, and comes
      back to what it was.
    - Its string makes it again.
    - Each number changes a replay, a kernel's seconds, a bandwidth, a distance, the picture, or a table that a package
      has registered; but for the sizes of L1 and L3, which only describe, and the numbers of cores and of threads.
    - Both engines, where both are installed, replay the same on it.

    Parameters
    ----------
    machine : str, Path or Machine
        As for `simsched.machine`. Varied to fewer cores one of many numbers is checked sooner; to too few, and its
        cores together ask for less than the memory has, whose bandwidth then counts for nothing.
    uncounted : iterable of str
        Places of further numbers of the file that need not change a result: `structure.rows`, say, where the number of
        cores follows from it.

    Raises
    ------
    AssertionError
        If one of that does not hold; the message names the machine, and what of it.
    SimschedError
        If there is no such machine, or its file is impossible.

    Examples
    --------
    >>> from simsched.testing import check_machine
    >>> check_machine("generic")
    """
    checked = machine_of(machine)
    check_structure(checked.structure, str(checked))
    _check_bandwidth(checked)
    _check_sizes(checked)
    hold(machine_of(str(checked)) == checked, f"{checked}: this string makes another machine")
    idle = idle_numbers(checked, lambda other: chain([other.tables], observed(other)), uncounted)
    hold(not idle, f"{checked}: numbers that change no result: {', '.join(idle)}")
    if native.find():
        for one, other in zip(replays(checked, "simpy"), replays(checked, "native"), strict=True):
            check_same(one, other)


def _check_bandwidth(machine: Machine) -> None:
    for mode in machine.content["memory"]["modes"]:
        on = machine.varied({"memory": mode})
        reach, more = on.reach_Bps, 1 + RELATIVE
        hold(reach[0] == 0, f"{on}: no thread reaches {reach[0]:g} B/s")
        down = np.flatnonzero(np.diff(reach) < -RELATIVE * on.bandwidth_Bps)
        hold(not len(down), f"{on}: a thread more than {next(iter(down), 0)} makes them reach less")
        hold(reach[1] <= on.core_bandwidth_Bps * more, f"{on}: one thread reaches more than a core has")
        hold(reach[-1] <= on.memory.limit_Bps * more, f"{on}: all threads reach more than the memory has")


def _check_sizes(machine: Machine) -> None:
    """Check the machine with other numbers of cores, where it can have them."""
    for tiles in (machine.n_tiles // 2, 2 * machine.n_tiles, 3 * machine.n_tiles):
        try:
            other = machine.varied({"cores": tiles * machine.cores_per_tile})
        except MachineError:
            continue
        hold(other.n_cores == tiles * machine.cores_per_tile, f"{other}: it has {other.n_cores} cores")
        check_structure(other.structure, str(other))
        _check_bandwidth(other)
        for kept in ("cores_per_tile", "core_flops", "l1d_B", "l2_B", "l3_B", "l2_bandwidth_Bps", "runtime"):
            hold(getattr(other, kept) == getattr(machine, kept), f"{other}: {kept} changes with the cores")
        hold(0 < other.interconnect_share <= 1, f"{other}: interconnect_share is {other.interconnect_share}")
        back = other.varied({"cores": machine.n_cores})
        hold(back.structure == machine.structure, f"{back}: its structure is not that of {machine}")
        hold(back.memory == machine.memory, f"{back}: its memory is not that of {machine}")
