"""The worked example of swTVM's Sec. 5.2: a matmul of m = 1, n = k = 1024 in floats, 64 KiB of LDM."""

from dataclasses import replace

import pytest

from simsched.hwmodels.ldm import matmul, plan, plan_by_doubling
from simsched.hwmodels.ldm.nest import moves, trips
from simsched.hwmodels.ldm.tiles import (
    VariableClass,
    classify,
    doubled,
    fewest_transfers,
    first_fit,
    footprint_B,
    transfers_if_innermost,
)

LDM_B = 64 * 1024
NEST = matmul(1, 1024, 1024)


def kib(tiles):
    return footprint_B(NEST, tiles, double_buffering=False) / 1024


def test_classes():
    assert classify(NEST, {"m": 1, "n": 1, "k": 1}) == {
        "m": VariableClass.NUMBER,
        "n": VariableClass.SIZE,
        "k": VariableClass.COMPOUND,
    }


def test_first_fit():
    tiles = first_fit(NEST, LDM_B)
    assert tiles == {"m": 1, "n": 64, "k": 64}
    assert kib(tiles) == 16.5


def test_doubling_stops_at_the_first_that_does_not_fit():
    tiles = doubled(NEST, {"m": 1, "n": 64, "k": 64}, LDM_B)
    assert tiles == {"m": 1, "n": 128, "k": 64}
    assert kib(tiles) == 32.75
    assert doubled(NEST, {"m": 1, "n": 64, "k": 64}, 65 * 1024) == {"m": 1, "n": 128, "k": 128}


@pytest.mark.parametrize(("innermost", "transfers"), [("m", 384), ("n", 272), ("k", 264)])
def test_transfers_by_innermost_loop_of_an_open_order(innermost, transfers):
    assert transfers_if_innermost(NEST, trips(NEST, {"m": 1, "n": 128, "k": 64}), [innermost]) == transfers


def test_order():
    assert fewest_transfers(NEST, {"m": 1, "n": 128, "k": 64}) == ("m", "n", "k")


@pytest.mark.parametrize(("innermost", "filled"), [("k", 128 + 128 + 8), ("n", 16 + 128 + 128)])
def test_transfers_by_innermost_loop(innermost, filled):
    """With the paper's tile, 1 x 8 x 16 of them: with k innermost C stays, with n innermost A."""
    counts = trips(NEST, {"m": 1, "n": 128, "k": 64})
    order = ["m", *(loop for loop in ("n", "k") if loop != innermost), innermost]
    assert sum(moves(tensor, order, counts) for tensor in NEST.tensors) == filled


def test_the_search_finds_what_is_at_least_as_fast_as_the_paper(group):
    """On a single CPE with single buffers, as in the paper, and by the model's own seconds."""
    lone = replace(group, cpes=1, mesh_columns=1, double_buffering=False)
    published = plan_by_doubling(NEST, lone)
    assert published.tiles == {"m": 1, "n": 128, "k": 64}
    assert published.order == ("m", "n", "k")
    assert published.ldm_B == 32.75 * 1024
    assert [moved.moves for moved in published.transfers] == [128, 128, 8]
    assert [moved.within for moved in published.transfers] == ["k", "k", "n"]
    assert plan(NEST, lone).seconds <= published.seconds
