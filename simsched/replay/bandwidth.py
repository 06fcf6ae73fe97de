"""Memory bandwidth that running tasks share (docs/semantics.md, rule 5)."""

from __future__ import annotations

from collections.abc import Iterable

from simsched.costs.loads import Load
from simsched.replay.decision import Decision


def pressure(demand_Bps: int, bound_Bps: int, capacity_Bps: float) -> float:
    """Return the slowdown of waiting for a memory, at least 1.

    Tasks that ask for D_i and wait for the memory during the share m_i of their seconds take (1 - m_i) + m_i p times as
    long, and then move D_i over that. With p = 1 + (D / C - 1) / m, D = sum D_i and m = sum D_i m_i / D, they move the
    capacity C together where their shares are alike (and a little more where they are not). Where all only wait for the
    memory, p is demand over capacity.

    Parameters
    ----------
    demand_Bps : int
        Sum of the demands.
    bound_Bps : int
        Sum of the demands times the memory shares.
    capacity_Bps : float
        Bytes per second that the memory moves.
    """
    if demand_Bps <= capacity_Bps or not bound_Bps:
        return 1.0
    return 1.0 + (demand_Bps / capacity_Bps - 1.0) * (float(demand_Bps) / float(bound_Bps))


def bound(load: Load) -> int:
    """Return the demand of a task times its memory share, in whole bytes per second."""
    return int(load.demand_Bps * load.memory_share)


def slowdown(memory_share: float, pressure: float) -> float:
    """Return the seconds of a task under pressure over its seconds alone."""
    return (1.0 - memory_share) + memory_share * pressure


class Bandwidth:
    """The only shared resource of running tasks: the machine's memory.

    The pressure changes only when tasks start or finish. `Contention` has the same formula, but starts a task at its
    seconds alone and rescales it at the update of that instant. Here it starts under the pressure of the last update,
    and is rescaled only if that changes. So finish times differ in their last bits, by about 1e-15 of them: replacing
    one by the other changes results. An update of the compiled twin is one pass over two columns.

    Parameters
    ----------
    capacity_Bps : float
        Bytes per second that the memory moves.
    """

    def __init__(self, capacity_Bps: float) -> None:
        self._capacity_Bps = capacity_Bps
        self._pressure = 1.0
        self._running: dict[int, Load] = {}

    def begin(self, decision: Decision) -> float:
        """Add a starting task; return its slowdown under the pressure of the last update."""
        load = decision.load
        self._running[decision.task] = load
        return slowdown(load.memory_share, self._pressure)

    def end(self, task: int) -> None:
        """Remove a finished task."""
        del self._running[task]

    abort = end

    def feed(self, task: int, followers: Iterable[int]) -> None:
        """Do nothing: there is one memory, wherever data are."""

    def update(self) -> Iterable[tuple[int, float]]:
        """Apply the present pressure; return the affected tasks, and the factor on their remaining time."""
        before, loads = self._pressure, self._running.values()
        demand_Bps, bound_Bps = sum(load.demand_Bps for load in loads), sum(map(bound, loads))
        self._pressure = pressure(demand_Bps, bound_Bps, self._capacity_Bps)
        if self._pressure == before:
            return ()
        return [
            (task, slowdown(load.memory_share, self._pressure) / slowdown(load.memory_share, before))
            for task, load in self._running.items()
            if load.memory_share
        ]
