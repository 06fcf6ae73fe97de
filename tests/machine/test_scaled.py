"""Machines of hypothetical core counts stay sensible, whatever their structure."""

from math import gcd, lcm

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import MachineError
from simsched.machine.memory import LATENCY_S
from simsched.plugins import registered
from simsched.study.uncertain import MachineNumbers

NAMES = sorted(set(registered("machines")) - {"host"})


@st.composite
def scaled(draw):
    """A machine as its file has it, and one of whole tiles more or fewer."""
    machine = ss.machine(draw(st.sampled_from(NAMES)))
    kinds = 1 if machine.kinds is None else machine.n_cores // gcd(*machine.kinds.counts)
    unit = lcm(machine.cores_per_tile, kinds)
    return machine, machine.varied({"cores": draw(st.integers(1, 4 * machine.n_cores // unit)) * unit})


def mean_transfer_s(machine):
    """Mean seconds of a line between two cores, over some cores of the machine."""
    some = np.unique(np.linspace(0, machine.n_cores - 1, 12).astype(int))
    return float(np.mean([machine.transfer_s(int(core)).mean() for core in some]))


@settings(max_examples=10)
@given(scaled())
def test_cores_caches_and_runtime_are_those_of_the_file(pair):
    machine, other = pair
    assert other.cores_per_tile == machine.cores_per_tile
    for name in ("core_flops", "core_bandwidth_Bps", "l1d_B", "l2_B", "l3_B", "l2_bandwidth_Bps", "runtime"):
        assert getattr(other, name) == getattr(machine, name)
    # Where none is stated, one is assumed for several domains only.
    stated_s = machine.memory.latency_s
    assert other.memory.latency_s in ((0.0, LATENCY_S) if stated_s in (0.0, LATENCY_S) else (stated_s,))


@settings(max_examples=10)
@given(scaled())
def test_a_domain_keeps_its_bandwidth(pair):
    machine, other = pair
    each = machine.bandwidth_Bps / machine.n_domains
    assert other.bandwidth_Bps / other.n_domains == pytest.approx(each)
    assert other.reach_Bps[-1] <= other.memory.limit_Bps * (1 + 1e-9)
    assert (np.diff(other.reach_Bps) >= -1e-6 * each).all(), "more threads never reach less"


@settings(max_examples=10)
@given(scaled(), st.data())
def test_distances_are_distances(pair, data):
    _, other = pair
    here, there = (data.draw(st.integers(0, other.n_cores - 1)) for _ in range(2))
    hops, seconds = other.hops(here), other.transfer_s(here)
    assert hops.shape == seconds.shape == (other.n_cores,)
    assert hops[here] == seconds[here] == 0
    assert (seconds >= 0).all()
    if not other.structure.one_way:
        assert hops[there] == other.hops(there)[here]
        assert seconds[there] == pytest.approx(other.transfer_s(there)[here])
    assert (hops <= hops[there] + other.hops(there)).all(), "no way is shorter than the shortest"


@settings(max_examples=10)
@given(scaled())
def test_domains_and_tiles_are_numbered_without_gaps(pair):
    _, other = pair
    domains, tiles = other.structure.domain_of, other.structure.tile_of
    assert np.unique(domains).tolist() == list(range(other.n_domains))
    assert np.unique(tiles).tolist() == list(range(other.n_tiles))
    assert all(len(np.unique(domains[tiles == tile])) == 1 for tile in range(other.n_tiles))


@settings(max_examples=12)
@given(scaled())
def test_the_interconnect_is_built_for_its_cores(pair):
    machine, other = pair
    assert 0 < other.interconnect_share <= 1
    if other.n_cores > machine.n_cores:
        assert mean_transfer_s(other) >= mean_transfer_s(machine) * 0.9, (
            "larger is not nearer, domains rounded"
        )


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back_is_the_machine(name):
    machine = ss.machine(name)
    twice = machine.varied({"cores": 2 * machine.n_cores}).varied({"cores": machine.n_cores})
    assert twice.structure == machine.structure
    assert twice.memory == machine.memory
    assert twice.interconnect_share == machine.interconnect_share


@pytest.mark.parametrize("name", NAMES)
def test_more_cores_do_not_slow_independent_work_down(name):
    """As many tasks as cores, one core each, that share nothing: as long on twice the machine with twice the tasks."""
    machine = ss.machine(f"{name}[contention=false]")
    runs = [
        ss.simulate(
            ss.TaskGraph.from_edges([1.0] * n), machine.varied({"cores": n}), "fifo", f"{n}x1",
            runtime=ss.RuntimeProfile(),
        )
        for n in (machine.n_cores, 2 * machine.n_cores)
    ]  # fmt: skip
    slowest_s = 1 / min(machine.kinds.speeds) if machine.kinds else 1
    # A device takes some microseconds to begin.
    assert runs[0].makespan_s == pytest.approx(slowest_s, rel=1e-5)
    assert runs[1].makespan_s == pytest.approx(runs[0].makespan_s)


@pytest.mark.parametrize(
    ("asked", "cores"), [("cores=12,cores.per_tile=3", 12), ("cores=10,cores.per_tile=10", 10)]
)
def test_tiles_of_another_size_hold_the_given_cores(asked, cores):
    """The file's own 16 cores are not whole tiles of that size, and nobody asked for them."""
    machine = ss.machine(f"generic[{asked}]")
    assert (machine.n_cores, machine.memory.bandwidth_Bps) == (cores, cores * 10e9)
    with pytest.raises(MachineError, match="16 cores are not whole tiles of 3"):
        ss.machine("generic[cores.per_tile=3]")


def test_cores_that_share_nothing_keep_their_bandwidth_in_one_team():
    """6.4 GB at 10 GB/s a core: as long in one team as in as many tasks; a shared or given memory is limited."""
    task = ss.TaskGraph.from_edges([float("nan")], kinds="Add", flops=[1e7], bytes_B=[6.4e9])
    for cores in (4, 16, 64):
        assert ss.simulate(task, f"generic[cores={cores}]", "fifo", (1, cores)).makespan_s == 0.64 / cores
    sampled = MachineNumbers.of(ss.machine("generic[cores=64]")).sampled(ss.machine("generic[cores=64]"), 1)
    assert sampled.reach_Bps[64] == pytest.approx(640e9, rel=0.1)
    for stated, seconds in (("share_bandwidth=true", 0.04), ("bandwidth_Bps=3.2e11", 0.02)):
        assert ss.simulate(task, f"generic[cores=64,{stated}]", "fifo", "1x64").makespan_s == pytest.approx(
            seconds
        )


def test_domains_at_equal_distances_are_at_equal_distances_at_any_size():
    """Means of equal times differ by rounding, which was memory of other domains that is 1.00 times as slow."""
    for cores in (52, 100, 104):
        machine = ss.machine(f"xeon-8470[cores={cores}]")
        assert machine.memory.remote_penalty == 1
        assert not any("another domain" in note for note in machine.notes)


def test_slower_cache_lines_of_its_own_bring_assumed_memory_of_other_domains_nearer():
    """A sensitivity has shorter makespans there, as only the difference is known to be that of memory."""
    near, far = (ss.machine(f"epyc-7702[sockets=2,structure.same_socket={value}]") for value in (107, 214))
    assert far.memory.remote_penalty < near.memory.remote_penalty
    said = "longer than one from its own, of which slower ones bring others nearer"
    assert any(said in note for note in far.notes)
