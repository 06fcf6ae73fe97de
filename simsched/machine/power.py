"""`Power`: the power that a machine draws, by its number of busy cores."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.machine.schema import PowerTable, si


@dataclass(frozen=True)
class Power:
    """Watts of a whole machine: idle; busy, with next to no load; and all cores busy, linear in their number between.

    Parameters
    ----------
    idle_W, busy_W, all_cores_W : float

    References
    ----------
    Heinrich et al., "Predicting the Energy Consumption of MPI Applications at Scale Using a Single Node", CLUSTER 2017:
    SimGrid's model of hosts.

    Examples
    --------
    Two seconds, one of them with one of four cores busy:

    >>> Power(100.0, 80.0, 200.0).energy_J(2.0, 1.0, 0.25)
    210.0
    """

    idle_W: float
    busy_W: float
    all_cores_W: float

    @classmethod
    def of(cls, table: PowerTable | None, idle: float, cores: float) -> Power | None:
        """Return the power of a checked `[power]` table; None where it states no more than a limit.

        Parameters
        ----------
        table : PowerTable or None
        idle, cores : float
            Factors on what the machine draws with no core busy, and on what all busy cores add to that.
        """
        if table is None or table.idle is None or table.busy is None or table.all_cores is None:
            return None
        idle_W, busy_W, all_W = map(si, (table.idle, table.busy, table.all_cores))
        return cls(idle * idle_W, idle * busy_W, cores * all_W + (idle - cores) * busy_W)

    def energy_J(self, seconds: float, busy_s: float, machine_s: float) -> float:
        """Return the joules of a time.

        Parameters
        ----------
        seconds : float
            All of it.
        busy_s : float
            In which a core was busy.
        machine_s : float
            Core-seconds that were busy, over the number of cores.
        """
        return (
            self.idle_W * (seconds - busy_s)
            + self.busy_W * busy_s
            + (self.all_cores_W - self.busy_W) * machine_s
        )
