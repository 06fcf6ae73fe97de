"""Sizes of kernels from the shapes of a task's inputs; see `operators.toml`.

Those with windows are in `window_rules.py`.

A rule returns the sizes for its kernel (listed in the C++ file of the kernel's family), or None where
the shapes do not fit; the task then counts as one of unknown kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from simsched.graph.shapes import Shape, numel

Dims = tuple[int, ...]
Sizes = list[int]


@dataclass(frozen=True)
class Seen:
    """A task as a rule sees it.

    Parameters
    ----------
    shape : tuple of tuple of int
        Shapes of the inputs.
    flops : float
        Floating-point operations; NaN where unknown.
    given : mapping of str to int
        Facts unknown from shapes: the table `defaults` of `operators.toml`, with the options of the kind.
    pinned : frozenset of str
        The keys of `given` set by the caller, which FLOPs and bytes do not override.
    bytes_B : float
        Bytes read and written; NaN where unknown.
    """

    shape: Shape
    flops: float
    given: Mapping[str, int]
    pinned: frozenset[str] = frozenset()
    bytes_B: float = math.nan


Rule = Callable[[Seen], Sizes | None]

#: Most axes of a tensor; no program has more.
MOST_PARTS = 4096


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


def batch_norm(seen: Seen) -> Sizes | None:
    """Images: x of (n, c, ...), or (n, ..., c) where a scale or shift shows it; other inputs."""
    if not seen.shape or len(seen.shape[0]) < 2:
        return None
    n, c, *rest = seen.shape[0]
    scales = {dims[0] for dims in seen.shape[1:] if len(dims) == 1}
    if rest and c not in scales and rest[-1] in scales:
        c, rest = rest[-1], [c, *rest[:-1]]
    return [n, c, math.prod(rest)]


def batch_norm_gradient(seen: Seen) -> Sizes | None:
    """Gradient, x, and other inputs."""
    return batch_norm(seen) if len(seen.shape) > 1 and seen.shape[0] == seen.shape[1] else None


def addends(seen: Seen) -> Sizes | None:
    """Two tensors or more, all of one size; additional numbers do not count."""
    tensors = [dims for dims in seen.shape if dims] or list(seen.shape)
    amounts = {math.prod(dims) for dims in tensors}
    return [*amounts, len(tensors)] if len(amounts) == 1 and len(tensors) > 1 else None


def layer_norm_gradient(seen: Seen) -> Sizes | None:
    """Gradient, x, and other inputs."""
    return rows(seen) if len(seen.shape) > 1 and seen.shape[0] == seen.shape[1] else None


def local_response(seen: Seen) -> Sizes | None:
    """Images of NHWC; FLOPs determine the window, two operations per value and channel of it."""
    return _response(seen, 2.0)


def local_response_gradient(seen: Seen) -> Sizes | None:
    """Gradient, x, y, all of NHWC; four operations per value and channel of the window."""
    return _response(seen, 4.0) if len(seen.shape) > 2 else None


def _response(seen: Seen, each: float) -> Sizes | None:
    found = rows(seen)
    if found is None or len(set(seen.shape)) > 1:
        return None
    channels = seen.given["channels"]
    if "channels" not in seen.pinned and seen.flops > 0 and all(found):
        channels = max(round(seen.flops / (each * math.prod(found))), 1)
    return [*found, channels]


def layer_norm(seen: Seen) -> Sizes | None:
    """Input: x and perhaps the scale, whose elements form a row."""
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


def whole(seen: Seen) -> Sizes | None:
    """Input: x, into one number."""
    return [1, math.prod(seen.shape[0]), 1] if seen.shape else None


def spread(seen: Seen) -> Sizes | None:
    """A tensor written several times; bytes determine how often."""
    if not seen.shape or not 0 < seen.bytes_B < math.inf:
        return None
    return [int(seen.bytes_B / 4) - math.prod(seen.shape[0])]


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


def split(seen: Seen) -> Sizes | None:
    """A tensor split into equal parts of its last axis, one per element of a further vector; or numbers."""
    if (x := _copied(seen)) is None:
        return None
    parts = seen.given["parts"]
    vectors = [dims for dims in seen.shape if len(dims) == 1 and dims != x]
    if vectors and "parts" not in seen.pinned:
        parts = vectors[0][0]
    each = -(-x[-1] // max(parts, 1))
    lengths = [min(each, x[-1] - begin) for begin in range(0, x[-1], each)] if parts <= MOST_PARTS else []
    return [math.prod(x[:-1]), *lengths] if lengths else None


def slice_(seen: Seen) -> Sizes | None:
    """A tensor whose last axis is copied in part from its beginning: as its bytes show, else a given part."""
    if (x := _copied(seen)) is None:
        return None
    outer, taken = math.prod(x[:-1]), -(-x[-1] // seen.given["parts"])
    if "parts" not in seen.pinned and 0 < seen.bytes_B < math.inf:
        taken = min(max(round(seen.bytes_B / 8 / outer), 1), x[-1])
    return [outer, x[-1], taken]


def _copied(seen: Seen) -> Dims | None:
    """Return the largest input; None where it is empty, or where the output is a view and nothing moves."""
    x = max(seen.shape, key=numel, default=())
    return x if x and 0 not in x and seen.bytes_B != 0 else None


def unary(seen: Seen) -> Sizes | None:
    """One tensor, or the largest of several."""
    return [max(map(math.prod, seen.shape))] if seen.shape else None


def binary(seen: Seen) -> Sizes | None:
    """Two tensors, one broadcast along axes at the front, the middle or the back; or one and a number."""
    operands = sorted(seen.shape[:2], key=math.prod, reverse=True)
    if not operands or not math.prod(operands[0]):
        return None
    large, small = operands[0], operands[1] if len(operands) > 1 else ()
    if len(small) == 1 and len(large) > 2 and small[0] == large[1] != large[-1]:
        small = (small[0], *[1] * (len(large) - 2))  # a bias of channels: the second axis of images
    return _broadcast(large, small)


def _broadcast(large: Dims, small: Dims) -> Sizes | None:
    n, period = math.prod(large), math.prod(small)
    if period == 1:
        return [n, 1, 1]
    longest = max(len(large), len(small))
    pairs = zip(*((1,) * (longest - len(dims)) + dims for dims in (large, small)), strict=True)
    axes = [(a, b) for a, b in pairs if (a, b) != (1, 1)]
    if any(b not in (1, a) for a, b in axes):
        return None
    kept = [place for place, (a, b) in enumerate(axes) if a == b]
    inner = math.prod(a for a, _ in axes[kept[-1] + 1 :])
    rows = _rows(axes, [place for place in range(kept[0], kept[-1]) if place not in kept], inner)
    return None if rows is None else [n, inner, period, *rows]


def _rows(axes: list[tuple[int, int]], amid: list[int], inner: int) -> Sizes | None:
    """Return the length of a row, which follows the middle axes, and its number of repetitions."""
    if not amid:
        return []
    if inner > 1 or amid[-1] - amid[0] >= len(amid):
        return None
    behind, between = axes[amid[-1] + 1 :], axes[amid[0] : amid[-1] + 1]
    return [math.prod(a for a, _ in behind), math.prod(a for a, _ in between)]
