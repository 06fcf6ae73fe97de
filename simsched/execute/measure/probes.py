"""Streams by cores and memory domains, times of a cache line by pair of cores, clocks by number of busy cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.errors import EngineError
from simsched.execute.kernels.module import module
from simsched.execute.run.prepared import GRACE_S
from simsched.intervals import Interval

Seconds = npt.NDArray[np.float64]
Cores = npt.NDArray[np.integer[Any]]
#: Rounds of each stream, and of the other probes.
STREAM_ROUNDS, ROUNDS = 16, 40
#: Additions of a round: some tenths of a millisecond.
ADDITIONS = 1_000_000
#: Returns of a cache line in a round.
RETURNS = 400
#: Pairs of cores of which cache lines are timed.
MOST_PAIRS = 120
#: Bytes of an element of a triad: two are read, one is written.
TRIAD_B = 24
TIMEOUT_S = 60.0


def undisturbed(seconds: npt.ArrayLike) -> Interval:
    """Return the typical seconds of some rounds, and their range: lower quartile, least, median.

    Whatever else a host does makes rounds longer, never shorter.

    Examples
    --------
    >>> undisturbed([1.0, 1.0, 1.1, 1.2, 9.0])
    Interval(middle=1.0, low=1.0, high=1.1)
    """
    least, quartile, median = np.quantile(np.asarray(seconds, np.float64), [0.0, 0.25, 0.5])
    return Interval(float(quartile), float(least), float(median))


def _rate(amount: float, seconds: Interval) -> dict[str, float]:
    return {"middle": amount / seconds.middle, "low": amount / seconds.high, "high": amount / seconds.low}


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes of a host's cores.

    Parameters
    ----------
    cpus : sequence of int
        The system's CPU of each core.
    domain_of : int array, shape (cores,)
        Memory domain of each core.
    stream_B : float
        Bytes of the arrays of all streams of a domain together: several times its caches.
    progress : callable
        Called with 1 after every measurement.

    Examples
    --------
    >>> import os
    >>> cpu = min(os.sched_getaffinity(0))
    >>> probes = Probes([cpu], np.zeros(1, np.int32), 3e6, lambda n: None)
    >>> (row,) = probes.clocks()
    >>> row["busy"], row["clock_Hz"] > 1e8
    (1, True)
    """

    cpus: Sequence[int]
    domain_of: Cores
    stream_B: float
    progress: Callable[[int], object]

    def clocks(self) -> list[dict[str, Any]]:
        """Return a row for each number of busy cores: busy, clock_Hz, low_Hz, high_Hz."""
        crew, rows = self._crew(range(len(self.cpus))), []
        for busy in counts(len(self.cpus)):
            begin, end = _timed(module().addition_times, crew, busy, ADDITIONS, ROUNDS)
            # Of each core the typical round, and of these the slowest core.
            found = [undisturbed(one) for one in (end - begin).reshape(busy, ROUNDS)]
            rate = _rate(ADDITIONS, max(found, key=lambda one: one.middle))
            rows.append(
                {"busy": busy, **{f"{_named(name, 'clock')}_Hz": value for name, value in rate.items()}}
            )
            self.progress(1)
        return rows

    def streams(self) -> list[dict[str, Any]]:
        """Return a row for each set of cores: domain, home, cores, and the triad's rate_Bps, low_Bps, high_Bps.

        The first domain by numbers of its cores; one of its cores on the memory of each of up to three others, and all
        of its cores on those of all others; all domains together. `domain` and `home` are -1 for all of them.
        """
        domains = list(dict.fromkeys(self.domain_of.tolist()))
        first = np.flatnonzero(self.domain_of == domains[0])
        rows = [self._stream(domains[0], domains[0], first[:count]) for count in counts(len(first))]
        others = [np.flatnonzero(self.domain_of == home)[:1] for home in domains[1:]]
        rows += [
            self._stream(domains[0], home, first[:1], writers)
            for home, writers in zip(domains[1:4], others[:3], strict=True)
        ]
        if others:
            rows.append(self._stream(domains[0], -1, first, np.concatenate(others)))
            rows.append(self._stream(-1, -1, np.arange(len(self.cpus))))
        return rows

    def lines(self) -> list[dict[str, Any]]:
        """Return a row for each pair of cores: first, second, line_s (one way), low_s, high_s."""
        rows = []
        for first, second in pairs(len(self.cpus)):
            begin, end = _timed(module().return_times, self._crew([first, second]), RETURNS, ROUNDS)
            # The first worker waits for each return: half of it is one way.
            way = undisturbed((end - begin)[:ROUNDS] / (2 * RETURNS))
            rows.append(
                {"first": first, "second": second, "line_s": way.middle, "low_s": way.low, "high_s": way.high}
            )
            self.progress(1)
        return rows

    @property
    def steps(self) -> int:
        """Number of measurements."""
        domains, n = len(set(self.domain_of.tolist())), len(self.cpus)
        first = int(np.sum(self.domain_of == self.domain_of[0]))
        streams = len(counts(first)) + min(domains - 1, 3) + 2 * (domains > 1)
        return len(counts(n)) + len(pairs(n)) + streams

    def _stream(
        self, domain: int, home: int, cores: Cores, writers: Cores | Sequence[int] = ()
    ) -> dict[str, Any]:
        """Return the row of some cores, whose arrays `writers` write first, in turns; each its own by default."""
        n, used = len(cores), len(set(self.domain_of[cores].tolist()))
        each = int(used * self.stream_B / TRIAD_B / n)
        crew = self._crew([*map(int, cores), *map(int, writers)])
        elements = [each] * n + [0] * len(writers)
        turns = [n + core % len(writers) for core in range(n)] if len(writers) else range(n)
        placed = [*turns, *range(n, len(elements))]
        begin, end = _timed(module().triad_times, crew, placed, elements, STREAM_ROUNDS)
        shape = (len(elements), STREAM_ROUNDS)
        begin, end = begin.reshape(shape)[:n], end.reshape(shape)[:n]
        # The first round finds nothing in the caches, and pages that were just written.
        rounds_s = (end.max(axis=0) - begin.min(axis=0))[1:]
        rate = _rate(TRIAD_B * each * n, undisturbed(rounds_s))
        self.progress(1)
        named = {f"{_named(name, 'rate')}_Bps": value for name, value in rate.items()}
        return {"domain": domain, "home": home, "cores": n, **named}

    def _crew(self, cores: Sequence[int] | range) -> Any:
        try:
            return module().Crew([[self.cpus[core]] for core in cores])
        except RuntimeError as error:
            raise EngineError(f"no threads to measure with: {error}") from error


def _named(name: str, middle: str) -> str:
    return middle if name == "middle" else name


def _timed(probe: Callable[..., Any], *arguments: Any) -> tuple[Seconds, Seconds]:
    """Return when each worker began and ended each round, in seconds."""
    try:
        begin_ns, end_ns = probe(*arguments, TIMEOUT_S, GRACE_S)
    except RuntimeError as error:
        raise EngineError(f"the host could not be measured: {error}") from error
    return begin_ns * 1e-9, end_ns * 1e-9


def counts(most: int) -> list[int]:
    """Return numbers of cores to measure: 1, 2, 4, ... and all.

    Examples
    --------
    >>> counts(12), counts(1)
    ([1, 2, 4, 8, 12], [1])
    """
    return [*(2**k for k in range(most.bit_length()) if 2**k < most), most]


def pairs(n_cores: int) -> list[tuple[int, int]]:
    """Return the pairs of cores to measure: all, or of many cores those of the first and of neighbours, evenly chosen.

    Examples
    --------
    >>> pairs(3), len(pairs(192)) <= MOST_PAIRS
    ([(0, 1), (0, 2), (1, 2)], True)
    """
    every = list(combinations(range(n_cores), 2))
    if len(every) <= MOST_PAIRS:
        return every
    some = dict.fromkeys([(0, k) for k in range(1, n_cores)] + [(k, k + 1) for k in range(0, n_cores - 1, 2)])
    step = -(-len(some) // MOST_PAIRS)
    return list(some)[::step]
