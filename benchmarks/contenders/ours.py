"""simsched's engines, with the time of the engine alone taken out of a whole `simulate()` call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
import simpy

import simsched as ss
from simsched.native import find
from simsched.replay import native_engine, simpy_engine
from simsched.spec import Engine

#: What running tasks share: nothing; a memory that is worth 16 of the cores; all that a Knights Landing's share.
Sharing = Literal["nothing", "bandwidth", "everything"]
KNL_CORES = 68


class Calls:
    """What an engine was called with last, and the seconds that its calls took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.again: Callable[[], object] = lambda: None

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time taken."""

        @wraps(function)
        def run(*args: Any, **options: Any) -> Any:
            self.again = lambda: function(*args, **options)
            begin = time.perf_counter()
            try:
                return function(*args, **options)
            finally:
                self.seconds += time.perf_counter() - begin

        return run


@contextmanager
def watched(engine: Engine) -> Iterator[Calls]:
    """Watch an engine: the compiled function, or the SimPy engine from plan to schedule."""
    calls = Calls()
    if engine == "simpy":
        with patch.object(simpy_engine, "replay", calls.timed(simpy_engine.replay)):
            yield calls
        return
    module = find()
    if module is None:
        raise SystemExit("simsched is installed without its compiled module")

    class Watched:
        def __getattr__(self, name: str) -> Any:
            held = getattr(module, name)
            return calls.timed(held) if name.startswith("replay_") else held

    with patch.object(native_engine, "find", Watched):
        yield calls


def simulate(
    graph: ss.TaskGraph, workers: int, engine: Engine, sharing: Sharing = "nothing", **options: Any
) -> ss.Schedule:
    """Replay on `workers` cores, the highest level first; starting a task costs nothing."""
    if sharing == "everything":
        machine = (
            "knl-7250[contention=true]"
            if workers <= KNL_CORES
            else f"knl-7250[contention=true,cores={workers}]"
        )
        options = {"runtime": ss.RuntimeProfile()} | options
    else:
        memory = ",bandwidth_Bps=1.6e11,share_bandwidth=true" if sharing == "bandwidth" else ""
        machine = f"generic[cores={workers}{memory}]"
    options = {"layout": f"{workers}x1"} | options
    return ss.simulate(graph, machine, "critical-path", engine=engine, **options)


def with_bytes(graph: ss.TaskGraph, least: float) -> ss.TaskGraph:
    """Return the graph with tasks that keep a core's memory bandwidth busy, each from `least` to 1 of its time."""
    share = np.random.default_rng(2).uniform(least, 1.0, graph.n_tasks)
    # Twice as much for all of it: what a core cannot move is cut off, and no rounding is left.
    share[share == 1.0] = 2.0
    return replace(graph, bytes_B=share * graph.durations_s * 1e10)


def count_events(graph: ss.TaskGraph, runtime: ss.RuntimeProfile) -> int:
    """Return the number of events that SimPy processes in one replay on 64 cores."""

    class Counting(simpy.Environment):
        steps = 0

        def step(self) -> None:
            type(self).steps += 1
            super().step()

    with patch.object(simpy, "Environment", Counting):
        simulate(graph, 64, "simpy", runtime=runtime)
    # SimPy ends a run by one step on an empty schedule.
    return Counting.steps - 1


def check_events(graph: ss.TaskGraph) -> str:
    """Assert the number of SimPy's events: one a task, and one more a start where dispatching costs time."""
    assert count_events(graph, ss.RuntimeProfile()) == graph.n_tasks
    assert count_events(graph, ss.RuntimeProfile(dispatch_s=1e-6)) == 2 * graph.n_tasks
    return "events of simsched's SimPy engine: one a task, two with dispatch costs, as they should be"
