"""Bytes that ONNX operators move, from the shapes of what they read and write."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simsched.traces.onnx.tensors import Tensor, tensor_bytes

#: Name memory anew, and move none.
VIEWS = frozenset(
    {"Flatten", "Identity", "Optional", "OptionalGetElement", "Reshape", "Squeeze", "Unsqueeze"}
)
#: Lists of tensors: what is put in and taken out is not copied.
VIEWS |= {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert"}
#: Tell of a tensor without reading it.
DESCRIBE = frozenset({"OptionalHasElement", "SequenceLength", "Shape", "Size"})
#: Read of their first input as much as they write, whatever its size: rows of a table, parts of a tensor.
PICK = frozenset({"Gather", "GatherElements", "GatherND", "GatherBlockQuantized", "Slice"})


def moved_bytes(op_type: str, inputs: Sequence[Tensor] | None, outputs: Sequence[Tensor] | None) -> float:
    """Return the bytes of one call of an operator: its inputs and outputs once each, unless it is known to move less.

    Parameters
    ----------
    op_type : str
        `MatMul`, `Conv`, ...
    inputs, outputs : sequences of Tensor, or None
        With all dimensions known; None where one is not.

    Returns
    -------
    float
        Bytes; NaN where that takes a shape that is not known, or the size of an element, as of a string.

    Examples
    --------
    >>> moved_bytes("Add", [Tensor("float", (8,)), Tensor("float", (1,))], [Tensor("float", (8,))])
    68.0
    >>> moved_bytes("Gather", [Tensor("float", (1000, 8)), Tensor("int64", (2,))], [Tensor("float", (2, 8))])
    144.0
    """
    if op_type in VIEWS:
        return 0.0
    if outputs is None:
        return math.nan
    written_B = tensor_bytes(outputs)
    if op_type in DESCRIBE:
        return float(written_B)
    if inputs is None:
        return math.nan
    if op_type in PICK:
        return float(2 * written_B + tensor_bytes(inputs[1:]))
    return float(written_B + tensor_bytes(inputs))
