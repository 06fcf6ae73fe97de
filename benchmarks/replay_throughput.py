"""Tasks a second of the replay engines, beside a hand-written SimPy loop on the same graph in the same run.

    python benchmarks/replay_throughput.py [TASKS ...]

Layers of 256 tasks, three predecessors each, 64 one-core workers, highest level first. A run is a whole `simulate()`
call on a graph that is already built. The number of SimPy events is pinned: one a task, and one more a start where
dispatching costs time.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy
from graphs import layered

import simsched as ss

REPEATS = 5
WORKERS = 64


def by_hand(graph: ss.TaskGraph) -> float:
    """Return the makespan from the plainest SimPy program: callbacks on timeouts, a heap of ready tasks."""
    env = simpy.Environment()
    starts, after = graph.successors.indptr.tolist(), graph.successors.indices.tolist()
    waiting, seconds = graph.predecessors.degrees().tolist(), graph.durations_s.tolist()
    levels = graph.levels().tolist()
    ready = [(-levels[task], task) for task, count in enumerate(waiting) if not count]
    ready.sort()
    idle = WORKERS

    def start() -> None:
        nonlocal idle
        while idle and ready:
            idle -= 1
            env.timeout(seconds[task := heappop(ready)[1]], task).callbacks.append(finish)

    def finish(event: Any) -> None:
        nonlocal idle
        idle += 1
        task = event.value
        for follower in after[starts[task] : starts[task + 1]]:
            waiting[follower] -= 1
            if not waiting[follower]:
                heappush(ready, (-levels[follower], follower))
        start()

    start()
    env.run()
    return float(env.now)


def simpy_engine(graph: ss.TaskGraph) -> float:
    """Return the makespan from simsched's SimPy engine."""
    return ss.simulate(graph, f"generic[cores={WORKERS}]", "critical-path", engine="simpy").makespan_s


def timed(run: Callable[[ss.TaskGraph], float], graph: ss.TaskGraph) -> tuple[float, float]:
    """Return seconds and makespan of one run."""
    begin = time.perf_counter()
    makespan = run(graph)
    return time.perf_counter() - begin, makespan


def count_events(graph: ss.TaskGraph, runtime: ss.RuntimeProfile) -> int:
    """Return the number of events that SimPy processes in one replay."""
    from simsched.replay import simpy_engine as engine

    class Counting(simpy.Environment):
        steps = 0

        def step(self) -> None:
            type(self).steps += 1
            super().step()

    plain, engine.simpy.Environment = engine.simpy.Environment, Counting  # type: ignore[misc] # for counting only
    try:
        ss.simulate(graph, f"generic[cores={WORKERS}]", "critical-path", runtime=runtime, engine="simpy")
    finally:
        engine.simpy.Environment = plain  # type: ignore[misc] # put back
    # SimPy ends a run by one step on an empty schedule.
    return Counting.steps - 1


def main(sizes: list[int]) -> None:
    """Print the table."""
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, SimPy {simpy.__version__}"
    )
    print(f"load {os.getloadavg()[0]:.1f}; medians of {REPEATS} interleaved runs\n")
    print(f"{'tasks':>9}  {'engine':<18} {'seconds':>8}  {'min-max':>13}  {'tasks/s':>9}  {'makespan_s':>14}")
    for n in sizes:
        graph = layered(n)
        graph.levels()
        runs: dict[str, list[tuple[float, float]]] = {"SimPy by hand": [], "simsched, simpy": []}
        for _ in range(REPEATS):
            runs["SimPy by hand"].append(timed(by_hand, graph))
            runs["simsched, simpy"].append(timed(simpy_engine, graph))
        for name, results in runs.items():
            seconds = [s for s, _ in results]
            middle = statistics.median(seconds)
            spread = f"{min(seconds):.3f}-{max(seconds):.3f}"
            print(
                f"{n:>9}  {name:<18} {middle:>8.3f}  {spread:>13}  {n / middle:>9,.0f}  {results[0][1]:>14.9f}"
            )
        assert len({makespan for results in runs.values() for _, makespan in results}) == 1, (
            "makespans differ"
        )
        assert count_events(graph, ss.RuntimeProfile()) == n
        assert count_events(graph, ss.RuntimeProfile(dispatch_s=1e-6)) == 2 * n
        print(f"{'':>9}  events: {n} = one a task; {2 * n} with dispatch costs")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [16_000, 100_000])
