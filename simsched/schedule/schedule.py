"""`Schedule`: times, places and causes of tasks, simulated or measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

import numpy as np
import numpy.typing as npt

from simsched.document.html import pictured_card
from simsched.errors import SimschedError
from simsched.frames import FrameProperty
from simsched.graph.adjacency import Csr
from simsched.graph.taskgraph import Recording, Seconds, TaskGraph
from simsched.later import later
from simsched.schedule.memory import MemoryUse
from simsched.schedule.runs import Runs, first_start_s, lost_frame
from simsched.schedule.shown import Shown
from simsched.schedule.transfers import Messages, links, transfers
from simsched.units import format_time

if TYPE_CHECKING:
    import pandas as pd

    from simsched.explain import Explanation, TaskExplanation
    from simsched.machine import Machine
    from simsched.schedule.inputs import Inputs


@dataclass(frozen=True, eq=False)
class Schedule(Shown):
    """Result of a replay, or of a real run: when each task was ready, started and finished, and its cores.

    Parameters
    ----------
    graph : TaskGraph
        What ran.
    ready_s, start_s, finish_s : float64 arrays, shape (n,)
        When each task was ready (its last predecessor had finished), started and finished, in seconds from 0.
    teams : Csr
        The distinct teams: row i holds the cores of team i, ascending.
    team : int32 array, shape (n,)
        The team that ran each task.
    executor : int32 array, shape (n,)
        The executor or worker that ran each task, or a recording's lane. Under a policy that decides during the replay,
        a worker is a team, if all are equally wide and share no core: its number is its first hardware thread over its
        width, the core's on teams of one. Where teams change (`corun`), it is the lowest number that was free, for
        drawings: `first_core` and `width` of `tasks`, and `teams`, say where a task ran.
    start_order : int32 array, shape (n,)
        Task indices in the order in which they were started.
    alone_s : float64 array, shape (n,)
        Seconds that each task takes on its width when nothing disturbs it.
    n_cores : int
        Hardware threads in use on the machine; for a recorded run on an unknown machine, its lanes.
    machine : Machine or None
        The machine; None for a recorded run on an unknown one.
    policy, layout, engine : str
        How it was scheduled; `engine` is "measured" for a real run.
    seed : int
        Seed of all random numbers.
    notes : tuple of str
        Where the seconds came from, and what else a reader should know.
    lane_names : tuple of str
        Names of a recording's lanes, which then take the place of cores; empty with cores of a machine.
    inputs : Inputs or None
        Inputs of the simulation; None for a real run.
    messages : Messages or None
        Objects that were sent; None where data were near, or read from afar. See `transfers`.
    lost : Runs
        Runs that were aborted, after which their task started anew. See `lost_runs`.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=2]", "critical-path")
    >>> schedule.makespan_s, schedule.utilization, schedule.widths.tolist()
    (4.0, 0.75, [1, 1, 1])
    >>> schedule.tasks[["task", "start_s", "finish_s", "executor"]].values.tolist()
    [[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 1.0], [2.0, 1.0, 4.0, 0.0]]
    >>> schedule.waits["reason"].tolist()
    ['none', 'none', 'dependency']
    """

    graph: TaskGraph
    ready_s: Seconds
    start_s: Seconds
    finish_s: Seconds
    teams: Csr
    team: npt.NDArray[np.int32]
    executor: npt.NDArray[np.int32]
    start_order: npt.NDArray[np.int32]
    alone_s: Seconds
    n_cores: int
    machine: Machine | None = None
    policy: str = ""
    layout: str = ""
    engine: str = ""
    seed: int = 0
    notes: tuple[str, ...] = field(default=())
    lane_names: tuple[str, ...] = field(default=())
    inputs: Inputs | None = None
    messages: Messages | None = None
    lost: Runs = field(default_factory=Runs)

    def __post_init__(self) -> None:
        # Everything else is derived from these: a change in place would make the derived numbers wrong.
        times = (self.ready_s, self.start_s, self.finish_s, self.alone_s)
        for column in (*times, self.team, self.executor, self.start_order):
            column.setflags(write=False)

    @classmethod
    def from_recording(cls, graph: TaskGraph, recording: Recording) -> Schedule:
        """Return the measured schedule of a recorded run; its lanes are its cores.

        Parameters
        ----------
        graph : TaskGraph
        recording : Recording
            Of its tasks.

        Examples
        --------
        >>> import numpy as np
        >>> import simsched as ss
        >>> from simsched.graph import Recording
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)])
        >>> run = Recording(np.array([0.0, 1.5]), np.array([1.0, 3.5]), np.array([0, 1], np.int32), ("main", "worker"))
        >>> measured = ss.Schedule.from_recording(graph, run)
        >>> measured.makespan_s, measured.ready_s.tolist(), measured.engine
        (3.5, [0.0, 1.0], 'measured')
        """
        lanes = len(recording.lane_names)
        ready = np.zeros(graph.n_tasks)
        np.maximum.at(ready, graph.successors.indices, recording.finish_s[graph.successors.sources()])
        return cls(
            graph=graph,
            ready_s=ready,
            start_s=recording.start_s,
            finish_s=recording.finish_s,
            teams=Csr(np.arange(lanes + 1), np.arange(lanes, dtype=np.int32)),
            team=recording.lanes,
            executor=recording.lanes,
            start_order=np.argsort(recording.start_s, kind="stable").astype(np.int32),
            alone_s=recording.finish_s - recording.start_s,
            n_cores=lanes,
            policy="recorded",
            engine="measured",
            notes=(f"recorded on {graph.recorded_on.name}" if graph.recorded_on else "recorded run",),
            lane_names=recording.lane_names,
        )

    @property
    def is_recorded(self) -> bool:
        """Whether this is a run that a graph came with, not one that was simulated or executed from it.

        Examples
        --------
        >>> import simsched as ss
        >>> ss.simulate(ss.workload("rnn"), "knl-7250", "fifo", layout="8x8").is_recorded
        False
        """
        return self.policy == "recorded" and self.machine is None

    @property
    def makespan_s(self) -> float:
        """Seconds from the first start, or departure of an input, to the last finish, or arrival; 0 if empty."""
        if not self.graph.n_tasks:
            return 0.0
        begin_s, end_s = first_start_s(self), self.finish_s.max()
        if self.messages is not None:
            begin_s, end_s = self.messages.span(begin_s, end_s)
        return float(end_s - begin_s)

    @property
    def begun_s(self) -> Seconds:
        """When each task began to compute, shape (n,): when it started, or had read what was far.

        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4e6)
        >>> ss.simulate(graph, "generic[cores=2,link_Bps=1e6,data=read]", "fifo", "2x1").begun_s.tolist()
        [0.0, 1.0, 5.0]
        """
        return self.start_s if self.messages is None else self.messages.begun_s

    @property
    def widths(self) -> npt.NDArray[np.int32]:
        """Cores that ran each task, shape (n,)."""
        return self.teams.degrees()[self.team]

    @property
    def utilization(self) -> float:
        """Share of all core-time, cores times makespan, in which the core belonged to a run that finished."""
        if not self.makespan_s:
            return 0.0
        return float(((self.finish_s - self.start_s) * self.widths).sum() / (self.n_cores * self.makespan_s))

    def cores(self, task: int) -> npt.NDArray[np.int32]:
        """Return the cores that ran a task, ascending.

        Parameters
        ----------
        task : int
            Index of the task.

        Returns
        -------
        int32 array, shape (width,)

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], kinds="MatMul")
        >>> ss.simulate(graph, "generic[cores=4]", "fifo", "2x2").cores(1).tolist()
        [2, 3]
        """
        return self.teams.neighbours(int(self.team[task]))

    def metrics(self) -> dict[str, float]:
        """Return the schedule's numbers; see `simsched.schedule.metrics`.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> metrics = ss.simulate(graph, "generic[cores=2]", "critical-path").metrics()
        >>> metrics["makespan_s"], metrics["utilization"]
        (4.0, 0.75)
        """
        from simsched.schedule.metrics import metrics

        return metrics(self)

    @FrameProperty
    def tasks(self) -> pd.DataFrame:
        """One row for each task: task, name, kind, ready_s, start_s, finish_s, width, executor, first_core, n_cores."""
        from simsched.schedule.frame import tasks_frame

        return tasks_frame(self)

    @FrameProperty
    def lost_runs(self) -> pd.DataFrame:
        """Runs that were aborted, one row each: task, name, start_s, end_s, executor, first_core, n_cores.

        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([[100.0, 1.0], [100.0, 1.0]])
        >>> schedule = ss.simulate(graph, "generic[cores=2,kinds=each]", "heteroprio")
        >>> schedule.lost_runs[["task", "start_s", "end_s", "executor"]].values.tolist(), schedule.makespan_s
        ([[0.0, 0.0, 1.0, 0.0]], 2.0)
        """
        return lost_frame(self)

    @FrameProperty
    def transfers(self) -> pd.DataFrame:
        """Objects sent, one row each: object, task, bytes_B, from_place, to_place, depart_s, arrive_s.

        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4e6)
        >>> schedule = ss.simulate(graph, "generic[cores=2,link_Bps=1e6,data=sent]", "fifo", "2x1")
        >>> schedule.transfers[["object", "from_place", "to_place", "depart_s", "arrive_s"]].values.tolist()
        [[1.0, 0.0, 1.0, 1.0, 5.0]]
        """
        return transfers(self)

    @FrameProperty
    def links(self) -> pd.DataFrame:
        """Links that data passed over, one row each, the busiest first: link, name, bytes_B, busy_s, busy, load.

        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4e6)
        >>> schedule = ss.simulate(graph, "generic[cores=2,link_Bps=1e6,data=sent]", "fifo", "2x1")
        >>> schedule.links[["name", "bytes_B", "busy_s"]].values.tolist()
        [['out of core 0', 4000000.0, 4.0], ['into core 1', 4000000.0, 4.0]]
        """
        return links(self)

    def memory(self) -> MemoryUse:
        """Return the bytes of live data objects at each place over time; see `MemoryUse`.

        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=4e6)
        >>> ss.simulate(graph, "generic[cores=2]", "fifo").memory().peak["peak_B"].tolist()
        [4000000.0]
        """
        return MemoryUse.of(self)

    @FrameProperty
    def waits(self) -> pd.DataFrame:
        """Causes of each task's wait, one row per task; see `Explanation.tasks`."""
        return self.explain().tasks

    @overload
    def explain(self, task: None = None) -> Explanation: ...

    @overload
    def explain(self, task: int | str) -> TaskExplanation: ...

    def explain(self, task: int | str | None = None) -> Explanation | TaskExplanation:
        """Explain why a task, by index or name, started when it did; the whole schedule when none is given.

        See `simsched.explain`.

        Parameters
        ----------
        task : int or str, optional
            Index or name.

        Returns
        -------
        Explanation or TaskExplanation
            Of the schedule, or of the task that is given.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> print(ss.simulate(graph, "generic[cores=1]", "fifo").explain(2))
        task 2: ready at 1 s, started at 3 s
          ready                        at 1 s, when task 0 finished
          waited for a core            2 s
          task 1 held its core         2 s, task 1
        """
        whole = later("explain")(self)
        return whole if task is None else whole.task(task)

    def summary(self) -> dict[str, object]:
        """Return the inputs of this schedule and its main results, formatted for reading.

        Examples
        --------
        >>> import simsched as ss
        >>> summary = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo").summary()
        >>> summary["policy"], summary["layout"], summary["makespan"], summary["utilization"]
        ('fifo', '2x1', '2 s', '75.0%')
        """
        made = {"machine": self.machine.spec if self.machine else None, "policy": self.policy, "layout": self.layout,
                "engine": self.engine}  # fmt: skip
        facts: dict[str, object] = {key: value for key, value in made.items() if value}
        facts["makespan"] = format_time(self.makespan_s)
        facts["utilization"] = f"{self.utilization:.1%}"
        if len(self.lost):
            facts["aborted"] = f"{len(self.lost)} runs"
        return facts

    def __repr__(self) -> str:
        return f"<Schedule {self.graph.name!r}: {', '.join(f'{k}={v}' for k, v in self.summary().items())}>"

    def _repr_html_(self) -> str:
        title = f"Schedule of {self.graph.name}"
        return pictured_card(title, self.summary(), self.notes, lambda: later("plots").gantt_svg(self))

    def require_machine(self) -> Machine:
        """Return the machine.

        Raises
        ------
        SimschedError
            If the schedule is a recorded run of an unknown machine.

        Examples
        --------
        >>> import simsched as ss
        >>> schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]", "fifo")
        >>> schedule.require_machine().n_cores
        2
        """
        if self.machine is None:
            raise SimschedError("this schedule was recorded on a machine that simsched does not know")
        return self.machine
