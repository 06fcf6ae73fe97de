"""Every kernel against NumPy: odd sizes, teams of 1 to 4, every instruction set of this machine."""

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


def run(
    native: Any, name: str, sizes: list[int], inputs: list[Floats], width: int, isa: str = "auto"
) -> Floats:
    kernel = native.kernel(name, sizes, isa)
    assert kernel.inputs == [x.size for x in inputs]
    # What a part does not write, or writes beyond its end, shows.
    whole = np.full(kernel.output + 64, np.nan, np.float32)
    kernel.apply([np.ascontiguousarray(x).ravel() for x in inputs], whole[:-64], width)
    assert np.isnan(whole[-64:]).all()
    return whole[:-64]


def floats(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


def close(found: Floats, expected: npt.NDArray[Any], tolerance: float = 2e-5) -> None:
    assert found.shape == (expected.size,)
    np.testing.assert_allclose(found, expected.ravel(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(
    ("batch", "m", "n", "k"),
    [(1, 1, 1, 1), (1, 64, 512, 33), (1, 7, 129, 5), (1, 130, 3, 17), (5, 6, 31, 8), (3, 40, 1, 9)],
)
@pytest.mark.parametrize(("ta", "tb", "bias"), [(0, 0, 0), (1, 0, 1), (0, 1, 2), (1, 1, 0)])
def test_gemm(
    native: Any, batch: int, m: int, n: int, k: int, ta: int, tb: int, bias: int, width: int
) -> None:
    a, b = floats(batch, m, k), floats(batch, k, n, seed=1)
    added = [floats(n, seed=2), floats(batch, m, n, seed=2)][bias - 1 : bias] if bias else []
    stored = [np.swapaxes(x, 1, 2) if t else x for x, t in ((a, ta), (b, tb))]
    found = run(native, "gemm", [batch, m, n, k, ta, tb, bias], [*stored, *added], width)
    close(found, a.astype(float) @ b + (added[0] if bias else 0), 1e-4)


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


def convolution(s: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
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


def libraries() -> list[str]:
    """Return what stands before the names of convolutions: nothing, and oneDNN where it is built in."""
    from simsched.errors import EngineError
    from simsched.execute.module import module

    try:
        return ["", "onednn_"] if module().onednn_version() else [""]
    except EngineError:
        return []


@pytest.mark.parametrize("library", libraries())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize("s", CONVOLUTIONS)
def test_convolution_forward(native: Any, s: tuple[int, ...], width: int, library: str) -> None:
    x, w, _ = convolution(s)
    close(run(native, f"{library}convolution", [*s, 0], [x, w], width), convolved(s, x, w), 1e-4)
    bias = floats(s[4], seed=3)
    close(
        run(native, f"{library}convolution", [*s, 1], [x, w, bias], width),
        convolved(s, x, w) + bias[:, None, None],
        1e-4,
    )


@pytest.mark.parametrize("library", libraries())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize("s", CONVOLUTIONS)
def test_convolution_gradients(native: Any, s: tuple[int, ...], width: int, library: str) -> None:
    x, w, dy = convolution(s)
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


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize("s", POOLS)
def test_pooling(native: Any, s: tuple[int, ...], width: int) -> None:
    planes, h, w, *windows = s
    x = floats(1, planes, h, w)
    close(run(native, "pool_max", list(s), [x], width), patches(x, *windows, fill=-np.inf).max(axis=(4, 5)))
    close(run(native, "pool_average", list(s), [x], width), patches(x, *windows).mean(axis=(4, 5)))


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize("s", POOLS)
def test_pooling_gradients(native: Any, s: tuple[int, ...], width: int) -> None:
    planes, h, w, kh, kw, sy, sx, py, px = s
    x = np.random.default_rng(0).permutation(planes * h * w).reshape(1, planes, h, w).astype(np.float32)
    places = patches(x, *s[3:], fill=-np.inf)
    dy = floats(*places.shape[1:4])
    largest, average = np.zeros((planes, h + 2 * py, w + 2 * px)), np.zeros((planes, h + 2 * py, w + 2 * px))
    for plane, row, column in np.ndindex(dy.shape):
        top, left = row * sy, column * sx
        found = np.unravel_index(places[0, plane, row, column].argmax(), (kh, kw))
        largest[plane, top + found[0], left + found[1]] += dy[plane, row, column]
        average[plane, top : top + kh, left : left + kw] += dy[plane, row, column] / (kh * kw)
    inner = np.s_[:, py : py + h, px : px + w]
    made = places.max(axis=(4, 5)).astype(np.float32)
    close(run(native, "pool_max_gradient", list(s), [x, made, dy], width), largest[inner])
    close(run(native, "pool_average_gradient", list(s), [dy], width), average[inner])


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


def sets() -> list[str]:
    from simsched.errors import EngineError
    from simsched.execute.module import module

    try:
        return list(module().instruction_sets())
    except EngineError:
        return []


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("name", UNARY)
def test_unary(native: Any, name: str, isa: str) -> None:
    for n, width in product((1, 17, 1023, 5000), TEAMS):
        x = floats(n) * 5
        if name in ("root", "inverse_root", "log"):
            x = np.abs(x) + np.float32(0.01)
        close(run(native, name, [n], [x], width, isa), UNARY[name](x.astype(float)), 1e-5)


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("name", UNARY)
def test_what_is_not_a_number_stays_so(native: Any, name: str, isa: str) -> None:
    x = np.full(40, 0.5, np.float32)
    x[[0, 17, 39]] = np.nan
    assert (np.isnan(run(native, name, [40], [x], 2, isa)) == np.isnan(x)).all()


@pytest.mark.parametrize("isa", sets())
def test_exponentials_far_out_stay_numbers(native: Any, isa: str) -> None:
    x = np.array([-1e30, -200, -80, 80, 200, 1e30], np.float32)
    assert np.isfinite(run(native, "sigmoid", [6], [x], 1, isa)).all()
    close(run(native, "tanh", [6], [x], 1, isa), np.sign(x))
    assert np.isfinite(run(native, "exp", [6], [x], 1, isa)).all()


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("name", BINARY)
def test_binary(native: Any, name: str, isa: str) -> None:
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


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(("n", "count"), [(1, 2), (300, 3), (5000, 9)])
def test_sum(native: Any, n: int, count: int, width: int, isa: str) -> None:
    parts = [floats(n, seed=i) for i in range(count)]
    close(run(native, "sum_of", [n, count], parts, width, isa), np.sum(parts, axis=0, dtype=float))


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(("n", "c", "pixels"), [(1, 1, 7), (4, 7, 33), (2, 3, 1000)])
def test_batch_norm(native: Any, n: int, c: int, pixels: int, width: int, isa: str) -> None:
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


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (5, 33), (17, 500)])
def test_rows(native: Any, rows: int, columns: int, width: int, isa: str) -> None:
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


@pytest.mark.parametrize("isa", sets())
@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(
    ("outer", "reduced", "inner"), [(1, 1, 1), (1, 1000, 1), (7, 33, 1), (3, 9, 50), (1, 5, 3000)]
)
def test_reductions(native: Any, outer: int, reduced: int, inner: int, width: int, isa: str) -> None:
    x = floats(outer, reduced, inner)
    for name, of in (("reduce_sum", np.sum), ("reduce_mean", np.mean), ("reduce_max", np.max)):
        close(run(native, name, [outer, reduced, inner], [x], width, isa), of(x.astype(float), axis=1), 1e-4)


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(
    ("outer", "lengths"), [(1, (1,)), (3, (5, 1, 40)), (1, (1000, 333)), (50, (7, 7, 7))]
)
def test_concatenation(native: Any, outer: int, lengths: tuple[int, ...], width: int) -> None:
    parts = [floats(outer, length, seed=i) for i, length in enumerate(lengths)]
    close(run(native, "concatenation", [outer, *lengths], parts, width), np.concatenate(parts, axis=1))


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(
    ("outer", "lengths"), [(1, (1,)), (3, (5, 1, 40)), (1, (1000, 333)), (50, (7, 7, 7))]
)
def test_split(native: Any, outer: int, lengths: tuple[int, ...], width: int) -> None:
    x = floats(outer, sum(lengths))
    parts = np.split(x, np.cumsum(lengths)[:-1], axis=1)
    close(run(native, "split", [outer, *lengths], [x], width), np.concatenate([p.ravel() for p in parts]))


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(("outer", "length", "taken"), [(1, 1, 1), (7, 33, 5), (3, 100, 100), (1, 999, 500)])
def test_slice(native: Any, outer: int, length: int, taken: int, width: int) -> None:
    x = floats(outer, length)
    close(run(native, "slice", [outer, length, taken], [x], width), x[:, :taken])


@pytest.mark.parametrize("width", TEAMS)
def test_embedding(native: Any, width: int) -> None:
    table = floats(37, 5)
    rows = np.array([(i * 2654435761 & 0xFFFFFFFF) % 37 for i in range(100)])
    close(run(native, "embedding", [37, 5, 100], [table], width), table[rows])


@pytest.mark.parametrize("width", TEAMS)
@pytest.mark.parametrize(("rows", "channels", "window"), [(1, 1, 5), (5, 33, 5), (17, 4, 3), (3, 2, 9)])
def test_local_response(native: Any, rows: int, channels: int, window: int, width: int) -> None:
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
    others |= {f"{library}{name}" for library in libraries() for name in others if "convolution" in name}
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
        ("nothing", [1], "no kernel"),
        ("convolution", [1, 1, 2, 2, 1, 3, 3, 1, 1, 0, 0, 1, 0], "does not fit"),
        ("convolution", [1, 3, 4, 4, 4, 1, 1, 1, 1, 0, 0, 2, 0], "groups"),
        ("convolution_data", [1, 1, 4, 4, 1, 1, 1, 1, 1, 0, 0, 1, 1], "bias"),
        ("pool_max", [1, 4, 4, 2, 2, 1, 1, 2, 0], "window"),
        ("pool_max_gradient", [1, 4, 4, 5, 2, 1, 1, 0, 0], "window"),
        ("sum_of", [4, 1], "operands is 1"),
        ("slice", [3, 4, 5], "longer than its rows"),
        # Products of sizes that BLAS could not count.
        ("convolution", [1, 1, 65536, 65536, 1, 1, 1, 1, 1, 0, 0, 1, 0], "more than 2\\^31"),
        ("convolution_data", [1, 2**20, 1, 1, 1, 64, 64, 1, 1, 32, 32, 1, 0], "more than 2\\^31"),
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
