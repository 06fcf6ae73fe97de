"""Sizes of kernels from the shapes of a task's inputs; see `operators.toml`.

A rule returns the sizes that its kernel takes (those are listed in the C++ file of the kernel's family), or None where
the shapes are not what it expects; the task then counts as one of unknown kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simsched.graph.shapes import Shape

Dims = tuple[int, ...]
Sizes = list[int]


@dataclass(frozen=True)
class Seen:
    """What a rule sees of a task.

    Parameters
    ----------
    shape : tuple of tuple of int
        Shapes of the inputs.
    flops : float
        Floating-point operations; NaN where unknown.
    given : mapping of str to int
        What shapes do not tell: the table `defaults` of `operators.toml`, with the options of the kind.
    pinned : frozenset of str
        The keys of `given` that the caller has said, which FLOPs do not overrule.
    """

    shape: Shape
    flops: float
    given: Mapping[str, int]
    pinned: frozenset[str] = frozenset()


Rule = Callable[[Seen], Sizes | None]


def product(seen: Seen) -> Sizes | None:
    """Factors: a of (..., m, k) times b of (..., k, n) or (..., n, k), and perhaps a bias."""
    if len(seen.shape) < 2:
        return None
    bias = seen.shape[2] if len(seen.shape) > 2 else None
    return _product(seen.shape[0], seen.shape[1], bias)


def product_bias_first(seen: Seen) -> Sizes | None:
    """Bias, a, b."""
    return _product(seen.shape[1], seen.shape[2], seen.shape[0]) if len(seen.shape) > 2 else None


def _product(a: Dims, b: Dims, bias: Dims | None) -> Sizes | None:
    if not a or not b:
        return None
    a = a if len(a) > 1 else (1, *a)
    b = b if len(b) > 1 else (*b, 1)
    k = a[-1]
    if k not in b[-2:]:
        return None
    transposed = b[-2] != k
    n = b[-2] if transposed else b[-1]
    if len(b) == 2:
        batch, m = 1, math.prod(a[:-1])
    elif a[:-2] == b[:-2]:
        batch, m = math.prod(a[:-2]), a[-2]
    else:
        return None
    added = {n: 1, batch * m * n: 2}.get(math.prod(bias), 0) if bias else 0
    return [batch, m, n, k, 0, int(transposed), added]


@dataclass(frozen=True)
class Window:
    """A filter or window along one axis."""

    size: int
    stride: int
    padding: int

    def count(self, extent: int) -> int:
        """Return how many places it has on an axis."""
        return (extent + 2 * self.padding - self.size) // self.stride + 1

    @property
    def fits(self) -> bool:
        """Whether every place of it touches the axis."""
        return self.padding < self.size


def convolution(seen: Seen) -> Sizes | None:
    """Images, filters and perhaps a bias; NCHW, or NHWC with filters of HWIO."""
    if len(seen.shape) < 2:
        return None
    layout = _images(seen.shape[0], seen.shape[1])
    if layout is None:
        return None
    n, c, h, w, f, kh, kw, groups = layout
    windows = _told_by_flops(seen, layout) or _windows(seen, kh, kw)
    bias = int(len(seen.shape) > 2 and math.prod(seen.shape[2]) == f)
    return checked([n, c, h, w, f, kh, kw], windows, h, w, [groups, bias])


def convolution_gradients(seen: Seen) -> Sizes | None:
    """Gradient of the output, images, filters; NCHW."""
    if len(seen.shape) < 3:
        return None
    dy, x, w = seen.shape[:3]
    layout = _images(x, w)
    if layout is None or len(dy) != len(x):
        return None
    n, c, h, wide, f, kh, kw, groups = layout
    out = dy[-2:] if len(dy) == 4 else (1, dy[-1])
    windows = _told_by_output(seen, (kh, kw), (h, wide), out)
    return windows and checked([n, c, h, wide, f, kh, kw], windows, h, wide, [groups, 0])


def data_gradient(seen: Seen) -> Sizes | None:
    """Size of the images (a vector), filters of HWIO, gradient of the output of NHWC."""
    if len(seen.shape) < 3 or len(seen.shape[1]) != 4 or len(seen.shape[2]) != 4:
        return None
    kh, kw, c, f = seen.shape[1]
    n, out_h, out_w, filters = seen.shape[2]
    if filters != f:
        return None
    windows = _windows(seen, kh, kw)
    h, w = (
        (out - 1) * v.stride + v.size - 2 * v.padding for out, v in zip((out_h, out_w), windows, strict=True)
    )
    return checked([n, c, h, w, f, kh, kw], windows, h, w, [1, 0]) if min(h, w) > 0 else None


def weights_gradient(seen: Seen) -> Sizes | None:
    """Images of NHWC, size of the filters (a vector), gradient of the output of NHWC; FLOPs tell the filter."""
    if len(seen.shape) < 3 or len(seen.shape[0]) != 4 or len(seen.shape[2]) != 4:
        return None
    n, h, w, c = seen.shape[0]
    out_h, out_w, f = seen.shape[2][1:]
    side = seen.given["filter"]
    each = 2.0 * n * out_h * out_w * f * c
    if "filter" not in seen.pinned and seen.flops > 0 and each:
        side = max(round(math.sqrt(seen.flops / each)), 1)
    windows = _told_by_output(seen, (side, side), (h, w), (out_h, out_w))
    return windows and checked([n, c, h, w, f, side, side], windows, h, w, [1, 0])


def _images(x: Dims, w: Dims) -> tuple[int, int, int, int, int, int, int, int] | None:
    """Return n, c, h, w, filters, filter height and width, groups."""
    if len(x) == 3 and len(w) == 3:
        x, w = (x[0], x[1], 1, x[2]), (w[0], w[1], 1, w[2])
    if len(x) != 4 or len(w) != 4 or not all((*x, *w)):
        return None
    if x[1] % w[1] == 0 and w[0] % (x[1] // w[1]) == 0 and (x[1] == w[1] or x[3] != w[2]):
        return (*x, w[0], w[2], w[3], x[1] // w[1])
    if x[3] == w[2]:
        return (x[0], x[3], x[1], x[2], w[3], w[0], w[1], 1)
    return None


Windows = tuple[Window, Window]


def _windows(seen: Seen, kh: int, kw: int) -> Windows:
    """Return filters with the stride and padding given."""
    stride, padding = seen.given["stride"], seen.given["padding"]
    down, across = (Window(k, stride, (k - 1) // 2 if padding < 0 else padding) for k in (kh, kw))
    return down, across


def _candidates(seen: Seen, kh: int, kw: int) -> list[Windows]:
    """Return the windows that may be meant, the likeliest first."""
    found = [_windows(seen, kh, kw)]
    if "stride" in seen.pinned or "padding" in seen.pinned:
        return found
    for stride in (1, 2, 3, 4):
        found.append((Window(kh, stride, (kh - 1) // 2), Window(kw, stride, (kw - 1) // 2)))
        found += [(Window(kh, stride, p), Window(kw, stride, p)) for p in range(min(kh, kw))]
    return found


def _told_by_flops(seen: Seen, layout: tuple[int, ...]) -> Windows | None:
    n, c, h, w, f, kh, kw, groups = layout
    if not seen.flops > 0:
        return None
    outputs = seen.flops / (2.0 * n * f * (c // groups) * kh * kw)
    for windows in _candidates(seen, kh, kw):
        down, across = windows
        # Importers may count the bias, too.
        if abs(down.count(h) * across.count(w) / outputs - 1) < 0.01:
            return windows
    return None


def _told_by_output(seen: Seen, sides: tuple[int, int], image: Dims, out: Dims) -> Windows | None:
    for windows in _candidates(seen, *sides):
        if tuple(v.count(extent) for v, extent in zip(windows, image, strict=True)) == tuple(out):
            return windows
    return None


def checked(head: Sizes, windows: Windows, h: int, w: int, tail: Sizes) -> Sizes | None:
    """Return the sizes of a kernel whose windows have a place on images of h x w; None where they have none."""
    down, across = windows
    if down.count(h) < 1 or across.count(w) < 1:
        return None
    return [*head, down.stride, across.stride, down.padding, across.padding, *tail]


def batch_norm(seen: Seen) -> Sizes | None:
    """Images: x of (n, c, ...), and what else there is."""
    if not seen.shape or len(seen.shape[0]) < 2:
        return None
    n, c, *rest = seen.shape[0]
    return [n, c, math.prod(rest)]


def batch_norm_gradient(seen: Seen) -> Sizes | None:
    """Gradient, x, and what else there is."""
    return batch_norm(seen) if len(seen.shape) > 1 and seen.shape[0] == seen.shape[1] else None


def addends(seen: Seen) -> Sizes | None:
    """Two tensors or more, all of one size."""
    amounts = {math.prod(dims) for dims in seen.shape}
    return [*amounts, len(seen.shape)] if len(amounts) == 1 and len(seen.shape) > 1 else None


def layer_norm_gradient(seen: Seen) -> Sizes | None:
    """Gradient, x, and what else there is."""
    return rows(seen) if len(seen.shape) > 1 and seen.shape[0] == seen.shape[1] else None


def layer_norm(seen: Seen) -> Sizes | None:
    """Input: x and perhaps the scale, whose elements are a row."""
    if not seen.shape or not seen.shape[0]:
        return None
    total = math.prod(seen.shape[0])
    columns = math.prod(seen.shape[1]) if len(seen.shape) > 1 and seen.shape[1] else seen.shape[0][-1]
    return [total // columns, columns] if columns and total % columns == 0 else None


def rows(seen: Seen) -> Sizes | None:
    """Input: x, by its last axis."""
    if not seen.shape or not seen.shape[0]:
        return None
    return [math.prod(seen.shape[0][:-1]), seen.shape[0][-1]]


def reduction(seen: Seen) -> Sizes | None:
    """Input: x, over all axes but the last; a vector into one number."""
    if not seen.shape or not seen.shape[0]:
        return None
    *front, last = seen.shape[0]
    return [1, math.prod(front), last] if front else [1, last, 1]


def concatenation(seen: Seen) -> Sizes | None:
    """Tensors that differ in one axis at most."""
    shapes = [dims for dims in seen.shape if dims]
    if not shapes or len({len(dims) for dims in shapes}) > 1:
        return None
    rank = len(shapes[0])
    differs = [axis for axis in range(rank) if len({dims[axis] for dims in shapes}) > 1]
    if len(differs) > 1:
        return None
    axis = differs[0] if differs else min(1, rank - 1)
    return [math.prod(shapes[0][:axis]), *(math.prod(dims[axis:]) for dims in shapes)]


def embedding(seen: Seen) -> Sizes | None:
    """A table of (rows, columns), and indices."""
    if len(seen.shape) < 2 or len(seen.shape[0]) != 2:
        return None
    return [*seen.shape[0], math.prod(seen.shape[1])]


def unary(seen: Seen) -> Sizes | None:
    """One tensor, or the largest of several."""
    return [max(map(math.prod, seen.shape))] if seen.shape else None


def binary(seen: Seen) -> Sizes | None:
    """Two tensors, of which one may be broadcast along axes at the front or the back; or a tensor and a number."""
    operands = sorted(seen.shape[:2], key=math.prod, reverse=True)
    if not operands or not operands[0]:
        return [1, 1, 1] if operands else None
    large, n = operands[0], math.prod(operands[0])
    if not n:
        return None
    small = operands[1] if len(operands) > 1 else ()
    period = math.prod(small)
    if period in (1, n):
        return [n, 1, period]
    # 1s at the back of what is broadcast: one value for a run; a bias of channels is the second axis of images.
    kept = list(small)
    inner = 1
    while kept and kept[-1] == 1:
        inner *= large[len(large) - len(small) + len(kept) - 1] if len(small) <= len(large) else 1
        kept.pop()
    if len(small) == 1 and len(large) > 2 and small[0] == large[1] != large[-1]:
        inner = math.prod(large[2:])
    return [n, inner, period] if inner * period and n % (inner * period) == 0 else None
