"""`TaskCosts`: seconds of the tasks of one graph on one machine, by width."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from simsched.graph.taskgraph import Seconds


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
        columns = {
            name: column[tasks] for name, column in vars(self).items() if isinstance(column, np.ndarray)
        }
        return replace(self, **columns)  # type: ignore[arg-type] # columns are arrays, whatever their names

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
