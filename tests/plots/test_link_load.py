"""Links coloured by a schedule: which are drawn, where, and how busy."""

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import simsched as ss
from simsched.errors import SimschedError

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4e6)
TILES = "knl-7250[cores=4,data=sent,places=tile,link_Bps=1e6,hop_Bps=1e6]"


def lines(ax):
    """Segments drawn above the machine's own, shape (n, 2, 2), and their colours."""
    drawn = max((c for c in ax.collections if isinstance(c, LineCollection)), key=lambda c: c.zorder)
    return np.array(drawn.get_segments()), drawn.get_colors()


def test_a_line_for_each_hop_that_carried_bytes():
    schedule = ss.simulate(GRAPH, TILES, "fifo", "2x2")
    hops = schedule.links[~schedule.links["name"].str.contains(" core | tile ")]
    assert len(hops) > 0
    ax = ss.plots.link_load(schedule)
    segments, colours = lines(ax)
    assert len(segments) == len(hops) == len(colours)
    assert ax.figure.axes[1].get_ylim() == (0, 100)
    ax.figure.canvas.draw()


def test_both_directions_stand_apart():
    """Each executor hands to the other one: a line stands to the right of its direction."""
    crossed = ss.TaskGraph.from_edges([1.0] * 4, [(0, 2), (0, 3), (1, 2), (1, 3)], edge_bytes=4e6)
    schedule = ss.simulate(crossed, TILES, "fifo", "2x2")
    segments, _ = lines(ss.plots.link_load(schedule))
    assert len(np.unique(segments.reshape(-1, 4), axis=0)) == len(segments) > 0


def test_nothing_moved_nothing_is_drawn():
    schedule = ss.simulate(ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)]), TILES, "fifo", "2x2")
    segments, _ = lines(ss.plots.link_load(schedule))
    assert len(segments) == 0


def test_machines_without_data_are_refused():
    with pytest.raises(SimschedError, match="data=sent"):
        ss.plots.link_load(ss.simulate(GRAPH, "knl-7250", "fifo", "2x2"))
