"""Recorded runs of runtimes, replayed under the policy nearest to their own."""

from pathlib import Path

import numpy as np
import pytest

import simsched as ss

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT / "../shared/samples"
shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared samples are not here")


def test_the_recording_of_our_own_tool():
    """Its 56 tasks take a third of what two threads had: most of the span is gaps, three of them of milliseconds."""
    graph = ss.load(ROOT / "tests/traces/ompt/cholesky.jsonl.gz")
    replayed = ss.replay_recorded(graph, "fifo")
    recorded = replayed.recorded
    assert replayed.plain.n_cores == recorded.n_cores == 2
    assert recorded.alone_s.sum() < 0.2 * recorded.makespan_s * recorded.n_cores
    assert replayed.gaps.seconds.sum() > 0.6 * recorded.makespan_s * recorded.n_cores
    assert replayed.plain_error < -0.8
    assert abs(replayed.calibrated_error) < abs(replayed.plain_error)


@shared
@pytest.mark.parametrize(
    ("path", "policy", "most"),
    [
        ("ompss/nanox_chol_nb10_b192.bf.1w.prv.gz", "fifo", 0.001),
        ("ompss/nanox_chol_nb10_b192.bf.2w.prv.gz", "fifo", 0.03),
        ("starpu/chol_n10_b256.eager.1cpu.tasks.rec.gz", "fifo", 0.001),
        ("starpu/chol_n10_b256.eager.2cpu.tasks.rec.gz", "fifo", 0.03),
        ("starpu/chol_n10_b256.prio.2cpu.tasks.rec.gz", "critical-path", 0.03),
        ("tensorflow/lstm4.inter1_intra1.runmetadata.pb.gz", "fifo[order=lifo]", 0.001),
        ("ompt/omp_cholesky_nb10_b192_t1.jsonl.gz", "fifo", 0.001),
        ("dask/cholesky.task_stream.json.gz", "fifo[order=lifo]", 0.04),
    ],
)
def test_the_recorded_span_is_replayed(path, policy, most):
    replayed = ss.replay_recorded(ss.load(SHARED / path), policy)
    assert replayed.plain_error < 0
    assert abs(replayed.calibrated_error) <= most


@shared
@pytest.mark.parametrize(
    ("path", "options", "policy", "usual"),
    [
        ("tensorflow/lstm4.inter2_intra1.runmetadata.pb.gz", {}, "fifo[order=lifo]", -0.075),
        ("tensorflow/lstm4.inter2_intra1.timeline.json.gz", {}, "fifo[order=lifo]", -0.083),
        ("ompss/nanox_chol_nb10_b192.bf.2w.prv.gz", {}, "fifo", -0.029),
        (
            "onnx/lstm4_unrolled.par2x1.ortprof.json.gz",
            {"model": SHARED / "onnx/lstm4_unrolled.par2x1.optimized.zeroed.onnx.gz", "run": 1},
            "fifo[order=lifo]",
            -0.156,
        ),
    ],
)
def test_interruptions_are_what_is_missing(path, options, policy, usual):
    """Executors away while tasks were ready; counted where they were, the recorded span comes out."""
    graph = ss.load(SHARED / path, **options)
    assert ss.replay_recorded(graph, policy).calibrated_error == pytest.approx(usual, abs=1e-3)
    assert abs(ss.replay_recorded(graph, policy, interruptions=True).calibrated_error) < 0.01


def kept(graph, policy):
    """Return the share of tasks that the replay starts right after the task they followed in the recording."""
    place = np.argsort(ss.replay_recorded(graph, policy).plain.start_order)
    return np.mean(np.diff(place[graph.recorded.start_order]) == 1)


@shared
def test_last_made_ready_runs_first_in_tensorflow_and_onnx_runtime():
    """One thread each: its order tells its queue. Cheap nodes inline (8,000 cycles of 2 to 3 GHz) say less."""
    step = ss.load(SHARED / "tensorflow/lstm4.inter1_intra1.runmetadata.pb.gz")
    assert kept(step, "fifo[order=lifo]") > 0.98
    assert kept(step, "fifo[order=lifo,small_s=3e-06]") < 0.7
    assert kept(step, "fifo") < 0.4
    for name in ("inception.t1", "lstm4_unrolled.par2x1"):
        model = SHARED / f"onnx/{name}.optimized.zeroed.onnx.gz"
        run = ss.load(SHARED / f"onnx/{name}.ortprof.json.gz", model=model)
        assert kept(run, "fifo[order=lifo]") == 1
        assert kept(run, "fifo") < 0.3
