"""Plain OpenACC: what its directives copy, by hand, and the other readings."""

import pytest

from simsched.hwmodels.ldm import (
    Access,
    LoopNest,
    NestError,
    convolution,
    elementwise,
    matmul,
    no_reuse,
    plan,
)

FC = matmul(1, 4096, 4096)


def gets(group, floats, times=1):
    return times * group.get_s(4 * floats, 64, strided=False)


def puts(group, floats, times=1):
    return times * group.put_s(4 * floats, 64, strided=False)


def test_what_fits_is_copied_once(group):
    """A filter for each CPE: its nine weights, the whole image of one channel, and its row of outputs."""
    nest = convolution(channels=1, filters=64, size=(3, 66), kernel=3)
    times = no_reuse(nest, group)
    assert times.dma_s == pytest.approx(gets(group, 3 * 66) + gets(group, 9) + puts(group, 64))
    assert (times.layout_s, times.hidden_s) == (0, 0)


def test_a_large_input_comes_row_by_row_for_each_filter(group):
    """Two filters a CPE. 200 KiB of image do not fit, 1,152 B of weights and 4,752 B of output for each filter do."""
    nest = convolution(channels=32, filters=128, size=(8, 200), kernel=3)
    rows = 2 * 6 * 32 * 3
    expected = gets(group, 200, rows) + gets(group, 2 * 32 * 9) + puts(group, 2 * 6 * 198)
    assert no_reuse(nest, group).dma_s == pytest.approx(expected)


def test_a_large_output_is_put_row_by_row(group):
    """200 rows of 200 outputs, 160,000 B, do not fit; the sums of one row stay over all channels and taps."""
    nest = convolution(channels=4, filters=64, size=202, kernel=3)
    expected = gets(group, 202, 200 * 4 * 3) + gets(group, 4 * 9) + puts(group, 200, 200)
    assert no_reuse(nest, group).dma_s == pytest.approx(expected)


def test_weights_across_the_parallel_loop_are_transposed_first(group):
    """Then rows of 4,096 weights come, two at a time beside the input, and the outputs are put in twos."""
    turned = LoopNest(
        "weights transposed",
        loops={"k": 4096, "n": 4096},
        reads=(Access("B", ("k", "n")),),
        write=Access("C", ("n", "k")),
        flops=0,
    )
    times = no_reuse(FC, group)
    assert times.layout_s == pytest.approx(plan(turned, group).seconds)
    assert times.dma_s == pytest.approx(gets(group, 4096) + gets(group, 2 * 4096, 32), rel=0.01)
    assert times.total_s == pytest.approx(
        times.layout_s + times.dma_s + times.gload_s + times.compute_s + times.spawn_join_s
    )


def test_weights_along_the_parallel_loop_are_not(group):
    by_output = no_reuse(matmul(1, 4096, 4096, transposed=True), group)
    assert by_output.layout_s == 0
    assert by_output.dma_s == no_reuse(FC, group).dma_s


def test_rows_that_do_not_fit_come_in_parts(group):
    """9,216 inputs stay, 36,864 B, so that a row of as many weights comes in two halves."""
    long = no_reuse(matmul(1, 4096, 9216, transposed=True), group)
    assert long.dma_s == pytest.approx(gets(group, 9216) + gets(group, 4608, 64 * 2), rel=0.01)


def test_slices_are_as_large_as_fit(group):
    """16,384 elements for each CPE, in tiles of 8,192: twice 32 KiB."""
    nest = elementwise(64 * 16384)
    assert no_reuse(nest, group).dma_s == pytest.approx(gets(group, 8192, 2) + puts(group, 8192, 2))


def test_columns_are_written_first_then_each_filter_fetches_them_all(group):
    """2,304 columns of 3,844: a row of them stays with its weight while it is added to the sums of the filter."""
    nest = convolution(channels=256, filters=64, size=64, kernel=3)
    times = no_reuse(nest, group, "columns")
    product_s = gets(group, 62 * 62, 2304) + gets(group, 2304) + puts(group, 62 * 62)
    assert times.dma_s == pytest.approx(product_s)
    assert times.layout_s > 256 * 9 * 62 * 62 * 4 / 64 * group.put_s(4096, 64, strided=False) / 4096
    three = no_reuse(convolution(channels=256, filters=64, size=64, kernel=3, batch=3), group, "columns")
    assert three.total_s == pytest.approx(3 * times.total_s)


def test_without_windows_there_are_no_columns(group):
    assert no_reuse(FC, group, "columns") == no_reuse(FC, group)


def test_rows_of_a_window_by_hand(group):
    """One row of one channel: for each row of taps, a row of the input and one of the weights; one row is put."""
    nest = convolution(channels=1, filters=64, size=(3, 66), kernel=3)
    times = no_reuse(nest, group, "rows")
    input_s, weights_s = (group.get_s(4 * floats, 64, strided=False) for floats in (66, 3))
    row_s = group.put_s(64 * 4, 64, strided=False)
    assert times.dma_s == pytest.approx(3 * (input_s + weights_s) + row_s)
    assert times.gload_s == 0
    assert times.hidden_s == 0


def test_rows_load_single_weights_past_the_ldm(group):
    nest = convolution(channels=1, filters=64, size=(3, 129), kernel=(3, 1), stride=2)
    assert no_reuse(nest, group, "rows").gload_s == pytest.approx(3 * group.gload_s(64))


def test_rows_manage_simple_nests_well(group):
    """A fully connected layer fetches each weight once, in the runs that there are, but hides nothing."""
    times = no_reuse(FC, group, "rows")
    run_s = group.get_s(64 * 4, 64, strided=True)
    weights_s = 4096 * run_s
    assert weights_s < times.dma_s < 1.05 * weights_s
    assert times.total_s == pytest.approx(times.dma_s + times.compute_s + times.spawn_join_s)


def test_other_readings_by_hand(group):
    """A 3x3 window on one channel: rows as above; all nine taps and three rows at once; or a run of 64 for each tap."""
    nest = convolution(channels=1, filters=64, size=(3, 66), kernel=3)
    row_s = group.put_s(64 * 4, 64, strided=False)
    all_s = group.get_s(3 * 66 * 4, 64, strided=False) + group.get_s(9 * 4, 64, strided=False)
    assert no_reuse(nest, group, "output-row").dma_s == pytest.approx(all_s + row_s)
    runs = no_reuse(nest, group, "run")
    assert (
        runs.dma_s + runs.gload_s
        > no_reuse(nest, group, "rows").dma_s
        > no_reuse(nest, group, "output-row").dma_s
    )
    with pytest.raises(
        NestError, match="copies='most': expected one of directives, columns, rows, output-row, run"
    ):
        no_reuse(nest, group, "most")
