"""Long replays report progress, can be stopped, and run beside each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simsched.native import find

pytestmark = pytest.mark.skipif(find() is None, reason="installed without the compiled module")

N = 300_000


def arguments(n: int, progress: Callable[[int], object] | None = None) -> dict[str, Any]:
    """Return `n` tasks in pairs, of a second and more, on three executors."""
    return {
        "indptr": np.minimum(np.arange(n + 1), n // 2), "indices": np.arange(n // 2, n // 2 * 2, dtype=np.int32),
        "seconds": 1 + np.arange(n) % 7 / 8, "memory_share": np.empty(0), "demand_Bps": np.empty(0, np.int64),
        "capacity_Bps": 0.0, "discipline": "rank", "position": np.arange(n, dtype=np.int32)[::-1].copy(),
        "executors": 3, "delay_s": 0.0, "per_poller_s": 0.0, "progress": progress,
    }  # fmt: skip


def replay(given: dict[str, Any]) -> tuple[Any, ...]:
    """Return what the compiled replay returns."""
    native = find()
    assert native is not None
    return native.replay_list(**given)


def test_progress_adds_up() -> None:
    told: list[int] = []
    replay(arguments(N, told.append))
    assert sum(told) == N
    assert len(told) > 2


def test_progress_that_raises_stops_the_replay() -> None:
    told: list[int] = []

    def stop(tasks: int) -> None:
        told.append(tasks)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        replay(arguments(N, stop))
    assert len(told) == 1
    assert told[0] < N


def interrupted() -> None:
    """Replay until a signal comes, and say how far it got; the main function of a process of its own."""
    told: list[int] = []
    n = 5_000_000
    # list.append is no Python code, which would let the signal through itself.
    given = arguments(n, told.append)
    print("replaying", flush=True)
    try:
        replay(given)
    except KeyboardInterrupt:
        print("stopped early" if sum(told) < n else "stopped at the end", flush=True)
        raise


def test_ctrl_c_stops_a_replay() -> None:
    """Told nothing, the replay looks for signals by itself."""
    code = f"import runpy; runpy.run_path({__file__!r})['interrupted']()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "replaying\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        said, error = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in error
    assert said == "stopped early\n"


def test_threads_replay_the_same_as_one_alone() -> None:
    given = arguments(N)
    alone = replay(given)
    results: dict[int, tuple[Any, ...]] = {}
    threads = [threading.Thread(target=lambda i=i: results.update({i: replay(given)})) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results.values():
        assert all(np.array_equal(one, other) for one, other in zip(alone, result, strict=True))
    assert len(results) == 2
