"""Real recordings: those in the package, and further ones where a folder of them lies beside the repository."""

from __future__ import annotations

import gzip
import json
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from simsched.errors import FormatError
from simsched.traces.pytorch import PYTORCH
from simsched.traces.samples import SAMPLES, sample_files

FURTHER = Path(__file__).resolve().parents[3].parent / "shared" / "samples"
PAIRS = {name: sample_files(name) for name in SAMPLES} | {
    path.name: (path, path.with_name(path.name.replace("kineto", "et")))
    for path in sorted(FURTHER.glob("pytorch/*.kineto.json.gz"))
}
ALONE = [path for path in sorted(FURTHER.glob("pytorch-public/*.gz")) if "_et." not in path.name]
#: Tasks and edges of recordings that do not change any more; the tasks also by an independent count.
COUNTS = {
    "lstm4_t1.kineto.json.gz": (2266, 4212),
    "inception_t1.kineto.json.gz": (545, 758),
    "branches_t1.kineto.json.gz": (223, 304),
}


def step_of(kineto: Path) -> tuple[dict[int, tuple[str, int, int]], int]:
    """Return name, start and finish in ns of every operator by its record function id, and the step's length."""
    events = json.loads(gzip.decompress(kineto.read_bytes()), parse_float=Decimal)["traceEvents"]
    timed = [e for e in events if e.get("cat") in ("cpu_op", "user_annotation")]
    spans = {
        e["args"]["Record function id"]: (e["name"], int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000))
        for e in timed
    }
    return spans, next(int(e["dur"] * 1000) for e in timed if e["name"].startswith("ProfilerStep#"))


@pytest.mark.parametrize("name", PAIRS)
def test_a_recording_becomes_a_graph(name):
    kineto, execution_trace = PAIRS[name]
    graph = PYTORCH.read(kineto, execution_trace=execution_trace)
    facts, recording = graph.report.facts, graph.recording
    if name in COUNTS:
        assert (graph.n_tasks, graph.n_edges) == COUNTS[name]
    assert facts["joined"] == graph.n_tasks
    assert facts["impossible_edges"] == 0
    assert 0.8 < facts["covered_share"] < 1
    assert facts["average_parallelism"] > 1.5
    sources, targets = graph.successors.sources(), graph.successors.indices
    assert np.all(recording.finish_s[sources] <= recording.start_s[targets])
    spans, span_ns = step_of(kineto)
    assert round(facts["span_s"] * 1e9) == span_ns
    ids = [int(graph.task_name(task).rpartition("#")[2]) for task in range(graph.n_tasks)]
    first = min(spans[i][1] for i in ids)
    for column, at in ((recording.start_s, 1), (recording.finish_s, 2)):
        assert np.round(column * 1e9).astype(np.int64).tolist() == [spans[i][at] - first for i in ids]
    assert [spans[i][0].removeprefix("aten::") for i in ids] == graph.kinds.to_list()
    assert graph.recorded.makespan_s <= facts["span_s"]


TWICE = [f"inception_t{threads}.kineto.json.gz" for threads in (1, 2)]


@pytest.mark.skipif(not PAIRS.keys() >= set(TWICE), reason="needs two recordings of one model")
def test_two_recordings_of_one_model_depend_alike():
    # Memory comes back differently in every run: a false edge would be in one of the two graphs alone.
    one, other = (PYTORCH.read(PAIRS[name][0], execution_trace=PAIRS[name][1]) for name in TWICE)
    assert one.kinds.to_list() == other.kinds.to_list()
    assert one.successors.sources().tolist() == other.successors.sources().tolist()
    assert one.successors.indices.tolist() == other.successors.indices.tolist()


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.name)
def test_a_recording_alone_becomes_a_chain(path):
    graph = PYTORCH.read(path)
    assert graph.n_edges == graph.n_tasks - graph.report.facts["threads"]


def test_a_sample_and_the_companion_of_another_one():
    with pytest.raises(FormatError, match="different runs"):
        PYTORCH.read(sample_files("cnn")[0], execution_trace=sample_files("lstm4")[1])


def test_the_lstm_depends_as_an_lstm_does():
    kineto, execution_trace = sample_files("lstm4")
    graph = PYTORCH.read(kineto, execution_trace=execution_trace)
    scopes = graph.scopes.to_list()
    sources, targets = graph.successors.sources().tolist(), graph.successors.indices.tolist()
    between = {(scopes[a], scopes[b]) for a, b in zip(sources, targets, strict=True)}
    cells = {
        tuple(map(int, m.groups())) for s in scopes if (m := re.fullmatch(r"cell\[l=(\d+),t=(\d+)\]", s))
    }
    assert len(cells) == 4 * 16
    for layer, t in cells:
        for before in {(layer - 1, t), (layer, t - 1)} & cells:
            forward = tuple("cell[l={},t={}]".format(*cell) for cell in (before, (layer, t)))
            assert forward in between
            assert tuple(f"backward/{scope}" for scope in reversed(forward)) in between
    ahead = {(a, b) for a, b in between if a.startswith("cell") and b.startswith("cell")}
    assert all(_before(a, b) for a, b in ahead)


def _before(first: str, second: str) -> bool:
    (la, ta), (lb, tb) = (tuple(map(int, re.findall(r"\d+", scope))) for scope in (first, second))
    return la <= lb and ta <= tb


def test_samples_know_where_they_were_recorded():
    for name in SAMPLES:
        graph = PYTORCH.read(sample_files(name)[0])
        assert graph.recorded_on.name
        assert graph.recorded_on.core_flops > 1e9
        assert graph.recorded_on.core_bandwidth_Bps > 1e9
        assert graph.report.facts["traced_over_untraced"] > 1
    with pytest.raises(FormatError, match="lstm4, cnn"):
        sample_files("alexnet")


def test_samples_are_small_and_private():
    files = [file for name in SAMPLES for file in sample_files(name)]
    assert sum(file.stat().st_size for file in files) < 900_000
    for file in files:
        text = gzip.decompress(file.read_bytes()).decode()
        assert not re.search(r'"(host_name|traceName)": *"[^"]', text)
        assert not re.search(r'"[^"]*/(root|home|tmp|work|usr|mnt)\b', text)
