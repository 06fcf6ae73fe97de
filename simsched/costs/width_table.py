"""Measured seconds by width, or those learned from measurements, in place of the formula."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from simsched.errors import CostError
from simsched.graph.taskgraph import Seconds

if TYPE_CHECKING:
    from simsched.costs.task_costs import Width
    from simsched.graph import TaskGraph
    from simsched.machine import Machine

#: In place of the widest measured team of a curve: the curve is a model's.
UNMEASURED = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class WidthTable:
    """Seconds of tasks by width, as a table of curves and the curve of each task.

    Parameters
    ----------
    rows : int32 array, shape (n,)
        Curve of each task; -1 for tasks that keep the formula.
    seconds_s : float64 array, shape (curves, widest + 1)
        Seconds of each curve on 0 to `widest` threads; column 0 is not used. Wider teams take as long as the widest.
    overhead_s : float64 array, shape (curves,)
        Seconds that each further thread adds, as far as known: the A of `simsched.costs.curves`.
    measured_to : int64 array, shape (curves,), optional
        Widest team on which each curve was measured; beyond, it continues by a rule. `UNMEASURED` for a model's curves,
        None where all are a model's.

    Raises
    ------
    CostError
        If a number is negative or not finite, or a task names a missing curve.
    """

    rows: npt.NDArray[np.int32]
    seconds_s: Seconds
    overhead_s: Seconds
    measured_to: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.seconds_s.ndim != 2 or self.seconds_s.shape[1] < 2:
            raise CostError(
                f"a table of seconds has shape {self.seconds_s.shape}; expected (curves, widest + 1)"
            )
        if self.overhead_s.shape != self.seconds_s.shape[:1]:
            raise CostError(f"{len(self.overhead_s)} overheads for {len(self.seconds_s)} curves")
        used = (self.seconds_s[:, 1:], self.overhead_s)
        if any((~np.isfinite(part) | (part < 0)).any() for part in used):
            raise CostError("a table of seconds holds a number that is negative or not finite")
        if len(self.rows) and not -1 <= self.rows.min() <= self.rows.max() < len(self.seconds_s):
            raise CostError(f"a task names a curve beyond the {len(self.seconds_s)} of its table")
        for column in (self.rows, self.seconds_s, self.overhead_s):
            column.setflags(write=False)

    @cached_property
    def covers(self) -> npt.NDArray[np.bool_]:
        """Whether each task has a curve here, shape (n,)."""
        return self.rows >= 0

    def over(self, formula: Seconds, width: Width) -> Seconds:
        """Return the seconds of every task on a width: those of its curve, else those given; shape (n,)."""
        at = np.minimum(width, self.seconds_s.shape[1] - 1)
        return self._or(formula, lambda rows, covered: self.seconds_s[rows, _of(at, covered)])

    def one_core(self, formula: Seconds) -> Seconds:
        """Return the one-core seconds of every task, likewise."""
        return self._or(formula, lambda rows, _: self.seconds_s[rows, 1])

    def fastest(self, formula: npt.NDArray[np.int64], most: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Return the narrowest fastest width of every task, up to the most threads of its team, likewise."""
        found = formula.copy()
        for limit in np.unique(most):
            best = self.seconds_s[:, 1 : limit + 1].argmin(axis=1) + 1
            here = self.covers & (most == limit)
            found[here] = best[self.rows[here]]
        return found

    def least_core_seconds(self, formula: Seconds) -> Seconds:
        """Return the least core-seconds of every task over all widths, likewise."""
        area = (self.seconds_s[:, 1:] * np.arange(1, self.seconds_s.shape[1])).min(axis=1, initial=np.inf)
        return self._or(formula, lambda rows, _: area[rows])

    def overhead(self, formula: Seconds, seconds: Seconds, width: Width) -> Seconds:
        """Return the share of every task's seconds spent on the overhead of its threads, likewise."""
        more = np.asarray(width - np.int64(1))

        def share(rows: npt.NDArray[np.int32], covered: npt.NDArray[np.bool_]) -> Seconds:
            here, one_core = seconds[covered], self.seconds_s[rows, 1]
            found: Seconds = np.zeros(len(rows))
            gains = (here > 0) & (here < one_core)
            added = self.overhead_s[rows] * _of(more, covered)
            with np.errstate(over="ignore"):
                np.divide(added, here, out=found, where=gains)
            return np.minimum(found, 1.0)

        return self._or(formula, share)

    def seconds_of(self, task: int, width: int) -> float | None:
        """Return the seconds of one task; None for tasks that keep the formula. The same bits as `over`."""
        row = int(self.rows[task])
        return None if row < 0 else float(self.seconds_s[row, min(width, self.seconds_s.shape[1] - 1)])

    def overhead_of(self, task: int, width: int) -> float | None:
        """Return the overhead share of one task, likewise; the same bits as `overhead`."""
        row, seconds = int(self.rows[task]), self.seconds_of(task, width)
        if seconds is None:
            return None
        added = float(self.overhead_s[row]) * (width - 1)
        return min(added / seconds, 1.0) if 0 < seconds < float(self.seconds_s[row, 1]) else 0.0

    def beyond(self, width: Width) -> npt.NDArray[np.bool_]:
        """Return whether each task would run on more threads than its curve was measured on, shape (n,)."""
        if self.measured_to is None:
            return np.zeros(len(self.rows), np.bool_)
        most = np.where(self.covers, self.measured_to[self.rows], UNMEASURED)
        return np.asarray(most < width)

    def no_faster(self, least_s: Seconds, cores: int) -> WidthTable:
        """Return the table with no task faster than so many seconds of one core, shape (n,), shared by a team."""
        most = np.full(len(self.seconds_s), np.inf)
        np.minimum.at(most, self.rows[self.covers], least_s[self.covers])
        shared = most[:, None] / np.clip(np.arange(self.seconds_s.shape[1]), 1, cores)
        return replace(self, seconds_s=np.maximum(self.seconds_s, np.where(np.isfinite(shared), shared, 0.0)))

    def or_else(self, other: WidthTable) -> WidthTable:
        """Return the table with a task's curve from this one, else from the other."""
        widest = max(self.seconds_s.shape[1], other.seconds_s.shape[1])
        curves = [_widened(table.seconds_s, widest) for table in (self, other)]
        known = [table._measured_to() for table in (self, other)]
        return WidthTable(
            np.where(
                self.covers, self.rows, np.where(other.covers, other.rows + len(self.seconds_s), -1)
            ).astype(np.int32),
            np.concatenate(curves),
            np.concatenate([self.overhead_s, other.overhead_s]),
            None if self.measured_to is None and other.measured_to is None else np.concatenate(known),
        )

    @property
    def modelled(self) -> npt.NDArray[np.bool_]:
        """Which curves were not measured on any width, shape (curves,)."""
        return np.equal(self._measured_to(), UNMEASURED)

    def _measured_to(self) -> npt.NDArray[np.int64]:
        if self.measured_to is not None:
            return self.measured_to
        return np.full(len(self.seconds_s), UNMEASURED)

    def part(self, tasks: slice | npt.NDArray[np.int32]) -> WidthTable:
        """Return the table of some of the tasks."""
        return replace(self, rows=self.rows[tasks])

    def beside(self, one_core_s: Seconds) -> WidthTable:
        """Return the table of the same tasks on other cores: each curve in proportion to seconds on one of these.

        Parameters
        ----------
        one_core_s : float64 array, shape (n,)
            Seconds of each task on one of the other cores.
        """
        covered = np.flatnonzero(self.covers)
        pairs = np.stack([self.rows[covered].astype(np.float64), one_core_s[covered]])
        distinct, number = np.unique(pairs, axis=1, return_inverse=True)
        old, here = distinct[0].astype(np.int64), distinct[1]
        here = np.where(np.isinf(here), 0.0, here)  # which these costs replace
        known = self.seconds_s[old, 1]
        factor = np.divide(here, known, out=np.ones(len(here)), where=known > 0)
        seconds_s = self.seconds_s[old] * factor[:, None]
        seconds_s[:, 1] = here
        rows = np.full(len(self.rows), -1, np.int32)
        rows[covered] = number
        known_to = None if self.measured_to is None else self.measured_to[old]
        return WidthTable(rows, seconds_s, self.overhead_s[old] * factor, known_to)

    def _or(self, formula: npt.NDArray[np.generic], found: _Found) -> npt.NDArray[np.float64]:
        result = np.array(formula)
        covered = self.covers
        result[covered] = found(self.rows[covered], covered)
        return result


def _widened(seconds_s: Seconds, columns: int) -> Seconds:
    """Return a table of more columns: wider teams take as long as the widest."""
    more = columns - seconds_s.shape[1]
    return np.concatenate([seconds_s, np.repeat(seconds_s[:, -1:], more, axis=1)], axis=1)


class _Found(Protocol):
    def __call__(
        self, rows: npt.NDArray[np.int32], covered: npt.NDArray[np.bool_], /
    ) -> npt.NDArray[np.generic]: ...


def _of(
    value: npt.NDArray[np.integer] | np.integer, covered: npt.NDArray[np.bool_]
) -> npt.NDArray[np.integer]:
    """Return the values of the covered tasks, where there is one per task, else the scalar."""
    column = np.asarray(value)
    return column[covered] if column.ndim else column


class MeasuredSeconds(Protocol):
    """Interface that gives measured seconds to a `CostModel`; see `simsched.costs.fitting.MeasuredCurves`."""

    def on(self, graph: TaskGraph, machine: Machine) -> tuple[WidthTable, tuple[str, ...]]:
        """Return the table of a graph's tasks on a machine, and a description of the steps, in sentences.

        Raises
        ------
        CostError
            If they were measured on another machine, and that was not allowed.
        """

    def sampled(self, generator: np.random.Generator) -> MeasuredSeconds:
        """Return seconds sampled from their uncertainty; the same seconds where it is unknown."""
