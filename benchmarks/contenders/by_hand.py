"""The plainest SimPy program for the job: callbacks on timeouts, a heap of ready tasks."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Any

import simpy

import simsched as ss


def makespan_s(graph: ss.TaskGraph, levels: list[float], workers: int) -> float:
    """Return the makespan of a graph, the highest level first."""
    env = simpy.Environment()
    starts, after = graph.successors.indptr.tolist(), graph.successors.indices.tolist()
    waiting, seconds = [0] * graph.n_tasks, graph.durations_s.tolist()
    for follower in after:
        waiting[follower] += 1
    ready = [(-levels[task], task) for task, count in enumerate(waiting) if not count]
    heapify(ready)
    idle = workers

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
