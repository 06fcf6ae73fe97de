"""By what tasks were slowed down: the schedule walked through again, with the parts of each task's stretch kept."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from simsched.costs.loads import loads
from simsched.errors import SimschedError
from simsched.policy import RankPolicy
from simsched.replay.contention import Contention
from simsched.replay.decision import Decision
from simsched.replay.simulate import effective_runtime
from simsched.schedule.events import Events
from simsched.schedule.explanation.core_time import SLOW_DOWNS

if TYPE_CHECKING:
    import pandas as pd

    from simsched.costs.loads import Load
    from simsched.graph.taskgraph import Seconds
    from simsched.schedule import Schedule
    from simsched.schedule.inputs import Inputs

#: What `Contention.excess` returns.
EXCESSES = SLOW_DOWNS[:5]

#: Looks at a running task that a walk takes by itself, about ten seconds of them.
MOST_LOOKS = 2_000_000


def slow_downs(schedule: Schedule, causes: bool | None = None) -> pd.DataFrame:
    """Return the seconds by which each task took longer than alone, by cause; they add up to the difference.

    A stretch S = 1 + sum of parts runs dt / S of a task's seconds alone in dt; each part takes dt part / S.

    Parameters
    ----------
    schedule : Schedule
    causes : bool, optional
        Whether to tell the causes apart; when not given, where the schedule is not `too_large`.

    Returns
    -------
    DataFrame
        One row a task, a column a cause of `SLOW_DOWNS`.

    Raises
    ------
    SimschedError
        If causes are asked for of a real run, whose tasks do not follow the rules of a replay.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 1.0], bytes_B=[1e10, 1e10])
    >>> machine = "generic[cores=2,core_bandwidth_Bps=1e10,bandwidth_Bps=1e10,contention=false,share_bandwidth=true]"
    >>> slow_downs(ss.simulate(graph, machine, "fifo"))["memory bandwidth"].tolist()
    [1.0, 1.0]
    """
    import pandas as pd

    n, inputs = schedule.graph.n_tasks, schedule.inputs
    parts = {cause: np.zeros(n) for cause in SLOW_DOWNS}
    left = schedule.finish_s - schedule.start_s - schedule.alone_s
    if inputs is None and causes:
        raise SimschedError(
            "the causes of slow-down are known of simulated schedules only; this is a real run"
        )
    rest = "not told apart"
    if inputs is not None:
        parts["noise"] = np.zeros(n) if inputs.factors is None else schedule.alone_s * (inputs.factors - 1.0)
        left = left - parts["noise"]
        told = not schedule.require_machine().effects.any
        if not told and (causes or (causes is None and not too_large(schedule))):
            parts |= dict(zip(EXCESSES, _Walk(schedule, inputs).excess_s().T, strict=True))
            left, told = left - sum(parts[cause] for cause in EXCESSES), True
        if told and not isinstance(inputs.policy, RankPolicy) and any(inputs.runtime.resize_costs_s):
            rest = "team changes"
    parts[rest] = left
    return pd.DataFrame(parts)


def too_large(schedule: Schedule) -> bool:
    """Return whether the causes are told apart only if that is asked for: many tasks share something."""
    if schedule.inputs is None or not schedule.require_machine().effects.any:
        return False
    # A walk looks at all running tasks at every start and finish.
    return int(Events.of(schedule).running.sum()) > MOST_LOOKS


@dataclass(slots=True)
class _Running:
    """A running task: since when its stretch is what it is, and its parts beside 1."""

    since_s: float
    parts: tuple[float, ...] = (0.0,) * len(EXCESSES)


class _Walk:
    """One walk through a simulated schedule."""

    def __init__(self, schedule: Schedule, inputs: Inputs) -> None:
        machine = schedule.require_machine()
        software = effective_runtime(inputs.runtime, inputs.policy)
        costs = inputs.costs.on(schedule.graph, machine, software)
        self._schedule = schedule
        self._loads: list[Load] = loads(costs, schedule.widths, machine.effects).rows()
        self._sharing = Contention(machine)
        self._running: dict[int, _Running] = {}
        self._ends: list[tuple[float, int]] = []
        self._now_s = 0.0
        self._excess_s: Seconds = np.zeros((schedule.graph.n_tasks, len(EXCESSES)))

    def excess_s(self) -> Seconds:
        """Return the seconds that each part of the stretch of each task took, shape (n, causes)."""
        schedule = self._schedule
        for task in schedule.start_order.tolist():
            now_s = float(schedule.start_s[task])
            self._finish(now_s)
            self._go_on(now_s)
            self._sharing.begin(self._decision(task))
            self._running[task] = _Running(now_s)
            heappush(self._ends, (float(schedule.finish_s[task]), task))
        self._finish(inf)
        return self._excess_s

    def _decision(self, task: int) -> Decision:
        cores = self._schedule.cores(task).tolist()
        return Decision(task, 0, 0, 0.0, 0.0, cores, self._loads[task])

    def _finish(self, until_s: float) -> None:
        """End what ends until then."""
        followers = self._schedule.graph.successors
        while self._ends and self._ends[0][0] <= until_s:
            self._go_on(self._ends[0][0])
            task = heappop(self._ends)[1]
            self._pass(task, self._running.pop(task))
            self._sharing.end(task)
            self._sharing.feed(task, followers.neighbours(task).tolist())

    def _go_on(self, until_s: float) -> None:
        """Leave an instant: rates change once all that starts and ends then has done so."""
        if until_s == self._now_s:
            return
        for task, _ in self._sharing.update():
            running = self._running[task]
            self._pass(task, running)
            running.parts = self._sharing.excess(task)
        self._now_s = until_s

    def _pass(self, task: int, running: _Running) -> None:
        """Add what each part took since the stretch of a task changed."""
        passed_s = self._now_s - running.since_s
        if passed_s and any(running.parts):
            self._excess_s[task] += np.multiply(running.parts, passed_s / (1.0 + sum(running.parts)))
        running.since_s = self._now_s
