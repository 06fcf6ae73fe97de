"""Bandwidth by cores: between one core and all, over domains and clusters."""

from math import inf

import numpy as np
import pytest

import simsched as ss
from simsched.costs.kernels import Team
from simsched.errors import MachineError
from simsched.machine import Memory
from simsched.plugins import registered
from simsched.study.uncertain import MachineNumbers


def test_bandwidth_by_cores_saturates():
    """B = 10, B = 160 of 16 cores: 10 a core up to 160.

    b = 10 and B = 160 of 31 cores, k = 1, so 1 / reach = u / (10 w) + t / 160 with u = (1 - 1/16) / (30/31) and
    t = (1 - 16/31) / (30/31) = 1/2: 31/32 and 1/2. At 15.5 cores that is 1/160 + 1/320. No number passes 160 / t = 320.
    """
    generic = ss.machine("generic[cores=32,share_bandwidth=true]")
    assert generic.reach_Bps[[0, 1, 8, 16, 32]].tolist() == [0, 10e9, 80e9, 160e9, 160e9]
    soft = Memory("m", 10e9, 160e9, cores=31, sharpness=1.0)
    assert soft.reachable_Bps([1, 15.5, 31]) == pytest.approx([10e9, 320 / 3 * 1e9, 160e9])
    assert soft.limit_Bps == pytest.approx(320e9)
    assert Memory("m", 10e9, 160e9, sharpness=inf).reachable_Bps([1, 15, 17]).tolist() == [10e9, 150e9, 160e9]


def test_bandwidth_of_hardware_threads():
    """Three threads on two cores of two ways: one core with two, one with one."""
    knl = ss.machine("knl-7250[cores=2,smt=2,bandwidth_Bps=1e15,core_bandwidth_Bps=1e9]")
    more = knl.memory_throughput[1]
    assert knl.reach_Bps == pytest.approx([0, 1e9, 2e9, (1 + more) * 1e9, 2 * more * 1e9])


def test_a_team_reaches_what_its_domains_have():
    """One socket of two: half of the bandwidth.

    A team is done when its slowest thread is: each further core adds as much as a core of the full socket has, 1/48 of
    all. Two halves of a team on two sockets reach twice what one does; of 7 and 17 threads, the 17 set the pace.
    """
    xeon = ss.machine("xeon-8160x2")
    half = xeon.bandwidth_Bps / 2
    assert xeon.reach_Bps[24:] == pytest.approx([half * cores / 24 for cores in range(24, 49)])
    assert xeon.team_Bps([*range(6), *range(24, 30)]) == pytest.approx(2 * xeon.reach_Bps[6])
    assert xeon.team_Bps(range(7, 31)) == pytest.approx(24 / 17 * xeon.reach_Bps[17])
    assert xeon.domain_Bps == half


def test_a_team_reaches_what_its_clusters_let_through():
    """A Kunpeng 920's node: 13.09 GB/s by one core, 26.37 by a cluster of 4, 64.4 by 6 of them; 5 cores as 5/4 of 4."""
    node = (
        "generic[cores=24,cores.per_tile=4,core_bandwidth_Bps=13.09e9,cluster_bandwidth_Bps=26.37e9,"
        "bandwidth_Bps=64.4e9,sharpness=1.05]"
    )
    kunpeng = ss.machine(node)
    assert kunpeng.reach_Bps[[1, 4, 5, 24]] / 1e9 == pytest.approx([13.09, 26.37, 5 / 4 * 26.37, 64.4])
    spread = kunpeng.team_Bps([0, 4, 8, 12])
    assert spread == pytest.approx(float(kunpeng.memory.reachable_Bps(4))), (
        "four clusters do not limit a core each"
    )
    assert ss.machine(node.replace("cluster_bandwidth_Bps=26.37e9,", "")).reach_Bps[4] == spread


@pytest.mark.parametrize("name", registered("machines"))
def test_one_core_and_all_reach_what_the_file_states(name):
    if name == "host":
        return
    for mode in ss.machine(name).content["memory"]["modes"]:
        machine = ss.machine(f"{name}[memory={mode}]")
        reach = machine.reach_Bps
        assert reach[1] == machine.core_bandwidth_Bps
        assert reach[-1] == pytest.approx(machine.bandwidth_Bps, rel=1e-12)
        assert (np.diff(reach) >= 0).all()
        memory = machine.content["memory"]["modes"][mode]
        moves = 4 / 3 if memory.get("stores_fetch", True) else 1
        for width in range(1, machine.n_cores + 1):
            assert Team(machine, width).moved_Bps == pytest.approx(moves * reach[width], rel=1e-12)
        if "peak" in memory:
            carried_Bps = memory["peak"]["value"] * 1e9 * (1 + 1e-9)
            sampled = [MachineNumbers.of(machine).sampled(machine, seed) for seed in range(8)]
            assert max(moves * one.reach_Bps.max() for one in (machine, *sampled)) <= carried_Bps


def test_where_stores_fetch_nothing_no_more_moves_than_is_named():
    """1,000,000,000 elements of 4 B read, and as many written: 8 GB named, 12 moved where stores fetch their lines."""
    graph = ss.TaskGraph.from_edges([float("nan")], kinds=["Relu"], shapes=["1000000000"])
    graviton, skylake = (ss.machine(f"{name}[contention=true]") for name in ("graviton4", "xeon-8160x2"))
    for machine, moved_B in ((graviton, 8e9), (skylake, 12e9)):
        costs = ss.CostModel().on(graph, machine)
        seconds = float(costs.seconds(machine.n_cores)[0])
        assert moved_B / seconds == pytest.approx(Team(machine, machine.n_cores).moved_Bps, rel=0.02)
        assert costs.traffic_B[0] == pytest.approx(moved_B / machine.memory.moved_over_named)
    assert ss.machine("generic[core=neoverse-v2]").memory.moved_over_named == 1
    with pytest.raises(MachineError, match=r"538 GB/s is above the 537.6 that .* as a triad counts; of"):
        graviton.varied({"memory.modes.ddr.bandwidth": 538.0})
    with pytest.raises(MachineError, match=r"above the 191.9 that .*, since stores fetch their lines; of"):
        skylake.varied({"memory.modes.ddr.bandwidth": 192.0})
    assert graviton.varied({"bandwidth_Bps": 1e12}).bandwidth_Bps == 1e12


def test_the_general_sharpness_meets_sockets_between_one_core_and_all():
    """Of published triads: a Haswell of 12 cores, 9.7 to 44.2 GB/s; two domains of a Cascade Lake, 15.2 to 85.4."""
    haswell = ss.machine("generic[cores=12,core_bandwidth_Bps=9.7e9,bandwidth_Bps=44.2e9]")
    assert haswell.reach_Bps[[2, 4, 8]] / 1e9 == pytest.approx([20.1, 34.0, 43.6], rel=0.05)
    domains = ss.machine("generic[cores=20,domains=2,core_bandwidth_Bps=15.2e9,bandwidth_Bps=85.4e9]")
    assert domains.reach_Bps[[2, 10, 12, 16]] / 1e9 == pytest.approx([29.4, 44.1, 54.9, 75.5], rel=0.1)


def test_teams_of_threads_that_do_not_exist_are_refused():
    machine = ss.machine("generic[cores=4]")
    for threads, message in (
        ([4], "thread 4 does not exist"),
        ([1, 1], "twice"),
        ([], "at least one"),
        ([0.5], "whole"),
    ):
        with pytest.raises(MachineError, match=message):
            machine.team_Bps(threads)
    with pytest.raises(MachineError, match="domains is 5, but there are only 4 tiles"):
        ss.machine("generic[cores=4,domains=5]")
    with pytest.raises(MachineError, match=r"only machines whose file states structure\.domains"):
        ss.machine("knl-7250[domains=2]")
