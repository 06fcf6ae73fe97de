"""Element-wise kernels against NumPy; all have a test, and refuse what is impossible."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Floats = npt.NDArray[np.float32]
Reference = Callable[..., npt.NDArray[Any]]
TEAMS = (1, 2, 3, 4)


def sigmoid(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return 1 / (1 + np.exp(-x))


def erf(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    from scipy.special import erf as of

    return np.asarray(of(x))


UNARY: dict[str, Reference] = {
    "copy": np.copy, "negate": np.negative, "absolute": np.abs, "square": np.square, "root": np.sqrt,
    "inverse_root": lambda x: 1 / np.sqrt(x), "reciprocal": np.reciprocal, "relu": lambda x: np.maximum(x, 0),
    "exp": np.exp, "log": np.log, "sine": np.sin, "erf": erf, "sigmoid": sigmoid, "tanh": np.tanh,
    "silu": lambda x: x * sigmoid(x),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}  # fmt: skip


BINARY: dict[str, Reference] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "maximum": np.maximum,
    "minimum": np.minimum, "not_less": np.greater_equal, "relu_gradient": lambda a, b: a * (b > 0),
    "sigmoid_gradient": lambda a, b: a * b * (1 - b), "tanh_gradient": lambda a, b: a * (1 - b * b),
    "gelu_gradient": lambda a, b: a * (UNARY["gelu"](b + 1e-5) - UNARY["gelu"](b - 1e-5)) / 2e-5,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
def test_unary(run: Any, floats: Any, close: Any, native: Any, name: str, isa: str) -> None:
    for n, width in product((1, 17, 1023, 5000), TEAMS):
        x = floats(n) * 5
        if name in ("root", "inverse_root", "log"):
            x = np.abs(x) + np.float32(0.01)
        close(run(native, name, [n], [x], width, isa), UNARY[name](x.astype(float)), 1e-5)


@pytest.mark.parametrize("name", UNARY)
def test_what_is_not_a_number_stays_so(run: Any, native: Any, name: str, isa: str) -> None:
    x = np.full(40, 0.5, np.float32)
    x[[0, 17, 39]] = np.nan
    assert (np.isnan(run(native, name, [40], [x], 2, isa)) == np.isnan(x)).all()


def test_exponentials_far_out_stay_numbers(run: Any, close: Any, native: Any, isa: str) -> None:
    x = np.array([-1e30, -200, -80, 80, 200, 1e30], np.float32)
    assert np.isfinite(run(native, "sigmoid", [6], [x], 1, isa)).all()
    close(run(native, "tanh", [6], [x], 1, isa), np.sign(x))
    assert np.isfinite(run(native, "exp", [6], [x], 1, isa)).all()


@pytest.mark.parametrize("name", BINARY)
def test_binary(run: Any, floats: Any, close: Any, native: Any, name: str, isa: str) -> None:
    for shape, other, width in product([(6, 5, 77), (3, 4, 600)], range(4), TEAMS):
        a = floats(*shape)
        b = [
            floats(*shape, seed=1),
            floats(shape[2], seed=1),
            floats(shape[1], 1, seed=1),
            floats(1, seed=1),
        ][other]
        b = np.where(np.abs(b) < 0.1, np.float32(0.5), b)
        inner = shape[2] if other == 2 else 1
        found = run(native, name, [a.size, inner, b.size], [a, b], width, isa)
        close(found, BINARY[name](a.astype(float), b.astype(float)), 1e-5)


@pytest.mark.parametrize("shape", [(1, 2, 5, 3), (1, 4, 3, 1), (3, 2, 7, 300)])
def test_rows_that_count_several_times(
    run: Any, floats: Any, close: Any, native: Any, shape: tuple[int, ...], width: int
) -> None:
    _, count, times, row = shape
    a, b = floats(*shape), floats(count, 1, row, seed=1)
    found = run(native, "subtract", [a.size, 1, b.size, row, times], [a, b], width)
    close(found, a - np.broadcast_to(b, shape))


@pytest.mark.parametrize(("n", "count"), [(1, 2), (300, 3), (5000, 9)])
def test_sum(
    run: Any, floats: Any, close: Any, native: Any, n: int, count: int, width: int, isa: str
) -> None:
    parts = [floats(n, seed=i) for i in range(count)]
    close(run(native, "sum_of", [n, count], parts, width, isa), np.sum(parts, axis=0, dtype=float))


def test_all_kernels_are_tested(native: Any) -> None:
    others = {
        "gemm",
        "convolution",
        "convolution_data",
        "convolution_weights",
        "convolution_both",
        "pool_max",
        "pool_average",
        "pool_max_gradient",
        "pool_average_gradient",
        "sum_of",
        "batch_norm",
        "batch_norm_gradient",
        "layer_norm",
        "layer_norm_gradient",
        "local_response",
        "local_response_gradient",
        "softmax",
        "softmax_gradient",
        "reduce_sum",
        "reduce_mean",
        "reduce_max",
        "concatenation",
        "split",
        "slice",
        "embedding",
    }
    others |= {f"onednn_{name}" for name in others if "convolution" in name and native.onednn_version()}
    assert set(native.kernel_names()) == {*UNARY, *BINARY, *others}


@pytest.mark.parametrize(
    ("name", "sizes", "why"),
    [
        ("gemm", [1, 2, 3], "more sizes"),
        ("gemm", [1, 2, 3, 0, 0, 0, 0], "k is 0"),
        ("gemm", [1] * 8, "more sizes than"),
        ("gemm", [1, 2**31, 1, 1, 0, 0, 0], "m is"),
        ("gemm", [2**20, 2**20, 2**20, 1, 0, 0, 0], "2\\^40"),
        ("gemm", [1, 1, 1, 1, 0, 0, 3], "bias"),
        ("add", [10, 1, 3], "divide"),
        ("add", [12, 1, 4, 3, 1], "rows"),
        ("add", [24, 2, 4, 2, 3], "rows"),
        ("add", [12, 1, 4, 2, 2], "divide"),
        ("nothing", [1], "no kernel"),
        ("convolution", [1, 1, 2, 2, 1, 3, 3, 1, 1, 0, 0, 1, 0], "does not fit"),
        ("convolution", [1, 3, 4, 4, 4, 1, 1, 1, 1, 0, 0, 2, 0], "groups"),
        ("convolution_data", [1, 1, 4, 4, 1, 1, 1, 1, 1, 0, 0, 1, 1], "bias"),
        ("pool_max", [1, 4, 4, 2, 2, 1, 1, 2, 0], "window"),
        ("pool_max_gradient", [1, 4, 4, 5, 2, 1, 1, 0, 0], "window"),
        ("slice", [3, 4, 5], "longer than its rows"),
        # Products of sizes that BLAS could not count.
        ("convolution", [1, 1, 65536, 65536, 1, 1, 1, 1, 1, 0, 0, 1, 0], "more than 2\\^31"),
        ("convolution_data", [1, 2**20, 1, 1, 1, 64, 64, 1, 1, 32, 32, 1, 0], "more than 2\\^31"),
        ("sum_of", [4, 1], "operands is 1"),
        ("concatenation", [3], "length"),
        ("relu", [-1], "elements is -1"),
    ],
)
def test_impossible_sizes_are_refused(native: Any, name: str, sizes: list[int], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        native.kernel(name, sizes)


def test_scratch_is_what_the_largest_block_takes(native: Any) -> None:
    # 9 million rows for one pixel: blocks of 128 pixels would take 4.6 GB.
    kernel = native.kernel("convolution", [1, 10**6, 1, 1, 1, 3, 3, 1, 1, 1, 1, 1, 0])
    assert kernel.scratch == 9 * 10**6


def test_operands_that_do_not_fit_are_refused(native: Any) -> None:
    kernel = native.kernel("add", [4, 1, 4])
    a = np.zeros(4, np.float32)
    for inputs, output in (([a], a), ([a, a[:3]], a), ([a, a], a[:3])):
        with pytest.raises(ValueError, match="fit"):
            kernel.apply(inputs, output)
    with pytest.raises(TypeError):
        kernel.apply([a.astype(float), a], a)
