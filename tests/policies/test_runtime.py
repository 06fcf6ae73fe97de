"""Runtimes by name: what each worker takes next, by hand; priorities; recordings."""

from __future__ import annotations

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SpecError
from simsched.graph import Recording
from simsched.policies.runtime import SYSTEMS

#: 0 makes 1, 2 and 3 ready; 1 makes 4 ready, 3 makes 5 ready.
EDGES = [(0, 1), (0, 2), (0, 3), (1, 4), (3, 5)]
#: Starts on one worker.
ORDERS = {
    "starpu-eager": [0, 1, 2, 3, 4, 5],
    "gnu-openmp": [0, 1, 2, 3, 4, 5],
    "pytorch-interop": [0, 1, 2, 3, 4, 5],
    "nanos-bf": [0, 1, 4, 2, 3, 5],  # 1 stays on the worker, and so does 4 after it
    "nanos-wf": [0, 1, 4, 2, 3, 5],  # likewise, then the newest of 3, 2
    "nanos-botlev": [0, 1, 3, 2, 4, 5],  # 1 and 3 have another task behind them
    "llvm-openmp": [0, 1, 2, 3, 4, 5],  # a team of one runs tasks as they are created
    "cilk": [0, 3, 5, 2, 1, 4],
    "onetbb": [0, 3, 5, 2, 1, 4],
    "taskflow": [0, 3, 5, 2, 1, 4],
    "onnxruntime": [0, 3, 5, 1, 4, 2],  # back from 5, then from 4 and 2
    "tensorflow": [0, 1, 4, 2, 3, 5],
    "starpu-prio": [0, 1, 2, 3, 4, 5],
    "starpu-lws": [0, 1, 2, 3, 4, 5],
    "dask": [0, 1, 2, 3, 4, 5],
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_orders_on_one_worker(system: str, engine: str) -> None:
    graph = ss.TaskGraph.from_edges([1.0] * 6, EDGES)
    found = ss.simulate(graph, "generic[cores=1]", f"runtime[system={system}]", engine=engine)
    assert found.start_order.tolist() == ORDERS[system]


def test_one_worker_of_onnxruntime_runs_all_nodes(engine: str) -> None:
    """They are one stream, which its parallel executor hands to one of its workers."""
    graph = ss.TaskGraph.from_edges([1.0] * 6, EDGES)
    found = ss.simulate(graph, "generic[cores=4]", "runtime[system=onnxruntime]", engine=engine)
    assert found.start_order.tolist() == [0, 3, 5, 1, 4, 2]
    assert found.makespan_s == 6.0


def test_the_plan_of_onnxruntime_follows_the_numbers_of_its_session(engine: str) -> None:
    """The highest number is on top of the stack: of 0 and 1, which lead to 2, it is 0 where the session calls it 9."""
    edges, zeros, ones = [(0, 2), (1, 2)], np.zeros(3), np.ones(3)
    recorded = Recording(zeros, ones, np.zeros(3, np.int32), ("a",), np.array([-9.0, -4.0, -5.0]))
    for recording, order in ((None, [1, 0, 2]), (recorded, [0, 1, 2])):
        graph = ss.TaskGraph.from_edges(ones, edges, recording=recording)
        found = ss.simulate(graph, "generic[cores=1]", "runtime[system=onnxruntime]", engine=engine)
        assert found.start_order.tolist() == order


def test_forks_are_queued_when_they_are_created(engine: str) -> None:
    """On one worker 2, created before 3, runs before it, although 3 was ready first. On two, core 1 puts 1 and 2 aside.

    They join the queue again when 0 has ended, behind 4 and 5, which no worker has taken yet.
    """
    graph = ss.TaskGraph.from_edges([1.0] * 4, [(1, 2)])
    found = ss.simulate(graph, "generic[cores=1]", "runtime[system=pytorch-interop]", engine=engine)
    assert found.start_order.tolist() == [0, 1, 2, 3]
    graph = ss.TaskGraph.from_edges([3.0, 1.0, 1.0, 4.0, 1.0, 5.0], [(0, 1), (0, 2)])
    found = ss.simulate(graph, "generic[cores=2]", "runtime[system=pytorch-interop]", engine=engine)
    assert found.start_s.tolist() == [0.0, 4.0, 5.0, 0.0, 3.0, 4.0]


@pytest.mark.parametrize(("system", "starts"), [("onetbb", [2, 1, 0]), ("taskflow", [0, 1, 2])])
def test_who_creates_the_first_tasks(system: str, starts: list[int], engine: str) -> None:
    """Within oneTBB's arena it is a worker, which takes the newest of its deque; Taskflow's come from outside."""
    graph = ss.TaskGraph.from_edges([1.0] * 3, [])
    found = ss.simulate(graph, "generic[cores=1]", f"runtime[system={system}]", engine=engine)
    assert found.start_order.tolist() == starts


def test_a_thief_takes_the_oldest(engine: str) -> None:
    """Core 0 runs 3 next, the last that 0 made ready; core 1 steals 1, the oldest of the deque."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0, 2.0], EDGES[:3])
    found = ss.simulate(graph, "generic[cores=2]", "runtime[system=taskflow]", engine=engine)
    assert found.executor.tolist()[0] == found.executor[3]
    assert found.start_s.tolist() == [0.0, 1.0, 3.0, 1.0]
    assert found.executor[1] != found.executor[3]


def test_recorded_priorities_come_first(engine: str, tmp_path) -> None:
    run = Recording(np.zeros(3), np.ones(3), np.zeros(3, np.int32), ("a",), np.array([-1.0, 5.0, 2.0]))
    graph = ss.TaskGraph.from_edges([1.0] * 3, recording=run)
    graph.save(tmp_path / "g.simsched")
    again = ss.load(tmp_path / "g.simsched")
    assert again.recording.priorities.tolist() == [-1.0, 5.0, 2.0]
    for one in (graph, again):
        for system in ("starpu-prio", "starpu-lws"):
            found = ss.simulate(one, "generic[cores=1]", f"runtime[system={system}]", engine=engine)
            assert found.start_order.tolist() == [1, 2, 0]
    bad = Recording(np.zeros(1), np.ones(1), np.zeros(1, np.int32), ("a",), np.array([np.nan]))
    with pytest.raises(ss.SimschedError, match="priorities"):
        ss.TaskGraph.from_edges([1.0], recording=bad)


@pytest.mark.parametrize("system", SYSTEMS)
def test_notes_where_no_priorities_are_recorded(system: str) -> None:
    """Dask's are those of dask.order, which makes them depth first; StarPU's tasks are all alike without them."""
    run = Recording(np.zeros(2), np.ones(2), np.zeros(2, np.int32), ("a",), np.array([1.0, 2.0]))
    for recording, expected in ((run, False), (None, system in ("starpu-prio", "starpu-lws", "dask"))):
        graph = ss.TaskGraph.from_edges([1.0] * 2, recording=recording)
        notes = ss.simulate(graph, "generic[cores=1]", f"runtime[system={system}]").notes
        found = [note for note in notes if note.startswith("no priorities recorded: ")]
        assert len(found) == expected
        assert [note.endswith("dask.order, depth first") for note in found] == [system == "dask"] * expected


def test_a_thief_of_lws_takes_the_newest_of_the_highest_priority(engine: str) -> None:
    """0 runs on core 0 and leaves 1 to 4 there: core 0 takes 2, the older of the highest priority, core 1 then 3."""
    none = np.zeros(5)
    run = Recording(none, none + 1.0, none.astype(np.int32), ("a",), np.array([9.0, 1.0, 5.0, 5.0, 2.0]))
    edges = [(0, task) for task in (1, 2, 3, 4)]
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0, 4.0, 1.0], edges, recording=run)
    found = ss.simulate(graph, "generic[cores=2]", "runtime[system=starpu-lws]", engine=engine)
    assert found.start_s.tolist() == [0.0, 3.0, 1.0, 1.0, 2.0]
    assert found.executor[2] == found.executor[0] != found.executor[3]


def test_recordings_are_replayed_under_it() -> None:
    run = Recording(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.zeros(3, np.int32), ("a",))
    graph = ss.TaskGraph.from_edges([1.0] * 3, [(0, 1), (0, 2)], recording=run)
    found = ss.replay_recorded(graph, "runtime[system=taskflow]")
    assert found.plain.start_order.tolist() == [0, 2, 1]
    assert ss.replay_recorded(graph, "work-stealing").plain.makespan_s == 3.0


def test_unknown_systems_are_refused() -> None:
    with pytest.raises(SpecError, match="expected one of starpu-eager"):
        ss.policy("runtime[system=unknown]")
