"""A plan as a picture: the use of the LDM, and of the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simsched.plots.canvas import OKABE_ITO, plain, shown_axes, verbatim
from simsched.units import format_time, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.patches import Patch

    from simsched.hwmodels.ldm.planning import Plan

    Handle = BarContainer | Patch

KIB = 1024
LDM_ROW, TIME_ROW = 0.0, 1.0
HEIGHT = 0.5
PARTS = (
    ("dma_s", "DMA", OKABE_ITO[0]),
    ("compute_s", "computation", OKABE_ITO[1]),
    ("gload_s", "gload/gstore", OKABE_ITO[3]),
    ("spawn_join_s", "spawn and join", OKABE_ITO[5]),
)
# None of the parts' colours: a tensor is not a part of the time.
TENSOR_COLOURS = (OKABE_ITO[2], OKABE_ITO[4], OKABE_ITO[6], (0.45, 0.45, 0.45))


def draw(plan: Plan, ax: Axes | None = None) -> Axes:
    """Draw time by part (upper axis) above LDM occupancy by tensor (lower axis, KiB).

    The dashed line is the LDM of a CPE. Parts of the time are stacked; the black line is the time of the
    operation, and the hatched part beyond it is hidden by overlap.

    Parameters
    ----------
    plan : Plan
        What to draw.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes
        That of the LDM; the times have a twin of it.
    """
    ax = shown_axes((8.0, 3.6), ax)
    tensors = _draw_ldm(plan, ax)
    twin = ax.twiny()
    parts = _draw_time(plan, twin)
    ax.set_yticks([LDM_ROW, TIME_ROW], ["LDM of\na CPE", "time"])
    ax.set_ylim(-0.75, 1.65)
    tiles = ", ".join(f"{loop} {plan.tiles[loop]}" for loop in plan.order if plan.shares.part.loops[loop] > 1)
    verbatim(ax.set_title(f"{plain(plan.nest.name, 60)}\ntile {plain(tiles, 90)}", fontsize="medium", pad=12))
    first = ax.legend(
        handles=tensors,
        title="tensors",
        loc="lower left",
        bbox_to_anchor=(1.01, -0.1),
        frameon=False,
        fontsize="small",
    )
    verbatim(*first.get_texts())
    twin.legend(
        handles=parts, title="parts of the time", loc="upper left", bbox_to_anchor=(1.01, 1.05), frameon=False,
        fontsize="small",
    )  # fmt: skip
    return ax


def _draw_ldm(plan: Plan, ax: Axes) -> list[Handle]:
    handles: list[Handle] = []
    left = 0.0
    whole = plan.group.ldm_B / KIB
    ax.barh(LDM_ROW, whole, HEIGHT, color="0.92")
    for i, (tensor, size_B) in enumerate(plan.buffers_B.items()):
        colour = TENSOR_COLOURS[i % len(TENSOR_COLOURS)]
        size = f"{size_B / KIB:.3g} KiB" if size_B >= KIB else f"{size_B:g} B"
        label = f"{plain(tensor)} {size}"
        bar = ax.barh(LDM_ROW, size_B / KIB, HEIGHT, left=left, color=colour, edgecolor="white", label=label)
        handles.append(bar)
        left += size_B / KIB
    ax.plot([whole, whole], [LDM_ROW - 0.4, LDM_ROW + 0.4], "--", color="black", linewidth=1.5)
    ax.text(whole, LDM_ROW - 0.42, f"{left:.3g} of {whole:g} KiB", ha="right", va="top", fontsize="small")
    ax.set_xlim(0, 1.04 * whole)
    ax.set_xlabel("LDM (KiB)")
    return handles


def _draw_time(plan: Plan, ax: Axes) -> list[Handle]:
    times = plan.times
    total = times.total_s
    unit = time_unit(total + times.hidden_s)
    handles: list[Handle] = []
    left = 0.0
    for key, name, colour in PARTS:
        if seconds := getattr(times, key):
            label = f"{name} {format_time(seconds)}"
            bar = ax.barh(
                TIME_ROW,
                seconds * unit.per_s,
                HEIGHT,
                left=left,
                color=colour,
                edgecolor="white",
                label=label,
            )
            handles.append(bar)
            left += seconds * unit.per_s
    if times.hidden_s:
        hidden = ax.barh(
            TIME_ROW, times.hidden_s * unit.per_s, HEIGHT, left=total * unit.per_s, color="none", edgecolor="white",
            hatch="////", linewidth=0, label=f"hidden by overlap {format_time(times.hidden_s)}",
        )  # fmt: skip
        handles.append(_hatched(hidden.get_label()))
    ax.plot([total * unit.per_s] * 2, [TIME_ROW - 0.35, TIME_ROW + 0.35], color="black", linewidth=2)
    ax.text(
        total * unit.per_s, TIME_ROW - 0.38, f"{format_time(total)}", ha="center", va="top", fontsize="small"
    )
    ax.set_xlim(0, max(left, total * unit.per_s) * 1.08)
    ax.set_xlabel(f"time ({unit.name})")
    return handles


def _hatched(label: object) -> Patch:
    from matplotlib.patches import Patch

    return Patch(facecolor="0.75", edgecolor="white", hatch="////", label=str(label))
