"""What cannot run is refused, and the message says why."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import EngineError, LayoutError, PolicyError, SimschedError
from simsched.policy import CandidateRule

pytestmark = pytest.mark.usefixtures("native")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def test_layouts_larger_than_the_machine_are_refused(layered: Any) -> None:
    with pytest.raises(LayoutError, match=f"needs {CORES + 1} cores.*oversubscribe=true"):
        ss.execute(layered(3, 1), "fifo", f"{CORES + 1}x1")


def test_a_scheduler_thread_needs_a_core(layered: Any, check: Any, once: Any) -> None:
    graph = layered(2000, 6)
    with pytest.raises(LayoutError, match="scheduler='thread' needs a core"):
        ss.execute(graph, "critical-path", f"{CORES}x1", scheduler="thread")
    check(once(graph, "critical-path[oversubscribe=true]", f"{CORES + 1}x1", scheduler="thread"))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"repeats": 0}, "repeats is 0"), ({"warmup": -1}, "warmup is -1"), ({"scheduler": "none"}, "scheduler='none'"),
        ({"unknown": "guess"}, "unknown='guess'"), ({"instruction_set": "mmx"}, "instruction set mmx"),
        ({"backend": "mkl"}, "backend='mkl'"),
        ({"options": {"add": {"colour": 1}}}, "colour"), ({"options": {"mystery": {}}}, "no kernel runs"),
        ({"machine": "generic[cores=4096]"}, "really run on this system"), ({"memory_B": 10}, "memory_B="),
    ],
)  # fmt: skip
def test_impossible_options_are_refused(options: dict[str, Any], why: str) -> None:
    graph = ss.TaskGraph.from_edges([1.0, 1.0], kinds=["add", "mystery"], shapes="8x8;8x8")
    with pytest.raises(SimschedError, match=why):
        ss.execute(graph, "fifo", "1x1", **options)


def test_an_instruction_set_that_no_task_needs_is_refused_too() -> None:
    with pytest.raises(EngineError, match="no instruction set mmx; it has base"):
        ss.execute(ss.TaskGraph.from_edges([0.0], kinds="spin"), "fifo", "1x1", instruction_set="mmx")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda graph: ss.execute("a.json", "fifo"), "graph is 'a.json'"),
        (lambda graph: ss.execute(graph, "fifo", costs=3), "costs is 3; expected a CostModel"),
        (lambda graph: ss.calibrate(3), "graph is 3"),
        (lambda graph: ss.calibrate("a"), "is no kind of which generated graphs have shapes"),
        (lambda graph: ss.calibrate(graph, step=1.5), "step=1.5"),
        (lambda graph: ss.calibrate(graph, tolerance=float("nan")), "tolerance is nan"),
        (lambda graph: ss.calibrate(graph, repeats=1, pairs=1.5), "pairs=1.5"),
        (lambda graph: ss.crosscheck("a"), "graph is 'a'"),
        (lambda graph: ss.crosscheck({"a": 1}), "graph is 1"),
        (lambda graph: ss.crosscheck(graph, "fifo"), "policies='fifo'"),
        (lambda graph: ss.crosscheck(graph, layouts="2x1"), "layouts='2x1'"),
        (lambda graph: ss.replay_recorded("a.json"), "graph is 'a.json'"),
    ],
)
def test_other_things_than_graphs_and_lists_are_refused(call: Any, why: str) -> None:
    with pytest.raises(SimschedError, match=why):
        call(ss.TaskGraph.from_edges([0.0], kinds="spin"))


def test_policies_that_decide_in_python_are_refused(layered: Any) -> None:
    class Mine(ss.Policy):
        name = "mine"

    with pytest.raises(EngineError, match="decides in Python"):
        ss.execute(layered(3, 1), Mine)


@pytest.mark.parametrize(
    "policy", ["critical-path[small_s=1e-05]", "critical-path[buffered=true]", "fifo[small_s=1e-05]"]
)
def test_what_runs_past_the_queue_is_refused(layered: Any, policy: str) -> None:
    with pytest.raises(EngineError, match="which is only simulated"):
        ss.execute(layered(3, 1), policy, "1x1")


def test_a_rule_that_does_not_fit_is_refused_as_in_simulate() -> None:
    class Wide(ss.Policy):
        name = "wide"

        def prepared(self, problem: Any) -> ss.Policy:
            return CandidateRule(np.full((1, 1), 4 * CORES, np.int32), np.ones((1, 1)), max_running=1)

    graph = ss.TaskGraph.from_edges([0.0], kinds="spin")
    with pytest.raises(PolicyError, match=f"a task offers {4 * CORES} threads"):
        ss.execute(graph, Wide)
