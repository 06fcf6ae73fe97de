"""Checks of the arguments of a replay, before any work is done."""

from __future__ import annotations

from typing import get_args

from simsched.costs import CostModel
from simsched.errors import SimschedError
from simsched.machine import RuntimeProfile
from simsched.parameters import is_whole
from simsched.replay import engines
from simsched.replay.memory_limit import MemoryLimit
from simsched.spec import Engine


def check_inputs(costs: object, runtime: object, seed: object, engine: Engine = "auto") -> None:
    """Raise `SimschedError` unless all arguments that `simulate` passes on unchanged have the right type."""
    check_models(costs, runtime)
    check_seed(seed)
    engines.check_engine(engine)


def check_models(costs: object, runtime: object) -> None:
    """Raise `SimschedError` unless these are a cost model and a runtime profile, or None."""
    for what, value, kind in (("costs", costs, CostModel), ("runtime", runtime, RuntimeProfile)):
        if value is not None and not isinstance(value, kind):
            raise SimschedError(
                f"{what} is {value!r:.80}; expected a {kind.__name__}, or None for the default"
            )


def check_seed(seed: object, what: str = "seed") -> None:
    """Check that random numbers can be generated from a seed.

    Raises
    ------
    SimschedError
        If not.
    """
    if not is_whole(seed, 0):
        raise SimschedError(f"{what} is {seed!r}; expected a whole number of zero or more")


def check_memory_limit(limit: object) -> None:
    """Raise `SimschedError` unless `simulate` takes this limit."""
    if limit not in get_args(MemoryLimit):
        raise SimschedError(
            f"memory_limit={limit!r} is unknown; give one of {', '.join(get_args(MemoryLimit))}"
        )
