"""Every invariant of the design on random graphs, machines, layouts and policies."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.policies.runtime import SYSTEMS
from simsched.testing import check_bounds, check_cores, check_policy, check_precedence, check_work_conserving
from simsched.testing.strategies import graphs, machines

STATIC = [
    "sequential",
    "fifo",
    "fifo[order=lifo]",
    "fifo[order=random,placement=scatter]",
    "critical-path",
    "critical-path[placement=scatter]",
    "wavefront",
    "data-parallel",
]


@pytest.mark.parametrize("policy", STATIC)
def test_static_policies(policy, engine):
    check_policy(policy, work_conserving=True, examples=6, engine=engine)


@pytest.mark.parametrize(
    "policy",
    ["critical-path[small_s=0.5]", "critical-path[buffered=true,prefer=producer]", "tensorflow"],
)
def test_policies_with_shortcuts(policy, engine):
    """They are not work-conserving: a task waits for its executor beside idle ones."""
    check_policy(policy, examples=6, engine=engine)


@pytest.mark.parametrize(
    "policy",
    [
        "heft", "cpop", "peft", "lookahead", "mcp", "hlfet", "t-level", "dls", "etf", "min-min", "max-min", "sufferage",
        "random", "linear-clustering", "dsc", "dm", "dmda", "dmdas", "heteroprio", "mct", "met", "olb", "duplex", "gdl",
        "bil", "fcp", "flb", "wba", "hbmct", "dps", "fastest-node",
    ],
)  # fmt: skip
def test_planned_policies(policy, engine):
    """They are not work-conserving: a task waits for its executor beside idle ones."""
    check_policy(policy, examples=4, engine=engine)


@pytest.mark.parametrize(
    "policy",
    [
        "corun",
        "corun[candidates=1,interval=3]",
        "corun[per_kind=true,smt=true]",
        "corun[corun=false,smt=true]",
        "corun[fastest=false,corun=false]",
        "kind-widths",
        "cpa",
        "mcpa",
        "work-stealing",
        "lws",
    ],
)
def test_dynamic_policies(policy, engine):
    check_policy(policy, examples=6, engine=engine)


@pytest.mark.parametrize("system", SYSTEMS)
def test_queues_of_runtimes(system, engine):
    conserving = not SYSTEMS[system].single
    check_policy(f"runtime[system={system}]", work_conserving=conserving, examples=4, engine=engine)


class Greedy(ss.Policy):
    """A user's policy: every ready task on half of the idle cores."""

    name = "greedy"

    def decide(self, view):
        if view.ready:
            yield ss.Start(view.ready[-1], width=(len(view.idle_cores) + 1) // 2)


def test_a_users_policy_runs_through_the_suite(engine):
    check_policy(Greedy, examples=6, engine=engine)


class Lazy(ss.Policy):
    """One task at a time, on one core: leaves cores idle."""

    name = "lazy"

    def decide(self, view):
        if view.ready and not view.running:
            yield ss.Start(view.ready[0])


class Eager(ss.Policy):
    """As many ready tasks as there are idle cores, on one core each."""

    name = "eager"

    def decide(self, view):
        return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]


def test_a_dynamic_policy_idles_no_core_beside_a_ready_task():
    check_policy(Eager, work_conserving=True, examples=6)
    # Teams of two on three cores: what the third core does counts, not how many tasks run.
    wide = ss.simulate(ss.TaskGraph.from_edges([1.0, 1.0]), "generic[cores=3]", "kind-widths[other=2]")
    with pytest.raises(AssertionError, match=r"task 1 waits from 0\.0 to 1\.0 s beside idle cores"):
        check_work_conserving(wide)
    check_work_conserving(ss.simulate(wide.graph, "generic[cores=2]", "kind-widths[other=2]"))


def test_the_suite_catches_what_is_wrong():
    """Schedules broken on purpose: each check must fail."""
    graph = ss.TaskGraph.from_edges([1.0, 1.0, 1.0], [(0, 1)])
    good = ss.simulate(graph, "generic[cores=2]", "fifo")
    fields = dict(vars(good))
    fields.pop("tasks", None)
    early = ss.Schedule(**{**fields, "start_s": good.start_s - [0, 0.5, 0]})
    with pytest.raises(AssertionError, match="task 1 starts before it is ready"):
        check_precedence(early)
    crowded = ss.Schedule(**{**fields, "team": good.team * 0})
    with pytest.raises(AssertionError, match="core 0 runs tasks 0 and 2 at once"):
        check_cores(crowded)
    late = ss.Schedule(
        **{**fields, "start_s": good.start_s + [0, 5, 0], "finish_s": good.finish_s + [0, 5, 0]}
    )
    with pytest.raises(AssertionError, match="waits from"):
        check_work_conserving(late)


def test_a_short_task_after_a_long_wait_is_not_below_the_bound():
    """About 2 ns that begin at 0.5 s last a little less than they should, as 0.5 s is known to 1e-16 s."""
    runtime = ss.RuntimeProfile(pop_s=0.5)
    for seconds in np.linspace(1e-9, 3e-9, 50):
        graph = ss.TaskGraph.from_edges([seconds])
        check_bounds(ss.simulate(graph, "generic[cores=1]", "fifo", runtime=runtime))
    schedule = ss.simulate(graph, "generic[cores=1]", "fifo", runtime=runtime)
    fields = {key: value for key, value in vars(schedule).items() if key != "tasks"}
    with pytest.raises(AssertionError, match="below the bound"):
        check_bounds(ss.Schedule(**{**fields, "finish_s": schedule.start_s + 2e-9}))


@given(graphs(), machines(), st.integers(0, 5))
def test_no_policy_beats_the_bounds(graph, machine, seed):
    limits = ss.bounds(graph, machine, runtime=ss.RuntimeProfile())
    for policy in ("sequential", "fifo[order=random]", "critical-path", "corun", "wavefront", Lazy):
        makespan = ss.simulate(graph, machine, policy, runtime=ss.RuntimeProfile(), seed=seed).makespan_s
        assert makespan >= limits.bound_s * (1 - 1e-9)
