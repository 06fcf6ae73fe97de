"""CPA: widths of moldable tasks from the critical path, then a list schedule (Radulescu and van Gemund)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from simsched.graph.adjacency import Index
from simsched.notes import Note, Weight
from simsched.policy import Layout, Platform, Policy, Problem, Start, View
from simsched.policy.placement import executor_cores
from simsched.policy.planning import critical_widths, plan_teams

#: What machines with kinds of cores lack.
ALIKE = "assumes that all cores are alike, and these are not: it plans with other seconds than its teams take"


@dataclass(frozen=True)
class Cpa(Policy):
    """Critical Path and Area: tasks on the critical path get cores, until it is no longer than the cores' mean load.

    All begin on one core. The task of the critical path whose seconds per core fall most gets one more, again and
    again, at most the width on which it is fastest. Then the ready task of the highest level takes the cores that are
    free first. The plan is made before the replay; in it, each core runs its tasks in the planned order, and data are
    sent to a team's first core when they are written.

    Cost: O(grown widths x tasks on the critical path + tasks x cores).

    References
    ----------
    Radulescu, van Gemund: A Low-Cost Approach towards Mixed Task and Data Parallel Scheduling. ICPP 2001, Sec. 4.

    Examples
    --------
    Tasks that divide evenly, on four cores: on three the first, of 8 s, is still longer than the mean load of 9/4 s:

    >>> import simsched as ss
    >>> graph, even = ss.TaskGraph.from_edges([8.0, 1.0], kinds=["a", "a"]), ss.CostModel(curves={"a": ss.Curve(0.0)})
    >>> schedule = ss.simulate(graph, "generic[cores=4]", "cpa", costs=even)
    >>> schedule.tasks["width"].tolist(), schedule.start_s.tolist()
    ([4, 1], [0.0, 2.0])
    """

    name = "cpa"
    any_core = True
    family = "moldable"
    #: Whether the tasks of a level have no more cores together than there are.
    by_level: ClassVar[bool] = False

    def widths(self, problem: Problem, platform: Platform) -> tuple[Index, npt.NDArray[np.float64]]:
        """Return the width of each task, and its seconds on 1, 2, ... cores."""
        most = problem.fastest_widths.astype(np.int32)
        columns = [problem.costs.seconds(width) for width in range(1, int(most.max(initial=1)) + 1)]
        table = np.stack(columns, axis=1)
        group = problem.graph.depths.astype(np.int32) if self.by_level else None
        return critical_widths(platform, table, most, group), table

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with its plan."""
        machine = problem.machine
        cores = executor_cores(machine, Layout(machine.n_threads, 1), "compact")
        platform = problem.platform(cores)
        width, table = self.widths(problem, platform)
        seconds = table[np.arange(len(width)), width - 1]
        teams, order = plan_teams(platform, width, seconds, problem.graph.levels(seconds))
        notes = () if machine.kinds is None else (Note(f"{self.name} {ALIKE}", Weight.DOUBT),)
        return _Planned.of([sorted(cores.indices[team].tolist()) for team in teams], order, notes)


@dataclass(frozen=True, eq=False)
class _Planned(Policy):
    """Teams that are planned: a task starts when all its cores have nothing planned before it."""

    name = Cpa.name

    teams: list[list[int]]
    place: list[int]  # of each task in the plan
    queues: dict[int, deque[int]]
    notes: tuple[str, ...]
    ready: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, teams: list[list[int]], order: Index, notes: tuple[str, ...]) -> _Planned:
        """Return the policy of a plan."""
        queues: dict[int, deque[int]] = {}
        place = [0] * len(teams)
        for at, task in enumerate(order.tolist()):
            place[task] = at
            for core in teams[task]:
                queues.setdefault(core, deque()).append(task)
        return cls(teams, place, queues, notes)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the plan assumes and the machine is not."""
        return self.notes

    @property
    def planned_cores(self) -> list[int]:
        """First core of each task's team."""
        return [team[0] for team in self.teams]

    def decide(self, view: View) -> Iterable[Start]:
        """Return the tasks that are next on all their cores."""
        self.ready.update(view.newly_ready)
        idle = set(view.idle_cores)
        heads = {queue[0] for core in idle if (queue := self.queues.get(core))}
        found = []
        for task in sorted(heads & self.ready, key=self.place.__getitem__):
            team = self.teams[task]
            if all(core in idle and self.queues[core][0] == task for core in team):
                found.append(Start(task, cores=tuple(team)))
                self.ready.remove(task)
                idle.difference_update(team)
                for core in team:
                    self.queues[core].popleft()
        return found
