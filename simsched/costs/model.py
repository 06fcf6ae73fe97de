"""`CostModel`: seconds of a task on a team, when nothing disturbs it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from simsched.costs.curves import REFERENCE_S, Curve, default_curves, normalised
from simsched.costs.roofline import one_core_roofline_s
from simsched.errors import CostError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.machine import Machine, RuntimeProfile


@dataclass(frozen=True)
class CostModel:
    """How recorded seconds become seconds on another width and another machine.

    Parameters
    ----------
    curves : mapping of str to Curve
        Curves of kinds, instead of the defaults in `curves.toml`.
    default : Curve, optional
        Curve of every kind not listed anywhere; the default does not gain from more cores.
    noise : float
        Standard deviation of the logarithm of the seconds that really pass over those estimated; drawn per task
        from the replay's seed.
    """

    curves: Mapping[str, Curve] = field(default_factory=dict)
    default: Curve | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.noise < float("inf"):
            raise CostError(f"noise is {self.noise}; it must be zero or more, and finite")

    def curve(self, kind: str) -> Curve:
        """Return the curve of a kind."""
        table, other = default_curves()
        name = normalised(kind)
        for curves in ({normalised(k): c for k, c in self.curves.items()}, table):
            if name in curves:
                return curves[name]
        return self.default or other

    def on(self, graph: TaskGraph, machine: Machine, runtime: RuntimeProfile | None = None) -> TaskCosts:
        """Return the costs of a graph's tasks on a machine.

        Raises
        ------
        CostError
            If a task has no duration, and no FLOPs or bytes to estimate one from.
        """
        runtime = machine.runtime if runtime is None else runtime
        curves = [self.curve(kind) for kind in graph.kinds.labels]
        serial = np.array([c.serial_share for c in curves])[graph.kinds.codes]
        overhead = np.array([c.thread_overhead for c in curves])[graph.kinds.codes]
        fork_join = np.where(serial < 1, runtime.fork_join_s, 0.0), np.where(serial < 1, runtime.fork_join_per_thread_s, 0.0)
        recorded = ~np.isnan(graph.durations_s)
        one_core = _one_core_of_recorded(graph, serial, overhead, *fork_join)
        one_core, floor, notes = _carried(graph, machine, one_core, recorded)
        return TaskCosts(one_core, serial, overhead * np.sqrt(REFERENCE_S * one_core), *fork_join, floor, machine.n_cores, tuple(notes))


@dataclass(frozen=True, eq=False)
class TaskCosts:
    """Seconds of every task of one graph on one machine, by width; see `simsched.costs.curves` for the formula.

    Parameters
    ----------
    one_core_s : float64 array, shape (n,)
        Seconds on one core.
    serial_share, thread_s, fork_join_s, fork_join_per_thread_s : float64 arrays, shape (n,)
        Terms of the curve of each task; all but the share in seconds.
    floor_s : float64 array, shape (n,)
        Least seconds on any width: the task's bytes at the memory's bandwidth, where it was estimated from them.
    n_cores : int
        Cores of the machine: the widest team.
    notes : tuple of str
        Where the seconds came from.
    """

    one_core_s: Seconds
    serial_share: Seconds
    thread_s: Seconds
    fork_join_s: Seconds
    fork_join_per_thread_s: Seconds
    floor_s: Seconds
    n_cores: int
    notes: tuple[str, ...] = ()

    def seconds(self, width: int | npt.NDArray[np.integer]) -> Seconds:
        """Return the seconds of every task on `width` cores, one for all or one a task; shape (n,)."""
        t1, s = self.one_core_s, self.serial_share
        team = s * t1 + (1 - s) * t1 / width + self.thread_s * (width - np.int64(1))
        team = team + self.fork_join_s + self.fork_join_per_thread_s * width
        return np.where(np.equal(width, 1), t1, np.minimum(t1, np.maximum(team, self.floor_s)))

    def part(self, tasks: slice) -> TaskCosts:
        """Return the costs of some of the tasks."""
        columns = (self.one_core_s, self.serial_share, self.thread_s, self.fork_join_s, self.fork_join_per_thread_s, self.floor_s)
        return TaskCosts(*(column[tasks] for column in columns), self.n_cores)

    def seconds_of(self, task: int, width: int) -> float:
        """Return the seconds of one task on `width` cores; the same bits as `seconds`."""
        t1, s = float(self.one_core_s[task]), float(self.serial_share[task])
        if width == 1:
            return t1
        team = s * t1 + (1 - s) * t1 / width + float(self.thread_s[task]) * (width - 1)
        team = team + float(self.fork_join_s[task]) + float(self.fork_join_per_thread_s[task]) * width
        return min(t1, max(team, float(self.floor_s[task])))

    def fastest_widths(self, most: int | None = None) -> npt.NDArray[np.int32]:
        """Return the width on which each task is fastest, the narrowest of equals, at most `most`; shape (n,)."""
        most = self.n_cores if most is None else most
        slope = self.thread_s + self.fork_join_per_thread_s
        with np.errstate(divide="ignore", invalid="ignore"):
            best = np.sqrt((1 - self.serial_share) * self.one_core_s / slope)
        # The curve is convex beyond one core, so the best whole width is next to its minimum.
        low = np.clip(np.nan_to_num(np.floor(best), nan=1.0, posinf=most), 1, most).astype(np.int64)
        widths = np.ones(len(low), np.int64)
        seconds = self.one_core_s
        for candidate in (low, np.minimum(low + 1, most)):
            faster = self.seconds(candidate) < seconds
            widths = np.where(faster, candidate, widths)
            seconds = np.where(faster, self.seconds(candidate), seconds)
        return widths.astype(np.int32)


def _one_core_of_recorded(graph: TaskGraph, serial: Seconds, overhead: Seconds, fork: Seconds, per_thread: Seconds) -> Seconds:
    """Return the one-core seconds whose curve passes through the recorded duration at the recorded width."""
    widths, recorded = graph.widths.astype(np.float64), graph.durations_s
    if (graph.widths == 1).all():
        return recorded.copy()
    # With x = sqrt(t1): (s + (1-s)/w) x^2 + a sqrt(1 ms) (w-1) x + F + f w - d = 0 has one positive root where d > F + f w.
    square = serial + (1 - serial) / widths
    linear = overhead * np.sqrt(REFERENCE_S) * (widths - 1)
    left = np.maximum(recorded - fork - per_thread * widths, 0.0)
    root = (-linear + np.sqrt(linear**2 + 4 * square * left)) / (2 * square)
    # A task that ran on one thread of its team takes as long on one core.
    return np.where(graph.widths > 1, np.maximum(recorded, root**2), recorded)


def _carried(graph: TaskGraph, machine: Machine, one_core: Seconds, recorded: npt.NDArray[np.bool_]) -> tuple[Seconds, Seconds, list[str]]:
    """Carry one-core seconds to `machine`; return them, the bandwidth floor and what was done, in sentences."""
    here = one_core_roofline_s(graph, machine.core_flops, machine.core_bandwidth_Bps)
    origin, notes = graph.recorded_on, []
    carried = np.zeros(graph.n_tasks, bool)
    if origin is not None and origin.core_flops and origin.core_bandwidth_Bps:
        there = one_core_roofline_s(graph, origin.core_flops, origin.core_bandwidth_Bps)
        carried = recorded & (here > 0) & (there > 0)
        one_core = np.where(carried, one_core * np.divide(here, there, out=np.ones(graph.n_tasks), where=carried), one_core)
        if carried.any():
            notes.append(f"{carried.sum()} durations recorded on {origin.name} are carried to {machine.spec} by the ratio of the two rooflines")
    as_they_are = recorded & ~carried
    if as_they_are.any():
        notes.append(f"{as_they_are.sum()} recorded durations are taken as they are")
    if not recorded.all():
        _check_estimable(graph, recorded, here)
        one_core = np.where(recorded, one_core, here)
        notes.append(f"{(~recorded).sum()} tasks without a duration take their roofline time on {machine.spec}")
    floor = np.where(recorded, 0.0, np.nan_to_num(graph.bytes_B) / machine.bandwidth_Bps)
    notes.append(_families(graph))
    return one_core, floor, notes


def _check_estimable(graph: TaskGraph, recorded: npt.NDArray[np.bool_], roofline: Seconds) -> None:
    unknown = np.flatnonzero(~recorded & np.isnan(roofline))
    if len(unknown):
        task = int(unknown[0])
        raise CostError(
            f"task {task} ({graph.task_name(task)!r}) has no duration, and neither FLOPs nor bytes to estimate one from "
            f"({len(unknown)} such tasks); give one of them"
        )


def _families(graph: TaskGraph) -> str:
    table, other = default_curves()
    counts: Counter[str] = Counter()
    for label, count in zip(graph.kinds.labels, np.bincount(graph.kinds.codes, minlength=len(graph.kinds.labels)).tolist(), strict=True):
        counts[table.get(normalised(label), other).family] += count
    return "cost curves: " + ", ".join(f"{count} {family}" for family, count in counts.most_common() if count)
