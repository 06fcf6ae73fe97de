"""The compiled replays, given arrays that do not fit: they raise, and never crash or hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simsched.native import Core

I32, I64 = np.int32, np.int64
NONE = np.empty(0)
Arguments = dict[str, Any]


def test_what_fits_is_replayed(
    native: Core,
    listed: Arguments,
    corunning: Arguments,
    loaded: Arguments,
    offered: Callable[[], Arguments],
) -> None:
    """Task 0 waits for the memory for 0.5 s; its core, its domain and its tile are its own. Its data are there.

    Task 1 asks domain 0 for half of what it moves, and nobody else is there.
    """
    assert native.replay_list(**listed)[3].tolist() == [1, 3]
    assert native.replay_list(**listed | loaded)[3].tolist() == [1, 3]
    assert native.replay_corun(**corunning)[0][3].tolist() == [1, 2]
    assert native.replay_corun(**corunning | offered())[0][0] == 2


def test_executors_of_many_threads(native: Core, listed: Arguments, loaded: Arguments) -> None:
    """Two executors share a thread; the second task runs where the first did, or where it strays to."""
    two = {
        "executors_indptr": np.array([0, 2, 4], I64), "executors_indices": np.array([0, 1, 1, 0], I32),
        "strays": np.array([-1, -1, 1, 1], I32), "before_indptr": np.array([0, 0, 1], I64),
        "before_indices": np.array([0], I32),
    }  # fmt: skip
    done, *_, executor, order = native.replay_list(**listed | loaded | two)
    assert (done, executor.tolist(), order.tolist()) == (2, [0, 0], [0, 1])


def test_predecessors_that_do_not_match(native: Core, listed: Arguments) -> None:
    """Nobody finished before those that run; the lowest executor takes them."""
    for before in ([1, 0], [0, 1], [1, 1]):
        wrong = {"before_indptr": np.array([0, 1, 2], I64), "before_indices": np.array(before, I32)}
        assert native.replay_list(**listed | wrong)[4].tolist() == [0, 0]


def test_read_only_arrays_fit(native: Core, listed: Arguments, loaded: Arguments) -> None:
    locked: Arguments = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in (listed | loaded).items()
    }
    for value in locked.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    assert native.replay_list(**locked)[0] == 2


WRONG_TYPES: list[Arguments] = [
    {"indptr": np.array([0, 1, 1], I32)},
    {"indices": np.array([1], I64)},
    {"indices": np.array([1], np.uint32)},
    {"seconds": np.array([1, 2], np.float32)},
    {"seconds": np.array([1, 2])},
    {"seconds": np.array([1.0, 2.0], ">f8")},
    {"seconds": np.array([[1.0, 2.0]])},
    {"seconds": np.ones(4)[::2]},
    {"seconds": [1.0, 2.0]},
    {"seconds": None},
    {"demand_Bps": np.empty(0)},
    {"demand_Bps": np.empty(0, np.uint64)},
    {"memory_share": np.empty(0, I64)},
    {"overhead_share": np.empty(0, np.float32)},
    {"overhead_share": np.empty((0, 2))},
    {"overhead_share": None},
    {"shared": 1.0},
    {"shared": True},
    {"shared": {"bandwidth": True}},
    {"shared": "a machine"},
    {"shared": "Sharing"},
]


@pytest.mark.parametrize(
    "changes",
    [
        *WRONG_TYPES,
        {"position": np.array([0, 1], I64)},
        {"position": np.arange(4, dtype=I32)[::2]},
        {"executors_indptr": np.array([0, 1], I32)},
        {"executors_indptr": 1},
        {"executors_indices": np.array([0], I64)},
        {"executors_indices": np.array([[0]], I32)},
        {"strays": None},
        {"strays": np.array([-1.0, -1.0])},
        {"strays": np.array([[-1], [-1]], I32)},
        {"strays": np.full(4, -1, I32)[::2]},
        {"before_indptr": np.zeros(1, I32)},
        {"before_indptr": None},
        {"before_indices": np.empty(0, I64)},
        {"before_indices": []},
        {"discipline": None},
        {"delay_s": "1"},
        {"per_poller_s": None},
        {"shortcuts": {"singles": np.zeros(1, I32)}},
        {"progress": 3},
    ],
    ids=str,
)
def test_wrong_types_of_a_list(native: Core, listed: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError, match=r"incompatible function arguments|not callable"):
        native.replay_list(**listed | changes)


@pytest.mark.parametrize(
    "changes",
    [
        *WRONG_TYPES,
        {"widths": np.array([2, 1, 2, 1], I64)},
        {"estimates": np.ones(4, np.float32)},
        {"noise": np.ones(2, np.float32)},
        {"serial": np.ones(2, np.float32)},
        {"beside": None},
        {"candidates": -1},
        {"cores": 2.0},
        {"resize_s": None},
        {"resize_per_thread_s": "1"},
    ],
    ids=str,
)
def test_wrong_types_of_co_running(native: Core, corunning: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.replay_corun(**corunning | changes)


def test_the_class_is_no_machine(native: Core, listed: Arguments, corunning: Arguments) -> None:
    for replay, arguments in ((native.replay_list, listed), (native.replay_corun, corunning)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            replay(**arguments | {"shared": native.Sharing})


SHARES, DEMANDS = "a share is from 0 to 1, and so are both together", "a demand is from 0 to 2"
LENGTHS = "shares and demands go with what is shared"
WRONG_VALUES: list[tuple[Arguments, str]] = [
    ({"indptr": np.empty(0, I64)}, "indptr must run from 0|entry a task|one row a task"),
    ({"indptr": np.array([1, 1, 1], I64)}, "indptr must run from 0"),
    ({"indptr": np.array([0, 1, 2], I64)}, "indptr must run from 0"),
    ({"indptr": np.array([0, 2**63 - 1, 1], I64)}, "indptr must not decrease"),
    ({"indptr": np.array([0, -5, 1], I64)}, "indptr must not decrease"),
    ({"indptr": np.array([0, 1], I64), "indices": np.array([0], I32)}, "one entry a task|one row a task"),
    ({"indices": np.array([2], I32)}, "index 2 is outside a graph of 2 nodes"),
    ({"indices": np.array([-1], I32)}, "index -1 is outside a graph of 2 nodes"),
    ({"seconds": np.ones(3)}, "one entry a task|one row a task"),
    ({"seconds": NONE}, "one entry a task|one row a task"),
    *(({name: np.zeros(2)}, LENGTHS) for name in ("memory_share", "overhead_share")),
    ({"demand_Bps": np.zeros(4, I64)}, LENGTHS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *WRONG_VALUES,
        *(({"seconds": np.array([1.0, bad])}, "zero or more, and finite") for bad in (-1.0, np.nan, np.inf, -np.inf)),
        *(({name: bad}, "zero or more, and finite") for name in ("delay_s", "per_poller_s") for bad in (-1.0, np.nan)),
        ({"position": np.array([0, 0], I32)}, "position 0 of task 1 is outside the list or occurs twice"),
        ({"position": np.array([0, 2], I32)}, "position 2 of task 1 is outside"),
        ({"position": np.array([-1, 0], I32)}, "position -1 of task 0 is outside"),
        ({"position": np.array([0], I32)}, "position needs one entry a task"),
        ({"discipline": "best"}, "there is no discipline best"),
        ({"executors_indptr": np.empty(0, I64)}, "executors need a table of rows"),
        ({"executors_indptr": np.array([1, 1], I64)}, "executors need a table of rows"),
        ({"executors_indptr": np.array([0, 2], I64)}, "executors need a table of rows"),
        ({"executors_indptr": np.array([0, -1, 1], I64)}, "executors need a table of rows"),
        ({"executors_indptr": np.array([0, 2**63 - 1, 1], I64)}, "executors need a table of rows"),
        ({"executors_indptr": np.zeros(1, I64), "executors_indices": np.empty(0, I32)}, "at least one executor"),
        ({"executors_indptr": np.zeros(2, I64), "executors_indices": np.empty(0, I32)}, "at least one$"),
        ({"executors_indptr": np.array([0, 0, 1], I64)}, "equal numbers of threads"),
        ({"executors_indptr": np.array([0, 1, 3], I64), "executors_indices": np.zeros(3, I32)}, "equal numbers"),
        ({"executors_indices": np.array([-1], I32)}, "a hardware thread does not exist"),
        ({"strays": np.array([-1], I32)}, "strays need one entry a task and thread"),
        ({"strays": np.array([-1, -1, -1, -1], I32)}, "strays need one entry a task and thread"),
        ({"strays": np.array([0, -2], I32)}, "a hardware thread does not exist"),
        ({"strays": np.array([-(2**31), 0], I32)}, "a hardware thread does not exist"),
        ({"before_indptr": np.empty(0, I64)}, "indptr must run from 0"),
        ({"before_indptr": np.array([0, 1], I64)}, "indptr must run from 0"),
        ({"before_indptr": np.array([0, 0], I64)}, "predecessors need one row a task"),
        ({"before_indptr": np.zeros(4, I64)}, "predecessors need one row a task"),
        ({"before_indptr": np.array([0, 2, 1], I64), "before_indices": np.array([0], I32)}, "must not decrease"),
        ({"before_indptr": np.array([0, 0, 1], I64), "before_indices": np.array([2], I32)}, "index 2 is outside"),
        ({"before_indptr": np.array([0, 0, 1], I64), "before_indices": np.array([-1], I32)}, "index -1 is outside"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values_of_a_list(native: Core, listed: Arguments, changes: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.replay_list(**listed | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shared": None}, LENGTHS),
        ({"memory_share": np.array([0.5])}, LENGTHS),
        ({"overhead_share": NONE}, LENGTHS),
        ({"demand_Bps": np.ones(8, I64)}, LENGTHS),
        *(({name: np.array([bad, 0.0])}, SHARES) for name in ("memory_share", "overhead_share")
          for bad in (-0.1, 1.1, np.nan, np.inf)),
        ({"memory_share": np.array([0.5, 0.75]), "overhead_share": np.array([0.0, 0.5])}, SHARES),
        ({"demand_Bps": np.array([1, -1], I64)}, DEMANDS),
        ({"demand_Bps": np.array([1, 2**62 + 1], I64)}, DEMANDS),
        ({"demand_Bps": np.array([1, -(2**63)], I64)}, DEMANDS),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_loads(
    native: Core, listed: Arguments, corunning: Arguments, loaded: Arguments, changes: Arguments, message: str
) -> None:
    both = loaded | changes
    with pytest.raises(ValueError, match=message):
        native.replay_list(**listed | both)
    twice = {key: value if key == "shared" else np.repeat(value, 2) for key, value in both.items()}
    with pytest.raises(ValueError, match=message):
        native.replay_corun(**corunning | twice)


def test_demands_that_add_up_to_what_can_be_counted(
    native: Core, listed: Arguments, loaded: Arguments
) -> None:
    """Eight executors may ask for 2^59 bytes a second each."""
    many = {
        "executors_indptr": np.arange(9), "executors_indices": np.arange(8, dtype=I32) % 2, "indptr": np.zeros(3, I64),
        "indices": np.empty(0, I32),
    }  # fmt: skip
    asks = {"demand_Bps": np.full(2, 2**59)}
    assert native.replay_list(**listed | loaded | many | asks)[0] == 2
    with pytest.raises(ValueError, match=DEMANDS):
        native.replay_list(**listed | loaded | many | {"demand_Bps": asks["demand_Bps"] + 1})


@pytest.mark.parametrize("thread", [2, 2**31 - 1])
def test_threads_that_the_machine_does_not_have(
    native: Core, listed: Arguments, loaded: Arguments, thread: int
) -> None:
    """Where nothing is shared, nobody asks which thread it is."""
    for changes in (
        {"executors_indices": np.array([thread], I32)},
        {"strays": np.array([-1, thread], I32)},
    ):
        assert native.replay_list(**listed | changes)[0] == 2
        with pytest.raises(ValueError, match="a hardware thread does not exist"):
            native.replay_list(**listed | loaded | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *WRONG_VALUES,
        ({"widths": np.array([2, 1], I32)}, "one row a task"),
        *(({"widths": np.array([bad, 1, 2, 1], I32)}, "a candidate width is not one of the machine's")
          for bad in (3, 0, -1)),
        ({"seconds": np.array([1, 2, np.nan, 1])}, "zero or more, and finite"),
        ({"estimates": np.array([1, 2, -1.0, 1])}, "zero or more, and finite"),
        ({"estimates": np.ones(3)}, "one row a task"),
        ({"noise": np.ones(3)}, "noise and serial one entry or none"),
        ({"serial": np.ones(3), "ways": 2}, "noise and serial one entry or none"),
        ({"serial": np.array([1.0, -1.0]), "ways": 2}, "zero or more, and finite"),
        ({"serial": np.ones(2)}, "small tasks need second ways"),
        ({"serial": np.ones(2), "ways": 2, "cores": 1}, "a candidate width is not one of the machine's"),
        ({"noise": np.array([1.0, -1.0])}, "zero or more, and finite"),
        ({"candidates": 0}, "at least one core, candidate and task"),
        ({"offered": 0}, "of the candidates at least one, and at most all"),
        ({"offered": 3}, "of the candidates at least one, and at most all"),
        ({"candidates": 3}, "one row a task"),
        # 2 x 2^63 is 0, modulo 2^64.
        ({"candidates": 2**63, "widths": np.empty(0, I32), "estimates": NONE, "seconds": NONE}, "one row a task"),
        ({"most": 0}, "at least one core, candidate and task"),
        ({"cores": 0}, "at least one core, candidate and task"),
        ({"cores": 2**64 - 1}, "more cores than"),
        ({"cores_per_tile": 0}, "cores are whole tiles"),
        ({"cores": 3, "cores_per_tile": 2}, "cores are whole tiles"),
        *(({name: bad}, "zero or more, and finite") for name in ("dispatch_s", "resize_s", "resize_per_thread_s")
          for bad in (-1.0, np.nan, np.inf)),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values_of_co_running(
    native: Core, corunning: Arguments, changes: Arguments, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        native.replay_corun(**corunning | changes)


@pytest.mark.parametrize("cores", [1, 4, 2**64 - 1])
def test_what_another_machine_shares(
    native: Core, corunning: Arguments, offered: Callable[[], Arguments], cores: int
) -> None:
    free = {"demand_Bps": np.zeros(4, I64), "cores": cores}
    with pytest.raises(ValueError, match="what is shared is another machine's"):
        native.replay_corun(**corunning | offered() | free)
