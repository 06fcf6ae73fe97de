"""The compiled replays, given arrays that do not fit: they raise, and never crash or hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .conftest import Bound

I32, I64 = np.int32, np.int64
NONE = np.empty(0)
Arguments = dict[str, Any]


def rows(indptr: list[int], indices: list[int]) -> tuple[Any, Any]:
    """Return the arguments of a table of rows."""
    return np.array(indptr, I64), np.array(indices, I32)


def test_what_fits_is_replayed(
    bound: Bound, listed: Arguments, corunning: Arguments, loaded: Arguments, offered: Callable[[], Arguments]
) -> None:
    """Task 0 waits for the memory for 0.5 s; its core, its domain and its tile are its own. Its data are there.

    Task 1 asks domain 0 for half of what it moves, and nobody else is there.
    """
    assert bound.replay_list(listed)[3].tolist() == [1, 3]
    assert bound.replay_list(listed | loaded)[3].tolist() == [1, 3]
    assert bound.replay_corun(corunning)[0][3].tolist() == [1, 2]
    assert bound.replay_corun(corunning | offered())[0][0] == 2


def test_a_plan_replays_any_number_of_times(bound: Bound, listed: Arguments) -> None:
    plan = bound.module.ListPlan(**bound.all(listed))
    assert [bound.module.replay_list(plan, None)[3].tolist() for _ in range(2)] == [[1, 3]] * 2


def test_executors_of_many_threads(bound: Bound, listed: Arguments, loaded: Arguments) -> None:
    """Two executors share a thread; the second task runs where the first did, or where it strays to."""
    two = {
        "executors": rows([0, 2, 4], [0, 1, 1, 0]), "displaced": np.array([-1, -1, 1, 1], I32),
        "predecessors": rows([0, 0, 1], [0]),
    }  # fmt: skip
    done, *_, executor, order = bound.replay_list(listed | loaded | two)
    assert (done, executor.tolist(), order.tolist()) == (2, [0, 0], [0, 1])


def test_predecessors_that_do_not_match(bound: Bound, listed: Arguments) -> None:
    """Nobody finished before those that run; the lowest executor takes them."""
    for before in ([1, 0], [0, 1], [1, 1]):
        wrong = {"predecessors": rows([0, 1, 2], before)}
        assert bound.replay_list(listed | wrong)[4].tolist() == [0, 0]


def test_read_only_arrays_fit(bound: Bound, listed: Arguments) -> None:
    locked = {name: np.array(listed[name]) for name in ("seconds", "position")}
    for value in locked.values():
        value.setflags(write=False)
    assert bound.replay_list(listed | locked)[0] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"successors": None},
        {"seconds": np.array([1, 2], np.float32)},
        {"seconds": np.array([1.0, 2.0], ">f8")},
        {"seconds": np.array([[1.0, 2.0]])},
        {"seconds": np.ones(4)[::2]},
        {"seconds": [1.0, 2.0]},
        {"seconds": None},
        {"shared": True},
        {"position": np.array([0, 1], I64)},
        {"shortcuts": 1},
    ],
    ids=str,
)
def test_nothing_is_converted(bound: Bound, listed: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        bound.replay_list(listed | changes)


def test_half_made_plans_are_refused(bound: Bound) -> None:
    for kind, replay in (("ListPlan", "replay_list"), ("CorunPlan", "replay_corun")):
        plan = getattr(bound.module, kind)
        with (
            pytest.warns(RuntimeWarning, match="uninitialized"),
            pytest.raises(TypeError, match="incompatible function arguments"),
        ):
            getattr(bound.module, replay)(plan.__new__(plan), None)


LOADS, DEMANDS = "shares and demands go with what is shared", "a demand is from 0 to 2"
GRAPHS: list[tuple[Arguments, str]] = [
    ({"successors": rows([], [1])}, "indptr must run from 0"),
    ({"successors": rows([1, 1, 1], [1])}, "indptr must run from 0"),
    ({"successors": rows([0, 1, 2], [1])}, "indptr must run from 0"),
    ({"successors": rows([0, 2**63 - 1, 1], [1])}, "indptr must not decrease"),
    ({"successors": rows([0, -5, 1], [1])}, "indptr must not decrease"),
    ({"successors": rows([0, 1], [0])}, "one entry a task|one row a task"),
    ({"successors": rows([0, 1, 1], [2])}, "index 2 is outside a graph of 2 nodes"),
    ({"successors": rows([0, 1, 1], [-1])}, "index -1 is outside a graph of 2 nodes"),
    ({"seconds": np.ones(3)}, "one entry a task|one row a task"),
    ({"seconds": NONE}, "one entry a task|one row a task"),
    ({"loads": (NONE, np.zeros(2), np.empty(0, I64), NONE)}, LOADS),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *GRAPHS,
        ({"position": np.array([0, 0], I32)}, "position 0 of task 1 is outside the list or occurs twice"),
        ({"position": np.array([0, 2], I32)}, "position 2 of task 1 is outside"),
        ({"position": np.array([-1, 0], I32)}, "position -1 of task 0 is outside"),
        ({"position": np.array([0], I32)}, "position needs one entry a task"),
        ({"discipline": "best"}, "there is no discipline best"),
        ({"discipline": "pushed"}, "pushed tasks have estimates"),
        ({"executors": rows([], [0])}, "executors need a table of rows"),
        ({"executors": rows([1, 1], [0])}, "executors need a table of rows"),
        ({"executors": rows([0, 2], [0])}, "executors need a table of rows"),
        ({"executors": rows([0, -1, 1], [0])}, "executors need a table of rows"),
        ({"executors": rows([0, 2**63 - 1, 1], [0])}, "executors need a table of rows"),
        ({"executors": rows([0], [])}, "at least one executor"),
        ({"executors": rows([0, 0], [])}, "at least one thread"),
        ({"executors": rows([0, 0, 1], [0])}, "at least one thread"),
        (
            {"executors": rows([0, 1, 3], [0, 0, 0]), "displaced": np.full(2, -1, I32)},
            "equal numbers where these are displaced",
        ),
        ({"executors": rows([0, 1], [-1])}, "a hardware thread does not exist"),
        ({"displaced": np.array([-1], I32)}, "displaced needs one entry a task and thread"),
        ({"displaced": np.array([-1, -1, -1, -1], I32)}, "displaced needs one entry a task and thread"),
        ({"displaced": np.array([0, -2], I32)}, "a hardware thread does not exist"),
        ({"displaced": np.array([-(2**31), 0], I32)}, "a hardware thread does not exist"),
        ({"predecessors": rows([], [])}, "indptr must run from 0"),
        ({"predecessors": rows([0, 0], [])}, "predecessors need one row a task"),
        ({"predecessors": rows([0, 2, 1], [0])}, "must not decrease"),
        ({"predecessors": rows([0, 0, 1], [-1])}, "index -1 is outside"),
    ],
    ids=str,
)
def test_wrong_values_of_a_list(bound: Bound, listed: Arguments, changes: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bound.replay_list(listed | changes)


@pytest.mark.parametrize(
    ("loads", "message"),
    [
        (None, LOADS),
        ((np.array([0.5]), np.zeros(2), np.ones(2, I64), np.ones(2)), LOADS),
        ((np.zeros(2), NONE, np.ones(2, I64), np.ones(2)), LOADS),
        ((np.zeros(2), np.zeros(2), np.ones(8, I64), np.ones(2)), LOADS),
        ((np.zeros(2), np.zeros(2), np.ones(2, I64), np.array([0.5, np.nan])), "a share of cores"),
        ((np.array([np.nan, 0.0]), np.zeros(2), np.ones(2, I64), np.ones(2)), "a share is from 0 to 1"),
        (
            (np.array([0.5, 0.75]), np.array([0.0, 0.5]), np.ones(2, I64), np.ones(2)),
            "a share is from 0 to 1",
        ),
        ((np.zeros(2), np.zeros(2), np.array([1, -1], I64), np.ones(2)), DEMANDS),
        ((np.zeros(2), np.zeros(2), np.array([1, 2**62 + 1], I64), np.ones(2)), DEMANDS),
    ],
    ids=str,
)
def test_loads_that_cannot_be_added_up(
    bound: Bound, listed: Arguments, corunning: Arguments, loaded: Arguments, loads: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bound.replay_list(listed | loaded | {"loads": loads})
    twice = loads and tuple(np.repeat(column, 2) for column in loads)
    with pytest.raises(ValueError, match=message):
        bound.replay_corun(corunning | loaded | {"loads": twice})


def test_demands_that_add_up_to_what_can_be_counted(
    bound: Bound, listed: Arguments, loaded: Arguments
) -> None:
    """Eight executors may ask for 2^59 bytes a second each."""
    many = listed | loaded | {"executors": rows([*range(9)], [0, 1] * 4), "successors": rows([0, 0, 0], [])}
    shares = loaded["loads"][:2]
    assert bound.replay_list(many | {"loads": (*shares, np.full(2, 2**59), np.ones(2))})[0] == 2
    with pytest.raises(ValueError, match=DEMANDS):
        bound.replay_list(many | {"loads": (*shares, np.full(2, 2**59 + 1), np.ones(2))})


@pytest.mark.parametrize("thread", [2, 2**31 - 1])
def test_threads_that_the_machine_does_not_have(
    bound: Bound, listed: Arguments, loaded: Arguments, thread: int
) -> None:
    """Where nothing is shared, nobody asks which thread it is."""
    for changes in ({"executors": rows([0, 1], [thread])}, {"displaced": np.array([-1, thread], I32)}):
        assert bound.replay_list(listed | changes)[0] == 2
        with pytest.raises(ValueError, match="a hardware thread does not exist"):
            bound.replay_list(listed | loaded | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *GRAPHS,
        ({"widths": np.array([2, 1], I32)}, "one row a task"),
        *(
            ({"widths": np.array([bad, 1, 2, 1], I32)}, "a candidate width is not one of the machine's")
            for bad in (3, 0, -1)
        ),
        ({"estimates": np.ones(3)}, "one row a task"),
        ({"noise": np.ones(3)}, "noise one entry or none"),
        ({"serial": np.ones(3), "ways": 2}, "serial one entry or none"),
        ({"serial": np.ones(2)}, "small tasks need second ways"),
        ({"serial": np.ones(2), "ways": 2, "cores": 1}, "a candidate width is not one of the machine's"),
        ({"candidates": 0}, "of a candidate or more"),
        ({"offered": 0}, "of the candidates at least one, and at most all"),
        ({"offered": 3}, "of the candidates at least one, and at most all"),
        ({"candidates": 3}, "one row a task"),
        # 2 x 2^63 is 0, modulo 2^64.
        (
            {"candidates": 2**63, "widths": np.empty(0, I32), "estimates": NONE, "seconds": NONE},
            "one row a task",
        ),
        ({"cores": 0}, "a candidate width is not one of the machine's"),
        ({"cores": 2**64 - 1}, "cores are 1 to 2"),
        ({"cores_per_tile": 0}, "cores are whole tiles"),
        ({"cores": 3, "cores_per_tile": 2}, "cores are whole tiles"),
    ],
    ids=str,
)
def test_wrong_values_of_co_running(
    bound: Bound, corunning: Arguments, changes: Arguments, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bound.replay_corun(corunning | changes)


@pytest.mark.parametrize("cores", [1, 4, 2**64 - 1])
def test_what_another_machine_shares(
    bound: Bound, corunning: Arguments, offered: Callable[[], Arguments], cores: int
) -> None:
    shared = offered()
    free = {"loads": (*shared["loads"][:2], np.zeros(4, I64), np.ones(4)), "cores": cores}
    with pytest.raises(ValueError, match="what is shared is another machine's"):
        bound.replay_corun(corunning | shared | free)
