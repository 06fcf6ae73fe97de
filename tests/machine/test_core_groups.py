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
    """Return groups of 8 x 8 cores; `management` is left out of the table where it is not given."""
    given_numbers = {
        "rows": (8, ""),
        "columns": (8, ""),
        "register_transfer": (7.5, "ns"),
        "between_groups": (160.0, "ns"),
        **({"management": (0, "")} if "management" in numbers else {}),
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


@pytest.mark.parametrize(
    ("core", "to", "hops", "time_ns"),
    [(64, 64, 0, 0), (64, 9, 2, 160), (9, 64, 2, 160), (64, 65, 3, 160), (64, 129, 3, 160), (9, 15, 1, 7.5)],
)
def test_management_cores_communicate_through_memory(core, to, hops, time_ns):
    """Core 64 manages cores 0 to 63, core 129 those from 65 on."""
    managed = groups(130, 65, management=1)
    assert managed.hops(core)[to] == hops
    assert managed.transfer_s(core)[to] == pytest.approx(time_ns * 1e-9)


def test_the_ways_of_a_management_core_lead_through_the_memory_of_its_group():
    links = groups(130, 65, management=1).interconnect
    names = [
        [links.links[link].name for link in links.ways([source], [target]).indices]
        for source, target in ((64, 9), (9, 64), (64, 129), (129, 66), (0, 9))
    ]
    assert names == [
        ["group 0 memory"],
        ["group 0 memory"],
        ["group 0 memory", "group 1 memory"],
        ["group 1 memory"],
        ["group 0 row 0", "group 0 column 1"],
    ]


def test_a_chip_has_its_management_cores_unless_told_otherwise():
    chip, grid = ss.machine("sw26010"), ss.machine("sw26010[mpes=false]")
    assert (chip.n_cores, grid.n_cores, grid.kinds) == (260, 256, None)
    assert np.flatnonzero(chip.kind_of).tolist() == [64, 129, 194, 259]
    assert chip.kinds.names == ("CPE", "MPE")
    assert ss.machine("sw26010[mpes=true]").structure == chip.structure
    assert ss.machine(str(grid)) == grid
    assert ss.machine("sw26010[mpes=false,cores=128]").n_domains == 2
    assert ss.machine("sw26010[cores=130]").kinds.counts == (128, 2)
    with pytest.raises(MachineError, match="this machine has no management cores"):
        ss.machine("knl-7250[mpes=false]")
    with pytest.raises(MachineError, match="expected true or false"):
        ss.machine("sw26010[mpes=1]")


@pytest.mark.parametrize("engine", ["simpy", "native"])
def test_management_cores_run_tasks_and_teams_do_not_mix_kinds(engine):
    """One task of 1 s on each of 256 CPEs, two of half the time on each of 4 MPEs; teams of 64 are CPEs of a group."""
    graph = ss.TaskGraph.from_edges([1.0] * 264, kinds="mine", flops=[2e9] * 264)
    free = "sw26010[contention=false,runtime.dispatch=0,runtime.pop=0,runtime.pop_per_poller=0]"
    schedule = ss.simulate(graph, free, "heft", layout="260x1", engine=engine)
    assert schedule.makespan_s == 1.0
    assert schedule.tasks.groupby("first_core").size().to_dict() == {
        core: 2 if core % 65 == 64 else 1 for core in range(260)
    }
    teams = ss.policy("fifo").executors(ss.machine(free), ss.Layout(4, 64))
    assert [teams.neighbours(i)[[0, -1]].tolist() for i in range(4)] == [
        [0, 63],
        [65, 128],
        [130, 193],
        [195, 258],
    ]


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
        MachineError, match=r"rows x columns = 8 x 8 are 64 cores per group.*cores\.per_tile is 2"
    ):
        groups(256, 2)
    with pytest.raises(MachineError, match=r"are 64 cores per group, and 1 for management, .*per_tile is 64"):
        groups(management=1)
    with pytest.raises(ValidationError, match="too small; the least is 1"):
        groups(rows=0)
    with pytest.raises(ValidationError, match="not a whole number"):
        groups(columns=2.5)


def test_every_number_changes_a_result():
    base = groups().transfer_s(9)
    assert not np.array_equal(groups(register_transfer=8.0).transfer_s(9), base)
    assert not np.array_equal(groups(between_groups=170.0).transfer_s(9), base)
    assert not np.array_equal(groups(rows=4, columns=16).hops(9), groups().hops(9))
    assert ss.machine("sw26010[cores=65]").n_domains == 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2))
def test_distances_are_distances(count, rows, columns, management):
    tile = rows * columns + management
    found = groups(count * tile, tile, rows=rows, columns=columns, management=management)
    hops = np.array([found.hops(core) for core in range(found.n_cores)])
    assert (hops == hops.T).all()
    assert ((hops == 0) == np.eye(found.n_cores, dtype=bool)).all()
    assert (hops[:, :, None] <= hops[:, None, :] + hops.T[None]).all()
    times = np.array([found.transfer_s(core) for core in range(found.n_cores)])
    assert (times == times.T).all()
    assert sum(box.core >= 0 for box in found.picture().boxes) == found.n_cores
    assert len(found.picture().links) >= count - 1
