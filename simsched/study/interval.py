"""The interval of one schedule: its replay in the worlds in which `compare` replays a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from simsched.intervals import share_within, spread
from simsched.notes import Note, Weight
from simsched.replay.memory_limit import MemoryLimit
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.study.compare import default_seeds, worlds_of
from simsched.study.worlds import against_untraced, few_samples
from simsched.units import format_time

#: Most tasks of a graph that is replayed 20 times by default: more take over some ten seconds.
MOST_TASKS: Mapping[str, int] = {"native": 100_000, "simpy": 5_000}


@dataclass(frozen=True)
class Spread:
    """How far replays of one schedule spread over worlds that could be true, as `low_s` and `high_s` of `compare`.

    Parameters
    ----------
    low_s, high_s : float
        NaN of one sample.
    samples : int
    notes : tuple of str
        What the interval lacks, or why there is none.
    """

    low_s: float
    high_s: float
    samples: int
    notes: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether there is no interval, or nothing that the makespan depends on is uncertain.

        Examples
        --------
        >>> Spread(1.0, 2.0, 20).is_certain, Spread(1.0, 1.0, 20).is_certain
        (False, True)
        """
        return not self.low_s < self.high_s

    @property
    def said(self) -> str:
        """The interval in a sentence.

        Examples
        --------
        >>> Spread(0.001, 0.002, 20).said
        'the makespan is 1 ms to 2 ms in 90% of such replays, with all sampled that is uncertain of machine and costs'
        """
        ends = f"{format_time(self.low_s)} to {format_time(self.high_s)}"
        share = f"{share_within(self.samples):.0%} of such replays"
        return f"the makespan is {ends} in {share}, with all sampled that is uncertain of machine and costs"


def spread_of(schedule: Schedule, samples: int | None = None, memory_limit: MemoryLimit = "note") -> Spread:
    """Return the interval of a schedule's makespan, that of its policy and layout in `simsched.compare`.

    Parameters
    ----------
    schedule : Schedule
        A simulated one.
    samples : int, optional
        Replays, the schedule among them; 1 for none. When not given 20, or 1 and a note where that can take longer
        than some ten seconds: graphs of more than `MOST_TASKS`, and what `compare` takes for slow.
    memory_limit : {"ignore", "note", "spill", "wait", "error"}
        With which the schedule was simulated.

    Raises
    ------
    SimschedError
        If the number of samples is impossible.

    Examples
    --------
    >>> import simsched as ss
    >>> schedule = ss.simulate(ss.workload("rnn"), "knl-7250", "critical-path", layout="8x8")
    >>> found = spread_of(schedule, samples=3)
    >>> found.low_s < schedule.makespan_s < found.high_s, found.samples
    (True, 3)
    """
    graph, inputs = schedule.graph, schedule.inputs
    if inputs is None:
        return Spread(np.nan, np.nan, 1)
    if samples is None and graph.n_tasks > MOST_TASKS[schedule.engine]:
        note = "no interval, which can take longer than ten seconds: --samples 20 adds it"
        return Spread(np.nan, np.nan, 1, (Note(note, Weight.ASSUMPTION),))
    scenario = Scenario.again(schedule, inputs, memory_limit)
    if scenario.runtime == scenario.machine.runtime:
        # Worlds have their own.
        scenario = replace(scenario, runtime=None)
    seeds, unsampled = default_seeds(schedule.seed, samples, [inputs.policy], scenario.machine, graph)
    worlds_s = worlds_of(scenario, [schedule], seeds)
    found, own_s = spread(worlds_s[0]), schedule.makespan_s
    low_s, high_s = float(np.minimum(own_s, found.low)), float(np.maximum(own_s, found.high))
    row = pd.DataFrame([{"low_s": low_s, "high_s": high_s}])
    untraced = against_untraced(row, graph, scenario.machine)
    return Spread(low_s, high_s, len(seeds), (*untraced, *few_samples(worlds_s), *unsampled))
