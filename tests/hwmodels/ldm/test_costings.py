"""The same nest without reuse and with register communication."""

import dataclasses
from dataclasses import replace

import pytest

import simsched as ss
from simsched.hwmodels.ldm import (
    CoreGroup,
    DmaCurve,
    NestError,
    bias,
    convolution,
    elementwise,
    matmul,
    no_reuse,
    plan,
    pooling,
    register_communication,
)
from simsched.hwmodels.ldm.shared_tiles import as_gemm

CONV = convolution(channels=96, filters=256, size=27, kernel=5, padding=2)
BATCHED = convolution(channels=128, filters=128, size=18, kernel=3, batch=128, layout="HWCN", element_B=8)
FC = matmul(1, 4096, 4096)


def test_what_is_a_matrix_product():
    assert as_gemm(elementwise(100, operands=2)) is None
    assert as_gemm(pooling(channels=3, size=8, window=2)) is None
    assert as_gemm(FC).im2col is False
    seen = as_gemm(CONV)
    assert (seen.m, seen.n, seen.k, seen.im2col) == (("oh", "ow"), ("oc",), ("ic", "kh", "kw"), True)
    batched = as_gemm(BATCHED)
    assert (batched.m, batched.n, batched.k, batched.im2col) == (("n",), ("oc",), ("ic",), False)
    assert as_gemm(convolution(channels=8, filters=8, size=9, kernel=1)).im2col is False
    assert as_gemm(convolution(channels=8, filters=8, size=9, kernel=1, stride=2)).im2col is True


def test_padding_makes_small_batches_expensive(group):
    """A batch of one takes as long on the CPEs as one of 128, to which it is padded."""
    one, full, more = (register_communication(matmul(m, 4096, 4096), group).compute_s for m in (1, 128, 129))
    assert one == pytest.approx(full)
    assert more == pytest.approx(2 * full)
    assert full == pytest.approx(2 * 128 * 4096 * 4096 / (64 * group.cpe_flops * group.reordered_share))


def test_im2col_is_paid_for_each_image(group):
    one, three = (
        register_communication(
            convolution(channels=96, filters=256, size=27, kernel=5, padding=2, batch=batch), group
        )
        for batch in (1, 3)
    )
    assert one.layout_s > 0
    assert three.layout_s == pytest.approx(3 * one.layout_s)
    assert three.total_s == pytest.approx(3 * one.total_s)
    assert register_communication(BATCHED, group).layout_s == 0


def test_each_element_is_fetched_once_for_the_group(group):
    """Bytes of a product whose operands fit all LDMs together, at one rate, take their time once."""
    flat = replace(
        group,
        dma_contiguous=DmaCurve((1.0, 2.0), (1e9, 1e9), (1e9, 1e9)),
        dma_strided=DmaCurve((1.0, 2.0), (1e9, 1e9), (1e9, 1e9)),
        dma_latency_s=0,
        dma_cpe_Bps=1e12,
    )
    nest = matmul(256, 256, 256)
    assert register_communication(nest, flat).dma_s == pytest.approx(3 * 4 * 256 * 256 / 1e9)
    assert plan(nest, flat).times.dma_s > 10 * register_communication(nest, flat).dma_s


def test_what_is_no_product(group):
    """A bias takes a time per element and pooling one per element of a window; the rest is planned, in place."""
    bias_s = register_communication(bias(64, 49, batch=2), group).total_s
    assert bias_s == pytest.approx(group.spawn_join_s + 2 * 64 * 49 * group.bias_element_s)
    pooled = register_communication(pooling(channels=64, size=56, window=2), group).total_s
    assert pooled == pytest.approx(64 * 56 * 56 * group.window_element_s)
    nest = elementwise(10**6)
    in_place = plan(nest, replace(group.in_place(), compiled_share=group.reordered_share))
    assert register_communication(nest, group) == in_place.times
    assert group.in_place().put_s(4096, 64, strided=False) == pytest.approx(
        group.get_s(4096, 64, strided=False)
    )
    assert in_place.times.dma_s < plan(nest, group).times.dma_s


def test_groups_are_products_of_their_own(group):
    """With two groups, half as many products; windows are written out once all the same."""
    sizes = {"channels": 96, "filters": 256, "size": 27, "kernel": 5, "padding": 2}
    whole, halves = convolution(**sizes), convolution(**sizes, groups=2)
    assert halves.total_flops == whole.total_flops / 2
    assert [tensor.shape for tensor in halves.tensors] == [
        (1, 2, 48, 27, 27),
        (2, 128, 48, 5, 5),
        (1, 2, 128, 27, 27),
    ]
    one, two = (register_communication(nest, group) for nest in (whole, halves))
    assert two.layout_s == pytest.approx(one.layout_s, rel=0.01)
    assert two.compute_s == pytest.approx(one.compute_s / 2)
    assert plan(halves, group).times.compute_s == pytest.approx(plan(whole, group).times.compute_s / 2)
    for wrong in ({"groups": 5}, {"groups": 0}, {"groups": 2, "layout": "HWCN"}):
        with pytest.raises(NestError, match="divides 96 channels and 256 filters, and layout NCHW"):
            convolution(**sizes, **wrong)


ALEXNET_CONVOLUTIONS = [
    convolution(channels=3, filters=96, size=227, kernel=11, stride=4),
    CONV,
    convolution(channels=256, filters=384, size=13, kernel=3, padding=1),
    convolution(channels=384, filters=384, size=13, kernel=3, padding=1),
    convolution(channels=384, filters=256, size=13, kernel=3, padding=1),
]


@pytest.mark.parametrize("nest", ALEXNET_CONVOLUTIONS, ids=lambda nest: nest.name)
def test_convolutions_are_between_the_two(nest, group):
    planned = plan(nest, group).seconds
    assert register_communication(nest, group).total_s < planned < no_reuse(nest, group).total_s


@pytest.mark.parametrize(("n", "k"), [(4096, 9216), (4096, 4096)])
def test_fully_connected_layers_of_one_image_beat_both(n, k, group):
    nest = matmul(1, n, k)
    planned = plan(nest, group).seconds
    assert planned < no_reuse(nest, group).total_s
    assert planned < register_communication(nest, group).total_s


def _slower(curve):
    return DmaCurve(curve.block_B, tuple(r / 2 for r in curve.copy_Bps), tuple(r / 2 for r in curve.add_Bps))


# What is changed, and what must change with it. The mesh, the multiples and the latency of register communication
# only matter there; what bounds a lone CPE only matters where one is alone.
SMALL = {"channels": 64, "filters": 64, "size": 40, "kernel": 3, "batch": 128}
SWDNN, SWCAFFE = convolution(**SMALL, layout="HWCN"), convolution(**SMALL)
SQUARE = matmul(512, 512, 512)
CHANGES = {
    "cpes": (lambda g: 32, lambda g: plan(CONV, g).seconds),
    "mesh_columns": (lambda g: 16, lambda g: register_communication(FC, g).register_s),
    "ldm_B": (lambda g: g.ldm_B / 8, lambda g: plan(SQUARE, g).seconds),
    "cpe_flops": (lambda g: 2 * g.cpe_flops, lambda g: plan(CONV, g).seconds),
    "compiled_share": (lambda g: g.compiled_share / 2, lambda g: plan(CONV, g).seconds),
    "reordered_share": (lambda g: g.reordered_share / 2, lambda g: register_communication(CONV, g).total_s),
    "dma_contiguous": (lambda g: _slower(g.dma_contiguous), lambda g: plan(elementwise(10**6), g).seconds),
    "dma_strided": (lambda g: _slower(g.dma_strided), lambda g: plan(FC, g).seconds),
    "dma_latency_s": (lambda g: 2 * g.dma_latency_s, lambda g: plan(matmul(1, 1, 4096), g).seconds),
    "dma_cpe_Bps": (lambda g: g.dma_cpe_Bps / 2, lambda g: plan(matmul(1, 1, 4096), g).seconds),
    "gload_latency_s": (lambda g: g.gload_latency_s * 2, lambda g: plan(matmul(1, 1, 1), g).seconds),
    "gload_Bps": (lambda g: g.gload_Bps / 2, lambda g: plan(matmul(64, 1, 1), g).seconds),
    "gload_word_B": (lambda g: g.gload_word_B / 2, lambda g: plan(matmul(64, 1, 1), g).seconds),
    "regcomm_latency_s": (lambda g: 1e-6, lambda g: register_communication(FC, g).register_s),
    "regcomm_Bps": (lambda g: g.regcomm_Bps / 50, lambda g: register_communication(CONV, g).total_s),
    "spawn_join_s": (lambda g: 0.0, lambda g: plan(FC, g).seconds),
    "preferred_elements": (lambda g: 16, lambda g: register_communication(SWCAFFE, g).layout_s),
    "gemm_m": (lambda g: 32, lambda g: register_communication(FC, g).total_s),
    "gemm_n": (lambda g: 3 * 32, lambda g: register_communication(FC, g).total_s),
    "gemm_k": (lambda g: 3 * 8, lambda g: register_communication(FC, g).total_s),
    "swdnn_ldm_B": (lambda g: g.swdnn_ldm_B / 2, lambda g: register_communication(SWDNN, g).dma_s),
    "swcaffe_ldm_B": (lambda g: g.swcaffe_ldm_B / 2, lambda g: register_communication(SWCAFFE, g).dma_s),
    "bias_element_s": (lambda g: 1e-9, lambda g: register_communication(bias(64, 9), g).total_s),
    "window_element_s": (
        lambda g: 1e-9,
        lambda g: register_communication(pooling(channels=4, size=8, window=2), g).total_s,
    ),
    "double_buffering": (lambda g: False, lambda g: plan(CONV, g).seconds),
}


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(CoreGroup) if f.name != "stated"])
def test_every_number_of_a_core_group_matters(name, group):
    other, result = CHANGES[name]
    assert result(group) != result(replace(group, **{name: other(group)}))


def test_operations_and_costings_by_name():
    """What the table of a machine offers is what the functions say."""
    table = ss.machine("sw26010").tables["ldm"]
    nest = table.operation("matmul", m=1, n=512, k=256)
    assert nest == matmul(1, 512, 256)
    group, seconds = table.core_group(), table.costings()
    assert seconds["planned"](nest) == plan(nest, group).seconds
    assert seconds["no reuse"](nest) == no_reuse(nest, group).total_s
    assert seconds["register communication"](nest) == register_communication(nest, group).total_s
    with pytest.raises(NestError, match="no operation is called 'fft'; there are convolution, matmul"):
        table.operation("fft")
