"""`Inputs`: the inputs of a simulated schedule, so that it can be explained and simulated again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simsched.costs import CostModel
from simsched.graph.taskgraph import Seconds
from simsched.machine import RuntimeProfile
from simsched.policy import Layout, Policy
from simsched.spec import Engine

LayoutBy = Literal["", "given", "estimate", "replays"]


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of `simulate` other than the graph, the machine and the seed, which the schedule itself holds.

    Parameters
    ----------
    policy : Policy
    layout : Layout or None
        The layout used.
    costs : CostModel
    runtime : RuntimeProfile
        The software's own costs.
    factors : float64 array, shape (n,), or None
        Actual over estimated seconds of each task; None where they are the same.
    engine : {"auto", "simpy", "native"}
        The engine asked for.
    engine_why : str
        Why `Schedule.engine` is the engine that replayed it.
    layout_by : {"", "given", "estimate", "replays"}
        Origin of the layout, or of the widths of a policy without one: the caller, an estimate, or replays of several
        layouts, of which this is the shortest; empty where there was nothing to choose.
    layout_why : str
        The same in words.

    Examples
    --------
    >>> import simsched as ss
    >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo")
    >>> str(schedule.inputs.policy), str(schedule.inputs.layout), schedule.inputs.engine
    ('fifo', '2x1', 'auto')
    """

    policy: Policy
    layout: Layout | None
    costs: CostModel
    runtime: RuntimeProfile
    factors: Seconds | None
    engine: Engine
    engine_why: str
    layout_by: LayoutBy = ""
    layout_why: str = ""
