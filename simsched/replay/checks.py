"""What a replay is asked for, checked before anything is done."""

from __future__ import annotations

import numpy as np

from simsched.costs import CostModel
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.machine import RuntimeProfile
from simsched.replay import engines
from simsched.spec import Engine


def check_graph(graph: object) -> None:
    """Refuse what is no graph."""
    if not isinstance(graph, TaskGraph):
        raise SimschedError(f"graph is {graph!r}; expected a TaskGraph")


def check_inputs(
    graph: object, costs: object, runtime: object, seed: object, engine: Engine = "auto"
) -> None:
    """Refuse what is no graph, cost model, runtime profile, seed or engine; costs and runtime may be None."""
    check_graph(graph)
    for value, kind in ((costs, CostModel), (runtime, RuntimeProfile)):
        if value is not None and not isinstance(value, kind):
            raise SimschedError(f"{value!r} is not a {kind.__name__}")
    check_seed(seed)
    engines.check_engine(engine)


def check_seed(seed: object, what: str = "seed") -> None:
    """Check that random numbers can be drawn from a seed.

    Raises
    ------
    SimschedError
        If not.
    """
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise SimschedError(f"{what} is {seed!r}; expected a whole number of zero or more")
