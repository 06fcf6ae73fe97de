"""W-Par: a grid of 2 x 2 cells by hand, what is calibrated, what sockets cost, and that the page's numbers come out."""

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest

import simsched as ss
from simsched.costs.kernels import Team
from simsched.machine import RuntimeProfile
from simsched.replay import simulate
from simsched.reproduce.wpar.cells import CellCosts, Setting, chained
from simsched.reproduce.wpar.keras import Keras, counted, kernel_s
from simsched.reproduce.wpar.system import CORES, Numbers, WPar

XEON = ss.machine("xeon-8160x2[remote_memory=false]")
GRID = Setting("lstm", 2, 4, 4, 4, 2)
LARGE = Setting("lstm", 6, 256, 256, 128, 100)
SINGLE = Setting("lstm", 6, 256, 256, 1, 10)


@pytest.fixture(scope="module")
def numbers():
    return Numbers(WPar())


def makespan(graph, policy, cores):
    return simulate(graph, "generic", policy, (cores, 1), runtime=RuntimeProfile()).makespan_s


def timed(setting, mini_batches):
    """Return a graph whose cells take 1 s forward and 2 s backward, and whose final tasks take 10 s."""
    graph = setting.cells(mini_batches).graph()
    cells = (graph.n_tasks - mini_batches) // 2
    return replace(graph, durations_s=np.array([1.0] * cells + [2.0] * cells + [10.0] * mini_batches))


def test_two_by_two_cells_by_hand():
    """W-Par: three diagonals forward, three backward, the update. Seq: four cells each way, then the update."""
    graph = timed(GRID, 1)
    assert makespan(graph, "wavefront", 2) == 3 * 1 + 3 * 2 + 10
    assert makespan(graph, "wavefront", 1) == 4 * 1 + 4 * 2 + 10
    assert makespan(chained(graph, 1), "data-parallel", 2) == 4 * 1 + 4 * 2 + 10


def test_two_mini_batches_by_hand():
    """Two workers take a chain each, a third has nothing to do; then one sum and the update."""
    chains = chained(timed(GRID, 2), 2)
    assert makespan(chains, "data-parallel", 1) == 2 * 12 + 2 * 10
    assert makespan(chains, "data-parallel", 2) == makespan(chains, "data-parallel", 3) == 12 + 2 * 10
    assert makespan(timed(GRID, 2), "wavefront", 4) == 9 + 2 * 10


def test_chains_of_inference_have_no_final_task():
    graph = replace(GRID, training=False).cells(2).graph()
    chains = chained(replace(graph, durations_s=np.ones(graph.n_tasks)), 2)
    assert (chains.n_tasks, chains.n_edges) == (8, 6)
    assert makespan(chains, "data-parallel", 2) == 4


@pytest.mark.parametrize("packing", [False, True])
def test_seq_takes_what_it_is_calibrated_on(packing):
    numbers = Numbers(WPar(packing=packing))
    assert numbers.batch_ms("lstm", 6, "seq", (256, 256, 128, 100)) == pytest.approx(1669.0, rel=1e-3)


def test_keras_takes_what_it_is_calibrated_on(numbers):
    for config, ms in {
        (256, 256, 128, 100): 1966.3,
        (256, 256, 1, 2): 9.43,
        (256, 256, 1, 100): 312.5,
    }.items():
        assert numbers.batch_ms("lstm", 6, "keras", config) == pytest.approx(ms, rel=1e-6)
    assert numbers.keras.batch_s > 0
    assert numbers.keras.op_s > 0
    assert numbers.keras.slower > 1


def test_weights_stream_from_the_l3_where_they_fit():
    costs = CellCosts(XEON, 21.36e9, 0.5, packing=False)
    # 6 x (512 x 1024 + 1024) weights and their gradients are 25 MB of 34.6 MB.
    assert costs.found(SINGLE, 1) == 1
    graph = SINGLE.cells(1).graph()
    seconds = costs.seconds(graph, SINGLE, 1, 1)
    assert seconds[:-1] == pytest.approx(graph.bytes_B[:-1] / 21.36e9)
    assert seconds[-1] == pytest.approx(graph.bytes_B[-1] / 13e9)
    six = 7 * 4 * LARGE.cells(1).n_parameters
    assert costs.found(LARGE, 6) == pytest.approx((33792 * 1024 / six) ** 5)
    assert 13e9 < costs.stream_Bps(LARGE, 6) < 13.2e9


def test_packing_takes_bytes_and_operations_in_turn():
    graph = LARGE.cells(6).graph()
    both, longer = (
        CellCosts(XEON, 20e9, 0.5, packing, 30e9).seconds(graph, LARGE, 6, 48) for packing in (True, False)
    )
    bytes_s = CellCosts(XEON, 20e9, 0.5, packing=False).seconds(graph, LARGE, 6, 48)
    assert both[:-6] == pytest.approx(graph.flops[:-6] / 30e9 + bytes_s[:-6])
    assert longer[:-6] == pytest.approx(np.maximum(graph.flops[:-6] / 30e9, bytes_s[:-6]))


def test_products_and_gates_have_the_clocks_of_busy_cores():
    """A cell of 22 rows on six cores: operations at 1.5 times the rate of all cores' vectors, gates at 3.4 GHz."""
    graph = LARGE.cells(6).graph()
    costs = CellCosts(XEON, 1e15, 0.5, packing=False, flops=30e9, cycles=100.0)
    six, all_cores = (costs.seconds(graph, LARGE, 6, workers)[0] for workers in (6, 24))
    elements = 22 * 256 * 4
    clocks = XEON.clocks
    assert six == pytest.approx(
        graph.flops[0] / (30e9 * clocks.gain(6)) + 100 * elements / clocks.at(6, "scalar")
    )
    assert all_cores == pytest.approx(graph.flops[0] / 30e9 + 100 * elements / clocks.at(24, "scalar"))
    assert six < all_cores


def test_w_par_takes_what_its_gates_are_calibrated_on(numbers):
    assert numbers.batch_ms("lstm", 6, "wpar", (256, 256, 128, 100)) == pytest.approx(461.9, rel=3e-3)
    assert numbers.runs.costs.cycles > 0


def test_two_sockets_by_hand():
    """A task that only waits takes half of its data from 144.3 instead of 90.2 ns; one that only computes, as long."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [], flops=[0, XEON.core_flops], bytes_B=[13e9, 0])
    seconds = CellCosts(XEON, 21e9, 0.5, packing=False).over_two_sockets(graph, LARGE, 48)
    assert seconds == pytest.approx([1 + 0.5 * (144.3 / 90.2 - 1), 1])


def test_keras_adds_up_kernels_by_hand():
    """On one core nothing forks: a batch is its ops' kernels, products slowed, and the framework's own time."""
    keras = Keras(XEON, (1,), fused=True, remote=0.5, batch_s=1e-3, op_s=1e-5, slower=3.0)
    setting = Setting("gru", 2, 64, 64, 32, 3)
    ops = counted(setting.ops(3, fused=True).graph())
    team, ideal = (Team(machine, 1) for machine in (XEON, replace(XEON, core_flops=inf)))
    expected = 1e-3 + 1e-5 * ops.total()
    for op, n in ops.items():
        expected += n * (kernel_s(op, ideal) + 3.0 * (kernel_s(op, team) - kernel_s(op, ideal)))
    assert keras.seconds(setting) == pytest.approx(expected)


def test_keras_counts_ops_of_many_steps_from_few():
    keras = Keras(XEON, CORES, fused=True, remote=0.5)
    for cell in ("lstm", "gru", "rnn"):
        setting = Setting(cell, 2, 64, 32, 8, 9)
        assert keras.work(setting).ops == counted(setting.ops(9, fused=True).graph()).total()


def test_more_cores_and_mini_batches_of_a_small_figure(numbers):
    case = {"cell": "lstm", "layers": 4, "batch": 24, "input": 64, "hidden": 64, "steps": 8}
    for parts, cores in ((1, 4), (2, 8), (6, 24)):
        one, all_of_them = (numbers.speedup("wpar", mini_batches=parts, cores=n, **case) for n in (1, cores))
        assert one < all_of_them <= cores
    seq = [numbers.speedup("seq", mini_batches=2, cores=n, **case) for n in (1, 2, 24, 48)]
    assert seq[0] < seq[1]
    assert seq[1:] == pytest.approx([seq[1]] * 3, rel=0.02)


def test_counts_of_table_6(numbers):
    case = {"cell": "lstm", "layers": 2, "batch": 12, "input": 8, "hidden": 16, "steps": 5}
    assert numbers.tasks(mini_batches=6, cores=48, **case) == 2 * 5 * 6 * 2
    busy_ms = numbers.core_ms(mini_batches=6, cores=48, **case)
    assert busy_ms == pytest.approx(numbers.task_ms(mini_batches=6, cores=48, **case) * 120 / 48)


def test_busy_shares_agree_with_the_schedule():
    run = WPar().schedule("wpar", mini_batches=1, cores=24, layers=2)
    assert run.gantt().get_xlabel().startswith("time")
    assert run.utilization < 2 / 24


def test_a_machine_without_sockets_is_refused():
    with pytest.raises(ss.SimschedError, match="generic: W-Par runs on two sockets"):
        ss.reproduce("wpar", machine="generic")


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        (
            {"machine": "xeon-8160x2[memory.modes.ddr.bandwidth=1]"},
            "Keras' reference would need a batch of -",
        ),
        (
            {"machine": "xeon-8160x2[memory.modes.ddr.core_bandwidth=0.01]", "packing": True},
            "passing its bytes alone takes",
        ),
    ],
)
def test_a_machine_on_which_the_reference_cannot_come_out_is_refused(choices, said):
    with pytest.raises(ss.SimschedError, match=said):
        ss.reproduce("wpar", tables=["Table 4"], **choices)


def test_statements_and_errors():
    """The bars of the page: all statements hold, times are within 30 % of the published ones."""
    made = ss.reproduce("wpar", tables=["Fig. 10, 11", "Table 6"])
    assert all(claim.holds for claim in made.claims)
    predicted = Numbers(WPar()).batch_ms
    times = [row for row in WPar.published().quantities[0].seen if row[3][1] == 256]
    errors = [predicted(*row[:3], row[3]) / float(row[-1]) - 1 for row in times]
    assert np.median(np.abs(errors)) < 0.1
    assert max(np.abs(errors)) < 0.3


def test_the_most_mini_batches_end_what_is_tried():
    tried = [Numbers(WPar(mini_batches=most)).tried for most in (1, 3, 8)]
    assert tried == [(1,), (1, 2, 3), (1, 2, 4, 6, 8)]
    assert all(few < many for few, many in pairwise(tried[2]))
