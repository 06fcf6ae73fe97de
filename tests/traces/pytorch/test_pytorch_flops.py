"""Floating-point operations of ATen operators, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.traces.pytorch.aten import Call, Dims, flops
from simsched.traces.pytorch.execution_trace import Io, Node, Tensor, composite_flops


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


def held(number: int, element_B: int, *dims: int) -> Tensor:
    return Tensor(number, number, element_B, math.prod(dims) * element_B, dims)


TABLE, INDEX, ROWS = held(1, 4, 30_000, 768), held(2, 8, 16, 128), held(3, 4, 16, 128, 768)
PICKED_B, INDEX_B = ROWS.size_B, INDEX.size_B
SCORES, CLASSES, LOSS = held(4, 4, 4096, 100_000), held(5, 8, 4096), held(6, 4)
FLAT, STATE, BAGS, OFFSETS = held(7, 4, 10**7), held(8, 4, 10**7), held(9, 4, 128, 48), held(10, 8, 385)


@pytest.mark.parametrize(
    ("name", "read", "written", "bytes_B"),
    [
        ("aten::embedding", [TABLE, INDEX], [ROWS], 2 * PICKED_B + INDEX_B),
        ("aten::embedding", [held(1, 4, 2, 768), INDEX], [ROWS], 2 * 768 * 4 + INDEX_B + PICKED_B),
        ("aten::index_put_", [TABLE, INDEX, ROWS], [TABLE], 3 * PICKED_B + INDEX_B),
        ("aten::index_put", [TABLE, INDEX, ROWS], [held(11, 4, 30_000, 768)], 2 * TABLE.size_B + PICKED_B + INDEX_B),
        ("aten::embedding_dense_backward", [ROWS, INDEX], [TABLE], PICKED_B + INDEX_B + TABLE.size_B),
        ("aten::nll_loss_forward", [SCORES, CLASSES], [LOSS], 2 * CLASSES.size_B + LOSS.size_B),
        (
            "fbgemm::split_embedding_codegen_lookup_adagrad_function",
            [FLAT, STATE, OFFSETS],
            [BAGS],
            3 * BAGS.size_B + OFFSETS.size_B,
        ),
        ("aten::add", [TABLE, INDEX], [ROWS], TABLE.size_B + INDEX_B + PICKED_B),
    ],
)  # fmt: skip
def test_of_a_table_of_which_is_picked_only_what_is_picked_moves(
    name: str, read: list[Tensor], written: list[Tensor], bytes_B: float
) -> None:
    assert Io(tuple(read), tuple(written), "").traffic(name) == bytes_B


@pytest.mark.parametrize(
    ("recorded", "element"),
    [("c10::BFloat16", "bf16"), ("c10::Half", "fp16"), ("float", ""), ("long int", "")],
)
def test_products_have_the_type_of_their_operands(mini: Any, recorded: str, element: str) -> None:
    mini.op("aten::mm", 0, 10, [(1, 1, (64, 32)), (2, 2, (32, 16))], [(3, 3, (64, 16))])
    mini.op("aten::add", 20, 10, [(3, 3, (64, 16)), (3, 3, (64, 16))], [(4, 4, (64, 16))])
    for call, event in zip(mini.nodes, mini.events, strict=True):
        call["inputs"]["types"] = [f"Tensor({recorded})"] * 2
        event["args"]["Input type"] = [recorded] * 2
    told = f";element={element}" * bool(element)
    for graph in (mini.load(), mini.load_alone()):
        assert graph.shapes.to_list() == [f"64x32;32x16{told}", "64x16;64x16"]
