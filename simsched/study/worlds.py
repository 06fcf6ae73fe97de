"""Worlds that could be true: makespans in each, and in how many of them one of several is the shortest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs.own_machine import stands_in
from simsched.costs.rescaling import is_recorder, recorded_run, why_other
from simsched.errors import SimschedError
from simsched.graph import TaskGraph
from simsched.graph.recording import recorded_threads
from simsched.graph.report import TRACED_WORK
from simsched.graph.taskgraph import Seconds
from simsched.intervals import LEVEL, ROUNDING, SAME, share_within
from simsched.machine import Machine
from simsched.notes import Note, Weight
from simsched.parameters import is_whole
from simsched.policy import Policy
from simsched.replay.parallel_map import parallel_map
from simsched.replay.scenario import Scenario
from simsched.schedule import Schedule
from simsched.study.uncertain import MachineNumbers
from simsched.text import counted, shortened
from simsched.units import format_time

#: Default number of replays of each case: the nominal one, and one in each world.
SAMPLES = 20
#: Most rows that the note names where it is not decided which is the fastest, and most characters of each.
MOST_NAMED, MOST_CHARACTERS = 12, 40


@dataclass(frozen=True, eq=False)
class Case:
    """A graph and a policy in a scenario, of so many cores or on some machine.

    Parameters
    ----------
    scenario : Scenario
    graph : TaskGraph
    policy : Policy
    nominal : Schedule, optional
        Its replay with the nominal costs, where there has been one.
    busy : float, optional
        Threads that are busy on average in that replay.
    """

    scenario: Scenario
    graph: TaskGraph
    policy: Policy
    nominal: Schedule | None = None
    busy: float | None = None

    def replay(self) -> Schedule:
        """Return the schedule of the case's scenario."""
        return self.scenario.replay(self.graph, self.policy)

    def settled(self, schedule: Schedule) -> Case:
        """Return the case with the layout that its nominal replay found, and with the threads busy in it."""
        found = schedule.inputs.layout if schedule.inputs else None
        scenario = replace(self.scenario, layout=found or self.scenario.layout)
        return replace(self, scenario=scenario, nominal=None, busy=schedule.utilization * schedule.n_cores)


def sample_seeds(seed: int, samples: int) -> range:
    """Return the seeds of the samples, the first for the nominal replay.

    Raises
    ------
    SimschedError
        If the number of samples is impossible.
    """
    if not is_whole(samples, 1):
        raise SimschedError(f"samples is {samples!r}; expected a whole number, at least 1")
    return range(seed, seed + samples)


def sampled_s(cases: Sequence[Case], seeds: Sequence[int]) -> list[list[float]]:
    """Return each case's makespans, in seconds, with machine, costs and noise sampled from each seed.

    A seed is the same world for all cases, whose scenarios have the same costs and a machine of the same numbers.
    """
    if not seeds:
        return [[] for _ in cases]
    scenario = cases[0].scenario
    numbers = MachineNumbers.of(scenario.machine)
    # Worlds of one seed are no worlds of the next: whoever tries another one wants to see how far the ends move.
    base = (scenario.seed << 32) - scenario.seed

    def makespans_s(seed: int) -> list[float]:
        costs = scenario.costs.sampled(np.random.default_rng([base + seed, 1]))
        machine_in = cache(partial(numbers.sampled, seed=base + seed))

        def makespan_s(case: Case) -> float:
            machine, while_busy = machine_in(case.scenario.machine), costs.while_busy(case.busy)
            # Only waiting and spilling change a makespan.
            limit = case.scenario.memory_limit
            limit = limit if limit in ("wait", "spill") else "ignore"
            world = replace(case.scenario, machine=machine, costs=while_busy, seed=seed, memory_limit=limit)
            # Only the makespan is kept: schedules of a million tasks would fill the memory.
            return replace(case, scenario=world).replay().makespan_s

        return [makespan_s(case) for case in cases]

    found = parallel_map(makespans_s, seeds, max(case.graph.n_tasks for case in cases))
    return [list(row) for row in zip(*found, strict=True)]


def against_recording(frame: pd.DataFrame, graph: TaskGraph, machine: Machine) -> list[Note]:
    """Return a note on what a recording itself took, where rows are of its cores; a doubt if none holds that.

    Parameters
    ----------
    frame : DataFrame
        With makespan_s, low_s, high_s, and cores where rows differ in them.
    graph : TaskGraph
    machine : Machine
    """
    if (recorded := recorded_run(graph, machine)) is None:
        return []
    took_s, threads = recorded
    cores = frame["cores"] if "cores" in frame else pd.Series(machine.n_cores, frame.index)
    rows = frame[(cores == threads) & frame["low_s"].notna()]
    if rows.empty:
        return []
    said = f"the recording itself took {format_time(took_s)} on {counted(threads, 'thread')}"
    if ((rows["low_s"] <= took_s) & (took_s <= rows["high_s"])).any():
        return [Note(said)]
    which = "the interval" if len(rows) == 1 else "the intervals"
    holds = f"which {which} at {counted(threads, 'core')} {'does' if len(rows) == 1 else 'do'} not hold"
    return [Note(f"{said}, {holds}: {why_other(graph)}", Weight.DOUBT)]


def against_untraced(frame: pd.DataFrame, graph: TaskGraph, machine: Machine) -> list[Note]:
    """Return a note on what a step took without tracing, where rows are of its cores; a doubt if none holds that.

    A graph from which tracing is not taken out takes longer, as do those of which there is more than the step.

    Parameters
    ----------
    frame, graph, machine
        As in `against_recording`.
    """
    facts, threads = graph.report.facts, recorded_threads(graph)
    took_s, removed_s = facts.get("untraced_least_s"), facts.get("tracing_removed_s")
    work_s = graph.work_s + (removed_s or 0.0)
    whole = np.isclose(facts.get(TRACED_WORK, np.nan), work_s, rtol=1e-6)
    if took_s is None or not whole or not is_recorder(graph, machine):
        return []
    cores = frame["cores"] if "cores" in frame else pd.Series(machine.n_cores, frame.index)
    rows = frame[(cores == threads) & frame["low_s"].notna()]
    if rows.empty:
        return []
    holds = ((rows["low_s"] <= took_s) & (took_s <= rows["high_s"])).any()
    said = "" if removed_s is None else f"{format_time(removed_s)} of tracing taken out; "
    said += f"without tracing, the step took {format_time(took_s)}, which "
    said += f"{'an' if holds else 'no'} interval at {counted(threads or 1, 'core')} holds"
    if removed_s is None:
        said += ': seconds contain what tracing cost, which --clean remove-overhead (graph.cleaned("remove-overhead"))'
        said += " takes out"
    return [Note(said, Weight.ASSUMPTION if holds else Weight.DOUBT)]


def beside_recording(frame: pd.DataFrame, graph: TaskGraph, machine: Machine) -> list[Note]:
    """Return a note on what intervals lack at other core counts than a recording's, on the machine in its place.

    Parameters
    ----------
    frame : DataFrame
        With cores and low_s.
    graph : TaskGraph
    machine : Machine
    """
    if graph.recording is None or not stands_in(graph, machine):
        return []
    others = frame["cores"] != recorded_threads(graph)
    said = (
        "at other core counts than the recording's, tasks keep what interruptions and other tasks cost them there; "
        "intervals hold no interruptions, and of company only what is usual: learn (simsched learn --cores) has both"
    )
    return [Note(said, Weight.ASSUMPTION)] if (others & frame["low_s"].notna()).any() else []


def fastest_shares(worlds_s: Sequence[Sequence[float]]) -> Seconds:
    """Return for each row in which share of the sampled worlds none is faster; NaN if unknown.

    Parameters
    ----------
    worlds_s : sequence of sequence of float
        Makespans of each row in all worlds; NaN for a row that failed.

    Examples
    --------
    >>> fastest_shares([[1.0, 3.0], [2.0, 2.0], [2.0, 2.0]]).tolist()
    [0.5, 0.5, 0.5]
    """
    table = np.array(worlds_s)
    shares: Seconds = (table <= np.nanmin(table, axis=0) * (1 + SAME)).mean(axis=1)
    return np.where(np.isnan(table[:, 0]) | (table.shape[1] == 1), np.nan, shares)


def few_samples(worlds_s: Sequence[Sequence[float]]) -> list[Note]:
    """Return a note on what intervals hold, where they are of fewer samples than by default.

    Parameters
    ----------
    worlds_s : sequence of sequence of float
        Makespans of each row in all worlds.

    Examples
    --------
    >>> few_samples([[1.0, 3.0, 2.0], [2.0, 2.0, 2.0]])
    ['intervals hold 50% of what such replays take: their ends are the extremes of 3 samples']
    """
    count = max((len(row) for row in worlds_s if min(row) < max(row)), default=SAMPLES)
    if count >= SAMPLES:
        return []
    share = f"{share_within(count):.0%} of what such replays take"
    return [Note(f"intervals hold {share}: their ends are the extremes of {count} samples", Weight.DOUBT)]


def one_sample(samples: int) -> list[Note]:
    """Return a note that there are no intervals, where one sample was asked for.

    Examples
    --------
    >>> one_sample(1), one_sample(2)
    (['one sample: no intervals; samples=20 or --samples 20 gives them'], [])
    """
    said = f"one sample: no intervals; samples={SAMPLES} or --samples {SAMPLES} gives them"
    return [Note(said)] if samples == 1 else []


def undecided(frame: pd.DataFrame, what: str) -> list[str]:
    """Return a note where another row than the shortest, or than those that take as long, may well be the fastest.

    Parameters
    ----------
    frame : DataFrame
        With makespan_s, fastest_share, and a name in the column that `what` names.
    what : str
    """
    shares, ties = frame["fastest_share"], tied_shares(frame["fastest_share"])
    shortest = frame["makespan_s"] <= frame["makespan_s"].min() * (1 + SAME)
    if not shares[shortest].max() < LEVEL:
        return [Note(ties)] if ties else []
    often = frame[shares > 0].sort_values("fastest_share", ascending=False, kind="stable")
    named = [
        f"{shortened(name, MOST_CHARACTERS)} in {share:.0%}"
        for name, share in zip(often[what], often["fastest_share"], strict=True)
    ]
    if len(named) > MOST_NAMED:
        most = f"{often['fastest_share'].iloc[MOST_NAMED - 1]:.0%}"
        named[MOST_NAMED - 1 :] = [f"{len(named) - MOST_NAMED + 1} others in {most} or less each"]
    said = f"which {what} is the fastest is not decided; of the worlds that were sampled, {', '.join(named)}"
    return [Note(f"{said} ({ties})" if ties else said, Weight.DOUBT)]


def tied_shares(shares: npt.ArrayLike) -> str:
    """Return why shares of worlds in which one is the fastest add up to more than 100 %; nothing where they do not.

    Examples
    --------
    >>> tied_shares([1.0, 0.5]), tied_shares([0.5, 0.5])
    ('all within 0.5% of the shortest count as the fastest, so shares add up to 150%', '')
    """
    total = float(np.nansum(shares))
    said = f"all within {SAME:.1%} of the shortest count as the fastest, so shares add up to {total:.0%}"
    return said if total > 1 + ROUNDING else ""
