"""Both engines on the same random cases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import HealthCheck, assume, given, seed as seeded, settings, strategies as st

from simsched.costs import CostModel, Curve
from simsched.errors import EngineError
from simsched.machine import RuntimeProfile
from simsched.plugins import registered
from simsched.policy import (
    CandidateRule,
    Policy,
    Problem,
    RankPolicy,
    Shortcuts,
    Start,
    View,
    policy as policy_of,
)
from simsched.policy.policy import Discipline
from simsched.replay import simulate
from simsched.schedule import Schedule
from simsched.spec import Engine
from simsched.testing import strategies as ours

COLUMNS = ("ready_s", "start_s", "finish_s", "team", "executor", "start_order", "alone_s")

NOISES: tuple[float | str, ...] = (
    0.0,
    0.0,
    0.3,
    "lognormal[sigma=2]",
    "stragglers[share=0.2,factor=4]",
    "stragglers[share=0.5,factor=0.1,sigma=0.3]",
)
#: Limits of memory that decide when tasks start, and none.
LIMITS = ("note", "wait", "spill")
#: Policies with tasks that run past the queue; random graphs have tasks of up to 10 s.
SHORTCUTS = (
    "critical-path[small_s=0.5]",
    "critical-path[small_s=1.5,reserved=1,pinned=false,oversubscribe=true]",
    "critical-path[buffered=true]",
    "critical-path[small_s=0.5,reserved=2,buffered=true,prefer=producer,oversubscribe=true]",
    "critical-path[small_s=100,reserved=1,oversubscribe=true]",
    "fifo[small_s=1.5]",
    "fifo[order=lifo,small_s=0.5,prefer=producer]",
    "fifo[order=random,small_s=100,pinned=false,oversubscribe=true]",
    "tensorflow[pool=1]",
    "tensorflow[pool=5,prefer=producer]",
    "tensorflow[pinned=true,oversubscribe=false]",
)

#: Policies that push tasks to queues of executors when they become ready.
PUSHED = (
    "dm",
    "dmda",
    "dmda[alpha=0.5,beta=3.0]",
    "dmdas",
    "hlfet[online=true]",
    "t-level[online=true]",
    "mcp[online=true]",
    "etf[online=true]",
    "dls[online=true]",
)


class Pooled(RankPolicy):
    """Every other task on a pool of three single threads, under every discipline of the policies above."""

    name = "pooled"
    queue = "shared"

    def rank(self, problem: Problem) -> npt.ArrayLike:
        """Return the reverse of the index."""
        return -np.arange(problem.graph.n_tasks)

    def shortcuts(self, problem: Problem) -> Shortcuts:
        """Return the pool, in addition to small tasks inline and buffers."""
        tasks = np.arange(problem.graph.n_tasks)
        singles = np.arange(3, dtype=np.int32) % problem.machine.n_threads
        return Shortcuts(
            single_threaded=tasks % 2 == 0, inline=tasks % 3 == 0, threads=singles, buffered=True
        )


class PooledLifo(Pooled):
    """`Pooled`, last come, first served, and not pinned."""

    name = "pooled-lifo"

    @property
    def discipline(self) -> Discipline:
        """Return last come, first served."""
        return "lifo"


class LastFirst(CandidateRule):
    """A rule that decides differently from the one in both engines."""

    queue = "shared"

    def decide(self, view: View) -> Iterable[Start]:
        """Return the last ready task, on one core."""
        if view.ready and view.idle_cores:
            yield Start(view.ready[-1])


class OtherRule(Policy):
    """A policy that prepares `LastFirst`."""

    name = "other-rule"
    queue = "shared"

    def prepared(self, problem: Problem) -> Policy:
        """Return the rule."""
        one = np.ones((problem.graph.n_tasks, 1), np.int32)
        return LastFirst(one, problem.costs.seconds(1)[:, None], max_running=1)


class Misjudging(Policy):
    """The rule of both engines, with estimates that differ from the costs."""

    name = "misjudging"

    def prepared(self, problem: Problem) -> Policy:
        """Return the rule, by which all tasks take as long on half of the threads as on one."""
        n, threads = problem.graph.n_tasks, problem.machine.n_threads
        widths = np.tile(np.array([(threads + 1) // 2, 1], np.int32), (n, 1))
        mean_s = float(problem.costs.seconds(1).mean()) if n else 0.0
        return CandidateRule(widths, np.full((n, 2), mean_s), max_running=threads)


class HalfOfTheIdle(Policy):
    """A policy in Python: the last ready task on half of the idle cores."""

    name = "half-of-the-idle"

    def decide(self, view: View) -> Iterable[Start]:
        """Return one start."""
        if view.ready:
            yield Start(view.ready[-1], width=(len(view.idle_cores) + 1) // 2)


def policies() -> st.SearchStrategy[Policy]:
    """All registered policies, with parameters of the built-in ones, and one in Python."""
    variants = [
        "fifo[order=lifo]",
        "fifo[order=random,placement=scatter]",
        "critical-path[placement=scatter]",
        "critical-path[placement=dense,prefer=producer]",
        "critical-path[pinned=false]",
        "data-parallel[prefer=lowest]",
        "data-parallel[pinned=false,oversubscribe=true]",
        "wavefront[pinned=false,oversubscribe=true,prefer=producer]",
        "fifo[oversubscribe=true]",
        "data-parallel[oversubscribe=true,prefer=producer,placement=dense]",
        *SHORTCUTS,
        "corun[candidates=1,interval=3]",
        "corun[candidates=5,interval=1]",
        "corun[per_kind=true]",
        "corun[corun=false]",
        "corun[fastest=false,interval=1]",
        "corun[fastest=false,corun=false]",
        "corun[fastest=false,per_kind=true,candidates=50]",
        "corun[per_kind=true,corun=false,smt=true]",
        "corun[per_kind=true,smt=true,interval=1]",
        "corun[smt=true]",
        "corun[fill=true,interval=1]",
        "corun[fill=true,fastest=false,smt=true]",
        "corun[per_kind=true,fill=true,smt=true]",
    ]
    ours = [HalfOfTheIdle(), Misjudging(), OtherRule(), Pooled(), PooledLifo(pinned=False)]
    named = [policy_of(name) for name in [*registered("policies"), *variants]]
    # Classics have tests of their own on both engines, but for this one, which aborts running tasks.
    aborting = [policy_of("heteroprio"), policy_of("heteroprio[pinned=false]")]
    return st.sampled_from([*(one for one in named if not one.family), *ours, *aborting])


@st.composite
def cases(
    draw: st.DrawFn, limits: tuple[str, ...] = ("note",), of: st.SearchStrategy[Policy] | None = None
) -> dict[str, object]:
    """Arguments of `simulate`: ties, zero durations, one core and more, noise, software costs, data that move.

    Parameters
    ----------
    limits : tuple of str
        Limits of memory: with some, places can be too small.
    of : strategy of Policy, optional
        The policies; many when not given.
    """
    policy = draw(policies() if of is None else of)
    machine = draw(ours.machines_for(policy)).varied(draw(ours.ways_of_data()))
    machine = draw(ours.with_pairs(machine))
    assume(machine.n_cores > getattr(policy, "reserved", 0))
    layout = draw(ours.layouts_for(policy, machine))
    if layout and machine.kinds is None and isinstance(policy, RankPolicy) and policy.oversubscribe:
        layout = type(layout)(layout.executors * draw(st.integers(1, 3)), layout.width)
    graph = draw(ours.graphs(widths=4))
    if machine.kinds is not None:
        able = ours.kinds_for(policy, machine, layout)
        graph = draw(ours.by_kind(graph, len(machine.kinds.names), able))
    if policy.name == "kind-widths":
        width = st.integers(1, machine.n_threads)
        widths = ";".join(f"{kind}:{draw(width)}" for kind in graph.kinds.labels)
        policy = policy_of(f"kind-widths[widths={widths}]") if widths else policy
    return {
        "graph": graph,
        "machine": machine,
        "policy": policy,
        "layout": layout,
        "costs": CostModel(
            noise=draw(st.sampled_from(NOISES)),
            default=Curve(draw(st.sampled_from([1.0, 0.1])), draw(st.sampled_from([0.0, 0.01]))),
        ),
        "runtime": draw(st.one_of(st.just(RuntimeProfile()), ours.runtimes())),
        "seed": draw(st.integers(0, 3)),
        "memory_limit": draw(st.sampled_from(limits)),
    }


def check_engines(examples: int = 100, seed: int | None = None) -> None:
    """Replay random cases on both engines and compare every column to the bit.

    Parameters
    ----------
    examples : int
        Random cases.
    seed : int, optional
        Seed of the cases; chosen by Hypothesis when not given.

    Raises
    ------
    AssertionError
        If the schedules differ; Hypothesis prints the smallest case it found.

    Examples
    --------
    >>> from simsched.testing import check_engines
    >>> check_engines(examples=1, seed=0)
    """

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases(LIMITS, st.one_of(policies(), st.sampled_from(PUSHED).map(policy_of))))
    def suite(case: dict[str, Any]) -> None:
        check_same(*(_replayed(case, engine) for engine in ("simpy", "native")))

    (suite if seed is None else seeded(seed)(suite))()


def _replayed(case: dict[str, Any], engine: Engine) -> Schedule | EngineError:
    """Return the schedule of a case, or the error that says which of its tasks there is no room for."""
    try:
        return simulate(**case, engine=engine)
    except EngineError as error:
        return error


def check_same(one: Schedule | EngineError, other: Schedule | EngineError) -> None:
    """Check that two schedules are the same to the bit: order, cores, times and messages; or two errors."""
    if isinstance(one, EngineError) or isinstance(other, EngineError):
        if str(one) != str(other):
            raise AssertionError(f"the errors differ: {one} and {other}")
        return
    for name, column in vars(one.lost).items():
        if column.tobytes() != getattr(other.lost, name).tobytes():
            raise AssertionError(f"lost.{name} differs: {column} and {getattr(other.lost, name)}")
    if (one.messages is None) is not (other.messages is None):
        raise AssertionError(f"messages differ: {one.messages} and {other.messages}")
    if one.messages is not None and other.messages is not None:
        for name, column in vars(one.messages).items():
            if column.tobytes() != getattr(other.messages, name).tobytes():
                raise AssertionError(f"messages.{name} differs: {column} and {getattr(other.messages, name)}")
    for column in COLUMNS:
        if getattr(one, column).tobytes() != getattr(other, column).tobytes():
            raise AssertionError(f"{column} differs: {getattr(one, column)} and {getattr(other, column)}")
    for part in ("indptr", "indices"):
        if getattr(one.teams, part).tolist() != getattr(other.teams, part).tolist():
            raise AssertionError(f"the teams differ: {one.teams} and {other.teams}")
