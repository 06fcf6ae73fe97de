"""`Clocks`: the frequency of cores by the number of busy ones and the width of their vectors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field

from simsched.errors import MachineError


@dataclass(frozen=True)
class Clocks:
    """Frequencies of a machine's cores.

    Parameters
    ----------
    nominal_Hz : float
        Frequency of all cores without a table.
    busy : tuple of int
        Busy cores of a chip up to which each frequency of `by_vector` holds, ascending; beyond the last, the last.
    by_vector : mapping of str to tuple of float
        Frequencies in Hz by width of the vectors in use: "scalar", "avx2", "avx512", from narrow to wide.

    Examples
    --------
    >>> import simsched as ss
    >>> clocks = ss.machine("xeon-8160x2").clocks
    >>> clocks.at(1) / 1e9, clocks.at(24) / 1e9, clocks.at(24, "scalar") / 1e9
    (3.5, 2.0, 2.8)
    >>> ss.machine("generic").clocks.at(16) / 1e9
    1.0
    """

    nominal_Hz: float
    busy: tuple[int, ...] = ()
    by_vector: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def at(self, busy: int, vector: str | None = None) -> float:
        """Return the frequency while so many cores of a chip are busy.

        Parameters
        ----------
        busy : int
            At least 1.
        vector : str, optional
            A key of `by_vector`; the widest when not given.

        Raises
        ------
        MachineError
            If no core is busy, or the machine's table has no such vectors.
        """
        if busy < 1:
            raise MachineError(f"{busy} busy cores; expected at least 1")
        if not self.by_vector:
            return self.nominal_Hz
        name = list(self.by_vector)[-1] if vector is None else vector
        if name not in self.by_vector:
            raise MachineError(f"vectors {name!r} are none of {', '.join(self.by_vector)}")
        return self.by_vector[name][min(bisect_left(self.busy, busy), len(self.busy) - 1)]

    def gain(self, busy: int) -> float:
        """Return the frequency ratio with the widest vectors, so many cores busy over all busy; at least 1.

        Parameters
        ----------
        busy : int
            At least 1.
        """
        return self.at(busy) / self.at(self.busy[-1]) if self.by_vector else 1.0
