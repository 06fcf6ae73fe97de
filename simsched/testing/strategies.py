"""Hypothesis strategies for task graphs, machines, runtime costs and layouts.

Durations come from a few round numbers as often as from the reals, so that ties and zeros are common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from simsched.graph import TaskGraph
from simsched.graph.checks import kind_means
from simsched.machine import Machine, RuntimeProfile, machine as machine_of
from simsched.machine.build import built
from simsched.machine.effects import NAMES
from simsched.policy import Layout, Policy, RankPolicy
from simsched.policy.bound import kinds_of_teams
from simsched.policy.placement import executor_cores
from simsched.replay.policy_checks import layouts_of
from simsched.spec import parse

#: The last is one of the kinds that `tensorflow` reserves for its pool.
KINDS = ("MatMul", "Conv", "add", "softmax", "view", "mine::custom", "chunk::add")


def durations() -> st.SearchStrategy[float]:
    """Seconds of a task: often zero, often equal to another's."""
    return st.one_of(st.sampled_from([0.0, 1e-6, 0.1, 1.0, 1.0, 2.0]), st.floats(1e-9, 10.0))


@st.composite
def graphs(draw: st.DrawFn, max_tasks: int = 24, widths: int = 1) -> TaskGraph:
    """Random graphs: empty, disconnected, chains, dense; numbered in a random topological order.

    Parameters
    ----------
    max_tasks : int
        Most tasks.
    widths : int
        Most threads that a task was recorded with.
    """
    n = draw(st.integers(0, max_tasks))
    seconds = draw(st.lists(durations(), min_size=n, max_size=n))
    density = draw(st.sampled_from([0.0, 0.1, 0.3, 0.8]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    below = np.argwhere(np.triu(generator.random((n, n)) < density, 1))
    renamed = generator.permutation(n) if draw(st.booleans()) else np.arange(n)
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=n, max_size=n))
    threads = draw(st.lists(st.integers(1, widths), min_size=n, max_size=n))
    moved = draw(st.lists(st.sampled_from([np.nan, 0.0, 1e6, 5e9, 1e11]), min_size=n, max_size=n))
    edges = renamed[below]
    sizes, objects = draw(carried(edges))
    return TaskGraph.from_edges(
        seconds,
        edges,
        kinds=kinds,
        widths=np.asarray(threads, np.int64),
        bytes_B=moved,
        edge_bytes=sizes,
        edge_objects=objects,
    )


@st.composite
def by_kind(draw: st.DrawFn, graph: TaskGraph, kinds: int, able: Sequence[int] = ()) -> TaskGraph:
    """A graph with seconds for each kind of cores, or without.

    Parameters
    ----------
    graph : TaskGraph
        The tasks, with their edges and objects.
    kinds : int
        How many kinds there are.
    able : sequence of int
        Kinds of which there are executors: some tasks may run on one of them only. None for no such tasks.
    """
    if draw(st.booleans()):
        return graph
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    factors = generator.choice([0.0, 0.5, 1.0, 1.0, 2.0, 20.0], (graph.n_tasks, kinds))
    seconds = graph.durations_s[:, None] * factors
    if able and (share := draw(st.sampled_from([0.0, 0.1, 0.5]))):
        seconds[generator.random(seconds.shape) < share] = np.inf
        dead = np.isinf(seconds[:, [*able]]).all(axis=1)
        seconds[dead, generator.choice(able, dead.sum())] = 1.0
    return replace(graph, durations_s=kind_means(seconds), seconds_by_kind=seconds)


@st.composite
def carried(
    draw: st.DrawFn, edges: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64] | None, npt.NDArray[np.int64] | None]:
    """Data objects of edges, as `TaskGraph.from_edges` takes them: none, one for each edge, or one for each producer.

    Parameters
    ----------
    edges : int64 array, shape (m, 2)
        The edges.
    """
    how = draw(st.sampled_from(["none", "none", "own", "shared", "some"]))
    if how == "none":
        return None, None
    sizes = np.array(draw(st.lists(st.sampled_from([np.nan, 0.0, 64.0, 4e6]), min_size=4, max_size=4)))
    producers = edges[:, 0]
    if how == "own":
        return sizes[np.arange(len(edges)) % 4], None
    return sizes[producers % 4], producers if how == "shared" else np.where(producers % 3, producers, -1)


@st.composite
def runtimes(draw: st.DrawFn) -> RuntimeProfile:
    """Random software costs, often zero."""
    cost = st.sampled_from([0.0, 0.0, 1e-6, 0.01, 0.5])
    seconds = {f.name: draw(cost) for f in fields(RuntimeProfile) if f.name.endswith("_s")}
    return RuntimeProfile(
        **seconds,
        reuse_teams=draw(st.booleans()),
        unpinned_region=draw(st.sampled_from([1.0, 1.5])),
        misplaced=draw(st.sampled_from([0.0, 0.2, 1.0])),
    )


#: Machines with tiles, memory domains and hardware threads, and their numbers of cores.
STRUCTURED = {"knl-7250": 2, "knl-7250[cluster=snc4]": 8, "knc-7120p": 1, "xeon-8160x2": 2, "epyc-9654x2": 2}

#: Those whose cores have one hardware thread.
SINGLE = {"generic": 1, "generic[cores=4,cores.per_tile=4]": 4}


#: Machines of several kinds of cores, and the cores of each kind.
HYBRID = {
    "generic[cores=7]": ([2, 4, 1], "core"),
    "generic[cores=8,cores.per_tile=4]": ([2, 1, 1], "core/tile"),
}


@cache
def of_kinds(spec: str) -> Machine:
    """Return a machine whose cores are fast, slow, or a device with a memory and a link of its own.

    Parameters
    ----------
    spec : str
        One of `HYBRID`: it has its kinds in the order of its cores, or in each tile.
    """
    rows = {
        "cores": HYBRID[spec],
        "speed": ([1.0, 0.5, 4.0], ""),
        "link_bandwidth": ([0.0, 0.0, 1.0], "GB/s"),
        "link_latency": ([0.0, 0.0, 10.0], "us"),
    }
    stated = {
        name: {"value": value, "unit": unit, "source": "for tests", "confidence": "low"}
        for name, (value, unit) in rows.items()
    }
    kinds = {"names": ["fast", "slow", "device"], **stated}
    return built({**machine_of("generic").content, "kinds": kinds}, parse(spec))


@st.composite
def machines(draw: st.DrawFn, max_cores: int = 12, ways: int = 1) -> Machine:
    """Small machines with and without tiles and domains, of one core up, that share anything or nothing.

    Parameters
    ----------
    max_cores : int
        Most cores.
    ways : {1, 2}
        Fewest hardware threads of a core in use.
    """
    base, step = draw(st.sampled_from([*(SINGLE if ways == 1 else {}).items(), *STRUCTURED.items()]))
    cores = max(draw(st.integers(1, max_cores)) // step, 1) * step
    machine = _small(base, cores, ways)
    if not draw(st.booleans()):
        return machine
    return machine.varied({
        "bandwidth_Bps": draw(st.sampled_from([1e9, 7e9, 2e10, 1e12])),
        "smt": draw(st.integers(ways, machine.smt_ways)),
        **draw(effects()),
    })  # fmt: skip


@cache
def _small(base: str, cores: int, ways: int) -> Machine:
    """Return a machine of so many cores; there are few, and each takes milliseconds to build."""
    return machine_of(base).varied({"cores": cores, "smt": ways})


@st.composite
def ways_of_data(draw: st.DrawFn) -> dict[str, bool | str | float]:
    """Variations of machines whose data move: homes, routes, links, caches and limits; none in half of the cases."""
    if draw(st.booleans()):
        return {}
    chosen: dict[str, bool | str | float] = {
        "data": draw(st.sampled_from(["sent", "read"])),
        "places": draw(st.sampled_from(["core", "tile", "domain"])),
        "home": draw(st.sampled_from(["everywhere", "memory", "host"])),
        "route": draw(st.sampled_from(["direct", "direct", "host"])),
        "share_links": draw(st.booleans()),
    }
    numbers = {
        "link_Bps": [16.0, 4e6],
        "link_latency_s": [0.25, 1e-6],
        "hop_Bps": [16.0, 2e6],
        "hop_latency_s": [0.01],
        "memory_Bps": [100.0],
        "memory_latency_s": [0.125],
        "place_B": [64.0, 130.0, 5e6],
    }
    for key, values in numbers.items():
        if draw(st.booleans()):
            chosen[key] = draw(st.sampled_from(values))
    return chosen


@st.composite
def with_pairs(draw: st.DrawFn, machine: Machine) -> Machine:
    """A machine in which each pair of places has a link of its own; some stay as they are, as those without data do.

    Parameters
    ----------
    machine : Machine
    """
    if machine.data is None or machine.data.route == "host" or draw(st.integers(0, 2)):
        return machine
    network = machine.network
    k = 0 if network is None else int(network.place_of.max()) + 1
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    tables = {
        "pair_Bps": generator.choice([16.0, 100.0, 4e6, np.inf], (k, k)),
        "pair_latency_s": generator.choice([0.0, 0.25, 1e-6], (k, k)),
    }
    return machine_of(machine, **draw(st.sampled_from([tables, *({key: tables[key]} for key in tables)])))


def effects() -> st.SearchStrategy[dict[str, bool]]:
    """Effects of running tasks on each other: one memory's bandwidth alone as often as any mixture."""
    switches = st.fixed_dictionaries({name: st.booleans() for name in NAMES})
    return st.one_of(st.just({"share_bandwidth": True}), switches)


@st.composite
def layouts(draw: st.DrawFn, machine: Machine, ways: int | None = None) -> Layout | None:
    """Layouts for so many hardware threads of each core, by default all in use, or None for the default."""
    if draw(st.booleans()):
        return None
    threads = machine.n_threads if ways is None else machine.n_cores * ways
    executors = draw(st.integers(1, threads))
    return Layout(executors, draw(st.integers(1, threads // executors)))


def machines_for(policy: Policy) -> st.SearchStrategy[Machine]:
    """Machines that a policy can use: a parameter `smt` that is true needs two ways of each core.

    One in some has several kinds of cores; all have, where the policy takes tasks over from one kind to another.
    """
    if getattr(policy, "smt", False):
        return machines(ways=2)
    varied = st.builds(lambda spec, on: of_kinds(spec).varied(on), st.sampled_from([*HYBRID]), effects())
    if getattr(policy, "discipline", "") == "spoliation":
        return varied
    return st.one_of(machines(), machines(), machines(), varied)


def kinds_for(policy: Policy, machine: Machine, layout: Layout | None) -> tuple[int, ...]:
    """Kinds of cores of which there are executors; none for policies that let each task run on any core."""
    if machine.kinds is None or not (isinstance(policy, RankPolicy) or hasattr(policy, "victims")):
        return ()
    found = []
    for one in layouts_of(policy, machine) if layout is None else [layout]:
        teams = executor_cores(machine, one, "compact")
        if isinstance(policy, RankPolicy):
            teams = policy.executors(machine, one)
        found.append(tuple(sorted({kinds[0] for kinds in kinds_of_teams(machine, teams) if len(kinds) == 1})))
    return max(found, key=len)


def layouts_for(policy: Policy, machine: Machine) -> st.SearchStrategy[Layout | None]:
    """Layouts that a policy can use on a machine, and None."""
    if not policy.takes_layout:
        return st.none()
    if machine.kinds is not None and isinstance(policy, RankPolicy):
        return st.sampled_from([None, *layouts_of(policy, machine)])
    drawn = layouts(machine, 1 if getattr(policy, "smt", False) else None)
    if policy.name != "sequential":
        return drawn
    return drawn.map(lambda layout: layout and Layout(1, layout.width))
