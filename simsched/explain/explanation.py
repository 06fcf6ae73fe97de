"""`Explanation`: the reasons for a schedule's length."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import pandas as pd

from simsched.costs.task_costs import TaskCosts
from simsched.document.html import pictured_card
from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.explain.core_time import core_time_frame, labelled, seen_parts
from simsched.explain.path import Path
from simsched.explain.task import TaskExplanation, found
from simsched.explain.team_time import TeamTime, costs_of
from simsched.explain.waits import Waits
from simsched.explain.what_if import what_if
from simsched.frames import FrameProperty
from simsched.later import later
from simsched.schedule.schedule import Schedule
from simsched.text import printable
from simsched.units import format_time


class Explanation:
    """The reasons for a schedule's length; docs/explaining.md defines all terms. All parts are lazy.

    Parameters
    ----------
    schedule : Schedule
    causes : bool, optional
        Whether to find the causes of slow-down, which traverses the schedule once more; by default, if that takes
        no more than some seconds.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> why = ss.explain(ss.simulate(graph, "generic[cores=1]", "fifo"))
    >>> why.tasks["no_core_s"].tolist(), why.waits.no_core_s.tolist(), why.notes
    ([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], ())
    >>> why.critical_path[["task", "part", "seconds_s", "after"]].values.tolist()
    [[0, 'run', 1.0, 'start'], [1, 'run', 2.0, 'no core'], [2, 'run', 3.0, 'no core']]
    >>> why.core_time[["cause", "core_s"]].values.tolist()[:1], len(why.slow_downs)
    ([['work', 6.0]], 3)
    >>> why.path.task.tolist(), why.team_time.work_s.tolist()
    ([0, 1, 2], [1.0, 2.0, 3.0])
    """

    def __init__(self, schedule: Schedule, causes: bool | None = None) -> None:
        self.schedule = schedule
        self._causes = causes

    @cached_property
    def waits(self) -> Waits:
        """Causes of every task's wait, as arrays."""
        return Waits.of(self.schedule)

    @FrameProperty
    def tasks(self) -> pd.DataFrame:
        """One row per task: task, depends_on, freed_by, dependency_s, no_core_s, queue_s, dispatch_s, data_s, reason.

        `depends_on` is the predecessor that made it ready, `freed_by` the task that gave back its cores last, -1 for
        none. `dependency_s` are the seconds from 0 until it was ready; with the four others it adds up to its start.
        `reason` is the largest of the four others: "no core", "queue", "dispatch" or "data"; where they are 0,
        "dependency", or "none" for tasks that depend on nothing.
        """
        return self.waits.frame()

    @cached_property
    def path(self) -> Path:
        """The critical path through time, as arrays."""
        return Path.of(self.waits)

    @FrameProperty
    def critical_path(self) -> pd.DataFrame:
        """One row per segment, from first start to last finish without a gap; they sum to the makespan.

        begin_s, end_s, seconds_s; part ("run", "data", "dispatch", "queue"); task, name, kind; after, what the task,
        or the object that it waited for last, had waited for until then ("dependency", "no core", "scheduler",
        "start"), and other, the task that ended that, of an object mostly the one that wrote it; -1 for none.
        """
        return self.path.frame(self.waits)

    @FrameProperty
    def slow_downs(self) -> pd.DataFrame:
        """One row per task: the seconds by which it took longer than alone, one column per cause."""
        from simsched.explain.causes import slow_downs

        return slow_downs(self.schedule, self._causes, self.costs)

    @cached_property
    def costs(self) -> TaskCosts | None:
        """The costs of its tasks in its replay; None for a real run, where they are unknown.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0])
        >>> ss.simulate(graph, "generic[cores=2]", "fifo", "2x1").explain().costs.seconds(1).tolist()
        [1.0, 2.0]
        """
        return None if self.schedule.inputs is None else costs_of(self.schedule)

    @cached_property
    def team_time(self) -> TeamTime:
        """Parts of the core-time of each task's team, as arrays."""
        return TeamTime.of(self.schedule, self.costs)

    @FrameProperty
    def core_time(self) -> pd.DataFrame:
        """One row per cause: group ("work", "team", "slow-down", "shared", "idle"), cause, core_s, share.

        The sum of `core_s` is the number of cores times the makespan. Work is one core's time, so that its
        share is the efficiency: the speed-up over one core, over the cores.
        """
        slow_downs = {str(cause): seconds.to_numpy() for cause, seconds in self.slow_downs.items()}
        return core_time_frame(self.waits, self.team_time, slow_downs)

    def what_if(
        self,
        speedup: float = 2.0,
        kind_speedup: float = 1.1,
        *,
        top: int = 10,
        replays: int = 32,
        progress: Callable[[int], object] | None = None,
    ) -> pd.DataFrame:
        """Replay the graph with tasks, and kinds of tasks, made faster; see `simsched.explain.what_if.what_if`.

        Parameters
        ----------
        speedup, kind_speedup : float
            How many times faster a task, and a kind of tasks, becomes.
        top, replays, progress
            As in `simsched.explain.what_if.what_if`.

        Returns
        -------
        DataFrame
            One row per task or kind, the largest gain first; gains in seconds (`gain_s`) and over the makespan.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ideas = ss.simulate(graph, "generic[cores=2]", "fifo").explain().what_if()
        >>> ideas[["task", "makespan_s"]].values.tolist()[:2]
        [[2.0, 2.5], [0.0, 3.5]]
        """
        return what_if(
            self.schedule,
            self.critical_path,
            speedup,
            kind_speedup,
            top=top,
            replays=replays,
            progress=progress,
        )

    def task(self, task: int | str) -> TaskExplanation:
        """Explain why a task, by index or name, started when it did.

        Parameters
        ----------
        task : int or str

        Returns
        -------
        TaskExplanation

        Raises
        ------
        SimschedError
            If there is no such task, or several have that name.

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], names=["load", "train", "save"])
        >>> why = ss.simulate(graph, "generic[cores=1]", "fifo").explain()
        >>> why.task("save").depends_on_name, why.task(2).no_core_s
        ('load', 2.0)
        """
        return TaskExplanation.of(self.waits, found(self.schedule.graph, task), self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Limits of this explanation, and their reasons."""
        from simsched.explain.causes import too_large

        if not self.waits.costs_known:
            said = ["what decisions cost is not known for a real run; their time is counted as queue"]
            if (self.schedule.widths > 1).any():
                said.append(
                    "what its teams lose is not known for a real run; all of their time is counted as work"
                )
            return tuple(said)
        if self._causes is None and too_large(self.schedule):
            return (
                "the causes of slow-down are not looked for in a schedule this large; causes=True does so",
            )
        return ()

    def plot_critical_path(self, ax: Axes | None = None) -> Axes:
        """Draw the critical path through time; see `simsched.plots.critical_path`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 3.0], [(0, 1)], kinds=["Conv2D", "MatMul"])
        >>> ax = ss.simulate(graph, "generic[cores=2]", "fifo", "2x1").explain().plot_critical_path()
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['MatMul: 75.0%', 'Conv2D: 25.0%']
        """
        return later("plots").critical_path(self.critical_path, ax=ax)

    def plot_core_time(self, ax: Axes | None = None) -> Axes:
        """Draw the breakdown of core-time; see `simsched.plots.core_time`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ax = ss.simulate(graph, "generic[cores=2]", "fifo").explain().plot_core_time()
        >>> ax.get_xlabel()
        'core-time (%)'
        """
        return later("plots").core_time({self.schedule.policy or "schedule": self.core_time}, ax=ax)

    def plot_what_if(self, ax: Axes | None = None) -> Axes:
        """Replay possible improvements, and draw the most effective ones; see `simsched.plots.what_if`.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure when not given.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> ax = ss.simulate(graph, "generic[cores=2]", "fifo").explain().plot_what_if()
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['task 2, 2x faster', 'task 0, 2x faster']
        """
        return later("plots").what_if(self.what_if(), ax=ax)

    def summary(self) -> dict[str, str]:
        """Return the makespan, the causes of waits, and the parts of critical path and core-time, in words.

        Returns
        -------
        dict of str to str

        Examples
        --------
        >>> import simsched as ss
        >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
        >>> summary = ss.simulate(graph, "generic[cores=2]", "critical-path").explain().summary()
        >>> summary["makespan"], summary["core-time: work"], summary["core-time: idle: tail"]
        ('4 s', '75.0%', '25.0%')
        """
        facts = {"makespan": format_time(self.schedule.makespan_s)}
        path = self.critical_path.groupby("part", observed=False)["seconds_s"].sum()
        facts |= {f"critical path: {part}": format_time(seconds) for part, seconds in path.items() if seconds}
        facts |= {f"tasks that {waited}": f"{count:,}" for waited, count in self.waits.in_words().items()}
        parts = seen_parts(self.core_time)
        return facts | {
            f"core-time: {labelled(group, cause)}": f"{share:.1%}" for group, cause, share in parts
        }

    def __str__(self) -> str:
        lines = [f"  {key:<38} {value}" for key, value in self.summary().items()]
        return "\n".join(
            [printable(self.schedule.graph.name), *lines, *(f"  note: {note}" for note in self.notes)]
        )

    def __repr__(self) -> str:
        return f"<Explanation of {self.schedule!r}>"

    def _repr_html_(self) -> str:
        title = f"Where the time of {self.schedule.graph.name} went"
        shown = {self.schedule.policy or "schedule": self.core_time}
        return pictured_card(title, self.summary(), self.notes, lambda: later("plots").core_time_svg(shown))


def explain(schedule: Schedule, *, causes: bool | None = None) -> Explanation:
    """Explain a schedule, simulated, executed or recorded.

    Parameters
    ----------
    schedule : Schedule
    causes : bool, optional
        Whether to find the causes of slow-down (memory bandwidth, tiles, ...), which traverses the schedule once
        more; by default, if that takes no more than some seconds.

    Returns
    -------
    Explanation
        `.tasks`, why each task started when it did; `.critical_path` through time; `.core_time`, where the cores' time
        went; `.what_if()`, what would help most; `.task(t)`, one task in words.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> why = explain(ss.simulate(graph, "generic[cores=1]", "fifo"))
    >>> why.tasks["reason"].tolist()
    ['none', 'no core', 'no core']
    >>> why.critical_path["task"].tolist()
    [0, 1, 2]
    """
    if not isinstance(schedule, Schedule):
        raise SimschedError(f"schedule is {schedule!r:.80}; expected a Schedule, as ss.simulate(...) returns")
    return Explanation(schedule, causes)
