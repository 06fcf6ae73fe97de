"""Memory bandwidth that running tasks share (docs/semantics.md, rule 5)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Bandwidth:
    """The memory of a machine while tasks run.

    A task asks for `demand_Bps` while it runs, and for `memory_share` of its seconds the memory limits it. Where the
    demands of all running tasks add up to p times the capacity, p > 1, what is left of every task takes

        (1 - memory_share) + memory_share p

    times as long as alone. The pressure p changes only when tasks start or finish.

    Parameters
    ----------
    capacity_Bps : float
        Bytes a second that the memory moves.
    demand_Bps : int
        Sum of the demands of the running tasks; whole bytes, so that adding and subtracting leaves no rest.
    pressure : float
        Demand over capacity, at least 1.
    """

    capacity_Bps: float
    demand_Bps: int = 0
    pressure: float = 1.0

    def stretch(self, memory_share: float) -> float:
        """Return how much longer a task takes of which this share is bound by the memory."""
        return stretched(memory_share, self.pressure)

    def update(self) -> float | None:
        """Take the present demand for the pressure; return the pressure before, or None if it has not changed."""
        before = self.pressure
        self.pressure = max(1.0, self.demand_Bps / self.capacity_Bps)
        return None if self.pressure == before else before


def stretched(memory_share: float, pressure: float) -> float:
    """Return the seconds of a task under pressure over its seconds alone."""
    return (1.0 - memory_share) + memory_share * pressure
