"""Copies that bring a convolution's tensors into the layout that its products need, as swCaffe makes them."""

from __future__ import annotations

import math

from simsched.hwmodels.ldm.batched import Batched
from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.group_products import Gemm
from simsched.hwmodels.ldm.nest import LoopNest


def columns_s(columns: LoopNest, gemm: Gemm, group: CoreGroup) -> float:
    """Return the seconds of writing one image's windows out as columns.

    CPEs fetch the image's rows, each once, and put the part of a row that each position of the kernel sees as a
    transfer of its own, for which they wait.
    """
    *others, width = columns.inputs[0].spans(columns.loops)
    made = columns.loops[gemm.m[-1]]
    put = math.prod(columns.loops.values()) // made
    return (
        _dealt(math.prod(others), group) * group.get_s(width * columns.element_B, group.cpes, strided=False)
        + _dealt(put, group) * group.put_s(made * columns.element_B, group.cpes, strided=False)
        + group.spawn_join_s
    )


def images_last_s(conv: Batched, group: CoreGroup) -> float:
    """Return the seconds of bringing input and weights into the layout with images last, and the output back."""
    inputs = conv.rows.inputs * conv.columns.inputs
    outputs = conv.rows.outputs * conv.columns.outputs
    return (
        _image_s(conv.images * conv.channels, inputs, conv.element_B, group)
        + _image_s(conv.images * conv.filters, outputs, conv.element_B, group)
        + _turned_s(
            conv.channels * conv.filters, conv.rows.kernel * conv.columns.kernel, conv.element_B, group
        )
    )


def _image_s(planes: int, pixels: int, element_B: int, group: CoreGroup) -> float:
    """Return the seconds of exchanging images and channels, plane by plane, and then turning planes and pixels."""
    plane_B = pixels * element_B
    move_s = sum(move(plane_B, group.cpes, strided=False) for move in (group.get_s, group.put_s))
    return _dealt(planes, group) * move_s + group.spawn_join_s + _turned_s(planes, pixels, element_B, group)


def _turned_s(rows: int, columns: int, element_B: int, group: CoreGroup) -> float:
    """Return the seconds of transposing a matrix in tiles whose runs are the preferred elements, or all there are."""
    high, wide = min(rows, group.preferred_elements), min(columns, group.preferred_elements)
    tile_s = high * group.get_s(wide * element_B, group.cpes, strided=True)
    tile_s += wide * group.put_s(high * element_B, group.cpes, strided=True)
    return _dealt(rows * columns / (high * wide), group) * tile_s + group.spawn_join_s


def _dealt(pieces: float, group: CoreGroup) -> int:
    """Return the pieces of the CPE with the most."""
    return math.ceil(pieces / group.cpes)
