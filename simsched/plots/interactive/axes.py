"""Time axes of an interactive chart: a common one, or one each where spans differ much, with a switch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simsched.plots.gantt import spans_differ
from simsched.plots.interactive.figures import time_range
from simsched.plots.interactive.pages import script
from simsched.units import TimeUnit, time_unit

if TYPE_CHECKING:
    from bokeh.models import CustomJS, Range1d, Select

    from simsched.schedule import Schedule

EACH, ALL = "one for each chart", "one for all"
#: End of the common range of buttons and panels where each chart has its own axis: a share of each run.
WHOLE = 100.0


@dataclass(frozen=True, eq=False)
class TimeAxes:
    """The time axes of a page.

    Parameters
    ----------
    shared : Range1d
        What buttons move and panels show: time, or percent of each run.
    of : list of Range1d
        The axis of each chart; the shared one, unless each has its own.
    units : list of TimeUnit
        The unit of each chart.
    switch : Select or None
        The choice between one axis for each and one for all.
    """

    shared: Range1d
    of: list[Range1d]
    units: list[TimeUnit]
    switch: Select | None

    @property
    def unit(self) -> str:
        """The initial unit of the shared axis."""
        return "%" if self.switch else self.units[0].name

    def connect(self, draw: CustomJS, lowest: Any) -> None:
        """Synchronise the axes, before the script draws; `lowest` is the panel whose axis shows the unit."""
        from bokeh.models import CustomJS

        if self.switch is None:
            return
        longest = max(
            range(len(self.of)), key=lambda chart: self.of[chart].reset_end / self.units[chart].per_s
        )
        args = {
            "shared": self.shared, "ranges": self.of, "choice": self.switch, "draw": draw, "axis": lowest.xaxis[0],
            "per_s": [unit.per_s for unit in self.units], "ends": [each.reset_end for each in self.of],
            "longest": longest, "unit": self.units[longest].name, "each": EACH,
        }  # fmt: skip
        follow = CustomJS(args=args, code=script("axes.js"), name="axes")
        for changed in (self.shared, *self.of):
            changed.js_on_change("start", follow)
            changed.js_on_change("end", follow)
        self.switch.js_on_change("value", follow)
        lowest.xaxis[0].axis_label = "% of each run"


def time_axes(schedules: Sequence[Schedule]) -> TimeAxes:
    """Return one axis for all schedules, or one for each where their spans differ by more than three times."""
    from bokeh.models import Select

    spans_s = [one.makespan_s for one in schedules]
    if not spans_differ(schedules):
        unit = time_unit(max(spans_s))
        shared = time_range(max(spans_s) * unit.per_s, "time")
        return TimeAxes(shared, [shared] * len(spans_s), [unit] * len(spans_s), None)
    units = [time_unit(span_s) for span_s in spans_s]
    own = [
        time_range(span_s * unit.per_s, f"time {number}")
        for number, (span_s, unit) in enumerate(zip(spans_s, units, strict=True))
    ]
    switch = Select(title="time axes", value=EACH, options=[EACH, ALL], width=150)
    return TimeAxes(time_range(WHOLE, "time"), own, units, switch)
