"""Dask's task streams by hand: dependencies through fused keys, threads, and what is refused."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from simsched.errors import FormatError, GraphError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.dask.reader import DASK

pytest.importorskip("ijson")

SAMPLES = Path(__file__).parents[3] / "../shared/samples/dask"
EPOCH = 1_795_165_253
A, B, C = "('add-e3ef5546f06aef12', 0, 0)", "mul-0123456789abcdef", "('sum', 1)"


def record(key: Any, start: float, stop: float, thread: int = 1, **more: Any) -> dict[str, Any]:
    steps = [{"action": "transfer", "start": EPOCH + start - 0.25, "stop": EPOCH + start}]
    steps += [{"action": "compute", "start": EPOCH + start, "stop": EPOCH + stop}]
    return {"key": key, "worker": "w", "thread": thread, "status": "OK", "startstops": steps, **more}


def records() -> list[dict[str, Any]]:
    return [record(A, 0.5, 1), record(["sum", 1], 2, 2.5), record(B, 0.75, 2, thread=2)]


def write(folder: Path, value: Any, name: str = "hand.json") -> Path:
    (folder / name).write_text(json.dumps(value))
    return folder / name


def edges(graph: TaskGraph) -> set[tuple[str, str]]:
    ends = zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True)
    return {(graph.task_name(a), graph.task_name(b)) for a, b in ends}


@pytest.mark.parametrize("wrapped", [False, True])
def test_alone_a_chain_a_thread(tmp_path: Path, wrapped: bool) -> None:
    graph = load(write(tmp_path, {"wall_s": 1, "task_stream": records()} if wrapped else records()))
    assert edges(graph) == {(A, C)}
    assert graph.durations_s.tolist() == [0.5, 1.25, 0.5]
    assert graph.kinds.to_list() == ["add", "mul", "sum"]
    assert graph.recording is not None
    assert (graph.recording.lanes.tolist(), graph.report.format) == ([0, 1, 0], "dask")
    assert graph.report.facts["transfer_s"] == 0.75
    assert "chain" in graph.report.notes[0]


def test_threads_of_one_worker_take_turns_at_python(tmp_path: Path) -> None:
    """Replays on more cores have pure Python compute on all of them, and nothing said that it does not."""
    doubt = "Python's global lock lets one thread at a time"
    assert any(doubt in note for note in load(write(tmp_path, records())).report.doubts)
    apart = [record(A, 0.5, 1), {**record(B, 0.75, 2), "worker": "v"}]
    assert not any(doubt in note for note in load(write(tmp_path, apart)).report.doubts)


def test_dependencies_go_through_fused_keys(tmp_path: Path) -> None:
    told = {"dependencies": {C: ["fused"], "fused": [A, "lost"], "lost": []}}
    for value in (told, told["dependencies"]):
        graph = load(write(tmp_path, records()), graph=write(tmp_path, value, "graph.json"))
        assert edges(graph) == {(A, C)}
        assert (graph.report.facts["graph_keys"], graph.report.facts["matched_keys"]) == (3, 1)
        assert any("2 of 3 executed keys are not in the graph" in note for note in graph.report.notes)
        assert any("2 keys of the graph not executed" in note for note in graph.report.notes)


def test_the_task_that_collects_the_result_depends_on_all_pieces(tmp_path: Path) -> None:
    final = "finalize-hlgfinalizecompute-0123"
    stream = write(tmp_path, [*records(), record(final, 3, 3.5)])
    graph = load(stream, graph=write(tmp_path, {B: [], C: [A], A: []}, "graph.json"))
    assert edges(graph) == {(A, C), (B, final), (C, final)}
    assert graph.report.facts["matched_keys"] == 4
    # Two of them collect two results, and nobody knows which.
    stream = write(tmp_path, [*records(), record(final, 3, 3.5), record(f"{final}4", 3.5, 4)])
    graph = load(stream, graph=write(tmp_path, {B: [], C: [A], A: []}, "graph.json"))
    assert edges(graph) == {(A, C)}


def test_a_key_that_ran_twice(tmp_path: Path) -> None:
    again = [
        *records(),
        record(A, 1.25, 1.5),
        record(A, 3, 4),
        record(A, 5, 6, status="error"),
        record(A, 5, 6),
    ]
    again[-1]["startstops"].pop()
    graph = DASK.read(write(tmp_path, again), graph=write(tmp_path, {"dependencies": {C: [A]}}, "graph.json"))
    ends = list(zip(graph.successors.sources().tolist(), graph.successors.indices.tolist(), strict=True))
    assert ends == [(2, 3)]
    assert "2 records without a compute step, or failed, left out." in graph.report.notes


def test_steps_of_older_versions(tmp_path: Path) -> None:
    old = record(A, 0, 0)
    old["startstops"] = [["compute", EPOCH, EPOCH + 2]]
    assert DASK.read(write(tmp_path, [old])).durations_s.tolist() == [2]


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"startstops": 3}, "record 3 has startstops 3"),
        ({"startstops": [3]}, "record 3 has the step 3"),
        ({"startstops": [["compute", 1, "x"]]}, "record 3 has the time 'x'"),
        ({"startstops": [["compute", -1, 2]]}, "record 3 has the time -1"),
        ({"startstops": [["compute", 5, 2]]}, "record 3 stops at 2 s, before it starts at 5 s"),
        ({"startstops": [["compute", 1, 2]]}, "the run takes .* s; expected at most"),
        ({"key": 1.5}, "has key 1.5"),
    ],
)
def test_refused(tmp_path: Path, new: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        DASK.read(write(tmp_path, [*records(), {**record(A, 9, 10), **new}]))
    assert "hand.json" in str(caught.value)


@pytest.mark.parametrize("value", [[], {"a": 3}, {"dependencies": []}, 5, {"dependencies": {"a": [1.5]}}])
def test_no_graph(tmp_path: Path, value: Any) -> None:
    with pytest.raises(FormatError, match=r"graph\.json"):
        DASK.read(write(tmp_path, records()), graph=write(tmp_path, value, "graph.json"))


def test_advice_for_what_holds_no_task_stream(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("<!DOCTYPE html>\n<html><title>Dask Performance Report</title>")
    with pytest.raises(FormatError, match=r"save client.get_task_stream\(\) as JSON"):
        load(tmp_path / "report.html")
    with pytest.raises(FormatError, match="load the task stream and give this as graph="):
        load(write(tmp_path, {"dependencies": {"a": []}}))
    with pytest.raises(FormatError, match="no record with a compute step"):
        DASK.read(write(tmp_path, []))


def test_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, records())
    path.write_text(path.read_text()[:-40])
    with pytest.raises(FormatError, match=r"cut off.*tolerant=true"):
        DASK.read(path)
    assert DASK.read(path, tolerant="true").n_tasks == 2


FIELDS = st.sampled_from(["key", "worker", "thread", "status", "startstops"])
VALUES = st.sampled_from([None, 3, -1, "", [], {}, [[]], [["compute", 1, 2]], 2**70, "\ud800", 1e300])
GRAPHS = st.dictionaries(st.sampled_from([A, B, "x"]), st.lists(st.sampled_from([A, B, C, "x"]), max_size=3))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2), FIELDS, VALUES, GRAPHS)
def test_any_structure(tmp_path: Path, at: int, field: str, new: Any, told: dict[str, list[str]]) -> None:
    made = copy.deepcopy(records())
    made[at][field] = new
    with suppress(FormatError, GraphError):
        graph = DASK.read(write(tmp_path, made), graph=write(tmp_path, {"dependencies": told}, "graph.json"))
        assert 0 < graph.n_tasks <= 3


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the shared samples are not here")
def test_a_real_stream() -> None:
    graph = load(SAMPLES / "cholesky.task_stream.json", graph=SAMPLES / "cholesky.lowlevel_deps.json")
    facts = graph.report.facts
    assert (graph.n_tasks, facts["graph_keys"], facts["matched_keys"], facts["lanes"]) == (408, 877, 386, 2)
    assert facts["early_starts"] == 1
