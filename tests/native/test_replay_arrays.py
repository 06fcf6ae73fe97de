"""The compiled replays, given arrays that do not fit: they raise, and never crash or hang."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.native import Core, find

pytestmark = pytest.mark.skipif(find() is None, reason="installed without the compiled module")

I32, I64, F64 = np.int32, np.int64, np.float64
NONE: npt.NDArray[np.float64] = np.empty(0)
NO_DEMAND: npt.NDArray[np.int64] = np.empty(0, I64)

#: 0 -> 1, of 1 and 2 s.
GRAPH: dict[str, Any] = {"indptr": np.array([0, 1, 1], I64), "indices": np.array([1], I32)}
SHARED: dict[str, Any] = {
    "memory_share": NONE,
    "demand_Bps": NO_DEMAND,
    "capacity_Bps": 0.0,
    "progress": None,
}
LIST: dict[str, Any] = GRAPH | SHARED | {
    "seconds": np.array([1.0, 2.0]), "discipline": "rank", "position": np.array([0, 1], I32), "executors": 1,
    "delay_s": 0.0, "per_poller_s": 0.0,
}  # fmt: skip
CORUN: dict[str, Any] = GRAPH | SHARED | {
    "widths": np.array([2, 1, 2, 1], I32), "seconds": np.array([1.0, 2.0, 1.0, 2.0]), "noise": NONE,
    "candidates": 2, "most": 2, "cores": 2, "cores_per_tile": 1, "dispatch_s": 0.0, "resize_s": 0.0,
}  # fmt: skip
MEMORY: dict[str, Any] = {
    "memory_share": np.array([0.5, 1.0]), "demand_Bps": np.array([1, 2], I64), "capacity_Bps": 1.0
}  # fmt: skip


@pytest.fixture
def native() -> Core:
    """The compiled module."""
    module = find()
    assert module is not None
    return module


def test_what_fits_is_replayed(native: Core) -> None:
    assert native.replay_list(**LIST)[3].tolist() == [1, 3]
    assert native.replay_list(**LIST | MEMORY)[0] == 2
    assert native.replay_corun(**CORUN)[0][3].tolist() == [1, 2]


def test_read_only_arrays_fit(native: Core) -> None:
    locked: dict[str, Any] = {
        key: value.copy() if isinstance(value, np.ndarray) else value for key, value in LIST.items()
    }
    for value in locked.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
    assert native.replay_list(**locked)[0] == 2


WRONG_TYPES: list[dict[str, Any]] = [
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
    {"memory_share": NO_DEMAND},
    {"capacity_Bps": "1"},
    {"capacity_Bps": None},
]


@pytest.mark.parametrize(
    "changes",
    [
        *WRONG_TYPES,
        {"position": np.array([0, 1], I64)},
        {"position": np.arange(4, dtype=I32)[::2]},
        {"executors": -1},
        {"executors": 2**64},
        {"executors": 1.5},
        {"discipline": None},
        {"delay_s": "1"},
        {"progress": 3},
    ],
    ids=str,
)
def test_wrong_types_of_a_list(native: Core, changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"incompatible function arguments|not callable"):
        native.replay_list(**LIST | changes)


@pytest.mark.parametrize(
    "changes",
    [
        *WRONG_TYPES,
        {"widths": np.array([2, 1, 2, 1], I64)},
        {"noise": np.ones(2, np.float32)},
        {"candidates": -1},
        {"cores": 2.0},
    ],
    ids=str,
)
def test_wrong_types_of_co_running(native: Core, changes: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.replay_corun(**CORUN | changes)


WRONG_VALUES: list[tuple[dict[str, Any], str]] = [
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
    (MEMORY | {"memory_share": np.array([0.5])}, "memory shares and demands go with a capacity"),
    (MEMORY | {"capacity_Bps": 0.0}, "memory shares and demands go with a capacity"),
    ({"capacity_Bps": 1.0}, "memory shares and demands go with a capacity"),
    ({"capacity_Bps": -1.0}, "zero or more, and finite"),
    ({"capacity_Bps": np.nan}, "zero or more, and finite"),
    ({"capacity_Bps": np.inf}, "zero or more, and finite"),
]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *WRONG_VALUES,
        *(({"seconds": np.array([1.0, bad])}, "zero or more, and finite") for bad in (-1.0, np.nan, np.inf, -np.inf)),
        *(({name: bad}, "zero or more, and finite") for name in ("delay_s", "per_poller_s") for bad in (-1.0, np.nan)),
        ({"position": np.array([0, 0], I32)}, "position 0 of task 1 is outside the list or stands twice"),
        ({"position": np.array([0, 2], I32)}, "position 2 of task 1 is outside"),
        ({"position": np.array([-1, 0], I32)}, "position -1 of task 0 is outside"),
        ({"position": np.array([0], I32)}, "position needs one entry a task"),
        ({"executors": 0}, "at least one executor"),
        ({"executors": 2**31}, "at least one executor"),
        ({"discipline": "best"}, "there is no discipline best"),
        (MEMORY | {"memory_share": np.array([0.5, 1.1])}, "a memory share is from 0 to 1"),
        (MEMORY | {"memory_share": np.array([np.nan, 1])}, "a memory share is from 0 to 1"),
        (MEMORY | {"demand_Bps": np.array([1, -1], I64)}, "a demand is from 0"),
        (MEMORY | {"demand_Bps": np.array([1, 2**63 - 1], I64)}, "a demand is from 0"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values_of_a_list(native: Core, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.replay_list(**LIST | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *WRONG_VALUES,
        ({"widths": np.array([2, 1], I32)}, "one row a task"),
        ({"widths": np.array([3, 1, 2, 1], I32)}, "a candidate width is not one of the machine's"),
        ({"widths": np.array([2, 0, 2, 1], I32)}, "a candidate width is not one of the machine's"),
        ({"widths": np.array([2, -1, 2, 1], I32)}, "a candidate width is not one of the machine's"),
        ({"seconds": np.array([1, 2, np.nan, 1])}, "zero or more, and finite"),
        ({"noise": np.ones(3)}, "noise one entry or none"),
        ({"noise": np.array([1.0, -1.0])}, "zero or more, and finite"),
        ({"candidates": 0}, "at least one core, candidate and task"),
        ({"candidates": 3}, "one row a task"),
        ({"most": 0}, "at least one core, candidate and task"),
        ({"cores": 0}, "at least one core, candidate and task"),
        ({"cores_per_tile": 0}, "cores are whole tiles"),
        ({"cores": 3, "cores_per_tile": 2}, "cores are whole tiles"),
        ({"dispatch_s": -1.0}, "zero or more, and finite"),
        ({"resize_s": np.nan}, "zero or more, and finite"),
    ],
    ids=str,
)
def test_wrong_values_of_co_running(native: Core, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.replay_corun(**CORUN | changes)


def test_a_cycle_ends_with_tasks_left(native: Core) -> None:
    circle = {"indptr": np.array([0, 1, 2], I64), "indices": np.array([1, 0], I32)}
    assert native.replay_list(**LIST | circle)[0] == 0
    assert native.replay_corun(**CORUN | circle)[0][0] == 0


def test_seconds_beyond_all_numbers(native: Core) -> None:
    """The pressure of a shared memory makes them infinite, and infinity minus infinity is no time."""
    endless = {
        "indptr": np.zeros(4, I64), "indices": np.empty(0, I32), "seconds": np.array([1.7e308, 1.7e308, 1.0]),
        "memory_share": np.ones(3), "demand_Bps": np.array([2**42, 2**42, 2**40]), "capacity_Bps": 2.0**42,
        "discipline": "fifo", "executors": 2,
    }  # fmt: skip
    with pytest.raises(OverflowError, match="beyond all numbers"):
        native.replay_list(**LIST | endless)
    with pytest.raises(OverflowError, match="beyond all numbers"):
        native.replay_list(**LIST | {"seconds": np.full(2, 1.7e308)})


def test_more_candidates_than_numbers(native: Core) -> None:
    """2 x 2^63 is 0, modulo 2^64."""
    nothing = {"widths": np.empty(0, I32), "seconds": NONE, "candidates": 2**63}
    with pytest.raises(ValueError, match="one row a task"):
        native.replay_corun(**CORUN | nothing)


small = st.integers(-1, 4)
second = st.sampled_from([0.0, 0.5, 1.0, 2.0, 1e-300, -1.0, np.nan])


@settings(max_examples=300)
@given(st.data())
def test_anything_that_has_the_right_types_is_replayed_or_refused(data: st.DataObject) -> None:
    module, n, m = find(), data.draw(st.integers(0, 4)), data.draw(st.integers(0, 4))
    assert module is not None

    def array(values: st.SearchStrategy[Any], dtype: npt.DTypeLike, size: int) -> npt.NDArray[Any]:
        off = data.draw(st.sampled_from([0, 0, 0, 0, 0, 1]))
        return np.array(data.draw(st.lists(values, min_size=size + off, max_size=size + off)), dtype)

    def numbers(*names: str) -> dict[str, Any]:
        return {name: data.draw(small) for name in names}

    rows = sorted(array(st.integers(0, m), I64, n + 1).tolist())
    graph = {"indptr": np.array([0, *rows[1:-1], m][: len(rows)], I64), "indices": array(small, I32, m)}
    memory = data.draw(st.sampled_from([0, n, 2 * n]))
    shared = {
        "memory_share": array(st.sampled_from([0.0, 0.3, 1.0]), F64, memory), "capacity_Bps": float(bool(memory)),
        "demand_Bps": array(st.integers(0, 9), I64, memory), "progress": None,
    }  # fmt: skip
    costs = {"delay_s": data.draw(second), "per_poller_s": data.draw(second)}
    position = np.array(data.draw(st.permutations(range(n))), I32)
    discipline = data.draw(st.sampled_from(["rank", "fifo", "lifo"]))
    runs: list[tuple[Any, dict[str, Any]]] = [
        (module.replay_list, {**numbers("executors"), **costs, "seconds": array(second, F64, n),
                              "position": position, "discipline": discipline}),
        (module.replay_corun, {**numbers("candidates", "most", "cores", "cores_per_tile"),
                               "widths": array(small, I32, 2 * n), "seconds": array(second, F64, 2 * n),
                               "noise": array(second, F64, 0), "dispatch_s": 0.0, "resize_s": 0.5}),
    ]  # fmt: skip
    for run, arguments in runs:
        try:
            result = run(**graph, **shared, **arguments)
        except (ValueError, TypeError):
            continue
        done = result[0] if isinstance(result[0], int) else result[0][0]
        assert 0 <= done < len(graph["indptr"])
