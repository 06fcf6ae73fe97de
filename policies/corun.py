"""Co-running: each task at its own width, next to others on idle cores (concurrency control, III-D)."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from simsched.costs import TaskCosts
from simsched.errors import LayoutError, MachineError, SpecError
from simsched.graph.adjacency import Index
from simsched.machine import Machine
from simsched.policy import CandidateRule, Layout, Policy, Problem
from simsched.renamed import old_fields

#: Tasks whose candidates are worked out at a time: bounds the memory for a million tasks.
CHUNK = 1 << 14
#: Widths up to which a layout is searched among all caps; beyond it, among those that fill the machine.
DENSE = 8
#: Threads by which a candidate may differ from the width of its kind (Sec. III-D, strategy 3).
NEAR = 2

Offers = tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]


@old_fields(beside="corun")
@dataclass(frozen=True)
class CoRun(Policy):
    """Start what fits the idle cores and does not outlast the running tasks, fewest threads first.

    The paper's four strategies, each with its switch. Every task has its own width, by strategy 1 or 2, else all
    cores; `CandidateRule` decides starts. A layout `kxw` caps it: at most k concurrent tasks of at most w cores.

    Cost: one dispatch per task; O(ready tasks x candidates) per decision.

    Parameters
    ----------
    candidates : int
        Candidate widths of a task: its fastest ones.
    interval : int
        Step between the widths that are considered: 1, then multiples of it, as hill climbing tries them, and all.
    fastest : bool
        Strategy 1: a task's own width is the one on which it is predicted to be fastest.
    per_kind : bool
        Strategy 2: it is, for all tasks of a kind, the fastest width of the one that takes longest; of its candidates
        a task keeps those within 2 threads of it.
    corun : bool
        Strategy 3: whenever cores idle, tasks join the running ones, at their own width or a candidate. Without
        it they run in sequence at their own width, first come, first served.
    fill : bool
        Where no task fits with the running ones, the most time-consuming starts on the idle cores even if none of its
        candidates fits them, at its fastest width there: strategy 3's "start the most time-consuming ready op" to the
        letter. Without it that op waits until a candidate fits.
    controlled : str
        Kinds whose widths are chosen, between semicolons, written as those of `kind-widths`; all when not given. Others
        have all cores, or one if they are too small to gain from more.
    smt : bool
        Strategy 4: while a task holds all cores, small ones start on the second hardware thread of each; needs a
        machine with two ways in use.

    References
    ----------
    Runtime Concurrency Control and Operation Scheduling for High Performance Neural Network Training, 2019, Sec. III-D.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([8.0, 8.0], kinds="mine")
    >>> costs = ss.CostModel({"mine": ss.Curve(serial_share=0.5, thread_overhead=3.0)})
    >>> ss.compare(graph, "generic[cores=8]", ["sequential", "corun"], costs=costs)["makespan_s"].round(2).tolist()
    [11.61, 5.8]
    """

    name = "corun"
    any_core = True
    takes_layout = True
    layout_limits = True

    candidates: int = 3
    interval: int = 2
    fastest: bool = True
    per_kind: bool = False
    corun: bool = True
    fill: bool = False
    controlled: str = ""
    smt: bool = False

    def __post_init__(self) -> None:
        for key in ("candidates", "interval"):
            if getattr(self, key) < 1:
                raise SpecError(f"corun[{key}={getattr(self, key)}]: the least is 1")

    def layouts(self, machine: Machine) -> tuple[Layout, ...]:
        """Return caps on the width alone, and one task at a time, which alone forbids co-running."""
        most = self.no_cap(machine)
        widths = {
            *range(1, min(DENSE, most.width) + 1),
            *(layout.width for layout in Layout.filling(most.width)),
        }
        caps = [Layout(most.executors, width) for width in sorted(widths, reverse=True)]
        return (*(caps if self.corun else ()), Layout(1, most.width))

    def no_cap(self, machine: Machine) -> Layout:
        """Return the layout that limits nothing, as in the paper.

        Parameters
        ----------
        machine : Machine

        Returns
        -------
        Layout

        Examples
        --------
        >>> import simsched as ss
        >>> str(ss.policy("corun").no_cap(ss.machine("generic[cores=4]")))
        '4x4'
        """
        return Layout(machine.n_threads, self._cores(machine))

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return approximate start widths of tasks: the narrowest candidates, where others may run, too.

        Tasks alone in their depth start at their own width: the fastest one up to the cap, or the cap.
        """
        fastest = problem.fastest_widths if self.fastest or self.per_kind else np.array(width)
        own = np.broadcast_to(np.minimum(fastest, width), problem.graph.n_tasks)
        # Candidates are on both sides of a task's own width, except for one that is as wide as the cap.
        below = np.where(fastest < width, self.candidates // 2, self.candidates - 1)
        depths = problem.graph.depths
        beside = self.corun & (np.bincount(depths, minlength=1)[depths] > 1)
        # The widths offered are 1 and whole intervals, and the cap itself.
        narrow = ((own - 1) // self.interval - below + 1) * self.interval
        return np.where(beside & (below > 0), np.maximum(narrow, 1), own).astype(np.int64)

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with every task's candidate widths.

        Raises
        ------
        LayoutError
            If one number of the cap is beyond the machine.
        MachineError
            If second hardware threads are asked for and not in use.
        """
        most, widest = self._caps(problem)
        serial_s = problem.costs.one_core_s if self.smt else None
        widths, seconds = self._offers(problem, widest)
        offered = widths.shape[1]
        if self.fill and self.corun:
            every = candidate_widths(problem.costs, widest, self.interval, widest)
            widths, seconds = np.column_stack([widths, every[0]]), np.column_stack([seconds, every[1]])
        if (left := self._left_alone(problem)).any():
            whole_s = problem.costs.seconds(widest)
            whole = np.where(whole_s < problem.costs.one_core_s, widest, 1)
            widths = np.where(left[:, None], whole[:, None], widths).astype(np.int32)
            seconds = np.where(left[:, None], whole_s[:, None], seconds)
        return CandidateRule(widths, seconds, most, self.corun, offered, serial_s)

    def _left_alone(self, problem: Problem) -> npt.NDArray[np.bool_]:
        """Return which tasks are of a kind whose width is not chosen."""
        kinds, chosen = problem.graph.kinds, {unquote(kind) for kind in self.controlled.split(";") if kind}
        left = np.array([bool(chosen) and kind not in chosen for kind in kinds.labels], np.bool_)
        return np.asarray(left[kinds.codes])

    def _caps(self, problem: Problem) -> tuple[int, int]:
        """Return the most concurrent tasks, and the most cores of each."""
        most, layout = self.no_cap(problem.machine), problem.layout
        if layout is None:
            layout = most
        if layout.executors > most.executors or layout.width > most.width:
            raise LayoutError(f"a cap of {layout} is beyond the {most.width} cores of {problem.machine}")
        return layout.executors, layout.width

    def _cores(self, machine: Machine) -> int:
        """Return the hardware threads of teams: one per core where the second ones take small tasks."""
        if not self.smt:
            return machine.n_threads
        if machine.smt < 2:
            more = "write smt=2 in the machine's brackets" if machine.smt_ways > 1 else "this machine has one"
            raise MachineError(f"{self} needs the second hardware threads of {machine}: {more}")
        return machine.n_cores

    def _offers(self, problem: Problem, widest: int) -> Offers:
        """Return the candidate widths of each task, its own first, and their seconds."""
        costs = problem.costs
        widths, seconds = candidate_widths(costs, widest, self.interval, self.candidates if self.corun else 1)
        if self.per_kind:
            own = kind_widths(problem.graph.kinds.codes, widths[:, 0], seconds[:, 0])
            near = np.abs(widths - own[:, None]) <= NEAR
        elif not self.fastest:
            own = np.full(len(widths), widest, np.int32)
            near = np.ones(widths.shape, np.bool_)
        else:
            return widths, seconds
        own_s = costs.seconds(own)
        if not self.corun:
            return own[:, None], own_s[:, None]
        return (
            np.column_stack([own, np.where(near, widths, own[:, None])]),
            np.column_stack([own_s, np.where(near, seconds, own_s[:, None])]),
        )


def candidate_widths(costs: TaskCosts, widest: int, interval: int, candidates: int) -> Offers:
    """Return the fastest widths of each task and their seconds, fastest first, both of shape (n, candidates).

    Of equally fast widths the narrower comes first.
    """
    tried = np.unique(np.r_[1, np.arange(interval, widest + 1, interval), widest]).astype(np.int32)
    kept = min(candidates, len(tried))
    n = len(costs.one_core_s)
    widths, seconds = np.empty((n, kept), np.int32), np.empty((n, kept))
    for start in range(0, n, CHUNK):
        part = costs.part(slice(start, start + CHUNK))
        table = np.stack([part.seconds(int(w)) for w in tried], axis=1)
        fastest = np.argsort(table, axis=1, kind="stable")[:, :kept]
        widths[start : start + CHUNK] = tried[fastest]
        seconds[start : start + CHUNK] = np.take_along_axis(table, fastest, axis=1)
    return widths, seconds


def kind_widths(
    kinds: Index, fastest: npt.NDArray[np.int32], seconds: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Return the fastest width of the most time-consuming task of each task's kind, shape (n,).

    Parameters
    ----------
    kinds : int32 array, shape (n,)
        Label of each task's kind.
    fastest : int32 array, shape (n,)
        Width on which each task is fastest.
    seconds : float64 array, shape (n,)
        Seconds of each task on that; of equal ones the lower index counts.
    """
    n = len(kinds)
    order = np.lexsort((np.arange(n, 0, -1), seconds, kinds))
    width_of = np.zeros(int(kinds.max(initial=0)) + 1, np.int32)
    # Of several with one label the last is kept: the most time-consuming.
    width_of[kinds[order]] = fastest[order]
    return width_of[kinds]
