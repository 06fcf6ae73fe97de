"""Recorded seconds, converted to another width, and to another machine by the ratio of rooflines.

On the roofline a task takes as long as its operations or its bytes, whichever is longer. Tasks without either take as
long as their instructions: they are converted by the ratio of the clocks.

References
----------
Roofline: an insightful visual performance model for multicore
architectures. Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import REFERENCE_S
from simsched.costs.own_machine import has_chip, part_idle, peak_s, recorder_of, stands_in
from simsched.costs.shapes.elements import elements_of, rates_on
from simsched.costs.task_costs import Terms
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Mask
from simsched.graph.recording import UNKNOWN, measured_on, on_device, recorded_threads, team_widths
from simsched.graph.report import UNKNOWN_THREADS
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.text import counted

#: Seconds of the machine itself; carried by rooflines; carried by clocks; taken as they are.
Way = Literal["recorded", "carried", "clocked", "taken"]
WAYS: tuple[Way, ...] = get_args(Way)
#: Clock of a recording's core where it is not known: those of servers run at 2 to 4 GHz.
CLOCK_Hz = 3e9
#: So many times the median of tasks that are alike is far longer; and the share of all seconds that is worth a note.
FAR, INTERRUPTED = 10, 0.05


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
    widths, labels = team_widths(graph).astype(np.float64), graph.kinds.codes
    serial = terms.serial_share[labels]
    used = np.minimum(widths, terms.pieces(graph))
    # c(w) = d is quadratic in x = sqrt(t1): (s + (1-s)/u) x^2 + a sqrt(1 ms) (w-1) x + F + f u - d = 0.
    square = serial + (1 - serial) / used
    linear = terms.thread_overhead[labels] * np.sqrt(REFERENCE_S) * (widths - 1)
    fork_join = terms.fork_join_s[labels] + terms.fork_join_per_thread_s[labels] * used
    left = np.maximum(recorded - fork_join, 0.0)
    root = (-linear + np.sqrt(linear**2 + 4 * square * left)) / (2 * square)
    # Without overhead the equation is linear; a root and a square may round.
    alone = np.where(linear == 0, left / square, root**2)
    # A task that ran on one thread of its team takes as long on one core.
    return np.where(graph.widths > 1, np.maximum(recorded, alone), recorded)


def rescaled(
    graph: TaskGraph,
    machine: Machine,
    one_core: Seconds,
    measured: Mask | None = None,
    doubt: float = 0.0,
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
    doubt : float
        As in `simsched.costs.shapes.elements.Rates`.

    Raises
    ------
    CostError
        If a task has no duration, and no FLOPs or bytes to estimate one from.
    """
    measured = np.zeros(graph.n_tasks, np.bool_) if measured is None else measured
    recorded = ~np.isnan(one_core) & ~measured
    missing = ~recorded & ~measured
    factor, ways = conversion(graph, machine, doubt)
    notes = [*_doubts(graph, machine, recorded), *in_sentences(graph, machine, ways[recorded])]
    if gained := int((recorded & (ways == WAYS.index("carried")) & _of_unknown_rate(graph)).sum()):
        tasks, name = counted(gained, "task"), graph.recorded_on.name if graph.recorded_on else ""
        said = f"{tasks} of elements narrower than FP32 as if {name}, whose rates for these are unknown, gained as much"
        notes.append(Note(f"{said} from them as {_core_of(machine)}", Weight.DOUBT))
    if idle := (part_idle(graph) & recorded).sum():
        tasks = counted(idle, "task was", "tasks were")
        said = f"{tasks} recorded on fewer threads than the team had, and gain nothing from more"
        notes.append(Note(said, Weight.ASSUMPTION))
    if missing.any():
        here = one_core_roofline_s(
            graph, machine.core_flops_at() * rates_on(graph, machine, doubt), machine.one_core_Bps
        )
        _check_estimable(graph, missing, here)
        said = f"roofline time on {_core_of(machine)} for {counted(missing.sum(), 'task')} without a duration"
        notes.append(Note(said, Weight.ASSUMPTION))
        one_core = np.where(missing, here, one_core)
    carried = one_core * factor
    # What beat the roofline of its recorder, whose clock may have been higher, beats no peak.
    least_s = np.where(ways == WAYS.index("carried"), peak_s(graph, machine, doubt), 0.0)
    if held := (recorded & (carried < least_s)).sum():
        name = graph.recorded_on.name if graph.recorded_on else ""
        said = f"{counted(held, 'task is', 'tasks are')} faster on {name} than is known of it (its clock may have been"
        notes.append(Note(f"{said} higher), and carried to the peak of {_core_of(machine)}", Weight.DOUBT))
    return np.where(recorded, np.maximum(carried, least_s), one_core), notes


def _doubts(graph: TaskGraph, machine: Machine, recorded: Mask) -> Iterator[Note]:
    """Yield what recorded seconds may say nothing of: other processors than cores, and the program itself."""
    if measured_on(graph) is None:
        return
    seconds = np.where(recorded, graph.durations_s, 0.0)
    total_s, device = seconds.sum(), on_device(graph) & recorded
    if seconds[device].any():
        did = f"{counted(device.sum(), 'task')} ran on a device, {seconds[device].sum() / total_s:.0%} of all seconds"
        means = f", which are kept on {_core_of(machine)}: nothing tells how long its cores take"
        if machine.is_device.any() and not machine.is_device.all():
            means = f": they run on devices of {machine.spec} alone, as long as recorded, and others on its other cores"
        if (
            beside_host(graph)
            and stands_in(graph, machine)
            and machine.n_cores <= (recorded_threads(graph) or 1)
        ):
            what = "they occupy cores of the host, so that more cores seem to help where a device"
            means = f": on {_core_of(machine)} {what} runs them beside the host (replay-recorded does)"
        yield Note(did + means, Weight.DOUBT)
    long = _far_longer(graph, seconds) & recorded
    if (lost_s := seconds[long].sum()) > INTERRUPTED * total_s:
        those = counted(long.sum(), "task takes", "tasks take")
        said = f"{those} more than {FAR} times as long as most of the kind and shape"
        why = "perhaps the host interrupted them; learn (simsched learn) leaves that out"
        yield Note(f"{said}, {lost_s / total_s:.0%} of all seconds: {why}", Weight.DOUBT)


def _far_longer(graph: TaskGraph, seconds: Seconds) -> Mask:
    """Return which tasks are far longer than others of their kind and shape, nine tenths of which are alike."""
    if not graph.n_tasks:
        return np.zeros(0, np.bool_)
    groups = graph.kinds.codes * np.int64(len(graph.shapes.labels) + 1) + graph.shapes.codes
    order = np.lexsort((seconds, groups))
    first = np.flatnonzero(np.diff(groups[order], prepend=-1))
    size = np.diff(first, append=len(order))
    ascending = seconds[order]
    median, ninth = (ascending[first + (share * (size - 1)).astype(np.int64)] for share in (0.5, 0.9))
    limit = np.where((size >= 10) & (ninth <= 2 * median), FAR * median, np.inf)
    far = np.zeros(graph.n_tasks, np.bool_)
    far[order] = ascending > np.repeat(limit, size)
    return far


def conversion(
    graph: TaskGraph, machine: Machine, doubt: float = 0.0
) -> tuple[Seconds, npt.NDArray[np.int8]]:
    """Return the factor from recorded seconds to those on a machine, and the way it was found, an index of `WAYS`.

    Seconds that were recorded on such cores stay. Others are carried by the ratio of the rooflines where work is
    known, else by that of the clocks. Elements narrower than FP32 count at the rates of both machines, or as if the
    recorder gained as much from them where its rates are unknown. From a machine of unknown speed they are taken as
    they are; those of unknown work also on a core without a chip.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    doubt : float
        As in `simsched.costs.shapes.elements.Rates`.

    Returns
    -------
    factor : float64 array, shape (n,)
    ways : int8 array, shape (n,)
    """
    origin, factor = graph.recorded_on, np.ones(graph.n_tasks)
    if is_recorder(graph, machine):
        return factor, np.full(graph.n_tasks, WAYS.index("recorded"), np.int8)
    ways = np.full(graph.n_tasks, WAYS.index("taken"), np.int8)
    if origin is None or not origin.core_flops or not origin.core_bandwidth_Bps:
        return factor, ways
    if has_chip(machine):
        factor[:] = (origin.clock_Hz or CLOCK_Hz) / machine.scalar_clock_Hz(machine.n_cores)
        ways[:] = WAYS.index("clocked")
    rates = rates_on(graph, machine, doubt)
    recorder = recorder_of(graph) if elements_of(graph).narrow else None
    rates_there = rates if recorder is None else rates_on(graph, recorder, doubt)
    here = one_core_roofline_s(graph, machine.core_flops * rates, machine.one_core_Bps)
    there = one_core_roofline_s(graph, origin.core_flops * rates_there, origin.core_bandwidth_Bps)
    known = (here > 0) & (there > 0)
    np.divide(here, there, out=factor, where=known)
    ways[known] = WAYS.index("carried")
    return factor, ways


def _of_unknown_rate(graph: TaskGraph) -> Mask:
    """Return which tasks have elements narrower than FP32, whose rate on the recorder is unknown."""
    elements = elements_of(graph)
    return (elements.of_task > 0) & (not elements.narrow or recorder_of(graph) is None)


def in_sentences(graph: TaskGraph, machine: Machine, ways: npt.NDArray[np.int8]) -> Iterator[str]:
    """Yield the conversions of recorded durations, in sentences, from the way of each.

    Parameters
    ----------
    graph : TaskGraph
    machine : Machine
    ways : int8 array, shape (m,)
        As `conversion` returns them, of some of the graph's tasks.
    """
    count = Counter(ways.tolist())
    origin, core = graph.recorded_on, _core_of(machine)
    for index, way in enumerate(WAYS):
        if not count[index]:
            continue
        durations = counted(count[index], "duration")
        if way == "taken" or origin is None or not origin.is_known or stands_in(graph, machine):
            yield _as_they_are(graph, machine, count[index])
        elif way == "recorded":
            yield f"{durations} recorded on such a core as those of {core}"
        elif way == "carried":
            said = f"{durations} recorded on {origin.name} carried to {core} by the ratio of their rooflines"
            yield Note(said, Weight.ASSUMPTION)
        else:
            clock = "" if origin.clock_Hz else f", for which {CLOCK_Hz / 1e9:g} GHz are assumed,"
            said = f"{durations} without known work recorded on {origin.name}{clock} carried to {core} by the ratio of"
            falls = machine.scalar_clock_Hz(1) > machine.scalar_clock_Hz(machine.n_cores)
            busy = (
                ", here with all cores busy, however few are: fewer cores in the machine are faster"
                if falls
                else ""
            )
            yield Note(f"{said} their clocks{busy}", Weight.ASSUMPTION)


def _as_they_are(graph: TaskGraph, machine: Machine, count: int) -> Note:
    """Return the note that durations are not converted, and how to change that."""
    said = counted(count, "recorded duration is taken as it is", "recorded durations are taken as they are")
    origin, threads = graph.recorded_on, recorded_threads(graph)
    if measured_on(graph) is None:
        one, several = "given duration is taken as it is", "given durations are taken as they are"
        said = f"{counted(count, one, several)}, and as exact"
    if threads is not None and stands_in(graph, machine):
        had = f"had {counted(threads, 'thread')}"
        if UNKNOWN_THREADS in graph.report.notes:
            had = f"is taken to have {had}, as the file does not say (threads= or --threads does)"
        said += (
            f", on cores like those of the recording, which {had}; machine= or -m (host, a machine or its file) names "
            "others"
        )
    elif origin in (None, UNKNOWN):
        said += "; load(..., recorded_on=) or --recorded-on (host, a machine or its file) says where they were recorded"
    elif not origin.is_known:
        said += f"; {origin.name}, on which they were recorded, has no known speed: recorded_on= can give it"
    else:
        said += f", though recorded on {origin.name}: their tasks have neither FLOPs nor bytes"
    return Note(said, Weight.DOUBT)


def _core_of(machine: Machine) -> str:
    """Return the machine's spec without the number of its cores, which durations on one core do not depend on."""
    return re.sub(r"\bcores=\d+,?", "", machine.spec).replace(",]", "]").removesuffix("[]")


def is_recorder(graph: TaskGraph, machine: Machine) -> bool:
    """Return whether cores of the machine are as fast as those of the recording, or `generic` in their place.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], recorded_on="grace")
    >>> is_recorder(graph, ss.machine("grace")), is_recorder(graph, ss.machine("knl-7250"))
    (True, False)
    """
    if (origin := graph.recorded_on) is None:
        return stands_in(graph, machine)
    speed = machine.stated_speed or (machine.core_flops, machine.one_core_Bps)
    return stands_in(graph, machine) or (origin.core_flops, origin.core_bandwidth_Bps) == speed


def recorded_run(graph: TaskGraph, machine: Machine) -> tuple[float, int] | None:
    """Return the seconds and threads of a recording on cores as fast as the machine's; None where there is none.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> run = Recording(np.zeros(2), np.array([1.0, 2.0]), np.arange(2, dtype=np.int32), ("a", "b"))
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], recording=run)
    >>> recorded_run(graph, ss.machine("generic")), recorded_run(graph, ss.machine("grace"))
    ((2.0, 2), None)
    """
    if graph.recording is None or not graph.n_tasks or not is_recorder(graph, machine):
        return None
    took_s = float(graph.recording.finish_s.max() - graph.recording.start_s.min())
    return took_s, recorded_threads(graph) or 1


def why_other(graph: TaskGraph) -> str:
    """Return why a replay takes another time than the recording, in words.

    Examples
    --------
    >>> import simsched as ss
    >>> why_other(ss.TaskGraph.from_edges([1.0]))[:44]
    'its tasks started in another order or later,'
    """
    if graph.recording is None or not beside_host(graph):
        why = "its tasks started in another order or later, or time passed between them"
        return f"{why} (replay-recorded tells them apart)"
    device = on_device(graph)
    lanes = counted(len(np.unique(graph.recording.lanes[device])), "lane")
    why = f"beside that, {lanes} of devices ran {counted(device.sum(), 'task')}, which occupy cores of the host here"
    return f"{why} (replay-recorded gives each lane an executor)"


def beside_host(graph: TaskGraph) -> bool:
    """Return whether some tasks ran on a device, and others did not.

    Examples
    --------
    >>> import simsched as ss
    >>> beside_host(ss.TaskGraph.from_edges([1.0, 2.0], kinds=["device::gemm", "gemm"]))
    True
    """
    device = on_device(graph)
    return bool(device.any() and not device.all())


def _check_estimable(graph: TaskGraph, missing: Mask, roofline: Seconds) -> None:
    unknown = np.flatnonzero(missing & np.isnan(roofline))
    if len(unknown):
        task, report = int(unknown[0]), graph.report
        place, why = f"{report.source}: " if report.format else "", report.facts.get("durations_why")
        raise CostError(
            f"{place}task {task} ({graph.task_name(task)!r}) has no duration, and neither FLOPs nor bytes to estimate "
            f"one from ({counted(len(unknown), 'such task')}); give one of them{f': {why}' if why else ''}"
        )
