"""`Learned`: numbers learned from recordings of one host, and replays and predictions with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.costs import CostModel
from simsched.defaults import RECORDED_POLICY
from simsched.document.result import Result
from simsched.errors import CostError, SimschedError
from simsched.graph import TaskGraph
from simsched.graph.taskgraph import Seconds
from simsched.learning.file import read, write
from simsched.learning.hosts import LEAST, UNIT_BPS, expected
from simsched.learning.observed import Observed, TaskKey, task_keys
from simsched.learning.predicting import (
    Case,
    check_counts,
    counts_of,
    curve,
    doubts,
    interruptions,
    of_replay,
    validated,
)
from simsched.learning.rows import KindSeconds, LearnedWidths, Run, Slowdown, StartCost, width_ratios
from simsched.machine import Machine, RuntimeProfile
from simsched.multimap import multimap
from simsched.policy import Layout, Policy, policy as policy_of
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.text import counted


@dataclass(frozen=True, eq=False)
class Learned:
    """Numbers learned from recordings of one host.

    Parameters
    ----------
    seconds : tuple of KindSeconds
        Seconds alone, by program, kind, shape and width.
    slowdowns : tuple of Slowdown
        In company; that of the whole host first.
    starts : tuple of StartCost
        One per program.
    runs : tuple of Run
        The recordings, and what the host took from each.
    lanes : int
        Most lanes of a recording: beyond, predictions are extrapolated.
    notes : tuple of str
        What the recordings cannot tell.
    of_task : mapping
        Seconds of single tasks, by program, width and key.
    capacity : float
        What the shared resource of all cores gives, over the lanes recorded: with more tasks than this share of lanes
        the slow-down grows with their number. Infinite, the default: it stays as recorded.
    recordings : tuple of TaskGraph
        What it was learned from, for `validate`; not saved in files.
    relearn : callable, optional
        What learned it, from observations: for `validate`, too.

    Examples
    --------
    >>> import numpy as np
    >>> import simsched as ss
    >>> from simsched.graph import Recording
    >>> run = Recording(np.arange(4.0), np.arange(4.0) + 1.0, np.zeros(4, np.int32), ("a",))
    >>> learned = ss.learn([ss.TaskGraph.from_edges([1.0] * 4, kinds="k", recording=run)])
    >>> learned.simulate(ss.TaskGraph.from_edges([np.nan] * 4, kinds="k"), "fifo", "2x1").makespan_s
    2.0
    """

    seconds: tuple[KindSeconds, ...]
    slowdowns: tuple[Slowdown, ...]
    starts: tuple[StartCost, ...]
    runs: tuple[Run, ...]
    lanes: int
    notes: tuple[str, ...] = ()
    of_task: Mapping[tuple[str, int, TaskKey], float] = field(default_factory=dict)
    capacity: float = float("inf")
    recordings: tuple[TaskGraph, ...] = ()
    relearn: Callable[[Sequence[Observed]], Learned] | None = None

    def __repr__(self) -> str:
        runs, programs = counted(len(self.runs), "recording"), counted(len(self.programs), "program")
        return f"<Learned from {runs} of {programs}; table() has the seconds>"

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the programs, in the order of their recordings.

        Examples
        --------
        >>> Learned((), (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0), Run("lu", 2, 1, 0, 0.6, 0, 0)), 1).programs
        ('lu',)
        """
        return tuple(dict.fromkeys(run.program for run in self.runs))

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], list[KindSeconds]]:
        return multimap(
            ((row.program, row.kind, row.shape), row)
            for row in sorted(self.seconds, key=lambda row: row.width)
        )

    @cached_property
    def _factors(self) -> dict[tuple[str, str], float]:
        return {(row.program, row.kind): row.factor for row in self.slowdowns}

    def factor(self, program: str, kind: str) -> float:
        """Return the slow-down of a kind of a program beside other tasks; the host's where it is unknown.

        Examples
        --------
        >>> Learned((), (Slowdown("", "", 1.2, 0.1, 0),), (), (), 2).factor("lu", "gemm")
        1.2
        """
        return self._factors.get((program, kind), self._factors.get(("", ""), 1.0))

    def program_of(self, graph: TaskGraph) -> str:
        """Return the program with the most tasks of a graph, by kind and shape; "" where none has any.

        Examples
        --------
        >>> rows = (KindSeconds("lu", "gemm", "", 1, 1.0, 0.1, 4),)
        >>> learned = Learned(rows, (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0),), 1)
        >>> [learned.program_of(TaskGraph.from_edges([1.0], kinds=kind)) for kind in ("gemm", "other")]
        ['lu', '']
        """
        best, most = "", 0
        for program in self.programs:
            count = int(self.knows(graph, program).sum())
            if count > most:
                best, most = program, count
        return best

    def knows(self, graph: TaskGraph, program: str) -> npt.NDArray[np.bool_]:
        """Return whether recordings of a program have the kind and shape of each task of a graph, shape (n,).

        Examples
        --------
        >>> learned = Learned((KindSeconds("lu", "gemm", "", 1, 1.0, 0.1, 4),), (), (), (), 1)
        >>> learned.knows(TaskGraph.from_edges([1.0, 1.0], kinds=["gemm", "other"]), "lu").tolist()
        [True, False]
        """
        pairs = zip(graph.kinds.to_list(), graph.shapes.to_list(), strict=True)
        return np.array([(program, *pair) in self._rows for pair in pairs], np.bool_)

    def timed(self, graph: TaskGraph, program: str | None = None) -> TaskGraph:
        """Return a graph with the learned seconds of its tasks alone, and their demand on what cores share.

        A task takes the seconds of the same task of the recordings, else those of its kind and shape, else its own, to
        which company adds nothing. Where each executor pays for its starts, a start is part of its task.

        Raises
        ------
        CostError
            If a task is of a kind and shape that no recording has, and has no seconds of its own.

        Examples
        --------
        >>> rows = (KindSeconds("lu", "gemm", "", 1, 2.0, 0.1, 4),)
        >>> learned = Learned(rows, (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0),), 1)
        >>> learned.timed(TaskGraph.from_edges([float("nan")] * 2, kinds="gemm")).durations_s.tolist()
        [2.0, 2.0]
        """
        name = self.program_of(graph) if program is None else program
        seconds_s, widths = self._seconds_of(graph, name)
        start = self._start(name)
        if start is not None and not start.serial:
            seconds_s = seconds_s + start.start_s
        most = self.excess
        factors = np.array([self.factor(name, kind) for kind in graph.kinds.labels])
        demand = ((factors - 1.0) / most).clip(0.0, 1.0)[graph.kinds.codes] if graph.n_tasks else np.empty(0)
        demand = demand * self.knows(graph, name)
        return replace(
            graph, durations_s=seconds_s, widths=widths, bytes_B=demand * UNIT_BPS * seconds_s * widths,
            flops=np.full(graph.n_tasks, np.nan), seconds_by_kind=None, recorded_on=None,
        )  # fmt: skip

    @property
    def excess(self) -> float:
        """Largest slow-down beside other tasks, less 1; at least 0.02.

        Examples
        --------
        >>> Learned((), (Slowdown("", "", 1.5, 0.1, 0),), (), (), 2).excess
        0.5
        """
        return max([row.factor - 1.0 for row in self.slowdowns] + [LEAST])

    def _start(self, program: str) -> StartCost | None:
        own = [start for start in self.starts if start.program == program]
        return own[0] if own else None

    def _seconds_of(self, graph: TaskGraph, program: str) -> tuple[Seconds, npt.NDArray[np.int32]]:
        seconds_s, widths = np.array(graph.durations_s), np.array(graph.widths)
        ratios = width_ratios(self.seconds)
        for task, key in enumerate(task_keys(graph)):
            if rows := self._rows.get((program, key[0], key[1])):
                row = rows[0]
                seconds_s[task] = self.of_task.get((program, row.width, key), row.alone_s)
                # Not recorded on one thread, where other programs of the host tell how much longer that takes.
                widths[task] = 1 if row.width in ratios else row.width
                seconds_s[task] /= ratios.get(row.width, 1.0)
        if (unknown := np.isnan(seconds_s)).any():
            task = int(np.argmax(unknown))
            raise CostError(
                f"task {task}: no recording has a task of kind {graph.kinds.to_list()[task]!r:.60} and shape "
                f"{graph.shapes.to_list()[task]!r:.60}, and the graph gives no seconds; record a program that has it"
            )
        return seconds_s, widths

    def runtime(self, program: str) -> RuntimeProfile:
        """Return the costs of the runtime that a central dispatcher serialises; none where executors pay them.

        Examples
        --------
        >>> learned = Learned((), (), (StartCost("lu", 1e-5, 0.1, serial=True),), (), 2)
        >>> learned.runtime("lu").dispatch_s, learned.runtime("other").dispatch_s
        (1e-05, 0.0)
        """
        start = self._start(program)
        cost_s = start.start_s if start is not None and start.serial else 0.0
        return RuntimeProfile(dispatch_s=cost_s, pop_s=cost_s)

    def interrupted(self, program: str, lanes: int, width: int, waiting: int = 0) -> tuple[float, float]:
        """Return the share that interruptions add to the seconds of tasks, and the uncertainty of log(1 + share).

        `simsched.learning.hosts` says how: that of recordings with as many threads, or of the nearest number.

        Examples
        --------
        >>> runs = (Run("lu", 1, 1, 0, 1.0, 0.0, 0.0), Run("lu", 2, 1, 0, 1.0, 0.5, 1e-3))
        >>> share, sigma = Learned((), (), (), runs, 2).interrupted("lu", 8, 1)
        >>> round(share, 6), sigma >= 0.3
        (0.5, True)
        """
        return expected(self.runs, program, lanes * width + waiting)

    def simulate(
        self,
        graph: TaskGraph,
        policy: str | Policy | type[Policy] = RECORDED_POLICY,
        layout: str | Layout | tuple[int, int] | None = None,
        *,
        cores: int | None = None,
        machine: str | Path | Machine | None = None,
        engine: Engine = "auto",
        seed: int = 0,
        undisturbed: bool = False,
    ) -> Schedule:
        """Replay a graph with the learned seconds, slow-downs and costs.

        Parameters
        ----------
        graph : TaskGraph
            Of one of the programs, or of kinds and shapes that they have.
        policy : str, Policy or class of Policy
        layout : str, Layout or pair of int, optional
            Executors x cores.
        cores : int, optional
            Cores in use; those of the layout when not given, else as many as were recorded.
        machine : str, Path or Machine, optional
            Another machine than the host: the seconds are the host's; slow-downs are that machine's.
        engine, seed
            As in `simsched.simulate`.
        undisturbed : bool
            Without interruptions. Otherwise learned seconds are longer by the share that they take on average.

        Returns
        -------
        Schedule

        Raises
        ------
        SimschedError
            If a task's seconds are unknown, or an argument is impossible.

        Examples
        --------
        >>> rows = (KindSeconds("lu", "gemm", "", 1, 2.0, 0.1, 4),)
        >>> learned = Learned(rows, (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0),), 1)
        >>> learned.simulate(TaskGraph.from_edges([float("nan")] * 3, kinds="gemm"), "fifo", "3x1").makespan_s
        2.0
        """
        program, wanted = self.program_of(graph), Layout.wanted(layout)
        found = wanted.cores if isinstance(wanted, Layout) else self.lanes
        count = found if cores is None else cores
        shape = (wanted.executors, wanted.width) if isinstance(wanted, Layout) else (count, 1)
        share = 0.0 if undisturbed else self.interrupted(program, *shape)[0]
        factors = np.where(self.knows(graph, program), 1.0 + share, 1.0)
        case = Case(graph, program, policy, layout, count, machine, engine, seed)
        schedule = case.replayed(self, factors)
        return replace(schedule, notes=of_replay(self, case, share, schedule.notes))

    def costs(self) -> CostModel:
        """Return the cost model: how seconds change with the width of teams.

        Examples
        --------
        >>> rows = [KindSeconds("lu", "gemm", "", width, seconds, 0.1, 4) for width, seconds in ((1, 4.0), (2, 3.0))]
        >>> Learned(tuple(rows), (), (), (), 1).costs().measured.ratios
        {2: 0.75}
        """
        found = LearnedWidths.of(self.seconds)
        return CostModel(measured=found) if found.ratios else CostModel()

    def predict(
        self,
        graph: TaskGraph,
        policy: str | Policy | type[Policy] = RECORDED_POLICY,
        cores: Sequence[int] | None = None,
        *,
        width: int | None = None,
        machine: str | Path | Machine | None = None,
        samples: int = 20,
        seed: int = 0,
        validate: bool = False,
    ) -> Result:
        """Predict the makespan on some numbers of cores, with intervals.

        Parameters
        ----------
        graph, policy, machine
            As in `simulate`.
        cores : sequence of int, optional
            As [2, 4, 8]; when not given, 1 to 8 times the recorded lanes, by doubling.
        width : int, optional
            Cores of each executor; when not given, those of the recording's teams, or all where there are fewer.
        samples : int
            Replays with sampled numbers that the recordings allow, and interruptions at random; 1 for no interval.
        seed : int
        validate : bool
            Whether to predict each recording from the others, too, under this policy; the notes have the errors.

        Returns
        -------
        Result
            One row for each number of cores: cores, layout, makespan_s, low_s and high_s, undisturbed_s (without
            interruptions), speedup over the first row, interrupted (share that they add), extrapolated, samples,
            recorded_s (median of recordings of that size; NaN for another machine). Notes say what is not known.

        Raises
        ------
        SimschedError
            If a number is impossible, or a task's seconds are unknown.

        Examples
        --------
        >>> rows = (KindSeconds("lu", "gemm", "", 1, 2.0, 0.1, 4),)
        >>> learned = Learned(rows, (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0),), 1)
        >>> graph = TaskGraph.from_edges([float("nan")] * 4, kinds="gemm")
        >>> found = learned.predict(graph, "fifo", cores=[1, 2])
        >>> found["makespan_s"].tolist(), found["extrapolated"].tolist()
        ([8.0, 4.0], [False, True])
        """
        from simsched.document.result import Result
        from simsched.plots.accuracy import learned_curve

        check_counts(samples=samples, width=1 if width is None else width)
        counts = [self.lanes * 2**i for i in range(4)] if cores is None else counts_of(cores)
        case = Case(graph, self.program_of(graph), policy, None, 1, machine, "auto", seed)
        cases = case.sized(counts, width)
        rows = curve(self, cases, samples)
        errors = self.validate(policy, samples=samples).notes if validate else ()
        notes = [*graph.report.notes, *self.notes, *interruptions(rows), *doubts(self, cases), *errors]
        return Result.of(rows, notes, learned_curve, ["samples"])

    def validate(
        self,
        policies: str | Policy | type[Policy] | Sequence[str | Policy] = RECORDED_POLICY,
        *,
        repeats: Sequence[object] | None = None,
        samples: int = 20,
    ) -> Result:
        """Predict each recording from the others: how far to trust predictions.

        Parameters
        ----------
        policies : str, Policy or a sequence of them
            The policy of each recording, or of all.
        repeats : sequence, optional
            One value per recording; those of the same value, and program, are of the same setting: held out together,
            and their median is what is predicted. By default each recording is a setting of its own.
        samples : int
            Replays for an interval.

        Returns
        -------
        Result
            One row per setting with another recording of its program: recording, the name of the first held out;
            program, the name that all its recordings share; policy, layout, recorded_s, predicted_s, error, low_s,
            high_s, within (whether the interval holds the recording), undisturbed_error: the error without
            interruptions on either side, those of the recording as found with all recordings. The notes give median
            and 90th percentile of the errors.

        Raises
        ------
        SimschedError
            If no program has two settings, lengths differ, or this comes from a file, which has no recordings.

        Examples
        --------
        >>> import simsched as ss
        >>> from simsched.graph import Recording
        >>> lane = np.zeros(4, np.int32)
        >>> runs = [Recording(np.arange(4.0), np.arange(4.0) + end, lane, ("a",)) for end in (0.9, 0.8)]
        >>> learned = ss.learn([TaskGraph.from_edges([1.0] * 4, kinds="k", recording=run) for run in runs])
        >>> learned.validate(samples=1)["error"].round(2).tolist()
        [0.03, 0.05]
        """
        if self.relearn is None:
            raise SimschedError("a file keeps no recordings to hold out; learn from them again")
        several = (
            policies
            if isinstance(policies, Sequence) and not isinstance(policies, str)
            else policy_of(policies)
        )
        return validated(self.recordings, self.relearn, several, repeats, samples)

    def save(self, path: str | Path) -> None:
        """Write a TOML file, which `Learned.load` reads; raise `SimschedError` if it cannot be written.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Learned((), (), (), (), 2).save(f"{folder}/host.toml")
        ...     Learned.load(f"{folder}/host.toml").lanes
        2
        """
        write(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Learned:
        """Return what was saved.

        Raises
        ------
        FormatError
            If the file is not there or not one of these.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Learned((KindSeconds("lu", "gemm", "", 1, 2.0, 0.1, 4),), (), (), (), 1).save(f"{folder}/host.toml")
        ...     print(Learned.load(f"{folder}/host.toml").seconds[0].alone_s)
        2.0
        """
        return cls(**read(Path(path)))

    def table(self) -> pd.DataFrame:
        """Return one row per program, kind, shape and width: alone_s, low_s, high_s, slowdown, samples.

        Examples
        --------
        >>> rows = (KindSeconds("lu", "gemm", "", 1, 2.0, 0.1, 4),)
        >>> learned = Learned(rows, (), (), (Run("lu", 1, 1, 0, 1.0, 0, 0),), 1)
        >>> learned.table()[["kind", "alone_s", "slowdown"]].values.tolist()
        [['gemm', 2.0, 1.0]]
        """
        import pandas as pd

        return pd.DataFrame([
            {
                "program": row.program, "kind": row.kind, "shape": row.shape, "width": row.width,
                "alone_s": row.alone_s, "low_s": row.low_s, "high_s": row.high_s,
                "slowdown": self.factor(row.program, row.kind), "samples": row.samples,
            }
            for row in self.seconds
        ])  # fmt: skip
