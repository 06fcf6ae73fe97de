"""A suite that any machine can be run through, ours in the tests and yours: its structure, its numbers, its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import chain, starmap, zip_longest
from math import inf
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched import native
from simsched.costs import CostModel
from simsched.costs.kernels import Convolution, Stream, Team, convolution_s, gemm_s, stream_s
from simsched.errors import MachineError, SimschedError
from simsched.graph import TaskGraph
from simsched.machine import Fact, Machine, Structure, machine as machine_of
from simsched.machine.build import built
from simsched.machine.schema import NARROW
from simsched.machine.variations import quantities
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.spec import Engine, Scalar, parse_path
from simsched.testing.equivalence import check_same
from simsched.testing.invariants import hold

#: Numbers that describe and enter no model yet, as docs/machines.md says; and those from which others of a file follow,
#: so that none changes alone.
UNCOUNTED = ("caches.l1d", "caches.l3", "cores.count", "cores.per_tile", "cores.smt_ways", "kinds.cores")


#: Elements of streams, up to 1 PB, in steps of a fifth, so that a memory a fifth smaller holds one less.
STREAMED = np.geomspace(1e4, 1e14, 128)


def idle_numbers(
    machine: Machine, observe: Callable[[Machine], Iterable[object]], uncounted: Iterable[str] = ()
) -> list[str]:
    """Return the places of the numbers of a machine that change no observation.

    Parameters
    ----------
    machine : Machine
    observe : callable
        Yields the compared values of a machine in sequence up to the first difference.
    uncounted : iterable of str
        Places to ignore, in addition to `UNCOUNTED`.

    Returns
    -------
    list of str
    """
    before, left_out = list(observe(machine)), {*UNCOUNTED, *uncounted}
    if machine.l2_bandwidth_Bps is None:
        left_out.add("caches.l2")  # its size is of no use where its bandwidth is unknown
    return [
        fact.key
        for fact in machine.facts
        if fact.key not in left_out
        # What the channels carry refuses bandwidths, and changes none.
        and not fact.key.endswith(".peak")
        # Of several numbers the first stays, and it may be the only one.
        and not (isinstance(fact.value, tuple) and len(fact.value) == 1)
        and all(starmap(eq, zip_longest(observe(changed(machine, fact)), before)))
    ]


def _observed(machine: Machine) -> Iterator[object]:
    """Yield results that depend on the numbers of a machine, in each of its memory and cluster modes."""
    yield (machine.power_W, machine.power)
    pair = list(_with_another_socket(machine))
    for one in (machine, *pair):
        for core in (0, one.n_cores - 1):
            yield from (one.transfer_s(core).tolist(), one.hops(core).tolist())
    clocks = machine.clocks
    busy = (*clocks.busy, machine.n_cores)
    yield from (clocks.at(cores, vector) for vector in (None, *clocks.by_vector) for cores in busy)
    modes = list(_modes(machine))
    if machine.n_domains == 1 and machine.memory.link_bandwidth_Bps < inf:
        modes += pair  # the link is between its sockets
    for on in modes:
        yield from (
            on.reach_Bps.tolist(),
            on.memory.remote_penalty,
            on.memory.latency_s,
            on.transfer_s(0).tolist(),
        )
    if "data" in machine.content and (network := machine.varied({"data": "sent"}).network) is not None:
        yield from (
            network.size_B.tolist(),
            network.capacity_Bps.tolist(),
            *(part.tolist() for part in network.tables),
        )
    for graph in (_graph(), _narrow_products()):
        costs = CostModel().on(graph, machine)
        yield (costs.one_core_s.tolist(), None if costs.kinds_s is None else costs.kinds_s.tolist())
    yield machine.structure.picture().boxes
    # The quick checks of all modes first.
    for on in modes:
        yield _kernels(on)
        yield from (run.finish_s.tolist() for run in replays(on))


def _with_another_socket(machine: Machine) -> Iterator[Machine]:
    """Yield the machine with two sockets, if it has one and its file knows how far apart two are."""
    if len(machine.content["structure"].get("sockets", ())) == 1 and "kinds" not in machine.content:
        with suppress(MachineError):
            yield machine.varied({"sockets": 2})


def _modes(machine: Machine) -> Iterator[Machine]:
    modes, structure = machine.content["memory"]["modes"], machine.content["structure"]
    clusters = {name for mode in modes.values() for name in mode.get("latency", {})} - {"any"}
    clusters |= set(structure.get("cluster_domains", ()))
    for mode in modes:
        on = machine.varied({"memory": mode})
        if "cluster" not in structure:
            yield on
            continue
        for cluster in sorted(clusters):
            yield on.varied({"cluster": cluster})


def replays(machine: Machine, engine: Engine = "auto") -> Iterator[Schedule]:
    """Replay a graph under policies that together pay every software cost and meet every effect of sharing.

    Parameters
    ----------
    machine : Machine
    engine : {"auto", "simpy", "native"}

    Yields
    ------
    Schedule
    """
    half = max(machine.n_cores // 2, 1)
    shared = machine.varied({"contention": True, "smt": machine.smt_ways})
    runs = [
        ("fifo", shared, (1, machine.n_cores)),
        ("fifo[placement=scatter]", shared, (machine.n_cores, 1)),
        ("critical-path[placement=dense]", shared, (4, half)),
        ("critical-path[pinned=false]", shared, (2, half)),
        ("critical-path", machine, (2, half)),
        ("corun", shared, (2, half)),
        ("corun", shared.varied({"reuse_teams": False}), (2, half)),
    ]
    # No team of a layout has cores of several kinds.
    of_a_kind = machine.n_threads if machine.kinds is None else machine.kinds.counts[0]
    for policy, on, (executors, wanted) in runs:
        width = min(wanted, of_a_kind)
        layout = (executors if width == 1 else min(executors, of_a_kind // width), width)
        if layout[0] * width <= on.n_threads:
            yield simulate(_graph(), on, policy, layout, engine=engine)


def _graph() -> TaskGraph:
    """Return a graph of known and unknown durations, of small and large, wide and serial tasks."""
    kinds = ["MatMul", "MatMul", "Conv", "Conv", "add", "add", "view", "softmax", "MatMul", "add"]
    return TaskGraph.from_edges(
        [np.nan] * 6 + [1e-4, np.nan, np.nan, np.nan],
        [(0, 4), (1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 8), (2, 9)],
        kinds=kinds,
        flops=np.array([2e9, 2e8, 4e9, 4e8, 1e7, 1e8, 0, 1e7, 5e9, 1e8]),
        bytes_B=np.array([1e7, 4e7, 3e7, 1e6, 1.2e8, 1.2e9, np.nan, 8e7, 2e8, 1.2e9]),
    )


def _narrow_products() -> TaskGraph:
    """Return a graph of a product of each type of elements narrower than FP32."""
    n, side = len(NARROW), 8192
    shapes = [f"{side}x{side};{side}x{side};element={element}" for element in NARROW]
    return TaskGraph.from_edges([np.nan] * n, kinds="MatMul", shapes=shapes, flops=[2.0 * side**3] * n)


def _kernels(machine: Machine) -> list[float | None]:
    """Return seconds of kernels from their shapes, in the caches and beyond the memory, where they have none."""
    team = Team(machine, min(machine.n_cores, 16))
    found = [gemm_s(512, 64, 512, team), convolution_s(Convolution(8, 64, 32, 32, 64, 3, 3), team, "forward")]
    return [*found, *(_stream_s(int(elements), team) for elements in STREAMED)]


def _stream_s(elements: int, team: Team) -> float | None:
    try:
        return stream_s(Stream(elements, reads=2, writes=1), team)
    except SimschedError:
        return None  # not its text: that names the machine, and its variations


def changed(machine: Machine, fact: Fact) -> Machine:
    """Return the machine with another number at a place, the first that its file allows (of several, all but one)."""
    if isinstance(fact.value, tuple):
        content = deepcopy(dict(machine.content))
        table = dict(quantities(content))[fact.key]
        first, *others = table["value"]
        table["value"] = [first, *((0.95 * np.array(value)).tolist() for value in others)]
        return built(content, parse_path(machine.spec))
    if fact.key == "runtime.misplaced":
        return machine.varied({fact.key: 0.5})  # the few sampled threads would all stay
    if fact.key.endswith(".link_bandwidth"):
        return machine.varied({fact.key: fact.value / 1000})  # a fast link, as within a socket, never binds
    whole = float(fact.value).is_integer() and (fact.unit.startswith(("core", "thread")) or fact.unit == "")
    values = [factor * fact.value or 1.0 for factor in ((2.0, 0.5) if whole else (0.8, 1.25))]
    return next(filter(None, (_varied(machine, fact.key, value) for value in values)), machine)


def _varied(machine: Machine, key: str, value: Scalar) -> Machine | None:
    """Return the machine with a number at a place; None where the rest of its file does not allow that."""
    try:
        return machine.varied({key: value})
    except MachineError:
        return None


#: Cores whose distances to all others are compared; a larger machine is checked in samples.
MOST_CORES = 96


def _check_structure(structure: Structure, name: str) -> None:
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
    _check_structure(checked.structure, str(checked))
    _check_bandwidth(checked)
    _check_sizes(checked)
    hold(machine_of(str(checked)) == checked, f"{checked}: this string makes another machine")
    idle = idle_numbers(checked, lambda other: chain([other.tables], _observed(other)), uncounted)
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
        for kept in ("cores_per_tile", "core_flops", "l1d_B", "l2_B", "l3_B", "l2_bandwidth_Bps", "runtime"):
            hold(getattr(other, kept) == getattr(machine, kept), f"{other}: {kept} changes with the cores")
        _check_structure(other.structure, str(other))
        _check_bandwidth(other)
        hold(0 < other.interconnect_share <= 1, f"{other}: interconnect_share is {other.interconnect_share}")
        back = other.varied({"cores": machine.n_cores})
        hold(back.structure == machine.structure, f"{back}: its structure is not that of {machine}")
        hold(back.memory == machine.memory, f"{back}: its memory is not that of {machine}")
