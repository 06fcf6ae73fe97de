"""Colours of an interactive chart: a code a task and a palette for each rule, the same for all schedules of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from simsched.graph.columns import Floats, LabelColumn
from simsched.html import text
from simsched.plots.canvas import plain
from simsched.plots.interactive.waits import REASONS
from simsched.plots.palette import GREY, OKABE_ITO, RGB, Colouring, by_kind, colouring
from simsched.units import format_time

if TYPE_CHECKING:
    import pandas as pd

    from simsched.schedule import Schedule

Codes = npt.NDArray[np.uint8]

#: Colours of `REASONS`, in their order.
REASON_COLOURS = (GREY, *OKABE_ITO[:4])


@dataclass(frozen=True, eq=False)
class Rule:
    """One way to colour the tasks.

    Parameters
    ----------
    name : str
        As people choose it.
    codes : list of uint8 arrays, shape (n,)
        Of each schedule, the colour of each task: a place in the palette.
    palette : list of str
        Colours as `#rrggbb`.
    legend : str
        Markup that says what they mean; escaped.
    """

    name: str
    codes: list[Codes]
    palette: list[str]
    legend: str


def rules(schedules: Sequence[Schedule], waits: Sequence[pd.DataFrame]) -> list[Rule]:
    """Return the rules by kind, level, critical path, wait reason and executor."""
    executors = [colouring(one, "executor") for one in schedules]
    return [
        _coloured("kind", [_by_kind(schedules)], schedules),
        _by_level(schedules),
        _coloured("critical path", [colouring(one, "critical") for one in schedules], schedules),
        _by_reason(waits),
        _coloured("executor", executors, schedules),
    ]


def css(colour: RGB) -> str:
    """Return a colour as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _by_kind(schedules: Sequence[Schedule]) -> Colouring:
    """Return the colours of all tasks, one schedule after the other, so that a kind has one colour on the page."""
    place: dict[str, int] = {}
    codes = [
        np.array([place.setdefault(label, len(place)) for label in one.graph.kinds.labels], np.int32)[
            one.graph.kinds.codes
        ]
        for one in schedules
    ]
    held = np.concatenate([(one.finish_s - one.start_s) * one.widths for one in schedules])
    return by_kind(LabelColumn(np.concatenate(codes), tuple(place)), held)


def _coloured(name: str, colourings: Sequence[Colouring], schedules: Sequence[Schedule]) -> Rule:
    packed = np.concatenate([_packed(one.rgb) for one in colourings])
    distinct = np.unique(packed)
    codes = np.searchsorted(distinct, packed).astype(np.uint8)
    groups = dict(group for one in colourings for group in one.groups)
    ends = np.cumsum([one.graph.n_tasks for one in schedules])[:-1]
    palette = [f"#{code:06x}" for code in distinct.tolist()] or [css(GREY)]
    return Rule(name, list(np.split(codes, ends)), palette, _legend(groups.items()))


def _packed(rgb: Floats) -> npt.NDArray[np.int64]:
    parts: npt.NDArray[np.int64] = np.rint(rgb * 255).astype(np.int64) @ np.array([65536, 256, 1])
    return parts


def _by_level(schedules: Sequence[Schedule]) -> Rule:
    from bokeh.palettes import Viridis256

    levels = [one.graph.levels(one.alone_s) for one in schedules]
    most = max((float(level.max(initial=0.0)) for level in levels), default=0.0)
    codes = [(level * (255 / most if most else 0.0)).astype(np.uint8) for level in levels]
    bar = f"linear-gradient(to right,{','.join(Viridis256[::15])})"
    legend = f"0 s {_swatch(bar, 8)} {text(format_time(most))} to the end of the graph"
    return Rule("level", codes, list(Viridis256), legend)


def _by_reason(waits: Sequence[pd.DataFrame]) -> Rule:
    codes = [frame["reason"].cat.codes.to_numpy().astype(np.uint8) for frame in waits]
    groups = zip(REASONS, REASON_COLOURS, strict=True)
    return Rule("wait reason", codes, [css(colour) for colour in REASON_COLOURS], _legend(groups))


def _legend(groups: Iterator[tuple[str, RGB]] | Sequence[tuple[str, RGB]] | object) -> str:
    items = (f"{_swatch(css(colour), 1)} {text(plain(name))}" for name, colour in groups)  # type: ignore[attr-defined]
    return " ".join(f'<span style="white-space:nowrap;margin-right:1em">{item}</span>' for item in items)


def _swatch(background: str, width_em: int) -> str:
    return f'<span style="display:inline-block;width:{width_em}em;height:.8em;background:{background}"></span>'
