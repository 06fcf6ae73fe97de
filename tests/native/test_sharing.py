"""What running tasks share, as the compiled module takes it: numbers that describe a machine, or none at all."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from simsched.native import Core

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
    native: Core, sharing: Arguments, loaded: Arguments, listed: Arguments, changes: Arguments
) -> None:
    threads = {"executors_indices": np.array([(sharing | changes)["n_threads"] - 1], np.int32)}
    shared = {"shared": native.Sharing(**sharing | changes)}
    done, *_, finish_s, _, _ = native.replay_list(**listed | loaded | shared | threads)
    assert done == 2
    assert 0 < finish_s[0] < finish_s[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"bandwidth": 1},
        {"remote": None},
        {"tiles": "yes"},
        {"tile_of": None},
        {"tile_of": "01"},
        {"tile_of": 0},
        {"tile_of": [0, 0.5]},
        {"tile_of": [0, None]},
        {"tile_of": [0, 2**31]},
        {"domain_of": [0, -(2**31) - 1]},
        {"domain_of": {0: 0, 1: 1}},
        {"domain_of": np.zeros((2, 2))},
        {"segment_of": None},
        {"segment_of": ["0", "1"]},
        {"n_segments": 1.5},
        {"n_tiles": -1},
        {"n_tiles": 1.0},
        {"n_domains": 2**64},
        {"n_threads": None},
        {"n_threads": "2"},
        {"compute": 1.0},
        {"compute": ["1"]},
        {"waiting": [[1.0]]},
        {"capacity_Bps": "4"},
        {"capacity_Bps": None},
        {"link_Bps": [1.0]},
        {"penalty": 1j},
        {"interconnect_share": "1"},
        {"tile_slowdowns": [10**400]},
        {"tile_slowdowns": 1.0},
    ],
    ids=lambda changes: str(changes)[:60],
)
def test_wrong_types(native: Core, sharing: Arguments, changes: Arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.Sharing(**sharing | changes)


def test_missing_and_unknown_numbers(native: Core, sharing: Arguments) -> None:
    for name in sharing:
        with pytest.raises(TypeError, match="incompatible function arguments"):
            native.Sharing(**{key: value for key, value in sharing.items() if key != name})
    with pytest.raises(TypeError, match="incompatible function arguments"):
        native.Sharing(**sharing, colour=1)


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
        *(({name: [1.0, bad]}, "zero or more, and finite") for name in ("compute", "waiting")
          for bad in (-1.0, np.nan, np.inf)),
        *(({name: [0.0, 1.0]}, "throughputs are above zero") for name in ("compute", "waiting")),
        ({"compute": [1.0, 1.0, 1.0]}, "as many ways in computing as in waiting"),
        ({"waiting": [1.0]}, "as many ways in computing as in waiting"),
        *(({"penalty": bad}, "zero or more, and finite")
          for bad in (-1.0, np.nan, np.inf)),
        *(({"tile_slowdowns": [1.0, 1.0, bad]}, "zero or more, and finite") for bad in (-1.0, np.nan, np.inf)),
        *(({"tile_slowdowns": [1.0] * n}, "one entry a width") for n in (0, 2, 4)),
        *(({name: bad}, "bandwidths are above zero") for name in ("capacity_Bps", "link_Bps")
          for bad in (0.0, -1.0, np.nan, -np.inf)),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_values(native: Core, sharing: Arguments, changes: Arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        native.Sharing(**sharing | changes)


def test_it_is_made_once_and_does_not_change(native: Core, sharing: Arguments) -> None:
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


def test_half_made_ones_are_refused(
    native: Core,
    sharing: Arguments,
    loaded: Arguments,
    listed: Arguments,
    corunning: Arguments,
    asked: Arguments,
) -> None:
    kind: Any = native.Sharing
    with pytest.raises(ValueError, match="above zero"):
        (broken := kind.__new__(kind)).__init__(**sharing | {"link_Bps": 0.0})
    for half in (kind.__new__(kind), broken):
        for replay, arguments in (
            (native.replay_list, listed | loaded),
            (native.replay_corun, corunning),
            (native.replay_policy, asked),
        ):
            with (
                pytest.warns(RuntimeWarning, match="uninitialized"),
                pytest.raises(TypeError, match="incompatible function arguments"),
            ):
                replay(**arguments | {"shared": half})


def test_it_lives_as_long_as_its_replay(
    native: Core, sharing: Arguments, loaded: Arguments, asked: Arguments
) -> None:
    """Nobody but the call holds it."""

    def decide(view: object) -> None:
        """Start nothing, and make others where a freed one would have been."""
        others.extend(
            native.Sharing(**sharing | {"n_threads": 64, "tile_slowdowns": [1.0] * 65}) for _ in range(100)
        )

    others: list[object] = []
    assert native.replay_policy(**asked | {"shared": native.Sharing(**sharing), "decide": decide})[0] == 0
