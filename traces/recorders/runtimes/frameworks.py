"""Recording the programs under frameworks: ONNX Runtime's executors and PyTorch's inter-op pool."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from json import loads
from pathlib import Path
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.loading import load
from simsched.traces.recorders.runtimes.networks import NETWORKS
from simsched.traces.recorders.runtimes.nodes import expressible

#: Start and finish, in nanoseconds, and worker of each task.
Times = npt.NDArray[np.int64]
RECORDERS = "simsched.traces.recorders"
_NUMBER = re.compile(r"task\[(\d+)\]", re.ASCII)


@dataclass(frozen=True)
class Framework:
    """How a framework runs the programs, and how its recordings are read.

    Parameters
    ----------
    packages : tuple of str
        What must be installed.
    recorder : str
        Module of `simsched.traces.recorders` that records, as a script.
    policy : str
        What replays take for it.
    programs : tuple of str
        Names among `NETWORKS`.
    arguments : callable
        Returns the recorder's arguments for a program on a number of workers.
    read : callable
        Returns the graph, and untraced seconds, of the recording whose names start with a prefix.
    most : int, optional
        Largest number of workers.
    """

    packages: tuple[str, ...]
    recorder: str
    policy: str
    programs: tuple[str, ...]
    arguments: Callable[[str, int], list[str]]
    read: Callable[[str], tuple[TaskGraph, float]]
    most: int | None = None

    @property
    def missing(self) -> list[str]:
        """Packages that are not installed."""
        return [name for name in self.packages if find_spec(name) is None]

    def command(self, program: str, workers: int, out: Path, realtime: bool) -> list[str]:
        """Return the command that records a program, in a process of its own."""
        options = ["--out", str(out), *(["--realtime"] if realtime else [])]
        return [
            sys.executable, "-m", f"{RECORDERS}.{self.recorder}", *self.arguments(program, workers), *options
        ]  # fmt: skip

    def times(self, program: str, workers: int, out: Path) -> tuple[Times, float]:
        """Return the times of all tasks of a recording, and its untraced seconds.

        Raises
        ------
        SimschedError
            If a task is missing, or more workers ran tasks than there were.
        """
        graph, untraced_s = self.read(str(out))
        return times(graph, len(NETWORKS[program]().program.kinds), workers), untraced_s


def times(graph: TaskGraph, tasks: int, workers: int) -> Times:
    """Return start and finish, in nanoseconds, and worker of each task of a program from a recording of its operators.

    Operators of a task are called, or in a scope, `task[number]`; it takes from the start of the first to the end of
    the last.

    Raises
    ------
    SimschedError
        If a task is missing, or more workers ran tasks than there were.

    Examples
    --------
    >>> import numpy as np
    >>> from simsched.graph import Recording
    >>> run = Recording(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.zeros(3, np.int32), ("a",))
    >>> graph = TaskGraph.from_edges([1.0] * 3, names=["task[1]", "task[0]", "task[0].t"], recording=run)
    >>> times(graph, 2, 1).tolist()
    [[1000000000, 3000000000, 0], [0, 1000000000, 0]]
    """
    run = graph.recording
    if run is None or len(run.lane_names) > workers:
        lanes = 0 if run is None else len(run.lane_names)
        raise SimschedError(f"{graph.name}: {lanes} threads ran tasks, expected 1 to {workers}")
    found = np.full((tasks, 3), (2**62, -1, -1), np.int64)
    starts, finishes = (np.rint(column * 1e9).astype(np.int64) for column in (run.start_s, run.finish_s))
    for row, scope in enumerate(graph.scopes.to_list()):
        name = "" if graph.names is None else graph.names[row]
        number = _NUMBER.search(scope) or _NUMBER.search(name)
        if number is None or int(number[1]) >= tasks:
            raise SimschedError(f"{graph.name}: {name!r:.60} belongs to no task of the program")
        one = found[int(number[1])]
        one[:] = min(one[0], starts[row]), max(one[1], finishes[row]), run.lanes[row]
    absent = np.flatnonzero(found[:, 1] < 0)
    if len(absent):
        raise SimschedError(f"{graph.name}: task {absent[0]} of the program was not recorded")
    return found


def _of_onnxruntime(out: str) -> tuple[TaskGraph, float]:
    graph = load(f"{out}.ortprof.json.gz", model=f"{out}.optimized.onnx.gz")
    return graph, float(loads(Path(f"{out}.timing.json").read_text("utf-8"))["untraced_s"]["median"])


def _of_pytorch(out: str) -> tuple[TaskGraph, float]:
    graph = load(f"{out}.kineto.json.gz")
    return graph, float(graph.report.facts["untraced_step_s"])


_ONNX = tuple(name for name, network in NETWORKS.items() if expressible(network()))
_OF_ONNX = (("onnxruntime", "onnx"), "record_onnxruntime", "runtime[system=onnxruntime]", _ONNX)
#: Frameworks by name.
FRAMEWORKS: Mapping[str, Framework] = MappingProxyType({
    "onnxruntime-sequential": Framework(
        *_OF_ONNX, lambda program, _: ["--model", program, "--workers", "0"], _of_onnxruntime, most=1
    ),
    "onnxruntime-parallel": Framework(
        *_OF_ONNX, lambda program, workers: ["--model", program, "--workers", str(workers)], _of_onnxruntime
    ),
    "pytorch-interop": Framework(
        ("torch",), "record_pytorch", "runtime[system=pytorch-interop]", tuple(NETWORKS),
        lambda program, workers: [
            "--model", f"forked-{program}", "--inter-op", str(workers), "--captures", "1", "--times-only"
        ],
        _of_pytorch,
    ),
})  # fmt: skip


def missing(runtimes: Sequence[str]) -> list[str]:
    """Return what to install for the frameworks among some runtimes.

    Examples
    --------
    >>> missing(["gnu-openmp"])
    []
    """
    wanted = dict.fromkeys(
        package for name in runtimes if name in FRAMEWORKS for package in FRAMEWORKS[name].missing
    )
    return list(wanted)
