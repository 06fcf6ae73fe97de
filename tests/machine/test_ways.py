"""Tables of data ways and of kinds of cores: what is possible, and clear errors for what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import simsched as ss
from simsched.errors import MachineError

GENERIC = Path(__file__).parents[2] / "hwmodels/generic.toml"


def _with(tmp_path: Path, table: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(GENERIC.read_text("utf-8").replace('name = "generic"', 'name = "mine"') + table, "utf-8")
    return path


def _number(value: object, unit: str) -> str:
    return f"{{ value = {value}, unit = '{unit}', source = 'made up', confidence = 'low' }}"


def test_a_file_states_ways(tmp_path):
    table = f"\n[data]\nmode = 'read'\nplaces = 'domain'\nlink_latency = {_number(2, 'us')}\n"
    machine = ss.machine(_with(tmp_path, table + f"link_bandwidth = {_number(3, 'GB/s')}\n"))
    assert (machine.data.mode, machine.data.places) == ("read", "domain")
    assert (machine.data.latency_s, machine.data.link_Bps) == (2e-6, 3e9)
    assert machine.varied({"link_Bps": 1.0, "data": "sent"}).data.link_Bps == 1.0
    assert machine.varied({"data": "none"}).data is None


@pytest.mark.parametrize(
    ("name", "timeless"),
    [("grace-hopper", False), ("generic[cores=1,data=sent]", False), ("generic[cores=2,data=sent]", True)]
    + [(f"grace-hopper[{away}]", True) for away in ("home=host", "route=host", "home=memory")],
)
def test_who_has_one_place_and_devices_has_no_ways_to_state(name, timeless):
    """The cores of Grace share a memory; the link of its GPU is stated."""
    machine = ss.machine(name)
    assert any("moving objects takes no time" in note for note in machine.notes) == timeless


def test_a_file_states_kinds_in_each_tile(tmp_path):
    """Tiles of three cores and one of another kind; of fewer tiles, each keeps its own."""
    table = f"\n[kinds]\nnames = ['P', 'E']\ncores = {_number([3, 1], 'core/tile')}\n"
    path = _with(tmp_path, table)
    one, four = (f'value = {cores}, {" " * 3}unit = "core/tile"' for cores in (1, 4))
    path.write_text(path.read_text("utf-8").replace(one, four), "utf-8")
    machine = ss.machine(path).varied({"cores": 8})
    assert machine.kind_of.tolist() == [0, 0, 0, 1, 0, 0, 0, 1]
    assert (machine.kinds.counts, machine.kinds.repeats) == ((6, 2), 2)
    teams = ss.policy("fifo").executors(machine, ss.Layout(4, 2))
    assert [teams.neighbours(i).tolist() for i in range(4)] == [[0, 1], [2, 4], [5, 6], [3, 7]]


def test_specs_make_the_same_machine_again():
    for spec in (
        "generic[cores=3,kinds=each,link_Bps=1.0,data=sent]",
        "knl-7250[places=tile,link_latency_s=1e-06]",
    ):
        machine = ss.machine(spec)
        again = ss.machine(str(machine))
        assert (again, again.data, again.kinds) == (machine, machine.data, machine.kinds)
    assert ss.machine("generic[kinds=none]").kinds is None
    assert ss.machine("generic[link_Bps=1.0,data=none]").data is None
    assert ss.machine("knl-7250[data=sent,places=tile]").data.place_of(ss.machine("knl-7250").structure)[
        :3
    ].tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("generic[data=mailed]", "data.mode"),
        ("generic[data=5]", "expected a name"),
        ("generic[places=4]", "expected a name"),
        ("generic[places=rack]", "data.places"),
        ("generic[link_Bps=0]", "must be above 0"),
        ("generic[link_Bps=fast]", "expected a number"),
        ("generic[link_latency_s=-1]", "too small"),
        ("generic[kinds=3]", "expected each or none"),
    ],
)
def test_impossible_variations(spec, message):
    with pytest.raises(MachineError, match=message):
        ss.machine(spec)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[kinds]\neach = true\nnames = ['P']", "each core is a kind of its own"),
        ("[kinds]\nnames = ['P', 'P']", "different names"),
        (
            f"[kinds]\nnames = ['P', 'E']\ncores = {_number([4, 4], 'core')}",
            r"mine.toml: 1 mistake: kinds.cores: 4 . 4 cores are 8; the machine has 16",
        ),
        (f"[kinds]\nnames = ['P', 'E']\ncores = {_number([16], 'core')}", "expected 2 numbers"),
        (
            f"[kinds]\nnames = ['P', 'E']\ncores = {_number([2, 1], 'core/tile')}",
            "2 . 1 cores are 3; a tile has 1",
        ),
        (
            f"[kinds]\nnames = ['P']\ncores = {_number([16], 'core')}\nspeed = {_number([0.0], '')}",
            "not all possible",
        ),
        (f"[kinds]\nnames = ['P', 'E']\ncores = {_number([15.5, 0.5], 'core')}", "not all possible"),
        ("[data]\nplaces = 'cores'", "data.places"),
        (f"[data]\nmode = 'sent'\nlink_bandwidth = {_number(1, 'ns')}", "does not measure bandwidth"),
    ],
)
def test_impossible_tables(tmp_path, table, message):
    with pytest.raises(MachineError, match=message):
        ss.machine(_with(tmp_path, f"\n{table}\n"))


def test_too_many_places(tmp_path):
    graph = ss.TaskGraph.from_edges([1.0, 1.0], [(0, 1)], edge_bytes=8.0)
    with pytest.raises(MachineError, match="between 5001 places of one machine; at most 4096"):
        ss.simulate(graph, "generic[cores=5000,data=sent]", "fifo", layout="2x1")


def _pairs(**given):
    return ss.machine("generic[cores=3]", **given)


def test_pairs_from_a_file_and_from_arrays(tmp_path):
    """What a file says, arrays say; variations keep it, and `data=none` leaves it out."""
    Bps, latency_s = (
        np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0]]) * 1e9,
        np.array([[7, 1, 2], [3, 7, 4], [5, 6, 7]]) * 1e-6,
    )
    table = "\n[data]\nmode = 'sent'\n"
    table += f"pair_bandwidth = {_number([[0, 1, 2], [3, 0, 4], [5, 6, 0]], 'GB/s')}\n"
    table += f"pair_latency = {_number([[0, 1, 2], [3, 0, 4], [5, 6, 0]], 'us')}\n"
    path = _with(tmp_path, table)
    path.write_text(path.read_text("utf-8").replace("value = 16,", "value = 3, "), "utf-8")
    given = _pairs(pair_Bps=Bps, pair_latency_s=latency_s)
    for one, other in zip(ss.machine(path).network.tables, given.network.tables, strict=True):
        np.testing.assert_allclose(one, other)
    assert given.varied({"share_links": True}).data == given.data
    assert given.varied({"data": "read"}).data.pair_Bps == given.data.pair_Bps
    assert given.varied({"data": "none"}).data is None
    facts = given.describe().set_index("key")
    assert facts.loc["data.pair_bandwidth", ["value", "unit"]].tolist() == [tuple(Bps.ravel()), "B/s"]
    assert given.network.link_names([len(given.network.capacity_Bps) - 2]) == ["core 2 to core 1"]
    assert given != _pairs(pair_Bps=Bps)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            [[0, 1, 1], [1, 0, 1]],
            r"data.pair_bandwidth.*row 0 has 3 numbers, but there are 2 rows; expected a square",
        ),
        (
            [[0, 1, 0], [1, 0, 1], [1, 1, 0]],
            "from 0 to 2 it is 0; expected above 0: where there is no link, state",
        ),
        ([[0, 1, 1], [-2, 0, 1], [1, 1, 0]], "from 1 to 0 it is -2; expected above 0"),
        ([[0, 1, 1], [1, 0, np.nan], [1, 1, 0]], "from 1 to 2 it is nan"),
        (
            [[0, 1], [1, 0]],
            r"of 2 x 2 pairs, but the 3 cores have 3 places of data .places=core.; give a row",
        ),
        ([1.0, 2.0], r"expected rows and columns \(got shape \(2,\)\)"),
        ([[1.0], [1.0, 2.0]], "expected a table of numbers"),
        ([["fast"]], "expected a table of numbers"),
    ],
)
def test_impossible_bandwidths_of_pairs(given, message):
    with pytest.raises(MachineError, match=message):
        _pairs(pair_Bps=given)


def test_impossible_latencies_of_pairs():
    with pytest.raises(MachineError, match=r"data.pair_latency.*from 0 to 1 it is -1; expected 0 or more"):
        ss.machine("generic[cores=2]", pair_latency_s=[[0, -1], [0, 0]])
    with pytest.raises(MachineError, match="different numbers of rows"):
        ss.machine("generic[cores=2]", pair_Bps=np.ones((2, 2)), pair_latency_s=np.zeros((3, 3)))
    with pytest.raises(MachineError, match="no object goes over the links of pairs"):
        ss.machine("generic[cores=2,route=host]", pair_Bps=np.ones((2, 2)))
    with pytest.raises(MachineError, match="of 2 x 2 pairs, but the 4 cores have 4 places"):
        ss.machine("generic[cores=2]", pair_Bps=np.ones((2, 2))).varied({"cores": 4})


def test_unlimited_links_of_pairs():
    latency_s, s_per_B = ss.machine("generic[cores=2]", pair_Bps=[[0, np.inf], [2, 0]]).network.tables
    assert s_per_B[:2, :2].tolist() == [[0, 0], [0.5, 0]]
    assert not latency_s.any()
