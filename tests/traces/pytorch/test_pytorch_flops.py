"""Floating-point operations of ATen operators, by hand."""

from __future__ import annotations

import math

import pytest

from simsched.traces.pytorch.aten import Call, Dims, flops


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((2, 3), (3, 4), 48),
        ((3,), (3,), 6),
        ((2, 3), (3,), 12),
        ((3,), (3, 4), 24),
        ((5, 2, 3), (3, 4), 240),
        ((5, 2, 3), (5, 3, 4), 240),
        ((2, 3), (5, 3, 4), 240),
        ((3,), (5, 3, 4), 120),
        ((5, 2, 3), (3,), 60),
        # one matrix against many, on either side
        ((1, 2, 3), (5, 3, 4), 240),
        ((5, 2, 3), (1, 3, 4), 240),
        ((5, 1, 2, 3), (7, 3, 4), 7 * 240),
        ((0, 3), (3, 4), 0),
        ((0, 2, 3), (1, 3, 4), 0),
        ((5, 2, 3), (4, 3, 4), math.nan),
    ],
)
def test_products_count_every_batch(left: Dims, right: Dims, expected: float) -> None:
    assert flops("aten::matmul", Call([left, right], [left, right])) == pytest.approx(expected, nan_ok=True)


def test_what_is_no_product_of_its_arguments_is_unknown() -> None:
    assert math.isnan(flops("aten::mm", Call([(2, 3)], [(2, 3)])))
    assert math.isnan(flops("aten::mm", Call([(2, 3), None], [(2, 3)])))
    assert math.isnan(flops("mylib::op", Call([(2, 3)], [(2, 3)])))
