"""What running tasks share, as the compiled module takes it: numbers that describe a machine, or none at all."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from .conftest import Bound

Arguments = dict[str, Any]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tile_of": (0, 0), "domain_of": np.array([0, 1])},
        {"n_threads": 8, "tile_slowdowns": [1.0] * 9},
        {"capacity_Bps": np.inf, "link_Bps": np.inf},
        {"compute": [3.0], "waiting": [0.5]},
        {"penalty": 0.0, "tile_slowdowns": [0.0, 0.0, 0.0]},
        dict.fromkeys(("bandwidth", "tiles", "cores", "interconnect", "remote"), False),
    ],
    ids=str,
)
def test_what_fits(
    bound: Bound, sharing: Arguments, loaded: Arguments, listed: Arguments, changes: Arguments
) -> None:
    shared = sharing | changes
    last = (np.array([0, 1]), np.array([shared["n_threads"] - 1], np.int32))
    done, *_, finish_s, _, _ = bound.replay_list(listed | loaded | {"shared": shared, "executors": last})
    assert done == 2
    assert 0 < finish_s[0] < finish_s[1]


TABLES, MORE = "need one entry a core", "are no more than cores"
MISSING = "tile, domain or segment does not exist"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tile_of": [], "domain_of": [], "segment_of": []}, TABLES),
        ({"tile_of": [], "domain_of": [], "segment_of": [], "n_threads": 0}, TABLES),
        *(({name: bad}, TABLES) for name in ("tile_of", "domain_of", "segment_of") for bad in ([], [0], [0, 0, 0])),
        *(({name: bad}, MORE) for name in ("n_tiles", "n_domains", "n_segments") for bad in (0, 3, 2**40, 2**64 - 1)),
        ({"n_threads": 0}, "a multiple of the cores"),
        ({"n_threads": 1}, "a multiple of the cores"),
        ({"n_threads": 3}, "a multiple of the cores"),
        ({"n_threads": 2**27}, "a multiple of the cores"),
        ({"n_threads": 2**64 - 2}, "a multiple of the cores"),
        ({"tile_of": [0, 1]}, MISSING),
        ({"tile_of": [-1, 0]}, MISSING),
        ({"tile_of": [0, 2**31 - 1]}, MISSING),
        ({"domain_of": [0, 2]}, MISSING),
        ({"domain_of": [-(2**31), 0]}, MISSING),
        ({"segment_of": [2, 0]}, MISSING),
        ({"segment_of": [0, -1]}, MISSING),
        *(({name: []}, "at least one way") for name in ("compute", "waiting")),
        ({"compute": [1.0, 1.0, 1.0]}, "as many in computing as in waiting"),
        *(({"tile_slowdowns": [1.0] * n}, "one entry a width") for n in (0, 2, 4)),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values(native: ModuleType, sharing: Arguments, changes: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.Sharing(**sharing | changes)


def test_it_is_made_once_and_does_not_change(native: ModuleType, sharing: Arguments) -> None:
    """A replay reads it without the interpreter's lock."""
    shared: Any = native.Sharing(**sharing)
    with (
        pytest.raises(TypeError, match="incompatible"),
        pytest.warns(RuntimeWarning, match="already-initialized"),
    ):
        shared.__init__(**sharing)
    with pytest.raises(AttributeError):
        shared.n_tiles = 3
    for again in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle"):
            again(shared)


def test_half_made_ones_are_refused(native: ModuleType, sharing: Arguments, asked: Arguments) -> None:
    kind: Any = native.Sharing
    with pytest.raises(ValueError, match="a multiple of the cores"):
        (broken := kind.__new__(kind)).__init__(**sharing | {"n_threads": 3})
    for half in (kind.__new__(kind), broken):
        with (
            pytest.warns(RuntimeWarning, match="uninitialized"),
            pytest.raises(TypeError, match="incompatible function arguments"),
        ):
            native.replay_policy(**asked | {"shared": half})


def test_it_lives_as_long_as_its_replay(native: ModuleType, sharing: Arguments, asked: Arguments) -> None:
    """Nobody but the call holds it."""

    def decide(view: object) -> None:
        """Start nothing, and make others where a freed one would have been."""
        others.extend(
            native.Sharing(**sharing | {"n_threads": 64, "tile_slowdowns": [1.0] * 65}) for _ in range(100)
        )

    others: list[object] = []
    assert native.replay_policy(**asked | {"shared": native.Sharing(**sharing), "decide": decide})[0][0] == 0
