"""Sizes of the kernels of pooling from the shapes of a task's inputs; see `rules.py`."""

from __future__ import annotations

import math

from simsched.execute.rules import Dims, Seen, Sizes, Window, Windows, checked

#: Largest window that is looked for.
MOST_POOLED = 64


def pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, or of NHWC where they are square and only so."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4):
        return None
    planes, h, w = _planes(seen.shape[0])
    return _pooling(planes, h, w, _pool_windows(seen, planes, h, w))


def pooling_gradient(seen: Seen) -> Sizes | None:
    """Images, what pooling made of them, and its gradient, all of NHWC."""
    if len(seen.shape) < 3 or not all(len(dims) == 4 for dims in seen.shape[:3]):
        return None
    n, h, w, c = seen.shape[0]
    found = _pooling(n * c, h, w, _pool_windows(seen, n * c, h, w, seen.shape[2][1:3]))
    return found if seen.shape[1] == seen.shape[2] and seen.shape[1][::3] == (n, c) else None


def average_gradient(seen: Seen) -> Sizes | None:
    """Size of the images (a vector), and the gradient of NHWC; FLOPs tell the window."""
    if len(seen.shape) < 2 or len(seen.shape[1]) != 4:
        return None
    n, out_h, out_w, c = seen.shape[1]
    outputs = n * c * out_h * out_w
    side = round(math.sqrt(seen.flops / outputs)) if seen.flops > 0 and outputs else seen.given["pool_window"]
    # Windows that overlap keep the size of the images; others, as those of whole images, do not.
    stride, padding = (1, side // 2) if side % 2 and out_h > 1 else (side, 0)
    h, w = ((out - 1) * stride + side - 2 * padding for out in (out_h, out_w))
    return _pooling(n * c, h, w, (Window(side, stride, padding), Window(side, stride, padding)))


def _planes(dims: Dims) -> tuple[int, int, int]:
    """Return planes, height and width of images."""
    if len(dims) == 4 and dims[1] == dims[2] != dims[3]:
        return dims[0] * dims[3], dims[1], dims[2]
    return math.prod(dims[:-2]), dims[-2], dims[-1]


def _pool_windows(seen: Seen, planes: int, h: int, w: int, out: Dims | None = None) -> Windows:
    """Return the windows that FLOPs, and the size of the output where it is known, tell; else those given."""
    side, stride, padding = (seen.given[f"pool_{key}"] for key in ("window", "stride", "padding"))
    given = _pool_window(h, side, stride, padding), _pool_window(w, side, stride, padding)
    if not seen.flops > 0 or any(key.startswith("pool_") for key in seen.pinned):
        return given
    # Windows side by side have the same FLOPs whatever their size: the smallest, then.
    sides = sorted(range(2, min(h, w, MOST_POOLED) + 1), key=lambda k: k != side)
    for size in sides:
        for step, beyond in ((stride, padding), *((s, p) for s in (2, 1, size, 3) for p in (0, size // 2))):
            down, across = _pool_window(h, size, step, beyond), _pool_window(w, size, step, beyond)
            places = down.count(h), across.count(w)
            if out in (None, places) and float(planes * size**2) * math.prod(places) == seen.flops:
                return down, across
    return given


def _pool_window(extent: int, side: int, stride: int, padding: int) -> Window:
    return Window(min(side, extent), stride, min(padding, min(side, extent) // 2))


def global_pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, each plane into one number."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4):
        return None
    *planes, h, w = seen.shape[0]
    return _pooling(math.prod(planes), h, w, (Window(h, 1, 0), Window(w, 1, 0)))


def _pooling(planes: int, h: int, w: int, windows: Windows) -> Sizes | None:
    if not all(v.fits for v in windows):
        return None
    down, across = windows
    return checked([planes, h, w, down.size, across.size], windows, h, w, [])
