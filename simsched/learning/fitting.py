"""From recordings to rows: seconds alone, slow-downs in company, starts, and interruptions of the host.

Three things make the same task take longer in one recording than in another, and each shows in its own way:

- *Company*: tasks slow each other down through what they share. All of a kind are slower while others run, so that
  medians differ.
- *Interruptions*: the host runs something else on the core. Few tasks take much longer, by the length of a time slice,
  and medians do not change.
- *Chance*: what remains, as scatter around the median.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log, sqrt

import numpy as np
import numpy.typing as npt

from simsched.execute.recorded.gaps import DISPATCH, free_s
from simsched.learning.observed import Observed, TaskKey
from simsched.learning.rows import BETWEEN, KindSeconds, Run, Slowdown, StartCost
from simsched.learning.widths import weighted_median

#: From the median absolute deviation to a normal distribution's standard deviation.
TO_SIGMA = 1.4826
#: A task longer than its group's median by more than so many deviations, and by `LEAST`, was interrupted.
DEVIATIONS = 3.0
#: Logarithm of the least such ratio: less may be chance.
LEAST = log(1.4)
#: Executions from which a group's scatter is known.
ENOUGH = 8
#: Weight, in executions, of the host's slow-down in that of a kind.
PRIOR = 10.0
#: A task had company if it had some for at least this share of its time, else it was alone.
HALF = 0.5
SHORTEST_S = 1e-9

Group = tuple[str, str, str, int]


@dataclass(frozen=True, eq=False)
class Samples:
    """Executions of one program's tasks of one kind, shape and width, from all recordings.

    Parameters
    ----------
    seconds_s, company : list of float
    recordings : list of int
        Which recording each is of.
    keys : list of TaskKey
    """

    seconds_s: list[float] = field(default_factory=list)
    company: list[float] = field(default_factory=list)
    recordings: list[int] = field(default_factory=list)
    keys: list[TaskKey] = field(default_factory=list)

    def undisturbed(self) -> npt.NDArray[np.bool_]:
        """Return which executions were not interrupted.

        A long one shows against its group where that is large, and against the same task in other recordings.
        """
        logs = np.log(np.maximum(self.seconds_s, SHORTEST_S))
        if len(logs) >= ENOUGH:
            middle = float(np.median(logs))
            scatter = TO_SIGMA * float(np.median(np.abs(logs - middle)))
            limits = np.full(len(logs), middle + max(DEVIATIONS * scatter, LEAST))
        else:
            limits = np.full(len(logs), logs.min() + 2 * LEAST)
        least: dict[TaskKey, float] = {}
        for key, value in zip(self.keys, logs.tolist(), strict=True):
            least[key] = min(value, least.get(key, np.inf))
        own = np.array([least[key] for key in self.keys]) + 2 * LEAST
        return np.asarray(logs <= np.minimum(limits, own))


def grouped(runs: Sequence[Observed]) -> dict[Group, Samples]:
    """Return the executions of all recordings by program, kind, shape and width."""
    groups: dict[Group, Samples] = defaultdict(Samples)
    for i, run in enumerate(runs):
        columns = (run.keys, run.seconds_s.tolist(), run.company.tolist(), run.widths.tolist())
        for key, seconds_s, company, width in zip(*columns, strict=True):
            group = groups[run.program, key[0], key[1], width]
            group.seconds_s.append(seconds_s)
            group.company.append(company)
            group.recordings.append(i)
            group.keys.append(key)
    return dict(groups)


def slowdowns(groups: dict[Group, Samples]) -> list[Slowdown]:
    """Return the slow-down of each kind, each drawn towards that of the host, which comes first.

    A group tells by its undisturbed executions alone and in company; where a program was recorded on one lane and on
    several, those of the first are alone. Groups without either say nothing.
    """
    told: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for (program, kind, _, _), samples in groups.items():
        if (found := _ratio(samples)) is not None:
            told[program, kind].append(found)
    every = [pair for pairs in told.values() for pair in pairs]
    host, host_sigma = _pooled(every, 0.0, 0.0)
    rows = [Slowdown("", "", exp(max(host, 0.0)), host_sigma if every else 0.5, 0)]
    for (program, kind), pairs in told.items():
        value, sigma = _pooled(pairs, host, PRIOR)
        rows.append(Slowdown(program, kind, exp(max(value, 0.0)), sigma, int(sum(n for _, n in pairs))))
    return rows


def _ratio(samples: Samples) -> tuple[float, float] | None:
    """Return the logarithm of the seconds in company over those alone, and how many executions it rests on."""
    clean = samples.undisturbed()
    logs, company = np.log(np.maximum(samples.seconds_s, SHORTEST_S)), np.array(samples.company)
    beside, alone = logs[clean & (company >= HALF)], logs[clean & (company < HALF)]
    if min(len(beside), len(alone)) < 3:
        return None
    return float(np.median(beside) - np.median(alone)), 2.0 / (1.0 / len(beside) + 1.0 / len(alone))


def _pooled(pairs: Sequence[tuple[float, float]], prior: float, weight: float) -> tuple[float, float]:
    """Return the weighted mean of some values with a prior, and its standard error."""
    total = sum(n for _, n in pairs) + weight
    if not total:
        return prior, 0.5
    mean = (sum(value * n for value, n in pairs) + prior * weight) / total
    spread = sum(n * (value - mean) ** 2 for value, n in pairs) / total
    return mean, sqrt((spread + BETWEEN**2) / max(len(pairs), 1))


@dataclass(frozen=True, eq=False)
class Alone:
    """Seconds alone by group and by task.

    Parameters
    ----------
    rows : list of KindSeconds
    of_task : dict
        Seconds of each task of a program on a width, by program, width and key.
    told : set of Group
        Groups in which an interruption shows: of many executions, or of several recordings.
    """

    rows: list[KindSeconds]
    of_task: dict[tuple[str, int, TaskKey], float]
    told: set[Group]


def alone(groups: dict[Group, Samples], slow: Sequence[Slowdown]) -> Alone:
    """Return the undisturbed seconds of tasks while nothing else runs.

    What ran in company is divided by its slow-down. A task takes the lower median of its executions, so that one of two
    that was disturbed without being noticed does not count, and that of its group where all were disturbed.
    """
    factors = {(row.program, row.kind): row for row in slow}
    rows, of_task, told = [], {}, set()
    for (program, kind, shape, width), samples in groups.items():
        clean = samples.undisturbed()
        if len(clean) >= ENOUGH or len(set(samples.recordings)) > 1:
            told.add((program, kind, shape, width))
        row = factors.get((program, kind), factors["", ""])
        shared = np.array(samples.company) * (1.0 - 1.0 / row.factor)
        seconds_s = np.array(samples.seconds_s) * (1.0 - shared)
        middle_s = float(np.median(seconds_s[clean]))
        sigma = _standard_error(seconds_s[clean], np.array(samples.recordings)[clean])
        mostly = float(np.mean(np.array(samples.company)[clean]))
        rows.append(
            KindSeconds(
                program, kind, shape, width, middle_s, sqrt(sigma**2 + (mostly * row.sigma) ** 2), len(clean)
            )
        )
        by_key: dict[TaskKey, list[float]] = defaultdict(list)
        for key, value in zip(
            [k for k, c in zip(samples.keys, clean, strict=True) if c], seconds_s[clean], strict=True
        ):
            by_key[key].append(float(value))
        for key in samples.keys:
            own = sorted(by_key[key])
            of_task[program, width, key] = own[(len(own) - 1) // 2] if own else middle_s
    return Alone(rows, of_task, told)


def _standard_error(seconds_s: npt.NDArray[np.float64], recordings: npt.NDArray[np.int64]) -> float:
    """Return the standard error of the logarithm of a median, recordings of one host differing by themselves."""
    logs = np.log(np.maximum(seconds_s, SHORTEST_S))
    scatter = TO_SIGMA * float(np.median(np.abs(logs - np.median(logs)))) if len(logs) > 1 else 2 * LEAST
    between = [float(np.median(logs[recordings == one])) for one in np.unique(recordings)]
    apart = float(np.std(between, ddof=1)) if len(between) > 1 else 2 * BETWEEN
    return sqrt(1.57 * scatter**2 / len(logs) + max(apart, BETWEEN) ** 2 / len(between))


def starts(runs: Sequence[Observed]) -> list[StartCost]:
    """Return what a start costs in each program's runtime, interruptions left out."""
    by_program: dict[str, list[Observed]] = defaultdict(list)
    for run in runs:
        by_program[run.program].append(run)
    return [_start(program, of) for program, of in by_program.items()]


def _start(program: str, runs: Sequence[Observed]) -> StartCost:
    """Return the median over recordings of their mean gaps, so that one disturbed recording does not count."""
    gaps = [found for run in runs if len(found := run.gaps.of_cause(DISPATCH))]
    if not gaps:
        return StartCost(program, 0.0, 0.0, None)
    costs = np.concatenate(gaps)
    start_s = float(np.median([float(found.mean()) for found in gaps]))
    sigma = float(costs.std()) / max(float(costs.mean()), SHORTEST_S) / sqrt(len(costs))
    return StartCost(program, start_s, sqrt(sigma**2 + BETWEEN**2), _serial(runs))


def _serial(runs: Iterable[Observed]) -> bool | None:
    """Return whether starts wait for each other: None where no two lanes started tasks at once.

    One dispatcher needs its time for each start, so that two starts of overlapping gaps are at least that far apart.
    """
    near = both = 0
    for run in runs:
        schedule = run.graph.recorded
        assert schedule is not None  # noqa: S101 - narrows the type: `observed` has checked it
        mine = (run.gaps.cause == DISPATCH) & (run.gaps.seconds > 0)
        if not mine.any():
            continue
        usual = float(np.median(run.gaps.seconds[mine]))
        since = np.fmax(free_s(schedule), schedule.ready_s)[mine]
        start, lane = schedule.start_s[mine], schedule.executor[mine]
        order = np.argsort(start, kind="stable")
        for a, b in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
            if lane[a] != lane[b] and since[b] < start[a]:
                both += 1
                near += bool(start[b] - start[a] < usual / 2)
    return None if both < 5 else near < both / 4


def seen(runs: Sequence[Observed], found: Alone, slow: Sequence[Slowdown]) -> list[Run]:
    """Return what the host took from each recording: time beyond what its tasks need, and absences of its lanes."""
    factors = {(row.program, row.kind): row.factor for row in slow}
    return [_seen(run, found, factors) for run in runs]


def _seen(run: Observed, found: Alone, factors: dict[tuple[str, str], float]) -> Run:
    kinds, widths = run.graph.kinds.to_list(), run.widths.tolist()
    factor = np.array([factors.get((run.program, kind), factors["", ""]) for kind in kinds])
    alone_s = [found.of_task[run.program, width, key] for key, width in zip(run.keys, widths, strict=True)]
    expected_s = np.array(alone_s) / (1.0 - run.company * (1.0 - 1.0 / factor))
    told = np.array([
        (run.program, key[0], key[1], width) in found.told for key, width in zip(run.keys, widths, strict=True)
    ])  # fmt: skip
    ratios = np.maximum(run.seconds_s, SHORTEST_S) / np.maximum(expected_s, SHORTEST_S)
    long = np.log(ratios) > LEAST
    away_s = run.away_s
    lost_s = float((run.seconds_s - expected_s)[long].sum() + away_s.sum())
    count = int(long.sum() + (away_s > 0).sum())
    work_s, known_s = float(expected_s.sum()), float(expected_s[told].sum())
    return Run(
        run.program, run.lanes, run.width, run.waiting, run.makespan_s,
        max(lost_s, 0.0) / max(known_s, SHORTEST_S) if known_s else 0.0, max(lost_s, 0.0) / max(count, 1),
        known_s / max(work_s, SHORTEST_S), 1.0 if long.all() else weighted_median(
            ratios[~long].tolist(), np.maximum(expected_s, SHORTEST_S)[~long].tolist()
        ),
    )  # fmt: skip


def less_expected(runs: Sequence[Observed], found: Alone, seen: Sequence[Run]) -> Alone:
    """Return seconds alone without the interruptions that tasks must be taken to contain where none can show.

    That is the share which the host took from recordings on as many threads.
    """
    threads = {
        (run.program, width): run.lanes * run.width + run.waiting
        for run in runs
        for width in np.unique(run.widths).tolist()
    }
    shares = {
        (program, width): float(
            np.median([r.interrupted for r in seen if r.threads == count and r.known > HALF] or [0.0])
        )
        for (program, width), count in threads.items()
    }
    rows = [
        row if (row.program, row.kind, row.shape, row.width) in found.told
        else replace(row, alone_s=row.alone_s / (1.0 + shares[row.program, row.width]))
        for row in found.rows
    ]  # fmt: skip
    of_task = {
        (program, width, key): value if (program, key[0], key[1], width) in found.told
        else value / (1.0 + shares[program, width])
        for (program, width, key), value in found.of_task.items()
    }  # fmt: skip
    return Alone(rows, of_task, found.told)
