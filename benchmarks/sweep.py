"""Sweeps: replays a second on this machine, from one thread to two, and through a Dask cluster of two workers.

    python benchmarks/sweep.py [--points N] [--fewer N] [--tasks N] [--rounds N] [--bars]

Layers of 256 tasks on a Knights Landing with noise, four policies by four layouts by seeds; everything that a replay's
row holds is computed and stored. The first table is one run of `--points`; the others are runs of `--fewer` that take
turns, and ratios of the same round, of which the median counts. --bars ends with the project's goals and fails where
one is missed; those of seconds are for a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bars import Bar
from graphs import layered
from measure import Spread, where

import simsched as ss

if TYPE_CHECKING:
    from distributed import Client

POLICIES = ["critical-path", "fifo", "fifo[order=random]", "wavefront"]
LAYOUTS = ["8x8", "16x4", "32x2", "64x1"]


class Took(NamedTuple):
    """Seconds of a sweep on the wall, and those of this process's CPUs."""

    wall_s: float
    cpu_s: float


def sweep_of(points: int, tasks: int) -> ss.Sweep:
    """Return the sweep of so many points, or a few less."""
    seeds = range(points // (len(POLICIES) * len(LAYOUTS)))
    return ss.Sweep([layered(tasks)], ["knl-7250"], POLICIES, LAYOUTS, seeds, noises=[0.1])


def run(sweep: ss.Sweep, client: Client | None = None, workers: int | None = None) -> Took:
    """Run a sweep in a new store."""
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        frame = sweep.run(Path(folder) / "store", client, workers=workers)
        took = Took(time.perf_counter() - wall, time.process_time() - cpu)
    assert len(frame) == len(sweep)
    assert frame["error"].isna().all()
    assert frame["makespan_s"].nunique() == len(sweep)
    return took


def whole(points: int, tasks: int) -> Bar:
    """Print and return what the large sweep takes."""
    sweep = sweep_of(points, tasks)
    took = run(sweep)
    each = ", ".join(
        f"{1e3 * s / len(sweep):.2f} ms {what}" for s, what in zip(took, ("wall", "CPU"), strict=True)
    )
    print(f"{len(sweep)} replays of {tasks} tasks: {took.wall_s:.1f} s; each {each}")
    return Bar(
        f"seconds of 10,000 replays of {tasks} tasks", took.wall_s / len(sweep) * 10_000, 90.0, at_least=False
    )


def beside(points: int, tasks: int, rounds: int) -> list[Bar]:
    """Print and return how one thread, two and a cluster compare."""
    from distributed import Client, LocalCluster

    sweep, efficiencies, ratios = sweep_of(points, tasks), [], []
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        run(sweep_of(len(POLICIES) * len(LAYOUTS), tasks), client)  # loads libraries
        print(f"\n{len(sweep)} replays  one thread  two threads  efficiency  two workers  over embedded")
        for _ in range(rounds):
            one, two, there = run(sweep, workers=1), run(sweep, workers=2), run(sweep, client)
            efficiencies.append(one.wall_s / two.wall_s / 2)
            ratios.append(there.wall_s / two.wall_s)
            print(f"{'':<13}{one.wall_s:>10.1f} s{two.wall_s:>11.1f} s{efficiencies[-1]:>12.0%}"
                  f"{there.wall_s:>11.1f} s{ratios[-1]:>15.2f}")  # fmt: skip
    return [
        Bar("efficiency from one to two threads", Spread(efficiencies).median, 0.85, at_least=True),
        Bar("two Dask workers over two threads", Spread(ratios).median, 1.25, at_least=False),
    ]


def main(arguments: argparse.Namespace) -> bool:
    """Print all tables; return whether the goals hold."""
    print(where())
    bars = [
        whole(arguments.points, arguments.tasks),
        *beside(arguments.fewer, arguments.tasks, arguments.rounds),
    ]
    if not arguments.bars:
        return True
    print()
    for bar in bars:
        side = "at least" if bar.at_least else "at most"
        print(f"{'pass' if bar.met else 'FAIL'}  {bar.what:<50} {bar.figure:>8.2f}, {side} {bar.limit:g}")
    return all(bar.met for bar in bars)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--fewer", type=int, default=2_000)
    parser.add_argument("--tasks", type=int, default=16_384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bars", action="store_true")
    sys.exit(not main(parser.parse_args()))
