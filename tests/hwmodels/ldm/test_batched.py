"""Convolutions whose images are the rows of products: sizes, tiles and seconds by hand."""

from dataclasses import replace

import pytest

from simsched.hwmodels.ldm import convolution, elementwise, matmul, register_communication
from simsched.hwmodels.ldm.group_products import Batched, BatchKernel, Window

KIB = 1024


def swdnn(channels, filters, batch=128, size=18):
    return convolution(
        channels=channels, filters=filters, size=size, kernel=3, batch=batch, layout="HWCN", element_B=8
    )


def test_sizes_of_a_nest():
    nest = convolution(channels=3, filters=5, size=(7, 9), kernel=(1, 3), padding=1, batch=2)
    rows, columns = Window(9, 1, 7, 1), Window(9, 3, 9, 1)
    assert Batched.of(nest) == Batched(2, 3, 5, rows, columns, 4, nest.total_flops)
    hwcn = convolution(channels=3, filters=5, size=7, kernel=3, batch=2, layout="HWCN")
    assert (Batched.of(hwcn).images, Batched.of(hwcn).channels, Batched.of(hwcn).filters) == (2, 3, 5)


@pytest.mark.parametrize(
    "nest",
    [
        matmul(8, 8, 8),
        elementwise(100),
        convolution(channels=4, filters=4, size=9, kernel=3, stride=2),
        convolution(channels=4, filters=4, size=9, kernel=3, groups=2),
    ],
    ids=lambda nest: nest.name,
)
def test_what_is_no_such_convolution(nest):
    assert Batched.of(nest) is None


@pytest.mark.parametrize(
    "window", [Window(8, 3, 10, 0), Window(13, 3, 13, 1), Window(9, 1, 7, 1), Window(4, 5, 4, 2)]
)
def test_windows_against_counting(window):
    pairs = [
        (output, output + at - window.padding)
        for output in range(window.outputs)
        for at in range(window.kernel)
        if 0 <= output + at - window.padding < window.inputs
    ]
    assert window.products == len(pairs)
    for first in range(0, window.outputs, 3):
        last = min(first + 3, window.outputs)
        assert window.touched(first, last) == len({i for output, i in pairs if first <= output < last})


@pytest.mark.parametrize(
    ("batch", "channels", "filters", "columns"),
    [(128, 128, 128, 17), (128, 160, 224, 4), (128, 384, 128, 1), (256, 256, 128, 1), (256, 128, 128, 6)],
)
def test_columns_are_those_that_swdnn_logs(group, batch, channels, filters, columns):
    kernel = BatchKernel(group.swdnn_ldm_B, doubled=True)
    assert kernel.columns(Batched.of(swdnn(channels, filters, batch)), group.cpes) == columns


def test_columns_of_single_buffers(group):
    """(60 KiB of each CPE - inputs - weights) / outputs, all in doubles: 3.3."""
    conv = Batched.of(convolution(channels=256, filters=384, size=13, kernel=3, padding=1, batch=256))
    assert BatchKernel(group.swcaffe_ldm_B, doubled=False).columns(conv, group.cpes) == 3


def test_seconds_by_hand(group):
    """One tile of 16 columns a row: 18 input columns, 9 positions' weights and 16 outputs for each of 16 rows."""
    times = register_communication(swdnn(128, 128), group)
    input_s, weights_s = (16 * group.get_s(16 * 8, 64, strided=True) for _ in range(2))
    output_s = 16 * group.put_s(16 * 8, 64, strided=True)
    inputs_s = 16 * 3 * 18 * input_s
    assert times.dma_s == pytest.approx(inputs_s + 16 * 3 * 3 * weights_s + 16 * 16 * output_s)
    assert times.compute_s == pytest.approx(
        swdnn(128, 128).total_flops / (64 * group.cpe_flops * group.reordered_share)
    )
    assert times.hidden_s == pytest.approx(min(inputs_s, times.compute_s))


def test_swcaffe_fetches_weights_for_each_product_and_waits(group):
    nest = convolution(channels=64, filters=64, size=8, kernel=3, padding=1, batch=128)
    times = register_communication(nest, group)
    weights_s = (
        22 * 22 * 8 * group.get_s(8 * 4, 64, strided=True)
    )  # 3 x 8 - 2 positions meet an input each way
    assert times.dma_s > weights_s
    assert times.hidden_s == 0
    assert times.layout_s > 0
    few = convolution(channels=64, filters=64, size=8, kernel=3, padding=1, batch=64)
    assert register_communication(few, group).register_s > 0  # a product for each image instead


def test_what_does_not_fit_is_a_product_for_each_position(group):
    """With weights too large for any column, tiles are chosen as for any product."""
    small = replace(group, swdnn_ldm_B=8 * KIB)
    assert register_communication(swdnn(128, 128), group).register_s == 0
    assert register_communication(swdnn(128, 128, size=6), small).register_s > 0
