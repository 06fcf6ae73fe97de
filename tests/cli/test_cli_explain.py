"""`simsched explain`."""

import json
from functools import partial

import pytest

import simsched as ss


@pytest.fixture(scope="module")
def graph_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs") / "three.simsched"
    ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], names=["first", "\x1b[2J", "7"], kinds="k").save(path)
    return str(path)


@pytest.fixture(scope="module")
def explained(graph_file, piped):
    return partial(piped, "explain", graph_file, "-m", "generic[cores=1]", "-p", "fifo")


def test_json_is_one_object(explained):
    done = explained("--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["makespan_s"] == 6
    assert facts["reasons"] == {
        "none": 1,
        "dependency": 0,
        "no core": 2,
        "queue": 0,
        "dispatch": 0,
        "data": 0,
        "aborted": 0,
    }
    assert sum(row["seconds_s"] for row in facts["critical_path"]) == 6
    assert sum(row["core_s"] for row in facts["core_time"]) == 6
    assert facts["what_if"][0]["name"] == "7"


def test_text(explained):
    done = explained("-l", "1x1", "--speedup", "3", "--replays", "8")
    assert done.returncode == 0, done.stderr
    for expected in (
        "critical path through time, 3 of 3 segments",
        "what would help most",
        "core-time: work",
        "no core",
    ):
        assert expected in done.stdout
    assert "\x1b" not in done.stdout


def test_no_replays(explained):
    assert "what would help" not in explained("--replays", "0").stdout


def test_one_task(explained):
    done = explained("--task", "2", "--json")
    assert done.returncode == 0, done.stderr
    one = json.loads(done.stdout)
    assert (one["task"], one["ready_s"], one["no_core_s"], one["start_s"]) == (2, 1, 2, 3)
    assert one["holders"] == [{"task": 1, "name": "\x1b[2J", "n_cores": 1, "seconds_s": 2.0}]
    assert "ready at 0 s, started at 0 s" in explained("--task", "first").stdout


def test_a_task_that_is_not_there(explained):
    done = explained("--task", "other")
    assert done.returncode == 2
    assert done.stderr.startswith("simsched: error: no task is called 'other'")
