"""Makespans of SimGrid beside ours, on random platforms whose data move: where they are the same, and where not.

    python benchmarks/simgrid_data.py [--platforms N] [--bars]

Each platform has 2 to 16 hosts, one latency and one bandwidth; each graph 5 to 80 tasks with 1 to 3 predecessors, an
object of its own on each edge. HEFT plans them here; SimGrid (C++, Debian's libsimgrid-dev) executes the same plan:
hosts run their tasks in order, messages leave when their producer has finished. Without sharing, the models coincide.
With sharing, ours gives a message the least of its links' equal shares, SimGrid max-min shares: what one message cannot
use goes to the others. --bars fails where the models that coincide differ by more than 1e-9.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from bars import Bar
from contenders import compiled
from measure import where

import simsched as ss

#: Largest relative difference where the models coincide.
SAME = 1e-9


def graph_of(rng: np.random.Generator) -> ss.TaskGraph:
    """Return a random graph: layers, each task after 1 to 3 of the twelve before it."""
    n = int(rng.integers(5, 81))
    pairs = {
        (int(rng.integers(max(0, task - 12), task)), task)
        for task in range(1, n)
        for _ in range(rng.integers(1, 4))
    }
    edges = sorted(pairs)
    return ss.TaskGraph.from_edges(
        rng.uniform(0.1, 2.0, n), edges, edge_bytes=rng.integers(10**5, 10**8, len(edges))
    )


def by_simgrid(command: list[str], schedule: ss.Schedule, latency_s: float, Bps: float, hosts: int) -> float:
    """Return the makespan that SimGrid finds for the assignment and the order of a schedule."""
    graph, data = schedule.graph, schedule.graph.data
    assert data is not None
    lines = [f"{hosts} {graph.n_tasks} {graph.n_edges} {latency_s!r} {Bps!r}"]
    on, seconds = schedule.executor.tolist(), graph.durations_s.tolist()
    lines += [f"{task} {on[task]} {seconds[task]!r}" for task in schedule.start_order.tolist()]
    for before, after, size_B in zip(
        data.producer.tolist(), data.readers.indices.tolist(), data.size_B.tolist(), strict=True
    ):
        lines.append(f"{before} {after} {-1 if on[before] == on[after] else repr(size_B)}")
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=True)  # noqa: S603 - ours
    return float(done.stdout.split()[0])


def compared(command: list[str], seed: int, *, shared: bool) -> float:
    """Return our makespan over SimGrid's, less 1, on one random platform."""
    rng = np.random.default_rng(seed)
    hosts, latency_s, Bps = (
        int(rng.integers(2, 17)),
        float(rng.uniform(1e-5, 1e-2)),
        float(10 ** rng.uniform(7, 9)),
    )
    ways = f"data=sent,link_Bps={Bps!r},link_latency_s={latency_s!r},share_links={str(shared).lower()}"
    machine = f"generic[cores={hosts},{ways}]"
    schedule = ss.simulate(graph_of(rng), machine, "heft", f"{hosts}x1", runtime=ss.RuntimeProfile())
    found_s = by_simgrid([*command, "shared" if shared else "apart"], schedule, latency_s, Bps, hosts)
    return schedule.makespan_s / found_s - 1


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platforms", type=int, default=200)
    parser.add_argument("--bars", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = compiled.build("simgrid_data.cpp", Path(folder), "simgrid")
        if command is None:
            raise SystemExit("not measured; on Debian: apt-get install g++ libsimgrid-dev")
        print(where())
        print(f"{'links':<22}{'platforms':>10}{'same to 1e-9':>14}{'median':>12}{'90 %':>12}{'largest':>12}")
        worst = {}
        for name, shared in (("of their own", False), ("shared", True)):
            apart = np.array([compared(command, seed, shared=shared) for seed in range(given.platforms)])
            size = np.abs(apart)
            worst[name] = float(size.max())
            numbers = f"{np.median(size):>12.2e}{np.quantile(size, 0.9):>12.2e}{size.max():>12.2e}"
            print(f"{name:<22}{len(size):>10}{int((size <= SAME).sum()):>14}{numbers}", flush=True)
    bar = Bar("largest difference without sharing", worst["of their own"], SAME, at_least=False)
    if given.bars and not bar.met:
        raise SystemExit(f"FAIL  {bar.what}: {bar.figure:.2g}, at most {bar.limit:g}")


if __name__ == "__main__":
    main()
