"""The graph and the recording of joined tasks, and what the report tells of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import GraphError
from simsched.graph import ImportReport, TaskGraph
from simsched.traces.shared.lanes import packed
from simsched.traces.shared.timeline import recording, refuse_long
from simsched.traces.tensorflow.run import Joined
from simsched.traces.tensorflow.sizes import sizes

Times = npt.NDArray[np.int64]


def graph_of(
    path: Path, run: Joined, threads: Mapping[tuple[str, int], str], clock_ns: int, report: ImportReport
) -> TaskGraph:
    """Return the graph of a run.

    Parameters
    ----------
    path : Path
        The file.
    run : Joined
        Its tasks, at least one.
    threads : mapping of (str, int) to str
        Names of the threads of devices.
    clock_ns : int
        What the clock of the file counts in.
    report : ImportReport
        Continued.

    Raises
    ------
    FormatError
        If the run is longer than times can tell exactly.
    GraphError
        If the graphs of the file make a cycle.
    """
    origin = min(run.starts_ns)
    refuse_long(path, max(task.finish_ns for task in run.tasks) - origin)
    start_ns = np.array([start - origin for start in run.starts_ns], np.int64)
    finish_ns = np.array([task.finish_ns - origin for task in run.tasks], np.int64)
    lanes, names = _lanes(run, threads, start_ns, finish_ns, report)
    _tell(run, finish_ns - start_ns, clock_ns, report)
    told = sizes(run)
    report.facts["tasks_without_flops"] = int(np.isnan([size.flops for size in told]).sum())
    try:
        return TaskGraph.from_edges(
            (finish_ns - start_ns) / 1e9,
            np.array(sorted(run.edges), np.int64).reshape(-1, 2),
            kinds=[task.label.op or node.op for task, node in zip(run.tasks, run.nodes, strict=True)],
            names=[task.name for task in run.tasks],
            shapes=[size.shape for size in told],
            scopes=[task.name.rpartition("/")[0] for task in run.tasks],
            flops=[size.flops for size in told],
            bytes_B=[size.bytes_B for size in told],
            name=path.name.split(".")[0],
            report=report,
            recording=recording(path, start_ns, finish_ns, lanes, names),
        )
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None


def _lanes(
    run: Joined, threads: Mapping[tuple[str, int], str], start: Times, finish: Times, report: ImportReport
) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return the lane of each task and the names of all; where threads are not told, devices' tasks are packed."""
    lanes = np.zeros(len(start), np.int32)
    names: list[str] = []
    guessed = 0
    for device in dict.fromkeys(task.device for task in run.tasks):
        own = np.array([i for i, task in enumerate(run.tasks) if task.device == device])
        numbers = [run.tasks[i].thread for i in own]
        if any(numbers):
            distinct = {number: len(names) + k for k, number in enumerate(dict.fromkeys(numbers))}
            lanes[own] = [distinct[number] for number in numbers]
            names += [threads.get((device, number), f"{device} thread {number}") for number in distinct]
            continue
        taken = packed(start[own], finish[own])
        lanes[own] = taken + len(names)
        count = int(taken.max()) + 1
        guessed += count if "/stream:" not in device else 0
        names += [f"{device} lane {k}" for k in range(count)]
    if guessed:
        report.facts["workers_guess"] = guessed
        report.note(
            f"The file names no threads: tasks are packed on as few lanes as hold them, {guessed}. Taking that for the "
            "number of workers (inter-op threads) is a guess."
        )
    return lanes, names


def _tell(run: Joined, lengths: Times, clock_ns: int, report: ImportReport) -> None:
    facts: dict[str, Any] = report.facts
    facts["devices"] = len({task.device for task in run.tasks})
    facts["control_edges"] = run.control
    facts["clock_ns"] = clock_ns
    facts["zero_length_tasks"] = int((lengths == 0).sum())
    facts["executor_s"] = _median_s([t.finish_ns - t.start_ns - t.op_ns for t in run.tasks])
    facts["queued_s"] = _median_s([t.start_ns - t.scheduled_ns for t in run.tasks if t.scheduled_ns])
    if run.repeated:
        report.note(
            f"{run.repeated} nodes ran more than once, as in loops: each execution is a task, and depends on the one "
            "of its inputs with the same number, or on the latest that had finished."
        )
    counted = {
        "receives waited for their sends; their tasks begin when these had finished.": run.waits,
        "calls of functions take no time of their own: what ran inside is tasks.": run.calls,
        "tasks have a name that stands in several graphs; the one of their device was taken.": run.ambiguous,
        "inputs had not finished in time in any execution; they give no edge.": run.unpaired,
    }
    for sentence, count in counted.items():
        if count:
            report.note(f"{count} {sentence}")


def _median_s(times_ns: Sequence[int]) -> float:
    return float(np.median(times_ns)) / 1e9 if times_ns else float("nan")
