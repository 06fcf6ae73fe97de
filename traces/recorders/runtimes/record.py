"""Compiling and running the programs, and what each run was."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

from simsched.errors import SimschedError
from simsched.graph import ImportReport, Recording, TaskGraph
from simsched.parameters import is_whole
from simsched.traces.recorders.runtimes.programs import PROGRAMS, Program
from simsched.traces.shared.libraries import cpu_model

SOURCE = Path(__file__).with_name("tasks.cc")
#: Longest time of one call, in seconds.
LIMIT_S = 300


@dataclass(frozen=True)
class Build:
    """How `tasks.cc` is built for a runtime.

    Parameters
    ----------
    compile, link : tuple of str
        Options of the compiler, and of the linker.
    package : str
        Package of pkg-config that has further options; "" for none.
    environment : mapping of str
    policy : str
        What replays take for it: `simsched.policies.runtime`.
    """

    compile: tuple[str, ...]
    link: tuple[str, ...]
    package: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""


#: Runtimes by name.
RUNTIMES = {
    "gnu-openmp": Build(("-DUSE_OPENMP", "-fopenmp"), ("-fopenmp",), policy="runtime[system=gnu-openmp]"),
    "llvm-openmp": Build(
        ("-DUSE_OPENMP", "-fopenmp"), ("-l:libomp.so.5",), policy="runtime[system=llvm-openmp]"
    ),
    "onetbb": Build(("-DUSE_TBB",), ("-ltbb",), policy="runtime[system=onetbb]"),
    "starpu-eager": Build(
        ("-DUSE_STARPU",), (), "starpu-1.3", {"STARPU_SCHED": "eager", "STARPU_SILENT": "1"},
        "runtime[system=starpu-eager]",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Run:
    """A recorded run.

    Parameters
    ----------
    program, runtime : str
    workers, run : int
    graph : TaskGraph
        With its recording; `untraced_s` in its report is the median of runs without clocks.
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


def _command(build: Build, source: Path, program: Path) -> list[str]:
    found: list[str] = []
    if build.package:
        asked = _run(["pkg-config", "--cflags", "--libs", build.package])
        found = asked.stdout.split() if asked.returncode == 0 else ["-lmissing"]
    parts = ["-O3", "-march=native", "-std=c++17", *build.compile, str(source), "-o", str(program)]
    return ["g++", *parts, *build.link, *found]


def _built(build: Build, folder: Path, name: str) -> Path | None:
    """Return the program for a runtime; None where that is not installed."""
    program, unit = folder / name, folder / f"{name}.o"
    if build.link == ("-l:libomp.so.5",):
        # GCC's option would link its own runtime.
        parts = [
            "g++",
            "-O3",
            "-march=native",
            "-std=c++17",
            *build.compile,
            "-c",
            str(SOURCE),
            "-o",
            str(unit),
        ]
        commands = [parts, ["g++", str(unit), "-o", str(program), *build.link]]
    else:
        commands = [_command(build, SOURCE, program)]
    done = all(_run(one).returncode == 0 for one in commands)
    return program if done else None


def installed(folder: Path, runtimes: Sequence[str] = tuple(RUNTIMES)) -> dict[str, Path]:
    """Return the programs of those runtimes that are installed, built in a folder.

    Raises
    ------
    SimschedError
        If there is no g++.
    """
    if shutil.which("g++") is None:
        raise SimschedError("there is no g++ to build the recorder with; install it (Debian: g++)")
    found = {name: _built(RUNTIMES[name], folder, name) for name in runtimes}
    return {name: program for name, program in found.items() if program is not None}


def _called(program: Path, build: Build, text: str, workers: int, repeats: int, traced: bool) -> list[str]:
    environment = {**os.environ, **build.environment, "OMP_NUM_THREADS": str(workers)}
    done = _run([str(program), str(workers), str(repeats), str(int(traced))], text, environment)
    if done.returncode:
        raise SimschedError(
            f"{program.name} on {workers} workers ended with {done.returncode}: {done.stderr[:300]}"
        )
    return done.stdout.splitlines()


def _graph(program: Program, name: str, rows: Sequence[str], untraced_s: float) -> TaskGraph:
    times = np.array([row.split() for row in rows], np.int64).reshape(-1, 3)
    first_ns = int(times[:, 0].min(initial=2**62))
    names, lanes = np.unique(times[:, 2], return_inverse=True)
    start_s, finish_s = (times[:, :2] - first_ns).T / 1e9
    report = ImportReport(name, "simsched", facts={"untraced_s": untraced_s, "machine": cpu_model()})
    return TaskGraph.from_edges(
        finish_s - start_s, program.edges, kinds=program.kinds, name=name, report=report,
        recording=Recording(start_s, finish_s, lanes.astype(np.int32), tuple(f"worker {w}" for w in names.tolist())),
    )  # fmt: skip


def record(
    workers: Sequence[int],
    repeats: int = 3,
    programs: Sequence[str] = tuple(PROGRAMS),
    runtimes: Sequence[str] = tuple(RUNTIMES),
) -> Iterator[Run]:
    """Yield recorded runs of programs under those of some runtimes that are installed.

    Parameters
    ----------
    workers : sequence of int
        Numbers of workers.
    repeats : int
        Recorded runs of each setting, after one that warms up; as many run untraced.
    programs, runtimes : sequence of str
        Names among `PROGRAMS` and `RUNTIMES`.

    Raises
    ------
    SimschedError
        If a name or number is impossible, a program fails, or there is no compiler.
    """
    for what, names, known in (("program", programs, PROGRAMS), ("runtime", runtimes, RUNTIMES)):
        for name in names:
            if name not in known:
                raise SimschedError(f"no {what} is called {name!r:.60}; there are {', '.join(known)}")
    for count in (*workers, repeats):
        if not is_whole(count, 1):
            raise SimschedError(f"workers and repeats: {count!r:.60}; expected whole numbers from 1")
    with tempfile.TemporaryDirectory() as folder:
        for runtime, built in installed(Path(folder), runtimes).items():
            for name in programs:
                for count in workers:
                    yield from _runs(name, runtime, built, count, repeats)


def _runs(name: str, runtime: str, built: Path, count: int, repeats: int) -> Iterator[Run]:
    program, build = PROGRAMS[name](), RUNTIMES[runtime]
    text, n = program.text(), len(program.kinds)
    untraced = _called(built, build, text, count, repeats, traced=False)
    untraced_s = median(int(line) for line in untraced) / 1e9
    lines = _called(built, build, text, count, repeats, traced=True)
    for run in range(repeats):
        rows = lines[run * (n + 1) + 1 : (run + 1) * (n + 1)]
        yield Run(name, runtime, count, run, _graph(program, name, rows, untraced_s))


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row per run: program, runtime, workers, run, tasks, makespan_s, untraced_s."""
    return pd.DataFrame([
        {
            "program": run.program, "runtime": run.runtime, "workers": run.workers, "run": run.run,
            "tasks": run.graph.n_tasks, "makespan_s": _span_s(run.graph),
            "untraced_s": run.graph.report.facts["untraced_s"],
        }
        for run in runs
    ])  # fmt: skip


def _span_s(graph: TaskGraph) -> float:
    run = graph.recording
    return 0.0 if run is None else float(run.finish_s.max(initial=0.0))
