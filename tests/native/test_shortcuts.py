"""What runs past the queue, as the compiled module takes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simsched.native import Core

I32, I64 = np.int32, np.int64
Arguments = dict[str, Any]


def test_shortcuts_that_fit(native: Core, listed: Arguments, loaded: Arguments, cuts: Arguments) -> None:
    """0 runs for 4 s on executor 1, the single-threaded one, and 1 at once after it, there, for 8 s."""
    done, _, _, finish_s, executor, _ = native.replay_list(**listed | {"shortcuts": native.Shortcuts(**cuts)})
    assert (done, finish_s.tolist(), executor.tolist()) == (2, [4, 12], [1, 1])
    asked = {key: loaded[key] for key in ("memory_share", "overhead_share", "demand_Bps")}
    shared = listed | loaded | {"shortcuts": native.Shortcuts(**cuts | asked)}
    assert native.replay_list(**shared)[3].tolist() == [4, 12]


def test_shortcuts_that_nobody_can_take(native: Core, listed: Arguments, cuts: Arguments) -> None:
    """Without single-threaded executors, what they would run is left."""
    none = {"singles": np.empty(0, I32), "seconds": np.empty(0)}
    assert native.replay_list(**listed | {"shortcuts": native.Shortcuts(**cuts | none)})[0] == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"apart": np.zeros(3, bool)}, "shortcuts need one entry a task"),
        ({"inline": np.zeros(0, bool)}, "shortcuts need one entry a task"),
        ({"seconds": np.ones(1)}, "seconds of single-threaded executors"),
        ({"singles": np.empty(0, I32)}, "seconds of single-threaded executors"),
        ({"seconds": np.array([1.0, -1.0])}, "seconds"),
        ({"singles": np.array([-1], I32)}, "a hardware thread does not exist"),
        ({"memory_share": np.ones(2)}, "shares and demands go with what is shared"),
        ({"before_indptr": np.zeros(1, I64), "before_indices": np.empty(0, I32)}, "predecessors need one row a task"),
        ({"before_indices": np.array([2], I32)}, "index 2 is outside"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_shortcuts(
    native: Core, listed: Arguments, cuts: Arguments, changes: Arguments, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        native.replay_list(**listed | {"shortcuts": native.Shortcuts(**cuts | changes)})


@pytest.mark.parametrize(
    "changes",
    [
        {"apart": np.zeros(2)},
        {"inline": [True, False]},
        {"singles": np.zeros(1, I64)},
        {"demand_Bps": np.empty(0)},
        {"buffered": 1},
        {"before_indptr": None},
    ],
    ids=str,
)
def test_wrong_types_of_shortcuts(native: Core, cuts: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.Shortcuts(**cuts | changes)
