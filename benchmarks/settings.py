"""Settings of real recordings: those of ../shared/samples, and those of the project (`docs/learning/`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import simsched as ss
from simsched.learning.observed import Observed
from simsched.learning.predicting import Case
from simsched.policy import Layout
from simsched.traces.recorders.runtimes import load
from simsched.traces.recorders.runtimes.record import KNOWN

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT.parent / "shared" / "samples"
OWN = ROOT / "docs" / "learning"


@dataclass(frozen=True)
class Recorded:
    """A recording of a setting; several may be of the same.

    Parameters
    ----------
    name : str
        Of the setting: runtime, program, size.
    runtime : str
        For statistics.
    policy : str
        What replays take for the runtime's scheduler.
    graph : TaskGraph
    """

    name: str
    runtime: str
    policy: str
    graph: ss.TaskGraph

    @property
    def makespan_s(self) -> float:
        """The recorded makespan."""
        return Observed(self.graph, self.name).makespan_s

    @property
    def workers(self) -> int:
        """Workers that ran tasks."""
        return Observed(self.graph, self.name).lanes

    def case(self, learned: ss.Learned, graph: ss.TaskGraph) -> Case:
        """Return the prediction of this setting from another recording's graph."""
        own = Observed(self.graph, self.name)
        layout, program = Layout(own.lanes, own.width), learned.program_of(graph)
        return Case(graph, program, self.policy, layout, layout.cores, waiting=own.waiting)


def of_samples(samples: Path = SAMPLES) -> Iterator[Recorded]:
    """Yield the recordings of a folder of samples."""
    for setting, system in (("eager.1cpu", "eager"), ("eager.2cpu", "eager"), ("prio.2cpu", "prio")):
        graph = ss.load(samples / f"starpu/chol_n10_b256.{setting}.tasks.rec.gz")
        yield Recorded(f"StarPU {setting}", "StarPU", f"runtime[system=starpu-{system}]", graph)
    for setting in ("1w", "2w"):
        graph = ss.load(samples / f"ompss/nanox_chol_nb10_b192.bf.{setting}.prv.gz")
        yield Recorded(f"Nanos++ bf {setting}", "Nanos++", "runtime[system=nanos-bf]", graph)
    for setting in ("inter1", "inter2"):
        graph = ss.load(samples / f"tensorflow/lstm4.{setting}_intra1.runmetadata.pb.gz")
        yield Recorded(f"TensorFlow {setting}", "TensorFlow", "runtime[system=tensorflow]", graph)
    yield from _of_onnxruntime(samples)
    for threads in (1, 2):
        stem = samples / "pytorch" / f"inception_t{threads}"
        graph = ss.load(f"{stem}.kineto.json.gz", execution_trace=f"{stem}.et.json.gz")
        # PyTorch's traces do not say on how many threads an op ran.
        facts = {**graph.report.facts, "intra_op_threads": threads}
        graph = replace(graph, report=replace(graph.report, facts=facts))
        yield Recorded(f"PyTorch inception t{threads}", "PyTorch", "fifo", graph)


def _of_onnxruntime(samples: Path) -> Iterator[Recorded]:
    for model in ("inception", "lstm4_unrolled"):
        for setting in ("t1", "t2", "par2x1", "par3x1"):
            stem = samples / "onnx" / f"{model}.{setting}"
            for run in (1, 2):  # the first run warms up
                graph = ss.load(f"{stem}.ortprof.json.gz", model=f"{stem}.optimized.zeroed.onnx.gz", run=run)
                name = f"ONNX Runtime {model} {setting}"
                # The policy has workers of one thread.
                policy = "fifo" if setting == "t2" else "runtime[system=onnxruntime]"
                yield Recorded(name, "ONNX Runtime", policy, graph)


def of_project() -> Iterator[Recorded]:
    """Yield the recordings of the project: six programs under the runtimes of one host."""
    yield from _loaded(OWN)


def of_second_host() -> Iterator[Recorded]:
    """Yield the same programs on another host, recorded after the rules of `ss.learn` had been made."""
    yield from _loaded(OWN / "second_host")


def of_sixteen_cores() -> Iterator[Recorded]:
    """Yield the same programs on 1 to 16 workers of a third host, recorded after the rules of predictions were made."""
    yield from _loaded(OWN / "sixteen_cores")
    yield from _loaded(OWN / "sixteen_cores" / "starpu")


def of_schedulers(host: Path = OWN) -> Iterator[Recorded]:
    """Yield further recordings of a host: nine of each of StarPU's schedulers, on two or four workers."""
    yield from _loaded(host / "schedulers")


def of_frameworks(framework: str, folder: Path = OWN / "frameworks") -> Iterator[Recorded]:
    """Yield the programs as operators of `onnxruntime` or `pytorch`, each with its own library of kernels."""
    yield from (one for one in _loaded(folder) if one.runtime.startswith(framework))


def _loaded(folder: Path) -> Iterator[Recorded]:
    for run in load(folder):
        name = f"{run.runtime} {run.program} {run.workers}"
        yield Recorded(name, run.runtime, KNOWN[run.runtime].policy, run.graph)
