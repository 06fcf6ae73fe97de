"""The nest as in swDNN and swCaffe: products of all CPEs, which share tiles by register communication."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from simsched.hwmodels.ldm.group import CoreGroup
from simsched.hwmodels.ldm.group_products import Batched, BatchKernel, Gemm, group_product
from simsched.hwmodels.ldm.nest import Access, LoopNest
from simsched.hwmodels.ldm.planning import plan
from simsched.hwmodels.ldm.times import Times


def _columns_s(columns: LoopNest, gemm: Gemm, group: CoreGroup) -> float:
    """Return the seconds of writing one image's windows out as columns.

    CPEs fetch the image's rows, each once, and write the part of a row at each position of the kernel as a
    separate transfer, for which they wait.
    """
    *others, width = columns.inputs[0].spans(columns.loops)
    made = columns.loops[gemm.m[-1]]
    put = math.prod(columns.loops.values()) // made
    return (
        _dealt(math.prod(others), group) * group.get_s(width * columns.element_B, group.cpes, strided=False)
        + _dealt(put, group) * group.put_s(made * columns.element_B, group.cpes, strided=False)
        + group.spawn_join_s
    )


def _images_last_s(conv: Batched, group: CoreGroup) -> float:
    """Return the seconds of converting input and weights to the layout with images last, and back."""
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
    """Return the seconds of exchanging images and channels, plane by plane, and then planes and pixels."""
    plane_B = pixels * element_B
    move_s = sum(move(plane_B, group.cpes, strided=False) for move in (group.get_s, group.put_s))
    return _dealt(planes, group) * move_s + group.spawn_join_s + _turned_s(planes, pixels, element_B, group)


def _turned_s(rows: int, columns: int, element_B: int, group: CoreGroup) -> float:
    """Return the seconds of transposing a matrix in tiles whose runs are the preferred elements, or all."""
    high, wide = min(rows, group.preferred_elements), min(columns, group.preferred_elements)
    tile_s = high * group.get_s(wide * element_B, group.cpes, strided=True)
    tile_s += wide * group.put_s(high * element_B, group.cpes, strided=True)
    return _dealt(rows * columns / (high * wide), group) * tile_s + group.spawn_join_s


def _dealt(pieces: float, group: CoreGroup) -> int:
    """Return the pieces of the CPE with the most."""
    return math.ceil(pieces / group.cpes)


#: Dimensions of an image tensor: images, channels, height, width.
IMAGE_DIMS = 4


def as_gemm(nest: LoopNest) -> Gemm | None:
    """Return a nest of two inputs as a matrix product; None for all others.

    A dimension of the input that more than one loop indexes, or with a stride, is a window (as in a convolution). Where
    such a dimension is the lowest, rows of the input are not those of a matrix; im2col makes them so, image by image.
    Where images are the lowest dimension (swDNN), each position of the window is a separate product. Images that are
    the highest of four dimensions or more are separate products, too.
    """
    if len(nest.inputs) != 2 or not nest.reductions:
        return None
    long = {loop for loop, extent in nest.loops.items() if extent > 1}
    data, weights = nest.inputs
    if not nest.reductions & data.variables & weights.variables or nest.output.variables & (
        data.variables & weights.variables & long
    ):
        return None
    windowed = [
        bool(set(dim.variables) & long)
        and (len(set(dim.variables) & long) > 1 or any(abs(f) > 1 for v, f in dim.terms if v in long))
        for dim in data.dims
    ]
    window = {v for dim, is_one in zip(data.dims, windowed, strict=True) if is_one for v in dim.variables}
    m = tuple(loop for loop in nest.loops if loop in nest.output.variables & data.variables)
    n = tuple(loop for loop in nest.loops if loop in nest.output.variables & weights.variables - set(m))
    k = tuple(loop for loop in nest.loops if loop in nest.reductions)
    if windowed[-1]:
        return Gemm(tuple(loop for loop in m if loop in window), n, k, im2col=True)
    around = window | (set(data.dims[0].variables) if len(data.dims) >= IMAGE_DIMS else set())
    rows, sums = (tuple(loop for loop in loops if loop not in around) for loops in (m, k))
    return Gemm(rows, n, sums, im2col=False)


def register_communication(nest: LoopNest, group: CoreGroup) -> Times:
    """Return the time of a nest with hand-ordered code whose CPEs pass tiles on to each other.

    Convolutions of stride 1 whose images are contiguous (HWCN) are products whose rows are the images, as in swDNN:
    see `simsched.hwmodels.ldm.group_products.BatchKernel`. In NCHW it goes as in swCaffe. With at least 128 images, 64
    channels and 64 filters, in whole multiples of what its code asks for, tensors are brought into that layout and
    back, and the same is done with single buffers. All others are products image by image, of which those of windows
    first write them out as columns (im2col). A convolution of several groups is that of one group as often.

    The tiles of a product are chosen for the group as a whole, whose LDM together is one; each is fetched once for all
    CPEs, in runs that all share out. For each step the tile of the input goes along the rows of the mesh and that of
    the weights along its columns; matrices are padded to the multiples that the instructions need, so that small
    batches are mostly padding. Register communication and DMA overlap computation.

    Of other nests, a bias takes a time per element, which is that of a product of inner dimension 1, and
    pooling one per element of its windows, which is that of a single core; both are measured. Element-wise operations
    work in place. All else is planned as in `plan`, with hand-ordered instructions.

    Parameters
    ----------
    nest : LoopNest
    group : CoreGroup

    Returns
    -------
    Times

    Raises
    ------
    NestError
        If not even the least tiles fit.

    Examples
    --------
    >>> import simsched as ss
    >>> from simsched.hwmodels.ldm import core_group, matmul, plan, register_communication
    >>> nest, group = matmul(512, 512, 512), core_group(ss.machine("sw26010"))
    >>> register_communication(nest, group).total_s < plan(nest, group).seconds
    True
    """
    if groups := _groups(nest):
        one = nest.resized(dict.fromkeys(groups, 1))
        return register_communication(one, group).repeated(math.prod(nest.loops[loop] for loop in groups))
    gemm, conv = as_gemm(nest), Batched.of(nest)
    if gemm is None:
        return _no_product(nest, group)
    if conv is not None and (batched := _batched(nest, conv, group)):
        return batched
    if len(nest.inputs[0].dims) < IMAGE_DIMS or _images_are_last(nest):
        return group_product(nest, gemm, group)
    product = group_product(
        product_of(nest, gemm, ("m", "n", "k"), ("k", "n")), Gemm(("m",), ("n",), ("k",), im2col=False), group
    )
    layout_s = _columns_s(columns_of(nest, gemm), gemm, group) if gemm.im2col else 0.0
    return replace(product, layout_s=layout_s).repeated(images_of(nest, gemm))


def _groups(nest: LoopNest) -> list[str]:
    """Return loops that index both inputs of a product and its output."""
    if len(nest.inputs) != 2 or not nest.reductions:
        return []
    both = nest.inputs[0].variables & nest.inputs[1].variables & nest.output.variables
    return [loop for loop, extent in nest.loops.items() if loop in both and extent > 1]


def _batched(nest: LoopNest, conv: Batched, group: CoreGroup) -> Times | None:
    """Return the time with images as rows; None where neither library does so, or no tiles fit."""
    if _images_are_last(nest):
        return BatchKernel(group.swdnn_ldm_B, doubled=True).times(conv, group)
    # As SWCaffe's conv_layer.cpp asks.
    if conv.images % 128 or min(conv.channels, conv.filters) < 64 or conv.channels % 32 or conv.filters % 32:
        return None
    times = BatchKernel(group.swcaffe_ldm_B, doubled=False).times(conv, group)
    return times and replace(times, layout_s=_images_last_s(conv, group))


def _images_are_last(nest: LoopNest) -> bool:
    data, weights = nest.inputs
    return (
        not set(data.dims[-1].variables) & (weights.variables | nest.reductions)
        and len(data.dims) >= IMAGE_DIMS
    )


def _no_product(nest: LoopNest, group: CoreGroup) -> Times:
    whole = [tensor.dims == nest.output.dims for tensor in nest.inputs]
    if nest.reductions and len(whole) == 1:
        return Times(0.0, compute_s=nest.iterations * group.window_element_s)
    if not nest.reductions and any(whole) and not all(whole):
        return Times(0.0, compute_s=nest.iterations * group.bias_element_s, spawn_join_s=group.spawn_join_s)
    if not nest.reductions and any(whole):
        group = group.in_place()
    return plan(nest, group.hand_ordered()).times


def images_of(nest: LoopNest, gemm: Gemm) -> int:
    """Return the number of images whose windows a nest writes out."""
    return math.prod(
        nest.loops[loop]
        for loop in nest.loops
        if loop in nest.inputs[0].variables and loop not in (*gemm.m, *gemm.k)
    )


def columns_of(nest: LoopNest, gemm: Gemm) -> LoopNest:
    """Return im2col of one image: each window of the input becomes a column."""
    kept = (*gemm.k, *gemm.m)
    one = nest.resized({loop: 1 for loop in nest.loops if loop not in kept})
    return LoopNest(
        name=f"im2col of {nest.name}",
        loops={**{loop: one.loops[loop] for loop in kept}, **dict.fromkeys(set(one.loops) - set(kept), 1)},
        reads=(one.reads[0],),
        write=Access("columns", kept),
        flops=0,
        element_B=nest.element_B,
        constants=nest.constants,
    )


def product_of(nest: LoopNest, gemm: Gemm, loops: Sequence[str], weights: tuple[str, str]) -> LoopNest:
    """Return the product of columns and weights, with its loops in an order, and the weights' dimensions."""
    sizes = {loop: math.prod(nest.loops[one] for one in getattr(gemm, loop)) for loop in loops}
    return LoopNest(
        name=f"product of {nest.name}",
        loops=sizes,
        reads=(Access("columns", ("k", "m")), Access("W", weights)),
        write=Access("Y", ("n", "m")),
        reductions=frozenset({"k"}),
        flops=nest.flops,
        element_B=nest.element_B,
    )
