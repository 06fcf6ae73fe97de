"""`Overheads`: the measured costs of the software itself."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf

from simsched.costs.fitting.points import STRICT
from simsched.errors import CostError
from simsched.machine.runtime import RuntimeProfile


@dataclass(frozen=True)
class Overheads:
    """Measured costs of the software itself, in seconds; None where they were not measured.

    Parameters
    ----------
    dispatch_s : float or None
        A decision of the scheduler.
    decide_s : float or None
        A decision of a policy that chooses widths at run time.
    pop_s, pop_per_poller_s : float or None
        Taking a task from a shared queue, and the addition of each further polling executor.
    fork_join_s, fork_join_per_thread_s : float or None
        Forking and joining a team, and the addition of each thread.
    barrier_s, barrier_per_thread_s : float or None
        The barrier at the end of a team's work, and the addition of each thread.
    wake_up_s : float or None
        From waking a sleeping thread to its first instruction.

    Examples
    --------
    >>> from simsched.costs.fitting import Overheads
    >>> Overheads(dispatch_s=2e-7).runtime().dispatch_s
    2e-07
    """

    __pydantic_config__ = STRICT

    dispatch_s: float | None = None
    decide_s: float | None = None
    pop_s: float | None = None
    pop_per_poller_s: float | None = None
    fork_join_s: float | None = None
    fork_join_per_thread_s: float | None = None
    barrier_s: float | None = None
    barrier_per_thread_s: float | None = None
    wake_up_s: float | None = None

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if value is not None and not 0 <= value < inf:
                raise CostError(f"overhead {name} is {value}; it must be zero or more, finite, or None")

    def runtime(self, base: RuntimeProfile | None = None) -> RuntimeProfile:
        """Return a runtime profile with the measured values; the rest from `base` (nothing by default)."""
        known = {f.name for f in fields(RuntimeProfile)}
        measured = {f.name: getattr(self, f.name) for f in fields(self) if f.name in known}
        return replace(base or RuntimeProfile(), **{name: v for name, v in measured.items() if v is not None})
