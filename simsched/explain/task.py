"""Explanation of one task's start time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from simsched.document.html import card
from simsched.errors import SimschedError
from simsched.explain.path import task_names
from simsched.explain.waits import REASONS, Waits
from simsched.graph import TaskGraph
from simsched.graph.adjacency import entries
from simsched.parameters import is_whole
from simsched.text import printable
from simsched.units import format_bytes, format_time

#: Lines of a card about the holders of the cores.
MOST_HOLDERS = 5


@dataclass(frozen=True, eq=False)
class TaskExplanation:
    """Explanation of one task's start time; its start is `ready_s` and the parts below.

    Parameters
    ----------
    task : int
    name : str
    depends_on : int
        The predecessor that made it ready, the last to finish; -1 for none.
    depends_on_name : str
    ready_s, start_s : float
        When it was ready, and when it started.
    no_core_s : float
        Seconds from ready to start in which fewer cores (under a static policy, executors) were idle than it needed.
    queue_s : float
        Seconds in which there were enough, but the scheduler was busy, or preferred others, or held it back.
    dispatch_s : float
        Cost of the decision to start it.
    data_s : float
        Seconds in which its team waited for what it reads.
    data_object : int
        Number in the graph's `data` of the object that it waited for last; -1 for none.
    data_from : int
        The task that wrote this object; -1 for none, or an input of the graph.
    data_from_name : str
    data_B : float
        Its bytes.
    data_left_s : float or None
        When it left.
    aborted_s : float
        Seconds in which it ran and was aborted.
    reason : str
        The largest of these, one of `REASONS`; "dependency" where it started as soon as it was ready.
    holders : DataFrame
        Holders of its cores between ready and start: task, name, n_cores (of its cores), seconds_s; the longest first.
    notes : tuple of str

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> why = ss.simulate(graph, "generic[cores=1]", "fifo").explain(2)
    >>> why.reason, why.depends_on, why.ready_s, why.no_core_s, why.start_s
    ('no core', 0, 1.0, 2.0, 3.0)
    >>> why.holders[["task", "seconds_s"]].values.tolist()
    [[1.0, 2.0]]
    """

    task: int
    name: str
    depends_on: int
    depends_on_name: str
    ready_s: float
    start_s: float
    no_core_s: float
    queue_s: float
    dispatch_s: float
    data_s: float
    data_object: int
    data_from: int
    data_from_name: str
    data_B: float
    data_left_s: float | None
    aborted_s: float
    reason: str
    holders: pd.DataFrame
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, waits: Waits, task: int, notes: tuple[str, ...] = ()) -> TaskExplanation:
        """Return the explanation of one task."""
        graph, first = waits.schedule.graph, waits.first[task]
        before, one, data = int(waits.depends_on[first]), int(waits.arrivals.object[task]), graph.data
        wrote, size_B = (data.producer[one], data.size_B[one]) if data is not None and one >= 0 else (-1, 0.0)
        return cls(
            task=task,
            name=graph.task_name(task),
            depends_on=before,
            depends_on_name=task_names(graph, [before])[0],
            ready_s=float(waits.ready_s[first]),
            start_s=float(waits.schedule.start_s[task]),
            no_core_s=float(waits.no_core_s[task]),
            queue_s=float(waits.queue_s[task]),
            dispatch_s=float(waits.dispatch_s[task]),
            data_s=float(waits.data_s[task]),
            data_object=one,
            data_from=int(wrote),
            data_from_name=task_names(graph, [wrote])[0],
            data_B=float(np.nan_to_num(size_B)),
            data_left_s=float(waits.arrivals.left_s[task]) if one >= 0 else None,
            aborted_s=float(waits.aborted_s[task]),
            reason=REASONS[int(waits.reason[task])],
            holders=_holders(waits, task),
            notes=notes,
        )

    def facts(self) -> dict[str, str]:
        """Return the parts of the wait in words, without those of no length."""
        facts = {"ready": f"at {format_time(self.ready_s)}, {self._made_ready()}"}
        parts = {
            "for a core": self.no_core_s,
            "in the queue": self.queue_s,
            "for its dispatch": self.dispatch_s,
            "for data": self.data_s,
        }
        facts |= {f"waited {what}": format_time(seconds) for what, seconds in parts.items() if seconds}
        if self.data_left_s is not None:
            of = self.data_from_name if self.data_from >= 0 else "the graph's inputs"
            sent = f"{format_bytes(self.data_B)} of {of}, sent at {format_time(self.data_left_s)}"
            facts[f"the last was object {self.data_object}"] = sent
        if self.aborted_s:
            facts["ran, and was aborted"] = format_time(self.aborted_s)
        if self.start_s == self.ready_s:
            facts["waited"] = "0 s"
        columns = (self.holders[name].tolist() for name in ("task", "name", "n_cores", "seconds_s"))
        for task, name, n_cores, seconds in list(zip(*columns, strict=True))[:MOST_HOLDERS]:
            cores = f"{n_cores} of its cores" if n_cores > 1 else "its core"
            facts[f"task {task} held {cores}"] = f"{format_time(seconds)}, {name}"
        if len(self.holders) > MOST_HOLDERS:
            facts["others held its cores"] = f"{len(self.holders) - MOST_HOLDERS} tasks"
        return facts

    def _made_ready(self) -> str:
        return f"when {self.depends_on_name} finished" if self.depends_on >= 0 else "from the beginning"

    def _title(self) -> str:
        return f"{self.name}: ready at {format_time(self.ready_s)}, started at {format_time(self.start_s)}"

    def __str__(self) -> str:
        lines = [self._title(), *(f"  {key:<28} {value}" for key, value in self.facts().items())]
        return "\n".join(printable(line) for line in [*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return card(self._title(), self.facts(), self.notes)

    def to_dict(self) -> dict[str, object]:
        """Return everything as numbers, text and lists, as JSON has them."""
        plain = {key: value for key, value in vars(self).items() if key not in {"holders", "notes"}}
        return {**plain, "holders": self.holders.to_dict("records"), "notes": list(self.notes)}


def found(graph: TaskGraph, task: int | str) -> int:
    """Return the index of a task given by index or by name.

    Raises
    ------
    SimschedError
        If there is none, or several have that name.
    """
    if isinstance(task, str):
        called = [i for i in range(graph.n_tasks) if graph.task_name(i) == task]
        if len(called) == 1:
            return called[0]
        if called:
            some = ", ".join(map(str, called[:5]))
            raise SimschedError(
                f"{len(called)} tasks are called {printable(task)!r} ({some}, ...); give the index of one"
            )
        raise SimschedError(
            f"no task is called {printable(task)!r}; give its index, or a name "
            "of schedule.tasks, which `simsched run --out tasks.csv` writes"
        )
    if not is_whole(task, 0, graph.n_tasks - 1):
        known = f"tasks are 0 to {graph.n_tasks - 1}, or names" if graph.n_tasks else "the graph has none"
        raise SimschedError(f"there is no task {task!r}; {known}")
    return int(task)


def _holders(waits: Waits, task: int) -> pd.DataFrame:
    schedule, places, first = waits.schedule, waits.places, waits.first[task]
    from_s, until_s = waits.ready_s[first], waits.held_s[first]
    begin_s, end_s = np.maximum(waits.held_s, from_s), np.minimum(waits.runs.end_s, until_s)
    near = np.flatnonzero((begin_s < end_s) & (places.pool == places.pool[first]))
    place, held = entries(places.places, places.row[near])
    ours = np.isin(held, places.places.neighbours(int(places.row[first])))
    common = np.bincount(place[ours], minlength=len(near))
    other, common = near[common > 0], common[common > 0]
    # An executor is one place, and all its cores.
    cores_a_place = int(schedule.widths[task] // max(places.widths[first], 1))
    frame = pd.DataFrame({
        "task": waits.runs.task[other],
        "name": task_names(schedule.graph, waits.runs.task[other]),
        "n_cores": common * cores_a_place,
        "seconds_s": end_s[other] - begin_s[other],
    })  # fmt: skip
    return frame.sort_values(["seconds_s", "task"], ascending=[False, True], ignore_index=True)
