"""The mesh of Knights Landing: numbering, hops, cluster modes and times, computed by hand."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.mesh import Mesh, MeshTable, mean_distance

SHARED = Path(__file__).parents[2] / "../shared/measurements"

KNL = (
    "E E I I E E",
    "T T I I T T",
    "T T T T T T",
    "T T T T T T",
    "M T T T T M",
    "T T T T T T",
    "T T T T T T",
    "T T T T T T",
    "E E X X E E",
)
OFF = ((3, 0), (5, 0), (3, 5), (5, 5))


def mesh(
    layout: Any = KNL,
    disabled: Any = OFF,
    n_cores: int = 68,
    per_tile: int = 2,
    cluster: str = "quadrant",
    **times_ns: float,
) -> Mesh:
    times = {"hop_y": 1.0, "hop_x": 2.0, "same_tile": 40.0, "other_tile": 90.0} | times_ns
    table: dict[str, Any] = {
        key: {"value": float(value), "unit": "ns", "source": "a test", "confidence": "low"}
        for key, value in times.items()
    }
    table |= {"kind": "mesh", "layout": layout, "disabled": disabled, "cluster": cluster}
    return Mesh.of(MeshTable.model_validate(table), n_cores, per_tile)


def test_tiles_are_numbered_row_by_row_over_positions_in_use():
    """Row 1 holds tiles 0-3 at columns 0, 1, 4, 5; row 3 holds 10-13 at columns 1-4, its ends being off."""
    at = mesh().stops.enabled.tolist()
    assert at[:4] == [[1, 0], [1, 1], [1, 4], [1, 5]]
    assert at[10:14] == [[3, 1], [3, 2], [3, 3], [3, 4]]
    assert at[33] == [7, 5]


@pytest.mark.parametrize(
    ("core", "to", "vertical", "horizontal"),
    [
        (0, 1, 0, 0),  # one tile
        (0, 2, 0, 1),  # (1, 0) to (1, 1)
        (0, 6, 0, 5),  # (1, 0) to (1, 5)
        (0, 8, 1, 0),  # (1, 0) to (2, 0)
        (0, 67, 6, 5),  # (1, 0) to (7, 5): corner to corner
        (20, 42, 2, 3),  # (3, 1) to (5, 4)
        (29, 35, 0, 3),  # (4, 1) to (4, 4)
    ],
)
def test_hops_between_named_cores(core, to, vertical, horizontal):
    knl = mesh()
    assert knl.vertical_hops(core)[to] == vertical
    assert knl.horizontal_hops(core)[to] == horizontal
    assert knl.hops(core)[to] == knl.hops(to)[core] == vertical + horizontal
    assert len(knl.route(core, to)) == vertical + horizontal + 1


def test_messages_go_along_the_column_first():
    """From (1, 0) to (2, 2), and back along the other corner."""
    knl = mesh()
    assert knl.route(0, 12) == [(1, 0), (2, 0), (2, 1), (2, 2)]
    assert knl.route(12, 0) == [(2, 2), (1, 2), (1, 1), (1, 0)]


def test_disabled_positions_move_the_numbering():
    """With (3, 0) working and the last tile off, cores 20 and 21 stand at (3, 0) and all later ones one tile on."""
    other = mesh(disabled=((5, 0), (3, 5), (5, 5), (7, 5)))
    assert other.stops.enabled[10].tolist() == [3, 0]
    assert mesh().stops.enabled[10].tolist() == [3, 1]
    assert other.hops(0)[20] == 2
    assert mesh().hops(0)[20] == 3


def test_hops_to_memory_and_io():
    """Core 0 stands at (1, 0); the EDCs in rows 0 and 8, DDR at both ends of row 4, IIO at (0..1, 2..3)."""
    knl = mesh()
    assert knl.hops_to(0, "E").tolist() == [1, 2, 5, 6, 7, 8, 11, 12]
    assert knl.hops_to(0, "M").tolist() == [3, 8]
    assert knl.hops_to(0, "I").tolist() == [3, 4, 2, 3]
    assert knl.hops_to(30, "M").tolist() == [2, 3]  # (4, 2)


def test_seconds_of_a_line_on_three_tiles():
    """Three tiles in a row, a hop of 1 ns: means to directories 1, 2/3, 1.

    Neighbours: 1 back, 1 + 2/3 over the directory; ends: 2 and 1 + 1. Median 8/3 ns, so that with 10 ns the base is
    22/3, and the ends are 34/3 apart.
    """
    row = mesh(("T T T",), (), 6, hop_x=1.0, other_tile=10.0)
    assert row.base_s == pytest.approx(22e-9 / 3)
    assert row.transfer_s(0) * 1e9 == pytest.approx([0, 40, 10, 10, 34 / 3, 34 / 3])
    assert row.transfer_s(3) * 1e9 == pytest.approx([10, 10, 40, 0, 10, 10])


def test_clusters_keep_directories_near():
    """Two by two tiles, hops of 1 ns (y) and 2 ns (x), each a cluster of its own in SNC-4.

    One domain: 3 ns over the directories; pairs take 5, 4, 6, 6, 4, 5 in all, median 5, base 15 - 5. SNC-4: the
    directory is at either end, so tile 0 to 1 takes 2 back and 2 over it.
    """
    square = ("T T", "T T")
    quadrant = mesh(square, (), 4, 1, other_tile=15.0)
    assert quadrant.transfer_s(0) * 1e9 == pytest.approx([0, 15, 14, 16])
    snc4 = mesh(square, (), 4, 1, "snc4", other_tile=15.0)
    assert snc4.domain_of.tolist() == [0, 1, 2, 3]
    assert snc4.base_s == quadrant.base_s
    assert snc4.transfer_s(0) * 1e9 == pytest.approx([0, 14, 12, 16])


def test_clusters_of_34_tiles_are_unequal():
    """10, 10, 9 and 9 positions, one of each off: 18, 18, 16 and 16 cores, as real nodes show."""
    snc4 = mesh(cluster="snc4")
    assert np.bincount(snc4.domain_of).tolist() == [18, 18, 16, 16]
    assert snc4.n_domains == 4
    assert snc4.domain_of.tolist() == [0] * 18 + [1] * 18 + [2] * 16 + [3] * 16
    assert mesh(cluster="a2a").n_domains == mesh().n_domains == 1


def test_clusters_without_cores_are_no_domains():
    assert mesh(cluster="snc4").resized(4).domain_of.tolist() == [0] * 4


def test_fewer_cores_disable_the_later_tiles():
    small = mesh().resized(20)
    assert small.stops.enabled.tolist() == mesh().stops.enabled[:10].tolist()
    assert small.hops(0).tolist() == mesh().hops(0)[:20].tolist()
    assert len(small.stops.positions()) == 38
    assert small.base_s == mesh().base_s


def test_more_cores_add_rows_of_tiles_above_the_lowest_memory():
    """128 cores: 30 tiles more, five rows of six; 70 cores: one tile more, at (8, 0), the rest of its row off."""
    grown = mesh().resized(128)
    assert grown.stops.rows == (*(r.replace(" ", "") for r in KNL[:8]), *["TTTTTT"] * 5, "EEXXEE")
    assert sorted(grown.stops.disabled) == sorted(OFF)
    assert grown.hops_to(0, "E").tolist() == [1, 2, 5, 6, 12, 13, 16, 17]
    one = mesh().resized(70)
    assert one.stops.enabled[34].tolist() == [8, 0]
    assert len(one.stops.disabled) == 9


def test_the_way_to_a_size_does_not_matter():
    assert mesh().resized(128).resized(6).resized(68) == mesh()
    assert mesh().resized(128) != mesh()


@pytest.mark.parametrize("cores", [67, 69, 129])
def test_an_odd_tile_is_an_error(cores):
    with pytest.raises(
        MachineError, match=f"{cores} cores: a tile has 2 cores .*try {cores - 1} or {cores + 1}"
    ):
        mesh().resized(cores)


def test_no_cores_are_an_error():
    with pytest.raises(MachineError, match="0 cores: expected at least 2"):
        mesh().resized(0)


@pytest.mark.parametrize("cores", [66, 70])
def test_a_mesh_of_another_size_is_an_error(cores):
    with pytest.raises(
        MachineError, match=f"layout has 34 tile positions in use .* {cores} cores, 2 per tile, need"
    ):
        mesh(n_cores=cores)


@pytest.mark.parametrize(
    ("layout", "disabled", "says"),
    [
        (("T T", "T Q"), (), r"row 1 has 'Q'; a stop is one of E, I, M, T, X"),
        (("T T", "T"), (), "row 1 has 1 stops, row 0 has 2"),
        (("E I",), (), "no stop is a tile"),
        (("", ""), (), "row 0 has 0 stops"),
        (("T " * 65,), (), "row 0 has 65 stops; expected 1 to 64"),
        ((), (), "at least 1 item"),
        (("T T",), ((0, 2),), r"disabled: \[0, 2\] is not a tile"),
        (("T M",), ((0, 1), (-1, 0)), r"\[0, 1\] is not a tile of the layout; \[-1, 0\] is not a tile"),
        (("T T",), ((0, 1), (0, 1)), r"\[0, 1\] is listed more than once"),
    ],
)
def test_impossible_layouts_are_errors(layout, disabled, says):
    with pytest.raises(ValidationError, match=says):
        mesh(layout, disabled, 2)


def test_unknown_keys_and_modes_are_errors():
    with pytest.raises(ValidationError, match="'a2a', 'quadrant' or 'snc4'"):
        mesh(cluster="hemisphere")
    with pytest.raises(ValidationError, match="hop_z"):
        mesh(hop_z=1.0)


def test_a_time_shorter_than_its_hops_is_an_error():
    with pytest.raises(
        MachineError, match=r"other_tile is 1e-09 s, and the hops of such a transfer alone take"
    ):
        mesh(other_tile=1.0)


def test_every_number_changes_a_result():
    base = mesh().transfer_s(0)
    for change in (
        {"hop_y": 1.5},
        {"hop_x": 2.5},
        {"same_tile": 41.0},
        {"other_tile": 91.0},
        {"cluster": "snc4"},
    ):
        assert not np.array_equal(mesh(**change).transfer_s(0), base), change
    assert mesh((KNL[0].replace("E", "X"), *KNL[1:])).hops_to(0, "E").tolist() == [7, 8, 11, 12]


def test_the_machine_in_its_modes():
    assert ss.machine("knl-7250").n_domains == 1
    assert ss.machine("knl-7250[cluster=snc4]").n_domains == 4
    assert ss.machine("knl-7250[cores=128]").n_tiles == 64
    far = ss.machine("knl-7250[structure.hop_x=3]").transfer_s(0)
    assert far[6] > ss.machine("knl-7250").transfer_s(0)[6]
    assert np.median(_pairs(ss.machine("knl-7250").structure)) == pytest.approx(91.1)


def _pairs(structure: Any) -> np.ndarray:
    """Return ns of all pairs of cores of different tiles."""
    tile = structure.tile_of
    rows = [structure.transfer_s(core)[tile > tile[core]] for core in range(structure.n_cores)]
    return np.concatenate(rows) * 1e9


def test_latencies_spread_as_measured():
    """The hops were not fitted: that 90 % of the pairs lie within 2 ns of those measured is a result."""
    path = SHARED / "knl7210_core_to_core_latency_ns.csv"
    if not path.exists():
        pytest.skip(f"the folder of measurements is not there ({SHARED.name})")
    with path.open(newline="") as file:
        measured = np.array([[float(x or "nan") for x in row] for row in csv.reader(file)])
    tile = np.arange(64) // 2
    other = measured[(tile[:, None] != tile) & np.isfinite(measured)]
    modelled = _pairs(ss.machine("knl-7210").structure)
    assert np.median(modelled) == pytest.approx(np.median(other), abs=0.1)
    for share in (5, 95):
        assert np.percentile(modelled, share) == pytest.approx(np.percentile(other, share), abs=2.0)
    assert 0.5 < modelled.std() / other.std() < 1.5
    assert other.min() - 5 < modelled.min() < modelled.max() < other.max() + 5


layouts = st.integers(1, 5).flatmap(
    lambda width: st.lists(st.text("TTTEMIX", min_size=width, max_size=width), min_size=1, max_size=5).filter(
        lambda rows: any("T" in row for row in rows)
    )
)


@given(layouts, st.sampled_from(["a2a", "quadrant", "snc4"]), st.integers(1, 3), st.integers(1, 60))
def test_distances_are_distances(layout, cluster, per_tile, tiles):
    count = sum(row.count("T") for row in layout)
    found = mesh(tuple(layout), (), count * per_tile, per_tile, cluster).resized(tiles * per_tile)
    hops = np.array([found.hops(core) for core in range(found.n_cores)])
    times = np.array([found.transfer_s(core) for core in range(found.n_cores)])
    assert (hops == hops.T).all()
    assert ((hops == 0) == (found.tile_of[:, None] == found.tile_of)).all()
    assert (hops[:, :, None] <= hops[:, None, :] + hops.T[None]).all()
    np.testing.assert_allclose(times, times.T, rtol=1e-12)
    assert (times.diagonal() == 0).all()
    assert (times[hops > 0] > 0).all()
    assert set(found.domain_of.tolist()) == set(range(found.n_domains))
    assert sum(box.core >= 0 for box in found.picture().boxes) == found.n_cores


@given(st.lists(st.integers(0, 50), min_size=1), st.lists(st.integers(-5, 60), min_size=1))
def test_mean_distances(to, at):
    expected = np.abs(np.array(at)[:, None] - np.array(to)).mean(1)
    np.testing.assert_allclose(mean_distance(np.array(at), np.array(to)), expected, atol=1e-12)


@pytest.mark.parametrize("row", ["3", True, 3.0])
def test_positions_are_whole_numbers(row):
    with pytest.raises(ValidationError, match="valid integer"):
        mesh(disabled=((row, 0), *OFF[1:]))
