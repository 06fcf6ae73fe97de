"""Further recordings, where the shared samples stand beside the repository."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from tarballs import unpack

import simsched as ss

FURTHER = Path(__file__).resolve().parents[3].parent / "shared" / "samples"
if not FURTHER.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)
PAIRS = {
    path.name: (path, path.with_name(path.name.replace("kineto", "et")))
    for path in sorted(FURTHER.glob("pytorch/*.kineto.json.gz"))
}
#: Tasks and edges of recordings that do not change any more; the tasks also by an independent count.
COUNTS = {
    "lstm4_t1.kineto.json.gz": (2266, 4212),
    "inception_t1.kineto.json.gz": (545, 758),
    "branches_t1.kineto.json.gz": (223, 304),
}
#: Execution traces of several schemas, some in archives, with calls, tasks and edges of one in each.
TRACES = {
    "pytorch-public/hta_benchmark_simple_add_et.json.gz": (38, 10, 8),
    "pytorch-public/param_linear_et.json.gz": (931, 320, 488),
    "pytorch-public/param_dlrm_pytorch_et.tar.gz": (1675, 650, 794),
    "pytorch-public/param_pt2_et.json.tar.gz": (20, 4, 2),
    "chakra/chakra-repo_1.0.2-chakra.0.0.4.tgz": (263, 90, 90),
    "pytorch/inception_t1.et.json.gz": (2167, *COUNTS["inception_t1.kineto.json.gz"]),
}
#: Tasks of GPU traces, host parts and kernels, and edges.
DEVICES = {
    "hta_benchmark_result_493459_1694039959_trace.json.gz": (261, 98, 476),
    "param_linear_kineto.json.gz": (23114, 10356, 43823),
}


def unpacked(path: Path, folder: Path) -> list[Path]:
    """Return the traces in a file, which may be an archive."""
    if not tarfile.is_tarfile(path):
        return [path]
    unpack(path, folder)
    return sorted(p for p in folder.rglob("*.json") if not p.name.startswith("._"))


@pytest.mark.parametrize("name", PAIRS)
def test_a_recording_becomes_a_graph(name, read_as_recorded):
    graph = read_as_recorded(*PAIRS[name])
    assert (graph.n_tasks, graph.n_edges) == COUNTS.get(name, (graph.n_tasks, graph.n_edges))


def test_all_recordings_are_here():
    assert PAIRS.keys() >= COUNTS.keys()
    assert len(TRACES) == 6


def test_two_recordings_of_one_model_depend_alike(read_as_recorded):
    # Memory comes back differently in every run: a false edge would be in one of the two graphs alone.
    pairs = (PAIRS[f"inception_t{threads}.kineto.json.gz"] for threads in (1, 2))
    one, other = (read_as_recorded(*pair) for pair in pairs)
    assert one.kinds.to_list() == other.kinds.to_list()
    assert one.successors.sources().tolist() == other.successors.sources().tolist()
    assert one.successors.indices.tolist() == other.successors.indices.tolist()


@pytest.mark.parametrize("name", TRACES)
def test_an_execution_trace_alone(name, tmp_path):
    traces = unpacked(FURTHER / name, tmp_path)
    graphs = [ss.load(path) for path in traces]
    assert (graphs[0].report.facts["calls"], graphs[0].n_tasks, graphs[0].n_edges) == TRACES[name]
    # The ranks of one run do the same.
    assert len({(*graph.kinds,) for graph in graphs}) == 1
    assert all(np.isnan(graph.durations_s).all() for graph in graphs)


@pytest.mark.parametrize("name", DEVICES)
def test_devices(name):
    graph = ss.load(FURTHER / "pytorch-public" / name, devices=True)
    facts = graph.report.facts
    assert (facts["host_parts"], facts["kernels"], graph.n_edges) == DEVICES[name]
    assert (facts["impossible_edges"], facts["early_starts"], facts["kernels_without_launch"]) == (0, 0, 0)
