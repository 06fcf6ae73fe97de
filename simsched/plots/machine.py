"""A machine's picture: its structure, with its cores coloured by any value, by their use, or with its links' load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from simsched.drawing import Artist, Axes, Figure
from simsched.errors import SimschedError
from simsched.graph.columns import Floats
from simsched.machine import Box, Machine, Picture
from simsched.plots.canvas import (
    GREY,
    OKABE_ITO,
    RGB,
    Colouring,
    Size,
    one_number_each,
    plain,
    readable,
    set_title,
    shaded,
    shown_axes,
    verbatim,
)
from simsched.schedule import Schedule

# Inches: the largest core, and the largest picture.
CORE_IN = 0.5
LARGEST_IN: Size = (9.0, 7.5)
# Points: smaller text is left out.
SMALLEST_PT, LARGEST_PT = 4.5, 9.0
# More boxes than this are below a pixel wide with their outlines.
MAX_OUTLINED = 4000
# Height of the name above the box of a domain, over the box's shorter side.
_HEADROOM = 0.1


def _tint(colour: RGB, share: float) -> RGB:
    """Return a mix of a colour and white, with `share` of the colour."""
    r, g, b = (share * c + 1 - share for c in colour)
    return r, g, b


@dataclass(frozen=True)
class Role:
    """Appearance of boxes of a role, and its name in the legend; "" for none."""

    title: str
    face: RGB
    hatch: str = ""


#: In the order in which they are drawn, from bottom to top.
ROLES: dict[str, Role] = {
    "domain": Role("", (1.0, 1.0, 1.0)),
    "cache": Role("shared cache", _tint(OKABE_ITO[2], 0.25)),
    "tile": Role("tile", (0.93, 0.93, 0.93)),
    "disabled": Role("disabled tile", (1.0, 1.0, 1.0), "////"),
    "memory": Role("memory", _tint(OKABE_ITO[1], 0.5)),
    "io": Role("I/O and other", _tint(OKABE_ITO[5], 0.4)),
    "control": Role("management core", _tint(OKABE_ITO[6], 0.6)),
    "core": Role("core", _tint(OKABE_ITO[4], 0.6)),
}

#: Colours of kinds of cores: that of cores first, those of memories and caches last.
OF_KINDS = [_tint(OKABE_ITO[place], 0.6) for place in (4, 5, 3, 6, 0, 7, 2, 1)]


def draw_machine(
    machine: Machine,
    ax: Axes | None = None,
    values: npt.ArrayLike | None = None,
    label: str | None = None,
    limits: tuple[float, float] | None = None,
) -> Axes:
    """Draw a machine: cores and tiles at their places, caches, memory and I/O around them.

    Kinds of cores that differ have a colour each.

    Parameters
    ----------
    machine : Machine
    ax : Axes, optional
        Where to draw; a new figure when not given.
    values : array_like, shape (n_cores,), optional
        Colours the cores. Whole numbers are names, as of executors: up to 8 of them are in the legend, with more the
        colours only distinguish neighbours and the cores show their numbers; below 0 means none. Other numbers,
        as busy seconds or distances, get a colour bar (for hops: `machine.hops(0).astype(float)`); NaN is grey.
    label : str, optional
        Meaning of the values, with their unit.
    limits : pair of float, optional
        Ends of the colour bar; the least and the largest value when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If the values are not one number per core.
    MissingExtraError
        If matplotlib is not installed.
    """
    picture = machine.structure.picture()
    left, bottom, right, top = extent(picture)
    given = None if values is None else one_number_each(values, machine.n_cores, "values", "core")
    ax = shown_axes(figure_size(picture, given is not None), ax)
    cores = _plain(machine, picture) if given is None else _colours(given, label or "", limits)
    ax.set_aspect("equal", anchor="W")
    ax.set_xlim(left - 0.1, right + 0.1)
    ax.set_ylim(bottom - 0.1, top + 0.1)
    ax.set_axis_off()
    ax.set(xticks=[], yticks=[])
    _draw_links(ax, picture)
    _draw_boxes(ax, picture, cores.rgb)
    _explain(ax, picture, cores)
    # A letter of the title is about 1/13 inch wide.
    longest = max(int(13 * ax.get_position(original=True).width / 0.9 * _figure(ax).get_figwidth()), 20)
    set_title(ax, plain(f"{machine.spec}: {machine.title}", longest))
    _write(ax, picture, cores)
    return ax


def figure_size(picture: Picture, explained: bool = False) -> Size:
    """Return a figure's width and height in inches for a picture, with room for a colour bar if `explained`."""
    left, bottom, right, top = extent(picture)
    core = min((min(b.width, b.height) for b in picture.boxes if b.core >= 0), default=1.0)
    scale = min(CORE_IN / core, LARGEST_IN[0] / (right - left), LARGEST_IN[1] / (top - bottom))
    # Room for the title, the legend below, the colour bar at the right, and its label along it.
    return (
        max(scale * (right - left) + 0.4 + 0.9 * explained, 4.8),
        max(scale * (top - bottom) + 1.0, 2.0 + 0.8 * explained),
    )


def _figure(ax: Axes) -> Figure:
    """Return the whole figure, also of axes in a part of one."""
    figure: Figure = ax.figure.canvas.figure
    return figure


def extent(picture: Picture) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of a picture."""
    ends = [(b.x, b.y) for b in picture.boxes] + [(b.x + b.width, b.y + b.height) for b in picture.boxes]
    # The name of a domain is above its box.
    ends += [
        (b.x, b.y + b.height + _HEADROOM * min(b.width, b.height))
        for b in picture.boxes
        if b.role == "domain"
    ]
    points = np.array(ends + [point for link in picture.links for point in link])
    (left, bottom), (right, top) = points.min(0).tolist(), points.max(0).tolist()
    return left, bottom, right, top


@dataclass(frozen=True, eq=False)
class _Cores(Colouring):
    """Colours of the cores, and their texts."""

    texts: Sequence[str] | None = None


def _plain(machine: Machine, picture: Picture) -> _Cores:
    """Return cores in the colours of their roles, or of their kinds where these differ and roles do not tell them."""
    cores = sorted((box for box in picture.boxes if box.core >= 0), key=lambda box: box.core)
    kinds = machine.kinds
    if kinds is None or len({box.role for box in cores}) > 1 or not 1 < len(kinds.names) <= len(OKABE_ITO):
        return _Cores(np.array([ROLES[box.role].face for box in cores]))
    rows = (kinds.speeds, kinds.flops_ratio, kinds.bandwidth_ratio, kinds.link_Bps)
    if all(len(set(row)) < 2 for row in rows):
        return _Cores(np.array([ROLES[box.role].face for box in cores]))
    return _Cores(np.array(OF_KINDS)[machine.kind_of], tuple(zip(kinds.names, OF_KINDS, strict=False)))


def _colours(values: npt.NDArray[np.generic], label: str, limits: tuple[float, float] | None) -> _Cores:
    if values.dtype.kind in "biu":
        return _by_name(values.astype(np.int64), label)
    sizes = values.astype(np.float64)
    rgb, bar = shaded(sizes, limits)
    return _Cores(rgb, () if np.isfinite(sizes).all() else (("unknown", GREY),), bar, label)


def _by_name(values: npt.NDArray[np.int64], label: str) -> _Cores:
    names, rank = np.unique(values[values >= 0], return_inverse=True)
    rgb = np.tile(GREY, (len(values), 1))
    rgb[values >= 0] = np.asarray(OKABE_ITO)[rank % len(OKABE_ITO)]
    texts = [str(value) if value >= 0 else "" for value in values.tolist()]
    groups = [
        (f"{label} {name}".strip(), OKABE_ITO[i % len(OKABE_ITO)]) for i, name in enumerate(names.tolist())
    ]
    if len(names) > len(OKABE_ITO):
        groups = [(f"{label or 'value'}: its number", GREY)]
    elif (values < 0).any():
        groups.append((f"no {label}".strip(), GREY))
    return _Cores(rgb, tuple(groups), texts=texts)


def _draw_links(ax: Axes, picture: Picture) -> None:
    from matplotlib.collections import LineCollection

    ax.add_collection(LineCollection(picture.links, colors="0.45", linewidths=1.2, zorder=1.5), autolim=False)


def _draw_boxes(ax: Axes, picture: Picture, core_rgb: npt.NDArray[np.float64]) -> None:
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    width = 0.6 if len(picture.boxes) <= MAX_OUTLINED else 0.0
    for order, (name, role) in enumerate(ROLES.items(), 1):
        boxes = [box for box in picture.boxes if box.role == name]
        faces = [core_rgb[box.core] if box.core >= 0 else role.face for box in boxes]
        rectangles = [Rectangle((box.x, box.y), box.width, box.height) for box in boxes]
        collection = PatchCollection(
            rectangles, facecolors=faces, edgecolors="0.35", linewidths=width, zorder=order
        )
        if role.hatch:
            collection.set_hatch(role.hatch)
            collection.set_edgecolor("0.7")
        ax.add_collection(collection, autolim=False)


def _explain(ax: Axes, picture: Picture, cores: _Cores) -> None:
    from matplotlib.patches import Patch

    valued = cores.bar is not None or cores.groups
    there = {box.role for box in picture.boxes if box.core < 0 or not valued}
    roles = [role for name, role in ROLES.items() if name in there and role.title]
    handles: list[Artist] = [Patch(facecolor=rgb, edgecolor="0.35") for _, rgb in cores.groups]
    handles += [Patch(facecolor=role.face, edgecolor="0.5", hatch=role.hatch) for role in roles]
    titles = [name for name, _ in cores.groups] + [role.title for role in roles]
    if handles:
        columns = min(len(handles), max(int(_figure(ax).get_figwidth() / 1.5), 1))
        legend = ax.legend(
            handles, titles, ncols=columns, fontsize="small", frameon=False,
            loc="upper center", bbox_to_anchor=(0.5, 0.0),
        )  # fmt: skip
        verbatim(*legend.get_texts())
    if cores.bar is not None:
        # The cores stay at the left, below the title: without room beside them, it would leave the figure.
        bar = ax.figure.colorbar(cores.bar, ax=ax, shrink=0.85, pad=0.02, aspect=30, panchor=False)
        verbatim(bar.ax.yaxis.label)
        bar.set_label(plain(cores.bar_label))


def _write(ax: Axes, picture: Picture, cores: _Cores) -> None:
    """Write the boxes' labels as large as they fit, which is known only once all else is placed."""
    _figure(ax).draw_without_rendering()
    (x0, _), (x1, _) = ax.transData.transform([(0.0, 0.0), (1.0, 0.0)])
    per_unit_pt = abs(x1 - x0) * 72 / _figure(ax).dpi
    texts = [
        cores.texts[box.core] if cores.texts is not None and box.core >= 0 else box.label
        for box in picture.boxes
    ]
    fitting = [_fitting_pt(box, text) * per_unit_pt for box, text in zip(picture.boxes, texts, strict=True)]
    # Cores show all their numbers in one size, or none.
    common = min((pt for box, pt in zip(picture.boxes, fitting, strict=True) if box.core >= 0), default=0.0)
    for box, text, pt in zip(picture.boxes, texts, fitting, strict=True):
        size = min(common if box.core >= 0 else pt, LARGEST_PT)
        if not text or size < SMALLEST_PT:
            continue
        inside = box.role != "domain"
        x, y = (box.x + box.width / 2, box.y + box.height / 2) if inside else (box.x, box.y + box.height)
        written = ax.text(
            x, y, plain(text), fontsize=size, zorder=len(ROLES) + 1, in_layout=False,
            color=readable(cores.rgb[box.core]) if box.core >= 0 else "black",
            ha="center" if inside else "left", va="center_baseline" if inside else "bottom",
            bbox=None if inside else {"facecolor": "white", "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip
        verbatim(written)


def _fitting_pt(box: Box, text: str) -> float:
    """Return the font size with which a text fits its box where a unit is a point: a letter is 0.64 of it wide."""
    height = _HEADROOM * min(box.width, box.height) if box.role == "domain" else box.height
    return min(0.62 * height, 0.9 * box.width / (0.64 * max(len(text), 2)))


#: Percent at the ends of the colour bar.
WHOLE = (0.0, 100.0)
#: Distance of a link from the line between its ends, to its right, over the picture's shorter side.
ASIDE = 0.006


def link_load(schedule: Schedule, ax: Axes | None = None) -> Axes:
    """Draw a machine with its links coloured by the share of the time in which bytes passed over them.

    A link is drawn to the right of its direction, so that both directions can be seen; those that carried nothing are
    left out. Cores have the colour of the busier of the links out of and into their place.

    Parameters
    ----------
    schedule : Schedule
        Of a machine whose data move.
    ax : Axes, optional
        Where to draw; a new figure when not given.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If nothing moves on the schedule's machine.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4e6)
    >>> schedule = ss.simulate(graph, "knl-7250[cores=4,data=sent,places=tile,link_Bps=1e6]", "fifo", "2x2")
    >>> axes = ss.plots.link_load(schedule)
    >>> len(axes.collections) > 0
    True
    """
    from matplotlib.collections import LineCollection

    machine = schedule.require_machine()
    if (network := machine.network) is None:
        raise SimschedError(f"{machine}: data do not move; write data=sent or data=read in the brackets")
    table, n = schedule.links, network.n_places
    busy = np.zeros(len(network.capacity_Bps))
    busy[table["link"].to_numpy(np.int64)] = table["busy"]
    ports = np.maximum(busy[:n], busy[n : 2 * n])[network.place_of]
    ax = draw_machine(machine, ax, 100 * ports, "busiest link (% of the makespan)", WHOLE)
    # Those of pairs are nowhere on the picture.
    used = [int(link) for link in table["link"] if 0 <= link - 2 * n < len(network.interconnect.links)]
    lines = np.array([network.interconnect.links[link - 2 * n].line for link in used]).reshape(-1, 2, 2)
    colours, _ = shaded(100 * busy[used], WHOLE)
    beside = _beside(lines, machine.structure.picture())
    ax.add_collection(LineCollection(beside, colors=colours, linewidths=2.5, zorder=3.5), autolim=False)
    return ax


def _beside(lines: Floats, picture: Picture) -> list[Floats]:
    """Return lines a little to the right of where they are, shape (2, 2) each."""
    left, bottom, right, top = extent(picture)
    along = lines[:, 1] - lines[:, 0]
    length = np.maximum(np.hypot(along[:, 0], along[:, 1]), 1e-12)[:, None]
    aside = np.stack([along[:, 1], -along[:, 0]], axis=1) / length * ASIDE * min(right - left, top - bottom)
    return list(lines + aside[:, None])


#: Values that colour cores: the column, its label, and its text.
VALUES = {
    "busy_share": ("busy (% of the makespan)", 100.0),
    "busy_s": ("busy (s)", 1.0),
    "tasks": ("tasks", 1.0),
}


def core_use_frame(schedule: Schedule) -> pd.DataFrame:
    """Return the use of each core.

    Parameters
    ----------
    schedule : Schedule
        Schedule on a machine known to simsched.

    Returns
    -------
    DataFrame
        One row per core: core; tile, domain (where it is); tasks (that it took part in); busy_s (seconds in which tasks
        held it, those of its hardware threads added up); busy_share (of the makespan, over its hardware threads in
        use): the mean over all cores is `Schedule.utilization`.

    Raises
    ------
    SimschedError
        If the machine is unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> schedule = ss.simulate(graph, "generic[cores=2]", "critical-path")
    >>> core_use_frame(schedule)["busy_share"].tolist()
    [1.0, 0.5]
    """
    machine, teams = schedule.require_machine(), schedule.teams
    n_teams, of_team = len(teams.degrees()), teams.sources()
    held_s = np.bincount(schedule.team, schedule.finish_s - schedule.start_s, n_teams)
    tasks = np.bincount(schedule.team, minlength=n_teams)
    cores = teams.indices % machine.n_cores
    busy_s = np.bincount(cores, held_s[of_team], machine.n_cores)
    ways = schedule.n_cores / machine.n_cores
    return pd.DataFrame(
        {
            "core": np.arange(machine.n_cores),
            "tile": machine.structure.tile_of,
            "domain": machine.structure.domain_of,
            "tasks": np.bincount(cores, tasks[of_team], machine.n_cores).astype(np.int64),
            "busy_s": busy_s,
            "busy_share": busy_s / (schedule.makespan_s * ways) if schedule.makespan_s else 0.0 * busy_s,
        }
    )


def core_use(schedule: Schedule, ax: Axes | None = None, value: str = "busy_share") -> Axes:
    """Draw the machine of a schedule, its cores coloured by their use; see `core_use_frame`.

    Any other number per core is drawn by `Machine.draw(values=...)`.

    Parameters
    ----------
    schedule : Schedule
    ax : Axes, optional
        Where to draw; a new figure when not given.
    value : str
        The column: "busy_share", from 0 to 100 %; "busy_s" or "tasks", from 0 to the largest.

    Returns
    -------
    Axes

    Raises
    ------
    SimschedError
        If the machine or the column is unknown.

    Examples
    --------
    >>> import simsched as ss
    >>> graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])
    >>> core_use(ss.simulate(graph, "generic[cores=2]", "critical-path")).get_title(loc="left").split(":")[0]
    'generic[cores=2]'
    """
    if value not in VALUES:
        raise SimschedError(f"value={value!r} is unknown; give one of {', '.join(VALUES)}")
    label, factor = VALUES[value]
    shown = factor * core_use_frame(schedule)[value].to_numpy(np.float64)
    most = 100.0 if value == "busy_share" else float(shown.max())
    return draw_machine(schedule.require_machine(), ax, shown, label, limits=(0.0, most))
