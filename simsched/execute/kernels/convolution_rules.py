"""Sizes of the kernels of convolutions, and of their gradients.

What shapes do not tell of the windows, FLOPs, bytes or the shape of a gradient may tell; else it is guessed.
"""

from __future__ import annotations

import math

from simsched.execute.kernels.rules import Dims, Seen, Sizes
from simsched.execute.kernels.windows import Window, Windows, checked, places, windows_by_image
from simsched.graph.shapes import numel


def convolution(seen: Seen) -> Sizes | None:
    """Images, filters and perhaps a bias; NCHW, or NHWC with filters of HWIO."""
    if len(seen.shape) < 2:
        return None
    layout = _images(seen.shape[0], seen.shape[1])
    if layout is None:
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
    """Size of the images (a vector), filters of HWIO, gradient of the output of NHWC; bytes tell the images."""
    if len(seen.shape) < 3 or len(seen.shape[1]) != 4 or len(seen.shape[2]) != 4:
        return None
    kh, kw, c, f = seen.shape[1]
    n, out_h, out_w, filters = seen.shape[2]
    if filters != f:
        return None
    pixels = (seen.bytes_B / 4 - sum(map(numel, seen.shape))) / max(n * c, 1)
    windows, image = windows_by_image(_candidates(seen, kh, kw), (out_h, out_w), pixels)
    return checked([n, c, *image, f, kh, kw], windows, image, [1, 0]) if min(image) > 0 else None


def weights_gradient(seen: Seen) -> Sizes | None:
    """Images of NHWC, size of the filters (a vector), gradient of the output of NHWC; FLOPs tell the filter."""
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
    """Return the windows that may be meant, the likeliest first."""
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
