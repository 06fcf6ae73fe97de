"""Numbers of a machine file that change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import starmap, zip_longest
from math import inf
from operator import eq

import numpy as np

from simsched.costs import CostModel
from simsched.costs.kernels import Convolution, Stream, Team, convolution_s, gemm_s, stream_s
from simsched.errors import MachineError, SimschedError
from simsched.graph import TaskGraph
from simsched.machine import Fact, Machine
from simsched.machine.build import built
from simsched.machine.variations import quantities
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.spec import Engine, Scalar, parse_path

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
        and _may_change(fact)
        and all(starmap(eq, zip_longest(observe(changed(machine, fact)), before)))
    ]


def _may_change(fact: Fact) -> bool:
    """Return whether a number may change: of several the first stays, and it may be the only one."""
    return not (isinstance(fact.value, tuple) and len(fact.value) == 1)


def observed(machine: Machine) -> Iterator[object]:
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
    if (seconds := CostModel().on(_graph(), machine).kinds_s) is not None:
        yield seconds.tolist()
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
