"""Which resource binds: what the makespan is made of, along the critical path through time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simsched.replay.simulate import effective_runtime
from simsched.schedule.explanation.core_time import SLOW_DOWNS
from simsched.schedule.explanation.steps import Steps
from simsched.schedule.explanation.waits import RELATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from simsched.graph.taskgraph import Seconds
    from simsched.schedule import Schedule
    from simsched.schedule.explanation.waits import Waits

#: All that can bind; of equal ones the first does.
RESOURCES = (
    "dependences",
    "cores",
    "teams",
    *(cause for cause in SLOW_DOWNS if cause != "noise"),
    "dispatch",
    "queue",
)


def bound_by(schedule: Schedule) -> Mapping[str, float]:
    """Return the seconds of the makespan by the resource that they are put down to; their sum is the makespan.

    Walked is the critical path through time (docs/explaining.md) of a simulated schedule. Put down are

    - to what tasks share (`memory bandwidth`, `tiles`, ...): by how much others slowed a task on the path down
    - to `memory bandwidth`, too: by how much its team waits for its own bytes
    - to `teams`: what else it takes longer than its one-core seconds over its width, as teams divide no work perfectly
    - to `dispatch` and `queue`: decisions, and waits for them
    - to `cores` what is left of a task that had waited for them, or ran while another waited for them; to
      `dependences` what is left then, and all of both where the makespan is that of the longest chain of tasks

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> dict(bound_by(ss.simulate(graph, "generic[cores=1]", "fifo")))
    {'cores': 6.0}
    >>> dict(bound_by(ss.simulate(graph, "generic[cores=2]", "fifo")))
    {'dependences': 4.0}
    """
    why = schedule.explain()
    path, seconds = why.critical_path, dict.fromkeys(RESOURCES, 0.0)
    for part in ("dispatch", "queue"):
        seconds[part] += float(path.loc[path["part"] == part, "seconds_s"].sum())
    ran = path[path["part"] == "run"]
    tasks, left = ran["task"].to_numpy(), ran["seconds_s"].to_numpy(copy=True)
    longer = {str(cause): slower.to_numpy() for cause, slower in why.slow_downs.items() if cause in RESOURCES}
    for cause, slower in [*longer.items(), *_lost_in_teams(schedule).items()]:
        seconds[cause] += float(slower[tasks].sum())
        left -= slower[tasks]
    scarce = _scarce(schedule, why.waits, ran)
    seconds["cores"] += float(left @ scarce)
    seconds["dependences"] += float(left @ (1 - scarce))
    return {resource: one for resource, one in seconds.items() if one}


def _scarce(schedule: Schedule, waits: Waits, ran: pd.DataFrame) -> Seconds:
    """Return in which share of each run on the path cores were scarce, shape (runs,)."""
    chain_s = float(schedule.graph.levels(schedule.finish_s - schedule.start_s).max(initial=0.0))
    if chain_s >= schedule.makespan_s * (1 - RELATIVE):
        return np.zeros(len(ran))
    begin_s, end_s = ran["begin_s"].to_numpy(), ran["end_s"].to_numpy()
    late = waits.no_core_s > 0
    waiting = Steps.of(waits.ready_s[late], waits.held_s[late], np.ones(int(late.sum()), np.int64))
    scarce = waiting.above(0, begin_s, end_s) / (end_s - begin_s)
    return np.where(ran["after"] == "no core", 1.0, np.minimum(scarce, 1.0))


def _lost_in_teams(schedule: Schedule) -> Mapping[str, Seconds]:
    """Return by how much each task alone takes longer than its one-core seconds over its width, by cause.

    Of a noisy task every part of its seconds is as much longer or shorter as all of it.
    """
    inputs = schedule.inputs
    assert inputs is not None  # noqa: S101 - narrows the type: simulated schedules have their inputs
    software = effective_runtime(inputs.runtime, inputs.policy)
    costs = inputs.costs.on(schedule.graph, schedule.require_machine(), software)
    perfect = costs.one_core_s / schedule.widths
    lost = np.maximum(schedule.alone_s - perfect, 0.0)
    memory = np.minimum(lost, np.maximum(costs.traffic_B / costs.reached_Bps(schedule.widths) - perfect, 0.0))
    passed = 1.0 if inputs.factors is None else inputs.factors
    return {"memory bandwidth": memory * passed, "teams": (lost - memory) * passed}


def binding(schedule: Schedule) -> tuple[str, float]:
    """Return the resource that most of the makespan is put down to, and its share; ("nothing", 0.0) of no length."""
    seconds = bound_by(schedule)
    if not seconds:
        return "nothing", 0.0
    most = max(seconds, key=lambda resource: seconds[resource])
    return most, seconds[most] / schedule.makespan_s
