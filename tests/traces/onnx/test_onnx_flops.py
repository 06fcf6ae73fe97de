"""Floating-point operations of ONNX operators, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.traces.onnx.flops import flops


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attributes", "expected"),
    [
        # (2 x 3)(3 x 4): 8 outputs of 3 multiply-adds
        ("MatMul", [(2, 3), (3, 4)], [(2, 4)], {}, 48),
        # 5 such products
        ("MatMul", [(5, 2, 3), (3, 4)], [(5, 2, 4)], {}, 240),
        # with the addend, 8 additions; A transposed is 3 x 2
        ("Gemm", [(2, 3), (3, 4), (4,)], [(2, 4)], {}, 56),
        ("Gemm", [(3, 2), (3, 4)], [(2, 4)], {}, 48),
        ("Gemm", [(0, 3), (3, 4)], [(0, 4)], {}, 0),
        ("FusedMatMul", [(5, 3, 2), (5, 3, 4)], [(5, 2, 4)], {}, 240),
        ("MatMulNBits", [(2, 64), (4, 2, 16), (8,)], [(2, 4)], {"K": 64}, 2 * 8 * 64),
        # 1 x 16 x 8 x 8 outputs, each of 4 x 3 x 3 multiply-adds
        ("Conv", [(1, 4, 8, 8), (16, 4, 3, 3)], [(1, 16, 8, 8)], {}, 1024 * 72),
        # bias and fused activation: one operation an output each
        ("Conv", [(1, 4, 8, 8), (16, 4, 3, 3), (16,)], [(1, 16, 8, 8)], {"activation": "Relu"}, 1024 * 74),
        # depthwise: one input channel an output channel
        ("Conv", [(1, 16, 8, 8), (16, 1, 3, 3)], [(1, 16, 8, 8)], {}, 1024 * 18),
        # the profile leaves out packed weights: what is second is the bias, and tells nothing
        ("Conv", [(1, 4, 8, 8), (16,)], [(1, 16, 8, 8)], {}, math.nan),
        ("QLinearConv", [(1, 4, 8, 8), (), (), (16, 4, 3, 3)], [(1, 16, 8, 8)], {}, 1024 * 72),
        # 1 x 4 x 2 x 2 inputs, each times a weight of 8 x 3 x 3
        ("ConvTranspose", [(1, 4, 2, 2), (4, 8, 3, 3)], [(1, 8, 4, 4)], {}, 16 * 144),
        # 7 steps of batch 2: (2 x 3)(3 x 20) and (2 x 5)(5 x 20), and 20 gate elements a row
        ("LSTM", [(7, 2, 3), (1, 20, 3), (1, 20, 5)], [(7, 1, 2, 5)], {}, 14 * (120 + 200 + 20)),
        ("MaxPool", [(1, 4, 8, 8)], [(1, 4, 4, 4)], {"kernel_shape": (2, 2)}, 256),
        ("MaxPool", [(1, 4, 8, 8)], [(1, 4, 4, 4)], {}, math.nan),
        ("GlobalAveragePool", [(1, 4, 8, 8)], [(1, 4, 1, 1)], {}, 256),
        ("ReduceMean", [(2, 3, 4)], [(2, 3)], {}, 24),
        ("Add", [(2, 3), (3,)], [(2, 3)], {}, 6),
        ("Softmax", [(2, 3)], [(2, 3)], {}, 30),
        ("LayerNormalization", [(2, 3), (3,)], [(2, 3)], {}, 42),
        # scores (4 x 8)(8 x 6) and sum (4 x 6)(6 x 8), for 2 x 3 heads
        ("Attention", [(2, 3, 4, 8), (2, 3, 6, 8), (2, 3, 6, 8)], [(2, 3, 4, 8)], {}, 6 * 2 * 2 * 4 * 6 * 8),
        # com.microsoft: the second input projects (1 x 4, 8) to 24 columns, then 4 x 4 scores
        ("Attention", [(1, 4, 8), (8, 24), (24,)], [(1, 4, 8)], {}, 2 * 4 * 8 * 24 + 4 * 4 * 4 * 8),
        ("Einsum", [(2, 3), (3, 4)], [(2, 4)], {"equation": "ij, jk -> ik"}, 48),
        # the second output: 4 keys given after 5 of earlier calls
        ("MultiHeadAttention", [(1, 4, 8), (1, 4, 8), (1, 4, 8)], [(1, 4, 8), (1, 2, 9, 4)], {}, 2 * 9 * 64),
        (
            "Attention",
            [(1, 4, 8), (8, 24), (24,)],
            [(1, 4, 8), (2, 1, 2, 9, 4)],
            {},
            2 * 4 * 8 * 24 + 4 * 4 * 9 * 8,
        ),
        ("Einsum", [(2, 3), (3, 4)], [(2, 4)], {"equation": "...j,jk->...k"}, 48),
        ("Einsum", [(5, 2, 3), (1, 3, 4)], [(5, 2, 4)], {"equation": "...ij,...jk->...ik"}, 240),
        ("Einsum", [(5, 3, 3)], [(5, 3)], {"equation": "...ii->...i"}, 15),
        ("Einsum", [(2, 3), (3, 4)], [(2, 4)], {"equation": "ij->ji"}, math.nan),
        ("Einsum", [(2, 3)], [(2,)], {"equation": "ijk...->i"}, math.nan),
        # groups: an output channel reads 2 of 4 channels; strides and padding only make fewer outputs
        ("Conv", [(1, 4, 8, 8), (6, 2, 3, 3)], [(1, 6, 4, 4)], {}, 96 * 36),
        # one dimension, three dimensions
        ("Conv", [(1, 4, 8), (6, 4, 3)], [(1, 6, 8)], {}, 48 * 24),
        ("Conv", [(1, 2, 4, 4, 4), (3, 2, 2, 2, 2)], [(1, 3, 3, 3, 3)], {}, 81 * 32),
        # groups again: an input channel meets 3 of 6 output channels
        ("ConvTranspose", [(1, 4, 2, 2), (4, 3, 2, 2), (6,)], [(1, 6, 4, 4)], {}, 16 * 24 + 96),
        ("GRU", [(7, 2, 3), (2, 15, 3), (2, 15, 5)], [(7, 2, 2, 5)], {}, 14 * (180 + 300 + 30)),
        ("AveragePool", [(1, 4, 9)], [(1, 4, 3)], {"kernel_shape": (3,)}, 36),
        ("GlobalLpPool", [(1, 4, 8, 8)], [(1, 4, 1, 1)], {}, 512),
        ("LRN", [(1, 4, 2, 2)], [(1, 4, 2, 2)], {"size": 3}, 96),
        ("MatMul", [(3,), (3,)], [()], {}, 6),
        ("QLinearMatMul", [(2, 3), (), (), (3, 4), (), (), (), ()], [(2, 4)], {}, 48),
        ("QGemm", [(2, 3), (), (), (3, 4), (), (), (4,)], [(2, 4)], {}, 48),
        ("BatchNormalization", [(2, 3), (3,), (3,), (3,), (3,)], [(2, 3)], {}, 12),
        ("InstanceNormalization", [(2, 3, 4), (3,), (3,)], [(2, 3, 4)], {}, 168),
        ("RotaryEmbedding", [(1, 2, 3, 4)], [(1, 2, 3, 4)], {}, 72),
        ("NegativeLogLikelihoodLoss", [(8, 5), (8,)], [()], {}, 16),
        ("AffineGrid", [(1, 2, 3), (4,)], [(1, 8, 8, 2)], {}, 128 * 6),
        ("Det", [(2, 3, 3)], [(2,)], {}, 36),
        ("Resize", [(1, 1, 2, 2)], [(1, 1, 4, 4)], {}, 16),
        ("Gather", [(1000, 8), (2,)], [(2, 8)], {}, 0),
        ("Reshape", [(2, 3), (1,)], [(6,)], {}, 0),
        ("Split", [(2, 4)], [(2, 2), (2, 2)], {}, 0),
        ("Invented", [(2, 3)], [(2, 3)], {}, math.nan),
        ("MatMul", [], [], {}, math.nan),
        ("Gemm", [(2, 3)], [(2,)], {}, math.nan),
        ("LSTM", [(7, 2, 3)], [(7, 1, 2, 5)], {}, math.nan),
        ("Add", [(2**62,) * 20], [(2**62,) * 20], {}, math.inf),
    ],
)
def test_operations_by_hand(op: str, inputs: Any, outputs: Any, attributes: Any, expected: float) -> None:
    assert flops(op, inputs, outputs, attributes) == pytest.approx(expected, nan_ok=True)
