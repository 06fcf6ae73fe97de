"""Normalisations and reductions against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float32]


@pytest.mark.parametrize(("n", "c", "pixels"), [(1, 1, 7), (4, 7, 33), (2, 3, 1000)])
def test_batch_norm(
    run: Any, floats: Any, close: Any, native: Any, n: int, c: int, pixels: int, width: int, isa: str
) -> None:
    x, dy = floats(n, c, pixels) + 2, floats(n, c, pixels, seed=1)
    scale, shift = floats(c, seed=2), floats(c, seed=3)
    mean, variance = (f(x.astype(float), axis=(0, 2), keepdims=True) for f in (np.mean, np.var))
    inverse = 1 / np.sqrt(variance + 1e-5)
    normal = (x - mean) * inverse
    found = run(native, "batch_norm", [n, c, pixels], [x, scale, shift], width, isa)
    close(found, normal * scale[:, None] + shift[:, None], 1e-4)
    m = n * pixels
    along = (dy * normal).sum(axis=(0, 2), keepdims=True) / m
    expected = scale[:, None] * inverse * (dy - dy.sum(axis=(0, 2), keepdims=True) / m - normal * along)
    close(run(native, "batch_norm_gradient", [n, c, pixels], [dy, x, scale], width, isa), expected, 1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 33), (17, 500)])
def test_rows(
    run: Any, floats: Any, close: Any, native: Any, rows: int, columns: int, width: int, isa: str
) -> None:
    x, dy = floats(rows, columns) * 9, floats(rows, columns, seed=1)
    exact = x.astype(float)
    y = np.exp(exact - exact.max(axis=1, keepdims=True))
    y /= y.sum(axis=1, keepdims=True)
    close(run(native, "softmax", [rows, columns], [x], width, isa), y)
    expected = y * (dy - (dy * y).sum(axis=1, keepdims=True))
    close(run(native, "softmax_gradient", [rows, columns], [dy, y.astype(np.float32)], width, isa), expected)
    scale, shift = floats(columns, seed=2), floats(columns, seed=3)
    normal = (exact - exact.mean(axis=1, keepdims=True)) / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    close(
        run(native, "layer_norm", [rows, columns], [x, scale, shift], width, isa),
        normal * scale + shift,
        1e-4,
    )
    g = dy.astype(float) * scale
    along = normal * (g * normal).mean(axis=1, keepdims=True)
    expected = (g - g.mean(axis=1, keepdims=True) - along) / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    close(run(native, "layer_norm_gradient", [rows, columns], [dy, x, scale], width, isa), expected, 1e-4)


@pytest.mark.parametrize(
    ("outer", "reduced", "inner"), [(1, 1, 1), (1, 1000, 1), (7, 33, 1), (3, 9, 50), (1, 5, 3000)]
)
def test_reductions(
    run: Any, floats: Any, close: Any, native: Any, outer: int, reduced: int, inner: int, width: int, isa: str
) -> None:
    x = floats(outer, reduced, inner)
    for name, of in (("reduce_sum", np.sum), ("reduce_mean", np.mean), ("reduce_max", np.max)):
        close(run(native, name, [outer, reduced, inner], [x], width, isa), of(x.astype(float), axis=1), 1e-4)


@pytest.mark.parametrize(("rows", "channels", "window"), [(1, 1, 5), (5, 33, 5), (17, 4, 3), (3, 2, 9)])
def test_local_response(
    run: Any, floats: Any, close: Any, native: Any, rows: int, channels: int, window: int, width: int
) -> None:
    x, dy = floats(rows, channels) * 90, floats(rows, channels, seed=1)
    exact = x.astype(float)
    apart = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels)))
    around = (apart <= window // 2).astype(float)
    s = 1 + 1e-4 * exact**2 @ around
    y = exact * s**-0.75
    sizes = [rows, channels, window]
    close(run(native, "local_response", sizes, [x], width), y, 1e-4)
    expected = dy * s**-0.75 - 1.5e-4 * exact * ((dy * y / s) @ around)
    close(run(native, "local_response_gradient", sizes, [dy, x, y.astype(np.float32)], width), expected, 1e-4)
