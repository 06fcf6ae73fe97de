"""The ring of Knights Corner, and what its writers wait for each other, computed by hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

import simsched as ss
from simsched.errors import MachineError
from simsched.hwmodels.memory_contention import Contention
from simsched.hwmodels.ring import Ring, RingTable


def ring(n_cores: int = 61, per_tile: int = 1, **numbers: float) -> Ring:
    given_numbers = {"hop": (1.0, "ns"), "remote_l2": (200.0, "ns"), "memory_controllers": (8.0, "")}
    table = {
        key: {"value": float(numbers.get(key, value)), "unit": unit, "source": "a test", "confidence": "low"}
        for key, (value, unit) in given_numbers.items()
    }
    return Ring.of(RingTable.model_validate({"kind": "ring", **table}), n_cores, per_tile)


def test_messages_take_the_shorter_way_round():
    hops = ring().hops(0)
    assert (hops[0], hops[1], hops[30], hops[31], hops[60]) == (0, 1, 30, 30, 1)
    assert ring().hops(50)[10] == 21  # 40 one way, 21 the other


def test_hops_to_memory():
    """Eight controllers on 61 stops: at 0, 7, 15, 22, 30, 38, 45, 53."""
    assert ring().controller_stops.tolist() == [0, 7, 15, 22, 30, 38, 45, 53]
    assert ring().memory_hops(60).tolist() == [1, 8, 16, 23, 30, 22, 15, 7]


def test_seconds_of_a_line_on_five_stops():
    """Distances 0, 1, 2, 2, 1: mean 1.2 to a directory, 1.5 to another core.

    With hops of 1 ns and 20 ns on average the base is 20 - (2.4 + 1.5) = 16.1 ns.
    """
    five = ring(5, remote_l2=20.0)
    assert five.mean_hops == 1.2
    assert five.base_s == pytest.approx(16.1e-9)
    assert five.transfer_s(0) * 1e9 == pytest.approx([0, 19.5, 20.5, 20.5, 19.5])


def test_the_ring_of_a_line_from_memory():
    """Four stops, one controller at stop 0: 1 to a directory, 1 on to the controller, d back."""
    four = ring(4, memory_controllers=1)
    assert [four.memory_s(core) * 1e9 for core in range(4)] == pytest.approx([2, 3, 4, 3])


def test_the_mean_is_the_one_of_the_file():
    for core in (0, 33):
        assert np.delete(ring().transfer_s(core), core).mean() == pytest.approx(200e-9)


def test_more_cores_are_farther_apart():
    longer = ring().resized(122)
    assert longer.hops(0).max() == 61
    assert np.delete(longer.transfer_s(0), 0).mean() > 200e-9
    assert longer.resized(61) == ring()
    assert ring(1).transfer_s(0).tolist() == [0.0]


def test_impossible_rings_are_errors():
    with pytest.raises(MachineError, match=r"cores\.per_tile is 2; a stop of a ring is one core"):
        ring(60, 2)
    with pytest.raises(
        MachineError, match="remote_l2 is 1e-09 s, and the hops of such a transfer alone take"
    ):
        ring(remote_l2=1.0)
    with pytest.raises(ValidationError, match="too small; the least is 1"):
        ring(memory_controllers=0)
    with pytest.raises(MachineError, match="0 cores"):
        ring().resized(0)


def test_every_number_changes_a_result():
    base = ring()
    assert not np.array_equal(ring(hop=2.0).transfer_s(0), base.transfer_s(0))
    assert not np.array_equal(ring(remote_l2=210.0).transfer_s(0), base.transfer_s(0))
    assert ring(memory_controllers=4).memory_hops(0).tolist() == [0, 15, 30, 16]
    far = ss.machine("knc-7120p[structure.hop=2]").transfer_s(0)
    assert far[30] > ss.machine("knc-7120p").transfer_s(0)[30]


@given(st.integers(1, 40), st.integers(1, 10))
def test_distances_are_distances(n_cores, controllers):
    found = ring(n_cores, memory_controllers=controllers)
    hops = np.array([found.hops(core) for core in range(n_cores)])
    assert (hops == hops.T).all()
    assert ((hops == 0) == np.eye(n_cores, dtype=bool)).all()
    assert (hops[:, :, None] <= hops[:, None, :] + hops.T[None]).all()
    assert hops.max() <= n_cores // 2
    assert found.mean_hops == pytest.approx(hops.mean())
    times = np.array([found.transfer_s(core) for core in range(n_cores)])
    assert (times == times.T).all()
    assert found.memory_hops(0).max() <= n_cores // 2
    assert sum(box.core >= 0 for box in found.picture().boxes) == n_cores


# Memory contention: seconds of small, medium and large networks, as extrapolated in CHAOS, Table 4.
EXTRAPOLATED = {
    480: (2.78e-2, 7.31e-2, 2.73e-1),
    960: (5.60e-2, 1.47e-1, 5.46e-1),
    1920: (1.12e-1, 2.95e-1, 1.09),
    3840: (2.25e-1, 5.91e-1, 2.19),
}


def contention() -> Contention:
    found = ss.machine("knc-7120p").tables["contention"]
    assert isinstance(found, Contention)
    return found


@pytest.mark.parametrize("writers", EXTRAPOLATED)
def test_the_papers_extrapolation_comes_out(writers):
    for size, seconds in zip(("small", "medium", "large"), EXTRAPOLATED[writers], strict=True):
        assert contention().contention_s(writers, size) == pytest.approx(seconds, rel=0.004)


def test_contention_between_measured_numbers():
    """15 writers are measured; 10 of 45 ways from 60 to 15 below 60; half way from 60 to 120."""
    assert contention().contention_s(15, "small") == pytest.approx(6.40e-4)
    assert contention().contention_s(90, "medium") == pytest.approx((8.03e-3 + 1.65e-2) / 2)
    assert contention().contention_s(40, "large") == pytest.approx(1.67e-2 + (3.22e-2 - 1.67e-2) / 3)


def test_contention_never_falls():
    for size in ("small", "medium", "large"):
        seconds = [contention().contention_s(writers, size) for writers in range(1, 400)]
        assert all(before <= after for before, after in pairwise(seconds))


def test_contention_of_unknown_sizes_and_numbers():
    with pytest.raises(
        MachineError,
        match="no memory contention was measured for size 'huge'; there are small, medium, large",
    ):
        contention().contention_s(10, "huge")
    with pytest.raises(MachineError, match="0 threads: the fewest measured are 1"):
        contention().contention_s(0, "small")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"writers": [1, 1]}, "do not ascend"),
        ({"writers": [2, 1]}, "do not ascend"),
        ({"writers": [1, 2, 3]}, "seconds.a: 2 times for 3 numbers of writers"),
        ({"unit": "GB/s"}, "unit 'GB/s' does not measure time"),
        ({"value": [0.1, -0.1]}, "seconds.a: -0.1 is below 0"),
        ({"writers": [0, 1]}, "greater than or equal to 1"),
        ({"size": 3}, "size"),
    ],
)
def test_impossible_contention_tables(change: dict[str, Any], says: str):
    seconds = {"value": change.get("value", [0.1, 0.2]), "unit": change.get("unit", "s")}
    table = {"writers": change.get("writers", [1, 2])} | {k: v for k, v in change.items() if k == "size"}
    table["seconds"] = {"a": seconds | {"source": "a test", "confidence": "low"}}
    with pytest.raises(ValidationError, match=says):
        Contention.model_validate(table)


def test_contention_in_another_unit():
    seconds = {"value": [1.0, 3.0], "unit": "ms", "source": "a test", "confidence": "low"}
    table = Contention.model_validate({"writers": [1, 2], "seconds": {"a": seconds}})
    assert table.contention_s(3, "a") == pytest.approx(5e-3)
