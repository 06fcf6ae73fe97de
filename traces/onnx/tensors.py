"""Tensors of ONNX models: element types, dimensions, and the bytes they take."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

#: Bytes of one element, under the names that ONNX and ONNX Runtime give the types; several small ones share a byte.
ITEMSIZE_B: dict[str, float] = {
    **dict.fromkeys(["int2", "uint2"], 0.25),
    **dict.fromkeys(["int4", "uint4", "float4e2m1"], 0.5),
    **dict.fromkeys(["bool", "int8", "uint8"], 1),
    **dict.fromkeys(["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"], 1),
    **dict.fromkeys(["int16", "uint16", "float16", "bfloat16"], 2),
    **dict.fromkeys(["float", "int32", "uint32"], 4),
    **dict.fromkeys(["double", "int64", "uint64", "complex64"], 8),
    "complex128": 16,
}


@dataclass(frozen=True)
class Tensor:
    """Element type (`float`, `int64`) and dimensions of a tensor; None where a dimension is not told."""

    dtype: str
    dims: tuple[int | None, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {'x'.join('?' if d is None else str(d) for d in self.dims) or '()'}"


def tensor_bytes(tensors: Iterable[Tensor]) -> float:
    """Return the bytes of tensors; NaN where an element's size is not known.

    Examples
    --------
    >>> tensor_bytes([Tensor("float", (2, 3)), Tensor("int64", ())])
    32.0
    """
    return sum(math.prod(dims(t), start=float(ITEMSIZE_B.get(t.dtype, math.nan))) for t in tensors)


def dims(tensor: Tensor) -> tuple[int, ...]:
    """Return the dimensions of a tensor all of whose are known."""
    return tuple(d or 0 for d in tensor.dims)
