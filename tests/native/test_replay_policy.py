"""The compiled replay that asks a policy: what it shows, and what it refuses to carry out."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.policy import Start
from simsched.policy.problem import View
from simsched.testing import strategies as ours

Arguments = dict[str, Any]


class Telling(ss.Policy):
    """Notes all that it sees, before and after each of its starts."""

    name = "telling"

    def prepared(self, problem: object) -> ss.Policy:
        """Return one that has seen nothing."""
        return _Telling()


class _Telling(ss.Policy):
    def decide(self, view: View) -> Iterator[Start]:
        """Start two tasks, the last ready one on some of the cores, the next on a core that it names."""
        self.note(view)
        yield Start(view.ready[-1], width=(len(view.idle_cores) + 1) // 2)
        self.note(view)
        if view.ready and view.idle_cores:
            yield Start(view.ready[len(view.ready) // 2], cores=(view.idle_cores[-1],))
            self.note(view)

    def note(self, view: View) -> None:
        """Note it."""
        estimates = [view.seconds(task, 1 + task % 3) for task in view.newly_ready]
        since = [view.ready_s(task) for task in view.ready]
        seen = (view.now_s, view.ready, view.newly_ready, view.running, view.idle_cores, view.newly_finished)
        TOLD.append((*seen, estimates, since, tuple(view.ready), tuple(view.idle_cores)))


TOLD: list[tuple[object, ...]] = []


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_both_engines_show_the_same(native: ModuleType, data: st.DataObject) -> None:
    """At the time, and to whoever keeps what was shown."""
    arguments = {
        "graph": data.draw(ours.graphs(widths=4)),
        "machine": data.draw(ours.machines_for(Telling())),
        "runtime": data.draw(st.one_of(st.just(ss.RuntimeProfile()), ours.runtimes())),
        "costs": ss.CostModel(noise=data.draw(st.sampled_from([0.0, 0.3]))),
    }
    told = []
    for engine in ("simpy", "native"):
        TOLD.clear()
        ss.simulate(**arguments, policy=Telling, engine=engine)
        told.append(list(TOLD))
        for *_, ready, idle in TOLD:
            assert isinstance(ready, tuple)
            assert isinstance(idle, tuple)
    assert told[1] == told[0]


def shown(n: int, starts: int) -> tuple[Sequence[int], tuple[int, ...]]:
    """Return what `n` ready tasks look like, and as a tuple, before every third of some of them is started."""
    seen: list[tuple[Sequence[int], tuple[int, ...]]] = []

    class Third(ss.Policy):
        name = "third"

        def decide(self, view: View) -> Iterator[Start]:
            """Start every third."""
            if not seen:
                seen.append((view.ready, tuple(view.ready)))
            for task in list(view.ready)[: 3 * starts : 3] or view.ready:
                if not view.idle_cores:
                    return
                yield Start(task)

    graph = ss.TaskGraph.from_edges(np.ones(n))
    ss.simulate(graph, f"generic[cores={starts}]", Third, engine="native")
    return seen[0]


@pytest.mark.parametrize("n", [1, 5, 64, 65, 5000])
@pytest.mark.parametrize("starts", [1, 40, 200])
def test_numbers_are_like_a_tuple(native: ModuleType, n: int, starts: int) -> None:
    """Whether few, many or all of them changed since."""
    numbers, same = shown(n, starts)
    assert isinstance(numbers, Sequence)
    assert len(numbers) == n
    assert list(numbers) == list(reversed(list(reversed(numbers)))) == list(same)
    assert [numbers[k] for k in (0, n // 2, -1, -n)] == [same[k] for k in (0, n // 2, -1, -n)]
    for part in (
        slice(3),
        slice(1, -1),
        slice(-2, None),
        slice(None, None, -1),
        slice(4, 2),
        slice(2, 99, 7),
    ):
        assert numbers[part] == same[part]
    assert [number in numbers for number in (-1, 0, n - 1, n, 0.0, "a", np.int64(0))] == (
        [False, True, True, False, True, False, True]
    )
    assert numbers == same
    assert same == numbers
    assert numbers != same[1:]
    assert numbers != list(same)
    assert numbers < (*same, n)
    assert hash(numbers) == hash(same)
    assert repr(numbers) == repr(same)
    assert numbers + (7,) == (*same, 7)
    assert (7,) + numbers == (7, *same)
    assert numbers + numbers == same + same
    assert numbers.index(n - 1) == n - 1
    assert numbers.count(0) == 1
    assert copy.deepcopy(numbers) == same
    assert np.asarray(numbers).tolist() == np.array(numbers, np.int32).tolist() == list(same)
    assert np.array(numbers, np.int32).dtype == np.int32
    for beyond in (n, -n - 1, 2**70):
        with pytest.raises(IndexError):
            numbers[beyond]
    with pytest.raises(TypeError):
        numbers["a"]


def test_iterating_while_starting(native: ModuleType) -> None:
    """What is iterated over is what was ready when that was asked for, of 1,000 tasks on 100 cores."""
    done = []

    class All(ss.Policy):
        name = "all"

        def decide(self, view: View) -> Iterator[Start]:
            """Start each from a core of the end."""
            idle = view.idle_cores
            for task, core in zip(view.ready, reversed(idle), strict=False):
                done.append(task)
                yield Start(np.int64(task), cores=[core])
            assert len(idle) == 100

    ss.simulate(ss.TaskGraph.from_edges(np.ones(1000)), "generic[cores=100]", All, engine="native")
    assert done == list(range(1000))


def test_a_view_outlives_its_replay_and_then_goes(native: ModuleType) -> None:
    kept: list[Any] = []

    class Keeping(ss.Policy):
        name = "keeping"

        def decide(self, view: View) -> list[Start]:
            """Keep it, and what it shows."""
            kept.append((view, view.ready, iter(view.ready), view.idle_cores, view.running))
            return [Start(view.ready[0])]

    ss.simulate(ss.TaskGraph.from_edges(np.ones(300)), "generic[cores=2]", Keeping, engine="native")
    view, ready, iterator, idle, running = kept[0]
    assert (view.now_s, view.ready, view.running, view.idle_cores) == (150.0, (), (), (0, 1))
    assert (view.seconds(7), view.ready_s(7), view.problem.graph.n_tasks) == (1.0, 0.0, 300)
    assert (len(ready), next(iterator), idle, running) == (300, 0, (0, 1), ())
    problem = weakref.ref(view.problem)
    kept.clear()
    del view, ready, iterator, idle, running
    gc.collect()
    assert problem() is None


def test_what_a_policy_raises_comes_out(native: ModuleType, asked: Arguments) -> None:
    def fail(view: object) -> object:
        raise KeyError("mine")

    def fail_later(view: object) -> Iterator[Start]:
        yield Start(0)
        raise KeyError("mine")

    class Iterable:
        def __iter__(self) -> object:
            raise KeyError("mine")

    for decide in (fail, fail_later, lambda view: Iterable()):
        with pytest.raises(KeyError, match="mine"):
            ss.simulate(ss.TaskGraph.from_edges([1.0]), "generic", _policy(decide), engine="native")
    with pytest.raises(KeyError, match="mine"):
        native.replay_policy(**asked | {"decide": fail})


def _policy(decide: Any) -> type[ss.Policy]:
    return type("Mine", (ss.Policy,), {"name": "mine", "decide": lambda self, view: decide(view)})


def test_a_view_is_of_one_replay_and_graph(native: ModuleType, asked: Arguments, viewed: Arguments) -> None:
    assert native.replay_policy(**asked)[0][0] == 2
    with pytest.raises(ValueError, match="a view is of one replay"):
        native.replay_policy(**asked)
    other = native.PolicyView(**viewed | {"n_tasks": 3})
    with pytest.raises(ValueError, match="the view is of another graph"):
        native.replay_policy(**asked | {"view": other})
    other = native.PolicyView(**viewed)
    with pytest.raises(ValueError, match="factors need one entry a task"):
        native.replay_policy(**asked | {"view": other, "factors": np.ones(3)})


@pytest.mark.parametrize(
    "change",
    [
        {"cores": 0}, {"cores": 2**21}, {"ways": 0}, {"ways": 65}, {"cores_per_tile": 0}, {"cores_per_tile": 3},
        {"n_tasks": 2**31},
    ],
    ids=str,
)  # fmt: skip
def test_impossible_views(native: ModuleType, viewed: Arguments, change: Arguments) -> None:
    with pytest.raises(ValueError, match=r"cores are|too many tasks"):
        native.PolicyView(**viewed | change)


def loads(**changes: float) -> SimpleNamespace:
    """Return what one task asks for, changed."""
    return SimpleNamespace(
        **{"memory_share": 0.0, "overhead_share": 0.0, "demand_Bps": 0, "core_share": 1.0} | changes
    )


def columns(**changes: float) -> SimpleNamespace:
    """Return what two tasks ask for, changed."""
    return SimpleNamespace(
        **{name: np.array([value, value]) for name, value in vars(loads(**changes)).items()}
    )


@pytest.mark.parametrize(
    ("n", "answer", "error"),
    [
        *((2, (np.array([bad, bad]), None), ValueError) for bad in (np.nan, -1.0, np.inf)),
        (2, (np.ones(3), None), ValueError),
        (2, (np.ones(2), columns(memory_share=1.5)), ValueError),
        (2, (np.ones(2), columns(core_share=1.5)), ValueError),
        (2, (np.ones(2), columns(demand_Bps=-1)), ValueError),
        (2, (np.ones(2), columns(demand_Bps=2**62)), ValueError),
        (2, (np.ones(2, np.int32), None), RuntimeError),
        (2, (np.ones(2), 0), AttributeError),
        (2, None, RuntimeError),
        *((256, (bad, loads()), ValueError) for bad in (np.nan, -1.0, np.inf)),
        (256, (1.0, loads(overhead_share=-1.0)), ValueError),
        (256, ("a", loads()), RuntimeError),
        (256, (1.0, None), AttributeError),
        (256, None, RuntimeError),
    ],
    ids=str,
)  # fmt: skip
def test_impossible_estimates(
    native: ModuleType, asked: Arguments, viewed: Arguments, n: int, answer: object, error: type[Exception]
) -> None:
    """Of few tasks they are asked for as columns at once, of many first one by one."""
    checks = SimpleNamespace(estimates=lambda width: answer, estimate=lambda task, width: answer)
    view = native.PolicyView(**viewed | {"checks": checks, "n_tasks": n})
    graph = {"successors": native.Csr(np.zeros(n + 1, np.int64), np.empty(0, np.int32))}
    with pytest.raises(error):
        native.replay_policy(**asked | graph | {"view": view})


@pytest.mark.parametrize(
    "start", [Start(1), Start(0, width=3), Start(0, cores=(2,)), Start(0, cores=(1, 1)), "a", None], ids=str
)
def test_a_start_that_is_not_possible_after_all(native: ModuleType, asked: Arguments, start: object) -> None:
    """The checks are wrong here: they let everything through."""
    with pytest.raises(ValueError, match="was found possible, and is not"):
        native.replay_policy(**asked | {"decide": lambda view: [start]})
