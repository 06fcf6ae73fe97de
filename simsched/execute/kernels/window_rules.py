"""Sizes of the kernels whose windows go over images: convolutions, pooling, and their gradients.

Where shapes do not determine the windows, FLOPs, bytes or a gradient's shape may; else they are guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from simsched.execute.kernels.rules import Dims, Seen, Sizes
from simsched.graph.shapes import numel


@dataclass(frozen=True)
class Window:
    """A filter or window along one axis."""

    size: int
    stride: int
    padding: int

    def count(self, extent: int) -> int:
        """Return the number of its places on an axis."""
        return (extent + 2 * self.padding - self.size) // self.stride + 1

    def covered(self, count: int) -> int:
        """Return the shortest axis on which it has the given number of places."""
        return (count - 1) * self.stride + self.size - 2 * self.padding

    @property
    def fits(self) -> bool:
        """Whether every place of it touches the axis."""
        return self.padding < self.size


#: Down and across.
Windows = tuple[Window, Window]


def places(windows: Windows, image: Dims) -> Dims:
    """Return the number of places of windows on an image of (height, width)."""
    return tuple(v.count(extent) for v, extent in zip(windows, image, strict=True))


def _windows_by_image(candidates: list[Windows], out: Dims, pixels: float) -> tuple[Windows, tuple[int, int]]:
    """Return the first windows that lead from an image of so many pixels to the output, and its size.

    Where none do, or the pixels are unknown, the first windows and the least image for them.
    """
    for windows in candidates:
        # A stride skips up to its length less one.
        for more in range(windows[0].stride):
            h, w = (v.covered(count) + more for v, count in zip(windows, out, strict=True))
            if h * w == pixels:
                return windows, (h, w)
    down, across = candidates[0]
    return candidates[0], (down.covered(out[0]), across.covered(out[1]))


def checked(head: Sizes, windows: Windows, image: Dims, tail: Sizes) -> Sizes | None:
    """Return the sizes of a kernel whose windows have a place on an image of (height, width), else None."""
    if min(places(windows, image)) < 1:
        return None
    down, across = windows
    return [*head, down.stride, across.stride, down.padding, across.padding, *tail]


def convolution(seen: Seen) -> Sizes | None:
    """Images, filters and perhaps a bias; NCHW, or NHWC with filters of HWIO."""
    if len(seen.shape) < 2:
        return None
    if (layout := _images(seen.shape[0], seen.shape[1])) is None:
        return None
    n, c, h, w, f, kh, kw, groups = layout
    windows = _windows_by_flops(seen, layout) or _windows(seen, kh, kw)
    bias = int(len(seen.shape) > 2 and math.prod(seen.shape[2]) == f)
    return checked([n, c, h, w, f, kh, kw], windows, (h, w), [groups, bias])


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
    windows = _windows_by_output(seen, (kh, kw), (h, wide), out)
    return windows and checked([n, c, h, wide, f, kh, kw], windows, (h, wide), [groups, 0])


def data_gradient(seen: Seen) -> Sizes | None:
    """Size of images (a vector), filters of HWIO, gradient of the output of NHWC; bytes give the images."""
    if len(seen.shape) < 3 or len(seen.shape[1]) != 4 or len(seen.shape[2]) != 4:
        return None
    kh, kw, c, f = seen.shape[1]
    n, out_h, out_w, filters = seen.shape[2]
    if filters != f:
        return None
    pixels = (seen.bytes_B / 4 - sum(map(numel, seen.shape))) / max(n * c, 1)
    windows, image = _windows_by_image(_candidates(seen, kh, kw), (out_h, out_w), pixels)
    return checked([n, c, *image, f, kh, kw], windows, image, [1, 0]) if min(image) > 0 else None


def weights_gradient(seen: Seen) -> Sizes | None:
    """Images of NHWC, size of filters (a vector), gradient of the output of NHWC; FLOPs give the filter."""
    if len(seen.shape) < 3 or len(seen.shape[0]) != 4 or len(seen.shape[2]) != 4:
        return None
    n, h, w, c = seen.shape[0]
    out_h, out_w, f = seen.shape[2][1:]
    high = wide = seen.given["filter"]
    each = 2.0 * n * out_h * out_w * f * c
    if "filter" not in seen.pinned and seen.flops > 0 and each:
        high, wide = _sides(max(round(seen.flops / each), 1))
    windows = _windows_by_output(seen, (high, wide), (h, w), (out_h, out_w))
    return windows and checked([n, c, h, w, f, high, wide], windows, (h, w), [1, 0])


def _sides(taps: int) -> tuple[int, int]:
    """Return height and width of a filter: a square, else a row."""
    side = math.isqrt(taps)
    return (side, side) if side * side == taps else (1, taps)


def _images(x: Dims, w: Dims) -> tuple[int, int, int, int, int, int, int, int] | None:
    """Return n, c, h, w, filters, filter height and width, groups."""
    if len(x) == 3 and len(w) == 3:
        x, w = (x[0], x[1], 1, x[2]), (w[0], w[1], 1, w[2])
    if len(x) != 4 or len(w) != 4 or not all((*x, *w)):
        return None
    # Of whole images, where both orders match, filters fit into one of them only.
    last = x[3] == w[2] and (x[1] != w[1] or w[3] > x[3])
    if x[1] % w[1] == 0 and w[0] % (x[1] // w[1]) == 0 and not last:
        return (*x, w[0], w[2], w[3], x[1] // w[1])
    if x[3] == w[2]:
        return (x[0], x[3], x[1], x[2], w[3], w[0], w[1], 1)
    return None


def _windows(seen: Seen, kh: int, kw: int) -> Windows:
    """Return filters with the stride and padding given."""
    stride, padding = seen.given["stride"], seen.given["padding"]
    down, across = (Window(k, stride, (k - 1) // 2 if padding < 0 else padding) for k in (kh, kw))
    return down, across


def _candidates(seen: Seen, kh: int, kw: int) -> list[Windows]:
    """Return the possible windows, the likeliest first."""
    found = [_windows(seen, kh, kw)]
    if "stride" in seen.pinned or "padding" in seen.pinned:
        return found
    for stride in (1, 2, 3, 4):
        found.append((Window(kh, stride, (kh - 1) // 2), Window(kw, stride, (kw - 1) // 2)))
        found += [(Window(kh, stride, p), Window(kw, stride, p)) for p in range(min(kh, kw))]
    return found


def _windows_by_flops(seen: Seen, layout: tuple[int, ...]) -> Windows | None:
    n, c, h, w, f, kh, kw, groups = layout
    if not seen.flops > 0:
        return None
    outputs = seen.flops / (2.0 * n * f * (c // groups) * kh * kw)
    for windows in _candidates(seen, kh, kw):
        # Importers may count the bias, too.
        if abs(math.prod(places(windows, (h, w))) / outputs - 1) < 0.01:
            return windows
    return None


def _windows_by_output(seen: Seen, sides: tuple[int, int], image: Dims, out: Dims) -> Windows | None:
    for windows in _candidates(seen, *sides):
        if places(windows, image) == tuple(out):
            return windows
    return None


#: Largest window that is looked for.
MOST_POOLED = 64

#: Planes, height and width.
Images = tuple[int, int, int]


def pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, or of NHWC where only those are square."""
    if (images := _planes(seen)) is None:
        return None
    found = _of_bytes(seen, images, _of_flops(seen, images, list(_pools(seen, *images[1:]))))
    return _pooling(images, found[0]) if found else None


def global_pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, each plane into one number."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4):
        return None
    *planes, h, w = seen.shape[0]
    return _pooling((math.prod(planes), h, w), (Window(h, 1, 0), Window(w, 1, 0)))


def pooling_gradient(seen: Seen) -> Sizes | None:
    """Gradient of the output and, perhaps after the output itself, images; NCHW."""
    if (pair := _gradient_and_planes(seen)) is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    return _gradient(seen, (math.prod(planes), h, w), (out_h, out_w))


def pooling_gradient_last(seen: Seen) -> Sizes | None:
    """Images, the result of their pooling, and its gradient, all of NHWC."""
    if len(seen.shape) < 3 or any(len(dims) != 4 or 0 in dims for dims in seen.shape[:3]):
        return None
    (n, h, w, c), out, dy = seen.shape[:3]
    return _gradient(seen, (n * c, h, w), dy[1:3]) if out == dy and dy[::3] == (n, c) else None


def even_pooling_gradient(seen: Seen) -> Sizes | None:
    """Gradient of the output, images; windows that are side by side, as in adaptive pooling."""
    if (pair := _gradient_and_planes(seen)) is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    if h % out_h or w % out_w:
        return None
    windows = (Window(h // out_h, h // out_h, 0), Window(w // out_w, w // out_w, 0))
    return _pooling((math.prod(planes), h, w), windows)


def average_gradient(seen: Seen) -> Sizes | None:
    """Size of the images (a vector), and the gradient of NHWC; FLOPs give the window, bytes the images."""
    if len(seen.shape) < 2 or len(seen.shape[1]) != 4 or 0 in seen.shape[1]:
        return None
    n, *out, c = seen.shape[1]
    side = seen.given["pool_window"]
    if seen.flops > 0 and "pool_window" not in seen.pinned:
        side = max(round(math.sqrt(seen.flops / numel(seen.shape[1]))), 1)
    pixels = (seen.bytes_B / 4 - sum(map(numel, seen.shape))) / (n * c)
    windows, image = _windows_by_image(_averages(seen, side, whole=out[0] == 1), tuple(out), pixels)
    return _pooling((n * c, *image), windows)


def _averages(seen: Seen, side: int, *, whole: bool) -> list[Windows]:
    """Return the possible windows of a size, the likeliest first."""
    given = seen.given["pool_stride"], seen.given["pool_padding"]
    # Windows that overlap keep the size of the images; others, as those of whole images, do not.
    likeliest = (1, side // 2) if side % 2 and not whole else (side, 0)
    moves = [likeliest, *product((1, 2, 3, side, given[0]), (side // 2, 0, given[1]))]
    pinned = [f"pool_{key}" in seen.pinned for key in ("stride", "padding")]
    return [
        (Window(side, *move), Window(side, *move))
        for move in moves
        if all(a == b or not pin for a, b, pin in zip(move, given, pinned, strict=True))
    ]


def _planes(seen: Seen) -> Images | None:
    """Return the images of the first input, in any order of axes."""
    dims = seen.shape[0] if seen.shape else ()
    if len(dims) not in (3, 4) or 0 in dims:
        return None
    if len(dims) == 4 and dims[1] == dims[2] != dims[3]:
        return dims[0] * dims[3], dims[1], dims[2]
    return math.prod(dims[:-2]), dims[-2], dims[-1]


def _gradient_and_planes(seen: Seen) -> tuple[Dims, Dims] | None:
    if len(seen.shape) < 2:
        return None
    dy, x = seen.shape[0], max(seen.shape[1:], key=numel)
    images = len(x) in (3, 4) and len(dy) == len(x) and dy[:-2] == x[:-2]
    return (dy, x) if images and 0 not in dy else None


def _gradient(seen: Seen, images: Images, out: Dims) -> Sizes | None:
    found = [windows for windows in _pools(seen, *images[1:]) if places(windows, images[1:]) == out]
    return _pooling(images, _of_flops(seen, images, found)[0]) if found else None


def _pools(seen: Seen, h: int, w: int) -> Iterator[Windows]:
    """Yield the possible windows, the likeliest first."""
    # Windows side by side have the same FLOPs whatever their size: the smallest, then, that pools at all.
    for side in _choices(seen, "window", [*range(2, min(h, w, MOST_POOLED) + 1), 1]):
        strides = _choices(seen, "stride", (2, 1, side, 3))
        for stride, padding in product(strides, _choices(seen, "padding", (0, side // 2))):
            down, across = (
                Window(min(side, extent), stride, min(padding, min(side, extent) // 2)) for extent in (h, w)
            )
            if all(v.fits and v.count(extent) > 0 for v, extent in ((down, h), (across, w))):
                yield down, across


def _choices(seen: Seen, key: str, others: Sequence[int]) -> list[int]:
    """Return the possible values of an option of pooling: the caller's alone, else the default first."""
    given = seen.given[f"pool_{key}"]
    return [given] if f"pool_{key}" in seen.pinned else [given, *others]


def _of_flops(seen: Seen, images: Images, found: list[Windows]) -> list[Windows]:
    """Return the windows with the observed FLOPs, one operation per element; all where none fits."""
    planes, image = images[0], images[1:]
    fitting = [v for v in found if planes * v[0].size * v[1].size * math.prod(places(v, image)) == seen.flops]
    return fitting or found


def _of_bytes(seen: Seen, images: Images, found: list[Windows]) -> list[Windows]:
    """Return the windows whose output is the rest of the bytes, or that with 8-byte indices; all if none."""
    planes, image = images[0], images[1:]
    left_B = seen.bytes_B - 4.0 * math.prod(images)
    pooled = [(v, planes * math.prod(places(v, image))) for v in found]
    fitting = [v for each_B in (4, 12) for v, n in pooled if math.isclose(each_B * n, left_B, rel_tol=0.01)]
    return fitting or found


def _pooling(images: Images, windows: Windows) -> Sizes | None:
    if not all(v.fits for v in windows):
        return None
    down, across = windows
    return checked([*images, down.size, across.size], windows, images[1:], [])
