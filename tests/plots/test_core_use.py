"""Cores coloured by a schedule: the frame by hand, and what the machine's drawing shows."""

import numpy as np
import pytest
from matplotlib.collections import PatchCollection

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import core_use, core_use_frame
from simsched.plots.machine import ROLES
from simsched.schedule import Schedule

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)])


def faces(ax):
    collections = [c for c in ax.collections if isinstance(c, PatchCollection)]
    return collections[list(ROLES).index("core")].get_facecolor()


def test_by_hand():
    """One core has tasks 0 and 2, 4 s; another task 1, 2 s; the makespan is 4 s."""
    frame = core_use_frame(ss.simulate(GRAPH, "generic[cores=4]", "critical-path", "2x1"))
    assert frame["busy_s"].tolist() == [4, 2, 0, 0]
    assert frame["busy_share"].tolist() == [1, 0.5, 0, 0]
    assert frame["tasks"].tolist() == [2, 1, 0, 0]
    assert frame["domain"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("machine", ["knl-7250[smt=2]", "epyc-9654x2[smt=2]"])
@pytest.mark.parametrize("policy", ["corun[smt=true]", "critical-path"])
def test_the_mean_share_is_the_utilization(machine, policy):
    schedule = ss.simulate(ss.workload("dcgan"), machine, policy)
    frame = core_use_frame(schedule)
    assert len(frame) == schedule.require_machine().n_cores
    assert frame["busy_share"].mean() == pytest.approx(schedule.utilization)


def test_colours_are_those_of_the_whole_scale():
    ax = ss.simulate(GRAPH, "generic[cores=4]", "critical-path", "2x1").core_use()
    bar = ax.figure.axes[1]
    assert bar.get_ylim() == (0, 100)
    assert bar.get_ylabel() == "busy (% of the makespan)"
    idle, busy = faces(ax)[2], faces(ax)[0]
    assert idle[:3] == pytest.approx(np.array([68, 1, 84]) / 255, abs=0.01), "viridis begins dark"
    assert busy[:3] == pytest.approx(np.array([253, 231, 37]) / 255, abs=0.01), "and ends yellow"
    ax.figure.canvas.draw()


@pytest.mark.parametrize("value", ["busy_s", "tasks"])
def test_other_columns(value):
    ax = core_use(ss.simulate(GRAPH, "generic[cores=2]", "fifo"), value=value)
    assert ax.figure.axes[1].get_ylim()[0] == 0


def test_an_empty_graph_keeps_no_core_busy():
    schedule = ss.simulate(ss.TaskGraph.from_edges([]), "generic[cores=2]", "fifo")
    assert core_use_frame(schedule)["busy_share"].tolist() == [0, 0]
    schedule.core_use().figure.canvas.draw()


def test_wrong_columns_and_unknown_machines_are_named(make_schedule):
    with pytest.raises(SimschedError, match="busy_share"):
        core_use(ss.simulate(GRAPH, "generic[cores=2]", "fifo"), value="heat")
    recorded: Schedule = make_schedule([1.0])
    with pytest.raises(SimschedError, match="machine"):
        core_use_frame(recorded)


def test_the_title_stays_in_the_figure_where_the_machine_has_a_long_name():
    machine = "generic[cores=3,kinds=each,data=sent,link_Bps=1,link_latency_s=0]"
    schedule = ss.simulate(
        ss.TaskGraph.from_edges([1.0, 2.0], [(0, 1)], edge_bytes=2.0), machine, "fifo", "3x1"
    )
    for ax in (core_use(schedule), ss.plots.link_load(schedule)):
        ax.figure.canvas.draw()
        (title,) = (
            text for text in ax.get_children() if getattr(text, "get_text", str)() == ax.get_title(loc="left")
        )
        assert (
            ax.figure.bbox.x0
            <= title.get_window_extent().x0
            < title.get_window_extent().x1
            <= ax.figure.bbox.x1
        )
