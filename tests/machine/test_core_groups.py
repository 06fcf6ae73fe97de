"""Core groups of the SW26010: rows, columns, groups, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.core_groups import CoreGroups, CoreGroupsTable


def groups(n_cores: int = 256, per_tile: int = 64, **numbers: float) -> CoreGroups:
    given_numbers = {
        "rows": (8, ""),
        "columns": (8, ""),
        "register_transfer": (7.5, "ns"),
        "between_groups": (160.0, "ns"),
    }
    table = {
        key: {"value": float(numbers.get(key, value)), "unit": unit, "source": "a test", "confidence": "low"}
        for key, (value, unit) in given_numbers.items()
    }
    return CoreGroups.of(CoreGroupsTable.model_validate({"kind": "core_groups", **table}), n_cores, per_tile)


@pytest.mark.parametrize(
    ("to", "hops", "time_ns"),
    [(9, 0, 0), (15, 1, 7.5), (57, 1, 7.5), (0, 2, 15), (63, 2, 15), (64, 3, 160), (64 + 9, 3, 160)],
)
def test_registers_reach_along_rows_and_columns(to, hops, time_ns):
    """Core 9 stands in row 1, column 1 of group 0; core 15 in its row, core 57 in its column."""
    assert groups().hops(9)[to] == hops
    assert groups().transfer_s(9)[to] == pytest.approx(time_ns * 1e-9)


def test_each_group_has_its_memory_and_is_a_tile():
    sw = groups()
    assert np.bincount(sw.domain_of).tolist() == [64] * 4
    assert (sw.domain_of == sw.tile_of).all()
    assert (sw.cores_per_tile, sw.n_domains) == (64, 4)


def test_groups_stay_whole():
    assert groups().resized(128).n_domains == 2
    assert groups().resized(512).resized(256) == groups()
    with pytest.raises(
        MachineError, match="100 cores: a core group has 64 cores and stays whole; try 64 or 128"
    ):
        groups().resized(100)
    with pytest.raises(MachineError, match=r"10 cores: a core group .*try 64 or 128"):
        groups().resized(10)


def test_impossible_groups_are_errors():
    with pytest.raises(
        MachineError, match=r"rows x columns = 8 x 8 are 64 cores a group.*cores\.per_tile is 2"
    ):
        groups(256, 2)
    with pytest.raises(ValidationError, match="too small; the least is 1"):
        groups(rows=0)
    with pytest.raises(ValidationError, match="not a whole number"):
        groups(columns=2.5)


def test_every_number_changes_a_result():
    base = groups().transfer_s(9)
    assert not np.array_equal(groups(register_transfer=8.0).transfer_s(9), base)
    assert not np.array_equal(groups(between_groups=170.0).transfer_s(9), base)
    assert not np.array_equal(groups(rows=4, columns=16).hops(9), groups().hops(9))
    assert ss.machine("sw26010[cores=64]").n_domains == 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_distances_are_distances(count, rows, columns):
    found = groups(count * rows * columns, rows * columns, rows=rows, columns=columns)
    hops = np.array([found.hops(core) for core in range(found.n_cores)])
    assert (hops == hops.T).all()
    assert ((hops == 0) == np.eye(found.n_cores, dtype=bool)).all()
    assert (hops[:, :, None] <= hops[:, None, :] + hops.T[None]).all()
    times = np.array([found.transfer_s(core) for core in range(found.n_cores)])
    assert (times == times.T).all()
    assert sum(box.core >= 0 for box in found.picture().boxes) == found.n_cores
    assert len(found.picture().links) >= count - 1
