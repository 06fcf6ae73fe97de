"""Ways over the links of interconnects: each begins where the one before ends, and none is longer than the hops."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MachineError

MOVING = "data=sent,link_Bps=1e9]"
MACHINES = [
    "knl-7250[cores=16,places=tile,",
    "knl-7210[",
    "knc-7120p[cores=9,",
    "sw26010[",
    "xeon-8160x2[cores=8,",
    "epyc-9654x2[cores=24,places=domain,",
    "generic[cores=5,",
]


def network_of(spec):
    return ss.machine(spec + MOVING).network


@pytest.mark.parametrize("spec", MACHINES)
def test_links_of_a_way_join(spec):
    network = network_of(spec)
    n = network.n_places
    rng = np.random.default_rng(0)
    for source, target in rng.integers(0, n, (300, 2)).tolist():
        way = network.listed.neighbours(source * n + target).tolist()
        if source == target:
            assert way == []
            continue
        assert (way[0], way[-1]) == (source, n + target)
        lines = [network.interconnect.links[link - 2 * n].line for link in way[1:-1]]
        if "sw26010" not in spec:  # where rows and columns are buses that cross
            np.testing.assert_allclose(
                [end for _, end in lines[:-1]], [start for start, _ in lines[1:]], atol=1e-9
            )
        if network.host in (source, target):
            assert lines == []
    every = range(len(network.capacity_Bps))
    assert len(set(network.link_names(every))) == len(every)


@pytest.mark.parametrize("spec", [MACHINES[1], MACHINES[2]])
def test_ways_of_meshes_and_rings_have_as_many_links_as_hops(spec):
    network, machine = network_of(spec), ss.machine(spec + MOVING)
    n, cores = network.n_places, machine.n_cores
    for source in range(0, cores, 7):
        lengths = [len(network.listed.neighbours(source * n + target)) - 2 for target in range(cores)]
        hops = machine.structure.hops(source)
        apart = np.arange(cores) != source
        assert np.array_equal(np.array(lengths)[apart], np.asarray(hops)[apart])


def test_a_mesh_goes_along_the_column_first():
    network = network_of("knl-7250[places=tile,")
    n = network.n_places
    way = network.listed.neighbours(0 * n + 33)
    directions = [name.split()[-1] for name in network.link_names(way[1:-1])]
    assert directions == sorted(directions, key=["down", "up", "left", "right"].index)


def test_what_nothing_states_is_as_the_link():
    tables = ss.machine(
        "knl-7250[cores=4,places=tile,data=sent,link_Bps=2.0,link_latency_s=1.0]"
    ).network.tables
    latency_s, s_per_B = tables
    assert set(latency_s[~np.eye(len(latency_s), dtype=bool)]) == {1.0}
    assert set(s_per_B[~np.eye(len(s_per_B), dtype=bool)]) == {0.5}


def test_too_many_places_for_links():
    machine = ss.machine("generic[cores=1500,data=sent,link_Bps=1.0,share_links=true]")
    with pytest.raises(
        MachineError, match="links between 1502 places: at most 1024 can be listed; write places=tile"
    ):
        _ = machine.network.listed
