"""Layouts on machines with several kinds of cores: teams of one kind, devices beside them."""

from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import LayoutError
from simsched.policy import Problem
from simsched.policy.estimate import Estimator
from simsched.replay.policy_checks import layouts_of
from simsched.study.tune import worker_layouts

HYBRID, WITH_DEVICE = "core-i7-1370p", "grace-hopper"


def teams(machine, layout, policy="fifo"):
    """Return the cores of each executor of a layout."""
    rows = ss.policy(policy).executors(ss.machine(machine), ss.Layout.parse(layout))
    return [rows.neighbours(row).tolist() for row in range(rows.n)]


def test_the_text_of_a_layout_with_devices():
    layout = ss.Layout.parse(" 2 X 36 + 1 ")
    assert (layout, str(layout)) == (ss.Layout(2, 36, 1), "2x36+1")
    assert (layout.n_executors, layout.cores) == (3, 73)


def test_pairs_may_be_of_numpy_as_rows_of_tables_are():
    row = ss.tune(ss.TaskGraph.from_edges([1.0, 2.0]), "generic[cores=2]").iloc[0]
    assert (
        ss.Layout.parse((row["executors"], row["width"])) == ss.Layout.parse(row["layout"]) == ss.Layout(2, 1)
    )
    with pytest.raises(LayoutError, match="is not a layout"):
        ss.Layout.parse((2.0, 1))


@pytest.mark.parametrize("layout", ["2x36+", "2x36+x", "+1", "2x36-1", "2x36+1+1"])
def test_other_text_is_refused(layout):
    with pytest.raises(LayoutError, match="is not a layout"):
        ss.Layout.parse(layout)


def test_no_fewer_devices_than_none():
    with pytest.raises(LayoutError):
        ss.Layout(1, 1, -1)


def test_teams_have_cores_of_one_kind():
    """Of six fast and eight slow cores, the two that no whole team has are left out."""
    assert teams(HYBRID, "3x4") == [[0, 1, 2, 3], [6, 7, 8, 9], [10, 11, 12, 13]]
    assert teams(HYBRID, "2x6") == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert teams(HYBRID, "1x8") == [[6, 7, 8, 9, 10, 11, 12, 13]]


def test_a_device_is_the_last_executor():
    assert [len(team) for team in teams(WITH_DEVICE, "2x36+1")] == [36, 36, 1]
    assert teams(WITH_DEVICE, "2x2+1") == [[0, 1], [2, 3], [72]]
    assert teams(WITH_DEVICE, "73x1")[-1] == [72]


def test_wide_teams_and_a_device(engine):
    """Task 0 takes 8 s on the processor, 1 s on the device; task 1 4 and 9: no width changes that here."""
    graph = ss.TaskGraph.from_edges([[8.0, 1.0], [4.0, 9.0]], kinds="mine")
    schedule = ss.simulate(graph, WITH_DEVICE, "heft", "2x36+1", runtime=ss.RuntimeProfile(), engine=engine)
    assert schedule.finish_s.tolist() == [1.0, 4.0]
    assert schedule.executor.tolist() == [2, 0]
    assert (schedule.cores(0).tolist(), schedule.cores(1).tolist()) == ([72], list(range(36)))


def test_a_device_gains_nothing_from_the_width_of_the_others(engine):
    graph = ss.TaskGraph.from_edges([np.nan], kinds="MatMul", flops=[1e12], bytes_B=[1e6])
    narrow, wide = (
        ss.simulate(graph, WITH_DEVICE, "heft", f"1x{width}+1", engine=engine) for width in (1, 72)
    )
    assert narrow.makespan_s == wide.makespan_s
    assert narrow.executor.tolist() == wide.executor.tolist() == [1]


@pytest.mark.parametrize("machine", [HYBRID, WITH_DEVICE])
@pytest.mark.parametrize("policy", ["heft", "fifo", "critical-path"])
def test_lower_bounds_of_estimates_hold(machine, policy):
    graph, machine, policy = (
        ss.workload("lstm[layers=2,steps=3,batch=64]"),
        ss.machine(machine),
        ss.policy(policy),
    )
    problem = Problem(graph, machine, ss.CostModel().on(graph, machine))
    estimator = Estimator(problem, policy, machine.runtime)
    for layout in layouts_of(policy, machine)[::2]:
        makespan_s = ss.simulate(graph, machine, policy, layout).makespan_s
        assert estimator.lower_s(layout) <= makespan_s * (1 + 1e-12), layout


def test_what_is_found_uses_a_device_beside_teams():
    """A convolution's products go to the device; without it, all of them would wait for the processor."""
    graph = ss.workload("resnet50[batch=4]")
    found = ss.simulate(graph, WITH_DEVICE, "heft")
    assert found.layout.endswith("+1")
    without = ss.simulate(graph, WITH_DEVICE, "heft", found.layout.removesuffix("+1"))
    assert found.makespan_s < without.makespan_s / 2


@pytest.mark.parametrize("policy", ["heft", "corun", "sequential"])
def test_searches_try_what_suits_a_policy(policy):
    graph = ss.TaskGraph.from_edges([np.nan] * 4, kinds="MatMul", flops=[1e9] * 4, bytes_B=[1e5] * 4)
    tried = ss.tune(graph, WITH_DEVICE, policy).frame
    assert tried["makespan_s"].notna().all()
    assert any("+1" in layout for layout in tried["layout"]) == (policy == "heft")


def test_what_is_found_fills_the_fast_cores():
    assert ss.simulate(ss.workload("resnet50[batch=4]"), HYBRID, "sequential").layout == "1x6"


@pytest.mark.parametrize(
    ("policy", "layout", "why"),
    [
        ("fifo", "2x36+2", "has 2 devices; .* has 1"),
        ("fifo[pinned=false]", "2x36+1", "pinned=true"),
        ("fifo", "73x1+1", "needs 74 cores"),
        ("corun", "2x36+1", "decides while it runs"),
        ("sequential", "2x36+1", "one executor"),
        ("sequential", "1x36+1", "one executor"),
    ],
)
def test_layouts_that_do_not_fit(policy, layout, why):
    with pytest.raises(LayoutError, match=why):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), WITH_DEVICE, policy, layout)


def test_no_devices_where_the_machine_has_none():
    with pytest.raises(LayoutError, match=r"has 1 devices; .* has 0"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic[cores=4]", "fifo", "2x2+1")


def test_slow_cores_work_and_are_no_overhead(engine):
    """Of seven tasks on a core each, the last is on a slow core: all of its time is work."""
    graph = ss.TaskGraph.from_edges([3.0] * 7, kinds="mine")
    schedule = ss.simulate(graph, HYBRID, "fifo", "14x1", runtime=ss.RuntimeProfile(), engine=engine)
    time = ss.explain(schedule).team_time
    assert schedule.alone_s[6] > schedule.alone_s[5] == 3.0
    assert time.work_s.tolist() == schedule.alone_s.tolist()
    assert time.overhead_s.tolist() == [0.0] * 7


def test_no_cause_is_left_over_where_cores_are_of_several_kinds():
    graph = ss.workload("resnet50[batch=4]")
    for machine, layout in ((HYBRID, "2x6"), (WITH_DEVICE, "2x36+1")):
        parts = ss.explain(ss.simulate(graph, machine, "heft", layout)).core_time.set_index("cause")["share"]
        assert parts["memory bandwidth"] > 0
        assert parts["cause unknown"] == pytest.approx(0.0, abs=1e-9)


def test_devices_alone_are_the_cores_of_a_machine(tmp_path):
    text = (
        (Path(__file__).parents[2] / "hwmodels/generic.toml")
        .read_text("utf-8")
        .replace("value = 16, ", "value = 2, ")
    )
    rows = {"cores": (2, "core"), "link_bandwidth": (1, "GB/s"), "link_latency": (1, "us")}
    lines = [
        f'{k} = {{ value = [{v}], unit = "{u}", source = "a test", confidence = "low" }}'
        for k, (v, u) in rows.items()
    ]
    path = tmp_path / "devices.toml"
    path.write_text("\n".join([text, "[kinds]", 'names = ["device"]', *lines, ""]), "utf-8")
    assert [str(layout) for layout in worker_layouts(ss.machine(path))] == ["2x1"]
    assert ss.tune(ss.TaskGraph.from_edges([1.0, 1.0]), path, "fifo").frame["makespan_s"].tolist() == [1.0]
