"""Recordings that `recorded.py` replays: the bundled ones, and those of a folder of further samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import simsched as ss
from simsched.traces.samples import SAMPLES, sample_files

ROOT = Path(__file__).resolve().parents[1]
#: PyTorch recordings hold one step each; these networks are alike.
ALIKE = {
    "cnn": "branches",
    "branches_t1": "branches",
    "inception_t1": "inception",
    "inception_t2": "inception",
}
#: A thread takes what it made ready last: pools after Eigen's, and Dask's order of tasks (docs/recorded.md).
LAST_FIRST = "fifo[order=lifo]"


@dataclass(frozen=True)
class Recorded:
    """A recording, what it is alike, and how it was scheduled.

    Parameters
    ----------
    name, group : str
        Recordings of one group are alike.
    graph : TaskGraph
        With a recording.
    policy : str, optional
        Nearest to the one that produced it, on as many executors as it has lanes; its own order where none is.
    runtime : str
        One of `GOALS`, or empty where no error is asked for.
    """

    name: str
    group: str
    graph: ss.TaskGraph
    policy: str | None = None
    runtime: str = ""

    def others(self, every: list[Recorded]) -> list[ss.TaskGraph]:
        """Return what else is alike."""
        return [other.graph for other in every if other.group == self.group and other is not self]


#: Largest error of a replay beside the recorded span.
GOALS = {"Nanos++": 0.03, "StarPU eager": 0.03, "TensorFlow": 0.07, "ONNX Runtime": 0.07}
#: File, name, group, policy, runtime. Two files of one run are of two groups.
FILES = (
    ("starpu/chol_n10_b256.eager.1cpu.tasks.rec.gz", "StarPU eager 1 CPU", "StarPU", "fifo", "StarPU eager"),
    ("starpu/chol_n10_b256.eager.2cpu.tasks.rec.gz", "StarPU eager 2 CPU", "StarPU", "fifo", "StarPU eager"),
    ("starpu/chol_n10_b256.prio.2cpu.tasks.rec.gz", "StarPU prio 2 CPU", "StarPU", "critical-path", ""),
    ("ompss/nanox_chol_nb10_b192.bf.1w.prv.gz", "Nanos++ bf 1 worker", "Nanos++", "fifo", "Nanos++"),
    ("ompss/nanox_chol_nb10_b192.bf.2w.prv.gz", "Nanos++ bf 2 workers", "Nanos++", "fifo", "Nanos++"),
    ("tensorflow/lstm4.inter1_intra1.runmetadata.pb.gz", "TensorFlow inter 1", "TF", LAST_FIRST, "TensorFlow"),
    ("tensorflow/lstm4.inter2_intra1.runmetadata.pb.gz", "TensorFlow inter 2", "TF", LAST_FIRST, "TensorFlow"),
    ("tensorflow/lstm4.inter1_intra1.timeline.json.gz", "timeline inter 1", "timeline", LAST_FIRST, "TensorFlow"),
    ("tensorflow/lstm4.inter2_intra1.timeline.json.gz", "timeline inter 2", "timeline", LAST_FIRST, "TensorFlow"),
    ("ompt/omp_cholesky_nb10_b192_t1.jsonl.gz", "OMPT 1 thread", "OMPT", "fifo", ""),
    ("dask/cholesky.task_stream.json.gz", "Dask 2 threads", "Dask", LAST_FIRST, ""),
)  # fmt: skip


def recordings(folder: Path) -> Iterator[Recorded]:
    """Yield the bundled recordings, and what a folder of samples holds."""
    yield from _pytorch(folder)
    own = ss.load(ROOT / "tests/traces/ompt/cholesky.jsonl.gz")
    yield Recorded("bundled OMPT 2 threads", "bundled OMPT", own, "fifo")
    for path, name, group, policy, runtime in FILES:
        if (folder / path).exists():
            yield Recorded(name, group, ss.load(folder / path), policy, runtime)
    yield from _onnxruntime(folder)


def _pytorch(folder: Path) -> Iterator[Recorded]:
    files = {f"bundled {name}": sample_files(name) for name in SAMPLES}
    for kineto in sorted(folder.glob("pytorch/*.kineto.json.gz")):
        trace = kineto.with_name(kineto.name.replace(".kineto.", ".et."))
        files[kineto.name.removesuffix(".kineto.json.gz")] = (kineto, trace)
    for name, (kineto, trace) in files.items():
        key = name.removeprefix("bundled ")
        graph = ss.load(kineto, execution_trace=trace)
        yield Recorded(f"PyTorch {name}", f"PyTorch {ALIKE.get(key, key.removesuffix('_t1'))}", graph)


def _onnxruntime(folder: Path) -> Iterator[Recorded]:
    """Yield every run of the profiles of a folder."""
    for profile in sorted(folder.glob("onnx/*.ortprof.json.gz")):
        name = profile.name.removesuffix(".ortprof.json.gz")
        model = profile.with_name(f"{name}.optimized.zeroed.onnx.gz")
        runs = int(ss.load(profile, model=model).report.facts["runs"])
        for run in range(runs):
            graph = ss.load(profile, model=model, run=run)
            yield Recorded(f"ONNX {name} run {run}", f"ONNX {name}", graph, LAST_FIRST, "ONNX Runtime")
