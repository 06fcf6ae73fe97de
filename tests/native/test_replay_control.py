"""Long replays report progress, can be stopped, and run beside each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simsched.native import find

pytestmark = pytest.mark.skipif(find() is None, reason="installed without the compiled module")

N = 300_000


def arguments(n: int) -> dict[str, Any]:
    """Return `n` tasks in pairs, of a second and more, on three executors."""
    return {
        "successors": (np.minimum(np.arange(n + 1), n // 2), np.arange(n // 2, n // 2 * 2, dtype=np.int32)),
        "seconds": 1 + np.arange(n) % 7 / 8, "loads": None, "shared": None, "discipline": "rank",
        "position": np.arange(n, dtype=np.int32)[::-1].copy(),
        "executors": (np.arange(4), np.arange(3, dtype=np.int32)), "displaced": np.empty(0, np.int32),
        "predecessors": None, "delay_s": 0.0, "per_poller_s": 0.0, "shortcuts": None,
    }  # fmt: skip


def sharing(n: int, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments where those tasks share everything on three cores of one tile and two domains."""
    native = find()
    assert native is not None
    shared = native.Sharing(
        bandwidth=True, tiles=True, cores=True, interconnect=True, remote=True, tile_of=[0, 0, 0], domain_of=[0, 0, 1],
        segment_of=[0, 0, 1], n_segments=2,
        n_tiles=1, n_domains=2, n_threads=3, compute=[1.0], waiting=[1.0], capacity_Bps=8.0, link_Bps=2.0, penalty=1.5,
        interconnect_share=1.0,
        tile_slowdowns=[1.0, 1.25, 1.25, 1.25],
    )  # fmt: skip
    return given | {
        "loads": (np.arange(n) % 5 / 8, np.full(n, 0.25), np.arange(n) % 11, np.ones(n)),
        "shared": shared,
    }


def replay(given: dict[str, Any], progress: Callable[[int], object] | None = None) -> tuple[Any, ...]:
    """Return what the compiled replay returns."""
    native = find()
    assert native is not None
    tables = {name: native.Csr(*given[name]) for name in ("successors", "executors")}
    loads = given["loads"] and native.Loads(*given["loads"])
    found: tuple[Any, ...] = native.replay_list(
        native.ListPlan(**given | tables | {"loads": loads}), progress
    )
    return found


def test_progress_adds_up() -> None:
    reported: list[int] = []
    replay(arguments(N), reported.append)
    assert sum(reported) == N
    assert len(reported) > 2


def test_progress_that_raises_stops_the_replay() -> None:
    reported: list[int] = []

    def stop(tasks: int) -> None:
        reported.append(tasks)
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        replay(arguments(N), stop)
    assert len(reported) == 1
    assert reported[0] < N


def interrupted() -> None:
    """Replay until a signal comes, and say how far it got; the main function of a process of its own.

    The signal comes after 0.1 s of this process's own time, however busy the machine is, and is handled as Ctrl-C is.
    """
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    reported: list[int] = []
    n = 5_000_000
    # list.append is not Python code, which would let the signal through itself.
    given = arguments(n)
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        replay(given, reported.append)
    except KeyboardInterrupt:
        print("stopped early" if sum(reported) < n else "stopped at the end", flush=True)
        raise


def test_ctrl_c_stops_a_replay() -> None:
    """Without a progress function, the replay looks for signals by itself."""
    code = f"import runpy; runpy.run_path({__file__!r})['interrupted']()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert "KeyboardInterrupt" in done.stderr
    assert done.stdout == "stopped early\n"


@pytest.mark.parametrize("everything", [False, True])
def test_threads_replay_the_same_as_one_alone(everything: bool) -> None:
    """They have the `Sharing` in common, too."""
    given = sharing(N, arguments(N)) if everything else arguments(N)
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
