"""Reads of DRAM by the tiles of a Wormhole, all at once, over shared links, beside what its documentation measured.

    python benchmarks/noc_reads.py [--placements N] [--bars]

Each of 12 or 48 tiles reads 1 MiB from a channel of its own, or shares it with three others, over one of the two
networks. Two totals: the tiles' own speeds added up, and all bytes over the time of the slowest. The two rows that are
given (tiles placed with care, and at random, on network 0) show what the links' 32 GB/s and the channels' 22.1 GB/s
say; nothing is fitted. The other rows of the same page were read before the model stood, so they are no prediction in
the strict sense. --bars fails where the tiles' own speeds of a given row are more than 10 % off.
"""

from __future__ import annotations

import argparse

import numpy as np
from bars import Bar

import simsched as ss
from simsched.policy import Platform

READ_B = 2.0**20
#: Tiles, network, and GB/s measured at random: tenstorrent/tt-isa-documentation, WormholeB0/DRAMTile.
ROWS = ((12, 0, 189.8), (48, 0, 200.3), (12, 1, 82.1), (48, 1, 78.2))
#: All tiles start at once.
AT_ONCE = "data=read,runtime.dispatch=0,runtime.pop=0"
#: The same, tiles placed with care.
CAREFUL = 265.5


class OnTiles(ss.PlannedPolicy):
    """Task i on the i-th of some tiles."""

    name = "on-tiles"

    def __init__(self, tiles: list[int]) -> None:
        self.tiles = np.array(tiles, np.int32)

    def plan(self, platform: Platform, seed: int) -> ss.Assignment:
        """Return the tiles, in the order of the tasks."""
        return ss.Assignment(self.tiles, np.arange(len(self.tiles), dtype=np.int32))


def careful(machine: ss.Machine) -> list[int]:
    """Return a tile for each channel: the nearest that is left, the way that the network goes."""
    structure = machine.structure
    network = machine.network
    assert network is not None
    left, chosen = list(range(structure.n_cores)), []
    for memory in network.memory_of.indices.tolist():
        hops = network.listed.degrees().reshape(network.n_places, -1)[memory, left]
        chosen.append(left.pop(int(hops.argmin())))
    return chosen


def speeds_GBps(machine: ss.Machine, tiles: list[int]) -> tuple[float, float]:
    """Return the tiles' own speeds, added up, and all bytes over the time of the slowest."""
    n = len(tiles)
    graph = ss.TaskGraph.from_edges(np.full(n, 1e-12), [], input_bytes=np.full(n, READ_B))
    schedule = ss.simulate(graph, machine, OnTiles(tiles), layout=f"{machine.n_cores}x1")
    read_s = schedule.finish_s - schedule.start_s
    return float((READ_B / read_s).sum()) / 1e9, n * READ_B / float(read_s.max()) / 1e9


def main() -> None:
    """Print the table; with --bars, fail where a given row is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--placements", type=int, default=50)
    parser.add_argument("--bars", action="store_true")
    options = parser.parse_args()
    rng, bars = np.random.default_rng(0), []
    machine = ss.machine(f"wormhole[{AT_ONCE}]")
    own, slowest = speeds_GBps(machine, careful(machine))
    print(
        f"{'tiles':>5} {'NoC':>3} {'placed':>9} {'own speeds, GB/s':>18} {'over slowest':>14} {'measured':>9}"
    )
    print(f"{12:>5} {0:>3} {'with care':>9} {own:>18.1f} {slowest:>14.1f} {CAREFUL:>9}")
    bars.append(Bar("12 tiles placed with care, off by", abs(own / CAREFUL - 1), 0.1, False))
    for n, noc, measured in ROWS:
        machine = ss.machine(f"wormhole[noc={noc},{AT_ONCE}]")
        both = [
            speeds_GBps(machine, rng.permutation(machine.n_cores)[:n].tolist())
            for _ in range(options.placements)
        ]
        (own, slowest), spread = np.mean(both, 0), np.std(both, 0)
        shown = (f"{own:.1f} +- {spread[0]:.1f}", f"{slowest:.1f} +- {spread[1]:.1f}")
        print(f"{n:>5} {noc:>3} {'at random':>9} {shown[0]:>18} {shown[1]:>14} {measured:>9}")
        if (n, noc) == (12, 0):
            bars.append(Bar("12 tiles placed at random, off by", abs(own / measured - 1), 0.1, False))
    if options.bars:
        for bar in bars:
            print(f"{'pass' if bar.met else 'FAIL'}  {bar.what} {bar.figure:.3f}, at most {bar.limit:g}")
        raise SystemExit(not all(bar.met for bar in bars))


if __name__ == "__main__":
    main()
