"""What recorders of frameworks have in common: the library, timed runs that nothing interrupts, compressed files."""

from __future__ import annotations

import gzip
import importlib
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simsched.errors import SimschedError
from simsched.files import replacing


def library(module: str, purpose: str, install: str) -> Any:
    """Return a module; raise `SimschedError` with what to install where it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise SimschedError(f"{purpose}, which is not installed: pip install {install}") from None


def untraced(call: Callable[[], object], warmup: int, repeats: int) -> dict[str, float]:
    """Return median and minimum of the seconds of a call, after some that warm up, and their number."""
    for _ in range(warmup):
        call()
    seconds = [timed(call) for _ in range(repeats)]
    return {"median": statistics.median(seconds), "min": min(seconds), "n": repeats}


def timed(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def write(path: Path, content: bytes) -> None:
    """Write a compressed file: the same bytes for the same content."""
    with replacing(path) as raw, gzip.GzipFile("", "wb", 9, raw, 0) as file:
        file.write(content)


def be_realtime() -> None:
    """Give this process, and the threads that it starts, the lowest priority of SCHED_FIFO.

    Raises
    ------
    SimschedError
        If the host does not allow it.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError) as error:
        raise SimschedError(f"--realtime needs CAP_SYS_NICE on Linux: {error}") from None
