"""The worked example of swTVM's Sec. 5.2: a matmul of m = 1, n = k = 1024 in floats, 64 KiB of LDM."""

import pytest

from simsched.hwmodels.ldm.classes import VariableClass, classify
from simsched.hwmodels.ldm.kernels import matmul
from simsched.hwmodels.ldm.nest import trips
from simsched.hwmodels.ldm.order import loop_order, moves, transfers_if_innermost
from simsched.hwmodels.ldm.tiles import first_fit, footprint_B, grow

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
    tiles, rejected_B = grow(NEST, {"m": 1, "n": 64, "k": 64}, LDM_B)
    assert tiles == {"m": 1, "n": 128, "k": 64}
    assert kib(tiles) == 32.75
    assert rejected_B == 65.0 * 1024


@pytest.mark.parametrize(("innermost", "transfers"), [("m", 384), ("n", 272), ("k", 264)])
def test_transfers_by_innermost_loop(innermost, transfers):
    counts = trips(NEST, {"m": 1, "n": 128, "k": 64})
    outer = [loop for loop in NEST.loops if loop != innermost]
    assert transfers_if_innermost(NEST, counts, outer, [innermost]) == transfers


def test_order():
    tiles = {"m": 1, "n": 128, "k": 64}
    order = loop_order(NEST, tiles)
    assert order == ("m", "n", "k")
    by_tensor = {tensor.name: moves(tensor, order, trips(NEST, tiles)) for tensor in NEST.tensors}
    assert by_tensor == {"A": 128, "B": 128, "C": 8}
