"""Which spans are tasks: by lane, name and depth, on spans by hand and on a real trace of a thread pool.

The seed `viztracer` is a `ThreadPoolExecutor` of two threads with four tasks `load` and four `work`, recorded by
viztracer 1.1.1 with `ignore_c_function=True, max_stack_depth=8, min_duration=20`, its paths shortened.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import simsched as ss
from simsched.errors import FormatError
from simsched.graph import TaskGraph

VIZTRACER = Path(__file__).parents[1] / "seeds/chrome/viztracer/main.json"


def span(name: str, ts: int, dur: int, tid: int = 1, pid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "tid": tid, "pid": pid}


#: A pool's thread, whose loop runs two tasks; a third task lies in the second. Beside it the main thread.
POOL = [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "Pool_0"}},
    span("loop", 0, 100),
    span("run", 10, 30), span("load", 12, 20), span("helper", 14, 4),
    span("run", 50, 40), span("work", 55, 30), span("load", 60, 10),
    span("main", 0, 120, 2), span("load", 5, 5, 2),
]  # fmt: skip


def load(tmp_path: Path, **options: Any) -> TaskGraph:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    return ss.load(tmp_path / "pool.json", **options)


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        ({}, ["main", "loop"]),
        ({"depth": 1}, ["load", "run", "run"]),
        ({"depth": "2", "lanes": "Pool*"}, ["load", "work"]),
        ({"depth": "1-2", "lanes": "pool_?"}, ["run", "run"]),
        ({"depth": "1-2", "lanes": "Pool*", "level": "innermost"}, ["load", "work"]),
        ({"names": "load+work"}, ["load", "load", "work"]),
        ({"names": "load+work", "level": "innermost"}, ["load", "load", "load"]),
        ({"names": "LOAD", "lanes": "thread 2+nothing"}, ["load"]),
        ({"names": "load", "depth": "3-9"}, ["load"]),
    ],
)
def test_chosen_by_hand(tmp_path: Path, options: dict[str, Any], tasks: list[str]) -> None:
    graph = load(tmp_path, **options)
    assert sorted(graph.kinds.to_list()) == sorted(tasks)
    facts = graph.report.facts
    left = [count for fact, count in facts.items() if str(fact).startswith("left_out_")]
    assert sum(left) + graph.n_tasks == facts["spans"] == 9
    assert facts["spans_by_depth"] == "0: 2, 1: 3, 2: 2, 3: 2"


def test_what_is_left_out_is_counted_by_its_reason(tmp_path: Path) -> None:
    graph = load(tmp_path, lanes="Pool*", names="load+work", depth="2-3")
    left = {fact: count for fact, count in graph.report.facts.items() if str(fact).startswith("left_out_")}
    assert left == {"left_out_lanes": 2, "left_out_names": 4, "left_out_depth": 0, "left_out_level": 1}
    assert graph.report.notes[0] == "7 of 9 spans are not tasks: the options chose others"


def test_lanes_with_and_without_their_process(tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps([span("a", 0, 1, 1, 1), span("b", 0, 1, 1, 2)]))
    for lanes, tasks in (("thread 1", ["a", "b"]), ("process 2: *", ["b"])):
        assert ss.load(tmp_path / "two.json", lanes=lanes).kinds.to_list() == tasks


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"names": "nap*"}, "names is 'nap*', which chooses none of 9 spans; there are 'load' (3), 'run' (2), "),
        ({"lanes": "Pool*", "names": "main"}, "names is 'main', which chooses none of 7 spans; there are "),
        ({"lanes": "gpu"}, "lanes is 'gpu', which chooses none of 9 spans; there are 'Pool_0' (7), 'thread 2' (2)"),
        ({"names": "load", "depth": 7}, "depth is '7', which chooses none of 3 spans; there are "),
        ({"depth": "3-1"}, "depth is '3-1'; expected how many spans are around a task, as in 0"),
        ({"depth": -1}, "depth is -1; expected"),
        ({"depth": True}, "depth is True; expected"),
        ({"depth": "1" * 99}, "expected how many"),
        ({"names": ""}, "names is ''; expected patterns joined by +"),
        ({"names": " + "}, "names is ' + '; expected patterns joined by +"),
        ({"lanes": 3}, "lanes is 3; expected patterns joined by +"),
    ],
)  # fmt: skip
def test_what_chooses_nothing_says_what_there_is(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(FormatError, match=re.escape(said)):
        load(tmp_path, **options)


def test_a_message_lists_few_of_many_long_names(tmp_path: Path) -> None:
    (tmp_path / "many.json").write_text(json.dumps([span(f"{i} {'x' * 500}", i, 1) for i in range(99)]))
    with pytest.raises(FormatError, match=r"names is 'y'.* \(1\) and 9\d more$") as caught:
        ss.load(tmp_path / "many.json", names="y")
    assert len(str(caught.value)) - len(str(tmp_path)) < 500


def test_a_thread_pool_recorded_by_viztracer() -> None:
    default = ss.load(VIZTRACER)
    assert (default.report.format, default.n_tasks) == ("chrome", 4)
    assert "depth=, names= and lanes= choose others" in default.report.notes[0]
    for options in ({"names": "load *+work *"}, {"lanes": "Pool*", "depth": 3, "names": "load*+work*"}):
        graph = ss.load(VIZTRACER, **options)
        assert Counter(kind.partition(" ")[0] for kind in graph.kinds.to_list()) == {"load": 4, "work": 4}
        assert graph.recording is not None
        assert graph.recording.lane_names == ("Pool_0", "Pool_1")
        assert graph.n_edges == 6
    assert ss.load(VIZTRACER, names="load *+work *", edges="flows").n_edges == 0


def test_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    chosen = ["--depth", "2", "--names=load+work", "--lanes", "Pool*"]
    done = subprocess.run(
        [sys.executable, "-m", "simsched.cli.app", "convert", "pool.json", "out.simsched", *chosen],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert ss.load(tmp_path / "out.simsched").kinds.to_list() == ["load", "work"]
