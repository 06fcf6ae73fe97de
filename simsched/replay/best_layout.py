"""`layout="best"`: the layout of the shortest of some replays, kept few by an estimate and lower bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np

from simsched.errors import MemoryLimitError
from simsched.notes import Note, Weight
from simsched.policy import Layout
from simsched.policy.estimate import ROUNDING, Estimator
from simsched.replay.layouts import chosen_by_replays
from simsched.replay.parallel_map import parallel_map
from simsched.schedule import Schedule
from simsched.text import counted

#: Replays of a search, or fewer.
MOST_REPLAYS = 15
#: Replays of the layouts of the shortest estimates, before those of layouts near the best one found.
ESTIMATED = 5
#: Replays in place of an estimate, for policies whose layouts are limits.
LIKELY = 4
#: Replays of a search for limits far from the best, for policies whose layouts are limits.
FAR = 3
#: Replays, or fewer, of layouts that leave more cores idle than the best one found.
IDLE = 6
#: Ratio of widths that are far from each other.
APART = 1.5


@dataclass(eq=False)
class Search:
    """Replays of some layouts of a policy, no layout twice.

    Parameters
    ----------
    replay : callable
        Returns the schedule of a layout. Layouts for whose tasks there is no room are not chosen.
    estimator : Estimator
    layouts : sequence of Layout
        Layouts to choose from; a few near them, of fewer executors, are tried, too.
    bounded : bool
        Whether no replay is shorter than its lower bound; with noise, one can be.
    possible : callable
        Whether a layout can be replayed: one whose teams have several kinds of cores cannot.
    """

    replay: Callable[[Layout], Schedule]
    estimator: Estimator
    layouts: Sequence[Layout]
    bounded: bool = True
    possible: Callable[[Layout], bool] = lambda layout: True
    makespans_s: dict[Layout, float] = field(default_factory=dict)
    best: Schedule | None = None
    no_room: MemoryLimitError | None = None

    def run(self) -> Schedule:
        """Return the shortest schedule found, with a note that replays chose its layout.

        What is replayed where no layout is asked for comes first: none of that is shorter.
        """
        ranked, filling = self._ranked()
        if self.estimator.rough:
            self._try_likely(ranked)
        else:
            self._try([ranked[0], self.estimator.with_idle_cores(ranked[0])])
        best = self._try(filling[:ESTIMATED])
        # Makespans depend on limits less smoothly.
        kept = 0 if self.estimator.fixed else FAR
        while (near := self._promising(self._beside(best))) and len(self.makespans_s) < MOST_REPLAYS - kept:
            best = self._try(near[:2])
        while far := self._promising(self._far(best)):
            best = self._try(far[:1])
        self._try(ranked)
        self._leave_cores_idle()
        self._narrow()
        return self._labelled(self._why())

    def nearest(self) -> Schedule:
        """Return the shortest replay of few, where estimates are rough."""
        ranked, _ = self._ranked()
        self._try_likely(ranked)
        tried = len(self.makespans_s)
        why = (
            f"the shortest of {counted(tried, 'replay')}, of the shortest estimates of {len(self.layouts)} layouts; "
            "layout='best' replays more"
        )
        return self._labelled(why)

    def _try_likely(self, ranked: list[Layout]) -> None:
        """Replay the shortest estimates, one executor, to which nothing is sent, and layouts with more idle cores."""
        self._try([*self._likely(ranked), *(one for one in self.layouts if one.n_executors == 1)])
        if self.no_room is not None:
            # Layouts without room decide nothing, nor do their estimates, which leave out those that are longer.
            devices = any(one.devices for one in self._without_room)
            left = [one for one in self.layouts if not (one in self.makespans_s or (devices and one.devices))]
            self._try(self._likely([layout for _, layout in self.estimator.best(left)] if left else ()))
        self._leave_cores_idle()
        self._narrow()

    def _likely(self, ranked: Iterable[Layout]) -> list[Layout]:
        return [one for one in ranked if self.possible(one)][:LIKELY]

    @property
    def _without_room(self) -> list[Layout]:
        return [layout for layout, makespan_s in self.makespans_s.items() if makespan_s == inf]

    def _ranked(self) -> tuple[list[Layout], list[Layout]]:
        """Return the layouts by their estimates, those of fewer executors included or not."""
        ranked = [layout for _, layout in self.estimator.best(self.estimator.with_fewer(self.layouts))]
        return ranked, [layout for layout in ranked if layout in self.layouts]

    def _leave_cores_idle(self) -> None:
        """Replay layouts that leave more cores idle than the best one, as long as one of them is shorter."""
        most = min(len(self.makespans_s) + IDLE, MOST_REPLAYS)
        before = None
        while self.estimator.tries_idle_cores and self.best is not None and self.best is not before:
            before = self.best
            fewer = self._promising(self._with_idle_cores(before))
            self._try(fewer[: most - len(self.makespans_s)], ROUNDING)

    def _narrow(self) -> None:
        """Replay the narrowest teams on which tasks take as long alone; they are the best where they do here, too."""
        if self.best is None or (narrow := self._narrowest(_layout_of(self.best))) is None:
            return
        most_s = self.best.makespan_s * (1 + ROUNDING)
        if self.makespans_s.get(narrow, 0.0) > most_s:
            return
        schedule = self._replayed(narrow)
        if isinstance(schedule, MemoryLimitError):
            return
        self.makespans_s[narrow] = schedule.makespan_s
        if schedule.makespan_s <= most_s:
            self.best = schedule

    def _narrowest(self, layout: Layout) -> Layout | None:
        """Return the narrowest layout on which all tasks take no longer alone, in all; None if none is narrower."""
        most_s = self.estimator.teams(layout).total_s * (1 + ROUNDING)
        widths = sorted(width for width in {1, *(one.width for one in self.layouts)} if width < layout.width)
        narrower = (replace(layout, width=width) for width in widths)
        quick = (
            one for one in narrower if self.possible(one) and self.estimator.teams(one).total_s <= most_s
        )
        return next(quick, None)

    def _with_idle_cores(self, schedule: Schedule) -> list[Layout]:
        """Return layouts of fewer executors or devices than run tasks in a schedule, and one of narrower executors."""
        layout = _layout_of(schedule)
        ends = [layout.executors, layout.n_executors]
        used, devices = np.diff(np.searchsorted(np.unique(schedule.executor), ends), prepend=0).tolist()
        narrower = max((one.width for one in self.layouts if one.width < layout.width), default=layout.width)
        fewer = [replace(layout, executors=n) for n in ((used + 1) // 2, used - 1) if n >= 1]
        fewer += [replace(layout, devices=n) for n in ((devices + 1) // 2, devices - 1) if n >= 0]
        return [*dict.fromkeys(fewer), replace(layout, executors=max(used, 1), width=narrower)]

    def _promising(self, layouts: Iterable[Layout]) -> list[Layout]:
        """Return the new layouts that may be shorter than the best, as many as can still be replayed."""
        shortest_s = min(self.makespans_s.values(), default=float("inf"))
        new = (layout for layout in layouts if layout not in self.makespans_s and self.possible(layout))
        found = [one for one in new if not self.bounded or self.estimator.lower_s(one) < shortest_s]
        return found[: MOST_REPLAYS - len(self.makespans_s)]

    def _try(self, layouts: Iterable[Layout], rounding: float = 0.0) -> Layout:
        """Replay the promising ones of some layouts, and return the best so far; of equals the first.

        Makespans are equal if they differ by less than a share of `rounding`.
        """
        tried = self._promising(dict.fromkeys(layouts))
        found = parallel_map(self._replayed, tried, self.estimator.problem.graph.n_tasks)
        for layout, schedule in zip(tried, found, strict=True):
            if isinstance(schedule, MemoryLimitError):
                self.makespans_s[layout] = inf
                self.no_room = self.no_room or schedule
                continue
            self.makespans_s[layout] = schedule.makespan_s
            if self.best is None or schedule.makespan_s < self.best.makespan_s * (1 - rounding):
                self.best = schedule
        return min(self.makespans_s, key=self.makespans_s.__getitem__)

    def _replayed(self, layout: Layout) -> Schedule | MemoryLimitError:
        try:
            return self.replay(layout)
        except MemoryLimitError as error:
            return error

    def _far(self, best: Layout) -> list[Layout]:
        """Return the limits far from all tried ones, nearest to the best first; none of fixed executors."""
        tried = [layout.width for layout in self.makespans_s]
        far = (one for one in self.layouts if min(_ratio(one.width, width) for width in tried) >= APART)
        return [] if self.estimator.fixed else sorted(far, key=lambda one: _ratio(one.width, best.width))

    def _beside(self, layout: Layout) -> list[Layout]:
        """Return layouts near one: of the next widths and those between, of fewer executors, of a core less each."""
        beside = (replace(one, devices=layout.devices) for one in self.layouts)
        line = sorted({*beside, layout}, key=lambda one: (one.width, -one.executors))
        place = line.index(layout)
        near = [line[place + step] for step in (1, -1, 2, -2) if 0 <= place + step < len(line)]
        k, width = layout.executors, layout.width
        between = [replace(one, width=(one.width + width) // 2) for one in near[:2] if one.executors <= k]
        narrower = [replace(layout, width=width - 1)] if width > 1 else []
        return [*self._also_fewer(layout, near), *near, *between, *self._fewer(layout), *narrower]

    def _fewer(self, layout: Layout) -> list[Layout]:
        """Return layouts of fewer executors, or of fewer tasks than run concurrently."""
        if self.estimator.fixed and not self.estimator.tries_idle_cores:
            return []
        k, fit = layout.executors, self.estimator.problem.machine.n_threads // layout.width
        fewer = (k - 1, (k + 1) // 2) if k <= fit else (3 * self._at_once() // 4, 2 * fit, fit)
        return [replace(layout, executors=n) for n in fewer if 1 <= n < k]

    def _also_fewer(self, layout: Layout, near: Iterable[Layout]) -> list[Layout]:
        """Return layouts of other widths with fewer executors, if this has fewer than fit: it may help there, too."""
        k, fit = layout.executors, self.estimator.problem.machine.n_threads // layout.width
        if self.estimator.fixed:
            halved = (replace(one, executors=(one.executors + 1) // 2) for one in near)
            return [*halved] if self.estimator.tries_idle_cores and 2 * k <= fit + 1 else []
        return [replace(one, executors=k) for one in near if k < one.executors and one.width != layout.width]

    def _at_once(self) -> int:
        """Return how many tasks ran concurrently in the shortest replay: each has the lowest free number."""
        return 1 if self.best is None else int(self.best.executor.max(initial=0)) + 1

    def _why(self) -> str:
        tried, layouts = len(self.makespans_s), len(self.layouts)
        shortest = f"the shortest of {counted(tried, 'replay')}"
        if not self.makespans_s.keys() >= {*self.layouts}:
            return f"{shortest}; the others of {layouts} layouts are longer by a bound or an estimate"
        beside = " and of some beside them" if tried > layouts else ""
        return f"{shortest}, of {'the only layout' if layouts == 1 else f'all {layouts} layouts'}{beside}"

    def _labelled(self, why: str) -> Schedule:
        if self.best is None:
            assert self.no_room is not None  # noqa: S101 - narrows the type: it replayed some
            raise self.no_room
        found = chosen_by_replays(self.best, why)
        if self.no_room is None:
            return found
        which = f"{counted(len(self._without_room), 'layout')} tried, as {self._without_room[0]}"
        return replace(found, notes=(*found.notes, Note(f"no room in {which}: {self.no_room}", Weight.DOUBT)))


def _layout_of(schedule: Schedule) -> Layout:
    assert schedule.inputs is not None  # noqa: S101 - narrows the type: it was simulated
    assert schedule.inputs.layout is not None  # noqa: S101 - narrows the type: it was given one
    return schedule.inputs.layout


def _ratio(one: int, other: int) -> float:
    return max(one, other) / min(one, other)
