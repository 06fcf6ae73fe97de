"""What threads that spin between their regions take from those that share a core with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.costs.loads import Loads
    from simsched.graph.taskgraph import Seconds
    from simsched.machine import Machine


def among_spinning(asked: Loads, target: Machine, threads: int) -> Seconds:
    """Return how much longer tasks take with `threads` on each of their cores, working or spinning; shape (n,).

    A thread that spins is counted as one that works, which is the most that it can take: it executes `PAUSE`. What a
    team's threads wait for each other takes as long as without spinning ones: all ways of a core wait at once.
    Threads beyond the ways of a core yield.
    """
    running = min(threads, target.smt_ways)
    core, core_waiting = (
        running / throughput[running - 1]
        for throughput in (target.compute_throughput, target.memory_throughput)
    )
    memory, overhead = asked.memory_share, asked.overhead_share
    return (1 - memory - overhead) * core + memory * core_waiting + overhead
