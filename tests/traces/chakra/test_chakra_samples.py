"""Real Chakra traces, where the shared samples stand beside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from tarballs import unpack

import simsched as ss

SAMPLES = Path(__file__).resolve().parents[3].parent / "shared" / "samples" / "chakra"
if not SAMPLES.is_dir():
    pytest.skip("the shared samples are not here", allow_module_level=True)


@pytest.mark.parametrize(("name", "work_s"), [("cpu-only.et", 0.142114), ("linked.json.gz", 0.143035)])
def test_both_forms_depend_as_the_two_files_of_pytorch(name, work_s):
    graph = ss.load(SAMPLES / f"inception_t1.{name}")
    folder = SAMPLES.parent / "pytorch"
    both = ss.load(folder / "inception_t1.kineto.json.gz", execution_trace=folder / "inception_t1.et.json.gz")
    assert graph.kinds.to_list() == both.kinds.to_list()
    for ours, theirs in zip(arrays(graph), arrays(both), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert graph.work_s == pytest.approx(work_s, abs=1e-6)
    # Microseconds are cut off, of thousands of calls.
    assert graph.work_s == pytest.approx(both.work_s, rel=0.01)


def arrays(graph):
    return graph.successors.sources(), graph.successors.indices


def test_data_deps_of_one_thread_are_a_chain():
    graph = ss.load(SAMPLES / "inception_t1.cpu-only.et", data_deps=True)
    assert (graph.n_tasks, graph.n_edges) == (2166, 2165)
    assert graph.average_parallelism == pytest.approx(1)
    assert any("one chain" in note for note in graph.report.notes)


def test_a_trace_of_a_gpu_with_collectives(tmp_path):
    unpack(SAMPLES / "chakra-repo_feeder_tests_trace.tar.gz", tmp_path)
    (path,) = tmp_path.rglob("*.et")
    graph = ss.load(path)
    assert (graph.n_tasks, graph.report.facts["kernels"], graph.report.facts["cut_operators"]) == (
        2386,
        1216,
        1216,
    )
    assert any(note.endswith("as the file does not say when it ran") for note in graph.report.notes)
    assert {"all_reduce", "broadcast"} <= set(graph.kinds.to_list())
    as_written = ss.load(path, data_deps=True)
    assert (as_written.n_tasks, as_written.n_edges) == (3664, 181878)
    assert as_written.work_s == pytest.approx(0.3818, abs=1e-4)
    assert as_written.critical_path_s == pytest.approx(0.0461, abs=1e-4)
