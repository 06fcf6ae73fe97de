"""Steal CPU time: one process per core takes a share of it in random bursts, which measurements have to withstand.

    python benchmarks/thief.py [--share 0.3] [--seconds S] [--seed N] [--cores 0,1] [--real-time]

Bursts are log-normal, 1 to 50 ms of CPU time, 7 ms in the median; the gaps between them are exponential, so long on
average that the share comes out. Thieves of ordinary priority share the core with whoever else wants it: a burst then
takes several slices, and disturbs for longer than it steals. --real-time takes each burst whole, as a hypervisor does,
and needs root. Ends after --seconds, or with the process that started it; then it prints what it stole.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

LEAST_S, MEDIAN_S, MOST_S, SIGMA = 1e-3, 7e-3, 50e-3, 0.8
#: Seconds between two looks at whether the parent is still there.
LOOK_S = 0.05


def bursts(share: float, random: np.random.Generator) -> Iterator[tuple[float, float]]:
    """Yield the seconds of each burst and of the time from its start to that of the next, on average burst / share."""
    while True:
        burst_s = float(np.clip(MEDIAN_S * np.exp(SIGMA * random.standard_normal()), LEAST_S, MOST_S))
        yield burst_s, burst_s + float(random.exponential(burst_s * (1 - share) / share))


def steal(core: int, share: float, seconds: float, seed: int, real_time: bool) -> None:
    """Steal from a core until the seconds are over or the parent has ended, and print what was stolen."""
    os.sched_setaffinity(0, {core})
    if real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    parent, began = os.getppid(), time.monotonic()
    due = began
    for burst_s, period_s in bursts(share, np.random.default_rng([seed, core])):
        ends = time.thread_time() + burst_s
        while time.thread_time() < ends:
            pass
        # Counted from when it was due: what a burst lost to others is made up for.
        due += period_s
        while (left_s := due - time.monotonic()) > 0 and os.getppid() == parent:
            time.sleep(min(left_s, LOOK_S))
        if os.getppid() != parent or time.monotonic() - began > seconds:
            break
    wall_s = time.monotonic() - began
    print(f"core {core}: stole {time.process_time() / wall_s:.1%} of {wall_s:.1f} s", file=sys.stderr)


@contextmanager
def beside(share: float, seed: int = 0, real_time: bool = False) -> Iterator[None]:
    """Let thieves steal for as long as the block lasts."""
    command = [sys.executable, __file__, "--share", str(share), "--seed", str(seed)]
    thief = subprocess.Popen([*command, "--real-time"] if real_time else command)  # noqa: S603 - this file
    try:
        yield
    finally:
        thief.terminate()
        thief.wait()


def main() -> None:
    """Steal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=0.3, help="of each core's time, above 0 and below 1")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cores", help="comma-separated; all that this process may use when not given")
    parser.add_argument("--real-time", action="store_true")
    options = parser.parse_args()
    if not 0 < options.share < 1:
        parser.error(f"--share is {options.share}; expected a number above 0 and below 1")
    cores = [int(c) for c in options.cores.split(",")] if options.cores else sorted(os.sched_getaffinity(0))
    parent = os.getppid()
    asked = (options.share, options.seconds, options.seed, options.real_time)
    thieves = [multiprocessing.Process(target=steal, args=(core, *asked), daemon=True) for core in cores]
    for thief in thieves:
        thief.start()
    while any(thief.is_alive() for thief in thieves) and os.getppid() == parent:
        time.sleep(LOOK_S)
    # Thieves are daemons: those left are ended with this process.


if __name__ == "__main__":
    main()
