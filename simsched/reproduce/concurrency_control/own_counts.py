"""Strategy 3 to the letter: where no op fits, the most time-consuming starts all the same, at its own thread count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simsched.policies.corun import CoRun
from simsched.policy import CandidateRule, Start

if TYPE_CHECKING:
    from simsched.policy import Problem
    from simsched.policy.view import View


@dataclass(frozen=True, eq=False)
class OwnCounts(CandidateRule):
    """Candidate widths on the first hardware threads of cores; the longest task does not wait until its own fits.

    While a core idles and nothing fits, the most time-consuming ready task starts at its first width: on the cores that
    idle, and for the rest of its threads on second hardware threads of busy ones.

    Parameters
    ----------
    small : bool
        Strategy 4: whether small tasks start on second hardware threads, as in `CandidateRule`.
    """

    small: bool = True

    def decide(self, view: View) -> Iterable[Start]:
        """Return the one task to start next, on its cores, if any."""
        for start in super().decide(view):
            if start.cores:
                yield start
                continue
            idle, cores = view.idle_cores, view.problem.machine.n_cores
            first = bisect_left(idle, cores)
            pool = idle[:first] if first else idle
            yield replace(start, cores=tuple(pool[: start.width]))

    def _longest(self, view: View, idle: int) -> Start | None:
        _, least = max((self._offers[task][0][1], -task) for task in view.ready)
        width = self._offers[-least][0][0]
        cores = tuple(view.idle_cores[idle:][: max(width - idle, 0)])
        enough = min(width, idle) + len(cores) == width
        return Start(-least, cores=(*view.idle_cores[: min(width, idle)], *cores)) if enough else None

    def _on_second_threads(self, view: View) -> Start | None:
        return super()._on_second_threads(view) if self.small else None


@dataclass(frozen=True)
class Strategies(CoRun):
    """Strategies 1 to 3 of concurrency control, and 4 with `small`, on a machine with two hardware threads a core.

    Parameters
    ----------
    small : bool
        Strategy 4.
    """

    per_kind: bool = True
    smt: bool = True
    small: bool = True

    def prepared(self, problem: Problem) -> OwnCounts:
        """Return the rule with every task's candidate widths."""
        rule = super().prepared(problem)
        assert isinstance(rule, CandidateRule)  # noqa: S101 - narrows the type
        return OwnCounts(
            rule.widths,
            rule.estimates_s,
            rule.most,
            offered=rule.offered,
            serial_s=rule.serial_s,
            small=self.small,
        )
