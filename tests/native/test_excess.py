"""The compiled walk through a schedule: arrays that fit, and arrays that do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .conftest import Bound

Arguments = dict[str, Any]
I32, I64 = np.int32, np.int64
CORES = np.array([0, 1], I32)


@pytest.fixture
def walked(sharing: Arguments) -> Arguments:
    """Two tasks at once on the two cores of one tile; both wait for the memory all the time."""
    memory = {"domain_of": [0, 0], "capacity_Bps": 1e10, "tiles": False, "cores": False}
    return {
        "successors": (np.zeros(3, I64), np.empty(0, I32)),
        "task": np.array([0, 1], I32),
        "start_order": np.array([1, 0], I32),
        "start_s": np.zeros(2),
        "finish_s": np.array([2.0, 4.0]),
        "teams": (np.array([0, 1, 2], I64), CORES),
        "team": CORES,
        "loads": (np.ones(2), np.zeros(2), np.full(2, 10**10, I64), np.ones(2)),
        "watched": np.ones(2, np.bool_),
        "shared": sharing | memory,
    }


def test_what_is_watched(bound: Bound, walked: Arguments) -> None:
    """Each asks for all of the bandwidth: half of the 2 s together are slow-down."""
    both = bound.module.excess_seconds(**bound.all(walked)).reshape(2, 5)
    assert both[:, 1].tolist() == [1, 1]
    assert not both[:, [0, 2, 3, 4]].any()
    walked["watched"] = np.array([False, True])
    assert bound.module.excess_seconds(**bound.all(walked)).reshape(2, 5)[:, 1].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"successors": (np.array([0, 1, 0], I64), np.empty(0, I32))}, "must not decrease"),
        ({"start_order": np.array([0, 0], I32)}, "names each run once"),
        ({"start_order": np.array([0, 2], I32)}, "names each run once"),
        ({"start_order": np.array([0], I32)}, "names each run once"),
        ({"task": np.array([1, 0], I32)}, "the runs of all tasks come first"),
        ({"task": np.array([0], I32)}, "the runs of all tasks come first"),
        ({"task": np.array([0, 1, 2], I32)}, "one entry a run"),
        ({"start_s": np.zeros(3)}, "one entry a run"),
        ({"watched": np.ones(1, np.bool_)}, "one entry a run"),
        ({"teams": (np.array([0, 2], I64), CORES)}, "team does not exist"),
        ({"teams": (np.array([0, 2, 2], I64), CORES)}, "has no threads"),
        ({"teams": (np.array([1, 2], I64), CORES)}, "teams need a table of rows"),
        ({"teams": (np.array([0, 1, 2], I64), CORES * 2)}, "a hardware thread does not exist"),
        ({"team": np.array([-1, 0], I32)}, "team does not exist"),
        (
            {"loads": (np.array([0.5, 1.5]), np.zeros(2), np.ones(2, I64), np.ones(2))},
            "a share is from 0 to 1",
        ),
        ({"loads": (np.ones(2), np.zeros(2), np.array([-1, 1], I64), np.ones(2))}, "a demand is from 0"),
        ({"loads": (np.ones(2), np.zeros(2), np.full(2, 2**61, I64), np.ones(2))}, "add up to 2"),
    ],
    ids=str,
)
def test_wrong_values(bound: Bound, walked: Arguments, changes: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bound.module.excess_seconds(**bound.all(walked | changes))


@pytest.mark.parametrize(
    "changes",
    [{"start_order": np.zeros(2, I64)}, {"watched": np.ones(2)}, {"shared": None}, {"team": [0, 1]}],
    ids=str,
)
def test_wrong_types(bound: Bound, walked: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError):
        bound.module.excess_seconds(**bound.all(walked | changes))
