"""Rooflines: what ops attained, what machines reach, what is drawn."""

import numpy as np
import pytest

import simsched as ss
from simsched.errors import SimschedError
from simsched.plots import draw_roofline, roofline, roofline_frame, roofs_frame
from simsched.plugins import registered

MACHINES = [name for name in registered("machines") if name != "host"]
KINDS = ["$x_{", "Relu", "$x_{", "Reshape"]


def schedule(machine="generic[cores=2]"):
    graph = ss.TaskGraph.from_edges(
        [1.0, 2.0, 3.0, 2.0], kinds=KINDS, flops=[8e9, 1e9, 8e9, np.nan], bytes_B=[1e9, 4e9, 1e9, 1e9]
    )
    return ss.simulate(graph, machine, "fifo", "2x1")


def test_by_hand():
    """Two products of 8 GFLOP in 1 + 3 s, 1 GFLOP in 2 s; 2 of 8 s have no FLOPs."""
    frame = roofline_frame(schedule())
    assert frame["kind"].tolist() == ["$x_{", "Relu"]
    assert frame["tasks"].tolist() == [2, 1]
    assert frame["intensity"].tolist() == [8, 0.25]
    assert frame["attained_flops"].tolist() == [4e9, 0.5e9]
    assert frame["core_s"].tolist() == [4, 2]
    assert frame["share"].tolist() == [0.5, 0.25]


def test_wide_tasks_count_all_their_cores():
    graph = ss.TaskGraph.from_edges([4.0], kinds="MatMul", flops=[8e9], bytes_B=[1e9])
    (row,) = roofline_frame(ss.simulate(graph, "generic[cores=4]", "fifo", "1x4")).itertuples()
    assert row.width == 4
    assert row.core_s == pytest.approx(4 * 8e9 / row.attained_flops)


def test_parts_and_levels_of_knights_landing():
    frame = roofs_frame("knl-7250")
    assert list(zip(frame["part"], frame["level"], strict=True)) == [
        ("one core", "MCDRAM, flat"),
        ("tile of 2 cores", "MCDRAM, flat"), ("tile of 2 cores", "L2"),
        ("all 68 cores", "MCDRAM, flat"), ("all 68 cores", "L2"),
    ]  # fmt: skip
    machine = ss.machine("knl-7250")
    assert frame["peak_flops"].tolist() == [n * machine.peak_flops for n in (1, 2, 2, 68, 68)]
    assert frame["bandwidth_Bps"].iloc[0] == machine.core_bandwidth_Bps
    assert frame["bandwidth_Bps"].iloc[4] == 34 * machine.l2_bandwidth_Bps


@pytest.mark.parametrize(
    "name", [*MACHINES, "generic[bandwidth_Bps=5e9]", "epyc-9654x2[core_bandwidth_Bps=1e12]"]
)
def test_larger_parts_reach_more(name):
    frame, machine = roofs_frame(name), ss.machine(name)
    memory = frame[frame["level"] == machine.memory.name]
    assert memory["cores"].is_unique
    assert memory["cores"].iloc[[0, -1]].tolist() == [1, machine.n_cores]
    assert memory["bandwidth_Bps"].is_monotonic_increasing
    assert memory["bandwidth_Bps"].iloc[-1] <= machine.bandwidth_Bps * (1 + 1e-12)
    assert (memory["bandwidth_Bps"] <= memory["cores"] * machine.core_bandwidth_Bps * (1 + 1e-12)).all()


def test_a_domain_has_its_share():
    frame = roofs_frame("xeon-8160x2")
    domain = frame[(frame["cores"] == 24) & (frame["level"] != "L2")]["bandwidth_Bps"].item()
    whole = frame[(frame["cores"] == 48) & (frame["level"] != "L2")]["bandwidth_Bps"].item()
    assert whole == pytest.approx(2 * domain)


@pytest.mark.parametrize("name", MACHINES)
def test_a_roof_is_what_the_machine_computes_or_moves(name):
    roofs = roofs_frame(name)
    ax = draw_roofline(roofline_frame(schedule()), roofs)
    for line, row in zip(ax.lines, roofs.itertuples(), strict=True):
        x, y = line.get_data()
        assert y * 1e9 == pytest.approx(np.minimum(x * row.bandwidth_Bps, row.peak_flops))


def test_markers_names_and_what_is_missing():
    ax = schedule().roofline()
    points = [collection.get_offsets()[0].tolist() for collection in ax.collections]
    assert points == [[8, 4], [0.25, 0.5]]
    sizes = [collection.get_sizes()[0] for collection in ax.collections]
    assert sizes[0] > sizes[1]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$x_{", "Relu", "memory"]
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    assert ax.get_title(loc="left").startswith("not shown: 25.0%")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("FLOPs a byte", "GFLOP/s")
    ax.figure.canvas.draw()


def test_kinds_beyond_the_palette_are_one_group():
    n = 12
    graph = ss.TaskGraph.from_edges(
        [1.0] * n, kinds=[f"kind{i}" for i in range(n)], flops=np.arange(1, n + 1) * 1e9, bytes_B=[1e9] * n
    )
    labels = [
        text.get_text() for text in roofline(ss.simulate(graph, "generic", "fifo")).get_legend().get_texts()
    ]
    assert labels[-2:] == ["other (4 kinds)", "memory"]
    assert len(labels) == 8 + 2


def test_recorded_runs_need_a_machine(make_schedule):
    recorded = make_schedule([1.0, 2.0])
    with pytest.raises(SimschedError, match="machine"):
        roofline(recorded)
    ax = recorded.roofline("knl-7250")
    assert not ax.collections, "no FLOPs are known"
    ax.figure.canvas.draw()


def test_missing_columns_are_named():
    with pytest.raises(SimschedError, match=r"lacks .*peak_flops"):
        draw_roofline(roofline_frame(schedule()), roofline_frame(schedule()))
