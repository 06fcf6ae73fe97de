"""Sizes of the kernels of pooling from the shapes of a task's inputs; see `rules.py`."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simsched.execute.rules import Dims, Seen, Sizes, Window, Windows, checked, told_by_image

#: Largest window that is looked for.
MOST_POOLED = 64


def pooling(seen: Seen) -> Sizes | None:
    """Images of NCHW, or of NHWC where they are square and only so."""
    if not seen.shape or len(seen.shape[0]) not in (3, 4):
        return None
    planes, h, w = _planes(seen.shape[0])
    outputs = (seen.bytes_B / 4 - math.prod(seen.shape[0])) / max(planes, 1)
    return _pooling(planes, h, w, _pool_windows(seen, planes, h, w, outputs=outputs))


def pooling_gradient(seen: Seen) -> Sizes | None:
    """Images, what pooling made of them, and its gradient, all of NHWC."""
    if len(seen.shape) < 3 or not all(len(dims) == 4 for dims in seen.shape[:3]):
        return None
    n, h, w, c = seen.shape[0]
    found = _pooling(n * c, h, w, _pool_windows(seen, n * c, h, w, seen.shape[2][1:3]))
    return found if seen.shape[1] == seen.shape[2] and seen.shape[1][::3] == (n, c) else None


def average_gradient(seen: Seen) -> Sizes | None:
    """Size of the images (a vector), and the gradient of NHWC; FLOPs tell the window, bytes the images."""
    if len(seen.shape) < 2 or len(seen.shape[1]) != 4:
        return None
    n, out_h, out_w, c = seen.shape[1]
    outputs = n * c * out_h * out_w
    side = round(math.sqrt(seen.flops / outputs)) if seen.flops > 0 and outputs else seen.given["pool_window"]
    # Windows that overlap keep the size of the images; others, as those of whole images, do not.
    likeliest = (1, side // 2) if side % 2 and out_h > 1 else (side, 0)
    pixels = (seen.bytes_B / 4 - sum(map(math.prod, seen.shape))) / max(n * c, 1)
    moves = [likeliest, *((stride, padding) for stride in (1, 2, 3, side) for padding in (side // 2, 0))]
    candidates = [(Window(side, *move), Window(side, *move)) for move in moves]
    windows, (h, w) = told_by_image(candidates, (out_h, out_w), pixels)
    return _pooling(n * c, h, w, windows)


def _planes(dims: Dims) -> tuple[int, int, int]:
    """Return planes, height and width of images."""
    if len(dims) == 4 and dims[1] == dims[2] != dims[3]:
        return dims[0] * dims[3], dims[1], dims[2]
    return math.prod(dims[:-2]), dims[-2], dims[-1]


def _pool_windows(
    seen: Seen, planes: int, h: int, w: int, out: Dims | None = None, outputs: float = math.nan
) -> Windows:
    """Return the windows that FLOPs, and the size or pixels of the output where known, tell; else those given."""
    side, stride, padding = (seen.given[f"pool_{key}"] for key in ("window", "stride", "padding"))
    given = _pool_window(h, side, stride, padding), _pool_window(w, side, stride, padding)
    if not seen.flops > 0 or any(key.startswith("pool_") for key in seen.pinned):
        return given
    told = list(_told_by_flops(seen, planes, h, w, out))
    exactly = [windows for windows in told if _places(windows, h, w) == outputs]
    return (*exactly, *told, given)[0]


def _told_by_flops(seen: Seen, planes: int, h: int, w: int, out: Dims | None) -> Iterator[Windows]:
    """Yield windows of the FLOPs seen, and of the output where it is known; the likeliest first."""
    side, stride, padding = (seen.given[f"pool_{key}"] for key in ("window", "stride", "padding"))
    # Windows side by side have the same FLOPs whatever their size: the smallest, then, that pools at all.
    for size in sorted(range(1, min(h, w, MOST_POOLED) + 1), key=lambda k: (k != side, k == 1)):
        for step, beyond in ((stride, padding), *((s, p) for s in (2, 1, size, 3) for p in (0, size // 2))):
            windows = _pool_window(h, size, step, beyond), _pool_window(w, size, step, beyond)
            places = windows[0].count(h), windows[1].count(w)
            if out in (None, places) and float(planes * size**2) * math.prod(places) == seen.flops:
                yield windows


def _places(windows: Windows, h: int, w: int) -> int:
    return windows[0].count(h) * windows[1].count(w)


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
