"""The recorder of threads: what real short programs become, whatever the machine does meanwhile."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.text import one_line
from simsched.traces.recorders.threads import record, task
from simsched.traces.shared.libraries import cpu_model

Edge = tuple[str, str]


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., TaskGraph]:
    """Return the graph of what a function does."""

    def graph_of(program: Callable[[], object], **options: Any) -> TaskGraph:
        with record(tmp_path / "run.json", **options):
            program()
        graph = ss.load(tmp_path / "run.json")
        assert graph.report.format == "chrome"
        assert graph.report.facts.get("early_starts", 0) == 0
        assert graph.recording is not None
        for lane in np.unique(graph.recording.lanes):
            on = np.flatnonzero(graph.recording.lanes == lane)
            assert (graph.recording.start_s[on][1:] >= graph.recording.finish_s[on][:-1]).all()
        return graph

    return graph_of


def names(graph: TaskGraph) -> list[str]:
    return sorted(graph.task_name(i) for i in range(graph.n_tasks))


def edges(graph: TaskGraph) -> set[Edge]:
    pairs = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in pairs}


def load(n: int) -> list[int]:
    return [n, n]


def work(values: list[int]) -> int:
    return sum(values)


def fails() -> None:
    raise ValueError("on purpose")


def test_a_task_waits_for_what_its_submitter_waited_for(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        with ThreadPoolExecutor(2, "pool") as pool:
            loads = [pool.submit(load, n) for n in range(2)]
            works = [pool.submit(work, future.result()) for future in loads]
        # The end of the executor waits for all.
        assert [future.result() for future in works] == [0, 2]
        with ThreadPoolExecutor(1, "other") as pool:
            pool.submit(work, [3])

    graph = recorded(program)
    assert names(graph) == ["load 0", "load 1", "work 2", "work 3", "work 4"]
    assert edges(graph) == {
        ("load 0", "work 2"), ("load 0", "work 3"), ("load 1", "work 3"),
        ("work 2", "work 4"), ("work 3", "work 4"),
    }  # fmt: skip
    assert set(graph.kinds.labels) == {"load", "work"}
    assert graph.recording is not None
    assert {name.partition("_")[0] for name in graph.recording.lane_names} == {"pool", "other"}
    assert graph.recorded_on == ss.RecordedOn(one_line(cpu_model()))
    assert "simsched's recorder wrote this trace; durations are measured" in graph.report.notes
    assert ss.replay_recorded(graph).recorded.makespan_s > 0


def test_by_arguments_only_results_count(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            loads = [pool.submit(load, n) for n in range(3)]
            works = [pool.submit(work, future.result()) for future in futures.as_completed(loads)]
            total = pool.submit(max, [future.result() for future in works], key=[loads[0].result()])
            with suppress(TypeError):
                total.result()
            pool.submit(pow, 7, 3)

    graph = recorded(program, edges="arguments")
    assert [kind for kind in ("load", "work", "max", "pow") for _ in range(graph.kinds.to_list().count(kind))] == [
        *["load"] * 3, *["work"] * 3, "max", "pow",
    ]  # fmt: skip
    sources = {b: [a for a, c in edges(graph) if c == b] for _, b in edges(graph)}
    assert sorted(len(sources.get(f"work {n}", [])) for n in (3, 4, 5)) == [1, 1, 1]
    assert {a for n in (3, 4, 5) for a in sources[f"work {n}"]} == {"load 0", "load 1", "load 2"}
    assert "load 0" in sources["max 6"]
    assert "pow 7" not in sources
    assert any("dependencies are those of arguments" in note for note in graph.report.notes)


def test_a_task_is_cut_where_it_submits_and_where_it_waits(recorded: Callable[..., TaskGraph]) -> None:
    def outer(pool: ThreadPoolExecutor) -> int:
        inner = pool.submit(work, [1])
        return inner.result() + inner.result()

    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            assert pool.submit(outer, pool).result() == 2

    graph = recorded(program)
    assert names(graph) == ["outer 0", "outer 0.1", "outer 0.2", "work 1"]
    assert edges(graph) == {
        ("outer 0", "outer 0.1"), ("outer 0", "work 1"), ("outer 0.1", "outer 0.2"), ("work 1", "outer 0.2"),
    }  # fmt: skip
    assert graph.kinds.to_list().count("outer") == 3


def test_what_a_callback_submits_comes_after_the_task(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        done: Future[int] = Future()
        gate = threading.Event()
        with ThreadPoolExecutor(2) as pool:

            def then(first: Future[Any]) -> None:
                pool.submit(work, [1]).add_done_callback(lambda last: done.set_result(last.result()))

            first = pool.submit(gate.wait)
            first.add_done_callback(then)
            gate.set()
            assert done.result() == 1

    assert edges(recorded(program)) == {("Event.wait 0", "work 1")}


def test_a_barrier_is_joined_by_an_empty_task(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            futures.wait([pool.submit(load, n) for n in range(20)])
            futures.wait([pool.submit(load, n) for n in range(30)])

    graph = recorded(program)
    assert (graph.n_tasks, graph.n_edges) == (20 + 1 + 30, 20 + 30)
    assert graph.kinds.to_list().count("wait") == 1
    assert graph.durations_s[graph.kinds.to_list().index("wait")] == 0


def test_threads_and_named_stretches(recorded: Callable[..., TaskGraph]) -> None:
    class Counter(threading.Thread):
        def run(self) -> None:
            with task("count"):
                time.sleep(0.001)

    @task("prepare")
    def prepare() -> int:
        return 3

    def program() -> None:
        assert prepare() == 3
        threads = [threading.Thread(target=load, args=(n,)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        counter = Counter(name="counter")
        counter.start()
        counter.join()
        timer = threading.Timer(0, load, (1,))
        timer.start()
        timer.join()

    graph = recorded(program)
    counter = next(name for name in names(graph) if "Counter" in name)
    assert names(graph) == sorted(["prepare 0", "load 1", "load 2", counter, "count 4", f"{counter}.1"])
    assert edges(graph) == {
        ("prepare 0", "load 1"), ("prepare 0", "load 2"), ("load 1", counter), ("load 2", counter),
        (counter, "count 4"), ("count 4", f"{counter}.1"),
    }  # fmt: skip
    assert graph.recording is not None
    assert "MainThread" in graph.recording.lane_names
    assert "counter" in graph.recording.lane_names


def test_functions_called_as_ops_are_gain_from_no_team(recorded: Callable[..., TaskGraph]) -> None:
    """The sum of a list took a quarter on a team of four cores, as if it were a reduction of tensors."""

    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(sum, range(100_000)).result()

    graph = recorded(program)
    assert graph.kinds.to_list() == ["sum"]
    alone, team = (ss.simulate(graph, "knl-7250", "sequential", layout=f"1x{w}") for w in (1, 4))
    assert team.makespan_s == alone.makespan_s


def test_the_global_lock_is_a_doubt_where_threads_ran_tasks(
    recorded: Callable[..., TaskGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen loops in pure Python were predicted 6.5 times as fast on 8 cores, with no word on the lock."""

    def pool() -> None:
        with ThreadPoolExecutor(2) as threads:
            threads.submit(sum, range(10)).result()

    def stretch() -> None:
        with task("alone"):
            pass

    monkeypatch.setattr("simsched.traces.recorders.threads.usable_cpus", lambda: 8)
    monkeypatch.setattr("sys._is_gil_enabled", lambda: True, raising=False)
    assert recorded(pool).report.doubts[0].startswith("Python's global lock lets one thread at a time")
    assert recorded(stretch).report.doubts == []
    monkeypatch.setattr("sys._is_gil_enabled", lambda: False, raising=False)
    assert recorded(pool).report.doubts == []


def test_more_threads_than_cpus_are_a_doubt(
    recorded: Callable[..., TaskGraph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashes on four threads of two CPUs took half as long again: of two, 80 ms were predicted for 63."""
    together = threading.Barrier(3)

    def pool() -> None:
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda _: together.wait(10), range(3)))

    said = "up to 3 tasks ran at once on 2 CPUs"
    for cpus, doubts in ((2, 1), (3, 0)):
        monkeypatch.setattr("simsched.traces.recorders.threads.usable_cpus", lambda cpus=cpus: cpus)
        assert sum(said in doubt for doubt in recorded(pool).report.doubts) == doubts


def test_failures_and_cancelled_futures(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        gate = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(gate.wait)
            second = pool.submit(load, 1)
            assert second.cancel()
            gate.set()
            assert first.result()
            with suppress(futures.CancelledError):
                second.result()
            failed = pool.submit(fails)
            assert isinstance(failed.exception(), ValueError)
            with pytest.raises(ValueError, match="on purpose"):
                failed.result()
            pool.submit(load, 2)

    graph = recorded(program)
    assert names(graph) == ["Event.wait 0", "fails 2", "load 3"]
    assert edges(graph) == {("Event.wait 0", "fails 2"), ("fails 2", "load 3")}
    assert "tasks that failed (raised an exception): 1" in graph.report.notes
    assert "tasks left out that never ran (cancelled or refused): 1" in graph.report.notes


def test_what_runs_when_the_recording_ends_is_left_out(recorded: Callable[..., TaskGraph]) -> None:
    began, gate = threading.Event(), threading.Event()
    pool = ThreadPoolExecutor(2)
    late: list[Future[Any]] = []

    def waits() -> bool:
        began.set()
        return gate.wait(60)

    def program() -> None:
        pool.submit(load, 0).result()
        late.append(pool.submit(waits))
        late.append(pool.submit(load, 1))
        late[1].result()
        # One that had not even begun would be left out for another reason.
        assert began.wait(60)

    graph = recorded(program)
    assert names(graph) == ["load 0", "load 2"]
    assert any("had not finished when the recording ended" in note for note in graph.report.notes)
    gate.set()
    assert late[0].result()
    # Futures of a recording that is over mean nothing to the next one.
    assert names(recorded(lambda: (late[0].result(), pool.submit(load, 3).result()))) == ["load 0"]
    pool.shutdown()


def test_ten_thousand_tasks(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(abs, range(10_000))) == 49_995_000

    graph = recorded(program)
    assert (graph.n_tasks, graph.n_edges) == (10_000, 0)


def test_no_more_than_the_most_are_recorded(recorded: Callable[..., TaskGraph]) -> None:
    def outer(pool: ThreadPoolExecutor) -> int:
        return sum(pool.submit(abs, n).result() for n in range(50))

    def program() -> None:
        with ThreadPoolExecutor(2) as pool:
            assert pool.submit(outer, pool).result() == 1225

    graph = recorded(program, most_tasks=20)
    assert graph.n_tasks <= 20
    assert any(
        "calls not recorded, after the first 20 tasks and parts" in note for note in graph.report.notes
    )


@contextmanager
def spawning() -> Iterator[futures.ProcessPoolExecutor]:
    import multiprocessing

    with futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_processes(recorded: Callable[..., TaskGraph]) -> None:
    def program() -> None:
        with spawning() as pool:
            assert list(pool.map(abs, [-1, -2, -3], chunksize=2)) == [1, 2, 3]
            assert isinstance(pool.submit(divmod, 1, 0).exception(), ZeroDivisionError)
            assert pool.submit(pow, 2, 3).result() == 8

    graph = recorded(program)
    assert names(graph) == ["abs 0", "abs 1", "divmod 2", "pow 3"]
    assert edges(graph) == {("abs 0", "divmod 2"), ("abs 1", "divmod 2"), ("divmod 2", "pow 3")}
    assert graph.recording is not None
    assert set(graph.recording.lane_names) <= {"process 1", "process 2"}
    assert "tasks that failed (raised an exception): 1" in graph.report.notes


@pytest.mark.parametrize("backend", ["threading", "sequential", "loky"])
def test_joblib(recorded: Callable[..., TaskGraph], backend: str) -> None:
    joblib = pytest.importorskip("joblib")

    def program() -> None:
        parallel = joblib.Parallel(2, backend=backend)
        assert parallel(joblib.delayed(pow)(n, 2) for n in range(3)) == [0, 1, 4]
        assert parallel([joblib.delayed(abs)(-5)]) == [5]
        parallel = joblib.Parallel(2, backend=backend, return_as="generator")
        assert list(parallel(joblib.delayed(max)(n, 7) for n in range(2))) == [7, 7]
        assert list(parallel([])) == []

    graph = recorded(program)
    assert names(graph) == ["abs 3", "max 4", "max 5", "pow 0", "pow 1", "pow 2"]
    assert edges(graph) == {
        *((f"pow {n}", "abs 3") for n in range(3)),
        ("abs 3", "max 4"),
        ("abs 3", "max 5"),
    }
    if backend == "loky":
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def test_nothing_stays_replaced_and_the_file_has_arrows(tmp_path: Path) -> None:
    before = (ThreadPoolExecutor.submit, Future.result, threading.Thread.start, futures.wait)
    with suppress(RuntimeError), record(tmp_path / "run.json.gz"):
        assert futures.wait is not before[3]
        with ThreadPoolExecutor(1) as pool:
            pool.submit(load, pool.submit(len, "ab").result())
        raise RuntimeError("the recording is written all the same")
    assert (ThreadPoolExecutor.submit, Future.result, threading.Thread.start, futures.wait) == before
    graph = ss.load(tmp_path / "run.json.gz")
    assert (graph.name, edges(graph)) == ("run", {("len 0", "load 1")})
    with record(tmp_path / "run.json"), ThreadPoolExecutor(1) as pool:
        pool.submit(load, pool.submit(len, "ab").result())
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    assert [event["ph"] for event in events] == ["M", "M", "X", "X", "s", "f"]
    spans = [event for event in events if event["ph"] == "X"]
    for event in spans:
        waited_us = event["ts"] - event["args"]["submitted_us"]
        assert event["args"]["wait_us"] == pytest.approx(waited_us, abs=2e-3)
        assert waited_us >= 0


def test_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(SimschedError, match="edges is 'all'; expected one of waits, arguments"),
        record(tmp_path / "run.json", edges="all"),
    ):
        pass
    with pytest.raises(SimschedError, match="most_tasks is 0"), record(tmp_path / "run.json", most_tasks=0):
        pass
    with pytest.raises(SimschedError, match="there is no folder"), record(tmp_path / "no" / "run.json"):
        pytest.fail("the block ran")
    with (
        record(tmp_path / "run.json"),
        pytest.raises(SimschedError, match="already running"),
        record(tmp_path / "run2.json"),
    ):
        pass
