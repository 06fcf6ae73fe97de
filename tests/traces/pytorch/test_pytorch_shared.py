"""Further recordings, where the shared samples stand beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from simsched.traces.pytorch.reader import PYTORCH

FURTHER = Path(__file__).resolve().parents[3].parent / "shared" / "samples"
if not FURTHER.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)
PAIRS = {
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


@pytest.mark.parametrize("name", PAIRS)
def test_a_recording_becomes_a_graph(name, read_as_recorded):
    graph = read_as_recorded(*PAIRS[name])
    assert (graph.n_tasks, graph.n_edges) == COUNTS.get(name, (graph.n_tasks, graph.n_edges))


def test_all_recordings_are_here():
    assert PAIRS.keys() >= COUNTS.keys()
    assert ALONE


def test_two_recordings_of_one_model_depend_alike():
    # Memory comes back differently in every run: a false edge would be in one of the two graphs alone.
    pairs = (PAIRS[f"inception_t{threads}.kineto.json.gz"] for threads in (1, 2))
    one, other = (PYTORCH.read(kineto, execution_trace=et) for kineto, et in pairs)
    assert one.kinds.to_list() == other.kinds.to_list()
    assert one.successors.sources().tolist() == other.successors.sources().tolist()
    assert one.successors.indices.tolist() == other.successors.indices.tolist()


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.name)
def test_a_recording_alone_becomes_a_chain(path):
    graph = PYTORCH.read(path)
    assert graph.n_edges == graph.n_tasks - graph.report.facts["lanes"]
