"""Clocks of a Perfetto trace: sequences may count in clocks of their own, which snapshots compare.

References
----------
"Synchronization of multiple clock domains", Perfetto's documentation; clock_snapshot.proto.
"""

from __future__ import annotations

from typing import Any

BOOTTIME = 6
#: Clocks of one sequence each; lower ones are of the whole trace, higher ones too.
FIRST_OWN, LAST_OWN = 64, 127

#: A sequence and a clock; the sequence is 0 for clocks of the whole trace.
Clock = tuple[int, int]


class Clocks:
    """Clocks in the order of the packets.

    Examples
    --------
    >>> clocks = Clocks()
    >>> clocks.trace_ns(1, BOOTTIME, 5), clocks.trace_ns(1, 64, 5)
    (5, None)
    """

    def __init__(self) -> None:
        self._trace = BOOTTIME
        #: Nanoseconds per tick, and the trace's time when the clock was 0.
        self._known: dict[Clock, tuple[int, int]] = {}
        #: What incremental clocks have counted to.
        self._counted: dict[Clock, int] = {}

    def snapshot(self, sequence: int, told: Any) -> None:
        """Take a snapshot: readings of several clocks at one moment."""
        if told.HasField("primary_trace_clock"):
            self._trace = told.primary_trace_clock
        clocks = [(_clock(sequence, c.clock_id), c, c.unit_multiplier_ns or 1) for c in told.clocks]
        now = next((int(c.timestamp) * unit for key, c, unit in clocks if key == (0, self._trace)), None)
        if now is None:
            known = (self._at(key, int(c.timestamp)) for key, c, _ in clocks)
            now = next((time_ns for time_ns in known if time_ns is not None), None)
        for key, clock, unit in clocks:
            if clock.is_incremental:
                self._counted[key] = int(clock.timestamp)
            if now is not None:
                self._known[key] = unit, now - int(clock.timestamp) * unit

    def trace_ns(self, sequence: int, clock: int, reading: int) -> int | None:
        """Return a reading of a clock as nanoseconds on the trace's clock; None where no snapshot tells it."""
        key = _clock(sequence, clock)
        if key in self._counted:
            self._counted[key] += int(reading)
            return self._at(key, self._counted[key])
        return self._at(key, int(reading))

    def _at(self, key: Clock, reading: int) -> int | None:
        if key == (0, self._trace):
            return reading
        if key in self._known:
            unit, zero_ns = self._known[key]
            return zero_ns + reading * unit
        # Traces of one clock have no snapshots.
        return reading if not key[0] and not self._known else None


def _clock(sequence: int, clock: int) -> Clock:
    return (sequence if FIRST_OWN <= clock <= LAST_OWN else 0), clock
