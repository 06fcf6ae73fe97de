"""Colours of an interactive chart: one code per task and a palette per rule, common to all schedules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.document.html import text
from simsched.explain import REASONS
from simsched.graph.columns import LabelColumn
from simsched.plots.canvas import plain
from simsched.plots.palette import GREY, HIGHLIGHT, OKABE_ITO, RGB, by_kind
from simsched.schedule import Schedule
from simsched.units import format_time

Codes = npt.NDArray[np.uint8]

#: Colours of `REASONS`, in their order.
REASON_COLOURS = (GREY, *OKABE_ITO[:6])


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
        Markup of their meaning; escaped.
    """

    name: str
    codes: list[Codes]
    palette: list[str]
    legend: str


def rules(
    schedules: Sequence[Schedule], waits: Sequence[pd.DataFrame], ranked: Sequence[Schedule] = ()
) -> list[Rule]:
    """Return the rules by kind, level, critical path, wait reason and executor.

    Parameters
    ----------
    schedules : sequence of Schedule
    waits : sequence of DataFrame
        Why the tasks of each started when they did.
    ranked : sequence of Schedule
        Those of the same graphs in which kinds that hold most get the colours; the same when not given.
    """
    return [
        _by_kind(schedules, ranked or schedules),
        _by_level(schedules),
        _by_critical_path(schedules),
        _by_reason(waits),
        _by_executor(schedules),
    ]


def css(colour: RGB) -> str:
    """Return a colour as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


def _by_kind(schedules: Sequence[Schedule], ranked: Sequence[Schedule]) -> Rule:
    """Colour by kind, a kind of all schedules as if it were one task with the contents of all."""
    place: dict[str, int] = {}
    held: dict[str, float] = {}
    for one in ranked:
        kinds = one.graph.kinds
        amounts = np.bincount(
            kinds.codes, (one.finish_s - one.start_s) * one.widths, minlength=len(kinds.labels)
        )
        used = kinds.counts > 0
        for label, amount in zip(np.array(kinds.labels, object)[used], amounts[used].tolist(), strict=True):
            place.setdefault(label, len(place))
            held[label] = held.get(label, 0.0) + amount
    each = LabelColumn(np.arange(len(place), dtype=np.int32), tuple(place))
    colours = by_kind(each, np.array(list(held.values())))
    distinct, code = np.unique([css((r, g, b)) for r, g, b in colours.rgb.tolist()], return_inverse=True)
    codes = [
        np.array([code[place[label]] if label in place else 0 for label in one.graph.kinds.labels], np.uint8)[
            one.graph.kinds.codes
        ]
        for one in schedules
    ]
    return Rule("kind", codes, distinct.tolist() or [css(GREY)], _legend(colours.groups))


def _by_critical_path(schedules: Sequence[Schedule]) -> Rule:
    codes = [np.zeros(one.graph.n_tasks, np.uint8) for one in schedules]
    for one, code in zip(schedules, codes, strict=True):
        code[one.graph.critical_path(one.alone_s)] = 1
    groups = (("critical path", HIGHLIGHT), ("other tasks", GREY))
    return Rule("critical path", codes, [css(GREY), css(HIGHLIGHT)], _legend(groups))


def _by_executor(schedules: Sequence[Schedule]) -> Rule:
    """Colour by executor; with more executors than colours, the colours only distinguish neighbours."""
    held = sorted(set().union(*(np.unique(one.executor).tolist() for one in schedules)))
    codes = [(np.searchsorted(held, one.executor) % len(OKABE_ITO)).astype(np.uint8) for one in schedules]
    groups = [(f"executor {e}", colour) for e, colour in zip(held, OKABE_ITO, strict=False)]
    legend = _legend(groups) if len(held) <= len(OKABE_ITO) else f"{len(held)} executors; colours repeat"
    return Rule("executor", codes, [css(colour) for colour in OKABE_ITO], legend)


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


def _legend(groups: Iterable[tuple[str, RGB]]) -> str:
    items = (f"{_swatch(css(colour), 1)} {text(plain(name))}" for name, colour in groups)
    return " ".join(f'<span style="white-space:nowrap;margin-right:1em">{item}</span>' for item in items)


def _swatch(background: str, width_em: int) -> str:
    return (
        f'<span style="display:inline-block;width:{width_em}em;height:.8em;background:{background}"></span>'
    )
