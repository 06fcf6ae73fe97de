"""A suite that any machine can be run through, ours in the tests and yours: its structure, its numbers, its file."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched import native
from simsched.errors import MachineError
from simsched.machine import Machine, Structure, machine as machine_of
from simsched.testing.equivalence import check_same
from simsched.testing.invariants import hold
from simsched.testing.numbers import idle_numbers, observed, replays

#: Cores whose distances to all others are compared; a larger machine is checked in samples.
MOST_CORES = 96


def check_structure(structure: Structure, name: str) -> None:
    """Check tiles, domains, distances and the picture of a structure.

    Parameters
    ----------
    structure : Structure
    name : str
        What messages call it.

    Raises
    ------
    AssertionError
        If one of them is impossible.
    """
    _check_domains(structure, name)
    _check_distances(structure, name)
    _check_picture(structure, name)


def _check_distances(structure: Structure, name: str) -> None:
    some = np.unique(np.linspace(0, structure.n_cores - 1, MOST_CORES).astype(int))
    hops = _checked_distances(structure, "hops", some, np.int64, name)
    _checked_distances(structure, "transfer_s", some, np.float64, name)
    detours = hops[:, :, None] > hops[:, None, :] + hops.T[None]
    hold(not detours.any(), f"{name}: hops by way of a third core are fewer than those straight there")


def _checked_distances(
    structure: Structure, what: str, cores: npt.NDArray[np.int64], kind: type[np.generic], name: str
) -> npt.NDArray[Any]:
    """Return the distances among some cores, shape (len(cores), len(cores))."""
    far = np.array([getattr(structure, what)(int(core)) for core in cores])
    n = structure.n_cores
    hold(far.shape == (len(cores), n), f"{name}: {what} of a core has one number per core, {n}")
    hold(far.dtype == kind, f"{name}: {what} is an array of {kind.__name__}, not {far.dtype}")
    hold((far >= 0).all() and np.isfinite(far).all(), f"{name}: {what} is from 0 up and finite")
    among = far[:, cores]
    hold((among.diagonal() == 0).all(), f"{name}: {what} from a core to itself is 0")
    if not structure.one_way:
        _check_symmetric(among, cores, f"{name}: {what}")
    return among


def _check_symmetric(among: npt.NDArray[Any], cores: npt.NDArray[np.int64], what: str) -> None:
    differs = np.argwhere(~np.isclose(among, among.T, rtol=1e-9, atol=0))
    if len(differs):
        one, other = differs[0]
        raise AssertionError(
            f"{what} from core {cores[one]} to {cores[other]} is {among[one, other]}, but {among[other, one]} back"
        )


def _check_domains(structure: Structure, name: str) -> None:
    n, tiles, domains = structure.n_cores, structure.tile_of, structure.domain_of
    for what, numbers, count in (
        ("domain_of", domains, structure.n_domains),
        ("tile_of", tiles, n // structure.cores_per_tile),
        ("segment_of", structure.segment_of, structure.n_segments),
    ):
        hold(numbers.shape == (n,), f"{name}: {what} has one number per core, {n}, not {numbers.shape}")
        hold(numbers.dtype == np.int32, f"{name}: {what} is an array of int32, not {numbers.dtype}")
        there = np.unique(numbers).tolist()
        hold(there == list(range(count)), f"{name}: {what} has the numbers 0 to {count - 1} without gaps")
    hold((np.bincount(tiles) == structure.cores_per_tile).all(), f"{name}: a tile is not whole")
    hold((np.diff(tiles) >= 0).all(), f"{name}: cores are numbered tile by tile")
    firsts = domains[:: structure.cores_per_tile]
    hold((domains == firsts[tiles]).all(), f"{name}: a tile lies in two memory domains")


def _check_picture(structure: Structure, name: str) -> None:
    boxes = structure.picture().boxes
    cores = [box for box in boxes if box.core >= 0]
    drawn = sorted(box.core for box in cores)
    hold(drawn == list(range(structure.n_cores)), f"{name}: the picture has each core once")
    hold(all(box.width > 0 and box.height > 0 for box in boxes), f"{name}: a box of the picture is empty")
    some = cores[: 8 * MOST_CORES]
    corners = np.array([(box.x, box.y, box.x + box.width, box.y + box.height) for box in some])
    apart = (corners[:, None, 2:] <= corners[None, :, :2] + 1e-9).any(2)
    hold((apart | apart.T | np.eye(len(some), dtype=bool)).all(), f"{name}: two cores overlap in the picture")


#: Rounding of sums of floats.
RELATIVE = 1e-9


def check_machine(machine: str | Path | Machine, *, uncounted: Iterable[str] = ()) -> None:
    """Check that a machine is plausible, at its own size and others, and that each number has an effect.

    - Distances are symmetric, 0 to the core itself, and no way is shorter by a third core.
    - Tiles and memory domains have all cores, and the picture has each once.
    - More threads never reach less bandwidth, nor one more than a core has, nor all more than the memory has.
    - With half, twice and three times the cores it stays plausible, keeps its cores', tiles' and domains' data, and
      returns to the original.
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
        if machine.kinds is None:
            hold(other.n_cores == tiles * machine.cores_per_tile, f"{other}: it has {other.n_cores} cores")
        check_structure(other.structure, str(other))
        _check_bandwidth(other)
        for kept in ("cores_per_tile", "core_flops", "l1d_B", "l2_B", "l3_B", "l2_bandwidth_Bps", "runtime"):
            hold(getattr(other, kept) == getattr(machine, kept), f"{other}: {kept} changes with the cores")
        hold(0 < other.interconnect_share <= 1, f"{other}: interconnect_share is {other.interconnect_share}")
        back = other.varied({"cores": machine.n_cores})
        hold(back.structure == machine.structure, f"{back}: its structure is not that of {machine}")
        hold(back.memory == machine.memory, f"{back}: its memory is not that of {machine}")
