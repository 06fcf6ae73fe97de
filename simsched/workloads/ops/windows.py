"""Windows that slide over images: filters and pools."""

from __future__ import annotations

from typing import Literal

from simsched.errors import GraphError

#: Padding as TensorFlow has it: as many outputs as inputs over the stride, or only windows that lie inside; or pixels.
Padding = Literal["same", "valid"] | int


def outputs(size: int, window: int, stride: int, padding: Padding) -> int:
    """Return how many places a window has along an axis.

    Raises
    ------
    GraphError
        If it has none.
    """
    if padding == "same":
        return -(-size // stride)
    beyond = 0 if padding == "valid" else padding
    if size + 2 * beyond < window:
        raise GraphError(f"a window of {window} does not fit into {size} pixels, padded by {beyond}")
    return (size + 2 * beyond - window) // stride + 1
