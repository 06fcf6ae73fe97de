"""The numbers that a panel shows next to the picture of a schedule, as markup."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass

from simsched.document.html import listed, text
from simsched.explain import Explanation
from simsched.explain.core_time import labelled, seen_parts
from simsched.notes import weighed
from simsched.replay.advice import Advice
from simsched.schedule import Bounds, Schedule
from simsched.schedule.caveats import notes_of
from simsched.schedule.one_core import OneCore
from simsched.spec import format_scalar
from simsched.units import format_time

#: Number of causes of core-time shown, the largest first.
MOST_CAUSES = 7
#: From this ratio on a makespan is given as a multiple of the other.
MANY_TIMES = 3
CELL = "padding:0 1em 0 0;text-align:left;font-weight:normal"


def headline(now: Schedule, base: Schedule, before: Schedule | None) -> str:
    """Return the makespan, and its changes.

    Parameters
    ----------
    now : Schedule
    base : Schedule
        The schedule to compare with.
    before : Schedule or None
        That of the setting before.
    """
    than = []
    if now is not base:
        than.append(_change(now, base, "the base"))
    if before is not None and before is not base:
        than.append(_change(now, before, "the previous setting"))
    makespan, said = text(format_time(now.makespan_s)), text("; ".join(than) or "this is the base")
    return (
        '<div role="status" style="line-height:1.4"><span style="font-size:1.8em">makespan '
        f'<b class="simsched-makespan">{makespan}</b></span><br>{said}</div>'
    )


def _change(now: Schedule, other: Schedule, called: str) -> str:
    """Return the difference of the makespan from another's, in percent or as a multiple."""
    ratio = now.makespan_s / other.makespan_s if other.makespan_s else 1.0
    # Adding 0 makes -0.0 positive.
    percent = f"{round(100 * (ratio - 1), 1) + 0.0:+.1f} % against".replace("-", "\u2212")
    return f"{f'{ratio:.3g} times' if ratio >= MANY_TIMES else percent} {called} ({format_time(other.makespan_s)})"


def details(why: Explanation, limits: Bounds, one: OneCore) -> str:
    """Return bounds, efficiency, use of the cores' time and causes of waits."""
    schedule = why.schedule
    longest = "critical path" if limits.critical_path_s >= limits.area_s else "work over cores"
    above = schedule.makespan_s / limits.bound_s - 1 if limits.bound_s else 0.0
    # Noise, and tasks that take turns on a hardware thread, can end below it.
    side = "above" if above >= 0 else "below"
    speedup, efficiency = one.speedup(schedule.makespan_s), one.efficiency(schedule.makespan_s)
    facts = {
        "lower bound": f"{format_time(limits.bound_s)} ({longest}); {abs(above):.1%} {side} it",
        "efficiency": f"{efficiency:.1%}: {speedup:.3g} times as fast as {one.in_words}",
        "layout": _layout(schedule),
        "policy's parameters": _parameters(schedule),
        "tasks": _waits(why),
    }
    rows = "".join(
        f'<tr><th scope="row" style="{CELL}">{text(key)}</th><td style="text-align:left">{text(value)}</td></tr>'
        for key, value in facts.items()
        if value
    )
    notes = weighed(notes_of([schedule]))
    shown = f"<details><summary>notes</summary>{listed(notes)}</details>" if notes else ""
    return f'<div style="line-height:1.5"><table>{rows}</table>{_bars(_causes(why))}{shown}</div>'


def _layout(schedule: Schedule) -> str:
    """Return its layout, if it has one, and how it was chosen."""
    why = schedule.inputs.layout_why if schedule.inputs else ""
    return f"{schedule.layout}, {why}".removeprefix(", ") if schedule.layout or why else ""


def _parameters(schedule: Schedule) -> str:
    """Return the parameters of its policy, as written between its brackets."""
    policy = schedule.inputs.policy if schedule.inputs else None
    if not is_dataclass(policy):
        return ""
    return ", ".join(f"{f.name}={format_scalar(getattr(policy, f.name))}" for f in fields(policy) if f.init)


def _waits(why: Explanation) -> str:
    """Return the number of tasks by main cause of their wait."""
    counts = sorted(why.waits.in_words().items(), key=lambda each: -each[1])
    return ", ".join(f"{count:,} {waited}" for waited, count in counts) or "none"


def _causes(why: Explanation) -> list[tuple[str, float]]:
    """Return the largest causes of core-time, and their shares."""
    shown = [(labelled(group, cause), share) for group, cause, share in seen_parts(why.core_time)]
    return sorted(shown, key=lambda each: -abs(each[1]))[:MOST_CAUSES]


def _bars(causes: Iterable[tuple[str, float]]) -> str:
    rows = "".join(
        f'<tr><th scope="row" style="{CELL}">{text(what)}</th><td style="text-align:right;padding-right:.6em">'
        f'{share:.1%}</td><td><div style="width:{12 * min(abs(share), 1):.2f}em;height:.8em;background:#0072b2">'
        "</div></td></tr>"
        for what, share in causes
    )
    return (
        f"<table><caption style='text-align:left'><b>where the cores' time went</b></caption>{rows}</table>"
    )


def advice(schedule: Schedule) -> str:
    """Return the cost of a given layout over the best one; nothing where it is unknown or negligible."""
    return _status(*(note for note in schedule.notes if isinstance(note, Advice)))


def searching() -> str:
    """Return the message that replays search for the best layout."""
    return _status("looking for the best layout by replays ...")


def not_found(message: str) -> str:
    """Return why no better layout could be searched for; the shown one is right."""
    return _status(f"the best layout is not known: {message}")


def _status(*sentences: str) -> str:
    return "".join(f'<div role="status" style="line-height:1.4">{text(one)}</div>' for one in sentences)


def refused(message: str) -> str:
    """Return why a setting is impossible, next to the schedule still shown."""
    return (
        f'<div role="alert" style="border:1px solid #d55e00;border-left-width:6px;padding:.3em .6em;'
        f'line-height:1.4;overflow-wrap:anywhere"><b>not simulated:</b> {text(message)}<br>'
        "The chart and the numbers are those of the previous setting.</div>"
    )
