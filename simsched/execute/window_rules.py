"""Sizes of kernels whose windows go over images: convolutions and pooling.

What shapes do not tell of the windows, FLOPs, bytes or the shape of a gradient may tell; else it is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from simsched.execute.rules import Dims, Seen, Sizes
from simsched.graph.shapes import numel


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
    return _checked([n, c, h, w, f, kh, kw], windows, h, w, [groups, bias])


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
    return windows and _checked([n, c, h, wide, f, kh, kw], windows, h, wide, [groups, 0])


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
    return _checked([n, c, h, w, f, kh, kw], windows, h, w, [1, 0]) if min(h, w) > 0 else None


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
    return windows and _checked([n, c, h, w, f, side, side], windows, h, w, [1, 0])


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


def _checked(head: Sizes, windows: Windows, h: int, w: int, tail: Sizes) -> Sizes | None:
    down, across = windows
    if down.count(h) < 1 or across.count(w) < 1:
        return None
    return [*head, down.stride, across.stride, down.padding, across.padding, *tail]


def pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW; where bytes are known they tell the size of the output."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4) or not math.prod(seen.shape[0]):
        return None
    *planes, h, w = seen.shape[0]
    windows = _told_by_bytes(seen, math.prod(planes), h, w) or next(_pools(seen, h, w), None)
    return windows and _pooling(math.prod(planes), h, w, windows)


def pooling_gradient(seen: Seen) -> Sizes | None:
    """Gradient of the output and, perhaps after the output itself, images; NCHW."""
    pair = _gradient_and_images(seen)
    if pair is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    for windows in _pools(seen, h, w):
        if tuple(v.count(extent) for v, extent in zip(windows, (h, w), strict=True)) == (out_h, out_w):
            return _pooling(math.prod(planes), h, w, windows)
    return None


def global_pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, each plane into one number."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4):
        return None
    *planes, h, w = seen.shape[0]
    return _pooling(math.prod(planes), h, w, (Window(h, 1, 0), Window(w, 1, 0)))


def even_pooling_gradient(seen: Seen) -> Sizes | None:
    """Gradient of the output, images; windows that lie side by side, as those of adaptive pooling."""
    pair = _gradient_and_images(seen)
    if pair is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    if h % out_h or w % out_w:
        return None
    windows = (Window(h // out_h, h // out_h, 0), Window(w // out_w, w // out_w, 0))
    return _pooling(math.prod(planes), h, w, windows)


def _gradient_and_images(seen: Seen) -> tuple[Dims, Dims] | None:
    if len(seen.shape) < 2:
        return None
    dy, x = seen.shape[0], max(seen.shape[1:], key=numel)
    images = len(x) in (3, 4) and len(dy) == len(x) and dy[:-2] == x[:-2]
    return (dy, x) if images and 0 not in dy else None


def _pools(seen: Seen, h: int, w: int) -> Iterator[Windows]:
    """Yield the windows that may be meant, the likeliest first."""

    def choices(key: str, others: Sequence[int]) -> list[int]:
        given = seen.given[f"pool_{key}"]
        return [given] if f"pool_{key}" in seen.pinned else [given, *others]

    for side, stride, padding in product(
        choices("window", (3, 2, 5, 7)), choices("stride", (1, 2, 3)), choices("padding", (0, 1, 2, 3))
    ):
        down, across = (
            Window(min(side, extent), stride, min(padding, min(side, extent) // 2)) for extent in (h, w)
        )
        if all(v.fits and v.count(extent) > 0 for v, extent in ((down, h), (across, w))):
            yield down, across


def _told_by_bytes(seen: Seen, planes: int, h: int, w: int) -> Windows | None:
    """Return windows of the output that is left of the bytes: numbers alone, or with an index of 8 bytes each."""
    left_B = seen.bytes_B - 4.0 * planes * h * w
    if not 0 < left_B < math.inf:
        return None
    for each_B, (down, across) in product((4.0, 12.0), _pools(seen, h, w)):
        if abs(each_B * planes * down.count(h) * across.count(w) / left_B - 1) < 0.01:
            return down, across
    return None


def _pooling(planes: int, h: int, w: int, windows: Windows) -> Sizes | None:
    if not all(v.fits for v in windows):
        return None
    down, across = windows
    return _checked([planes, h, w, down.size, across.size], windows, h, w, [])
