"""Sizes of the kernels of pooling.

What shapes do not tell of the windows, FLOPs, bytes or the shape of a gradient may tell; else it is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

from simsched.execute.kernels.rules import Dims, Seen, Sizes
from simsched.execute.kernels.windows import Window, Windows, checked, places, windows_by_image
from simsched.graph.shapes import numel

#: Largest window that is looked for.
MOST_POOLED = 64

#: Planes, height and width.
Images = tuple[int, int, int]


def pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, or of NHWC where they are square and only so."""
    images = _images(seen)
    if images is None:
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
    pair = _gradient_and_images(seen)
    if pair is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    return _gradient(seen, (math.prod(planes), h, w), (out_h, out_w))


def pooling_gradient_last(seen: Seen) -> Sizes | None:
    """Images, what pooling made of them, and its gradient, all of NHWC."""
    if len(seen.shape) < 3 or any(len(dims) != 4 or 0 in dims for dims in seen.shape[:3]):
        return None
    (n, h, w, c), out, dy = seen.shape[:3]
    return _gradient(seen, (n * c, h, w), dy[1:3]) if out == dy and dy[::3] == (n, c) else None


def even_pooling_gradient(seen: Seen) -> Sizes | None:
    """Gradient of the output, images; windows that lie side by side, as those of adaptive pooling."""
    pair = _gradient_and_images(seen)
    if pair is None:
        return None
    (*_, out_h, out_w), (*planes, h, w) = pair
    if h % out_h or w % out_w:
        return None
    windows = (Window(h // out_h, h // out_h, 0), Window(w // out_w, w // out_w, 0))
    return _pooling((math.prod(planes), h, w), windows)


def average_gradient(seen: Seen) -> Sizes | None:
    """Size of the images (a vector), and the gradient of NHWC; FLOPs tell the window, bytes the images."""
    if len(seen.shape) < 2 or len(seen.shape[1]) != 4 or 0 in seen.shape[1]:
        return None
    n, *out, c = seen.shape[1]
    side = seen.given["pool_window"]
    if seen.flops > 0 and "pool_window" not in seen.pinned:
        side = max(round(math.sqrt(seen.flops / numel(seen.shape[1]))), 1)
    pixels = (seen.bytes_B / 4 - sum(map(numel, seen.shape))) / (n * c)
    windows, image = windows_by_image(_averages(seen, side, whole=out[0] == 1), tuple(out), pixels)
    return _pooling((n * c, *image), windows)


def _averages(seen: Seen, side: int, *, whole: bool) -> list[Windows]:
    """Return the windows of a size that may be meant, the likeliest first."""
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


def _images(seen: Seen) -> Images | None:
    """Return the images of the first input, whichever order their axes have."""
    dims = seen.shape[0] if seen.shape else ()
    if len(dims) not in (3, 4) or 0 in dims:
        return None
    if len(dims) == 4 and dims[1] == dims[2] != dims[3]:
        return dims[0] * dims[3], dims[1], dims[2]
    return math.prod(dims[:-2]), dims[-2], dims[-1]


def _gradient_and_images(seen: Seen) -> tuple[Dims, Dims] | None:
    if len(seen.shape) < 2:
        return None
    dy, x = seen.shape[0], max(seen.shape[1:], key=numel)
    images = len(x) in (3, 4) and len(dy) == len(x) and dy[:-2] == x[:-2]
    return (dy, x) if images and 0 not in dy else None


def _gradient(seen: Seen, images: Images, out: Dims) -> Sizes | None:
    found = [windows for windows in _pools(seen, *images[1:]) if places(windows, images[1:]) == out]
    return _pooling(images, _of_flops(seen, images, found)[0]) if found else None


def _pools(seen: Seen, h: int, w: int) -> Iterator[Windows]:
    """Yield the windows that may be meant, the likeliest first."""
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
    """Return what may be meant by an option of pooling: what the caller said alone, else the default first."""
    given = seen.given[f"pool_{key}"]
    return [given] if f"pool_{key}" in seen.pinned else [given, *others]


def _of_flops(seen: Seen, images: Images, found: list[Windows]) -> list[Windows]:
    """Return the windows that have the FLOPs seen, an operation an element; all where none has."""
    planes, image = images[0], images[1:]
    fitting = [v for v in found if planes * v[0].size * v[1].size * math.prod(places(v, image)) == seen.flops]
    return fitting or found


def _of_bytes(seen: Seen, images: Images, found: list[Windows]) -> list[Windows]:
    """Return the windows of the output left of the bytes: numbers alone, or with indices of 8 bytes; all if none."""
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
