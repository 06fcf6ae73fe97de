"""Load of a machine's links, on its picture."""

from __future__ import annotations

import numpy as np

from simsched.drawing import Axes
from simsched.errors import SimschedError
from simsched.graph.columns import Floats
from simsched.machine.structure import Picture
from simsched.plots.machine import draw_machine, extent
from simsched.plots.palette import shaded
from simsched.schedule import Schedule

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
    network = machine.network
    if network is None:
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
