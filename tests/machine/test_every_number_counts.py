"""Every number of every machine file changes a result when it changes."""

from copy import deepcopy

import numpy as np
import pytest

import simsched as ss
from simsched.costs.kernels import Convolution, Stream, Team, convolution_s, gemm_s, stream_s
from simsched.errors import MachineError, SimschedError
from simsched.hwmodels import ldm
from simsched.machine.build import built
from simsched.machine.variations import quantities
from simsched.plugins import registered
from simsched.spec import parse

#: Numbers that describe and enter no model yet; docs/machines.md says so.
DESCRIPTIVE = ("caches.l1d", "caches.l3")
#: Numbers that others of the same file follow from, so that none changes alone; the tests of structures change them.
SHAPE = ("cores.count", "cores.per_tile", "cores.smt_ways", "structure.rows", "structure.columns")


def graph():
    """Return a graph of known and unknown durations, of small and large, wide and serial tasks."""
    kinds = ["MatMul", "MatMul", "Conv", "Conv", "add", "add", "view", "softmax", "MatMul", "add"]
    flops = np.array([2e9, 2e8, 4e9, 4e8, 1e7, 1e8, 0, 1e7, 5e9, 1e8])
    return ss.TaskGraph.from_edges(
        [np.nan] * 6 + [1e-4, np.nan, np.nan, np.nan],
        [(0, 4), (1, 4), (2, 5), (3, 6), (4, 7), (5, 7), (6, 8), (2, 9)],
        kinds=kinds,
        flops=flops,
        bytes_B=np.array([1e7, 4e7, 3e7, 1e6, 1.2e8, 1.2e9, np.nan, 8e7, 2e8, 1.2e9]),
    )


def replays(machine):
    """Return finish times under policies that together pay every software cost."""
    half = machine.n_cores // 2
    shared = machine.varied({"contention": True, "smt": machine.smt_ways})
    runs = [
        ("fifo", shared, None),
        ("fifo[placement=scatter]", shared, (machine.n_cores, 1)),
        ("critical-path[placement=dense]", shared, (4, half)),
        ("critical-path[pinned=false]", shared, (2, half)),
        ("critical-path", machine, (2, half)),
        ("corun", shared, None),
        ("corun", shared.varied({"reuse_teams": False}), None),
    ]
    return [
        ss.simulate(graph(), on, policy, layout).finish_s.tolist()
        for policy, on, layout in runs
        if layout is None or layout[0] * layout[1] <= on.n_threads
    ]


def kernels(machine):
    """Return seconds of kernels from their shapes, in the caches and beyond them."""
    team = Team(machine, min(machine.n_cores, 16))
    found = [gemm_s(512, 64, 512, team), convolution_s(Convolution(8, 64, 32, 32, 64, 3, 3), team, "forward")]
    # The last three fit what memories hold now, of 16, 32 and 96 GiB, but not a fifth less.
    for elements in (10_000, 1_000_000, 700_000_000, 1_300_000_000, 4_000_000_000):
        try:
            found.append(stream_s(Stream(elements, reads=2, writes=1), team))
        except SimschedError:
            found.append(None)  # not what it says: that names the machine, and its variations
    return found


def plans(machine):
    """Return seconds of loop nests on a core group."""
    if "ldm" not in machine.tables:
        return []
    group = ldm.core_group(machine)
    nests = [
        ldm.matmul(1, 1, 1), ldm.matmul(1, 1030, 1108), ldm.matmul(1, 1024, 1024), ldm.matmul(64, 512, 512),
        ldm.elementwise(10_000, 2), ldm.elementwise(24, 2),
        ldm.convolution(channels=64, filters=64, size=28, kernel=3, padding=1),
    ]  # fmt: skip
    costings = (ldm.no_reuse, ldm.register_communication)
    return [
        *(ldm.plan(nest, group).seconds for nest in nests),
        *(costing(nest, group).total_s for costing in costings for nest in nests),
    ]


def results(machine):
    """Return everything that the numbers of a machine go into."""
    found = []
    for mode in machine.content["memory"]["modes"]:
        on = machine.varied({"memory": mode})
        found += [on.reach_Bps.tolist(), kernels(on)]
        clusters = ("a2a", "quadrant", "snc4") if "cluster" in machine.content["structure"] else (None,)
        for cluster in clusters:
            there = on if cluster is None else on.varied({"cluster": cluster})
            found += [replays(there), there.reach_Bps[1], there.memory.remote_penalty, there.memory.latency_s]
    ends = (0, machine.n_cores - 1)
    found.append(machine.structure.picture().boxes)
    found += [machine.transfer_s(core).tolist() for core in ends] + [
        machine.hops(core).tolist() for core in ends
    ]
    if "contention" in machine.tables:
        table = machine.tables["contention"]
        found += [table.contention_s(n, size) for n in (1, 100, 960) for size in ("small", "medium", "large")]
    return found + plans(machine)


def changed(machine, fact):
    """Return the machine with another number there, the first that its file allows; of several, all but the first."""
    if isinstance(fact.value, tuple):
        content = deepcopy(dict(machine.content))
        table = dict(quantities(content))[fact.key]
        first, *others = table["value"]
        table["value"] = [first, *(0.95 * value for value in others)]
        return built(content, parse(machine.spec))
    whole = float(fact.value).is_integer() and (fact.unit.startswith(("core", "thread")) or fact.unit == "")
    values = [factor * fact.value or 1.0 for factor in ((2.0, 0.5) if whole else (0.8, 1.25))]
    if fact.key == "runtime.misplaced":
        values = [0.5]  # the few threads that are drawn would all stay
    return next(filter(None, (varied(machine, fact.key, value) for value in values)))


def varied(machine, key, value):
    """Return the machine with a number at a key; None where the rest of its file does not allow that."""
    try:
        return machine.varied({key: value})
    except MachineError:
        return None


@pytest.mark.parametrize("name", [n for n in registered("machines") if n not in ("host", "epyc-9654x2")])
def test_every_number_counts(name):
    machine = ss.machine(name)
    if machine.cores_per_tile < 8:
        machine = machine.varied({"cores": 16})
    before = results(machine)
    assert before == results(machine)
    idle = []
    for fact in machine.facts:
        if fact.key in (*DESCRIPTIVE, *SHAPE):
            continue
        if results(changed(machine, fact)) == before:
            idle.append(fact.key)
    assert idle == []
