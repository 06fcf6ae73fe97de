"""Seconds and bytes of a report of 16,184 tasks, part by part: python benchmarks/report.py [WORKLOAD]."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import simsched as ss

#: A report of 16,000 tasks is smaller.
MOST_BYTES = 3_000_000
Made = TypeVar("Made")


def timed(what: str, make: Callable[[], Made]) -> Made:
    """Print how long something takes, in wall-clock and CPU seconds, and return it."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = make()
    print(f"{what:<12} {time.perf_counter() - wall:6.2f} s, CPU {time.process_time() - cpu:6.2f} s")
    return made


def main(workload: str = "inception_v3[size=step]") -> None:
    """Make a report and print what its parts take."""
    graph = timed("graph", lambda: ss.workload(workload))
    report = timed("replays", lambda: ss.report(graph, "knl-7250"))
    timed("explaining", lambda: report.sections)
    size = len(timed("page", lambda: report.html).encode())
    timed("Markdown", lambda: report.markdown)
    print(f"{graph.n_tasks} tasks: {size / 1e6:.2f} MB, goal below {MOST_BYTES / 1e6:g} MB")
    assert size < MOST_BYTES or graph.n_tasks > 17_000


if __name__ == "__main__":
    main(*sys.argv[1:])
