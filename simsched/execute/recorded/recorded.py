"""`replay_recorded()`: a recorded run against its replays, without overheads and with those of its gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from simsched.costs.fitting import Overheads
from simsched.document.html import pictured_card
from simsched.drawing import Axes
from simsched.errors import GraphError, LayoutError
from simsched.execute.recorded.gaps import Gaps, absences_s, of_devices, started
from simsched.graph import TaskGraph
from simsched.graph.adjacency import Mask, from_edges
from simsched.graph.recording import dropped
from simsched.graph.required import check_graph
from simsched.machine import RuntimeProfile
from simsched.notes import Note, Weight
from simsched.plots import stacked
from simsched.plots.stacked import save_stacked, stacked_svg
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.text import counted
from simsched.units import format_time

KEPT = "lanes and their order are those of the recording"


@dataclass(frozen=True, eq=False)
class RecordedReplay:
    """A recorded run and its replays.

    Parameters
    ----------
    recorded, plain, calibrated : Schedule
        Measured; replayed without overheads; replayed with `overheads`.
    gaps : Gaps
        Idle time in the recording: the evidence.
    overheads : Overheads
        Costs charged by the calibrated replay; `overheads.runtime()` is its `RuntimeProfile`.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> run = Recording(np.array([0.0, 1.5]), np.array([1.0, 2.5]), np.zeros(2, np.int32), ("worker",))
    >>> replayed = ss.replay_recorded(ss.TaskGraph.from_edges([1.0, 1.0], recording=run))
    >>> replayed.recorded.makespan_s, replayed.plain.makespan_s, round(replayed.plain_error, 2)
    (2.5, 2.0, -0.2)
    >>> len(replayed.schedules())
    3
    """

    recorded: Schedule
    plain: Schedule
    calibrated: Schedule
    gaps: Gaps
    overheads: Overheads

    @property
    def plain_error(self) -> float:
        """Plain over recorded makespan, less 1; NaN where the recording has no length, or other executors replay it."""
        return self._error(self.plain)

    @property
    def calibrated_error(self) -> float:
        """Calibrated over recorded makespan, less 1; NaN as `plain_error`."""
        return self._error(self.calibrated)

    def _error(self, schedule: Schedule) -> float:
        recorded_s = self.recorded.makespan_s
        comparable = recorded_s and schedule.n_cores == self.recorded.n_cores
        return schedule.makespan_s / recorded_s - 1 if comparable else nan

    def row(self) -> dict[str, str | float | None]:
        """Return one row of a table: policy, layout, tasks, makespans, errors, and what lies between tasks."""
        return {
            "policy": self.plain.policy,
            "layout": self.plain.layout,
            "tasks": self.recorded.graph.n_tasks,
            "recorded_s": self.recorded.makespan_s,
            "plain_s": self.plain.makespan_s,
            "plain_error": self.plain_error,
            "calibrated_s": self.calibrated.makespan_s,
            "calibrated_error": self.calibrated_error,
            "dispatch_s": self.overheads.dispatch_s,
            "interrupted_s": self.gaps.interrupted_s,
            "overlap_s": self.gaps.overlap_s,
        }

    def schedules(self) -> dict[str, Schedule]:
        """Return the recorded schedule and its two replays by name, with their errors where there are any."""
        under = "in the recorded order" if self.plain.policy == "recorded" else f"under {self.plain.policy}"
        start = format_time(self.overheads.dispatch_s or 0.0)
        return {
            "recorded": self.recorded,
            f"replayed {under} without overheads{_in_brackets(self.plain_error)}": self.plain,
            f"replayed {under} with {start} a start{_in_brackets(self.calibrated_error)}": self.calibrated,
        }

    def gantt(self, axes: Sequence[Axes] | None = None, **options: Any) -> Sequence[Axes]:
        """Draw the recorded schedule above its replays; see `simsched.plots.stacked`, also for their time axes."""
        return stacked(self.schedules(), axes, **options)

    def save(self, path: str | Path) -> None:
        """Write that picture by the suffix of `path`: .png, .svg or .pdf; raise `SimschedError` if it is another."""
        save_stacked(self.schedules(), Path(path))

    def __repr__(self) -> str:
        facts = {key: _shown(key, value) for key, value in self.row().items()}
        errors = f"plain {facts['plain_error']}, calibrated {facts['calibrated_error']}"
        return f"<RecordedReplay {self.recorded.graph.name!r}: recorded {facts['recorded_s']}, {errors}>"

    def _repr_html_(self) -> str:
        facts = {key.removesuffix("_s").replace("_", " "): _shown(key, v) for key, v in self.row().items()}
        title = f"Recorded run of {self.recorded.graph.name}"
        return pictured_card(title, facts, self.plain.notes, lambda: stacked_svg(self.schedules(), width=640))


def _shown(key: str, value: str | float | None) -> object:
    if not isinstance(value, float):
        return value
    return format_time(value) if not key.endswith("error") else "nan" if isnan(value) else f"{value:+.2%}"


def _in_brackets(error: float) -> str:
    return "" if isnan(error) else f" ({error:+.2%})"


def replay_recorded(
    graph: TaskGraph,
    policy: str | Policy | type[Policy] | None = None,
    layout: str | Layout | tuple[int, int] | None = None,
    *,
    calibrated_on: Sequence[TaskGraph] | None = None,
    interruptions: bool = False,
) -> RecordedReplay:
    """Replay a recorded run, without overheads and with those calibrated from its gaps.

    Every task takes its recorded seconds. A recording's lanes are the executors, whatever teams they led.

    Parameters
    ----------
    graph : TaskGraph
        With a recording.
    policy : str, Policy or class of Policy, optional
        The policy that produced the recording, if it is known. Without it each lane runs its tasks in their recorded
        order, so that only overheads differ.
    layout : str, Layout or pair of int, optional
        Executors x 1, for the policy; by default one executor per lane. With more or fewer, errors are NaN.
    calibrated_on : sequence of TaskGraph, optional
        Other recordings, whose gaps the overheads are estimated from. By default these are the gaps of this recording:
        that shows how well one number represents all gaps, not how well it predicts.
    interruptions : bool
        Whether the calibrated replay has the interruptions of the recording: a task takes longer by the time for which
        its lane was away before it although tasks were ready, tasks of the lane where it keeps its order
        (`absences_s`). This is not a prediction; it shows which part of an error the host caused.

    Returns
    -------
    RecordedReplay
        The recorded schedule, its replays without and with overheads, and the gaps that these come from.

    Raises
    ------
    SimschedError
        If a graph has no recording, the layout is impossible, or the policy rejects it.

    Examples
    --------
    >>> from simsched.graph import Recording
    >>> lanes = np.zeros(3, np.int32)
    >>> run = Recording(np.array([0.0, 1.5, 3.0]), np.array([1.0, 2.5, 4.0]), lanes, ("worker",))
    >>> replayed = replay_recorded(TaskGraph.from_edges([1.0, 1.0, 1.0], recording=run))
    >>> replayed.plain.makespan_s, replayed.overheads.dispatch_s, replayed.calibrated.makespan_s
    (3.0, 0.5, 4.0)
    """
    recorded = _recorded(graph)
    gaps = Gaps.of(recorded)
    overheads = (gaps if calibrated_on is None else _pooled(calibrated_on)).overheads()
    tasks = _timed(recorded)
    plain = _replayed(tasks, RuntimeProfile(), recorded, policy, layout)
    if interruptions:
        tasks = _interrupted(recorded, gaps, overheads, own_tasks=policy is None)
    calibrated = _replayed(*_charged(tasks, of_devices(recorded), overheads), recorded, policy, layout)
    return RecordedReplay(recorded, plain, calibrated, gaps, overheads)


def _charged(tasks: TaskGraph, device: Mask, overheads: Overheads) -> tuple[TaskGraph, RuntimeProfile]:
    """Return tasks and what their starts cost: those of a device nothing, others beside them their lane alone."""
    if not device.any():
        return tasks, overheads.runtime()
    start_s = np.where(device, 0.0, overheads.dispatch_s or 0.0)
    return replace(tasks, durations_s=tasks.durations_s + start_s), RuntimeProfile()


def _pooled(graphs: Sequence[TaskGraph]) -> Gaps:
    if isinstance(graphs, TaskGraph):
        raise GraphError("calibrated_on is a graph; give a list of recordings, as [graph]")
    if not isinstance(graphs, Sequence) or isinstance(graphs, str):
        raise GraphError(f"calibrated_on is {graphs!r:.80}; expected a list of recordings, as [graph]")
    if not len(graphs):
        raise GraphError("calibrated_on is empty; give recordings, or leave it out for the graph's own")
    return Gaps.pooled(Gaps.of(_recorded(graph)) for graph in graphs)


def _recorded(graph: TaskGraph) -> Schedule:
    check_graph(graph)
    if graph.recorded is None:
        raise GraphError(
            f"graph {graph.name!r} has no recording; load one from the trace of a run{dropped(graph)}"
        )
    return graph.recorded


def _replayed(
    tasks: TaskGraph,
    runtime: RuntimeProfile,
    recorded: Schedule,
    policy: str | Policy | type[Policy] | None,
    layout: str | Layout | tuple[int, int] | None,
) -> Schedule:
    if policy is None:
        if layout:
            raise LayoutError(f"layout {layout} goes with a policy; without one, lanes are the executors")
        return _on_its_lanes(tasks, recorded, runtime)
    asked = Layout.parse(layout) if layout else Layout(max(recorded.n_cores, 1), 1)
    if asked.width != 1:
        raise LayoutError(
            f"layout {asked}: tasks take their recorded seconds, whatever their team; give {asked.executors}x1"
        )
    # A policy that takes no layout decides on every core by itself: each core is a lane.
    given = asked if policy_of(policy).takes_layout else None
    schedule = simulate(tasks, f"generic[cores={asked.executors}]", policy, given, runtime=runtime)
    # The lane of an executor is unknown: all take their tasks from one scheduler.
    names = tuple(f"executor {lane}" for lane in range(asked.executors))
    notes = schedule.notes
    if recorded.n_cores not in (0, asked.executors):
        other = f"recorded on {counted(recorded.n_cores, 'lane')}, replayed on {asked.executors}"
        notes = (*notes, Note(f"{other}: the makespans differ by no error of the replay", Weight.DOUBT))
    return replace(schedule, lane_names=names, notes=notes)


def _on_its_lanes(tasks: TaskGraph, recorded: Schedule, runtime: RuntimeProfile) -> Schedule:
    """Replay with every lane's tasks in a chain: at most one of each is ready, so all policies agree."""
    executors = max(recorded.n_cores, 1)
    schedule = simulate(
        _with_edges(tasks, _chains(recorded)),
        f"generic[cores={executors}]",
        "fifo",
        (executors, 1),
        runtime=runtime,
    )
    return replace(
        schedule, executor=recorded.executor, team=recorded.team, policy="recorded", notes=(*schedule.notes, KEPT),
        lane_names=recorded.lane_names,
    )  # fmt: skip


def _chains(recorded: Schedule) -> list[tuple[int, int]]:
    order = started(recorded)
    lanes = recorded.executor[order]
    return [edge for lane in np.unique(lanes) for edge in pairwise(order[lanes == lane].tolist())]


def _timed(recorded: Schedule) -> TaskGraph:
    """Return the graph with its recorded seconds, whatever machine and width they are of."""
    graph = recorded.graph
    facts = {name: fact for name, fact in graph.report.facts.items() if name != "intra_op_threads"}
    return replace(
        graph, durations_s=recorded.alone_s, seconds_by_kind=None, widths=np.ones(graph.n_tasks, np.int32),
        recorded_on=None, report=replace(graph.report, facts=facts),
    )  # fmt: skip


def _interrupted(recorded: Schedule, gaps: Gaps, overheads: Overheads, *, own_tasks: bool) -> TaskGraph:
    """Return that graph with each absence as part of the task after it; its start is charged anyway."""
    graph = _timed(recorded)
    more_s = np.maximum(absences_s(recorded, gaps, own_tasks=own_tasks) - (overheads.dispatch_s or 0.0), 0.0)
    return replace(graph, durations_s=graph.durations_s + more_s)


def _with_edges(graph: TaskGraph, more: Sequence[tuple[int, int]]) -> TaskGraph:
    old = graph.successors
    before, after = np.array(more, np.int64).reshape(-1, 2).T
    successors, _ = from_edges(graph.n_tasks, np.append(old.sources(), before), np.append(old.indices, after))
    return replace(graph, successors=successors)
