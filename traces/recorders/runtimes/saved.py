"""Recorded runs as files: a table of runs, and one of the times of all their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from simsched.errors import FormatError
from simsched.traces.recorders.runtimes.record import KNOWN, RUNTIMES, Run, program_of, recorded

KEYS = ["program", "runtime", "workers", "run"]
RUNS, TASKS = "runs.csv", "tasks.csv.gz"


def table(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row per run: program, runtime, workers, run, tasks, makespan_s, untraced_s."""
    return pd.DataFrame([
        {
            **{key: getattr(run, key) for key in KEYS}, "tasks": run.graph.n_tasks, "makespan_s": run.makespan_s,
            "untraced_s": run.graph.report.facts["untraced_s"],
        }
        for run in runs
    ])  # fmt: skip


def save(runs: Sequence[Run], folder: Path) -> None:
    """Write `runs.csv`, and `tasks.csv.gz`, a row per run and task, in which `load` finds all of them.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> times = np.array([[10 * task, 10 * task + 10, 0] for task in range(91)])
    >>> program = program_of("gnu-openmp", "lu")
    >>> run = Run("lu", "gnu-openmp", 1, 0, recorded(program, "lu", times, untraced_s=9e-7, workers=1))
    >>> with TemporaryDirectory() as folder:
    ...     save([run], Path(folder))
    ...     [(found.name, round(1e9 * found.makespan_s)) for found in load(folder)]
    [('lu.gnu-openmp.1w.0', 910)]
    """
    table(runs).to_csv(folder / RUNS, index=False)
    frames = []
    for run in runs:
        if (found := run.graph.recording) is not None:
            lanes = [int(found.lane_names[lane].split()[-1]) for lane in found.lanes.tolist()]
            times = {"start_ns": found.start_s * 1e9, "finish_ns": found.finish_s * 1e9, "worker": lanes}
            frame = pd.DataFrame(times).round().astype(np.int64)
            frames.append(frame.assign(**{key: getattr(run, key) for key in KEYS}))
    columns = [*KEYS, "worker", "start_ns", "finish_ns"]
    kept = pd.concat(frames)[columns] if frames else pd.DataFrame(columns=columns)
    kept.to_csv(folder / TASKS, index=False, compression={"method": "gzip", "mtime": 0})


def load(folder: str | Path) -> list[Run]:
    """Return the runs that a folder has, as recorded; those of the project are in `docs/learning/`.

    Raises
    ------
    FormatError
        If files are not there, or of other programs.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> times = np.array([[10 * task, 10 * task + 10, 0] for task in range(91)])
    >>> program = program_of("gnu-openmp", "lu")
    >>> run = Run("lu", "gnu-openmp", 1, 0, recorded(program, "lu", times, untraced_s=9e-7, workers=1))
    >>> with TemporaryDirectory() as folder:
    ...     save([run], Path(folder))
    ...     [(found.name, round(1e9 * found.makespan_s)) for found in load(folder)]
    [('lu.gnu-openmp.1w.0', 910)]
    """
    place = Path(folder)
    try:
        runs, tasks = pd.read_csv(place / RUNS), pd.read_csv(place / TASKS)
        untraced_s = runs.set_index(KEYS)["untraced_s"].to_dict()
        found = []
        for key, part in tasks.groupby(KEYS, sort=False):
            name, runtime, workers, run = str(key[0]), str(key[1]), int(str(key[2])), int(str(key[3]))
            program = program_of(runtime, name)
            if runtime not in KNOWN or len(part) != len(program.kinds):
                raise FormatError(f"{place / TASKS}: {runtime!r:.40} {name!r:.40} has {len(part)} tasks")
            times = part[["start_ns", "finish_ns", "worker"]].to_numpy(np.int64)
            ranked = runtime in RUNTIMES
            graph = recorded(program, name, times, float(untraced_s[key]), workers, ranked=ranked)
            found.append(Run(name, runtime, workers, run, graph))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise FormatError(f"{place}: no runs of this recorder: {error!s:.200}") from None
    return found
