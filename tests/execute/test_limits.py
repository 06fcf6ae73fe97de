"""What stops a run, and what none is begun with."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import EngineError, SimschedError
from simsched.execute import Settings
from simsched.execute.kernels import work

pytestmark = pytest.mark.usefixtures("native")


def spinning(native: Any, n: int) -> Any:
    """Return a program of tasks that spin."""
    return native.Program([], np.full(n, -1, np.int32), np.empty(0, np.int64), np.empty(0, np.float32))


def one_worker(native: Any) -> Any:
    """Return a crew of one worker."""
    return native.Crew([[min(os.sched_getaffinity(0))]])


def listed(native: Any, indptr: list[int], indices: list[int], **options: Any) -> Any:
    """Run tasks, of no time unless `seconds` is given, on one worker, and return what the compiled module tells."""
    n = len(indptr) - 1
    how = {
        "seconds": np.zeros(n),
        "discipline": "fifo",
        "position": np.empty(0, np.int32),
        "executors_indptr": np.array([0, 1], np.int64),
        "executors_indices": np.zeros(1, np.int32),
        "before_indptr": np.zeros(1, np.int64),
        "before_indices": np.empty(0, np.int32),
        "scheduler_thread": False,
        "shares_cpus": False,
        "measures_latency": False,
        "timeout_s": 600.0,
        "grace_s": 1.0,
        "tick": None,
    }
    crew, program = options.pop("crew", None), options.pop("program", None)
    return native.execute_list(
        crew or one_worker(native),
        program or spinning(native, n),
        np.array(indptr, np.int64),
        np.array(indices, np.int32),
        **(how | options),
    )[0]


def test_a_program_or_crew_at_work_takes_no_other_run(native: Any) -> None:
    refused: list[str] = []

    def again(program: Any, crew: Any) -> None:
        with pytest.raises(RuntimeError, match=r"this (program is running|crew is at work)") as error:
            listed(native, [0, 0], [], program=program, crew=crew)
        refused.append(str(error.value))

    program, crew = spinning(native, 1), one_worker(native)
    other, others = spinning(native, 1), one_worker(native)

    def tick(_done: int) -> None:
        again(program, others)
        again(other, crew)

    told = listed(native, [0, 0], [], seconds=np.array([0.5]), program=program, crew=crew, tick=tick)
    assert (told.failure, told.done) == ("", 1)
    assert set(refused) == {"this program is running", "this crew is at work"}
    assert listed(native, [0, 0], [], program=program, crew=crew).done == 1


def test_a_graph_of_which_nothing_can_begin_fails_at_once(native: Any) -> None:
    begun = time.monotonic()
    told = listed(native, [0, 1, 2], [1, 0])
    assert (told.failure, told.done) == ("nothing runs although tasks are left", 0)
    assert time.monotonic() - begun < 60


def test_a_cycle_behind_the_beginning_fails_too(native: Any) -> None:
    told = listed(native, [0, 1, 2, 3], [1, 2, 1])
    assert (told.failure, told.done) == ("nothing runs although tasks are left", 1)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"timeout_s": nan}, "zero or more seconds"),
        ({"grace_s": -1.0}, "zero or more seconds"),
        ({"measures_latency": True}, "two threads"),
        ({"scheduler_thread": True}, "crew of 1 is too small for 1 workers and a scheduler"),
    ],
)
def test_runs_that_could_not_end_are_refused(native: Any, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        listed(native, [0, 0], [], **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout_s", nan), ("timeout_s", 0), ("timeout_s", -1.0), ("timeout_s", "1"), ("memory_B", nan),
        ("memory_B", -1), ("most_stolen", nan), ("most_stolen", -0.1), ("most_stolen", "none"),
        ("seed", -1), ("seed", 1.5), ("seed", "1"),
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(name: str, value: Any) -> None:
    graph = ss.TaskGraph.from_edges([0.0], kinds="spin")
    with pytest.raises(SimschedError, match=f"{name} is "):
        ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0, **{name: value})


@pytest.mark.parametrize("value", [-1.0, nan, inf, "1", True])
def test_a_case_cannot_settle_for_ever(value: Any) -> None:
    with pytest.raises(EngineError, match="settle_s is "):
        Settings(settle_s=value)


def test_limits_may_be_none_at_all() -> None:
    graph = ss.TaskGraph.from_edges([0.0], kinds="spin")
    found = ss.execute(
        graph, "fifo", "1x1", repeats=1, warmup=0, timeout_s=inf, memory_B=inf, most_stolen=inf
    )
    assert found.n_dropped == 0


def test_what_threads_need_besides_counts_as_memory() -> None:
    # 8 MB of operands, and 36 MB for the columns of one pixel.
    graph = ss.TaskGraph.from_edges([1.0], kinds="Conv", shapes="1x1000000x1x1;1x1000000x3x3")
    with pytest.raises(EngineError, match=r"need 0\.\d+ GB, more than the 0\.05 GB allowed"):
        ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0, memory_B=5e7)


def test_memory_that_the_system_does_not_give_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is left is unknown here.
    monkeypatch.setattr(work, "ROOT", tmp_path)
    graph = ss.TaskGraph.from_edges([0.0] * 200, kinds="MatMul", shapes="1048576x1;1x1048576")
    with pytest.raises(EngineError, match="the system has no"):
        ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0, memory_B=inf)


def test_operands_beyond_a_control_group_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system would grant them, and kill the process when it writes them."""
    group = tmp_path / "sys/fs/cgroup/memory/job"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("4:memory:/job")
    (group / "memory.limit_in_bytes").write_text("100000000")
    (group / "memory.usage_in_bytes").write_text("60000000")
    monkeypatch.setattr(work, "ROOT", tmp_path)
    large = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="2000x2000;2000x2000")
    with pytest.raises(
        EngineError,
        match=r"need 0\.048 GB, and control group /job \(memory.limit_in_bytes is 0.1 GB\) has 0.04 GB left",
    ):
        ss.execute(large, "fifo", "1x1", repeats=1, warmup=0, memory_B=inf)
    small = ss.TaskGraph.from_edges([1.0], kinds="MatMul", shapes="200x200;200x200")
    assert len(ss.execute(small, "fifo", "1x1", repeats=1, warmup=0)) == 1


@pytest.mark.parametrize(
    ("bytes_B", "why"), [(9e9, "the operands of all tasks need 9 GB"), (1e18, "task 0 .*copies 1e\\+09 GB")]
)
def test_tasks_that_copy_many_bytes_are_refused_rather_than_spin(bytes_B: float, why: str) -> None:
    graph = ss.TaskGraph.from_edges([1e-6], kinds="memory", bytes_B=[bytes_B])
    with pytest.raises(EngineError, match=why):
        ss.execute(graph, "fifo", "1x1", repeats=1, warmup=0, memory_B=1e6)


def test_nothing_is_left_behind() -> None:
    def threads() -> int:
        return len(list(Path("/proc/self/task").iterdir()))

    before, allowed = threads(), os.sched_getaffinity(0)
    graph = ss.TaskGraph.from_edges([0.0] * 9, [(0, 8)], kinds="spin")
    found = ss.execute(graph, "fifo[oversubscribe=true]", "5x1", repeats=2)
    with pytest.raises(EngineError, match="did not end"):
        ss.execute(ss.TaskGraph.from_edges([1e6], kinds="spin"), "fifo", "1x1", timeout_s=0.05)
    assert len(found) == 2
    assert threads() == before
    assert os.sched_getaffinity(0) == allowed


def test_a_caller_that_has_run_graphs_may_fork() -> None:
    code = """
        import os, simsched as ss
        graph = ss.TaskGraph.from_edges([0.0] * 9, [(0, 8)], kinds="spin")
        ss.execute(graph, "fifo", "1x1", repeats=1)
        child = os.fork()
        found = ss.execute(graph, "fifo", "1x1", repeats=1)
        if not child:
            os._exit(len(found))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "1\n"
