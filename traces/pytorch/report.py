"""Import report of a PyTorch trace: kept, dropped and suspicious parts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from simsched.graph import ImportReport, TaskGraph
from simsched.graph.recording import LAUNCH
from simsched.graph.report import TRACED, TRACED_WORK
from simsched.text import counted
from simsched.traces.pytorch.events import Step
from simsched.traces.pytorch.kineto import Survey
from simsched.traces.pytorch.nesting import Nesting, nest
from simsched.traces.pytorch.tensors import Dependencies
from simsched.traces.shared.places import Place
from simsched.traces.shared.timeline import covered

#: Traced over untraced seconds of a step from which on recorded times are in doubt.
MUCH_TRACING = 1.1


@dataclass
class Edges:
    """Origin of the edges, and how many were left out.

    Parameters
    ----------
    found : Dependencies or None
        From tensors; None where the execution trace is missing and edges are the recorded order.
    impossible : int
        Edges that were left out because their ends overlapped in the recorded run.
    joined : int
        Tasks that the execution trace knows.
    companion : str
        Name of the execution trace.
    """

    found: Dependencies | None = None
    impossible: int = 0
    joined: int = 0
    companion: str = ""


def fill_report(
    graph: TaskGraph, path: Path, held: Survey, step: Step, nesting: Nesting, edges: Edges
) -> None:
    """Add the facts and sentences of an import to the graph's report."""
    _devices_left_out(graph, held, nesting)
    tell_step(graph, held, step, nesting)
    _events(graph, held, step, nesting)
    _edges(graph, edges)
    _compiled(graph, nesting, edges)
    _tracing_cost(graph, path, held)
    _views(graph, nesting)


def tell_step(graph: TaskGraph, held: Survey, step: Step, nesting: Nesting) -> None:
    """Add the chosen step, its share covered by operators, and the graph's parallelism to its report."""
    _parallelism(graph)
    _steps(graph, held, step)
    _coverage(graph, held, step, nesting)


def _devices_left_out(graph: TaskGraph, held: Survey, nesting: Nesting) -> None:
    """Say that the times of a step whose devices are left out are those of the host alone."""
    report, events = graph.report, held.counts["device"]
    launching = sum(task.launches for task in nesting.tasks)
    if not events and not launching:
        return
    report.facts.update(device_events=events, launching_operators=launching)
    said = (
        f"{counted(launching, 'operator launches', 'operators launch')} work there, on one thread each (kinds "
        f"{LAUNCH}...), which no team of cores shortens"
        if launching
        else "calls that launched them are not recorded, so that operators which only launch are taken for ops of a CPU"
    )
    report.doubt(
        f"{counted(events, 'event')} of a device (kernels, copies) left out: durations are those of the host alone, "
        f"which does not wait for the device; {said}; devices=true takes what ran on devices as tasks"
    )


def _parallelism(graph: TaskGraph) -> None:
    facts = graph.report.facts
    facts.update(
        lanes=len(graph.recording.lane_names) if graph.recording else 0,
        threads=int(graph.widths.max()),
        work_s=graph.work_s,
        critical_path_s=graph.critical_path_s,
    )
    if graph.critical_path_s:
        facts["average_parallelism"] = graph.average_parallelism


def _steps(graph: TaskGraph, held: Survey, step: Step) -> None:
    report, complete = graph.report, held.complete_steps()
    report.facts["steps"] = ", ".join(map(str, complete)) or "none"
    if step.window is None:
        report.note("the trace marks no steps (ProfilerStep#n): all of it was taken as one")
    else:
        report.facts["step"] = step.window.number
        report.note(
            f"{len(complete)} steps are there; step {step.window.number} was taken, step= chooses another",
            when=len(complete) > 1,
        )
    empty = sorted(held.windows.keys() - set(complete))
    report.note(f"steps without operators were passed over: {', '.join(map(str, empty[:20]))}", when=empty)
    report.note(
        f"{counted(held.repeated_steps, 'step')} in the file more than once; the longest was kept",
        when=held.repeated_steps,
    )


def _coverage(graph: TaskGraph, held: Survey, step: Step, nesting: Nesting) -> None:
    """Tell the shares of the step that tasks take, and of the rest, what else ran: of the first in the list.

    A step lasts until its last task has ended.
    """
    tasks, before = _ran_ns(graph), _begun_before(step)
    marks = [step.window] if step.window else step.events
    starts, finishes = zip(*tasks, *((it.start_ns, it.finish_ns) for it in marks), strict=True)
    first, last = min(starts), max(finishes)
    facts, span, ran, reached = graph.report.facts, last - first, list[tuple[int, int]](), [0]
    for others in (tasks, before, held.calls.waits_ns, nesting.autograd_ns):
        ran += others
        reached.append(covered(ran, first, last))
    facts.update(span_s=span / 1e9, covered_s=reached[1] / 1e9)
    if held.streams.kernels:
        host = [(t.event.start_ns, t.event.finish_ns) for t in nesting.tasks]
        facts["host_covered_s"] = covered(host, first, last) / 1e9
    if not span:
        return
    _, begun, waits, autograd = ((after - before) / span for before, after in pairwise(reached))
    facts.update(
        covered_share=reached[1] / span,
        lost_share=1 - reached[1] / span,
        lost_autograd_share=autograd,
        lost_python_share=(span - reached[-1]) / span,
    )
    said = f"{autograd:.1%} in autograd's wrappers, {facts['lost_python_share']:.1%} in Python and other code"
    if held.calls.waits_ns:
        facts["lost_waits_share"] = waits
        said = f"{waits:.1%} in waits for devices, {said}"
    if before:
        facts.update(operators_begun_before=len(before), lost_begun_before_share=begun)
        said = f"{begun:.1%} in operators that began before it, {said}"
        seconds = covered(before, first, last) / 1e9
        graph.report.doubt(
            f"{counted(len(before), 'operator reaches', 'operators reach')} across the step's begin ({seconds:.6g} s "
            f"within it) and {'was' if len(before) == 1 else 'were'} left out"
        )
    nothing = "no operator and no kernel" if held.streams.kernels else "no operator"
    graph.report.note(
        f"{facts['lost_share']:.1%} of the step lies in {nothing}: {said}; the graph leaves it out"
    )


def _ran_ns(graph: TaskGraph) -> list[tuple[int, int]]:
    """Return when each task of a recorded graph ran, in nanoseconds of its clock."""
    run = graph.recording
    assert run is not None  # noqa: S101 - narrows the type: Kineto traces are recorded
    columns = (
        np.rint(column * 1e9).astype(np.int64) + (run.origin_ns or 0)
        for column in (run.start_s, run.finish_s)
    )
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _begun_before(step: Step) -> list[tuple[int, int]]:
    """Return when the topmost operators ran that began before the step and reach into it."""
    if not step.before or step.window is None:
        return []
    events = (task.event for task in nest([*step.before, *step.events]).tasks)
    return [(e.start_ns, e.finish_ns) for e in events if e.start_ns < step.window.start_ns]


def _events(graph: TaskGraph, held: Survey, step: Step, nesting: Nesting) -> None:
    report, operators = graph.report, sum(not e.annotation for e in step.events)
    report.facts.update(
        operators=operators,
        inner_operators=nesting.inner,
        operators_in_tasks=graph.n_tasks + nesting.inner,
        wrappers=nesting.wrappers,
        operators_outside_step=held.counts["operators"] - operators,
        other_events=held.counts["other"],
    )
    report.note(
        f"of {operators} operators in the step {graph.n_tasks} are tasks; {nesting.inner} lie within tasks, whose time "
        f"includes them, and {nesting.wrappers} are wrappers (autograd nodes, forked functions, compiled regions)"
    )
    if held.untimed:
        report.facts["untimed_operators"] = held.untimed
        report.note(
            f"{counted(held.untimed, 'operator')} without a valid time, or with a duration below zero, left out"
        )
    report.note(
        f"{counted(nesting.overlaps, 'event')} of a thread beside another one, neither within the other",
        when=nesting.overlaps,
    )


def _edges(graph: TaskGraph, edges: Edges) -> None:
    report, found = graph.report, edges.found
    if found is None:
        lanes = 1 if graph.recording is None else len(graph.recording.lane_names)
        so_that = (
            "so that no policy can run two at once"
            if lanes == 1
            else f"and none of the {lanes} threads waits for another, so that a replay may overlap what could not, as "
            "forward and backward pass"
        )
        report.doubt(
            f"no execution trace was given: the edges are the recorded order of each thread, a chain, {so_that}; "
            "record one with torch.profiler.ExecutionTraceObserver in the same run "
            "(simsched.traces.recorders.record_pytorch does) and pass it as execution_trace="
        )
        return
    report.facts.update(
        execution_trace=edges.companion,
        joined=edges.joined,
        unjoined=graph.n_tasks - edges.joined,
        impossible_edges=edges.impossible,
    )
    report.doubt(
        f"{counted(graph.n_tasks - edges.joined, 'operator')} without edges, which the execution trace does not have",
        when=edges.joined < graph.n_tasks,
    )
    tell_dependencies(report, found)
    report.note(
        f"{counted(edges.impossible, 'edge')} left out: the second task started before the first had finished",
        when=edges.impossible,
    )


def tell_dependencies(report: ImportReport, found: Dependencies) -> None:
    """Add doubts about edges through tensors to a report."""
    report.facts.update(
        in_place_writes=found.in_place,
        reused_storage_ids=found.reused_ids,
        edges_through_reused_ids=found.through_reused,
        foreign_reads=found.foreign,
        tensors_without_storage=found.by_tensor,
    )
    report.note(
        f"{counted(found.reused_ids, 'storage id')} came back with other contents (they are addresses); "
        f"{counted(found.through_reused, 'edge')} through such an id after it came back, false where a write "
        "was not recorded",
        when=found.reused_ids,
    )
    report.note(
        f"{counted(found.foreign, 'read')} without an edge, as its element size is not that of the last write to its "
        "storage id: memory that came back outside recorded calls, mostly plain numbers of Python",
        when=found.foreign,
    )
    report.note(
        f"storages unknown: {counted(found.by_tensor, 'tensor')} (sparse or MKL-DNN ones, wrappers of functorch), "
        "joined by tensor id; edges through views of them may be missing, and bytes of tasks that use them are unknown",
        when=found.by_tensor,
    )
    report.note(
        f"{counted(found.anti, 'pair')} of a reader and a later in-place writer without an edge: edges are "
        "read-after-write",
        when=found.anti,
    )


def _compiled(graph: TaskGraph, nesting: Nesting, edges: Edges) -> None:
    regions, tasks = len(nesting.regions), sum(t.region is not None for t in nesting.tasks)
    graph.report.facts.update(
        compiled_regions=regions,
        compiled_tasks=tasks,
    )
    graph.report.note(
        f"{counted(tasks, 'task')} in {counted(regions, 'compiled region')} (torch.compile), whose kernels are not "
        "recorded: their order is kept as recorded, also against the tasks just before and after a region, and other "
        "edges into and out of the regions may be missing; record without torch.compile for all edges",
        when=regions and edges.found is not None,
    )


def _tracing_cost(graph: TaskGraph, path: Path, held: Survey) -> None:
    report, place = graph.report, Place(path, "simsched")
    if (untraced := held.metadata.get("untraced_step_s")) is None:
        report.note(
            f"tracing cost is inside the times and unknown: {report.facts['operators']} operators were recorded, and a "
            "few microseconds each are usual; compare with an untraced step"
        )
        return
    seconds = place.record(untraced)
    median_s, least_s = (
        place.positive(seconds.get(key), f"untraced_step_s.{key}") for key in ("median", "min")
    )
    # The capture that was kept is the quickest of several, so it is compared with the quickest untraced step.
    extra_s = report.facts["span_s"] - least_s
    report.facts.update(
        untraced_step_s=median_s,
        untraced_least_s=least_s,
    )
    report.facts[TRACED_WORK] = graph.work_s
    report.facts["traced_over_untraced"] = report.facts["span_s"] / least_s
    report.facts["tracing_s_per_operator"] = extra_s / report.facts["operators"]
    say = report.doubt if report.facts["traced_over_untraced"] > MUCH_TRACING else report.note
    if extra_s <= 0:
        report.note(
            f"the step took no longer than the quickest untraced one ({least_s:.6g} s; median {median_s:.6g} s): what "
            "tracing cost is less than its runs differ by"
        )
        return
    say(
        f"{TRACED} {report.facts['traced_over_untraced']:.2f} times as long as the quickest untraced one "
        f"({least_s:.6g} s; median {median_s:.6g} s): {extra_s / report.facts['operators'] * 1e6:.3g} us more an "
        'operator; --clean remove-overhead (graph.cleaned("remove-overhead")) takes it out'
    )


def _views(graph: TaskGraph, nesting: Nesting) -> None:
    if np.isnan(graph.bytes_B).all():
        return
    report, idle = graph.report, (graph.flops == 0) & (graph.bytes_B == 0)
    tasks, seconds = int(idle.sum()), float(graph.durations_s[idle].sum())
    report.facts.update(
        views=tasks,
        views_s=seconds,
    )
    if not tasks:
        return
    note = f"{tasks} tasks only make views and hold {seconds * 1e3:.3g} ms of the recorded time"
    each_s = report.facts.get("tracing_s_per_operator", 0.0)
    if each_s > 0:
        operators = tasks + sum(t.inner for t, without in zip(nesting.tasks, idle, strict=True) if without)
        share = "mostly" if 2 * operators * each_s >= seconds else "part of it"
        note += f", {share} the cost of tracing ({each_s * 1e6:.3g} us an operator)"
    report.note(note)
