"""Tiles on a torus: distances by hand, what a file may say, and reads over shared links as measured on a Wormhole."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.torus import Torus, TorusTable

LAYOUT = ("TTT", "TTM")


def torus(n_cores: int = 5, per_tile: int = 1, **table: object) -> Torus:
    times = {
        key: {"value": value, "unit": "ns", "source": "a test", "confidence": "low"}
        for key, value in (("hop", 9), ("to_router", 5))
    }
    return Torus.of(
        TorusTable.model_validate({"layout": LAYOUT, "memories": [[1, 2]], **times, **table}),
        n_cores,
        per_tile,
    )


def test_by_hand():
    one, other = torus(), torus(noc=1)
    assert one.hops(0).tolist() == [0, 1, 2, 1, 2], "right, then down"
    assert one.hops(2).tolist() == [1, 2, 0, 2, 3], "round the edge"
    assert other.hops(0).tolist() == [0, 2, 1, 1, 3], "up, then left, round the edges"
    assert one.transfer_s(0) * 1e9 == pytest.approx([0, 19, 28, 19, 28])
    assert (one.n_domains, one.cores_per_tile, one.interconnect.memories.tolist()) == (1, 1, [5])


@pytest.mark.parametrize("noc", [0, 1])
def test_a_ways_links_are_its_hops_and_follow_each_other(noc):
    made = ss.machine(f"wormhole[noc={noc}]").structure
    links = made.interconnect
    for core in (0, 35, 71):
        ways = links.ways(np.full(made.n_cores, links.stop_of[core]), links.stop_of)
        assert ways.degrees().tolist() == made.hops(core).tolist()
    there, back = made.hops(3)[50], made.hops(50)[3]
    (r0, c0), (r1, c1) = made.stops.enabled[[3, 50]].tolist()
    assert there + back == 12 * (r0 != r1) + 10 * (c0 != c1), "there and back is once round each way"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"noc": 2}, "noc"),
        ({"memories": [[0, 0]]}, r"memories: \[0, 0\]: expected stops"),
        ({"memories": []}, "memories"),
        ({"disabled": [[1, 2]]}, r"\[1, 2\] is not a tile"),
        ({"layout": ["TTQ"]}, "'Q'"),
    ],
)
def test_mistakes_of_the_table(table, said):
    with pytest.raises(ValidationError, match=said):
        torus(**table)


def test_cores_that_do_not_fit():
    with pytest.raises(MachineError, match=r"layout has 5 tile positions in use.*the machine has 4"):
        torus(4)
    with pytest.raises(MachineError, match=r"one core, give 1"):
        torus(per_tile=2)


def test_fused_off_tiles_work_again_first():
    machine = ss.machine("wormhole")
    assert (machine.n_cores, ss.machine("wormhole[cores=80]").n_cores) == (72, 80)
    assert ss.machine("wormhole[cores=80]").structure.resized(72) == machine.structure
    assert [11, 1] in ss.machine("wormhole[cores=73]").structure.stops.enabled.tolist()
    grown = ss.machine("wormhole[cores=100]").structure
    assert (len(grown.stops.rows), grown.interconnect.memories.tolist()[-1]) == (14, 65), (
        "rows of tiles below"
    )


def test_networks_of_other_machines():
    with pytest.raises(MachineError, match="no torus"):
        ss.machine("knl-7250[noc=1]")


class OnTiles(ss.PlannedPolicy):
    """Task i on the i-th of some tiles."""

    name = "on-tiles"

    def __init__(self, tiles):
        self.tiles = np.array(tiles, np.int32)

    def plan(self, platform, seed):
        return ss.Assignment(self.tiles, np.arange(len(self.tiles), dtype=np.int32))


def speeds_GBps(tiles):
    """Speed of each tile's read of 1 MiB, task i from channel i, all at once."""
    graph = ss.TaskGraph.from_edges([1e-12] * len(tiles), input_bytes=[2.0**20] * len(tiles))
    machine = "wormhole[data=read,runtime.dispatch=0,runtime.pop=0]"
    schedule = ss.simulate(graph, machine, OnTiles(tiles), layout="72x1")
    return 2**20 / (schedule.finish_s - schedule.start_s) / 1e9


def test_reads_that_were_measured():
    """12 tiles read 1 MiB each, GB/s: 265.5 placed with care, 189.8 at random (`benchmarks/noc_reads.py` has more)."""
    with_care = [0, 1, 32, 40, 4, 5, 12, 60, 20, 28, 36, 44]
    assert speeds_GBps(with_care).sum() == pytest.approx(265.5, rel=0.1)
    rng = np.random.default_rng(1)
    found = [speeds_GBps(rng.permutation(72)[:12]) for _ in range(20)]
    assert np.mean(found) * 12 == pytest.approx(189.8, rel=0.1)
    assert np.max(found) < 22.2, "no channel gives more"
