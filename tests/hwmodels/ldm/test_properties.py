"""What holds for the plan of every nest."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings, strategies as st

import simsched as ss
from simsched.hwmodels.ldm import (
    DmaCurve,
    NestError,
    bias,
    convolution,
    core_group,
    elementwise,
    matmul,
    no_reuse,
    plan,
    pooling,
    register_communication,
)
from simsched.hwmodels.ldm.nest import distinct, moves, parallel_loops, split, trips
from simsched.hwmodels.ldm.plain_loops import fitting
from simsched.hwmodels.ldm.planning import planned
from simsched.hwmodels.ldm.tiles import first_fit, footprint_B

GROUP = core_group(ss.machine("sw26010"))
# A plan takes some hundredths of a second.
few = settings(max_examples=8)
sizes = st.integers(1, 80)


@st.composite
def convolutions(draw):
    kernel, padding = draw(st.integers(1, 5)), draw(st.integers(0, 2))
    return convolution(
        channels=draw(sizes),
        filters=draw(sizes),
        size=draw(st.integers(max(kernel - 2 * padding, 1), 40)),
        kernel=kernel,
        stride=draw(st.integers(1, 3)),
        padding=padding,
        batch=draw(st.integers(1, 3)),
        layout=draw(st.sampled_from(["NCHW", "HWCN"])),
    )


@st.composite
def poolings(draw):
    window = draw(st.integers(1, 4))
    return pooling(
        draw(st.sampled_from(["max", "avg"])),
        channels=draw(sizes),
        size=draw(st.integers(window, 60)),
        window=window,
        stride=draw(st.integers(1, 3)),
    )


nests = st.one_of(
    st.builds(matmul, st.integers(1, 300), st.integers(1, 300), st.integers(1, 2000)),
    convolutions(),
    poolings(),
    st.builds(elementwise, st.integers(1, 10**6), st.integers(1, 3)),
    st.builds(bias, sizes, st.integers(1, 3000), st.integers(1, 3)),
)
groups = st.builds(
    lambda size_B, twice, preferred: replace(
        GROUP, ldm_B=size_B, double_buffering=twice, preferred_elements=preferred
    ),
    st.integers(256, 1 << 18),
    st.booleans(),
    st.sampled_from([1, 16, 64, 256]),
)


@few
@given(nests, groups)
def test_tiles_fit(nest, group):
    made = plan(nest, group)
    part = made.shares.part
    assert all(1 <= made.tiles[loop] <= extent for loop, extent in part.loops.items())
    assert made.ldm_B <= group.ldm_B
    assert made.ldm_B >= footprint_B(part, made.tiles, double_buffering=False)
    assert sorted(made.order) == sorted(nest.loops)


@few
@given(nests, groups)
def test_every_tile_moves_at_least_once_and_every_byte(nest, group):
    made = plan(nest, group)
    part = made.shares.part
    counts = trips(part, made.tiles)
    for tensor, moved in zip(part.tensors, made.transfers, strict=True):
        assert moved.moves >= distinct(tensor, counts)
        least = moved.gets if tensor in part.inputs else moved.puts
        assert least == moved.moves
        # Windows with a stride beyond their size leave gaps that small tiles do not fetch.
        if all(len(dim.terms) == 1 for dim in tensor.dims):
            whole_B = tensor.elements(part.loops) * part.element_B
            assert moved.moved_B >= whole_B * (1 - 1e-9)


@few
@given(nests, groups)
def test_parts_of_the_time_add_up(nest, group):
    times = plan(nest, group).times
    busy, around_s = (times.dma_s, times.compute_s, times.gload_s), times.spawn_join_s + times.layout_s
    assert times.total_s >= max(busy) + around_s - 1e-12
    assert times.total_s <= sum(busy) + around_s + 1e-12
    assert 0 <= times.hidden_s <= min(times.dma_s, times.compute_s + times.gload_s)


@few
@given(nests, groups)
def test_plans_are_deterministic(nest, group):
    assert plan(nest, group) == plan(nest, group)


@few
@given(nests)
def test_double_buffering_never_costs_time(nest):
    assert plan(nest, GROUP).seconds <= plan(nest, replace(GROUP, double_buffering=False)).seconds


@few
@given(nests, groups)
def test_no_first_tiles_are_faster(nest, group):
    """The search begins with them, and only ever goes on to what is faster."""
    single = replace(group, double_buffering=False)
    part = split(nest, group.cpes).part
    first = first_fit(part, group.ldm_B, preferred=group.preferred_elements)
    assert plan(nest, group).seconds <= planned(nest, single, first).seconds * (1 + 1e-12)


@few
@given(nests)
def test_ldm_for_everything_moves_nothing_twice(nest):
    """Where runs of any size take no start-up, so that nothing is gained by other runs."""
    curve = DmaCurve((1.0, 2.0), (1e9, 1e9), (1e9, 1e9))
    even = replace(
        GROUP, dma_contiguous=curve, dma_strided=curve, dma_latency_s=0, dma_cpe_Bps=1e12, ldm_B=1 << 40
    )
    assume(all(len(dim.terms) <= 1 for tensor in nest.tensors for dim in tensor.dims))
    made = plan(nest, even)
    part = made.shares.part
    for tensor, moved in zip(part.tensors, made.transfers, strict=True):
        assert moved.moved_B == pytest.approx(tensor.elements(part.loops) * part.element_B)


@few
@given(nests)
def test_no_reuse_is_never_faster_than_its_own_computation_and_never_hides(nest):
    times = no_reuse(nest, GROUP)
    assert times.hidden_s == 0
    assert times.total_s >= plan(nest, GROUP).times.compute_s


@few
@given(nests, groups)
def test_copies_of_directives_fit_and_move_each_element(nest, group):
    """Rows and parts of rows are made small enough for any LDM, and all that is read or written moves at least once."""
    part = split(nest, group.cpes).part
    copies = fitting(part, parallel_loops(nest, group), group.ldm_B)
    assert copies.size_B <= group.ldm_B
    for tensor in part.tensors:
        counts = trips(part, copies.tiles(tensor))
        assert moves(tensor, copies.around(tensor), counts) >= distinct(tensor, counts)


@few
@given(nests)
def test_register_communication_has_parts_that_add_up(nest):
    times = register_communication(nest, GROUP)
    assert times.total_s >= max(times.dma_s, times.compute_s, times.register_s)
    assert times.layout_s >= 0


@few
@given(nests, st.integers(1, 11))
def test_what_does_not_fit_is_refused_with_both_numbers(nest, ldm_B):
    """A byte less than one element of each tensor, in all three costings that use the LDM of one CPE."""
    least_B = nest.element_B * len(nest.tensors)
    assume(ldm_B < least_B)
    for cost in (plan, no_reuse):
        with pytest.raises(NestError, match=f"{ldm_B}"):
            cost(nest, replace(GROUP, ldm_B=ldm_B))
