"""Runs that do not end are stopped, and say what they were doing."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import Any

import pytest

import simsched as ss
from simsched.errors import EngineError
from simsched.execute.run import prepared

pytestmark = pytest.mark.usefixtures("native")


def test_a_run_that_does_not_end_is_stopped_with_its_story(layered: Any, check: Any, once: Any) -> None:
    graph = ss.TaskGraph.from_edges(
        [0.0, 1e6, 0.0], [(0, 1), (1, 2)], kinds="spin", names=["a", "stuck", "b"]
    )
    with pytest.raises(
        EngineError, match=r"did not end within 1 s.*1 of 3 tasks.*worker 0 runs task 1 \('stuck', spin\)"
    ):
        once(graph, "fifo", "1x1", timeout_s=1.0)
    check(once(layered(50, 5), "fifo", "1x1"))


def test_a_kernel_that_does_not_end_is_left_behind(
    layered: Any, check: Any, once: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "GRACE_S", 0.02)
    graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="2048x4096;4096x4096")
    with pytest.raises(EngineError, match=r"could not be stopped; its threads were left behind.*runs task 0"):
        once(graph, "fifo", "1x1", timeout_s=0.2)
    check(once(layered(50, 5), "fifo", "1x1"))


def test_ctrl_c_stops_a_run() -> None:
    code = """
        import signal, threading, os, simsched as ss
        # A background shell hands its children an ignored SIGINT.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        graph = ss.TaskGraph.from_edges([1e6], kinds="spin")
        ss.execute(ss.TaskGraph.from_edges([0.0], kinds="spin"), "fifo", "1x1", repeats=1)
        try:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
            ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0)
        except KeyboardInterrupt:
            print("stopped")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "stopped\n"
