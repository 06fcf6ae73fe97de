"""`layout="best"`: the layout of the shortest of some replays, which an estimate and lower bounds keep few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from simsched.policy import Layout
from simsched.replay.at_once import at_once

if TYPE_CHECKING:
    from simsched.policy.estimate import Estimator
    from simsched.schedule import Schedule

#: Replays of a search, or fewer.
MOST_REPLAYS = 15
#: Replays of the layouts of the shortest estimates, before those of layouts beside the best one found.
ESTIMATED = 5


@dataclass(eq=False)
class Search:
    """Replays of some layouts of a policy, no layout twice.

    Parameters
    ----------
    replay : callable
        Returns the schedule of a layout.
    estimator : Estimator
    layouts : sequence of Layout
        Layouts to choose from; a few beside them, of fewer executors, are tried, too.
    bounded : bool
        Whether no replay is shorter than its lower bound; with noise, one can be.
    """

    replay: Callable[[Layout], Schedule]
    estimator: Estimator
    layouts: Sequence[Layout]
    bounded: bool = True
    makespans_s: dict[Layout, float] = field(default_factory=dict)
    best: Schedule | None = None

    def run(self) -> Schedule:
        """Return the shortest schedule found, which says that replays chose its layout."""
        ranked = [layout for _, layout in self.estimator.best(self.estimator.with_fewer(self.layouts))]
        filling = [layout for layout in ranked if layout in self.layouts]
        best = self._try(ranked[:1])
        best = self._try(filling[:ESTIMATED])
        while nearby := self._promising(self._beside(best)):
            best = self._try(nearby[:2])
        self._try(ranked)
        return self._labelled(len(self.layouts))

    def _promising(self, layouts: Iterable[Layout]) -> list[Layout]:
        """Return the layouts that are new and may be shorter than the best, as many as can still be replayed."""
        shortest_s = min(self.makespans_s.values(), default=float("inf"))
        new = (layout for layout in layouts if layout not in self.makespans_s)
        found = [one for one in new if not self.bounded or self.estimator.lower_s(one) < shortest_s]
        return found[: MOST_REPLAYS - len(self.makespans_s)]

    def _try(self, layouts: Iterable[Layout]) -> Layout:
        """Replay the promising ones of some layouts, and return the best layout so far; of equal ones the first."""
        tried = self._promising(dict.fromkeys(layouts))
        for layout, schedule in zip(tried, at_once(self.replay, tried), strict=True):
            self.makespans_s[layout] = schedule.makespan_s
            if self.best is None or schedule.makespan_s < self.best.makespan_s:
                self.best = schedule
        return min(self.makespans_s, key=self.makespans_s.__getitem__)

    def _beside(self, layout: Layout) -> list[Layout]:
        """Return layouts near one: of the next widths and those between, of fewer executors, of a core less each."""
        line = sorted({*self.layouts, layout}, key=lambda one: (one.width, -one.executors))
        place = line.index(layout)
        near = [line[place + step] for step in (1, -1, 2, -2) if 0 <= place + step < len(line)]
        k, width = layout.executors, layout.width
        between = [Layout(one.executors, (one.width + width) // 2) for one in near[:2] if one.executors <= k]
        fit = self.estimator.problem.machine.n_threads // width
        # Caps of co-running name more tasks than fit side by side.
        fewer = [
            Layout(n, width) for n in ((k - 1, (k + 1) // 2) if k <= fit else (2 * fit, fit)) if 1 <= n < k
        ]
        narrower = [Layout(k, width - 1)] if width > 1 else []
        return [*near, *between, *fewer, *narrower]

    def _labelled(self, layouts: int) -> Schedule:
        assert self.best is not None  # noqa: S101 - narrows the type: it replayed some
        assert self.best.inputs is not None  # noqa: S101 - narrows the type: they were simulated
        tried = len(self.makespans_s)
        why = f"the shortest of {tried} replays; the others of {layouts} layouts are longer by a bound or an estimate"
        if self.makespans_s.keys() >= {*self.layouts}:
            why = (
                f"the shortest of {tried} replays, which are of all {layouts} layouts and of some beside them"
            )
        return replace(self.best, inputs=replace(self.best.inputs, layout_by="replays", layout_why=why))
