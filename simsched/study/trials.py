"""`Trials`: the replays spent by a search for the best policy, layout and widths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from simsched.document.result import Result
from simsched.drawing import Axes
from simsched.policy import Layout, Policy
from simsched.replay.parallel_map import parallel_map
from simsched.schedule import Bounds, Schedule

Point = tuple[Policy, Layout | None]


@dataclass(frozen=True, eq=False)
class Trials:
    """Replays in their order; no point twice.

    Parameters
    ----------
    replay : callable
        Returns the schedule of a policy and a layout.
    sequential : Schedule
        What `over_sequential` is measured against.
    limits : Bounds
    most : int
        Replays to spend, or fewer.
    """

    replay: Callable[[Policy, Layout | None], Schedule]
    sequential: Schedule
    limits: Bounds
    most: int
    rows: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def left(self) -> int:
        """Replays that can still be spent."""
        return self.most - len(self.rows)

    def seconds(self, policy: Policy, layout: Layout | None) -> float:
        """Return the makespan of a point, replayed unless it was before."""
        self.all_seconds([(policy, layout)])
        return float(self.rows[_key(policy, layout)]["makespan_s"])

    def all_seconds(self, points: Iterable[Point]) -> None:
        """Replay several points, as many at a time as there are CPUs; known ones cost nothing."""
        new = {_key(*point): point for point in points if _key(*point) not in self.rows}
        rows = parallel_map(lambda point: self._row(*point), new.values())
        self.rows.update(zip(new, rows, strict=True))

    def _row(self, policy: Policy, layout: Layout | None) -> dict[str, Any]:
        from simsched.schedule.caveats import notes_of
        from simsched.study.compare import comparison_row

        # Only the row is kept: schedules of a million tasks would fill the memory.
        schedule = self.replay(policy, layout)
        notes = tuple(notes_of([schedule]))
        numbers = comparison_row(schedule, self.sequential, self.limits)
        used = Layout.parse(schedule.layout) if schedule.layout else None
        sizes = {"executors": used and used.executors, "width": used and used.width}
        return {
            "policy": numbers.pop("policy"),
            "layout": numbers.pop("layout"),
            **sizes,
            **numbers,
            "notes": notes,
        }

    def result(self, drawing: Callable[..., Axes]) -> Result:
        """Return one row per replay, the shortest makespan first, of equals the first replayed."""
        from simsched.document.result import Result

        frame = pd.DataFrame(self.rows.values()).drop(columns="notes")
        frame["evaluation"] = range(1, len(frame) + 1)
        notes = [note for row in self.rows.values() for note in row["notes"]]
        return Result.of(frame.sort_values("makespan_s", kind="stable", ignore_index=True), notes, drawing)


def _key(policy: Policy, layout: Layout | None) -> tuple[str, str]:
    return str(policy), str(layout or "")
