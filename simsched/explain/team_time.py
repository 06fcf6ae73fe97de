"""Parts of the core-time of teams: work, waiting for memory, overhead, and members without work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.costs.task_costs import TaskCosts
from simsched.errors import SimschedError
from simsched.graph.adjacency import Index
from simsched.graph.taskgraph import Seconds
from simsched.replay.scenario import effective_runtime
from simsched.schedule import Schedule
from simsched.schedule.runs import Runs


@dataclass(frozen=True, eq=False)
class TeamTime:
    """Core-seconds of each task's team, running alone and without noise; the four add up to width x seconds alone.

    All arrays of shape (n,), none negative.

    Parameters
    ----------
    work_s : float64 array
        One core's time; less where a measured curve gains more than its cores: then all of its team's time.
    memory_s : float64 array
        Wait for its own bytes of a team that reaches less bandwidth than its cores would one by one.
    overhead_s : float64 array
        Serial parts, overhead of threads, fork and join.
    idle_s : float64 array
        Of members without work: beyond the pieces that a task divides into, or all but one where it runs on one thread.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0], kinds="mine")
    >>> half_serial = ss.CostModel({"mine": ss.Curve(serial_share=0.5)})
    >>> time = TeamTime.of(ss.simulate(graph, "generic[cores=4]", "sequential", costs=half_serial))
    >>> time.work_s.tolist(), time.overhead_s.tolist(), time.idle_s.tolist()
    ([1.0], [1.5], [0.0])
    """

    work_s: Seconds
    memory_s: Seconds
    overhead_s: Seconds
    idle_s: Seconds

    @classmethod
    def of(cls, schedule: Schedule, costs: TaskCosts | None = None) -> TeamTime:
        """Return the core-time of a schedule's teams; in a real run, whose costs are unknown, all is work.

        Parameters
        ----------
        schedule : Schedule
        costs : TaskCosts, optional
            Result of `costs_of`, if known.
        """
        widths, alone_s = schedule.widths, schedule.alone_s
        if schedule.inputs is None:
            none = np.zeros(len(alone_s))
            return cls(alone_s * widths, none, none, none)
        costs = costs or costs_of(schedule)
        one_core_s, able = costs.one_core_s, np.ceil(np.minimum(widths, costs.pieces))
        # Where a team would take longer, one of its threads does everything.
        helps = alone_s < one_core_s
        if costs.table is not None:
            # Measured curves show neither.
            able, helps = np.where(costs.table.covers, widths, able), helps | costs.table.covers
        members = np.where(helps, able, 1.0)
        work_s = np.minimum(one_core_s, members * alone_s)
        lost_s, idle_s = members * alone_s - work_s, (widths - members) * alone_s
        waiting_s = np.maximum(
            able * costs.traffic_B / costs.reached_Bps(able.astype(np.int64)) - one_core_s, 0.0
        )
        # A team that has no use for more threads because of its bytes waits for the memory with all of them.
        memory_s = np.minimum(waiting_s, np.where(helps, lost_s, idle_s))
        overhead_s = lost_s - np.where(helps, memory_s, 0.0)
        return cls(work_s, memory_s, overhead_s, idle_s - np.where(helps, 0.0, memory_s))


def _where_run(schedule: Schedule, costs: TaskCosts, team: Index) -> TaskCosts:
    """Return the costs of each task on the slowest kind of cores of its team."""
    if costs.kinds_s is None:
        return costs
    teams, kind_of = schedule.teams, schedule.require_machine().kind_of
    present = np.zeros((teams.n, costs.kinds_s.shape[1]), np.bool_)
    present[teams.sources(), kind_of[teams.indices % len(kind_of)]] = True
    return costs.on_kinds(np.where(present[team], costs.kinds_s, -1.0).argmax(axis=1))


def costs_of(schedule: Schedule, runs: Runs | None = None) -> TaskCosts:
    """Return the costs of a simulated schedule's tasks in its replay, each on the kind of cores that ran it.

    Parameters
    ----------
    schedule : Schedule
    runs : Runs, optional
        Of these runs instead.

    Raises
    ------
    SimschedError
        If it is a real run.
    """
    if (inputs := schedule.inputs) is None:
        raise SimschedError("costs are known of simulated schedules only; this is a real run")
    software = effective_runtime(inputs.runtime, inputs.policy)
    costs = inputs.costs.on(schedule.graph, schedule.require_machine(), software)
    if runs is not None:
        return _where_run(schedule, costs.part(runs.task), runs.team)
    return _where_run(schedule, costs, schedule.team)
