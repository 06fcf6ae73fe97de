"""simsched's engines, with the time of the engine alone taken out of a whole `simulate()` call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

import simpy

import simsched as ss
from simsched.native import find
from simsched.replay import native_engine, simpy_engine
from simsched.spec import Engine


class Calls:
    """What an engine was called with last, and the seconds that its calls took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.again: Callable[[], object] = lambda: None

    def timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time taken."""

        @wraps(function)
        def run(*args: Any) -> Any:
            self.again = lambda: function(*args)
            begin = time.perf_counter()
            try:
                return function(*args)
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
        def __getattr__(self, name: str) -> Callable[..., Any]:
            return calls.timed(getattr(module, name))

    with patch.object(native_engine, "find", Watched):
        yield calls


def simulate(graph: ss.TaskGraph, workers: int, engine: Engine, **options: Any) -> ss.Schedule:
    """Replay on `workers` cores, the highest level first."""
    return ss.simulate(graph, f"generic[cores={workers}]", "critical-path", engine=engine, **options)


def count_events(graph: ss.TaskGraph, runtime: ss.RuntimeProfile) -> int:
    """Return the number of events that SimPy processes in one replay on 64 cores."""

    class Counting(simpy.Environment):
        steps = 0

        def step(self) -> None:
            type(self).steps += 1
            super().step()

    with patch.object(simpy_engine.simpy, "Environment", Counting):
        simulate(graph, 64, "simpy", runtime=runtime)
    # SimPy ends a run by one step on an empty schedule.
    return Counting.steps - 1


def check_events(graph: ss.TaskGraph) -> str:
    """Assert the number of SimPy's events: one a task, and one more a start where dispatching costs time."""
    assert count_events(graph, ss.RuntimeProfile()) == graph.n_tasks
    assert count_events(graph, ss.RuntimeProfile(dispatch_s=1e-6)) == 2 * graph.n_tasks
    return "events of simsched's SimPy engine: one a task, two with dispatch costs, as they should be"
