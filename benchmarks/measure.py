"""Seconds, memory and medians, measured in the same way by all benchmarks."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def seconds(run: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def memory(field: str) -> int:
    """Return bytes of this process's memory, `VmRSS` or its highest value `VmHWM`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


class Memory:
    """The highest memory of this process above what it holds now."""

    def __init__(self) -> None:
        gc.collect()
        # Memory that the inputs' making left to the allocator would be used again and not be seen.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM
        self._before_B = memory("VmRSS")

    def peak(self) -> int:
        """Return bytes."""
        return memory("VmHWM") - self._before_B


def fresh(command: Sequence[str]) -> dict[str, Any]:
    """Return what a process of its own prints as JSON on its last line."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - ourselves
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@dataclass(frozen=True)
class Spread:
    """Several measurements of one thing.

    Parameters
    ----------
    values : sequence of float
    """

    values: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.values)

    def rate(self, count: float) -> str:
        """Return the median and the range of `count` over the values, which are seconds."""
        return f"{count / self.median:>11,.0f} {count / max(self.values):>11,.0f} {count / min(self.values):>11,.0f}"


#: What stands above columns made by `Spread.rate`.
RATE_HEADING = f"{'tasks/s':>11} {'lowest':>11} {'highest':>11}"


def where() -> str:
    """Return a line about this machine and how busy it is."""
    cpus = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    model = cpus[0].split(":")[1].strip() if cpus else platform.machine()
    return (
        f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}"
    )
