"""Operations of TensorFlow's ops, counted by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.traces.tensorflow.flops import flops

IMAGE, FILTER, RESULT = (2, 8, 8, 3), (3, 3, 3, 16), (2, 8, 8, 16)
#: 2 x 8 x 8 x 16 results of 3 x 3 x 3 multiply-adds.
CONVOLUTION = 2.0 * 2048 * 27


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "attributes", "expected"),
    [
        ("MatMul", [(2, 3), (3, 4)], [(2, 4)], {}, 48),
        ("MatMul", [(3, 2), (4, 3)], [(2, 4)], {"transpose_a": True, "transpose_b": True}, 48),
        ("_FusedMatMul", [(2, 3), (3, 4), (4,)], [(2, 4)], {}, 56),
        ("BatchMatMulV2", [(5, 3, 2), (5, 3, 4)], [(5, 2, 4)], {"adj_x": True}, 240),
        ("Conv2D", [IMAGE, FILTER], [RESULT], {}, CONVOLUTION),
        ("_FusedConv2D", [IMAGE, FILTER, (16,)], [RESULT], {}, CONVOLUTION + 2048),
        ("Conv2DBackpropInput", [(4,), FILTER, RESULT], [IMAGE], {}, CONVOLUTION),
        ("Conv2DBackpropFilter", [IMAGE, (4,), RESULT], [FILTER], {}, CONVOLUTION),
        ("DepthwiseConv2dNative", [IMAGE, (3, 3, 3, 1)], [(2, 8, 8, 3)], {}, 2 * 9 * 384),
        ("MaxPool", [(1, 4, 4, 1)], [(1, 2, 2, 1)], {"ksize": (1, 2, 2, 1)}, 16),
        ("AddN", [(2, 2)] * 3, [(2, 2)], {}, 8),
        ("SigmoidGrad", [(5,), (5,)], [(5,)], {}, 15),
        ("Sum", [(4, 5), (1,)], [(4,)], {}, 20),
        ("ResourceApplyMomentum", [(), (), (), (6,), ()], [], {}, 24),
        ("Reshape", [(4,), (2,)], [(2, 2)], {}, 0),
        ("Conv2D", [IMAGE], [RESULT], {}, math.nan),
        ("MaxPool", [(1, 4, 4, 1)], [(1, 2, 2, 1)], {}, math.nan),
        ("SomeCustomOp", [(4,)], [(4,)], {}, math.nan),
    ],
)
def test_by_hand(op: str, inputs: Any, outputs: Any, attributes: Any, expected: float) -> None:
    assert flops(op, inputs, outputs, attributes) == pytest.approx(expected, nan_ok=True)
