"""`learn`: from recordings of one host to rows of numbers, a cost model and a runtime profile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, sqrt

import numpy as np
import numpy.typing as npt

from simsched.execute.recorded.gaps import DISPATCH
from simsched.graph import TaskGraph
from simsched.graph.report import UNKNOWN_THREADS
from simsched.learning.hosts import expected, slice_s
from simsched.learning.learned import Learned
from simsched.learning.observed import (
    ENOUGH,
    LEAST,
    SHORTEST_S,
    Group,
    Observed,
    Samples,
    TaskKey,
    grouped,
    middle_of,
    observed,
)
from simsched.learning.rows import BETWEEN, KindSeconds, Run, Slowdown, StartCost, weighted_median
from simsched.multimap import multimap
from simsched.notes import Note, Weight
from simsched.text import counted

#: Weight, in executions, of the host's slow-down in that of a kind.
PRIOR = 10.0
#: A task has no room for an interruption if it is shorter than this share of a usual one.
ROOM = 0.5
#: A task had company if it had some for at least this share of its time, else it was alone.
HALF = 0.5


def slowdowns(groups: dict[Group, Samples]) -> list[Slowdown]:
    """Return the slow-down of each kind, each shrunk towards that of the host, which comes first.

    A group tells by its undisturbed executions alone and in company; where a program was recorded on one lane and on
    several, those of the first are alone. Groups without either say nothing.
    """
    told = multimap(
        ((program, kind), found)
        for (program, kind, _, _), samples in groups.items()
        if (found := _ratio(samples)) is not None
    )
    every = [pair for pairs in told.values() for pair in pairs]
    host, host_sigma = _pooled(every, 0.0, 0.0)
    rows = [Slowdown("", "", exp(max(host, 0.0)), host_sigma if every else 0.5, 0)]
    for (program, kind), pairs in told.items():
        value, sigma = _pooled(pairs, host, PRIOR)
        rows.append(Slowdown(program, kind, exp(max(value, 0.0)), sigma, int(sum(n for _, n in pairs))))
    return rows


def _ratio(samples: Samples) -> tuple[float, float] | None:
    """Return the logarithm of the seconds beside other tasks over those alone, and how many executions it rests on."""
    clean = samples.undisturbed
    logs, company = samples.logs, np.array(samples.company)
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
    short_s : dict
        By program and width: shorter tasks have no room for an interruption.
    """

    rows: list[KindSeconds]
    of_task: dict[tuple[str, int, TaskKey], float]
    told: set[Group]
    short_s: dict[tuple[str, int], float] = field(default_factory=dict)

    def tells(self, group: Group, seconds_s: float) -> bool:
        """Return whether an interruption of a task would show."""
        return group in self.told or seconds_s < self.short_s.get((group[0], group[3]), 0.0)


def alone(groups: dict[Group, Samples], slow: Sequence[Slowdown]) -> Alone:
    """Return the undisturbed seconds of tasks while nothing else runs.

    What ran in company is divided by its slow-down. A task takes the lower median of its executions, so that one of two
    that was disturbed without being noticed does not count, and that of its group where all were disturbed.
    """
    factors = {(row.program, row.kind): row for row in slow}
    rows, of_task, told, usual = [], {}, set(), _usual(groups.values())
    for (program, kind, shape, width), samples in groups.items():
        clean = samples.undisturbed
        if len(samples.logs) >= ENOUGH or len(set(samples.recordings)) > 1 or samples.elsewhere:
            told.add((program, kind, shape, width))
        row = factors.get((program, kind), factors["", ""])
        seconds_s = samples.of_company(row.factor)
        if not clean.any():
            seconds_s, clean = np.exp([samples.elsewhere[key][0] for key in samples.keys]), ~clean
        middle_s = float(np.median(seconds_s[clean]))
        sigma = _standard_error(seconds_s[clean], np.array(samples.recordings)[clean], usual)
        mostly = float(np.mean(np.array(samples.company)[clean]))
        rows.append(
            KindSeconds(
                program,
                kind,
                shape,
                width,
                middle_s,
                sqrt(sigma**2 + (mostly * row.sigma) ** 2),
                int(clean.sum()),
            )
        )
        by_key = multimap(
            (key, value)
            for key, value, one in zip(samples.keys, seconds_s.tolist(), clean.tolist(), strict=True)
            if one
        )
        for key in samples.keys:
            own = sorted(by_key.get(key, []))
            expected_s = exp(samples.elsewhere[key][0]) if key in samples.elsewhere else middle_s
            of_task[program, width, key] = own[(len(own) - 1) // 2] if own else expected_s
    return Alone(rows, of_task, told)


def _usual(groups: Iterable[Samples]) -> float:
    """Return the scatter of executions in the median of groups that show it."""
    known = [
        middle_of(samples.logs[samples.undisturbed])[1] for samples in groups if len(samples.logs) >= ENOUGH
    ]
    return float(np.median(known)) if known else LEAST


def _standard_error(
    seconds_s: npt.NDArray[np.float64], recordings: npt.NDArray[np.int64], usual: float
) -> float:
    """Return the standard error of the logarithm of a median, recordings of one host differing by themselves.

    Few executions do not show their scatter, which is then taken to be the `usual` one.
    """
    logs = np.log(np.maximum(seconds_s, SHORTEST_S))
    scatter = middle_of(logs)[1] if len(logs) >= ENOUGH else usual
    between = [float(np.median(logs[recordings == one])) for one in np.unique(recordings)]
    apart = float(np.std(between, ddof=1)) if len(between) > 1 else 2 * BETWEEN
    return sqrt(1.57 * scatter**2 / len(logs) + max(apart, BETWEEN) ** 2 / len(between))


def starts(runs: Sequence[Observed]) -> list[StartCost]:
    """Return the cost of a start in each program's runtime, interruptions left out."""
    by_program = multimap((run.program, run) for run in runs)
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
    """Return whether starts wait for each other: None where no two lanes started tasks at once."""
    near, both = map(sum, zip(*(run.starts_at_once for run in runs), strict=True))
    return None if both < 5 else near < both / 4


def seen(runs: Sequence[Observed], found: Alone, slow: Sequence[Slowdown]) -> list[Run]:
    """Return what the host took from each recording: time beyond what its tasks need, and absences of its lanes."""
    factors = {(row.program, row.kind): row.factor for row in slow}
    return [_seen(run, found, factors) for run in runs]


def _with_room(runs: Sequence[Observed], found: Alone, seen: Sequence[Run]) -> Alone:
    """Return the same, with how short tasks must be to have no room for what interruptions usually take."""
    return replace(
        found, short_s={of: ROOM * slice_s(seen, threads) for of, threads in _threads(runs).items()}
    )


def _threads(runs: Sequence[Observed]) -> dict[tuple[str, int], int]:
    """Return the threads of a recording of each program and width."""
    return {
        (run.program, w): run.lanes * run.width + run.waiting
        for run in runs
        for w in np.unique(run.widths).tolist()
    }


def _seen(run: Observed, found: Alone, factors: dict[tuple[str, str], float]) -> Run:
    kinds, widths = run.graph.kinds.to_list(), run.widths.tolist()
    factor = np.array([factors.get((run.program, kind), factors["", ""]) for kind in kinds])
    alone_s = [found.of_task[run.program, width, key] for key, width in zip(run.keys, widths, strict=True)]
    expected_s = np.array(alone_s) / (1.0 - run.company * (1.0 - 1.0 / factor))
    told = np.array([
        found.tells((run.program, key[0], key[1], width), seconds_s)
        for key, width, seconds_s in zip(run.keys, widths, run.seconds_s.tolist(), strict=True)
    ])  # fmt: skip
    ratios = np.maximum(run.seconds_s, SHORTEST_S) / np.maximum(expected_s, SHORTEST_S)
    long = np.log(ratios) > LEAST
    away_s = run.away_s
    lost_s = np.append((run.seconds_s - expected_s)[long], away_s[away_s > 0])
    work_s, known_s, usual_s = (
        np.maximum(expected_s, SHORTEST_S),
        float(expected_s[told].sum()),
        ratios[~long],
    )
    return Run(
        run.program, run.lanes, run.width, run.waiting, run.makespan_s,
        float(lost_s.sum()) / max(known_s, SHORTEST_S) if known_s else 0.0,
        weighted_median(lost_s, lost_s) if len(lost_s) else 0.0,
        known_s / max(float(expected_s.sum()), SHORTEST_S),
        weighted_median(usual_s, work_s[~long]) if len(usual_s) else 1.0,
    )  # fmt: skip


def _less_expected(runs: Sequence[Observed], found: Alone, seen: Sequence[Run]) -> Alone:
    """Return seconds alone without the interruptions that tasks must be taken to contain where none can show.

    That is what the host is expected to take from a run on as many threads.
    """
    shares = {of: expected(seen, of[0], threads)[0] for of, threads in _threads(runs).items()}
    rows = [
        row if found.tells((row.program, row.kind, row.shape, row.width), row.alone_s)
        else replace(row, alone_s=row.alone_s / (1.0 + shares[row.program, row.width]))
        for row in found.rows
    ]  # fmt: skip
    of_task = {
        (program, width, key): value if found.tells((program, key[0], key[1], width), value)
        else value / (1.0 + shares[program, width])
        for (program, width, key), value in found.of_task.items()
    }  # fmt: skip
    return replace(found, rows=rows, of_task=of_task)


def learn(recordings: Sequence[TaskGraph]) -> Learned:
    """Learn from recordings of one or several programs on one host.

    Parameters
    ----------
    recordings : sequence of TaskGraph
        Each with a recording: what `simsched.load` returns for the trace of a run. Recordings of the same kinds, shapes
        and edges are of one program.

    Returns
    -------
    Learned
        Seconds by kind and shape, slow-downs in company, costs of starts, interruptions of the host; each with its
        uncertainty. Its `notes` say what the recordings cannot tell.

    Raises
    ------
    GraphError
        If there are no recordings, a graph has none, or two are the same run.

    Examples
    --------
    Two tasks take 10 % longer beside each other:

    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> lane = np.arange(6, dtype=np.int32)
    >>> one = Recording(np.arange(6.0), np.arange(6.0) + 1.0, 0 * lane, ("a",))
    >>> two = Recording(np.repeat([0.0, 1.1, 2.2], 2), np.repeat([1.1, 2.2, 3.3], 2), lane % 2, ("a", "b"))
    >>> learned = ss.learn([ss.TaskGraph.from_edges([1.0] * 6, kinds="k", recording=run) for run in (one, two)])
    >>> learned.seconds[0].alone_s, round(learned.slowdowns[1].factor, 2), learned.starts[0].start_s
    (1.0, 1.1, 0.0)
    """
    return learned_from(observed(recordings))


def learned_from(runs: Sequence[Observed]) -> Learned:
    """Return what recordings that have been observed teach: several subsets of them share what is computed of each."""
    groups = grouped(runs)
    slow, begun = slowdowns(groups), starts(runs)
    found = alone(groups, slow)
    found = _with_room(runs, found, seen(runs, found, slow))
    hosts = seen(runs, found, slow)
    found = _less_expected(runs, found, hosts)
    return Learned(
        seconds=tuple(found.rows),
        slowdowns=tuple(slow),
        starts=tuple(begun),
        runs=tuple(hosts),
        lanes=max(run.lanes for run in runs),
        notes=tuple(_limits(runs)),
        of_task=found.of_task,
        recordings=tuple(run.graph for run in runs),
        relearn=learned_from,
    )


def _limits(runs: Sequence[Observed]) -> list[str]:
    """Return the limits of the recordings, in sentences."""
    said = []
    for program in dict.fromkeys(run.program for run in runs):
        of = [run for run in runs if run.program == program]
        company = sum(float((run.company * run.seconds_s).sum()) for run in of)
        whole = sum(float(run.seconds_s.sum()) for run in of)
        if company < 0.05 * whole:
            said.append(f"{program}: its tasks hardly ran beside others; their slow-down is the host's")
        elif company > 0.95 * whole:
            said.append(f"{program}: its tasks hardly ran alone; their seconds alone come from the slow-down")
        if assumed := sum(UNKNOWN_THREADS in run.graph.report.notes for run in of):
            had = "recordings are taken to have one intra-op thread each, as their files do"
            one = "recording is taken to have one intra-op thread, as its file does"
            said.append(
                f"{program}: {counted(assumed, one, had)} not say; threads= (--threads) says otherwise"
            )
        if len(of) == 1:
            said.append(
                f"{program}: one recording does not show how much runs differ; intervals are wider by 5 %"
            )
    return [Note(text, Weight.ASSUMPTION) for text in said]
