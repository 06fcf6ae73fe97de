"""The work of ops, read from kinds, shapes, FLOPs and bytes."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import simsched as ss
from simsched.costs.kernels.library import parameters
from simsched.costs.shapes.kinds import work_of
from simsched.graph.shapes import format_shape, parse_shape

NAN = float("nan")


def read(kind, shape, flops=NAN, bytes_B=NAN):
    return work_of(kind, shape, flops, bytes_B, parameters())


def elements(*shapes):
    return sum(np.prod(dims, dtype=float) for dims in shapes)


# Products


@pytest.mark.parametrize(
    ("kind", "shape", "product"),
    [
        ("MatMul", "8x1x256x64;12x64x256", (96, 256, 256, 64)),
        ("MatMul", "64x1;1x32;32", (1, 64, 32, 1)),
        ("Einsum", "8x128x12x64;8x96x12x64", (96, 128, 96, 64)),
        ("Einsum", "8x12x128x96;8x96x12x64", (96, 128, 64, 96)),
        ("Einsum", "8x128x768;768x12x64", (1, 1024, 768, 768)),
        ("Einsum", "80x64x48;80x64", (80, 48, 1, 64)),
    ],
)
def test_batches_are_broadcast_and_found_by_flops(kind, shape, product):
    """Scores of attention as an einsum, `bqhd,bkhd->bhqk`, its weighted sum, a projection to heads, sums of rows."""
    flops = 2.0 * np.prod(product) + (product[1] * product[2] if shape.count(";") > 1 else 0)
    assert read(kind, shape, flops).parts == [product]


@pytest.mark.parametrize("element_B", [4, 2, 1])
def test_bytes_tell_what_an_einsum_sums_over(element_B):
    """`bhqk,bqhd->bkhd`: no last dimension is summed over, but that of the queries is."""
    shape, made = "8x12x128x80;8x128x12x64", (8, 12, 80, 64)
    bytes_B = element_B * elements(*parse_shape(shape), made)
    found = read("Einsum", shape, 2.0 * 128 * np.prod(made), bytes_B)
    assert (found.parts, found.element_B) == ([(96, 80, 64, 128)], element_B)


# Attention


@pytest.mark.parametrize(
    "shape",
    ["1x32x2x128;1x8x512x128;1x8x512x64", "1x2x4096;1x512x1024;1x512x512;heads=32"],
    ids=["heads in the batch", "heads in the features"],
)
def test_queries_that_share_keys_are_rows_of_one_product(shape):
    """32 heads of two queries, 8 of keys and values: as 8 heads of eight queries."""
    scores, _, values = read("Attention", shape, 2.0 * 64 * 512 * (128 + 64)).parts
    assert (scores, values) == ((8, 8, 512, 128), (8, 8, 64, 512))
    inputs, _, attributes = shape.partition(";heads")
    query, key, value = inputs.split(";")
    kind = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
    backward = read(kind, ";".join([query, query, key, value]) + ";heads" * bool(attributes) + attributes)
    assert [part for part in backward.parts if len(part) == 4 and isinstance(part[0], int)] == [
        scores, (8, 512, 64, 8), (8, 8, 512, 64), (8, 8, 128, 512), (8, 512, 128, 8),
    ]  # fmt: skip


def test_attention_of_other_flops_than_its_shapes_is_not_read():
    """As with keys of earlier calls."""
    shape = ";".join(["1x8x1x128"] * 3)
    assert read("Attention", shape, 4.0 * 8 * 128) is not None
    assert read("Attention", shape, 4.0 * 8 * 128 * 4096) is None
    assert read("Attention", "1x12x2x128;1x8x512x128;1x8x512x128") is None


# Element types


@pytest.mark.parametrize(
    ("kind", "shape", "made"),
    [
        ("MatMul", "1x4096;4096x4096", 4096),
        ("aten::addmm", "64;32x48;48x64", 32 * 64),
        ("Conv", "8x64x56x28;128x64x3x3;128;stride=2;padding=1", 8 * 128 * 28 * 14),
        ("ConvTranspose", "8x128x28x14;128x64x4x4;stride=2", 8 * 64 * 56 * 28),
        (
            "aten::convolution_backward",
            "8x128x28x14;8x64x56x28;128x64x3x3",
            8 * 64 * 56 * 28 + 128 * 64 * 9,
        ),
        ("Attention", "1x32x1x128;1x8x512x128;1x8x512x128", 32 * 128),
        ("Attention", "1x1x4096;1x512x1024;1x512x1024;heads=32", 4096),
    ],
)
def test_bytes_tell_the_type_of_elements(kind, shape, made):
    """As many bytes move as the graph says; none other than what the shapes say, if they are FP32."""
    number = made + elements(*parse_shape(shape))
    fp32 = read(kind, shape)
    assert read(kind, shape, bytes_B=4 * number) == fp32
    for element_B in (2, 1):
        found = read(kind, shape, bytes_B=element_B * number)
        assert found.element_B == pytest.approx(element_B)
        for work, whole in zip(chain(*found.ways), chain(*fp32.ways), strict=True):
            assert work.flops == whole.flops
            assert work[2:4] == pytest.approx([part * element_B / 4 for part in whole[2:4]])


# Streams and gathers


@pytest.mark.parametrize(
    ("kind", "shape", "taken", "written"),
    [
        ("aten::copy_", "1000;1000", 1000, 1000),
        ("aten::copy_", "1000;1", 1, 1000),
        ("Copy", "1000", 1000, 1000),
        ("Assign", "1000;1000", 1000, 1000),
        ("AssignAdd", "1000;1000", 2000, 1000),
        ("aten::fill_", "1000", 0, 1000),
        ("aten::zeros_like", "1000", 0, 1000),
        ("aten::cat", "1000;500", 1500, 1500),
    ],
)
def test_what_is_overwritten_is_not_read(kind, shape, taken, written):
    [[work]] = read(kind, shape).ways
    assert (work.named_B, work.moved_B) == (4 * (taken + written), 4 * (taken + 2 * written))


@pytest.mark.parametrize(
    ("kind", "shape", "bytes_B", "picked", "indices"),
    [
        ("aten::embedding", "2x768;16x128", NAN, 16 * 128 * 768, 16 * 128),
        ("Gather", "32x12;512x512", NAN, 512 * 512 * 12, 512 * 512),
        ("Gather", "1024x1000;64", 8 * 1024 * 64 + 8 * 64, 1024 * 64, 64),
        ("Gather", "8x16x32;()", 8 * 16 * 32 + 8, 16 * 32, 1),
        ("aten::index_select", "1024x1000;();64", NAN, 64 * 1000, 64),
        ("aten::gather", "4096x1000;();4096x1", NAN, 4096, 4096),
        ("GatherElements", "8x9x7;8x9x7", NAN, 8 * 9 * 7, 8 * 9 * 7),
        ("GatherND", "1024x1000x3;64x2", NAN, 64 * 3, 64 * 2),
    ],
)
def test_a_gather_reads_and_writes_what_it_picks(kind, shape, bytes_B, picked, indices):
    [[work]] = read(kind, shape, bytes_B=bytes_B).ways
    assert (work.named_B, work.moved_B) == (8 * picked + 8 * indices, 12 * picked + 8 * indices)


def test_a_gradient_of_an_embedding_reads_and_writes_rows():
    kind, shape = "aten::embedding_dense_backward", "16x128x768;16x128"
    [[work]] = read(kind, shape).ways
    assert work.named_B == pytest.approx(8 * 16 * 128 * 768, rel=0.01)
    assert read(kind, shape, bytes_B=5e8).ways[0][0].named_B == 5e8, "with the table that is written"


# Properties

groups = st.lists(st.integers(1, 40), max_size=2)


@st.composite
def ops(draw):
    """An op with its FLOPs and bytes, known from how it is made."""
    kind = draw(st.sampled_from(["MatMul", "Einsum", "Attention", "Gather"]))
    batch, m, n, k = (draw(groups) for _ in range(4))
    shapes = draw(st.permutations([*batch, *m, *k])), draw(st.permutations([*batch, *n, *k]))
    made, flops = (*batch, *m, *n), 2.0 * np.prod([*batch, *m, *n, *k])
    if kind == "MatMul":
        b, h, rows, keys, features = draw(st.tuples(*[st.integers(1, 40)] * 5))
        shapes, made = [(b, 1, rows, features), (h, features, keys)], (b, h, rows, keys)
        flops = 2.0 * np.prod(made) * features
    elif kind == "Attention":
        own, shared, rows, keys, features = draw(st.tuples(*[st.integers(1, 40)] * 5))
        shapes, made = (
            [(own * shared, rows, features), *[(own, keys, features)] * 2],
            (own * shared, rows, features),
        )
        flops = 4.0 * keys * np.prod(made)
    elif kind == "Gather":
        table, flops = draw(st.tuples(*[st.integers(1, 40)] * 2)), 0.0
        shapes, made = [table, (*batch, *m)], (*batch, *m, table[1])
    element_B = draw(st.sampled_from([4, 2, 1]))
    bytes_B = element_B * (2 * elements(made) if kind == "Gather" else elements(*shapes, made))
    return kind, format_shape(shapes), flops, bytes_B + (8 * elements(shapes[1]) if kind == "Gather" else 0.0)


@settings(max_examples=50)
@given(ops())
def test_no_op_is_faster_than_its_operations_and_bytes_allow(op):
    kind, shape, flops, bytes_B = op
    machine = ss.machine("generic[cores=8]")
    graph = ss.TaskGraph.from_edges([NAN], kinds=kind, shapes=[shape], flops=[flops], bytes_B=[bytes_B])
    found, memory = ss.CostModel().on(graph, machine), machine.memory
    for width in range(1, 9):
        least_s = max(
            flops / (width * machine.core_flops),
            bytes_B / (memory.moved_over_named * machine.reach_Bps[width]),
        )
        assert found.seconds(width)[0] >= 0.9 * least_s


@pytest.mark.parametrize("kind", ["Relu", "Add", "Transpose", "ReduceSum"])
def test_streams_take_as_long_as_their_elements_are_wide(kind):
    operands, results = 1 + (kind == "Add"), 0 if kind == "ReduceSum" else 1
    each_B = np.array([1.0, 2.0, 4.0, 8.0])
    graph = ss.TaskGraph.from_edges(
        [np.nan] * 4, kinds=kind, shapes=[";".join(["8192x8192"] * operands)] * 4, flops=[2.0**26] * 4,
        bytes_B=2.0**26 * (operands + results) * each_B,
    )  # fmt: skip
    found = ss.CostModel().on(graph, ss.machine("xeon-8160x2")).seconds(48)
    assert found / found[2] == pytest.approx(each_B / 4, rel=0.15)


def test_a_slice_writes_what_its_bytes_leave():
    graph = ss.TaskGraph.from_edges(
        [np.nan] * 2, kinds="Slice", shapes=["8192x8192"] * 2, bytes_B=[4.0 * 2**26, 8.0 * 2**26]
    )
    none, all_of_it = ss.CostModel().on(graph, ss.machine("xeon-8160x2")).seconds(48)
    assert all_of_it / none == pytest.approx(3, rel=0.05)


def test_products_of_elements_of_8_bytes_have_half_the_rate():
    graph = ss.TaskGraph.from_edges(
        [np.nan] * 2, kinds="MatMul", shapes=["4096x4096;4096x4096"] * 2, flops=[2.0**37] * 2,
        bytes_B=[3 * 4 * 2.0**24, 3 * 8 * 2.0**24],
    )  # fmt: skip
    done = ss.simulate(graph, "grace", "sequential")
    assert np.divide(*done.alone_s[::-1]) == pytest.approx(2, rel=0.02)
    assert "half the FLOP rates of FP32 for 1 task of elements of 8 bytes" in done.notes
