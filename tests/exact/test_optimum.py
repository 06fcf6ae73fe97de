"""Optima by hand, by brute force, and beside what policies reach."""

import itertools
import sys

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import LayoutError, MissingExtraError, SimschedError
from simsched.exact.placing import list_order, placed
from simsched.testing import check_cores, check_precedence
from simsched.testing.strategies import graphs, machines, runtimes

POLICIES = [
    "sequential",
    "fifo",
    "fifo[order=random]",
    "critical-path",
    "wavefront",
    "corun",
    "data-parallel",
]
#: 1/w of the seconds, and a share that no team divides.
COSTS = ss.CostModel(default=ss.Curve(0.2), curves={"MatMul": ss.Curve(0.0)})


def shortest(graph, options, capacity):
    """Return the optimal makespan: the best list schedule over all orders and widths."""
    best = np.inf
    for order in itertools.permutations(range(graph.n_tasks)):
        for widths in itertools.product(*options):
            best = min(best, list_makespan(graph, order, widths, capacity))
    return best


def list_makespan(graph, order, widths, capacity):
    """Return the makespan when tasks start in `order`, each as early as its predecessors and cores allow."""
    finish, free = {}, [0.0] * capacity
    for task in order:
        before = graph.predecessors.neighbours(task).tolist()
        if any(p not in finish for p in before):
            return np.inf
        width, seconds = widths[task]
        free.sort()
        start = max([free[width - 1], *(finish[p] for p in before)])
        finish[task] = start + seconds
        free[:width] = [finish[task]] * width
    return max(finish.values(), default=0.0)


def test_lists_that_put_the_longest_first_are_not_optimal():
    """3 and 3 beside 2, 2 and 2: 6 s; the longest first takes 7 s."""
    graph = ss.TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0])
    found = ss.optimum(graph, "generic[cores=2]", "2x1")
    assert (found.status, found.makespan_s, found.bound_s, found.gap, found.exact) == (
        "optimal",
        6,
        6,
        0,
        True,
    )
    assert ss.simulate(graph, "generic[cores=2]", "critical-path", "2x1").makespan_s == 7


def test_moldable_tasks_by_hand():
    """4 s that divide, and two of 2 s behind them that do not, on 2 cores: wide first, then side by side, 2 + 2 s.

    On executors of one core it takes 4 + 2 s, on one of two cores 2 + 2 + 2 s.
    """
    graph = ss.TaskGraph.from_edges([4.0, 2.0, 2.0], [(0, 1), (0, 2)], kinds=["wide", "one", "one"])
    costs = ss.CostModel(curves={"wide": ss.Curve(0.0), "one": ss.Curve(1.0)})
    found = [ss.optimum(graph, "generic[cores=2]", layout, costs) for layout in (None, "2x1", "1x2")]
    assert [(one.makespan_s, one.status) for one in found] == [(4, "optimal"), (6, "optimal"), (6, "optimal")]
    assert found[0].schedule.widths.tolist() == [2, 1, 1]


@settings(max_examples=15, deadline=None)
@given(graphs(max_tasks=5), st.integers(1, 3))
def test_rigid_optima_are_those_of_brute_force(graph, cores):
    machine = f"generic[cores={cores}]"
    costs = ss.CostModel(default=ss.Curve(1.0), curves=dict.fromkeys(graph.kinds.labels, ss.Curve(1.0)))
    found = ss.optimum(graph, machine, (cores, 1), costs)
    best = shortest(graph, [[(1, seconds)] for seconds in graph.durations_s.tolist()], cores)
    assert found.status == "optimal"
    assert found.makespan_s == pytest.approx(best, rel=1e-6)
    assert found.bound_s <= best * (1 + 1e-12)


@settings(max_examples=10, deadline=None)
@given(graphs(max_tasks=4), st.integers(1, 3))
def test_moldable_optima_are_those_of_brute_force(graph, cores):
    machine = ss.machine(f"generic[cores={cores}]")
    found, on = ss.optimum(graph, machine, costs=COSTS), COSTS.on(graph, machine)
    options = [
        [(width, on.seconds_of(task, width)) for width in range(1, cores + 1)]
        for task in range(graph.n_tasks)
    ]
    best = shortest(graph, options, cores)
    assert found.makespan_s == pytest.approx(best, rel=1e-6)
    assert found.bound_s <= best * (1 + 1e-12)


@settings(max_examples=15, deadline=None)
@given(graphs(max_tasks=10), machines(max_cores=6), runtimes(), st.integers(0, 3))
def test_bounds_optimum_and_policies_in_this_order(graph, machine, runtime, seed):
    """Whatever tasks share and decisions cost: bounds <= proven <= found, and no policy is below what is proven."""
    found = ss.optimum(graph, machine, runtime=runtime, limit_s=0.5)
    check_precedence(found.schedule)
    check_cores(found.schedule)
    quick, thorough = (ss.bounds(graph, machine, runtime=runtime, thorough=t) for t in (False, True))
    assert quick.bound_s <= thorough.bound_s <= found.bound_s * (1 + 1e-9) <= found.makespan_s * (1 + 2e-9)
    for policy in POLICIES:
        schedule = ss.simulate(graph, machine, policy, runtime=runtime, seed=seed)
        # A nanosecond that begins after half a second is known to the last digit of half a second.
        rounding_s = np.spacing(schedule.finish_s.max(initial=0.0))
        assert schedule.makespan_s >= found.bound_s * (1 - 1e-9) - rounding_s


@settings(max_examples=10, deadline=None)
@given(graphs(max_tasks=8), st.integers(1, 3), st.integers(1, 3))
def test_policies_on_a_layout_beside_its_optimum(graph, executors, width):
    machine = f"generic[cores={executors * width}]"
    found = ss.optimum(graph, machine, (executors, width), limit_s=0.5)
    check_cores(found.schedule)
    assert (
        found.bound_s >= ss.optimum(graph, machine, limit_s=0.5).bound_s * (1 - 1e-9)
        or found.status != "optimal"
    )
    for policy in ("fifo", "critical-path", "wavefront"):
        makespan = ss.simulate(graph, machine, policy, (executors, width)).makespan_s
        assert makespan >= found.bound_s * (1 - 1e-9)


def test_a_search_without_time_still_has_a_schedule_and_a_bound():
    generator = np.random.default_rng(0)
    edges = np.argwhere(np.triu(generator.random((60, 60)) < 0.1, 1))
    graph = ss.TaskGraph.from_edges(generator.random(60), edges)
    found = ss.optimum(graph, "generic[cores=7]", "7x1", limit_s=1e-6)
    limits = ss.bounds(graph, "generic[cores=7]", thorough=True)
    assert limits.bound_s * (1 - 1e-9) <= found.bound_s <= found.makespan_s
    assert found.makespan_s <= ss.simulate(graph, "generic[cores=7]", "critical-path").makespan_s * 2


def test_the_first_schedule_is_the_best_of_several_widths():
    """Four tasks of 1 s, a fifth of it serial, on 8 cores: pairs of cores take 0.6 s, single ones 1, all 4 x 0.3."""
    graph = ss.TaskGraph.from_edges([1.0] * 4)
    found = ss.optimum(graph, "generic[cores=8]", costs=COSTS, limit_s=1e-9)
    assert found.makespan_s == pytest.approx(0.6)
    assert found.schedule.tasks["width"].tolist() == [2] * 4


def test_same_inputs_same_bits():
    graph = ss.TaskGraph.from_edges(
        np.random.default_rng(1).random(20), [(i, i + 5) for i in range(15)], kinds="MatMul"
    )
    one, two = (ss.optimum(graph, "generic[cores=4]", seed=3) for _ in range(2))
    assert one.schedule.tasks.equals(two.schedule.tasks)
    assert one.bound_s == two.bound_s


@pytest.mark.parametrize("mode", ["sent", "read"])
def test_it_says_that_moves_of_data_are_left_out(mode):
    """1 s, then 2 s on each core: 3 s, though the object of 4 B takes 2 s to core 1."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=4)
    found = ss.optimum(graph, f"generic[cores=2,link_Bps=2,data={mode}]")
    assert found.makespan_s == 3
    assert any(note.startswith(f"left out: moves of data ([data={mode}])") for note in found.notes)
    assert ss.optimum(graph, "generic[cores=2]").notes == ()


def test_it_is_a_schedule_like_any_other():
    graph = ss.TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0], [(0, 3)], names=["<b>", "b", "c", "d", "e"])
    found = ss.optimum(graph, "knl-7250[cores=4]", costs=ss.CostModel(noise=0.1))
    schedule = found.schedule
    assert schedule.layout == ""
    assert (schedule.policy, schedule.engine) == ("optimum", "cp-sat")
    assert schedule.explain(3).depends_on == 0
    assert schedule.explain().core_time["core_s"].sum() == pytest.approx(4 * schedule.makespan_s)
    assert schedule.gantt().get_xlabel()
    assert [note.split(":")[0] for note in found.notes] == ["left out"] * 3
    assert "share_bandwidth" in found.notes[0]
    assert "dispatch_s" in found.notes[1]
    assert "noise" in found.notes[2]
    assert "optimal" in found._repr_html_()
    assert ss.optimum(graph, "generic[cores=4]").notes == ()


def test_seconds_that_share_no_unit_are_cut_off_and_the_bound_holds():
    graph = ss.TaskGraph.from_edges([1 / 3, np.pi, np.e, 1e-9, 0.1])
    found = ss.optimum(graph, "generic[cores=2]", "2x1")
    best = min(max(np.pi + b, np.e + 1 / 3 + 1e-9 + 0.1 - b) for b in (0, 0.1, 1 / 3, 1e-9))
    assert not found.exact
    assert found.status == "optimal"
    assert found.makespan_s == pytest.approx(best, rel=1e-9)
    assert found.bound_s <= best


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": "3x1"}, LayoutError, "needs 3 cores"),
        ({"layout": "x"}, LayoutError, "not a layout"),
        ({"limit_s": 0.0}, SimschedError, "limit_s is 0.0"),
        ({"seed": -1}, SimschedError, "seed is -1"),
        ({"limit_s": float("nan")}, SimschedError, "limit_s is nan"),
    ],
)
def test_what_cannot_be_searched(options, error, message):
    with pytest.raises(error, match=message):
        ss.optimum(ss.TaskGraph.from_edges([1.0]), "generic[cores=2]", **options)


def test_a_graph_too_large():
    graph = ss.TaskGraph.from_edges(np.ones(100_001))
    with pytest.raises(SimschedError, match="100001 tasks with up to 100001 widths"):
        ss.optimum(graph, "generic[cores=2]", "2x1")


def test_without_ortools(monkeypatch):
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'simsched\[optimum\]'"):
        ss.optimum(ss.TaskGraph.from_edges([1.0]), "generic[cores=2]")


def test_a_task_of_no_length_waits_for_one_of_nearly_none():
    """Starts count in units of the search, of which these are billions: 1 ns added to them as seconds would vanish."""
    graph = ss.TaskGraph.from_edges([0.0, 0.1, 1e-9, 0.0], [(0, 2), (0, 3), (2, 3)])
    found = ss.optimum(graph, "generic[cores=1]")
    check_precedence(found.schedule)
    assert found.makespan_s == pytest.approx(0.1 + 1e-9, rel=1e-12)


def test_the_first_schedule_takes_the_highest_level_first():
    """Two cores: 2 and 3 lead to the longest chains and start, then 4 behind 3; 1, of no length, takes no core."""
    graph = ss.TaskGraph.from_edges([1.0, 0.0, 3.0, 1.0, 4.0], [(3, 4)])
    one = np.ones(5, np.int64)
    order = list_order(graph, graph.levels(graph.durations_s), one, graph.durations_s, 2)
    assert order.tolist() == [3, 2, 4, 0, 1]
    wide = list_order(graph, graph.levels(graph.durations_s), np.array([1, 1, 1, 1, 2]), graph.durations_s, 2)
    assert wide.tolist() == [3, 2, 4, 0, 1], "the wide one waits for both cores, and lets none pass"


@settings(max_examples=15, deadline=None)
@given(graphs(max_tasks=30), st.integers(1, 4))
def test_the_first_schedule_is_within_grahams_bound(graph, cores):
    costs = ss.CostModel(default=ss.Curve(1.0), curves=dict.fromkeys(graph.kinds.labels, ss.Curve(1.0)))
    seconds = costs.on(graph, ss.machine(f"generic[cores={cores}]")).seconds(1)
    widths = np.ones(graph.n_tasks, np.int64)
    order = list_order(graph, graph.levels(seconds), widths, seconds, cores)
    assert sorted(order.tolist()) == list(range(graph.n_tasks))
    longest, area = graph.levels(seconds).max(initial=0.0), seconds.sum() / cores
    assert placed(graph, order, widths, seconds, cores).length <= (area + longest * (1 - 1 / cores)) * (
        1 + 1e-9
    )


def test_any_seed_will_do():
    graph = ss.TaskGraph.from_edges([3.0, 3.0, 2.0, 2.0, 2.0])
    assert ss.optimum(graph, "generic[cores=2]", "2x1", seed=1 << 40).makespan_s == 6
