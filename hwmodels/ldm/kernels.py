"""Loop nests of common operations."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Literal, get_args

from simsched.hwmodels.ldm.affine import NestError
from simsched.hwmodels.ldm.nest import Access, LoopNest

Layout = Literal["NCHW", "HWCN"]


def matmul(m: int, n: int, k: int, element_B: int = 4, *, transposed: bool = False) -> LoopNest:
    """Return C[m,n] = sum over k of A[m,k] B[k,n]. A fully connected layer is one with m = batch.

    `transposed` stores B as B[n,k].

    Parameters
    ----------
    m, n, k : int
        Rows and columns of the product, and the inner dimension.
    element_B : int
        Bytes of an element.
    transposed : bool
        Whether B is stored as B[n,k].

    Returns
    -------
    LoopNest

    Examples
    --------
    >>> from simsched.hwmodels.ldm import matmul
    >>> nest = matmul(m=64, n=10, k=20)
    >>> nest.total_flops, [tensor.shape for tensor in nest.tensors]
    (25600, [(64, 20), (20, 10), (64, 10)])
    """
    return LoopNest(
        name=f"matmul {m}x{n}x{k}",
        loops={"m": m, "n": n, "k": k},
        reads=(Access("A", ("m", "k")), Access("B", ("n", "k") if transposed else ("k", "n"))),
        write=Access("C", ("m", "n")),
        reductions=frozenset({"k"}),
        flops=2,
        element_B=element_B,
    )


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    if not isinstance(size, (tuple, list)):
        return size, size
    if len(size) != 2:
        raise NestError(f"size {size} is neither a number nor a pair of height and width")
    return size[0], size[1]


def _out(size: int, window: int, stride: int, padding: int) -> int:
    for given in (size, window, stride, padding):
        if isinstance(given, bool) or not isinstance(given, Integral):
            raise NestError(f"{given!r}: sizes, windows, strides and paddings are whole numbers")
    if min(size, window, stride) < 1 or padding < 0:
        raise NestError(
            f"size {size}, window {window}, stride {stride} must be at least 1, padding {padding} at least 0"
        )
    if window > size + 2 * padding:
        raise NestError(f"a window of {window} does not fit an input of {size} with a padding of {padding}")
    return (size + 2 * padding - window) // stride + 1


def convolution(
    *,
    channels: int,
    filters: int,
    size: int | tuple[int, int],
    kernel: int | tuple[int, int],
    stride: int = 1,
    padding: int = 0,
    batch: int = 1,
    groups: int = 1,
    layout: Layout = "NCHW",
    element_B: int = 4,
) -> LoopNest:
    """Return a direct convolution.

    Parameters
    ----------
    channels, filters, batch, element_B : int
        Of input and output; images; bytes of an element.
    size, kernel : int or (int, int)
        Height and width of the input, without padding, and of the kernel.
    stride, padding, groups : int
        Of both directions; parts of channels and filters that do not mix (NCHW only).
    layout : {"NCHW", "HWCN"}
        Of input and output in memory; with "HWCN", as in swDNN, the images of a batch are contiguous, and the weights
        are stored kernel first, filters last.

    Raises
    ------
    NestError
        If there is no such layout, a size is below one, the kernel exceeds the padded input, or groups are not equal.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import convolution
    >>> nest = convolution(channels=3, filters=16, size=32, kernel=3, padding=1)
    >>> nest.total_flops, nest.tensors[-1].shape
    (884736, (1, 16, 32, 32))
    """
    (h, w), (kh, kw) = _pair(size), _pair(kernel)
    oh, ow = _out(h, kh, stride, padding), _out(w, kw, stride, padding)
    x = {"n": "n", "c": "ic", "h": "oh*stride+kh-padding", "w": "ow*stride+kw-padding"}
    y = {"n": "n", "c": "oc", "h": "oh", "w": "ow"}
    stored = {"n": batch, "c": channels, "h": h, "w": w}
    if layout not in get_args(Layout):
        raise NestError(f"layout {layout!r} is unknown; give {' or '.join(get_args(Layout))}")
    axes = layout.lower()
    weights = ("oc", "ic", "kh", "kw") if layout == "NCHW" else ("kh", "kw", "ic", "oc")
    nest = LoopNest(
        name=f"convolution {batch}x{channels}x{h}x{w} -> {filters}, {kh}x{kw}/{stride}",
        loops={"n": batch, "oc": filters, "oh": oh, "ow": ow, "ic": channels, "kh": kh, "kw": kw},
        reads=(Access("X", tuple(x[a] for a in axes), tuple(stored[a] for a in axes)), Access("W", weights)),
        write=Access("Y", tuple(y[a] for a in axes)),
        reductions=frozenset({"ic", "kh", "kw"}),
        flops=2,
        element_B=element_B,
        constants={"stride": stride, "padding": padding},
    )
    return nest if groups == 1 else _grouped(nest, groups, layout)


def _grouped(nest: LoopNest, groups: int, layout: Layout) -> LoopNest:
    """Return a convolution with channels and filters divided: the group is a dimension before them."""
    channels, filters = nest.loops["ic"], nest.loops["oc"]
    whole = isinstance(groups, Integral) and not isinstance(groups, bool) and groups >= 1
    if not whole or channels % groups or filters % groups or layout != "NCHW":
        raise NestError(
            f"{nest.name}: {groups!r} groups; expected a whole number that divides {channels} channels and "
            f"{filters} filters, and layout NCHW"
        )
    n, _, *image = nest.reads[0].indices
    stored = nest.inputs[0].shape
    return replace(
        nest,
        name=f"{nest.name}, {groups} groups",
        loops={"n": nest.loops["n"], "g": groups}
        | dict(nest.loops)
        | {"oc": filters // groups, "ic": channels // groups},
        reads=(
            Access("X", (n, "g", "ic", *image), (stored[0], groups, channels // groups, *stored[2:])),
            Access("W", ("g", "oc", "ic", "kh", "kw")),
        ),
        write=Access("Y", ("n", "g", "oc", "oh", "ow")),
    )


def pooling(
    kind: Literal["max", "avg"] = "max",
    *,
    channels: int,
    size: int | tuple[int, int],
    window: int,
    stride: int | None = None,
    padding: int = 0,
    batch: int = 1,
    element_B: int = 4,
) -> LoopNest:
    """Return a pooling of windows, NCHW. The average's division by a constant is folded into its additions.

    Parameters
    ----------
    kind : {"max", "avg"}
    channels, size, padding, batch, element_B
        As in `convolution`.
    window, stride : int
        Height and width of a window, and its steps; as the window when not given.

    Returns
    -------
    LoopNest

    Raises
    ------
    NestError
        If the kind is neither, a size is below one or the window is larger than the padded input.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import pooling
    >>> nest = pooling("max", channels=64, size=112, window=2)
    >>> nest.tensors[-1].shape
    (1, 64, 56, 56)
    """
    if kind not in {"max", "avg"}:
        raise NestError(f"pooling kind {kind!r} is unknown; give 'max' or 'avg'")
    step = window if stride is None else stride
    h, w = _pair(size)
    oh, ow = _out(h, window, step, padding), _out(w, window, step, padding)
    read = ("n", "c", "oh*stride+kh-padding", "ow*stride+kw-padding")
    return LoopNest(
        name=f"{kind} pooling {batch}x{channels}x{h}x{w}, {window}x{window}/{step}",
        loops={"n": batch, "c": channels, "oh": oh, "ow": ow, "kh": window, "kw": window},
        reads=(Access("X", read, (batch, channels, h, w)),),
        write=Access("Y", ("n", "c", "oh", "ow")),
        reductions=frozenset({"kh", "kw"}),
        element_B=element_B,
        constants={"stride": step, "padding": padding},
    )


def elementwise(elements: int, operands: int = 1, flops: float = 1, element_B: int = 4) -> LoopNest:
    """Return an operation on `elements` elements, each from one element of each operand (ReLU, addition, ...).

    Parameters
    ----------
    elements, operands : int
        Of the output, and tensors that are read.
    flops : float
        Operations of an element.
    element_B : int
        Bytes of an element.

    Returns
    -------
    LoopNest

    Raises
    ------
    NestError
        If the elements are below one, or the operands below zero.

    Examples
    --------
    >>> from simsched.hwmodels.ldm import elementwise
    >>> add = elementwise(1000, operands=2)
    >>> add.total_flops, len(add.reads)
    (1000, 2)
    """
    if not isinstance(operands, Integral) or operands < 0:
        raise NestError(f"element-wise {elements}: {operands!r} operands; expected a whole number from 0")
    return LoopNest(
        name=f"element-wise {elements}",
        loops={"i": elements},
        reads=tuple(Access(f"X{o}", ("i",)) for o in range(operands)),
        write=Access("Y", ("i",)),
        flops=flops,
        element_B=element_B,
    )


def bias(channels: int, pixels: int, batch: int = 1, element_B: int = 4) -> LoopNest:
    """Return the addition of one number per channel to images of `pixels` pixels.

    Parameters
    ----------
    channels, pixels, batch : int
        Numbers to add, elements that each is added to, images.
    element_B : int
        Bytes of an element.

    Returns
    -------
    LoopNest

    Examples
    --------
    >>> from simsched.hwmodels.ldm import bias
    >>> bias(channels=64, pixels=56 * 56).total_flops
    200704.0
    """
    return LoopNest(
        name=f"bias {batch}x{channels}x{pixels}",
        loops={"n": batch, "c": channels, "p": pixels},
        reads=(Access("X", ("n", "c", "p")), Access("b", ("c",))),
        write=Access("Y", ("n", "c", "p")),
        element_B=element_B,
    )
