"""CP-SAT's plan on executors of several kinds with messages: all plans tried one by one, and never longer than HEFT."""

from __future__ import annotations

import re
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.errors import PolicyError, SpecError

from .planned import TOPCUOGLU, makespan, platform_of, replayed
from .test_planners import platforms


def shortest(platform):
    """Return the shortest makespan of all orders and executors."""
    n, p = platform.successors.n, platform.n_executors
    edges = list(
        zip(platform.successors.sources().tolist(), platform.successors.indices.tolist(), strict=True)
    )
    orders = [
        order for order in permutations(range(n)) if all(order.index(i) < order.index(j) for i, j in edges)
    ]
    plans = (
        ss.Assignment(np.array(on, np.int32), np.array(order, np.int32))
        for on in product(range(p), repeat=n)
        for order in orders
    )
    return min(max(replayed(platform, plan)[1]) for plan in plans)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_no_plan_is_shorter(seed):
    rng = np.random.default_rng(seed)
    edges = [(i, j, int(rng.integers(0, 6))) for i in range(4) for j in range(i + 1, 4) if rng.random() < 0.5]
    platform = platform_of(rng.integers(0, 6, (4, 2)), edges)
    assert makespan(platform, ss.policy("optimal")) == shortest(platform)


@settings(max_examples=8, deadline=None)
@given(platforms())
def test_never_longer_than_heft(platform):
    """With ties, tasks that take no time, shared places and messages of any kind."""
    found = ss.policy("optimal[effort=0.2]").plan(platform, 0)
    ends = max(replayed(platform, found)[1], default=0.0)
    assert ends <= max(replayed(platform, ss.policy("heft").plan(platform, 0))[1], default=0.0)


def test_the_graph_of_heft(engine):
    """Topcuoglu, Hariri, Wu's ten tasks: HEFT takes 80 s; no schedule is shorter than the plan, which is proven."""
    seconds, edges = TOPCUOGLU
    graph = ss.TaskGraph.from_edges(
        np.array(seconds, np.float64),
        [edge[:2] for edge in edges],
        edge_bytes=[float(edge[2]) for edge in edges],
    )
    machine = "generic[cores=3,kinds=each,link_Bps=1.0,data=sent]"
    schedule = ss.simulate(graph, machine, "optimal[effort=20.0]", engine=engine)
    assert schedule.makespan_s == 73
    assert ss.bounds(graph, machine).critical_path_s == 41  # HEFT's schedule length ratio is 80 / 41
    assert not any("not proven" in note for note in schedule.notes)


def test_a_search_that_ends_before_its_proof_says_so(engine):
    rng = np.random.default_rng(0)
    seconds = (rng.integers(1, 50, 60) + rng.random(60)).tolist()
    graph = ss.TaskGraph.from_edges(seconds, [(i, i + 2) for i in range(0, 58, 3)])
    machine, policy = "generic[cores=6]", "optimal[effort=0.05]"
    schedule = ss.simulate(graph, machine, policy, "6x1", engine=engine)
    (note,) = (note for note in schedule.notes if note.startswith("optimal: not proven"))
    (least_s,) = re.findall(r"at least ([0-9.]+) s", note)
    assert sum(seconds) / 6 <= float(least_s) * (1 + 1e-5) <= schedule.makespan_s * (1 + 1e-5)
    assert note in ss.compare(graph, machine, [policy], "6x1").notes


@pytest.mark.parametrize(
    ("ways", "said"),
    [
        ("data=read", "a task reads them one after another"),
        ("data=read,route=host", "a task reads them one after another"),
        ("data=sent,share_links=true", "they share links"),
        ("data=sent", ""),
    ],
)
def test_objects_that_move_otherwise_than_planned_are_noted(ways, said):
    """Once it took reads to go by the host, too, so that the cores of a task's data seemed no better than others."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[5.0, 5.0])
    machine = ss.machine(f"generic[cores=2,link_Bps=1,{ways}]")
    schedules = [ss.simulate(graph, machine, policy, layout="2x1") for policy in ("optimal", "heft")]
    assert [one.makespan_s for one in schedules] == [3.0, 3.0]
    noted = ["plans as if objects moved side by side" in " ".join(one.notes) for one in schedules]
    assert noted == [bool(said), said.startswith("a task")]
    assert said in " ".join(schedules[0].notes)


def test_large_graphs_are_refused():
    platform = platform_of(np.ones((2, 1)).repeat(60_000, axis=0), [], processors=2)
    with pytest.raises(PolicyError, match="240000 cases, a plan is searched for up to 200000"):
        ss.policy("optimal").plan(platform, 0)


def test_a_comparison_keeps_the_rows_of_others(monkeypatch):
    """Names that do not exist stop it all the same, and so does a policy that refuses alone."""
    monkeypatch.setattr("simsched.exact.assigning.MOST_CASES", 3)
    graph, machine = ss.TaskGraph.from_edges([1.0, 1.0]), "generic[cores=2]"
    found = ss.compare(graph, machine, ["optimal", "fifo"], layout="2x1", samples=1)
    assert found["policy"].tolist() == ["fifo"]
    assert found.notes[0].startswith("left out, as it refuses: optimal: 2 tasks on 2 executors are 4 cases")
    for policies, error in (["optimal"], PolicyError), (["optmal", "fifo"], SpecError):
        with pytest.raises(error):
            ss.compare(graph, machine, policies, layout="2x1", samples=1)


@pytest.mark.parametrize("beyond", [1e4, 1e9, 1e300])
def test_what_takes_far_longer_is_in_no_plan(beyond):
    """Core 0 runs 0 until 2, core 1 runs 1 until 3, when the byte for 2 is there, and 2 until 4."""
    graph = ss.TaskGraph.from_edges([[2.0, beyond], [1.0, 3.0], [3.0, 1.0]], [(0, 2)], edge_bytes=[1.0])
    machine = "generic[cores=2,kinds=each,link_Bps=1.0,data=sent]"
    found = ss.compare(graph, machine, ["heft", "optimal"], layout="2x1", samples=1)
    assert found["makespan_s"].tolist()[1] == 4
    graph = ss.TaskGraph.from_edges([1 / beyond] * 3, [(0, 1), (0, 2)], edge_bytes=[1.0, beyond])
    schedule = ss.simulate(graph, "generic[cores=2,link_Bps=1.0,data=sent]", "optimal")
    assert schedule.makespan_s == pytest.approx(3 / beyond)


def test_effort_is_some_time():
    with pytest.raises(SpecError, match="more than 0"):
        ss.policy("optimal[effort=0.0]")
