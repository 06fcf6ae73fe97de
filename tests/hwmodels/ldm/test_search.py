"""Tiles and orders: the search against all there are, and what it takes for their seconds."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.hwmodels.ldm import convolution, core_group, elementwise, matmul, no_reuse, plan, pooling
from simsched.hwmodels.ldm.evaluation import Evaluation
from simsched.hwmodels.ldm.nest import split
from simsched.hwmodels.ldm.planning import planned
from simsched.hwmodels.ldm.search import sizes
from simsched.hwmodels.ldm.tiles import footprint_B

GROUP = core_group(ss.machine("sw26010"))
NESTS = [
    matmul(1, 256, 300),
    matmul(4, 32, 2048),
    matmul(128, 96, 200),
    matmul(512, 512, 512),
    elementwise(300_000, operands=2, flops=20),
    pooling(channels=64, size=28, window=2),
    convolution(channels=3, filters=64, size=16, kernel=3, padding=1),
    convolution(channels=24, filters=80, size=13, kernel=3, padding=1),
    convolution(channels=16, filters=32, size=(4, 40), kernel=1),
]


def exhaustive_s(nest):
    """Return the least seconds of all tiles that are tried, in all orders of loops of more than one tile."""
    shares = split(nest, GROUP.cpes)
    best = float("inf")
    for twice in (True, False):
        evaluation = Evaluation(shares.part, replace(GROUP, double_buffering=twice), shares.cpes)
        for tiles in itertools.product(*map(powers, evaluation.extents)):
            if evaluation.fits(tiles):
                cut = [loop for loop, size in enumerate(tiles) if size < evaluation.extents[loop]]
                orders = itertools.permutations(cut)
                best = min(best, *(evaluation.seconds(tiles, order) for order in orders))
    return best


def powers(extent):
    """Return powers of two and the whole range; kernels whole."""
    return [extent] if extent in {3, 5} else sorted({extent, *(2**i for i in range(extent.bit_length()))})


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_the_search_is_within_5_percent_of_the_best_of_all(nest):
    assert plan(nest, GROUP).seconds <= 1.05 * exhaustive_s(nest)


@pytest.mark.parametrize(
    ("m", "n", "k", "copied"),
    [
        (4, 32, 2048, ("B",)),
        (16, 64, 512, ("B",)),
        (1, 64, 4096, ()),
        (2, 128, 1000, ()),
        (1, 4096, 9216, ()),
    ],
)
def test_products_are_no_slower_than_without_reuse(m, n, k, copied):
    """What plain loops gain by a transposed copy of B, the planner may have, too, where several rows use it."""
    made = plan(matmul(m, n, k), GROUP)
    assert made.seconds <= no_reuse(matmul(m, n, k), GROUP).total_s
    assert made.transposed == copied
    assert bool(made.times.layout_s) == bool(copied)


@pytest.mark.parametrize("size", [112, 224])
def test_early_convolutions_of_vgg_are_faster_than_without_reuse(size):
    nest = convolution(channels=64, filters=64, size=size, kernel=3, padding=1)
    assert 2 * plan(nest, GROUP).seconds < no_reuse(nest, GROUP).total_s


@settings(max_examples=15)
@given(st.data(), st.sampled_from(NESTS), st.booleans())
def test_an_evaluation_says_what_a_plan_says(data, nest, twice):
    """Of any tiles in any order."""
    group = replace(GROUP, double_buffering=twice)
    shares = split(nest, group.cpes)
    evaluation = Evaluation(shares.part, group, shares.cpes)
    tiles = tuple(data.draw(st.sampled_from(sizes(extent))) for extent in evaluation.extents)
    order = data.draw(st.permutations(range(len(tiles))))
    named = dict(zip(evaluation.loops, tiles, strict=True))
    made = planned(nest, group, named, tuple(evaluation.loops[loop] for loop in order))
    assert evaluation.seconds(tuple(tiles), tuple(order)) == pytest.approx(made.seconds, rel=1e-12)
    fits = footprint_B(shares.part, named, double_buffering=twice) <= group.ldm_B
    assert evaluation.fits(tiles) == fits


def test_the_order_that_is_found_for_given_tiles_is_the_best():
    nest = matmul(64 * 8, 64, 512)
    tiles = {"m": 2, "n": 16, "k": 64}
    orders = itertools.permutations(tiles)
    assert planned(nest, GROUP, tiles).seconds == min(
        planned(nest, GROUP, tiles, order).seconds for order in orders
    )


def test_sizes_are_powers_of_two_and_even_parts():
    assert sizes(1) == [1]
    assert sizes(10) == [1, 2, 3, 4, 5, 8, 10]
    assert sizes(224)[-4:] == [75, 112, 128, 224]
