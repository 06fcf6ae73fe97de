"""Convolutions and pools against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float32]


def patches(
    x: Floats, kh: int, kw: int, sy: int, sx: int, py: int, px: int, fill: float = 0.0
) -> npt.NDArray[Any]:
    """Return windows of shape (n, c, rows, columns, kh, kw), as a view where there is no padding."""
    padded = np.pad(x.astype(float), ((0, 0), (0, 0), (py, py), (px, px)), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(padded, (kh, kw), axis=(2, 3))[:, :, ::sy, ::sx]


CONVOLUTIONS = [
    # n, c, h, w, f, kh, kw, sy, sx, py, px, groups
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1),
    (2, 3, 9, 7, 4, 3, 3, 1, 1, 1, 1, 1),
    (1, 5, 8, 11, 6, 1, 1, 1, 1, 0, 0, 1),  # is its own columns
    (3, 4, 10, 9, 6, 3, 5, 2, 3, 1, 2, 2),
    (2, 6, 7, 7, 6, 3, 3, 1, 1, 1, 1, 6),  # depth-wise
    (1, 3, 31, 30, 5, 7, 7, 2, 2, 3, 3, 1),
    (1, 2, 5, 6, 3, 2, 4, 1, 1, 0, 2, 1),
    (1, 40, 60, 61, 3, 5, 5, 1, 1, 2, 2, 1),  # several blocks of columns
    (4, 8, 3, 3, 8, 1, 1, 2, 2, 0, 0, 1),
    (2, 33, 9, 8, 50, 3, 3, 2, 1, 0, 1, 1),  # several vectors of channels and filters
    (1, 40, 9, 8, 60, 3, 3, 1, 1, 1, 1, 5),
]


def by_group(s: tuple[int, ...], x: Floats, w: Floats) -> list[tuple[Any, Any, slice, slice]]:
    _, c, _, _, f, kh, kw, sy, sx, py, px, groups = s
    found = []
    for g in range(groups):
        channels, filters = (slice(g * k // groups, (g + 1) * k // groups) for k in (c, f))
        found.append(
            (patches(x[:, channels], kh, kw, sy, sx, py, px), w[filters].astype(float), channels, filters)
        )
    return found


def convolved(s: tuple[int, ...], x: Floats, w: Floats) -> npt.NDArray[Any]:
    return np.concatenate(
        [np.einsum("ncyxij,fcij->nfyx", p, weights, optimize=True) for p, weights, _, _ in by_group(s, x, w)],
        axis=1,
    )


def convolution(s: tuple[int, ...], floats: Callable[..., Floats]) -> tuple[Floats, Floats, Floats]:
    """Return x, w and a gradient of the output."""
    n, c, h, w, f, kh, kw, *_, groups = s
    x, weights = floats(n, c, h, w), floats(f, c // groups, kh, kw, seed=1)
    return x, weights, floats(*convolved(s, x, weights).shape, seed=2)


def gradient_of_weights(s: tuple[int, ...], dy: Floats, x: Floats, w: Floats) -> npt.NDArray[Any]:
    return np.concatenate(
        [
            np.einsum("ncyxij,nfyx->fcij", p, dy[:, filters].astype(float), optimize=True)
            for p, _, _, filters in by_group(s, x, w)
        ]
    )


def gradient_of_data(s: tuple[int, ...], dy: Floats, x: Floats, w: Floats) -> npt.NDArray[Any]:
    _, c, h, wide, f, kh, kw, sy, sx, py, px, groups = s
    padded = np.zeros((x.shape[0], c, h + 2 * py, wide + 2 * px))
    rows, columns = dy.shape[2:]
    for g in range(groups):
        channels, filters = (slice(g * k // groups, (g + 1) * k // groups) for k in (c, f))
        for i, j in product(range(kh), range(kw)):
            part = np.einsum(
                "nfyx,fc->ncyx", dy[:, filters].astype(float), w[filters, :, i, j], optimize=True
            )
            padded[:, channels, i : i + rows * sy : sy, j : j + columns * sx : sx] += part
    return padded[:, :, py : py + h, px : px + wide]


@pytest.mark.parametrize("s", CONVOLUTIONS)
def test_convolution_forward(
    run: Any, floats: Any, close: Any, native: Any, s: tuple[int, ...], width: int, library: str
) -> None:
    x, w, _ = convolution(s, floats)
    close(run(native, f"{library}convolution", [*s, 0], [x, w], width), convolved(s, x, w), 1e-4)
    bias = floats(s[4], seed=3)
    close(
        run(native, f"{library}convolution", [*s, 1], [x, w, bias], width),
        convolved(s, x, w) + bias[:, None, None],
        1e-4,
    )


@pytest.mark.parametrize("s", CONVOLUTIONS)
def test_convolution_gradients(
    floats: Any, run: Any, close: Any, native: Any, s: tuple[int, ...], width: int, library: str
) -> None:
    x, w, dy = convolution(s, floats)
    data, weights = gradient_of_data(s, dy, x, w), gradient_of_weights(s, dy, x, w)
    close(run(native, f"{library}convolution_data", [*s, 0], [dy, w], width), data, 1e-4)
    close(run(native, f"{library}convolution_weights", [*s, 0], [dy, x], width), weights, 2e-4)
    both = run(native, f"{library}convolution_both", [*s, 0], [dy, x, w], width)
    close(both, np.concatenate([data.ravel(), weights.ravel()]), 2e-4)


POOLS = [
    (1, 1, 1, 1, 1, 1, 1, 0, 0),
    (3, 9, 7, 3, 3, 2, 2, 1, 1),
    (5, 8, 8, 2, 2, 2, 2, 0, 0),
    (2, 7, 5, 7, 5, 1, 1, 0, 0),
    (4, 6, 9, 3, 2, 1, 3, 0, 1),
]


@pytest.mark.parametrize("s", POOLS)
def test_pooling(run: Any, floats: Any, close: Any, native: Any, s: tuple[int, ...], width: int) -> None:
    planes, h, w, *windows = s
    x = floats(1, planes, h, w)
    close(run(native, "pool_max", list(s), [x], width), patches(x, *windows, fill=-np.inf).max(axis=(4, 5)))
    close(run(native, "pool_average", list(s), [x], width), patches(x, *windows).mean(axis=(4, 5)))


def gradient_of_pooling(s: tuple[int, ...], dy: Floats, x: Floats, *, largest: bool) -> npt.NDArray[Any]:
    planes, h, w, kh, kw, sy, sx, py, px = s
    found = np.zeros((planes, h + 2 * py, w + 2 * px))
    padded = np.pad(x[0].astype(float), ((0, 0), (py, py), (px, px)), constant_values=-np.inf)
    for (plane, i, j), value in np.ndenumerate(dy[0].astype(float)):
        window = np.s_[plane, i * sy : i * sy + kh, j * sx : j * sx + kw]
        if largest:
            found[window].flat[padded[window].argmax()] += value
        else:
            found[window] += value / (kh * kw)
    return found[:, py : py + h, px : px + w]


@pytest.mark.parametrize("s", POOLS)
def test_pooling_gradients(
    run: Any, floats: Any, close: Any, native: Any, s: tuple[int, ...], width: int
) -> None:
    planes, h, w, *windows = s
    x = floats(1, planes, h, w).round(1)  # equal ones: the first counts
    dy = floats(*patches(x, *windows).shape[:4], seed=1)
    found = run(native, "pool_max_gradient", list(s), [dy, x], width)
    close(found, gradient_of_pooling(s, dy, x, largest=True))
    found = run(native, "pool_average_gradient", list(s), [dy], width)
    close(found, gradient_of_pooling(s, dy, x, largest=False))
