"""Matrix products against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(
    ("batch", "m", "n", "k"),
    [(1, 1, 1, 1), (1, 64, 512, 33), (1, 7, 129, 5), (1, 130, 3, 17), (5, 6, 31, 8), (3, 40, 1, 9)],
)
@pytest.mark.parametrize(("ta", "tb", "bias"), [(0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 0)])
def test_gemm(
    run: Any,
    floats: Any,
    close: Any,
    native: Any,
    batch: int,
    m: int,
    n: int,
    k: int,
    ta: int,
    tb: int,
    bias: int,
    width: int,
) -> None:
    a, b = floats(batch, m, k), floats(batch, k, n, seed=1)
    added = [floats(n, seed=2), floats(batch, m, n, seed=2)][bias - 1 : bias] if bias else []
    stored = [np.swapaxes(x, 1, 2) if t else x for x, t in ((a, ta), (b, tb))]
    found = run(native, "gemm", [batch, m, n, k, ta, tb, bias], [*stored, *added], width)
    close(found, a.astype(float) @ b + (added[0] if bias else 0), 1e-4)
