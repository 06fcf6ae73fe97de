"""What runs past the queue, as the compiled module takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .conftest import Bound

I32, I64 = np.int32, np.int64
Arguments = dict[str, Any]


def test_shortcuts_that_fit(bound: Bound, listed: Arguments, loaded: Arguments, cuts: Arguments) -> None:
    """0 runs for 4 s on executor 1, the single-threaded one, and 1 at once after it, there, for 8 s."""
    done, _, _, finish_s, executor, _ = bound.replay_list(listed | {"shortcuts": cuts})
    assert (done, finish_s.tolist(), executor.tolist()) == (2, [4, 12], [1, 1])
    shared = listed | loaded | {"shortcuts": cuts | {"loads": loaded["loads"]}}
    assert bound.replay_list(shared)[3].tolist() == [4, 12]


def test_shortcuts_that_nobody_can_take(bound: Bound, listed: Arguments, cuts: Arguments) -> None:
    """Without single-threaded executors, what they would run is left."""
    none = {"threads": np.empty(0, I32), "seconds": np.empty(0)}
    assert bound.replay_list(listed | {"shortcuts": cuts | none})[0] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"single_threaded": np.zeros(3, bool)}, "shortcuts need one entry a task"),
        ({"inline": np.zeros(0, bool)}, "shortcuts need one entry a task"),
        ({"seconds": np.ones(1)}, "seconds of single-threaded executors"),
        ({"threads": np.empty(0, I32)}, "seconds of single-threaded executors"),
        ({"threads": np.array([-1], I32)}, "a hardware thread does not exist"),
        (
            {"loads": (np.ones(2), np.zeros(2), np.ones(2, I64), np.ones(2))},
            "shares and demands go with what is shared",
        ),
        ({"predecessors": (np.zeros(1, I64), np.empty(0, I32))}, "predecessors need one row a task"),
        ({"predecessors": (np.array([0, 0, 1], I64), np.array([2], I32))}, "index 2 is outside"),
    ],
    ids=str,
)
def test_wrong_shortcuts(
    bound: Bound, listed: Arguments, cuts: Arguments, changes: Arguments, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        bound.replay_list(listed | {"shortcuts": cuts | changes})
