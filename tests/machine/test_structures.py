"""What holds for every structure: of a kind, of a built-in machine; and the plainest kind by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.flat import Flat, FlatTable
from simsched.hwmodels.tiles import columns_of
from simsched.machine.structure import Structure
from simsched.plugins import named, registered

MACHINES = [name for name in registered("machines") if name != "host"]


def flat(n_cores: int, per_tile: int = 1, **times_ns: float) -> Flat:
    table = {
        key: {"value": value, "unit": "ns", "source": "a test", "confidence": "low"}
        for key, value in times_ns.items()
    }
    return Flat.of(FlatTable.model_validate({"kind": "flat", **table}), n_cores, per_tile)


def test_identical_cores():
    assert flat(3).hops(1).tolist() == [1, 0, 1]
    assert flat(3).transfer_s(1).tolist() == [0, 0, 0]
    assert flat(3).domain_of.tolist() == [0, 0, 0]
    assert flat(3, other_tile=5.0).transfer_s(1) * 1e9 == pytest.approx([5, 0, 5])


def test_identical_tiles():
    tiled = flat(4, 2, same_tile=1.0, other_tile=5.0)
    assert tiled.hops(1).tolist() == [0, 0, 1, 1]
    assert tiled.transfer_s(1) * 1e9 == pytest.approx([1, 0, 5, 5])
    assert tiled.resized(6).n_cores == 6
    assert tiled.resized(6).resized(4) == tiled
    with pytest.raises(MachineError, match="5 cores: a tile has 2 cores and stays whole; try 4 or 6"):
        tiled.resized(5)
    with pytest.raises(MachineError, match="3 cores: a tile has 2"):
        flat(3, 2)


def test_unknown_keys_are_errors():
    with pytest.raises(ValidationError, match="hop"):
        flat(3, hop=1.0)


@given(st.integers(1, 30), st.integers(1, 4))
def test_blocks_are_as_square_as_they_can_be(tiles, per_tile):
    boxes = flat(tiles * per_tile, per_tile).picture().boxes
    assert sorted(box.core for box in boxes if box.core >= 0) == list(range(tiles * per_tile))
    assert columns_of(tiles) ** 2 >= tiles > (columns_of(tiles) - 1) ** 2


@pytest.mark.parametrize("kind", registered("structures"))
def test_kinds_know_their_names(kind):
    found = named("structures", kind)
    assert issubclass(found, Structure)
    assert found.kind == kind


@pytest.mark.parametrize("name", MACHINES)
def test_facts_are_text(name):
    assert all(isinstance(value, str) for value in ss.machine(name).structure.facts().values())


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("factor", [2, 3])
def test_sizes_change_and_come_back(name, factor):
    structure = ss.machine(name).structure
    larger = structure.resized(factor * structure.n_cores)
    assert larger.n_cores == factor * structure.n_cores
    assert larger.cores_per_tile == structure.cores_per_tile
    assert larger.resized(structure.n_cores) == structure
    assert structure.resized(structure.cores_per_tile).n_cores == structure.cores_per_tile


def test_all_mistakes_of_a_structure_are_listed_at_once(tmp_path):
    path = tmp_path / "mine.toml"
    text = (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml").read_text("utf-8")
    for old, new in (
        ('"T T I I T T"', '"T T Q I T T"'),
        ('cluster = "quadrant" #', 'cluster = "hemisphere"\nspeed = 3 #'),
        ('hop_y      = { value = 0.588, unit = "ns"', 'hop_y = { value = -1, unit = "ns"'),
        ('hop_x      = { value = 1.176, unit = "ns"', 'hop_x = { value = 1, unit = "GB/s"'),
        ("same_tile ", "some_tile "),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    with pytest.raises(MachineError) as caught:
        ss.machine(path)
    for says in (
        str(path),
        "structure.layout: row 1 has 'Q'; a stop is one of E, I, M, T, X",
        "structure.cluster: Input should be 'a2a', 'quadrant' or 'snc4' (got 'hemisphere')",
        "structure.hop_y: -1 is too small; the least is 0",
        "structure.hop_x: unit 'GB/s' does not measure time",
        "structure.same_tile: missing",
        "structure.some_tile: unknown key",
        "structure.speed: unknown key",
    ):
        assert says in str(caught.value)


def test_impossible_structures_name_the_file(tmp_path):
    path = tmp_path / "mine.toml"
    text = (Path(ss.__file__).parent / "hwmodels" / "knl-7250.toml").read_text("utf-8")
    path.write_text(text.replace("value = 68, ", "value = 70, "), "utf-8")
    with pytest.raises(MachineError, match=rf"{re.escape(str(path))}: .*34 tile positions in use .*need 35"):
        ss.machine(path)


@pytest.mark.parametrize("name", ["knl-7250[", "knc-7120p[", "sw26010[mpes=false,", "generic["])
def test_a_million_cores(name):
    machine = ss.machine(f"{name}cores={2**20},share_bandwidth=false]")
    assert machine.transfer_s(2**20 - 1).shape == machine.hops(0).shape == (2**20,)
