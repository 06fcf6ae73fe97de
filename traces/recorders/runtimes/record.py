"""Building and running the programs, and a description of each run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

from simsched.errors import SimschedError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.parameters import is_whole
from simsched.traces.recorders.runtimes.frameworks import FRAMEWORKS, Framework, missing
from simsched.traces.recorders.runtimes.networks import NETWORKS, Program
from simsched.traces.recorders.runtimes.programs import PROGRAMS
from simsched.traces.shared.libraries import cpu_model

SOURCE = Path(__file__).with_name("tasks.cc")
#: Longest time of one call, in seconds.
LIMIT_S = 300
#: How `tasks.cc` ends where its runtime has fewer workers than it was asked for.
FEWER = 5


class FewerWorkersError(SimschedError):
    """A runtime has fewer workers than it was asked for."""


@dataclass(frozen=True)
class Build:
    """How `tasks.cc` is built and run for a runtime.

    Parameters
    ----------
    compile, link : tuple of str
        Options of the compiler, and of the linker.
    package : str
        Package of pkg-config that has further options; "" for none.
    environment : mapping of str
    policy : str
        What replays take for it.
    """

    compile: tuple[str, ...]
    link: tuple[str, ...] = ()
    package: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""


def _starpu(policy: str) -> Build:
    environment = {"STARPU_SCHED": policy, "STARPU_SILENT": "1"}
    return Build(("-DUSE_STARPU",), (), "starpu-1.3", environment, f"runtime[system=starpu-{policy}]")


_OPENMP = ("-DUSE_OPENMP", "-fopenmp")
#: Runtimes that `tasks.cc` is built for, by name.
RUNTIMES = {
    "gnu-openmp": Build(_OPENMP, ("-fopenmp",), policy="runtime[system=gnu-openmp]"),
    "llvm-openmp": Build(_OPENMP, ("-l:libomp.so.5",), policy="runtime[system=llvm-openmp]"),
    "onetbb": Build(("-DUSE_TBB",), ("-ltbb",), policy="runtime[system=onetbb]"),
    # Headers alone: Taskflow 3, found where the compiler looks (CPATH).
    "taskflow": Build(("-DUSE_TASKFLOW", "-pthread"), ("-pthread",), policy="runtime[system=taskflow]"),
    "starpu-eager": _starpu("eager"),
    "starpu-prio": _starpu("prio"),
    "starpu-lws": _starpu("lws"),
}
#: These and the frameworks.
KNOWN: Mapping[str, Build | Framework] = {**RUNTIMES, **FRAMEWORKS}
#: Names of all programs.
NAMES = tuple(dict.fromkeys([*PROGRAMS, *NETWORKS]))


def program_of(runtime: str, name: str) -> Program:
    """Return a program as a runtime runs it: frameworks have operators in place of tasks.

    Examples
    --------
    >>> len(program_of("gnu-openmp", "lstm").kinds), len(program_of("pytorch-interop", "lstm").kinds)
    (128, 64)
    """
    return NETWORKS[name]().program if runtime in FRAMEWORKS else PROGRAMS[name]()


@dataclass(frozen=True)
class Run:
    """A recorded run.

    Parameters
    ----------
    program, runtime : str
    workers, run : int
    graph : TaskGraph
        With its recording; `untraced_s` in its report is that of the run before, without clocks.
    """

    program: str
    runtime: str
    workers: int
    run: int
    graph: TaskGraph

    @property
    def name(self) -> str:
        """Name of its file, without suffix."""
        return f"{self.program}.{self.runtime}.{self.workers}w.{self.run}"

    @property
    def makespan_s(self) -> float:
        """Seconds from the first start to the last finish."""
        found = self.graph.recording
        return 0.0 if found is None else float(found.finish_s.max(initial=0.0))


def _run(
    command: Sequence[str], text: str | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Return what a program of the host, or one that was built here, wrote; never through a shell."""
    try:
        return subprocess.run(  # noqa: S603 - arguments are ours, or names of the tables above
            command, input=text, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
    except FileNotFoundError:
        return subprocess.CompletedProcess(list(command), 127, "", f"{command[0]} is not installed")
    except subprocess.TimeoutExpired:
        raise SimschedError(f"{Path(command[0]).name} took more than {LIMIT_S} s") from None


def _built(build: Build, folder: Path, name: str) -> Path | None:
    """Return the program for a runtime; None where that is not installed."""
    program, unit, options = folder / name, folder / f"{name}.o", list[str]()
    if build.package:
        asked = _run(["pkg-config", "--cflags", "--libs", build.package])
        if asked.returncode:
            return None
        options = asked.stdout.split()
    optimised = ["-O3", "-march=native", "-std=c++17", *build.compile]
    # Linked by itself: with its option, GCC would link its own OpenMP.
    steps = (
        ["g++", *optimised, "-c", str(SOURCE), "-o", str(unit), *options],
        ["g++", str(unit), "-o", str(program), *build.link, *options],
    )
    return program if all(_run(step).returncode == 0 for step in steps) else None


def installed(folder: Path, runtimes: Sequence[str] = tuple(RUNTIMES)) -> dict[str, Path]:
    """Return the programs of those runtimes that are installed, built in a folder.

    Raises
    ------
    SimschedError
        If there is no g++.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     set(installed(Path(folder), ["gnu-openmp"])) <= {"gnu-openmp"}
    True
    """
    if runtimes and shutil.which("g++") is None:
        raise SimschedError("there is no g++ to build the recorder with; install it (Debian: g++)")
    found = {name: _built(RUNTIMES[name], folder, name) for name in runtimes}
    return {name: program for name, program in found.items() if program is not None}


@dataclass(frozen=True)
class _Program:
    """A program under a runtime, ready to run."""

    graph: Program
    build: Build
    path: Path
    realtime: bool

    def lines(self, workers: int, traced: bool) -> list[str]:
        environment = {**os.environ, **self.build.environment, "OMP_NUM_THREADS": str(workers)}
        numbers = [str(int(number)) for number in (workers, 1, traced, self.realtime)]
        done = _run([str(self.path), *numbers], self.graph.text(), environment)
        if done.returncode == FEWER:
            raise FewerWorkersError(f"{self.path.name} on {workers} workers is left out: {done.stderr[:300]}")
        if done.returncode:
            raise SimschedError(
                f"{self.path.name} on {workers} workers ended with {done.returncode}: {done.stderr[:300]!r}"
            )
        return done.stdout.splitlines()

    def recorded(self, name: str, workers: int) -> TaskGraph:
        untraced_s = int(self.lines(workers, traced=False)[0]) / 1e9
        rows = [line.split() for line in self.lines(workers, traced=True)[1:]]
        return recorded(self.graph, name, np.array(rows, np.int64).reshape(-1, 3), untraced_s, workers)


def _of_runtime(build: Build, path: Path, realtime: bool, name: str, workers: int) -> TaskGraph:
    """Return a program's graph with a recording under a runtime."""
    return _Program(PROGRAMS[name](), build, path, realtime).recorded(name, workers)


def _of_framework(framework: Framework, realtime: bool, name: str, workers: int) -> TaskGraph:
    """Return a program's graph with a recording under a framework."""
    with tempfile.TemporaryDirectory() as folder:
        done = _run(framework.command(name, workers, Path(folder) / name, realtime))
        if done.returncode:
            raise SimschedError(
                f"{framework.recorder} of {name} on {workers} workers ended with {done.returncode}: "
                f"{done.stderr[-300:]!r}"
            )
        times, untraced_s = framework.times(name, workers, Path(folder) / name)
    return recorded(NETWORKS[name]().program, name, times, untraced_s, workers, ranked=False)


def recorded(
    program: Program,
    name: str,
    times: npt.NDArray[np.int64],
    untraced_s: float,
    workers: int,
    *,
    ranked: bool = True,
) -> TaskGraph:
    """Return a program's graph with a recording: a row of start, finish (in nanoseconds) and worker per task.

    A worker that ran nothing has a lane, too: it was there. `ranked` tells whether the runtime was given priorities.
    """
    first_ns = int(times[:, 0].min(initial=2**62))
    start_s, finish_s = (times[:, :2] - first_ns).T / 1e9
    report = ImportReport(name, "simsched", facts={"untraced_s": untraced_s, "machine": cpu_model()})
    lanes, names = times[:, 2].astype(np.int32), tuple(f"worker {worker}" for worker in range(workers))
    priorities = np.array(program.priorities(), np.float64) if ranked else None
    run = Recording(start_s, finish_s, lanes, names, priorities)
    return TaskGraph.from_edges(
        finish_s - start_s, program.edges, kinds=program.kinds, name=name, report=report, recording=run
    )


def record(
    workers: Sequence[int],
    repeats: int = 3,
    programs: Sequence[str] = NAMES,
    runtimes: Sequence[str] = tuple(KNOWN),
    *,
    realtime: bool = False,
) -> Iterator[Run]:
    """Yield recorded runs of programs under those of some runtimes that are installed.

    Each run is a process of its own, which runs the program once before. Settings take turns, so that what changes on
    the host meanwhile, and how pages of memory lie, differs between the runs of a setting rather than between settings.

    Parameters
    ----------
    workers : sequence of int
        Numbers of workers.
    repeats : int
        Recorded runs of each setting; one without clocks goes before each.
    programs, runtimes : sequence of str
        Names among `NAMES` and `KNOWN`; programs that a runtime does not have, and runtimes that are not installed,
        are left out. So are, with a warning, numbers of workers that a runtime does not have: StarPU has a largest one.
    realtime : bool
        Whether nothing of normal priority interrupts the runs (SCHED_FIFO, which needs CAP_SYS_NICE): recordings of a
        host that does other things, too, then show the programs alone.

    Raises
    ------
    SimschedError
        If a name or number is impossible, a program fails, no runtime is installed, or there is no compiler.

    Examples
    --------
    >>> [run.name for run in record([1], 1, ["lu"], ["gnu-openmp"])]
    ['lu.gnu-openmp.1w.0']
    """
    for what, names, known in (("program", programs, NAMES), ("runtime", runtimes, tuple(KNOWN))):
        for name in names:
            if name not in known:
                raise SimschedError(f"no {what} is called {name!r:.60}; there are {', '.join(known)}")
    for count in (*workers, repeats):
        if not is_whole(count, 1):
            raise SimschedError(f"workers and repeats: {count!r:.60}; expected whole numbers from 1")
    cores = len(os.sched_getaffinity(0))
    if realtime and max(workers, default=1) > cores:
        raise SimschedError(
            f"{max(workers)} workers in real time would block {cores} cores; give at most {cores}"
        )
    with tempfile.TemporaryDirectory() as folder:
        run_of, fewer = _ready(Path(folder), runtimes, realtime), set[tuple[str, int]]()
        for run, name, runtime, count in product(range(repeats), programs, run_of, workers):
            if not has(runtime, name, count) or (runtime, count) in fewer:
                continue
            try:
                graph = run_of[runtime](name, count)
            except FewerWorkersError as error:
                fewer.add((runtime, count))
                warnings.warn(str(error), RuntimeWarning, 2)
            else:
                yield Run(name, runtime, count, run, graph)


def has(runtime: str, name: str, workers: int) -> bool:
    """Return whether a runtime has a program, and as many workers."""
    if (framework := FRAMEWORKS.get(runtime)) is None:
        return name in PROGRAMS
    return name in framework.programs and workers <= (framework.most or workers)


def _ready(
    folder: Path, runtimes: Sequence[str], realtime: bool
) -> dict[str, Callable[[str, int], TaskGraph]]:
    """Return what records a program on a number of workers, by runtime that is installed."""
    built = installed(folder, [name for name in runtimes if name in RUNTIMES])
    found: dict[str, Callable[[str, int], TaskGraph]] = {}
    for name in runtimes:
        if name in built:
            found[name] = partial(_of_runtime, RUNTIMES[name], built[name], realtime)
        elif name in FRAMEWORKS and not FRAMEWORKS[name].missing:
            found[name] = partial(_of_framework, FRAMEWORKS[name], realtime)
    if runtimes and not found:
        install = missing(runtimes)
        advice = f"; pip install {' '.join(install)}" if install else ""
        raise SimschedError(f"none of {', '.join(runtimes)} is installed{advice}")
    return found
