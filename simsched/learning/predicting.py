"""Predictions: the replay, those of hosts sampled within the uncertainty of the recordings, and leave-one-out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, inf, log, log1p, sqrt
from pathlib import Path
from statistics import mode
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simsched.costs.discrepancy import sigmas
from simsched.costs.own_machine import has_chip
from simsched.costs.rescaling import WAYS, conversion, in_sentences
from simsched.errors import GraphError, LayoutError, SimschedError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.intervals import spread
from simsched.learning.hosts import hit, host, slice_s
from simsched.learning.observed import Observed, observed
from simsched.learning.rows import BETWEEN, Run
from simsched.machine import Machine, machine as machine_of
from simsched.multimap import multimap
from simsched.notes import Note, Weight
from simsched.parameters import is_whole
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.replay import simulate
from simsched.replay.parallel_map import parallel_map
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.text import counted

if TYPE_CHECKING:
    from simsched.document.result import Result
    from simsched.learning.learned import Learned

#: A shared resource may be full at the recorded lanes, or only at up to so many times as many.
LATEST = 64.0
#: Least share of the tasks' seconds that interruptions add and a note names.
MATTERS = 0.05
#: Start of a note on durations that are not converted.
TAKEN = re.compile(
    r"(\d+) (?:recorded|given) durations? (?:is|are) taken as (?:it is|they are)(?:, and as exact)?"
)


@dataclass(frozen=True, eq=False)
class Case:
    """A graph of a program under a policy, on a layout of a recorded host or on another machine.

    Parameters
    ----------
    graph : TaskGraph
    program : str
        That whose seconds it takes.
    policy, layout, machine, engine, seed
        As in `Learned.simulate`.
    cores : int
        Cores in use.
    waiting : int
        Threads of the runtime that wait busily beside.
    """

    graph: TaskGraph
    program: str
    policy: str | Policy | type[Policy]
    layout: str | Layout | tuple[int, int] | None
    cores: int
    machine: str | Path | Machine | None = None
    engine: Engine = "auto"
    seed: int = 0
    waiting: int = 0

    def replayed(self, learned: Learned, factors: float | Seconds) -> Schedule:
        """Return the schedule with the numbers of `learned`; `factors` are those of interruptions, one per task."""
        tasks = learned.timed(self.graph, self.program)
        if self.machine is None:
            where = host(self.cores, learned.excess, learned.capacity * learned.lanes)
        else:
            where = machine_of(self.machine)
            seconds_s = tasks.durations_s * self.conversion[0]
            tasks = replace(tasks, durations_s=seconds_s, bytes_B=self.graph.bytes_B)
        return simulate(
            tasks, where, self.policy, self._layout(), learned.costs(), learned.runtime(self.program), self.engine,
            self.seed, factors=np.broadcast_to(np.asarray(factors, np.float64), (self.graph.n_tasks,)),
        )  # fmt: skip

    @cached_property
    def conversion(self) -> tuple[Seconds, npt.NDArray[np.int8]]:
        """The factor from learned seconds to those of the machine, and the way it was found, as of recorded ones.

        They are the host's own without a machine, and on `generic`, which is no other chip.
        """
        machine = None if self.machine is None else machine_of(self.machine)
        if machine is None or not has_chip(machine):
            size = self.graph.n_tasks
            return np.ones(size), np.full(size, WAYS.index("recorded"), np.int8)
        return conversion(self.graph, machine)

    def _layout(self) -> str | Layout | tuple[int, int] | None:
        """Return the layout; None for one thread per core where the policy decides on every core by itself."""
        wanted = Layout.wanted(self.layout)
        each = isinstance(wanted, Layout) and wanted == Layout(self.cores, 1)
        return None if each and not policy_of(self.policy).takes_layout else self.layout

    @property
    def _size(self) -> Layout:
        wanted = Layout.wanted(self.layout)
        return wanted if isinstance(wanted, Layout) else Layout(self.cores, 1)

    def sized(self, counts: Sequence[int], width: int | None) -> list[Case]:
        """Return it on each number of cores, as so many executors of a width as fit; None for the recorded one.

        Raises
        ------
        LayoutError
            If a number of cores has no room for an executor of such a width.
        """
        found, recorded = [], self._recorded_width
        for cores in counts:
            each = min(recorded, cores) if width is None else width
            if each > cores:
                raise LayoutError(f"width={each} is wider than cores={cores}; leave that count out")
            found.append(replace(self, cores=cores, layout=Layout(cores // each, each)))
        return found

    @property
    def _recorded_width(self) -> int:
        """Threads of the recording's teams; 1 where there is none, and for policies that have threads, not teams."""
        known = self.graph.recording is not None and policy_of(self.policy).takes_layout
        return Observed(self.graph, self.program).width if known else 1

    def extrapolated(self, learned: Learned) -> bool:
        """Return whether all recordings have fewer lanes than there are cores, or all have more threads."""
        return self.beyond(learned) or self.below(learned)

    def below(self, learned: Learned) -> bool:
        """Return whether no recording has so few threads."""
        return self.cores < least_threads(learned)

    def beyond(self, learned: Learned) -> bool:
        """Return whether no recording has as many lanes as there are cores, nor so many teams of such a width."""
        size = self._size
        recorded = ((run.lanes, run.width) for run in learned.runs)
        covered = any(lanes >= size.executors and width >= size.width for lanes, width in recorded)
        return self.cores > learned.lanes and not covered

    def row(self, learned: Learned, samples: int) -> dict[str, Any]:
        """Return a row of `Learned.predict`."""
        size = self._size
        share, sigma = learned.interrupted(self.program, size.executors, size.width, self.waiting)
        known = self.known(learned)
        added = share * known

        def usual_s(number: int) -> float:
            generator = np.random.default_rng([self.seed, number, self.cores])
            return self._interrupted_s(learned, share, generator)

        def world_s(number: int) -> float:
            generator = np.random.default_rng([self.seed, number, self.cores, 1])
            return self._sampled_s(learned, share, sigma, generator)

        n_tasks = self.graph.n_tasks
        nominal_s = float(np.mean(parallel_map(usual_s, range(samples if added > 0 else 1), n_tasks)))
        # One replay tells no interval, nor do recordings of which no task is one of these.
        worlds = range(1, samples + 1) if samples > 1 and (known or self.machine) else range(0)
        found = spread([nominal_s, *parallel_map(world_s, worlds, n_tasks)])
        recorded_s = [
            run.makespan_s
            for run in learned.runs
            if self.machine is None and run.program == self.program
            and (run.lanes, run.width) == (size.executors, size.width)
        ]  # fmt: skip
        return {
            "cores": self.cores,
            "layout": str(size),
            "makespan_s": nominal_s,
            "low_s": min(found.low, nominal_s),
            "high_s": max(found.high, nominal_s),
            "undisturbed_s": self.replayed(learned, 1.0).makespan_s if added > 0 else nominal_s,
            "speedup": 1.0,
            "interrupted": added,
            "extrapolated": self.extrapolated(learned),
            "samples": samples,
            "recorded_s": float(np.median(recorded_s)) if recorded_s else float("nan"),
        }

    def known(self, learned: Learned) -> float:
        """Return the share of all seconds that is learned: the graph's own hold what their run lost."""
        seconds_s = learned.timed(self.graph, self.program).durations_s
        known_s = float(seconds_s[learned.knows(self.graph, self.program)].sum())
        return known_s / float(seconds_s.sum()) if known_s else 0.0

    def _sampled_s(
        self, learned: Learned, share: float, sigma: float, generator: np.random.Generator
    ) -> float:
        other = sampled(learned, generator)
        if not self.beyond(learned):
            other = replace(other, capacity=inf)
        lost = max(float(np.expm1(log1p(share) + sigma * generator.standard_normal())), 0.0)
        ways = self.conversion[1]
        unsure = np.array([0.0 if way == "recorded" else sigmas()[way].common for way in WAYS])
        off = np.exp(unsure * generator.standard_normal(len(WAYS)))[ways] if unsure[ways].any() else 1.0
        return self._interrupted_s(other, lost, generator, off)

    def _interrupted_s(
        self, learned: Learned, lost: float, generator: np.random.Generator, off: float | Seconds = 1.0
    ) -> float:
        """Return the makespan with interruptions at random moments, which take `lost` of all learned seconds.

        Seconds on the machine are `off` times as long.
        """
        seconds_s = learned.timed(self.graph, self.program).durations_s * learned.knows(
            self.graph, self.program
        )
        each_s = slice_s(learned.runs, self._size.cores + self.waiting)
        return self.replayed(learned, hit(seconds_s, each_s, lost, generator) * off).makespan_s


def curve(learned: Learned, cases: Sequence[Case], samples: int) -> list[dict[str, Any]]:
    """Return a row of `Learned.predict` for each case."""
    rows = [case.row(learned, samples) for case in cases]
    for row in rows:
        row["speedup"] = rows[0]["makespan_s"] / row["makespan_s"] if row["makespan_s"] else 1.0
    return rows


def sampled(learned: Learned, generator: np.random.Generator) -> Learned:
    """Return one of the possible hosts: all numbers sampled from their uncertainty."""
    common = {program: generator.standard_normal(3) for program in learned.programs}
    paces = {program: common[program][2] * _paced(learned.runs, program) for program in learned.programs}
    scale = {
        (row.program, row.width, row.kind, row.shape): exp(
            common[row.program][0] * row.sigma + paces[row.program]
        )
        for row in learned.seconds
    }
    slow = [row.factor * exp(float(generator.standard_normal()) * row.sigma) for row in learned.slowdowns]
    return replace(
        learned,
        seconds=tuple(
            replace(row, alone_s=row.alone_s * scale[row.program, row.width, row.kind, row.shape])
            for row in learned.seconds
        ),
        slowdowns=tuple(
            replace(row, factor=max(1.0, factor)) for row, factor in zip(learned.slowdowns, slow, strict=True)
        ),
        starts=tuple(
            replace(row, start_s=row.start_s * exp(common[row.program][1] * row.sigma)) for row in learned.starts
        ),
        of_task={
            (program, width, key): value * scale[program, width, key[0], key[1]]
            for (program, width, key), value in learned.of_task.items()
        },
        capacity=exp(generator.uniform(0.0, log(LATEST))),
    )  # fmt: skip


def _paced(runs: Sequence[Run], program: str) -> float:
    """Return the standard deviation of the logarithm of a program's pace: how much its runs differ as a whole.

    Few runs do not tell that; it starts from 5 %.

    Examples
    --------
    >>> run = Run("lu", 1, 1, 0, 0.1, 0.0, 0.0)
    >>> _paced([run] * 100, "lu"), _paced([run], "lu")
    (0.005, 0.05)
    """
    logs = np.array([log(run.pace) for run in runs if run.program == program])
    squares = float(np.sum((logs - np.median(logs)) ** 2)) if len(logs) else 0.0
    return sqrt((squares + BETWEEN**2) / (max(len(logs) - 1, 0) + 1))


def counts_of(cores: Sequence[int]) -> list[int]:
    """Return checked numbers of cores; raise `SimschedError` if one is impossible."""
    found = list(cores) if isinstance(cores, Sequence) and not isinstance(cores, str) else []
    if not found or not all(is_whole(count, 1, 2**20) for count in found):
        raise SimschedError(f"cores is {cores!r:.80}; expected whole numbers from 1, as in [2, 4, 8]")
    return found


def check_counts(**counts: int) -> None:
    """Raise `SimschedError` where one of some counts is not a whole number from 1."""
    for name, count in counts.items():
        if not is_whole(count, 1):
            raise SimschedError(f"{name} is {count!r:.40}; expected a whole number from 1")


def interruptions(
    rows: Sequence[Mapping[str, Any]], without: str = "undisturbed_s is without it"
) -> list[str]:
    """Return a note where interruptions are a part of predictions that matters; `without` is what leaves them out."""
    most = max(rows, key=lambda row: float(row["interrupted"]))
    if most["interrupted"] < MATTERS:
        return []
    said = (
        f"makespans include what other programs took in the recordings, {most['interrupted']:.0%} on top of the tasks' "
        f"seconds on {counted(most['cores'], 'core')}; {without}"
    )
    return [Note(said, Weight.DOUBT)]


def least_threads(learned: Learned) -> int:
    """Return the fewest threads of a recording; 1 without recordings."""
    return min((run.lanes * run.width for run in learned.runs), default=1)


def doubts(learned: Learned, cases: Sequence[Case]) -> list[str]:
    """Return notes on what predictions of one graph, on some numbers of cores, rest on beside the recordings."""
    said, case = [], cases[0]
    if strangers := int((~learned.knows(case.graph, case.program)).sum()):
        of = f"{strangers} of {counted(case.graph.n_tasks, 'task is', 'tasks are')}"
        said.append(
            f"{of} of no kind and shape in the recordings of {case.program or 'any program'}: they take the graph's "
            "own seconds as they are, without interruptions or slow-downs of these recordings, and no interval knows "
            "their error; learn from a recording of this program, too"
        )
    if case.machine is not None:
        if (case.conversion[1] != WAYS.index("recorded")).any():
            known, machine, ways = (
                learned.knows(case.graph, case.program),
                machine_of(case.machine),
                case.conversion[1],
            )
            said += [_of_learned(note) for note in in_sentences(case.graph, machine, ways[known])]
            said += in_sentences(case.graph, machine, ways[~known])
        said.append(
            "starts and interruptions are those of the recorded host; what cores share is that machine's"
        )
    if any(one.below(learned) for one in cases):
        said.append(
            f"recordings have at least {counted(least_threads(learned), 'thread')}: on fewer, what tasks take in less "
            "company follows from their slow-down there, and interruptions are taken to be fewer in proportion"
        )
    if any(one.beyond(learned) for one in cases):
        width = max((run.width for run in learned.runs), default=1)
        teams = f", and teams of up to {width} threads" if width > 1 else ""
        said.append(
            f"recordings have up to {counted(learned.lanes, 'lane')}{teams}: on more, tasks are taken to slow each "
            "other down as much as there, and intervals reach to a shared resource that is full at the recorded lanes; "
            "on our host of 16 cores such makespans were 10 % (twice the lanes) to 20 % (eight times) too short "
            "in the median"
        )
    return [Note(text, Weight.DOUBT) for text in said]


def _of_learned(note: str) -> str:
    """Return a note on recorded durations that are taken as they are as one on learned seconds; others as they are."""
    found = TAKEN.match(note)
    if found is None:
        return note
    return f"learned seconds of {counted(int(found[1]), 'task')} are taken as they are{note[found.end() :]}"


def of_replay(learned: Learned, case: Case, share: float, notes: Sequence[str]) -> tuple[str, ...]:
    """Return the notes of a replay whose seconds are learned, and `share` longer; `notes` take them for recorded."""
    count, added = int(learned.knows(case.graph, case.program).sum()), share * case.known(learned)
    same = bool((case.conversion[1] == WAYS.index("recorded")).all())
    return (
        *interruptions([{"interrupted": added, "cores": case.cores}], "undisturbed=True leaves it out"),
        *doubts(learned, [case]),
        *([f"learned seconds of {counted(count, 'task')}"] if count and same else []),
        *(note for note in notes if not TAKEN.match(note)),
    )


def validated(
    recordings: Sequence[TaskGraph],
    learn: Callable[[Sequence[Observed]], Learned],
    policies: str | Policy | Sequence[str | Policy],
    repeats: Sequence[object] | None,
    samples: int,
) -> Result:
    """Return the table of `Learned.validate`; `learn` is what learns from the recordings that are not held out."""
    from simsched.document.result import Result

    runs = observed(recordings)
    several = [policies] * len(runs) if isinstance(policies, str | Policy) else list(policies)
    settings = list(range(len(runs))) if repeats is None else list(repeats)
    if len(several) != len(runs) or len(settings) != len(runs):
        raise GraphError(
            f"{len(runs)} recordings, {len(several)} policies and {len(settings)} repeats; give as many"
        )
    by_setting = multimap(((runs[i].program, setting), i) for i, setting in enumerate(settings))
    whole = learn(runs).runs
    rows = []
    for members in by_setting.values():
        rest = [run for i, run in enumerate(runs) if i not in members]
        mates = [run for run in rest if run.program == runs[members[0]].program]
        if mates:
            held: dict[str, Any] = {
                "recording": runs[members[0]].graph.name,
                "recorded_s": float(np.median([whole[i].makespan_s for i in members])),
            }
            lost = float(np.median([whole[i].interrupted for i in members]))
            learned, policy = learn(rest), policy_of(several[members[0]])
            # A worker that never got a core has no lane in a run: most runs of a setting show how many there were.
            size = mode([(runs[i].lanes, runs[i].width, runs[i].waiting) for i in members])
            rows.append(held | _row(learned, mates[0], size, policy, lost, samples))
    if not rows:
        raise GraphError(
            "no program has two recordings of different settings: there is nothing to predict one from"
        )
    for row in rows:
        row["error"] = row["predicted_s"] / row["recorded_s"] - 1 if row["recorded_s"] else float("nan")
        row["undisturbed_error"] = _undisturbed(row)
        row["within"] = row["low_s"] <= row["recorded_s"] <= row["high_s"]
    columns = (
        "recording", "program", "policy", "layout", "recorded_s", "predicted_s", "error", "low_s", "high_s", "within",
        "undisturbed_error",
    )  # fmt: skip
    return Result.of(
        [{key: row[key] for key in columns} for row in rows], [_summary(rows)], hidden=["program"]
    )


def _undisturbed(row: Mapping[str, Any]) -> float:
    expected = (1.0 + row["share"]) / (1.0 + row["lost"])
    return float((1.0 + row["error"]) / expected - 1.0)


def _row(
    learned: Learned, mate: Observed, size: tuple[int, int, int], policy: Policy, lost: float, samples: int
) -> dict[str, Any]:
    """Return the prediction of a held-out setting, of which only the size is used: lanes, width, threads that wait."""
    lanes, width, waiting = size
    layout = Layout(lanes, width)
    case = Case(mate.graph, learned.program_of(mate.graph), policy, layout, layout.cores, waiting=waiting)
    found = case.row(learned, samples)
    return {
        "program": mate.program,
        "policy": str(policy),
        "layout": str(layout),
        "predicted_s": found["makespan_s"],
        "low_s": found["low_s"],
        "high_s": found["high_s"],
        "share": found["interrupted"],
        "lost": lost,
    }


def _summary(rows: Sequence[Mapping[str, Any]]) -> str:
    errors = np.abs([row["error"] for row in rows])
    apart = np.abs([row["undisturbed_error"] for row in rows])
    held = np.mean([row["within"] for row in rows])
    within = "" if np.isnan(rows[0]["low_s"]) else f"; {held:.0%} within their intervals"
    said = (
        f"{len(rows)} settings, each predicted from the others: median error {np.median(errors):.1%}, 90th percentile "
        f"{np.quantile(errors, 0.9):.1%}; without interruptions {np.median(apart):.1%} and "
        f"{np.quantile(apart, 0.9):.1%}{within}"
    )
    return Note(said, Weight.FACT)
