"""What only moves data, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("outer", "lengths"), [(1, (1,)), (3, (5, 1, 40)), (1, (1000, 333)), (50, (7, 7, 7))]
)
def test_concatenation(
    run: Any, floats: Any, close: Any, native: Any, outer: int, lengths: tuple[int, ...], width: int
) -> None:
    parts = [floats(outer, length, seed=i) for i, length in enumerate(lengths)]
    close(run(native, "concatenation", [outer, *lengths], parts, width), np.concatenate(parts, axis=1))


@pytest.mark.parametrize(
    ("outer", "lengths"), [(1, (1,)), (3, (5, 1, 40)), (1, (1000, 333)), (50, (7, 7, 7))]
)
def test_split(
    run: Any, floats: Any, close: Any, native: Any, outer: int, lengths: tuple[int, ...], width: int
) -> None:
    x = floats(outer, sum(lengths))
    parts = np.split(x, np.cumsum(lengths)[:-1], axis=1)
    close(run(native, "split", [outer, *lengths], [x], width), np.concatenate([p.ravel() for p in parts]))


@pytest.mark.parametrize(("outer", "length", "taken"), [(1, 1, 1), (7, 33, 5), (3, 100, 100), (1, 999, 500)])
def test_slice(
    run: Any, floats: Any, close: Any, native: Any, outer: int, length: int, taken: int, width: int
) -> None:
    x = floats(outer, length)
    close(run(native, "slice", [outer, length, taken], [x], width), x[:, :taken])


def test_embedding(run: Any, floats: Any, close: Any, native: Any, width: int) -> None:
    table = floats(37, 5)
    rows = np.array([(i * 2654435761 & 0xFFFFFFFF) % 37 for i in range(100)])
    close(run(native, "embedding", [37, 5, 100], [table], width), table[rows])
