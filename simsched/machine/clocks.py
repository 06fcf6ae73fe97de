"""`Clocks`: the frequency of cores by the number of busy ones and the width of their vectors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
    line : bool
        Whether frequencies between those of `busy` lie on a straight line, instead of steps.

    Examples
    --------
    >>> import simsched as ss
    >>> clocks = ss.machine("xeon-8160x2").clocks
    >>> clocks.at(1) / 1e9, clocks.at(24) / 1e9, clocks.at(24, "scalar") / 1e9
    (3.5, 2.0, 2.8)
    >>> boosting = Clocks(2e9, (1, 9), {"scalar": (4e9, 3e9)}, line=True)
    >>> [boosting.at(busy) / 1e9 for busy in (1, 5, 9, 20)]
    [4.0, 3.5, 3.0, 3.0]
    >>> ss.machine("generic").clocks.at(16) / 1e9
    1.0
    """

    nominal_Hz: float
    busy: tuple[int, ...] = ()
    by_vector: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    line: bool = False

    @property
    def most_Hz(self) -> float:
        """The highest frequency of a core: the table's, the nominal one without a table.

        Examples
        --------
        >>> import simsched as ss
        >>> [ss.machine(name).clocks.most_Hz / 1e9 for name in ("xeon-8470", "graviton4")]
        [3.8, 2.8]
        """
        return max((row[0] for row in self.by_vector.values()), default=self.nominal_Hz)

    @property
    def boost(self) -> float:
        """The highest frequency with the widest vectors over the nominal one; at least 1.

        Examples
        --------
        >>> Clocks(2e9, (1, 8), {"scalar": (4e9, 3e9), "avx512": (3e9, 2e9)}).boost
        1.5
        """
        return max(self.at(1) / self.nominal_Hz, 1.0)

    def rising(self, share: float) -> Clocks:
        """Return clocks that rise by a share of what these do where fewer cores are busy.

        Parameters
        ----------
        share : float
            From 0 to 1.

        Examples
        --------
        >>> half = Clocks(2e9, (1, 8), {"scalar": (4e9, 3e9)}).rising(0.5)
        >>> half.at(1) / 1e9, half.at(8) / 1e9
        (3.5, 3.0)
        """
        rows = {
            name: tuple(row[-1] + share * (Hz - row[-1]) for Hz in row)
            for name, row in self.by_vector.items()
        }
        return replace(self, by_vector=rows)

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
        row, place = self.by_vector[name], min(bisect_left(self.busy, busy), len(self.busy) - 1)
        if not self.line or place == 0 or busy >= self.busy[place]:
            return row[place]
        share = (busy - self.busy[place - 1]) / (self.busy[place] - self.busy[place - 1])
        return row[place - 1] + share * (row[place] - row[place - 1])

    def gain(self, busy: int) -> float:
        """Return the frequency ratio with the widest vectors, so many cores busy over all busy; at least 1.

        Parameters
        ----------
        busy : int
            At least 1.
        """
        return self.at(busy) / self.at(self.busy[-1]) if self.by_vector else 1.0
