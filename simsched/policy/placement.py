"""Cores of an executor (docs/semantics.md, rule 6, pinned)."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, SpecError
from simsched.graph.adjacency import Csr, Index
from simsched.machine import Machine
from simsched.policy.layout import Layout
from simsched.policy.problem import Problem

PREFERENCES = ("lowest", "producer")
PLACEMENTS = ("compact", "scatter", "dense")

#: Tasks whose stray threads are sampled at a time: bounds the memory for a million tasks.
CHUNK = 1 << 14
#: Threads of all tasks whose places are sampled, of four bytes each.
MOST_DISPLACED = 1 << 31


def core_order(machine: Machine, placement: str) -> Index:
    """Return all hardware threads in use in the order in which executors take them.

    Thread `way * n_cores + core` is a way of that core; with one way per core, threads are cores.

    Parameters
    ----------
    machine : Machine
    placement : {"compact", "scatter", "dense"}
        Compact fills tiles in sequence; scatter takes one core of every tile, then the next core of each. Both
        take one way of every core, then the next way of each; dense takes all ways of a core, then the next core.

    Raises
    ------
    SpecError
        If the placement is neither.
    """
    threads = np.arange(machine.n_threads, dtype=np.int32)
    if placement == "compact":
        return threads
    if placement == "scatter":
        ways, cores = np.divmod(threads, machine.n_cores)
        return np.lexsort((cores, cores % machine.cores_per_tile, ways)).astype(np.int32)
    if placement == "dense":
        return np.argsort(threads % machine.n_cores, kind="stable").astype(np.int32)
    raise SpecError(f"placement {placement!r} is not known; there are {', '.join(PLACEMENTS)}")


def executor_cores(machine: Machine, layout: Layout, placement: str, reserved: int = 0) -> Csr:
    """Return the hardware threads of each executor, ascending; the last `reserved` cores but devices are left out.

    A layout larger than the machine goes round it again: then threads hold several executors, or one of them twice. Of
    cores of several kinds, those that no whole team of their kind has are left out, where the layout fits without them.
    Its devices come last.
    """
    order = core_order(machine, placement)
    if reserved:
        devices_first = np.argsort(~machine.is_device, kind="stable")
        order = order[np.isin(order % machine.n_cores, devices_first[: machine.n_cores - reserved])]
    width, device = layout.width, machine.is_device[order % machine.n_cores]
    devices, order = order[device][: layout.devices], order[~device] if layout.devices else order
    if len(by_kind := _whole_teams(machine, order, width)) >= layout.executors * width:
        order = by_kind
    cores = np.sort(order[np.arange(layout.executors * width) % len(order)].reshape(-1, width), axis=1)
    sizes = np.r_[0, np.full(layout.executors, width), np.ones(len(devices), np.int64)]
    return Csr(np.cumsum(sizes, dtype=np.int64), np.r_[cores.ravel(), devices])


def _whole_teams(machine: Machine, order: Index, width: int) -> Index:
    """Return threads in their order, but kind by kind, and of each kind as many as fill teams of a width."""
    if machine.kinds is None:
        return order
    cores = order % machine.n_cores
    teamed = ~machine.is_device[cores] | (width == 1)
    each = [order[teamed & (machine.kind_of[cores] == kind)] for kind in range(len(machine.kinds.names))]
    return np.concatenate([threads[: len(threads) // width * width] for threads in each])


def displaced(problem: Problem, misplaced: float) -> npt.NDArray[np.int32]:
    """Sample where an operating system runs the threads of tasks that are not pinned (rule 6).

    Returns
    -------
    int32 array, shape (n, width)
        A random hardware thread for the share `misplaced` of all threads; -1, that of the executor, for the others.
        Sampled per task index, before the replay starts.

    Raises
    ------
    LayoutError
        If they are more than fit into memory.
    """
    assert problem.layout is not None  # noqa: S101 - narrows the type: static policies always have a layout
    generator = np.random.default_rng([problem.seed, 2])
    n, width = problem.graph.n_tasks, problem.layout.width
    if n * width > MOST_DISPLACED:
        raise LayoutError(
            f"{n} tasks of {width} threads that are not pinned: places of {n * width} threads would be sampled, at "
            f"most {MOST_DISPLACED} can be; give pinned=true or a narrower layout"
        )
    sampled = np.empty((n, width), np.int32)
    for start in range(0, n, CHUNK):
        shape = sampled[start : start + CHUNK].shape
        place = generator.integers(0, problem.machine.n_threads, shape, np.int32)
        sampled[start : start + CHUNK] = np.where(generator.random(shape) < misplaced, place, -1)
    return sampled


def take_idle(idle: list[int], width: int, cores_per_tile: int, n_cores: int) -> list[int]:
    """Return `width` of the idle hardware threads, ascending.

    One way of the cores after the other, and of each whole idle tiles first, lowest numbers first.

    Parameters
    ----------
    idle : list of int
        Idle hardware threads, ascending; at least `width`.
    width : int
        Threads wanted.
    cores_per_tile : int
        Cores of a tile.
    n_cores : int
        Cores: threads 0 to n_cores - 1 are the first way of each.
    """
    first = bisect_left(idle, (idle[0] // n_cores + 1) * n_cores)
    if first >= width:
        return _take_of_one_way(idle[:first], width, cores_per_tile)
    return idle[:first] + take_idle(idle[first:], width - first, cores_per_tile, n_cores)


def _take_of_one_way(idle: list[int], width: int, cores_per_tile: int) -> list[int]:
    if cores_per_tile == 1 or width == len(idle):
        return idle[:width]
    per_tile: dict[int, int] = {}
    for core in idle:
        per_tile[core // cores_per_tile] = per_tile.get(core // cores_per_tile, 0) + 1
    # Narrow teams fill broken tiles, so that whole ones stay for wide teams.
    wanted = cores_per_tile if width >= cores_per_tile else 1
    ranked = sorted(idle, key=lambda core: (abs(per_tile[core // cores_per_tile] - wanted), core))
    return sorted(ranked[:width])
