"""Recorded seconds, converted to another width, and to another machine by the ratio of rooflines.

On the roofline a task takes as long as its operations or its bytes, whichever is longer.

References
----------
Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from simsched.costs.curves import REFERENCE_S
from simsched.costs.own_machine import recorded_threads, stands_in
from simsched.costs.task_costs import Terms
from simsched.errors import CostError
from simsched.graph import RecordedOn, TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.text import counted


def one_core_roofline_s(graph: TaskGraph, core_flops: float | Seconds, core_bandwidth_Bps: float) -> Seconds:
    """Return the roofline seconds of each task on one core; NaN where neither FLOPs nor bytes are known.

    Parameters
    ----------
    graph : TaskGraph
    core_flops : float, or float64 array, shape (n,)
        Operations per second.
    core_bandwidth_Bps : float
        Bytes per second.
    """
    return np.fmax(graph.flops / core_flops, graph.bytes_B / core_bandwidth_Bps)


def one_core_of_recorded(graph: TaskGraph, terms: Terms) -> Seconds:
    """Return the one-core seconds whose curve passes through the recorded duration at the recorded width.

    Where every task was recorded on one thread these are the recorded durations themselves.
    """
    recorded = graph.durations_s
    if (graph.widths == 1).all():
        return recorded
    widths, labels = graph.widths.astype(np.float64), graph.kinds.codes
    serial = terms.serial_share[labels]
    used = np.minimum(widths, terms.pieces(graph))
    # c(w) = d is quadratic in x = sqrt(t1): (s + (1-s)/u) x^2 + a sqrt(1 ms) (w-1) x + F + f u - d = 0.
    square = serial + (1 - serial) / used
    linear = terms.thread_overhead[labels] * np.sqrt(REFERENCE_S) * (widths - 1)
    fork_join = terms.fork_join_s[labels] + terms.fork_join_per_thread_s[labels] * used
    left = np.maximum(recorded - fork_join, 0.0)
    root = (-linear + np.sqrt(linear**2 + 4 * square * left)) / (2 * square)
    # What gains nothing from more cores takes as long on one, to the bit; a root and a square may round.
    alone = np.where((square == 1) & (linear == 0), left, root**2)
    # A task that ran on one thread of its team takes as long on one core.
    return np.where(graph.widths > 1, np.maximum(recorded, alone), recorded)


def rescaled(
    graph: TaskGraph, machine: Machine, one_core: Seconds, measured: Mask | None = None
) -> tuple[Seconds, list[str]]:
    """Return one-core seconds on `machine`, and a description of the steps, in sentences.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    one_core : float64 array, shape (n,)
        One-core seconds where they were recorded; NaN where unknown.
    measured : bool array, shape (n,), optional
        Tasks whose one-core seconds were measured: these stay unchanged.

    Raises
    ------
    CostError
        If a task has no duration, and no FLOPs or bytes to estimate one from.
    """
    measured = np.zeros(graph.n_tasks, np.bool_) if measured is None else measured
    recorded = ~np.isnan(one_core) & ~measured
    missing = ~recorded & ~measured
    if not missing.any() and (graph.recorded_on is None or not graph.recorded_on.is_known):
        return one_core, [as_they_are(graph, machine, int(recorded.sum()))] if recorded.any() else []
    here = one_core_roofline_s(graph, machine.core_flops_at(), machine.one_core_Bps)
    ratio = _ratio(graph, one_core_roofline_s(graph, machine.core_flops, machine.one_core_Bps))
    scaled = recorded & ~np.isnan(ratio)
    notes: list[str] = []
    if _is_same(graph.recorded_on, machine) and recorded.any():
        notes.append(
            f"{counted(recorded.sum(), 'duration')} recorded on such a core as those of {_core_of(machine)}"
        )
    else:
        notes += _said(graph, machine, int(scaled.sum()), int((recorded & ~scaled).sum()))
    if missing.any():
        _check_estimable(graph, missing, here)
        said = f"roofline time on {_core_of(machine)} for {counted(missing.sum(), 'task')} without a duration"
        notes.append(Note(said, Weight.ASSUMPTION))
    return np.where(missing, here, np.where(scaled, one_core * ratio, one_core)), notes


def _said(graph: TaskGraph, machine: Machine, scaled: int, others: int) -> Iterator[str]:
    """Yield the conversions of recorded durations, in sentences."""
    if scaled and graph.recorded_on:
        origin, by = graph.recorded_on.name, "by the ratio of their rooflines"
        yield Note(
            f"{counted(scaled, 'duration')} recorded on {origin} carried to {_core_of(machine)} {by}",
            Weight.ASSUMPTION,
        )
    if others:
        yield as_they_are(graph, machine, others)


def as_they_are(graph: TaskGraph, machine: Machine, count: int) -> Note:
    """Return the note that durations are not converted, and how to change that."""
    said = counted(count, "recorded duration is taken as it is", "recorded durations are taken as they are")
    origin, threads = graph.recorded_on, recorded_threads(graph)
    if threads is not None and stands_in(graph, machine):
        said += (
            f", on cores like those of the recording, which had {counted(threads, 'thread')}; machine= or -m (host, a "
            "machine or its file) names others"
        )
    elif origin is None:
        said += "; recorded_on= or --recorded-on (host, a machine or its file) says where they were recorded"
    elif not origin.is_known:
        said += f"; {origin.name}, on which they were recorded, has no known speed: recorded_on= can give it"
    else:
        said += f", though recorded on {origin.name}: their tasks have neither FLOPs nor bytes"
    return Note(said, Weight.DOUBT)


def _core_of(machine: Machine) -> str:
    """Return the machine's spec without the number of its cores, which durations on one core do not depend on."""
    return re.sub(r"\bcores=\d+,?", "", machine.spec).replace(",]", "]").removesuffix("[]")


def _is_same(origin: RecordedOn | None, machine: Machine) -> bool:
    """Return whether cores of the machine are as fast as those of the recording."""
    if origin is None:
        return False
    return (origin.core_flops, origin.core_bandwidth_Bps) == (machine.core_flops, machine.one_core_Bps)


def _ratio(graph: TaskGraph, here: Seconds) -> Seconds:
    """Return the roofline seconds here over those where the graph was recorded; NaN where one is unknown or zero."""
    origin = graph.recorded_on
    if origin is None or not origin.core_flops or not origin.core_bandwidth_Bps:
        return np.full(graph.n_tasks, np.nan)
    there = one_core_roofline_s(graph, origin.core_flops, origin.core_bandwidth_Bps)
    ratio: Seconds = np.full(graph.n_tasks, np.nan)
    np.divide(here, there, out=ratio, where=(here > 0) & (there > 0))
    return ratio


def _check_estimable(graph: TaskGraph, missing: Mask, roofline: Seconds) -> None:
    unknown = np.flatnonzero(missing & np.isnan(roofline))
    if len(unknown):
        task, report = int(unknown[0]), graph.report
        place, why = f"{report.source}: " if report.format else "", report.facts.get("durations_why")
        raise CostError(
            f"{place}task {task} ({graph.task_name(task)!r}) has no duration, and neither FLOPs nor bytes to estimate "
            f"one from ({counted(len(unknown), 'such task')}); give one of them{f': {why}' if why else ''}"
        )
