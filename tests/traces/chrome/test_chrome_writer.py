"""Chrome traces, read back."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Csr
from simsched.schedule import Schedule
from simsched.traces.chrome import writer as chrome
from simsched.traces.chrome.writer import CHROME

HOSTILE = ['"', "\\", "\x00\x1f\u2028", "</script>", "漢字 🙂", "\ud800", ""]


def made(
    start_ns: Sequence[float], finish_ns: Sequence[float], team: Sequence[int], **graph: Any
) -> Schedule:
    """Tasks on team 0 (cores 0 to 2 and 5) or team 1 (core 3), as executors 0 and 1."""
    start, finish = np.asarray(start_ns) * 1e-9, np.asarray(finish_ns) * 1e-9
    on = np.asarray(team, np.int32)
    return Schedule(
        graph=TaskGraph.from_edges(finish - start, **graph),
        ready_s=start / 2,
        start_s=start,
        finish_s=finish,
        teams=Csr(np.array([0, 4, 5]), np.array([0, 1, 2, 5, 3], np.int32)),
        team=on,
        executor=on,
        start_order=np.argsort(start, kind="stable").astype(np.int32),
        alone_s=finish - start,
        n_cores=6,
        policy="fifo",
        seed=3,
    )


def three_tasks() -> Schedule:
    return made(
        [0, 1000, 2_000_001], [2_000_001, 1001, 3_000_000_123], [0, 1, 0], kinds=["MatMul", "add", "MatMul"]
    )


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def events(path: Path, ph: str, pid: int = chrome.EXECUTORS) -> list[dict[str, Any]]:
    return [event for event in read(path)["traceEvents"] if (event["ph"], event["pid"]) == (ph, pid)]


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_every_task_is_once_on_its_executor(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    CHROME.write(three_tasks(), path)
    tasks = events(path, "X")
    assert [event["args"]["task"] for event in tasks] == [0, 1, 2]
    assert [event["tid"] for event in tasks] == [0, 1, 0]
    assert [event["name"] for event in tasks] == ["MatMul 0", "add 1", "MatMul 2"]
    assert [event["args"]["cores"] for event in tasks] == ["0-2,5", "3", "0-2,5"]
    assert [event["args"]["width"] for event in tasks] == [4, 1, 4]
    assert tasks[1]["args"]["ready_us"] == tasks[1]["args"]["wait_us"] == 0.5


def test_times_are_exact_to_the_nanosecond(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    schedule = three_tasks()
    CHROME.write(schedule, path)
    text = path.read_text()
    assert '"ts":2000.001,"dur":2998000.122' in text
    assert re.findall(r'"pid":1,"tid":1,.*?"ts":([\d.]+),"dur":([\d.]+)', text) == [("1.000", "0.001")]
    ends = [round(1000 * (event["ts"] + event["dur"])) for event in events(path, "X")]
    assert ends == np.rint(schedule.finish_s * 1e9).tolist()


def test_cores_are_a_second_process(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    CHROME.write(three_tasks(), path)
    lanes = sorted((event["args"]["task"], event["tid"]) for event in events(path, "X", chrome.CORES))
    assert lanes == [(0, 0), (0, 1), (0, 2), (0, 5), (1, 3), (2, 0), (2, 1), (2, 2), (2, 5)]


def test_cores_are_left_out_where_they_would_be_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chrome, "MAX_CORE_EVENTS", 8)
    CHROME.write(three_tasks(), tmp_path / "run.json")
    assert {event["pid"] for event in read(tmp_path / "run.json")["traceEvents"]} == {chrome.EXECUTORS}


def test_lanes_are_named_and_sorted(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    CHROME.write(three_tasks(), path)
    said = {(event["name"], event.get("tid")): event["args"] for event in events(path, "M")}
    assert said["process_name", None] == {"name": "executors"}
    assert said["thread_name", 1] == {"name": "executor 1"}
    assert said["thread_sort_index", 1] == {"sort_index": 1}
    assert len(events(path, "M", chrome.CORES)) == 2 + 2 * 6


def test_the_counter_follows_the_running_tasks(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    CHROME.write(three_tasks(), path)
    counted = [(event["ts"], event["args"]["tasks"]) for event in events(path, "C")]
    assert counted == [(0, 1), (1, 2), (1.001, 1), (2000.001, 1), (3000000.123, 0)]


def test_what_made_the_schedule_is_kept(tmp_path: Path) -> None:
    CHROME.write(three_tasks(), tmp_path / "run.json")
    trace = read(tmp_path / "run.json")
    assert trace["displayTimeUnit"] == "ns"
    assert {"machine", "policy", "layout", "engine", "seed", "makespan_s"} <= set(trace["otherData"])
    assert (trace["otherData"]["policy"], trace["otherData"]["seed"]) == ("fifo", 3)
    assert trace["otherData"]["makespan_s"] == three_tasks().makespan_s


def test_aborted_runs_are_on_their_cores(tmp_path: Path) -> None:
    """Core 0 runs 0 in vain until 1, when core 1 takes it over; the graph that is read has each task once."""
    path, graph = tmp_path / "run.json", ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
    ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio", "2x1").save(path)
    (found,) = [event for event in events(path, "X", chrome.CORES) if event["cat"] == "aborted"]
    assert (found["name"], found["tid"], found["ts"], found["dur"]) == ("task 0 (aborted)", 0, 0, 1e6)
    assert read(path)["otherData"]["aborted_runs"] == 1
    assert ss.load(path).recorded.start_s.tolist() == [1, 0]


def test_odd_names_survive(tmp_path: Path) -> None:
    n = len(HOSTILE)
    schedule = made(range(n), range(1, n + 1), [0] * n, kinds=HOSTILE, names=HOSTILE)
    CHROME.write(schedule, tmp_path / "run.json")
    kept = [name.replace("\ud800", "\\ud800") for name in HOSTILE]
    assert [event["name"] for event in events(tmp_path / "run.json", "X")] == kept
    assert [event["args"]["kind"] for event in events(tmp_path / "run.json", "X")] == kept


def test_an_empty_schedule_is_a_valid_trace(tmp_path: Path) -> None:
    CHROME.write(made([], [], []), tmp_path / "run.json")
    assert events(tmp_path / "run.json", "X") == []


def test_a_time_that_is_unknown_is_an_error(tmp_path: Path) -> None:
    schedule = replace(three_tasks(), start_s=np.array([0, np.nan, 0]))
    with pytest.raises(SimschedError, match="task 1"):
        CHROME.write(schedule, tmp_path / "run.json")
    assert not list(tmp_path.iterdir())


def test_a_time_beyond_64_bits_of_nanoseconds_is_an_error(tmp_path: Path) -> None:
    late = made([0, 0], [1, 1e20], [0, 1])
    with pytest.raises(SimschedError, match=r"task 1 is ready, .* at 1e\+11 s; .* ends at 4\.61169e\+09 s"):
        CHROME.write(late, tmp_path / "run.json")
    assert not list(tmp_path.iterdir())
    CHROME.write(made([0], [4.6e18], [0]), tmp_path / "run.json")
    assert '"dur":4600000000000000.000' in (tmp_path / "run.json").read_text()


def test_a_failure_midway_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(ns: int) -> str:
        raise RuntimeError(str(ns))

    monkeypatch.setattr(chrome, "_us", broken)
    for name in ("run.json", "run.json.gz"):
        with pytest.raises(RuntimeError):
            CHROME.write(three_tasks(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimschedError, match=r"there is no folder .*nowhere"):
        CHROME.write(three_tasks(), tmp_path / "nowhere" / "run.json")
