"""Floating-point operations of ATen operators, by hand."""

from __future__ import annotations

import math

import pytest

from simsched.traces.pytorch.aten import Call, Dims, flops
from simsched.traces.pytorch.execution_trace import Node, composite_flops


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


@pytest.mark.parametrize(
    ("name", "leading", "expected"),
    [
        ("scaled_dot_product_attention", 0, 3_840),
        ("_scaled_dot_product_flash_attention_for_cpu", 0, 3_840),
        # After the gradient of the result: the scores once more, and the gradients of scores, queries, keys and values.
        ("_scaled_dot_product_flash_attention_for_cpu_backward", 1, 9_600),
    ],
)
def test_attention_is_its_products(name: str, leading: int, expected: float) -> None:
    """2 x 3 heads, of 4 queries of 8 with 5 keys: 120 scores, each of 8 multiply-adds, and as many of values."""
    operands: list[Dims] = [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 8)]
    before: list[Dims] = [(2, 3, 4, 8)] * leading
    assert flops(f"aten::{name}", Call([*before, *operands], [*before, *operands])) == expected


def test_attention_without_shapes_is_unknown() -> None:
    assert math.isnan(flops("aten::scaled_dot_product_attention", Call([(2, 4, 8), None, None], [(2, 4, 8)])))


def test_what_only_calls_views_and_allocations_works_itself() -> None:
    """A fused kernel calls views of its operands and allocates its results: it counted as no work at all."""
    whole, view = node(1, math.nan), node(2, 0.0)
    assert math.isnan(composite_flops(whole, {1: [view]}))
    assert composite_flops(whole, {1: [view, node(3, 5.0)]}) == 5.0
    assert composite_flops(node(1, 0.0), {1: [view]}) == 0.0


def node(number: int, work: float) -> Node:
    return Node(number, 0, "aten::op", 0, (), (), (), (), flops=work)
