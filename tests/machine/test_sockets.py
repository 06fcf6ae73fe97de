"""Sockets: distances by hand, sizes that are unequal, resizing, mistakes."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.sockets import Sockets
from simsched.hwmodels.sockets_table import SocketsTable


def ns(value):
    return {"value": value, "unit": "ns", "source": "test", "confidence": "high"}


TIMES = {"same_tile": ns(10), "same_l3": ns(50), "same_socket": ns(80), "other_socket": ns(130)}


def sockets(cores, per_tile=1, **table):
    return Sockets.of(SocketsTable.model_validate({"kind": "sockets", **TIMES, **table}), cores, per_tile)


def test_distances_by_hand():
    """Two sockets of 8: tiles of 2, L3s of 4, one domain a socket."""
    two = sockets(16, 2, sockets=[8, 8], l3=[4, 4, 4, 4])
    assert two.hops(0).tolist() == [0, 0, 1, 1, 2, 2, 2, 2] + [3] * 8
    assert (two.transfer_s(0) * 1e9).round().tolist() == [0, 10, 50, 50, 80, 80, 80, 80] + [130] * 8
    assert (two.transfer_s(15) * 1e9).round().tolist() == [130] * 8 + [80, 80, 80, 80, 50, 50, 10, 0]
    assert two.domain_of.tolist() == [0] * 8 + [1] * 8
    assert two.tile_of.tolist() == [core // 2 for core in range(16)]
    assert two.domain_of.dtype == np.int32


def test_sockets_in_a_row_are_more_than_one_link_apart():
    """130 ns for one link is 50 more than within a socket; two links add as much again where the file is silent."""
    row = sockets(4, sockets=[1, 1, 1, 1], links=[[0, 1], [1, 2], [2, 3]])
    assert row.hops(0).tolist() == [0, 3, 4, 5]
    assert (row.transfer_s(0) * 1e9).round().tolist() == [0, 130, 180, 230]
    told = sockets(4, sockets=[1, 1, 1, 1], links=[[0, 1], [1, 2], [2, 3]], further_link=ns(7))
    assert (told.transfer_s(3) * 1e9).round().tolist() == [144, 137, 130, 0]


def test_domains_need_not_be_equal():
    """SNC-4 on 34 tiles: 18, 18, 16 and 16 cores."""
    snc4 = sockets(68, 2, sockets=[68], domains=[18, 18, 16, 16])
    assert np.bincount(snc4.domain_of).tolist() == [18, 18, 16, 16]
    assert snc4.facts()["memory domains"] == "4 of 18, 18, 16, 16 cores"


def test_resized_in_proportion():
    two = sockets(48, sockets=[24, 24], l3=[8] * 6)
    more = two.resized(96)
    assert (more.sockets, more.l3) == ((48, 48), (16,) * 6)
    assert two.resized(24).l3 == (4,) * 6
    # 7 cores on 6 groups: the boundaries 8/48, 16/48, ... of 7 are 1.17, 2.33, 3.5, 4.67, 5.83.
    assert two.resized(7).l3 == (1, 1, 2, 1, 1, 1)
    assert two.resized(7).sockets == (4, 3)


def test_sockets_that_no_core_is_left_for_vanish_with_their_links():
    ring = sockets(4, sockets=[1, 1, 1, 1], links=[[0, 1], [1, 2], [2, 3], [3, 0]])
    # Ends of 1/4, 2/4, 3/4 of 2 cores are 0.5, 1, 1.5, rounded up from the half: sockets 0 and 2 stay.
    two = ring.resized(2)
    assert two.sockets == (1, 1)
    assert two.links == ((0, 1),)
    assert ring.resized(1).links == ()
    assert two.resized(8).links == ring.links
    with pytest.raises(MachineError, match="3 cores: a tile has 2 cores and stays whole; try 2 or 4"):
        sockets(4, 2, sockets=[2, 2]).resized(3)


@given(
    sizes=st.lists(
        st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=3),
        min_size=1,
        max_size=3,
    ),
    per_tile=st.integers(1, 3),
    steps=st.lists(st.integers(1, 60), min_size=1, max_size=3),
)
def test_resizing_keeps_nesting_and_forgets_its_way(sizes, per_tile, steps):
    l3 = [n * per_tile for socket in sizes for domain in socket for n in domain]
    domains = [sum(domain) * per_tile for socket in sizes for domain in socket]
    chips = [sum(map(sum, socket)) * per_tile for socket in sizes]
    first = sockets(sum(l3), per_tile, sockets=chips, domains=domains, l3=l3)
    found = first
    for tiles in steps:
        found = found.resized(tiles * per_tile)
        assert found.n_cores == tiles * per_tile
        assert found == first.resized(tiles * per_tile)
        for inner, outer in (
            (found.tile_of, found.l3_of),
            (found.l3_of, found.domain_of),
            (found.domain_of, found.socket_of),
        ):
            pairs = set(zip(inner.tolist(), outer.tolist(), strict=True))
            assert len(pairs) == len(set(inner.tolist()))
    assert first.resized(first.n_cores) == first


@given(core=st.integers(0, 35), other=st.integers(0, 35))
def test_distances_are_symmetric(core, other):
    found = sockets(36, 2, sockets=[16, 20], domains=[8, 8, 20], l3=[8, 4, 4, 20])
    assert found.hops(core)[other] == found.hops(other)[core]
    assert found.transfer_s(core)[other] == found.transfer_s(other)[core]
    assert (found.transfer_s(core)[other] == 0) == (core == other)


MISTAKES = [
    ({"sockets": [8, 7]}, r"sockets: \[8, 7\] are 15 cores together; cores\.count says 16"),
    ({"sockets": [8, 8], "l3": [7, 9]}, r"l3: 7 cores are not whole tiles of 2"),
    ({"sockets": [8, 8], "domains": [4]}, r"domains: \[4\] are 4 cores"),
    ({"sockets": [8, 8], "links": []}, "links: no way leads from socket 0 to socket 1"),
    ({"sockets": [8, 8], "links": [[0, 2]]}, r"links: \[0, 2\] is not a pair of the sockets 0 to 1"),
    ({"sockets": [8, 8], "links": [[1, 1]]}, r"links: \[1, 1\] is not a pair"),
    ({"sockets": [8, 8], "other_socket": None}, r"other_socket: missing"),
    ({"sockets": [8, 8], "same_tile": None}, r"same_tile: missing"),
    ({"sockets": [8, 8], "same_l3": None}, r"same_l3: missing"),
    ({"sockets": [16], "l3": [8, 8], "same_socket": None}, r"same_socket: missing"),
    (
        {"sockets": [8, 8], "domains": [4, 8, 4]},
        r"domains: cores 4 to 11 lie in several of sockets, not all of which",
    ),
    ({"sockets": [16], "domains": [8, 8], "l3": [6, 10]}, r"l3: cores 6 to 15 lie in several of domains"),
]


@pytest.mark.parametrize("key", ["domains", "l3"])
def test_a_list_that_crosses_sockets_is_one_mistake(key):
    """Groups that the file leaves out follow from it, and are no mistakes of their own."""
    with pytest.raises(MachineError) as raised:
        sockets(16, 2, sockets=[8, 8], **{key: [4, 12]})
    assert str(raised.value).count("lie in several") == 1
    assert f"{key}: cores 4 to 15 lie in several of sockets" in str(raised.value)


@pytest.mark.parametrize("domains", [[16], [4, 4, 8], [8, 8]])
@pytest.mark.parametrize("l3", [[16], [8, 8], [2] * 8])
def test_groups_within_each_other_are_no_mistake(domains, l3):
    """Memory and caches of a virtual machine may span its sockets."""
    assert sockets(16, 2, sockets=[8, 8], domains=domains, l3=l3).n_cores == 16


@pytest.mark.parametrize(("table", "told"), MISTAKES)
def test_mistakes(table, told):
    with pytest.raises(MachineError, match=told):
        sockets(16, 2, **table)


def test_all_mistakes_are_listed():
    with pytest.raises(
        MachineError, match=r"(?s)sockets: \[8\] are.*\n  domains: \[3\] are.*\n  l3: 3 cores are not whole"
    ):
        sockets(16, 2, sockets=[8], domains=[3])


@pytest.mark.parametrize(
    "table",
    [{"sockets": []}, {"sockets": [0]}, {"sockets": [1.5]}, {"sockets": [2] * 1025}, {"sockets": [2], "socket": 1},
     {"sockets": [2], "links": [[0, 1, 2]]}, {"sockets": [2], "same_l3": {**ns(5), "unit": "GB/s"}},
     {"sockets": [2], "same_l3": ns(-5)}],
)  # fmt: skip
def test_the_schema_refuses(table):
    with pytest.raises(ValidationError):
        sockets(2, **table)


def test_times_that_no_cores_need_may_be_left_out():
    alone = Sockets.of(SocketsTable(kind="sockets", sockets=[1]), 1, 1)
    assert alone.transfer_s(0).tolist() == [0]
    assert alone.links_between.tolist() == [[0]]


def test_the_picture_shows_every_core_once_inside_its_frame():
    found = sockets(36, 2, sockets=[16, 20], domains=[8, 8, 20], l3=[8, 4, 4, 20])
    boxes = found.picture().boxes
    cores = [box for box in boxes if box.role == "core"]
    assert sorted(box.core for box in cores) == list(range(36))
    assert len({(box.x, box.y) for box in cores}) == 36
    assert sum(box.role == "memory" for box in boxes) == 3
    frames = {box.label: box for box in boxes if box.label.startswith("socket")}
    for box in cores:
        frame = frames[f"socket {found.socket_of[box.core]}"]
        assert frame.x < box.x < box.x + 1 < frame.x + frame.width
        assert frame.y < box.y < box.y + 1 < frame.y + frame.height
    assert len(found.picture().links) == 3


@pytest.mark.parametrize(
    ("spec", "cores", "domains", "bandwidth_Bps"),
    [
        ("graviton4[sockets=2]", 192, 2, 2 * 430.1e9),
        ("grace[sockets=1]", 72, 1, 806.8e9 / 2),
        ("xeon-8470[cluster=off]", 52, 1, 226.9e9),
        ("xeon-8470[cluster=snc2]", 52, 2, 226.9e9),
        ("xeon-6148x2", 40, 2, 161.1e9),
        ("xeon-6148x2[cluster=snc2]", 40, 4, 170.8e9),  # its file has numbers of its own for this mode
        ("xeon-6148x2[cluster=snc2,sockets=1]", 20, 2, 85.4e9),
    ],
)
def test_sockets_and_cluster_modes_in_brackets(spec, cores, domains, bandwidth_Bps):
    machine = ss.machine(spec)
    assert (machine.n_cores, machine.n_domains) == (cores, domains)
    assert machine.bandwidth_Bps == pytest.approx(bandwidth_Bps)
    assert ss.machine(str(machine)).structure == machine.structure


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("graviton4[sockets=0]", "expected a whole number of sockets from 1 to 1024"),
        ("graviton4[sockets=1.5]", "expected a whole number of sockets"),
        ("core-i7-1370p[sockets=2]", "only machines whose file has sockets, all alike"),
        ("knl-7250[sockets=2]", "only machines whose file has sockets"),
        ("xeon-8470[cluster=snc3]", "expected one of off, snc2, snc4"),
        ("sg2042[cluster=snc2]", "has no cluster modes"),
        ("sg2042[sockets=2]", "give the time of a cache line"),
    ],
)
def test_sockets_and_cluster_modes_that_cannot_be(spec, message):
    with pytest.raises(MachineError, match=message):
        ss.machine(spec)


def test_a_power_limit_follows_the_cores():
    assert ss.machine("grace").power_W == 2 * ss.machine("grace[sockets=1]").power_W == 500
    assert ss.machine("generic").power_W is None
    assert ss.machine("knl-7250[cores=34]").power_W == ss.machine("knl-7250").power_W / 2


def test_whole_chips_draw_their_limit_where_idle_cores_let_the_others_run_faster():
    """Seven cores did nearly the work of fourteen, at the clock that seven idle ones leave, with half the watts."""
    watts = [ss.machine(f"core-i7-1370p[cores={n}]").power_W for n in (7, 14, 28)]
    assert watts == [28, 28, 56]
    assert [ss.machine(f"xeon-8160x2[cores={n}]").power_W for n in (1, 24, 96)] == [150, 300, 600]
    assert ss.machine("core-i7-1370p[cores=7,power.limit=20]").power_W == 20


def test_domains_of_a_tile_each_come_and_go_with_their_memory():
    chips = [ss.machine(f"a64fx[cores={n}]") for n in (12, 48, 96)]
    assert [one.n_domains for one in chips] == [1, 4, 8]
    assert [one.bandwidth_Bps / 1e9 for one in chips] == [148.5, 594, 1188]
    assert [one.memory.size_B / 1e9 for one in chips] == [8, 32, 64]
    assert ss.machine("a64fx[cores=12,memory.modes.hbm.size=16]").memory.size_B == 16e9


def test_cores_of_kinds_stay_in_proportion():
    assert ss.machine("core-i7-1370p[cores=7]").kinds.counts == (3, 4)
    assert ss.machine("core-i7-1370p[cores=20]").kinds.counts == (9, 12)
