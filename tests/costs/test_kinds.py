"""Seconds on kinds of cores: by speed, by rooflines, on teams and on devices."""

from itertools import combinations

import numpy as np
import pytest

import simsched as ss
from simsched.costs.width_table import WidthTable
from simsched.errors import LayoutError
from simsched.graph.adjacency import Csr
from simsched.hwmodels import machine_file


@pytest.fixture
def hybrid(tmp_path):
    """Make a machine of two cores, 32 FLOP a cycle at 1 GHz and 10 GB/s each, and of one core of another kind."""

    def make(**rows):
        text = machine_file("generic").read_text("utf-8").replace("value = 16, ", "value = 3, ")
        numbers = [
            f"{key} = {{ value = {value}, unit = '{unit}', source = 'a test', confidence = 'low' }}"
            for key, (value, unit) in {"cores": ([2, 1], "core"), **rows}.items()
        ]
        text += "\n".join(["", "[kinds]", 'names = ["own", "other"]', *numbers, ""])
        (tmp_path / "hybrid.toml").write_text(text, "utf-8")
        return ss.machine(tmp_path / "hybrid.toml")

    return make


def on_kinds(machine, **work):
    graph = ss.TaskGraph.from_edges([1.0], kinds="mine", **work)
    costs = ss.CostModel().on(graph, machine)
    return [float(costs.of_kind(kind).seconds(1)[0]) for kind in (0, 1)]


def test_rooflines_of_kinds(hybrid):
    """Four times the operations and twice the bytes a second, 0.25 s to start."""
    machine = hybrid(
        clock=([1, 2], "GHz"), flop_per_cycle=([32, 64], "FLOP/cycle"),
        core_bandwidth=([10, 20], "GB/s"), start=([0, 0.25], "s"),
    )  # fmt: skip
    assert on_kinds(machine, flops=[32e9]) == [1, 0.25 + 0.25]
    assert on_kinds(machine, flops=[1e9], bytes_B=[10e9]) == [1, 0.5 + 0.25]
    assert on_kinds(machine, flops=[32e9], bytes_B=[9e9]) == [1, pytest.approx(0.45 + 0.25)]
    assert on_kinds(machine) == [1, 0.5 + 0.25], "the lesser of both, where the work is unknown"
    assert on_kinds(hybrid(speed=([1, 8], "")), flops=[32e9]) == [1, 0.125]


def test_teams_of_a_kind_take_its_curve_in_proportion(hybrid):
    """A modelled curve of products: on the slow kind, every width takes as many times as long."""
    machine = hybrid(speed=([1, 0.5], ""))
    graph = ss.workload("lstm[size=small]")
    costs = ss.CostModel().on(graph, machine)
    assert costs.table is not None
    for width in (1, 2, 3):
        own, other = (costs.of_kind(kind).seconds(width) for kind in (0, 1))
        np.testing.assert_allclose(other, 2 * own)
    np.testing.assert_allclose(costs.fastest_teams().seconds(2), costs.of_kind(0).seconds(2))


@pytest.mark.parametrize("name", ["lstm[size=small]", "chaos"])
def test_the_fastest_teams_are_those_of_all_sets_of_cores(hybrid, name):
    """Seven sets of three cores, each as slow as its slowest kind."""
    machine, graph = hybrid(speed=([1, 0.75], "")), ss.workload(name)
    costs, every = ss.CostModel(default=ss.Curve(0.0)).on(graph, machine), range(machine.n_cores)
    teams = [list(team) for width in (1, 2, 3) for team in combinations(every, width)]
    sets = Csr(np.cumsum([0, *map(len, teams)]), np.concatenate(teams).astype(np.int32))
    seconds = [costs.on_teams(sets, np.full(graph.n_tasks, team), machine.kind_of) for team in range(sets.n)]
    fastest = costs.fastest_teams()
    assert (fastest.seconds(fastest.fastest_widths) == np.min(seconds, axis=0)).all()
    assert costs.of_kind(1).fastest_widths.tolist() == [1] * graph.n_tasks, "there is one core of this kind"


def test_a_table_beside_other_cores():
    table = WidthTable(
        np.array([0, -1, 0, 1], np.int32),
        np.array([[0, 4.0, 2.0], [0, 0.0, 0.0]]),
        np.array([0.5, 0.0]),
        np.array([2, 1]),
    )
    beside = table.beside(np.array([4.0, 9.0, 8.0, 3.0]))
    assert beside.over(np.full(4, 7.0), 2).tolist() == [2, 7, 4, 0]
    assert beside.one_core(np.full(4, 7.0)).tolist() == [4, 7, 8, 3]
    assert beside.overhead_s[beside.rows[[0, 2]]].tolist() == [0.5, 1]
    assert beside.beyond(3).tolist() == [True, False, True, True]


def test_devices_slow_nobody_down(hybrid, engine):
    """Two tasks of 10 GB: on two cores that share 10 GB/s 2 s each; on a core and a device 1 s each."""
    machine = hybrid(link_bandwidth=([0, 5], "GB/s")).varied({"bandwidth_Bps": 10e9})
    shared, apart = (
        ss.simulate(
            ss.TaskGraph.from_edges([[1.0, 9], second], bytes_B=[10e9, 10e9]),
            machine,
            "heft",
            "3x1",
            engine=engine,
        )
        for second in ([1.0, 9.0], [9.0, 1.0])
    )
    assert shared.finish_s.tolist() == [2, 2]
    assert apart.finish_s.tolist() == [1, 1]
    assert sorted(apart.executor.tolist()) == [0, 2]


def test_slow_cores_wait_for_a_shared_memory_as_fast_ones_do(hybrid, engine):
    """Three tasks of 10 GB on 10 GB/s: two fast cores demand 10 GB/s each, a slow one 5, so all take 2.5 times as long.

    After 2.5 s, 25 GB have been moved, and the slow core has 5 GB left, for which it takes 1 s alone.
    """
    machine = hybrid(speed=([1, 0.5], "")).varied({"bandwidth_Bps": 10e9})
    graph = ss.TaskGraph.from_edges([np.nan] * 3, kinds="Add", flops=[1.0] * 3, bytes_B=[10e9] * 3)
    schedule = ss.simulate(graph, machine, "fifo", "3x1", engine=engine)
    assert schedule.finish_s == pytest.approx([2.5, 2.5, 3.5])


@pytest.mark.parametrize("name", ["apple-m1", "core-i7-1370p"])
def test_hybrids_move_no_more_than_their_memory_delivers(name):
    graph = ss.TaskGraph.from_edges([np.nan] * 200, kinds="Add", flops=[1.0] * 200, bytes_B=[1e8] * 200)
    machine = ss.machine(name)
    least_s = 200 * 1e8 / machine.reach_Bps[-1]
    assert ss.simulate(graph, machine, "fifo", "best").makespan_s >= least_s * (1 - 1e-6)


def test_a_processor_and_a_graphics_processor(engine):
    """1 TFLOP goes to the GPU, a small product stays: there, its launch alone would take longer."""
    graph = ss.TaskGraph.from_edges([np.nan] * 2, kinds="MatMul", flops=[1e12, 1e5], bytes_B=[1e6, 1e4])
    schedule = ss.simulate(graph, "grace-hopper", "heft", "73x1", engine=engine)
    assert schedule.executor.tolist() == [72, 0]
    assert schedule.makespan_s == pytest.approx(1e12 / (1.83e9 * 33792 * 0.68), rel=0.01)


def test_what_was_recorded_on_a_device_runs_on_devices_alone(engine):
    """Kernels of 2 and 3 s beside host work: the GPU runs both, one after the other, as long as recorded."""
    kinds = ["launch::mm", "device::gemm", "add", "device::gemm"]
    graph = ss.TaskGraph.from_edges(
        [0.5, 2.0, 1.0, 3.0], [(0, 1), (0, 2)], kinds=kinds, recorded_on="grace-hopper"
    )
    for policy in ("fifo", "heft", "lws"):
        schedule = ss.simulate(graph, "grace-hopper", policy, engine=engine)
        device = [bool((schedule.cores(task) == 72).all()) for task in range(4)]
        assert device == [False, True, False, True], policy
        assert schedule.makespan_s == pytest.approx(5.0, rel=1e-5)
        assert "2 tasks ran on a device" in schedule.notes[0]
        assert "they run on devices of grace-hopper alone" in schedule.notes[0]
    with pytest.raises(
        LayoutError, match=r"the layout 72x1 has no executor for task 1 .*\+d in a layout gives it d devices"
    ):
        ss.simulate(graph, "grace-hopper", "fifo", "72x1", engine=engine)


def test_what_a_task_of_unknown_work_gains_on_a_device_is_not_made_up(engine):
    """Two tasks of 1 s, work unknown: the GPU, 130 times a core by its rates, takes 1 s and its launch of 5 us, too."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)])
    schedule = ss.simulate(graph, "grace-hopper", "heft", "1x1+1", engine=engine)
    assert schedule.makespan_s == pytest.approx(2, rel=1e-3)
    costs = ss.CostModel().on(graph, ss.machine("grace-hopper"))
    np.testing.assert_allclose(costs.kinds_s, [[1, 1 + 5e-6]] * 2, rtol=1e-12)
    assert any(
        "no faster on a device than on a core: 2 tasks of unknown work" in note for note in schedule.notes
    )
    stated = ss.TaskGraph.from_edges([[1.0, 0.1], [1.0, 0.1]], [(0, 1)])
    assert ss.simulate(stated, "grace-hopper", "heft", "1x1+1", engine=engine).makespan_s < 0.21
