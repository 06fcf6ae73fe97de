"""Threads that replay at once, or look at a view that is being replayed; Python's lock."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

import simsched as ss
from simsched.policy import Start
from simsched.policy.problem import View

MACHINE = "generic[cores=16]"
GRAPH = ss.TaskGraph.from_edges(np.linspace(1.0, 2.0, 400), [(i, i + 7) for i in range(393)])
#: So much of it is ready and runs that looking at it takes a while.
CROWD = ss.TaskGraph.from_edges(np.linspace(1.0, 2.0, 4000), [(i, i + 700) for i in range(3300)])


class Widest(ss.Policy):
    """Starts the last ready task on a share of the idle cores, half of them."""

    name = "widest"
    share = 2

    def decide(self, view: View) -> Iterator[Start]:
        """Start tasks as long as there are cores, and ask of each what it takes."""
        while view.ready and view.idle_cores:
            task, width = view.ready[-1], -(-len(view.idle_cores) // self.share)
            assert view.seconds(task, width) > 0
            yield Start(task, width=width)


class Narrow(Widest):
    """The same on a 32nd of them."""

    name = "narrow"
    share = 32


class Watched(Narrow):
    """The same, while other threads look at its view."""

    name = "watched"

    def decide(self, view: View) -> Iterator[Start]:
        """Show the view before deciding."""
        VIEWS.append(view)
        return super().decide(view)


VIEWS: list[View] = []


def look(end: threading.Event, seen: threading.Semaphore) -> None:
    """Look at all that the last view shows until the end, and count each look."""
    looks, kept = 0, []
    while not end.is_set():
        if VIEWS:
            view = VIEWS[-1]
            ready, idle = view.ready, view.idle_cores
            shown = tuple(ready)
            assert len(shown) == len(ready)
            assert list(ready) == sorted(shown)
            assert ready[:1] == shown[:1]
            assert len(np.asarray(idle)) == len(idle)
            assert len(view.running) <= CROWD.n_tasks
            assert view.seconds(CROWD.n_tasks - 1, 1 + looks % 8) > 0
            kept.append((view.now_s, ready, view.newly_ready))
            looks += 1
            seen.release()
            del kept[: looks % 3]


@pytest.mark.parametrize("policy", ["critical-path", "corun", "work-stealing", Widest])
def test_threads_that_replay_at_once_find_the_same(native: ModuleType, policy: str | type[ss.Policy]) -> None:
    def makespans(seed: int) -> list[float]:
        costs = ss.CostModel(noise=0.3)
        return [
            ss.simulate(GRAPH, MACHINE, policy, costs=costs, seed=seed, engine="native").makespan_s
            for _ in range(3)
        ]

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(makespans, range(6)))
    assert found == [makespans(seed) for seed in range(6)]
    assert len({times[0] for times in found}) == 6


def test_threads_may_look_at_a_view_that_is_replayed(native: ModuleType) -> None:
    VIEWS.clear()
    end = threading.Event()
    seen = [threading.Semaphore(0) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        looks = [pool.submit(look, end, each) for each in seen]
        try:
            # A busy host may let a thread wait: replay until each has looked, or has failed.
            while len(VIEWS) < 2_000 or not all(each.acquire(blocking=False) for each in seen):
                watched = ss.simulate(CROWD, "generic[cores=64]", Watched, engine="native")
                if any(one.done() for one in looks):
                    break
        finally:
            end.set()
        for one in looks:
            one.result()
    assert watched.tasks.equals(ss.simulate(CROWD, "generic[cores=64]", Narrow, engine="native").tasks)


def test_compiled_modules_leave_pythons_lock_as_it_is(native: ModuleType) -> None:
    """A free-threaded Python switches it on, and warns, for modules that do not say that they need none."""
    code = """
import sys
from simsched.execute.kernels.module import module
from simsched.native import core

locked = getattr(sys, "_is_gil_enabled", lambda: True)
before = locked()
assert core() and module()
assert locked() == before
"""
    subprocess.run([sys.executable, "-c", code], check=True)
