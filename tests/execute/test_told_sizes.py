"""FLOPs, bytes and options tell of kernels what shapes do not: windows, strides, padding, parts."""

from __future__ import annotations

from math import nan

import numpy as np

from simsched.execute.kernels.operators import Options, sizes

NO: Options = {}


def test_flops_tell_strides_and_padding() -> None:
    def flops(rows: int, columns: int) -> float:
        return 2.0 * 2 * 8 * 3 * 9 * rows * columns

    def windows(of: float) -> tuple[int, ...]:
        found = sizes("Conv", "2x3x32x32;8x3x3x3", of, NO)
        assert found is not None
        return found[1][7:11]

    assert windows(flops(32, 32)) == (1, 1, 1, 1)
    assert windows(flops(30, 30)) == (1, 1, 0, 0)
    assert windows(flops(16, 16)) == (2, 2, 1, 1)
    assert windows(flops(15, 15)) == (2, 2, 0, 0)
    assert windows(12345.0) == (1, 1, 1, 1)  # of no stride: what is given


def test_flops_tell_the_filter_of_a_gradient() -> None:
    found = sizes("Conv2DBackpropFilter", "2x9x9x4;4;2x9x9x5", 2.0 * 2 * 9 * 9 * 5 * 4 * 25, NO)
    assert found is not None
    assert found[1][5:7] == (5, 5)


def test_flops_tell_the_windows_of_pooling() -> None:
    def windows(kind: str, shape: str, of: float) -> tuple[int, ...]:
        found = sizes(kind, shape, of, NO)
        assert found is not None
        return found[1][3:]

    planes = 2 * 5
    assert windows("MaxPool", "2x32x32x5", 4.0 * planes * 16 * 16) == (2, 2, 2, 2, 0, 0)
    assert windows("MaxPool", "2x5x32x32", 9.0 * planes * 15 * 15) == (3, 3, 2, 2, 0, 0)
    assert windows("AvgPool", "2x7x7x5", 49.0 * planes) == (7, 7, 2, 2, 0, 0)
    assert windows("MaxPool", "2x5x32x32", 1.0) == (3, 3, 2, 2, 1, 1)  # of no window: what is given
    assert windows("MaxPoolGrad", "2x32x32x5;2x16x16x5;2x16x16x5", 4.0 * planes * 16 * 16) == (
        2,
        2,
        2,
        2,
        0,
        0,
    )
    assert windows("AvgPoolGrad", "4;2x1x1x5", 49.0 * planes) == (7, 7, 7, 7, 0, 0)
    assert windows("AvgPoolGrad", "4;2x8x8x5", 4.0 * planes * 64) == (2, 2, 2, 2, 0, 0)


def test_bytes_tell_the_images_of_a_gradient() -> None:
    def image(shape: str, of: int) -> tuple[int, ...]:
        """Return height, width, strides and padding for an output of so many elements."""
        operands = sum(int(np.prod(list(map(int, part.split("x"))))) for part in shape.split(";"))
        found = sizes("Conv2DBackpropInput", shape, nan, NO, 4.0 * (operands + of))
        assert found is not None
        return (*found[1][2:4], *found[1][7:11])

    assert image("4;3x3x4x5;2x9x9x5", 2 * 9 * 9 * 4) == (9, 9, 1, 1, 1, 1)
    assert image("4;3x3x4x5;2x8x8x5", 2 * 16 * 16 * 4) == (16, 16, 2, 2, 1, 1)
    assert image("4;3x3x4x5;2x8x8x5", 2 * 17 * 17 * 4) == (17, 17, 2, 2, 0, 0)
    assert image("4;5x5x4x5;2x14x14x5", 2 * 28 * 28 * 4) == (28, 28, 2, 2, 2, 2)
    assert image("4;11x11x4x5;2x55x55x5", 2 * 227 * 227 * 4) == (227, 227, 4, 4, 0, 0)


def test_bytes_tell_how_far_pooling_goes() -> None:
    def windows(kind: str, shape: str, of: float, moved: int) -> tuple[int, ...]:
        found = sizes(kind, shape, of, NO, 4.0 * moved)
        assert found is not None
        return found[1][1:]

    # Whole images, and windows of 2 side by side, have the same FLOPs.
    whole = windows("AvgPool", "2x8x8x5", 64.0 * 10, 10 * 64 + 10)
    assert whole[:4] == (8, 8, 8, 8)
    assert windows("MaxPool", "2x8x8x5", 64.0 * 10, 10 * 64 + 10 * 64)[2:6] == (1, 1, 1, 1)
    back = windows("AvgPoolGrad", "4;2x5x5x768", 25.0 * 2 * 25 * 768, 4 + 2 * 25 * 768 + 2 * 17 * 17 * 768)
    assert back == (17, 17, 5, 5, 3, 3, 0, 0)


def test_options_overrule_what_a_gradient_of_averages_tells() -> None:
    def windows(**own: int) -> tuple[int, ...]:
        moved = 4 + 2 * 25 * 8 + 2 * 17 * 17 * 8
        found = sizes("AvgPoolGrad", "4;2x5x5x8", 25.0 * 2 * 25 * 8, {"AvgPoolGrad": own}, 4.0 * moved)
        assert found is not None
        return found[1][1:]

    assert windows() == (17, 17, 5, 5, 3, 3, 0, 0)
    assert windows(pool_window=2) == (10, 10, 2, 2, 2, 2, 0, 0)
    assert windows(pool_stride=2, pool_padding=0) == (13, 13, 5, 5, 2, 2, 0, 0)


def test_bytes_tell_parts() -> None:
    assert sizes("Slice", "4x10", 0.0, NO, 8.0 * 12) == ("slice", (4, 10, 3))
    assert sizes("Slice", "4x10", 0.0, NO) == ("slice", (4, 10, 5))
    assert sizes("Tile", "1x10", 0.0, NO, 4.0 * (10 + 70)) == ("copy", (70,))
    assert sizes("Tile", "1x10", 0.0, NO) is None


def test_filters_that_are_no_squares() -> None:
    found = sizes("Conv2DBackpropFilter", "2x9x9x4;4;2x9x9x5", 2.0 * 2 * 9 * 9 * 5 * 4 * 7, NO)
    assert found is not None
    assert found[1][5:7] == (1, 7)


def test_options_say_what_shapes_do_not() -> None:
    pool = sizes(
        "aten::max_pool2d",
        "2x3x8x8",
        nan,
        {"MaxPool": {"pool_window": 5}, "max_pool2d": {"pool_window": 2, "pool_padding": 0}},
    )
    assert pool == ("pool_max", (6, 8, 8, 2, 2, 2, 2, 0, 0))
    conv = sizes("Conv", "2x3x32x32;8x3x3x3", 2.0 * 2 * 8 * 3 * 9 * 30 * 30, {"Conv": {"stride": 2}})
    assert conv is not None
    assert conv[1][7:11] == (2, 2, 1, 1)


def test_bytes_tell_strides_of_pooling_and_lengths_of_slices() -> None:
    def pool(each_B: float, outputs: float, **own: int) -> tuple[int, ...]:
        found = sizes(
            "max_pool2d", "2x3x8x8", nan, {"max_pool2d": own}, 4.0 * 2 * 3 * 64 + 6 * each_B * outputs
        )
        assert found is not None
        return found[1][3:]

    assert pool(4, 16) == (3, 3, 2, 2, 1, 1)
    assert pool(4, 64) == (3, 3, 1, 1, 1, 1)
    assert pool(12, 64) == (3, 3, 1, 1, 1, 1)  # with indices
    assert pool(4, 9) == (3, 3, 2, 2, 0, 0)
    assert pool(4, 49) == (2, 2, 1, 1, 0, 0)
    assert pool(4, 64, pool_stride=2) == (3, 3, 2, 2, 1, 1)
    assert pool(4, 1234) == (3, 3, 2, 2, 1, 1)
    assert sizes("Slice", "8x100", nan, NO, 8.0 * 8 * 30) == ("slice", (8, 100, 30))
    assert sizes("Slice", "8x100", nan, NO, 1e30) == ("slice", (8, 100, 100))
    assert sizes("narrow", "8x100", nan, NO, 0.0) is None  # a view
    assert sizes("split", "8x100", nan, NO, 0.0) is None
