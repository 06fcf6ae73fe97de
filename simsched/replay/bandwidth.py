"""Memory bandwidth that running tasks share, where nothing else is shared (docs/semantics.md, rule 5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simsched.replay.decision import Decision


class Bandwidth:
    """The one memory of a machine while tasks run.

    A task asks for `demand_Bps` while it runs, and for `memory_share` of its seconds the memory limits it. Where the
    demands of all running tasks add up to p times the capacity, p > 1, what is left of every task takes

        (1 - memory_share) + memory_share p

    times as long as alone. The pressure p changes only when tasks start or finish.

    Parameters
    ----------
    capacity_Bps : float
        Bytes a second that the memory moves.
    """

    def __init__(self, capacity_Bps: float) -> None:
        self._capacity_Bps = capacity_Bps
        self._demand_Bps = 0  # whole bytes, so that adding and subtracting leaves no rest
        self._pressure = 1.0
        self._running: dict[int, tuple[float, int]] = {}

    def begin(self, decision: Decision) -> float:
        """Note a task that starts; return how much longer it takes under the pressure of the last update."""
        self._running[decision.task] = (decision.load.memory_share, decision.load.demand_Bps)
        self._demand_Bps += decision.load.demand_Bps
        return stretched(decision.load.memory_share, self._pressure)

    def end(self, task: int) -> None:
        """Forget a task that finished."""
        self._demand_Bps -= self._running.pop(task)[1]

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Nothing: there is one memory, wherever data are."""

    def update(self) -> Iterable[tuple[int, float]]:
        """Take the present demand for the pressure; return the tasks it concerns, and the factor on what is left."""
        before, self._pressure = self._pressure, max(1.0, self._demand_Bps / self._capacity_Bps)
        if self._pressure == before:
            return ()
        return [
            (task, stretched(share, self._pressure) / stretched(share, before))
            for task, (share, _) in self._running.items()
            if share
        ]


def stretched(memory_share: float, pressure: float) -> float:
    """Return the seconds of a task under pressure over its seconds alone."""
    return (1.0 - memory_share) + memory_share * pressure
