"""`layout="best"`: the shortest of a few replays, labelled so, and as short as all layouts together."""

from threading import current_thread, main_thread

import numpy as np
import pytest
from hypothesis import given, settings

import simsched as ss
from simsched.costs.fitting import MeasuredCurves, MeasuredOp, Op, Point
from simsched.errors import LayoutError
from simsched.hwmodels import machine_file
from simsched.policy import Layout
from simsched.replay.best_layout import IDLE, LIKELY, MOST_REPLAYS
from simsched.replay.layouts import shorter
from simsched.replay.parallel_map import LARGE, parallel_map
from simsched.replay.scenario import Scenario
from simsched.testing import strategies as ours


@pytest.mark.parametrize("policy", ["critical-path", "fifo", "sequential", "corun"])
@pytest.mark.parametrize("machine", ["epyc-9654x2", "knl-7250"])
def test_no_worse_than_the_estimate_and_than_every_full_layout(policy, machine):
    graph, target = ss.workload("transformer[layers=1]"), ss.machine(machine)
    best = ss.simulate(graph, target, policy, "best")
    assert best.inputs.layout_by == "replays"
    assert best.makespan_s <= ss.simulate(graph, target, policy).makespan_s
    every = [ss.simulate(graph, target, policy, layout) for layout in ss.policy(policy).layouts(target)]
    assert best.makespan_s <= 1.01 * min(schedule.makespan_s for schedule in every)


@pytest.mark.parametrize(
    ("machine", "policy"),
    [("generic[cores=8,link_Bps=1e9,data=sent]", "fifo"), ("sw26010", "critical-path")],
)
def test_no_worse_than_without_a_layout_where_estimates_are_rough(machine, policy):
    """Messages make one executor the shortest of all, which no estimate knows."""
    graph = ss.workload("lstm[size=small,steps=4]")
    best = ss.simulate(graph, machine, policy, "best")
    assert best.makespan_s <= ss.simulate(graph, machine, policy).makespan_s


@settings(max_examples=12)
@given(ours.graphs(max_tasks=10))
def test_on_a_small_machine_it_is_the_shortest_of_all(graph):
    """Five layouts of six cores, fewer than it may replay: none that could be shorter is left out."""
    best = ss.simulate(graph, "generic[cores=6]", "critical-path", "best")
    every = [ss.simulate(graph, "generic[cores=6]", "critical-path", layout) for layout in Layout.filling(6)]
    assert best.makespan_s <= min(schedule.makespan_s for schedule in every)


def test_layouts_beside_all_are_told_only_where_there_are_some():
    graph = ss.TaskGraph.from_edges([1.0] * 6)
    whys = {
        policy: ss.simulate(graph, "generic[cores=2]", policy, "best").inputs.layout_why
        for policy in ("critical-path", "sequential")
    }
    assert whys["critical-path"].startswith("the shortest of 1 replay;"), whys
    assert whys["sequential"] == "the shortest of 2 replays, of all 2 layouts", whys


def test_at_most_so_many_replays_and_each_reports_its_tasks():
    graph, finished = ss.workload("rnn"), []
    best = ss.simulate(graph, "knl-7250", "fifo", "best", progress=finished.append)
    replays, rest = divmod(sum(finished), graph.n_tasks)
    assert rest == 0
    assert 1 <= replays <= MOST_REPLAYS
    assert f"{replays} replays" in best.inputs.layout_why


@pytest.mark.parametrize("policy", ["critical-path", "fifo", "sequential", "corun"])
def test_teams_are_no_wider_than_tasks_can_use(policy):
    """Of serial tasks, members of wider teams have no work."""
    graph = ss.TaskGraph.from_edges([1e-3 * (1 + i % 3) for i in range(40)], [(i, i + 8) for i in range(32)])
    best = ss.simulate(graph, "epyc-7702", policy, "best")
    assert ss.Layout.parse(best.layout).width == 1
    every = [ss.simulate(graph, "epyc-7702", policy, one) for one in ss.policy(policy).layouts(best.machine)]
    assert best.makespan_s <= 1.0001 * min(schedule.makespan_s for schedule in every)


@pytest.mark.parametrize("machine", ["generic[cores=12]", "xeon-8160x2"])
def test_teams_are_as_wide_as_the_widest_task_can_use(machine):
    """Quartered by four threads, and no shorter by more of them, each alone."""
    op = MeasuredOp(Op("mine", "2x2"), tuple(Point(width, 1.0 / min(width, 4)) for width in (1, 2, 4, 48)))
    graph = ss.TaskGraph.from_edges([1.0] * 3, [(0, 1), (1, 2)], kinds="mine", shapes="2x2")
    best = ss.simulate(graph, machine, "sequential", "best", ss.CostModel(measured=MeasuredCurves((op,))))
    assert best.layout == "1x4"


def test_the_same_again():
    graph = ss.workload("rnn")
    first, second = (ss.simulate(graph, "knl-7250", "corun", "best") for _ in range(2))
    assert (first.layout, first.makespan_s) == (second.layout, second.makespan_s)


def test_policies_without_layouts():
    graph = ss.TaskGraph.from_edges([1.0], kinds="MatMul")
    assert ss.simulate(graph, "generic[cores=2]", "kind-widths", "best").inputs.layout_by == "estimate"

    class Own(ss.Policy):
        name = "own"

        def decide(self, view):
            return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]

    assert ss.simulate(graph, "generic[cores=2]", Own, "best").inputs.layout_by == ""


def test_no_such_word():
    with pytest.raises(LayoutError, match="'worst' is not a layout"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic", "fifo", "worst")


@pytest.mark.parametrize("policy", ["cpa", "kind-widths", "fifo"])
def test_policy_and_layout_of_a_row_repeat_its_replay(policy):
    """Where a policy has no layout its cell is empty, which was refused as a layout."""
    graph = ss.TaskGraph.from_edges([3.0, 5.0, 2.0], [(0, 1), (0, 2)], kinds=["MatMul", "Add", "MatMul"])
    row = ss.compare(graph, "generic[cores=4]", [policy], samples=1).iloc[0]
    again = ss.simulate(graph, "generic[cores=4]", row["policy"], row["layout"])
    assert (again.makespan_s, again.layout) == (row["makespan_s"], row["layout"])
    assert (row["layout"] == "") == (policy != "fifo")


def test_what_needs_a_layout_says_so() -> None:
    graph = ss.TaskGraph.from_edges([1.0, 2.0])
    with pytest.raises(LayoutError, match="'best' is for simulations only; write executors x cores here"):
        ss.tune(graph, "generic[cores=2]", "fifo", layouts=["best"])


def test_noise_that_shortens_tasks_cuts_no_search():
    """All tasks take a tenth of their estimates: shorter than every lower bound, so that these say nothing."""
    graph = ss.TaskGraph.from_edges([1.0] * 12, kinds="MatMul")
    short = ss.simulate(graph, "generic[cores=12]", "fifo", "best", factors=[0.1] * 12)
    assert int(short.inputs.layout_why.split(" replays")[0].split()[-1]) >= 5


def test_the_default_on_kinds_of_cores_is_found_by_replays():
    """One executor per core leaves long tasks to slow cores; estimates do not know that."""
    graph, machine = ss.workload("lstm[layers=2,steps=8,batch=64]"), "core-i7-1370p"
    found = ss.simulate(graph, machine, "fifo")
    assert found.inputs.layout_by == "replays"
    assert found.makespan_s <= ss.simulate(graph, machine, "fifo", layout="14x1").makespan_s


def branches() -> tuple[ss.TaskGraph, ss.CostModel]:
    """Return four tasks of 1 to 1/4 s between a first and a last one, all of 10 GB a second."""
    seconds = np.array([0.1, 1.0, 1 / 2, 1 / 3, 1 / 4, 0.1])
    edges = [(0, task) for task in range(1, 5)] + [(task, 5) for task in range(1, 5)]
    graph = ss.TaskGraph.from_edges(seconds, edges, kinds="mine", bytes_B=1e10 * seconds)
    return graph, ss.CostModel({"mine": ss.Curve(0.02, thread_overhead=0.1)})


def test_without_a_layout_cores_stay_idle_where_that_is_shorter(engine):
    """The second one of three teams of 8 would have cores of both sockets of 12."""
    graph, costs = branches()
    machine = "xeon-8160x2[cores=24]"
    found = ss.simulate(graph, machine, "critical-path", costs=costs, engine=engine)
    full = ss.simulate(graph, machine, "critical-path", "3x8", costs, engine=engine)
    assert (found.layout, found.inputs.layout_by) == ("2x8", "replays")
    assert found.makespan_s < 0.9 * full.makespan_s
    assert "of 3x8, found by an estimate, and 2x8, which leaves more cores idle" in found.inputs.layout_why
    scenario = Scenario.of(machine, None, costs, engine=engine)
    assert str(scenario.layout_of(graph, "critical-path")) == "2x8"


def test_of_equal_replays_the_one_that_fills_the_machine_is_taken():
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 0.5])
    full, idle, short = (
        ss.simulate(graph, "generic[cores=4]", "fifo", layout) for layout in ("4x1", "3x1", "2x1")
    )
    assert shorter(full, idle).layout == "4x1"
    assert shorter(full, short).layout == "4x1"
    assert shorter(short, idle).layout == "3x1"


def chain_and_streams() -> tuple[ss.TaskGraph, str, ss.CostModel]:
    """Return a chain of four tasks that wait for memory half the time, and two that do all the time; 1 s each."""
    graph = ss.TaskGraph.from_edges(
        [1.0] * 6, [(0, 1), (1, 2), (2, 3)], kinds="mine", bytes_B=[5e9] * 4 + [1e10] * 2
    )
    shared = "core_bandwidth_Bps=1e10,bandwidth_Bps=1e10,contention=false,share_bandwidth=true"
    return graph, f"generic[cores=16,{shared}]", ss.CostModel({"mine": ss.Curve(0.0, thread_overhead=1.0)})


def test_fewer_executors_than_run_tasks_are_tried(engine):
    """Three of eight executors run tasks: 7 and 4 are as long, and with 2 the chain shares bandwidth with one task."""
    graph, machine, costs = chain_and_streams()
    full, fewer = (ss.simulate(graph, machine, "critical-path", layout, costs) for layout in ("8x2", "2x2"))
    assert fewer.makespan_s < 0.99 * full.makespan_s
    best = ss.simulate(graph, machine, "critical-path", "best", costs, engine=engine)
    assert best.makespan_s <= fewer.makespan_s


def test_fewer_executors_are_tried_where_estimates_only_order_the_layouts():
    graph, machine, costs = chain_and_streams()
    machine, finished = machine.replace("generic[cores=16", "sw26010[cores=65"), []
    found = ss.simulate(graph, machine, "critical-path", costs=costs, progress=finished.append)
    full = [
        ss.simulate(graph, machine, "critical-path", layout, costs).makespan_s
        for layout in ss.policy("critical-path").layouts(ss.machine(machine))
    ]
    assert found.makespan_s < 0.99 * min(full)
    assert sum(finished) <= (LIKELY + 1 + IDLE) * graph.n_tasks


def test_planned_policies_have_all_executors():
    """Their plans leave executors idle; of two of three cores that they cannot see they would make a shorter one."""
    seconds = [[4.0, 3.0, 3.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0], [4.0, 3.0, 4.0], [3.0, 3.0, 4.0]]
    graph = ss.TaskGraph.from_edges(seconds, [(0, 4), (1, 3), (2, 3)], edge_bytes=[2.0, 0.0, 1.0])
    machine = "generic[cores=3,kinds=each,link_Bps=1.0,data=sent]"
    three, two, best = (ss.simulate(graph, machine, "olb", layout) for layout in ("3x1", "2x1", "best"))
    assert (three.makespan_s, two.makespan_s, str(best.layout)) == (9.0, 7.0, "3x1")


@pytest.mark.parametrize("layout", [None, "best"])
def test_devices_are_left_idle_where_that_is_shorter(layout, tmp_path, engine):
    """With both devices the second and third task run there for 2 s, and the last one on the processor, 1 + 10 s.

    With one of them the third task, of 2 s, is next on the processor, and the last one for 1 s on the device: 3 s.
    """
    text = machine_file("grace-hopper").read_text("utf-8").replace("value = 73,", "value = 3,")
    (tmp_path / "two.toml").write_text(text.replace("[72, 1]", "[1, 2]"), "utf-8")
    graph = ss.TaskGraph.from_edges([[1.0, 1.0], [12.0, 2.0], [2.0, 2.0], [10.0, 1.0]], kinds="mine")
    machine = ss.machine(tmp_path / "two.toml")
    both, found = (
        ss.simulate(graph, machine, "fifo", one, runtime=ss.RuntimeProfile(), engine=engine)
        for one in ("1x1+2", layout)
    )
    assert (both.makespan_s, found.makespan_s, found.layout) == (11.0, 3.0, "1x1+1")


def test_layouts_without_room_leave_the_search_to_those_with_room():
    """What no layout with the GPU has room for ran on one core, without a word: longer by 2.5."""
    graph = ss.TaskGraph.from_edges(
        [[1.0, 1e-3]] * 5, [(task, 4) for task in range(4)], edge_bytes=[30e9] * 4
    )
    schedule = ss.simulate(graph, "grace-hopper", "heft", memory_limit="spill")
    assert schedule.makespan_s == pytest.approx(2.0, rel=1e-6)
    assert [note for note in schedule.notes if note.startswith("no room in ") and "GPU" in note]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("fifo", ["fifo does not look at kinds of cores"]),
        ("lws", ["lws ran no task on a device"]),
        ("heft", []),
        ("heteroprio", []),
    ],
)
def test_policies_that_may_leave_devices_idle_say_so(policy, said):
    notes = ss.simulate(ss.TaskGraph.from_edges([[1.0, 1e-3]]), "grace-hopper", policy).notes
    assert [note.split(";")[0] for note in notes if "heft and dmda" in note] == said


@pytest.mark.parametrize("policy", ["dm", "dmda", "dmdas", "heteroprio"])
def test_policies_that_choose_kinds_are_given_layouts_with_the_device(policy):
    chain = ss.TaskGraph.from_edges([[1e-3, 1.0], [1.0, 1e-3], [1e-3, 1.0]], [(0, 1), (1, 2)])
    assert ss.simulate(chain, "grace-hopper", policy).makespan_s == pytest.approx(3e-3, rel=1e-3)


@pytest.mark.parametrize(("n_tasks", "here"), [(LARGE - 1, True), (LARGE, False)])
def test_large_graphs_are_replayed_in_threads_and_small_ones_here(n_tasks, here):
    found = parallel_map(lambda item: (item, current_thread() is main_thread()), range(3), n_tasks)
    assert found == [(0, here), (1, here), (2, here)]
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda item: 1 // item, range(3), n_tasks)
