"""SimGrid's Python bindings: an actor a worker takes the ready task of the highest level, executes it, releases others.

    python3 simgrid_app.py [--sleep] PROBLEM

Run by the interpreter that has the bindings, so with the standard library alone. The bindings have no callbacks on
completion; idle workers are suspended and resumed by those that release tasks. With --sleep workers sleep for the
seconds of a task: the fastest form of the bindings, but no model of a processor takes part.
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from collections.abc import Callable
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import simgrid as sg


def load(path: str) -> dict[str, Any]:
    """Return the arrays of a problem; see `problem.py`."""
    with Path(path).open("rb") as file:

        def read(code: str, count: int) -> list[Any]:
            values = array(code)
            values.fromfile(file, count)
            return values.tolist()

        n, m, workers = read("q", 3)
        parts = {
            "indptr": read("q", n + 1),
            "indices": read("i", m),
            "seconds": read("d", n),
            "level": read("d", n),
        }
    return {"n": n, "workers": workers, **parts}


def memory(field: str) -> int:
    """Return bytes of this process's memory, `VmRSS` or its highest value `VmHWM`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


class Pool:
    """The state that all workers share."""

    def __init__(self, problem: dict[str, Any], pass_time: Callable[[float], object]) -> None:
        self.problem = problem
        self.pass_time = pass_time
        self.left = problem["n"]
        self.waiting = [0] * problem["n"]
        for follower in problem["indices"]:
            self.waiting[follower] += 1
        self.ready: list[tuple[float, int]] = []
        for task, count in enumerate(self.waiting):
            if not count:
                heappush(self.ready, (-problem["level"][task], task))
        self.idle: list[Any] = []

    def complete(self, task: int) -> None:
        """Release what waited for a task; wake as many idle workers as there are tasks beyond the first."""
        self.left -= 1
        starts, level = self.problem["indptr"], self.problem["level"]
        for follower in self.problem["indices"][starts[task] : starts[task + 1]]:
            self.waiting[follower] -= 1
            if not self.waiting[follower]:
                heappush(self.ready, (-level[follower], follower))
        wanted = len(self.idle) if not self.left else len(self.ready) - 1
        while self.idle and wanted > 0:
            self.idle.pop().resume()
            wanted -= 1

    def work(self) -> None:
        """Execute tasks until none is left."""
        seconds, here = self.problem["seconds"], sg.Actor.self()
        while self.left:
            if self.ready:
                task = heappop(self.ready)[1]
                self.pass_time(seconds[task])
                self.complete(task)
            else:
                self.idle.append(here)
                sg.this_actor.suspend()


def main() -> None:
    """Replay one problem and print what it took."""
    # Actors are threads of which one runs at a time; on one core they hand over twice as fast.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    engine = sg.Engine(sys.argv)
    problem = load(sys.argv[-1])
    zone = sg.NetZone.create_full_zone("zone")
    hosts = [zone.create_host(f"host{i}", 1.0).seal() for i in range(problem["workers"])]
    zone.seal()
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
    before = memory("VmRSS")
    begin = time.perf_counter()
    pool = Pool(problem, sg.this_actor.sleep_for if "--sleep" in sys.argv else sg.this_actor.execute)
    for host in hosts:
        sg.Actor.create("worker", host, pool.work)
    engine.run()
    passed = time.perf_counter() - begin
    peak = memory("VmHWM") - before
    print(json.dumps({"engine_s": passed, "peak_B": peak, "makespan_s": sg.Engine.clock}))


if __name__ == "__main__":
    main()
