"""lws: StarPU's locality work stealing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policies.work_stealing import Able, Stealing, WorkStealing
from simsched.policy import Problem
from simsched.policy.planning import priorities_note, recorded_priorities


@dataclass(frozen=True)
class Lws(WorkStealing):
    """Locality Work Stealing of StarPU: a core runs its own task of the highest priority, the oldest of several.

    A thief takes from the nearest core that has a task: of the highest priority there, too, but the newest. All else is
    as of `work-stealing`, which takes the newest and steals the oldest. Priorities are those of a recording, as
    applications gave them; without any, levels, the longest estimates to a sink, which they may give.

    Parameters
    ----------
    victims
        As of `work-stealing`.
    priorities : bool
        Whether priorities count. Without, tasks are taken by age alone, as those of an application that gives none.

    References
    ----------
    StarPU 1.4, work_stealing_policy.c (lws) and prio_deque.c: what is pushed at the back is popped from the front, and
    stolen from the back.

    Examples
    --------
    0 leaves 1, 2 and 3 on core 0, of which 2 has more after it: core 0 runs that, core 1 steals the newest other, 3.
    Without priorities, core 0 runs the oldest, 1:

    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0, 2.0, 5.0], [(0, 1), (0, 2), (0, 3), (2, 4)])
    >>> for policy in ("lws", "lws[priorities=false]"):
    ...     print(ss.simulate(graph, "generic[cores=2]", policy).tasks["first_core"].tolist())
    [0, 1, 0, 1, 0]
    [0, 0, 0, 1, 0]
    """

    name = "lws"

    victims: str = "near"
    priorities: bool = True

    def stealing(self, problem: Problem, teams: list[list[int]], able: Able = None) -> Stealing:
        """Return what decides a replay, for workers on these threads."""
        ranks, given = np.zeros(problem.graph.n_tasks), recorded_priorities(problem)
        if self.priorities:
            ranks = -problem.levels if given is None else -given
        notes = (priorities_note(problem, "levels"),) if self.priorities else ()
        return Stealing(self.victims, problem, teams, ranks.tolist(), able, oldest=True, notes=notes)
