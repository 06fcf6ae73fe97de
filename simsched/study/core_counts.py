"""The core counts of a prediction, as a list, as text, or around the machine's own; graphs for each, and the knee."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError, MachineError
from simsched.graph import Recording, TaskGraph
from simsched.machine import Machine
from simsched.machine.varying import as_built
from simsched.parameters import is_whole

#: Halvings of the machine's cores, below it, and doublings above it.
HALVINGS, DOUBLINGS = 5, 2
_COUNT = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def core_counts(cores: Sequence[int] | str | None, machine: Machine) -> Sequence[int]:
    """Return core counts, at least one.

    Parameters
    ----------
    cores : sequence of int, or str, or None
        The counts; or text: counts and ranges between commas, where a range doubles from its first count on and ends
        with its last. `counts_around` when None.
    machine : Machine

    Raises
    ------
    MachineError
        If there is none, or the text has something else in it.

    Examples
    --------
    >>> import simsched as ss
    >>> core_counts("17-100,136", ss.machine("knl-7250"))
    [17, 34, 68, 100, 136]
    """
    if cores is None:
        return counts_around(machine)
    if isinstance(cores, str):
        return list(
            dict.fromkeys(count for part in cores.split(",") for count in _range(part.strip(), cores))
        )
    if not hasattr(cores, "__len__") or len(cores) == 0:
        raise MachineError(
            f"cores is {cores!r}; expected a list of core counts, as [17, 34, 68], or '17-136'"
        )
    if wrong := [count for count in cores if not is_whole(count, 1)]:
        raise MachineError(
            f"cores holds {wrong[0]!r}; expected whole numbers of 1 or more, as in [17, 34, 68]"
        )
    return cores


def _range(part: str, cores: str) -> list[int]:
    if not (found := _COUNT.fullmatch(part)):
        raise MachineError(
            f"cores is {cores!r}: {part!r} is no core count; expected some, as in '16,34', or '8-256'"
        )
    first, last = int(found[1]), int(found[2] or found[1])
    if not 0 < first <= last:
        raise MachineError(
            f"cores is {cores!r}: {part!r} is no number of cores from 1 up, and no range that goes up, as in '8-256'"
        )
    doubled = [first << k for k in range((last // first).bit_length())]
    return [*doubled, *([last] if doubled[-1] < last else [])]


def counts_around(machine: Machine) -> list[int]:
    """Return core counts around the machine's own, ascending, of whole tiles; those that its file allows.

    Raises
    ------
    MachineError
        If `dataclasses.replace` made it another machine than its file's.

    Examples
    --------
    >>> import simsched as ss
    >>> counts_around(ss.machine("generic[cores=8]"))
    [1, 2, 4, 8, 16, 32]
    """
    own, tile = as_built(machine).n_cores, machine.cores_per_tile
    wanted = {own >> k for k in range(HALVINGS + 1)} | {own << k for k in range(1, DOUBLINGS + 1)}
    rounded = {max(count // tile * tile, tile) for count in wanted}
    return sorted(count for count in rounded if _possible(machine, count))


def _possible(machine: Machine, count: int) -> bool:
    try:
        return machine.varied({"cores": count}).n_cores == count
    except MachineError:
        return False


def grown(graph: TaskGraph | Callable[[int], TaskGraph], cores: Sequence[int], weak: bool) -> list[TaskGraph]:
    """Return the graph for each core count.

    Parameters
    ----------
    graph : TaskGraph or callable
        A callable returns the graph for a core count.
    cores : sequence of int
        At least one.
    weak : bool
        Whether a graph is for the fewest cores, and others get independent copies of it in proportion, as
        data-parallel workers each take their own batch.

    Raises
    ------
    GraphError
        If core counts are not multiples of the fewest.
    """
    if callable(graph):
        return [graph(int(count)) for count in cores]
    if not weak:
        return [graph] * len(cores)
    fewest = min(cores)
    for count in cores:
        if count % fewest:
            raise GraphError(
                f"cores={count} is {count / fewest:.3g} times {fewest}: weak scaling by whole copies needs multiples "
                "of the fewest cores; or give a function of the core count as the graph"
            )
    return [graph if count == fewest else _copies(graph, int(count // fewest)) for count in cores]


def _copies(graph: TaskGraph, number: int) -> TaskGraph:
    """Return independent copies of a graph; of a recorded one as if the run had been repeated on the same lanes."""
    copies, run = graph.cleaned(f"unroll[iterations={number},between=nothing]"), graph.recording
    if run is None:
        return copies
    # Without a recording their seconds would pass for numbers that are given, which are exact.
    begin_s = np.repeat(np.arange(number) * run.finish_s.max(initial=0.0), graph.n_tasks)
    start_s, finish_s = np.tile(run.start_s, number) + begin_s, np.tile(run.finish_s, number) + begin_s
    again = Recording(start_s, finish_s, np.tile(run.lanes, number), run.lane_names)
    return replace(copies, recording=again)


def knee(cores: npt.ArrayLike, speedup: npt.ArrayLike) -> int | None:
    """Return the place of the knee: the largest efficiency over makespan, that is of speedup squared over cores.

    Before it, one per cent more cores shortens the makespan by more than half a per cent; after it, by less. Where a
    share s of the work is serial it is at (1 - s) / s cores. Unlike a bend found in a normalised curve it does not
    move with the requested core counts.

    Parameters
    ----------
    cores : array_like of int, shape (n,)
    speedup : array_like of float, shape (n,)
        Over one core; all on the same work.

    Returns
    -------
    int or None
        Of equals that of the fewest cores; None where nothing is sped up, as in a graph of no length.

    References
    ----------
    Speedup versus efficiency in parallel systems. IEEE Transactions on Computers 38(3), 1989.

    Examples
    --------
    >>> cores = [1, 2, 4, 9, 20, 50]
    >>> cores[knee(cores, [1 / (0.1 + 0.9 / p) for p in cores])]
    9
    """
    counts, gained = np.asarray(cores, np.float64), np.asarray(speedup, np.float64)
    worth = gained**2 / counts
    if not len(worth) or not worth.max() > 0:
        return None
    # A rounding difference is no gain.
    best = np.flatnonzero(worth >= worth.max() * (1 - 1e-9))
    return int(best[counts[best].argmin()])
