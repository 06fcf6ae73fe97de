"""Widths by kind of task: the search space of `tune`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from simsched.errors import LayoutError, PolicyError, SpecError
from simsched.machine import RuntimeProfile
from simsched.policy import Layout, Policy, Problem, Start, View
from simsched.policy.estimate import Estimator


@dataclass(frozen=True)
class KindWidths(Policy):
    """The ready task of the highest level first, each on the width of its kind; one that does not fit lets others pass.

    The level is the longest accumulated estimate from the task to a sink, all tasks on their kind's width.
    Cost: one dispatch per task; O(widths + log(ready tasks)) per decision.

    Parameters
    ----------
    widths : str
        Cores by kind, as in `MatMul:8;Conv2D:4`; found by an estimate (`fitted`) where none are given. Separators
        are percent-encoded in a kind's name, as in URLs.
    other : int
        Cores of every kind not named.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([2.0, 1.0, 1.0], kinds=["MatMul", "Add", "Add"])
    >>> schedule = ss.simulate(graph, "generic[cores=4]", "kind-widths[widths=MatMul:2]")
    >>> schedule.tasks[["kind", "width"]].values.tolist()
    [['MatMul', 2], ['Add', 1], ['Add', 1]]
    """

    name = "kind-widths"
    any_core = True

    widths: str = ""
    other: int = 1

    def __post_init__(self) -> None:
        if min([self.other, *self.by_kind().values()]) < 1:
            raise SpecError(f"{self}: the least width is 1")

    @classmethod
    def of(cls, widths: Mapping[str, int], other: int = 1) -> KindWidths:
        """Return the policy of some widths by kind."""
        return cls(";".join(f"{quote(kind, safe=':/ ')}:{width}" for kind, width in widths.items()), other)

    def by_kind(self) -> dict[str, int]:
        """Return the widths by kind.

        Raises
        ------
        SpecError
            If `widths` is malformed, or has a kind twice.
        """
        found = {}
        for item in filter(None, self.widths.split(";")):
            kind, _, width = item.rpartition(":")
            if not kind or not width.isdecimal():
                raise SpecError(
                    f"kind-widths[widths={self.widths}]: {item!r} is not kind:cores, as in MatMul:8"
                )
            if (name := unquote(kind)) in found:
                raise SpecError(f"kind-widths[widths={self.widths}]: {name!r} has two widths; give it one")
            found[name] = int(width)
        return found

    def fitted(self, problem: Problem, runtime: RuntimeProfile) -> Policy:
        """Return the policy with widths by kind, if it has none: those of the shortest estimated makespan.

        Each kind gets the fastest width of its longest task, at most a width that is the same for all kinds.
        """
        if self.widths or self.other != 1 or not problem.graph.n_tasks:
            return self
        most = problem.machine.n_threads
        limits = [Layout(most, layout.width) for layout in Layout.filling(most)]
        _, limit = Estimator(problem, self, runtime).best(limits)[0]
        each, labels = self.team_widths(problem, limit.width), problem.graph.kinds.labels
        first = dict(zip(*np.unique(problem.graph.kinds.codes, return_index=True), strict=True))
        by_kind = {labels[code]: int(each[task]) for code, task in first.items()}
        return KindWidths.of({kind: width for kind, width in by_kind.items() if kind}, by_kind.get("", 1))

    def team_widths(self, problem: Problem, width: int) -> npt.NDArray[np.int64]:
        """Return, for each task, the fastest width of the longest task of its kind, at most `width`."""
        longest = np.argsort(problem.costs.one_core_s, kind="stable")
        of_kind = np.ones(len(problem.graph.kinds.labels), np.int64)
        of_kind[problem.graph.kinds.codes[longest]] = problem.fastest_widths[longest]
        return np.asarray(np.minimum(of_kind, width)[problem.graph.kinds.codes])

    def prepared(self, problem: Problem) -> Policy:
        """Return the policy with every task's width and level.

        Raises
        ------
        PolicyError
            If the graph has no task of a kind.
        LayoutError
            If a width is beyond the machine.
        """
        labels, widths = problem.graph.kinds.labels, self.by_kind()
        if unknown := [kind for kind in widths if kind not in labels]:
            raise PolicyError(
                f"{self}: the graph has no tasks of kind {unknown[0]!r}; it has {', '.join(labels)}"
            )
        if (most := max([self.other, *widths.values()])) > problem.machine.n_threads:
            raise LayoutError(f"{self}: a width of {most} is beyond the {problem.machine.n_threads} cores")
        each = np.array([widths.get(kind, self.other) for kind in labels], np.int64)[
            problem.graph.kinds.codes
        ]
        return _Widths(each, problem.graph.levels(problem.costs.seconds(each)))


@dataclass(frozen=True, eq=False)
class _Widths(Policy):
    name = KindWidths.name

    each: npt.NDArray[np.int64]
    levels: npt.NDArray[np.float64]
    #: Ready tasks by width: a heap, the highest level first.
    waiting: dict[int, list[tuple[float, int]]] = field(default_factory=dict)

    def decide(self, view: View) -> Iterable[Start]:
        """Return the tasks that fit, the highest level first."""
        for task in view.newly_ready:
            heappush(self.waiting.setdefault(int(self.each[task]), []), (-float(self.levels[task]), task))
        idle = len(view.idle_cores)
        while fitting := [heap for width, heap in self.waiting.items() if heap and width <= idle]:
            _, task = heappop(min(fitting, key=lambda heap: heap[0]))
            idle -= int(self.each[task])
            yield Start(task, int(self.each[task]))
