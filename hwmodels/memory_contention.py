"""`[contention]`: measured waits between threads that write shared memory concurrently."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from simsched.errors import MachineError
from simsched.machine.schema import UNITS, Quantities, Strict, factor


class Contention(Strict):
    """Waits of the updates of shared weights in seconds, by the number of concurrent writers.

    Parameters
    ----------
    writers : list of int
        Numbers of threads that were measured, ascending.
    seconds : mapping of str to Quantities
        Measurements with each of them, by size of the network.

    References
    ----------
    CHAOS: A Parallelization Scheme for Training Convolutional Neural Networks on Intel Xeon Phi, 2017, Table 4.

    Examples
    --------
    >>> import simsched as ss
    >>> waits = ss.machine("knc-7120p").tables["contention"]
    >>> waits.writers[0], waits.contention_s(240, "small") > waits.contention_s(60, "small")
    (1, True)
    """

    writers: Annotated[tuple[Annotated[int, Field(ge=1, strict=True)], ...], Field(min_length=2)]
    seconds: Annotated[dict[str, Quantities], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_time_a_number(self) -> Self:
        mistakes = []
        if list(self.writers) != sorted(set(self.writers)):
            mistakes.append(f"writers: {list(self.writers)} do not ascend")
        for size, measured in self.seconds.items():
            if measured.unit not in UNITS["time"]:
                mistakes.append(f"seconds.{size}: unit {measured.unit!r} does not measure time")
            if len(measured.value) != len(self.writers):
                mistakes.append(
                    f"seconds.{size}: {len(measured.value)} times for {len(self.writers)} numbers of writers"
                )
            if min(measured.value) < 0:
                mistakes.append(f"seconds.{size}: {min(measured.value):g} is below 0")
        if mistakes:
            raise ValueError("; ".join(mistakes))
        return self

    def contention_s(self, writers: int, size: str) -> float:
        """Return the total seconds that some threads wait when they write concurrently.

        Between measured numbers the time is interpolated linearly. Beyond the largest it follows the least-squares
        line through all of them, which is how the paper's own rows for 480 to 3,840 threads come about (each within
        0.4 %), and is at least the last measurement.

        Parameters
        ----------
        writers : int
            Threads, at least the smallest number measured.
        size : str
            Size of the network: a key of `seconds`.

        Raises
        ------
        MachineError
            If the size is unknown, or the threads are fewer than were ever measured.
        """
        if size not in self.seconds:
            raise MachineError(
                f"no memory contention was measured for size {size!r}; there are {', '.join(self.seconds)}"
            )
        if writers < self.writers[0]:
            raise MachineError(
                f"memory contention of {writers} threads: the fewest measured are {self.writers[0]}"
            )
        measured = self.seconds[size]
        times = np.asarray(measured.value, np.float64) * factor(measured.unit)
        if writers <= self.writers[-1]:
            return float(np.interp(writers, self.writers, times))
        slope, at_zero = np.polyfit(self.writers, times, 1)
        return max(float(slope * writers + at_zero), float(times[-1]))
