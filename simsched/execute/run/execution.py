"""`Execution`: the results of several real runs of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.document.html import card
from simsched.frames import FrameProperty
from simsched.schedule import Schedule
from simsched.units import format_time

#: Share of a run's time that may be stolen before the run is dropped.
MOST_STOLEN = 0.01
#: Undisturbed runs that suffice in any case; of fewer than twice as many runs, half of them do.
FEWEST = 10


def too_few(undisturbed: npt.NDArray[np.bool_]) -> bool:
    """Return whether too few runs were undisturbed for a result, given which were, shape (runs,)."""
    return int(undisturbed.sum()) < min(FEWEST, len(undisturbed) / 2)


@dataclass(frozen=True)
class MeasuredRun:
    """One run.

    Parameters
    ----------
    schedule : Schedule
        Measured times.
    stolen : float
        Largest share of the run's time in which one of its threads had no CPU, because another process or another
        guest of the host had it; NaN where threads share CPUs by design.
    preemptions : int
        Times that the system took a CPU away from one of its threads.
    latency_s : float
        Seconds that a message from the first worker to the second took before the run; NaN where there is one worker.
    wall_s, cpu_s : tuple of float
        Seconds that each thread took part, and had a CPU; that of a scheduler last.
    """

    schedule: Schedule
    stolen: float
    preemptions: int
    latency_s: float
    wall_s: tuple[float, ...]
    cpu_s: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Execution(Sequence[Schedule]):
    """The measured schedules of one graph under one policy and layout, in the order in which they ran.

    Parameters
    ----------
    runs : tuple of MeasuredRun
        All runs but those that warm up.
    most_stolen : float
        Runs with a larger stolen share are dropped from the figures, not from the sequence.
    repeated : int
        Runs that were disturbed and done again in the same turn; they are not in the sequence.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1e-4, 2e-4, 3e-4], [(0, 2)], kinds="spin")
    >>> measured = ss.execute(graph, "critical-path", "1x1", repeats=3)
    >>> len(measured), measured.makespans_s.shape, measured.median_s > 6e-4, measured.spread_s >= 0
    (3, (3,), True, True)
    >>> int(measured.kept.sum()) == len(measured.counting) == 3 - measured.n_dropped, measured.undisturbed.shape
    (True, (3,))
    >>> measured.schedule.engine, measured.median_tasks_s.shape, list(measured.table)
    ('measured', (3,), ['makespan_s', 'stolen', 'preemptions', 'latency_s', 'kept'])
    >>> any(note.startswith("kernels:") for note in measured.notes), measured.latency_s
    (True, nan)
    >>> {*measured.doubts} <= {*measured.notes}
    True
    """

    runs: tuple[MeasuredRun, ...]
    most_stolen: float = MOST_STOLEN
    repeated: int = 0

    @overload
    def __getitem__(self, i: int) -> Schedule: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Schedule, ...]: ...
    def __getitem__(self, i: int | slice) -> Schedule | tuple[Schedule, ...]:
        """Return a schedule, or several."""
        if isinstance(i, slice):
            return tuple(run.schedule for run in self.runs[i])
        return self.runs[i].schedule

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Schedule]:
        return (run.schedule for run in self.runs)

    @cached_property
    def makespans_s(self) -> npt.NDArray[np.float64]:
        """Makespan of each run, dropped ones included, shape (runs,)."""
        return np.array([run.schedule.makespan_s for run in self.runs])

    @cached_property
    def undisturbed(self) -> npt.NDArray[np.bool_]:
        """Which runs lost no more of their time than allowed, shape (runs,)."""
        return np.array([not run.stolen > self.most_stolen for run in self.runs])

    @property
    def n_dropped(self) -> int:
        """Number of runs excluded from all figures because too much of their time was stolen."""
        return int((~self.undisturbed).sum()) if self.undisturbed.any() else 0

    @cached_property
    def kept(self) -> npt.NDArray[np.bool_]:
        """Which runs count: the undisturbed ones, or all where there are none, shape (runs,)."""
        return self.undisturbed if self.undisturbed.any() else np.ones(len(self.runs), bool)

    @property
    def counting(self) -> tuple[Schedule, ...]:
        """The schedules of the runs that count."""
        return tuple(run.schedule for run, kept in zip(self.runs, self.kept, strict=True) if kept)

    @property
    def median_s(self) -> float:
        """Median makespan of the runs that count."""
        return float(np.median(self.makespans_s[self.kept]))

    @property
    def spread_s(self) -> float:
        """Interquartile range of the makespans of the runs that count."""
        low, high = np.percentile(self.makespans_s[self.kept], [25, 75])
        return float(high - low)

    @property
    def uncertainty(self) -> float:
        """Standard error of the median makespan as a share of it; 0 where nothing took time.

        By order statistics: half the distance between the quantiles 1/2 +- 1 / (2 sqrt(n)) of the n runs that count.
        They are sqrt(n) / 2, one standard deviation of the number of runs below the true median, away from the middle.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1e-4], kinds="spin")
        >>> ss.execute(graph, "fifo", "1x1", repeats=1).uncertainty
        0.0
        """
        makespans_s = self.makespans_s[self.kept]
        off = 50 / np.sqrt(len(makespans_s))
        low, high = np.percentile(makespans_s, [50 - off, 50 + off])
        return float(high - low) / 2 / self.median_s if self.median_s > 0 else 0.0

    @property
    def latency_s(self) -> float:
        """Median latency between the first two workers over the runs that count; see `MeasuredRun`."""
        return float(
            np.median([run.latency_s for run, kept in zip(self.runs, self.kept, strict=True) if kept])
        )

    @property
    def schedule(self) -> Schedule:
        """The run whose makespan is nearest to the median: the representative one."""
        distance = np.where(self.kept, np.abs(self.makespans_s - self.median_s), np.inf)
        return self.runs[int(distance.argmin())].schedule

    @cached_property
    def median_tasks_s(self) -> npt.NDArray[np.float64]:
        """Median duration of each task over the runs that count, shape (n,)."""
        return np.median([schedule.finish_s - schedule.start_s for schedule in self.counting], axis=0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for readers of the figures."""
        return (*self.schedule.notes, *self.doubts)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Notes on what other processes took from the runs."""
        lost = f"lost more than {self.most_stolen:.0%} of"
        if not self.undisturbed.any():
            return (
                f"every run {lost} its time to other processes: the figures are of all runs, and worth little",
            )
        if not self.n_dropped:
            return ()
        return (f"{self.n_dropped} of {len(self)} runs {lost} their time to other processes and are dropped",)

    @FrameProperty
    def table(self) -> pd.DataFrame:
        """One row per run: makespan_s, stolen, preemptions, latency_s, kept."""
        return pd.DataFrame(
            {
                "makespan_s": self.makespans_s,
                "stolen": [run.stolen for run in self.runs],
                "preemptions": [run.preemptions for run in self.runs],
                "latency_s": [run.latency_s for run in self.runs],
                "kept": self.kept,
            }
        )

    def summary(self) -> dict[str, object]:
        """Return a readable summary of the case and its results.

        Returns
        -------
        dict of str to object

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1e-4, 2e-4], kinds="spin")
        >>> ss.execute(graph, "fifo", "1x1", repeats=2).summary()["policy"]
        'fifo'
        """
        return {
            "policy": self[0].policy,
            **({"layout": self[0].layout} if self[0].layout else {}),
            "median makespan": format_time(self.median_s),
            "spread": format_time(self.spread_s),
            "runs": f"{int(self.kept.sum())} of {len(self)}",
        }

    def __repr__(self) -> str:
        return f"<Execution of {self[0].graph.name!r}: {', '.join(f'{k}={v}' for k, v in self.summary().items())}>"

    def _repr_html_(self) -> str:
        return card(f"Execution of {self[0].graph.name}", self.summary(), self.notes)
