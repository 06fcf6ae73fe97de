"""What simulate() accepts and refuses; threads that call it at once."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from threading import Barrier

import numpy as np
import pytest

import simsched as ss
from simsched import native
from simsched.errors import EngineError, LayoutError, MachineError, PolicyError, SpecError
from simsched.replay import native_engine

GRAPH = ss.TaskGraph.from_edges([1.0, 2.0, 3.0], [(0, 2)], names=["a", "b", "c"])


def act(engine, *starts):
    class Acting(ss.Policy):
        name = "acting"

        def decide(self, view):
            return starts

    return ss.simulate(GRAPH, "generic[cores=2]", Acting, engine=engine)


@pytest.mark.parametrize(
    ("starts", "says"),
    [
        (
            [ss.Start(2)],
            r"not ready: task 2 \('c'\) waits for 1 predecessor, the first of them: task 0 \('a'\) is ready",
        ),
        ([ss.Start(7)], "tasks are 0 to 2"),
        ([ss.Start(0), ss.Start(0)], r"task 0 \('a'\) was started on cores \[0\], to finish about 1 s"),
        ([ss.Start(0, width=3)], "3 cores were asked for, 2 are idle"),
        ([ss.Start(0, width=2), ss.Start(1)], "1 core was asked for, 0 are idle"),
        ([ss.Start(0, cores=(1, 1))], "is listed twice"),
        ([ss.Start(0, cores=(2,))], "core 2 does not exist"),
        ([ss.Start(0, cores=(1,)), ss.Start(1, cores=(1,))], r"core 1 is held: task 0 \('a'\)"),
        (["a"], "returned 'a'; decide"),
        ([ss.Start(0, width=1.5)], "of whole numbers"),
        ([ss.Start(0, cores="ab")], "of whole numbers"),
        ([ss.Start(0, cores=0)], r"returned Start\(task=0, width=1, cores=0\); decide"),
        ([ss.Start(0, cores=np.array(0))], "of whole numbers"),
        ([None, ss.Start(0)], "returned None; decide"),
        ([ss.Start(True)], "of whole numbers"),
        ([], "started nothing at 0 s, with 2 ready tasks, 2 idle cores and nothing running: task 0"),
    ],
)
def test_impossible_actions_tell_the_story(engine, starts, says):
    with pytest.raises(PolicyError, match=says):
        act(engine, *starts)


def test_a_team_of_no_cores_is_refused_when_it_is_made():
    with pytest.raises(PolicyError, match=r"Start\(3, width=0\): a team has 1 core or more"):
        ss.Start(3, width=0)
    assert ss.Start(3, width=0, cores=(1,)).cores == (1,)


@pytest.mark.parametrize("made", [tuple, list, np.array, iter])
def test_cores_in_whatever_holds_them(engine, made):
    class Taking(ss.Policy):
        name = "taking"

        def decide(self, view):
            if len(view.idle_cores) == 2:
                yield ss.Start(view.ready[0], cores=made(view.idle_cores))

    schedule = ss.simulate(GRAPH, "generic[cores=2]", Taking, engine=engine)
    assert schedule.tasks["n_cores"].tolist() == [2, 2, 2]


def test_view_shows_the_state(engine):
    seen = []

    class Looking(ss.Policy):
        def decide(self, view):
            seen.append((view.now_s, tuple(view.ready), len(view.idle_cores), [r.task for r in view.running]))
            assert view.seconds(2) == 3.0
            assert view.levels.tolist() == [4.0, 2.0, 3.0]
            assert view.problem.machine.n_cores == 2
            return [ss.Start(task) for task in view.ready][:1]

    ss.simulate(GRAPH, "generic[cores=2]", Looking, engine=engine)
    assert seen == [(0.0, (0, 1), 2, []), (0.0, (1,), 1, [0]), (1.0, (2,), 1, [1])]


@pytest.mark.parametrize(
    ("policy", "layout", "error", "says"),
    [
        ("fifo", "4x4", LayoutError, "needs 16 cores; generic.* has 8"),
        ("sequential", "2x2", LayoutError, "one executor"),
        ("fifo", "0x4", LayoutError, "no cores"),
        ("fifo", "8", LayoutError, "not a layout"),
        ("fifo", ("2", "2"), LayoutError, "not a layout"),
        ("fifo", (2, 2, 2), LayoutError, "not a layout"),
        ("fifo", [2, 2], LayoutError, "not a layout"),
        ("fifo[order=best]", None, SpecError, "expected one of fifo, lifo, random"),
        ("fifo[rank=1]", None, SpecError, "no parameter 'rank'; it has placement, .*, order"),
        ("corun[candidates=x]", None, SpecError, "expected a whole number"),
        ("corun[candidates=0]", None, SpecError, "least is 1"),
        ("critical-path[placement=far]", None, SpecError, "compact, scatter"),
        ("fastest", None, SpecError, "no policy is called 'fastest'; there are:.*critical-path"),
        (
            "mine.py:Mine",
            None,
            SpecError,
            "is not a spec; .*; a policy of your own is named here once it is registered",
        ),
        ("fifo[", None, SpecError, "has a bracket without its partner"),
        (7, None, SpecError, "not a policy"),
    ],
)
def test_bad_policies_and_layouts(policy, layout, error, says):
    with pytest.raises(error, match=says):
        ss.simulate(GRAPH, "generic[cores=8]", policy, layout)


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        ("generic[cores=0]", "whole number of cores"),
        ("generic[cores=1.5]", "whole number of cores"),
        ("knl-7250[bandwidth_Bps=0]", "0 is too small; the least is 1000 B/s"),
        ("knl-7250[threads=4]", "no parameter 'threads'"),
    ],
)
def test_bad_machines(machine, says):
    with pytest.raises(MachineError, match=says):
        ss.simulate(GRAPH, machine, "fifo")


@pytest.mark.parametrize("rank", [lambda n: [1.0], lambda n: [np.nan] * n, lambda n: ["a"] * n])
def test_bad_ranks(rank):
    class Bad(ss.RankPolicy):
        name = "bad"

        def rank(self, problem):
            return rank(problem.graph.n_tasks)

    with pytest.raises(PolicyError, match=r"policy bad: rank\(\) returned"):
        ss.simulate(GRAPH, "generic", Bad)


def test_engines(monkeypatch):
    assert ss.simulate(GRAPH, "generic", "fifo", engine="simpy").engine == "simpy"
    assert ss.simulate(GRAPH, "generic", "fifo").engine == ("native" if native.find() else "simpy")
    with pytest.raises(EngineError, match="no engine 'fast'; expected one of auto, simpy, native"):
        ss.simulate(GRAPH, "generic", "fifo", engine="fast")
    monkeypatch.setattr(native_engine, "find", lambda: None)
    with pytest.raises(EngineError, match=r"'native' is not built: use engine='simpy' or 'auto', or install"):
        ss.simulate(GRAPH, "generic", "fifo", engine="native")


@pytest.mark.parametrize(
    ("policy", "layout", "by"),
    [
        ("fifo", "8x1", "estimate"),
        ("critical-path", "8x1", "estimate"),
        ("sequential", "1x8", "estimate"),
        ("corun", "8x1", "replays"),
        ("wavefront", "8x1", "estimate"),
    ],
)
def test_without_a_layout_one_is_found(policy, layout, by):
    """Eight tasks that no team runs faster: an executor for each; a strategy's is the best of a few replays."""
    graph = ss.TaskGraph.from_edges([1.0] * 8)
    schedule = ss.simulate(graph, "generic[cores=8]", policy)
    assert (schedule.layout, schedule.inputs.layout_by) == (layout, by)
    assert ss.simulate(graph, "generic[cores=8]", policy, layout).inputs.layout_by == "given"


def test_corun_layout_is_a_cap(engine):
    """Six MatMuls on 16 cores capped at 2x4: never more than two at once, never wider than four."""
    graph = ss.TaskGraph.from_edges([1.0] * 6, kinds="MatMul")
    schedule = ss.simulate(graph, "generic[cores=16]", "corun", "2x4", engine=engine)
    assert schedule.metrics()["max_corunning"] == 2
    assert schedule.widths.max() == 4


def test_user_rank_policy():
    class LongestFirst(ss.RankPolicy):
        name = "longest-first"

        def rank(self, problem):
            return -problem.seconds

    schedule = ss.simulate(GRAPH, "generic[cores=1]", LongestFirst())
    assert schedule.policy == "longest-first"
    assert schedule.start_order.tolist() == [1, 0, 2]


def test_progress_counts_every_task(engine):
    graph = ss.TaskGraph.from_edges(np.ones(100_000))
    seen = []
    ss.simulate(graph, "generic", "fifo", engine=engine, progress=seen.append)
    assert sum(seen) == 100_000
    assert len(seen) > 1


def test_graph_is_not_changed_and_cannot_be():
    ss.simulate(GRAPH, "generic", "corun")
    with pytest.raises(ValueError, match="read-only"):
        GRAPH.durations_s[0] = 5


def test_user_policy_without_decide():
    class Empty(ss.Policy):
        name = "empty"

    with pytest.raises(PolicyError, match="has no decide"):
        ss.simulate(GRAPH, "generic", Empty)


def test_a_policy_without_layouts_refuses_one_and_compares_beside_others():
    class Mine(ss.Policy):
        name = "mine"

        def decide(self, view):
            return [ss.Start(task) for task in view.ready][:1]

    with pytest.raises(LayoutError, match="mine chooses its own widths"):
        ss.simulate(GRAPH, "generic", Mine, "2x2")
    frame = ss.compare(GRAPH, "generic", ["fifo", "corun", Mine], layout="2x2")
    assert frame["layout"].tolist() == ["2x2", "2x2", ""]


def test_a_generator_sees_what_its_actions_change(engine):
    """The natural greedy loop: as long as something is ready and idle, start it."""

    class Greedy(ss.Policy):
        name = "greedy"

        def decide(self, view):
            while view.ready and view.idle_cores:
                yield ss.Start(view.ready[0])

    schedule = ss.simulate(GRAPH, "generic[cores=2]", Greedy, engine=engine)
    assert schedule.start_s.tolist() == [0, 0, 1]
    assert schedule.finish_s.tolist() == [1, 2, 4]


def test_decide_returns_actions(engine):
    class Three(ss.Policy):
        def decide(self, view):
            return 3

    with pytest.raises(PolicyError, match=r"decide\(\) returned 3"):
        ss.simulate(GRAPH, "generic", Three, engine=engine)


def test_policies_look_and_cannot_touch(engine):
    """What a policy writes into its estimates would become what happens."""

    class Scaling(ss.RankPolicy):
        def rank(self, problem):
            seconds = problem.seconds
            seconds /= seconds.max()
            return seconds

    class Doubling(ss.Policy):
        def decide(self, view):
            view.problem.costs.one_core_s[:] *= 2

    class Levelling(ss.Policy):
        def decide(self, view):
            view.levels[:] = 0

    for policy in (Scaling, Doubling, Levelling):
        with pytest.raises(ValueError, match="read-only"):
            ss.simulate(GRAPH, "generic", policy, engine=engine)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"graph": None}, "expected a TaskGraph"),
        ({"costs": 3}, "costs is 3; expected a CostModel"),
        ({"runtime": 3}, "runtime is 3; expected a RuntimeProfile"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_types_are_named(arguments, says):
    with pytest.raises(ss.SimschedError, match=says):
        ss.simulate(**{"graph": GRAPH, "machine": "generic", "policy": "fifo", **arguments})


def test_a_cap_beyond_the_machine():
    with pytest.raises(LayoutError, match="a cap of 100x1 is beyond the 16 cores"):
        ss.simulate(GRAPH, "generic", "corun", "100x1")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda view: view.seconds(0, 0), "for the seconds of task 0 on 0 cores: the least width is 1"),
        (lambda view: view.seconds(-1), "for the seconds of task -1 on 1 core: tasks are 0 to 2"),
        (lambda view: view.seconds(3, 2), "for the seconds of task 3 on 2 cores: tasks are 0 to 2"),
        (lambda view: view.ready_s(2), r"when task 2 became ready: task 2 \('c'\) waits for 1 predecessor"),
        (lambda view: view.ready_s(9), "when task 9 became ready: tasks are 0 to 2"),
    ],
)
def test_what_a_view_cannot_answer(engine, ask, says):
    class Asking(ss.Policy):
        name = "asking"

        def decide(self, view):
            ask(view)
            return []

    with pytest.raises(PolicyError, match=f"policy asking asked at 0 s {says}"):
        ss.simulate(GRAPH, "generic", Asking, engine=engine)


@dataclass(frozen=True)
class Needy(ss.RankPolicy):
    """A policy whose parameter has no default."""

    name = "needy"

    factor: int

    def rank(self, problem):
        return problem.seconds * self.factor


def test_a_parameter_without_default_is_asked_for():
    with pytest.raises(SpecError, match="policy needy needs factor"):
        ss.simulate(GRAPH, "generic", Needy)
    assert ss.simulate(GRAPH, "generic", Needy(2)).policy == "needy[factor=2]"


@dataclass(frozen=True)
class Weighing(ss.RankPolicy):
    """A policy with arrays among its parameters, as learned ones have them."""

    name = "weighing"

    weights: np.ndarray
    bias: np.ndarray | None = None
    names: list[str] = field(default_factory=list)

    def rank(self, problem):
        return self.weights[: problem.graph.n_tasks]


def test_arrays_among_the_parameters():
    """Short ones are listed; longer ones of equal content have equal specs, of other content others."""
    few, many = Weighing(np.array([3.0, 2.0, 1.0])), Weighing(np.arange(9.0), np.zeros(2))
    assert str(few) == "weighing[weights=[3.0, 2.0, 1.0]]"
    assert ss.compare(GRAPH, "generic[cores=1]", [few, many])["policy"].tolist() == [str(few), str(many)]
    assert str(many) == "weighing[weights=float64:9:13a22b00,bias=[0.0, 0.0]]"
    assert str(Weighing(np.full(3, 1 / 3))) == "weighing[weights=float64:3:ab5d3ff1]"
    assert len({str(Weighing(weights)) for weights in (np.arange(9.0), np.arange(9.0), np.arange(9))}) == 2


class ByHand(ss.RankPolicy):
    """A class that is not a dataclass, as one writes it without a thought."""

    name = "by-hand"

    def __init__(self, weight, word="x"):
        super().__init__(prefer="producer")
        self.weight, self.word, self.seen = weight, word, []

    @cached_property
    def doubled(self):
        return self.weight * 2

    def rank(self, problem):
        return problem.seconds * self.doubled


def test_parameters_set_by_hand_tell_policies_apart():
    frame = ss.compare(GRAPH, "generic[cores=1]", [ByHand(1.5), ByHand(-1, "y")])
    assert frame["policy"].tolist() == [
        "by-hand[prefer=producer,weight=1.5,word=x]",
        "by-hand[prefer=producer,weight=-1,word=y]",
    ]
    ranked = ByHand(2)
    ss.simulate(GRAPH, "generic", ranked)
    assert str(ranked) == "by-hand[prefer=producer,weight=2,word=x]"


def test_what_a_policy_raises_comes_out_as_it_is(engine):
    class Overflowing(ss.Policy):
        def decide(self, view):
            raise OverflowError("mine")

    with pytest.raises(OverflowError, match="mine"):
        ss.simulate(GRAPH, "generic", Overflowing, engine=engine)


def test_a_policy_and_what_it_prepares_have_one_queue():
    class Central(ss.Policy):
        name = "central"

        def prepared(self, problem):
            return Shared()

    class Shared(ss.Policy):
        name = "shared"
        queue = "shared"

    with pytest.raises(PolicyError, match="its queue is 'central', but prepared"):
        ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic[cores=1]", Central())


class HalfOfTheIdle(ss.Policy):
    """Starts the last ready task on half of the idle cores."""

    name = "half-of-the-idle"

    def decide(self, view):
        while view.ready and view.idle_cores:
            yield ss.Start(view.ready[-1], width=(len(view.idle_cores) + 1) // 2)


def test_threads_at_once_find_what_one_finds(engine):
    """They share a graph and a machine, whose columns are worked out when the first of them asks."""
    policies = ["fifo", "corun", "heft", "work-stealing", "heteroprio", HalfOfTheIdle]
    jobs, together = list(product(policies, range(2))), Barrier(6)

    def shared():
        edges = [(i, j) for i in range(60) for j in (i + 4, i + 7) if j < 60]
        seconds = np.random.default_rng(5).uniform(1.0, 2.0, 60)
        graph = ss.TaskGraph.from_edges(seconds, edges, bytes_B=1e9 * seconds)
        return graph, ss.machine("knl-7250[cores=12]")

    def found(graph, machine, job):
        policy, seed = job
        costs = ss.CostModel(noise=0.3)
        schedule = ss.simulate(graph, machine, policy, engine=engine, seed=seed, costs=costs)
        columns = (schedule.ready_s, schedule.start_s, schedule.finish_s, schedule.executor, schedule.team)
        return [column.tolist() for column in columns], schedule.metrics()

    def at_once(job):
        together.wait()
        return found(*of_all, job)

    of_all, alone = shared(), shared()
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(at_once, jobs)) == [found(*alone, job) for job in jobs]
