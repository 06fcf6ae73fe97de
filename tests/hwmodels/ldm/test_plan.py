"""Plans computed by hand, their tables and pictures."""

from dataclasses import replace

import pytest

from simsched.hwmodels.ldm import NestError, convolution, elementwise, matmul, plan, register_communication
from simsched.hwmodels.ldm.nest import moves, trips
from simsched.hwmodels.ldm.tiles import VariableClass, buffer_B, classify, first_fit, footprint_B
from simsched.hwmodels.ldm.times import blocks

CONV = convolution(channels=3, filters=96, size=227, kernel=11, stride=4)


def test_double_buffers_of_the_worked_example_take_smaller_tiles(group):
    nest = matmul(1, 1024, 1024)
    tiles = first_fit(nest, group.ldm_B, double_buffering=True)
    assert tiles == {"m": 1, "n": 64, "k": 64}
    assert footprint_B(nest, tiles, double_buffering=True) == 33 * 1024


def test_a_tensor_of_one_tile_needs_no_second_buffer():
    nest = matmul(1, 64, 1024)
    tiles = {"m": 1, "n": 64, "k": 64}
    sizes = [buffer_B(tensor, nest, tiles, double_buffering=True) for tensor in nest.tensors]
    assert sizes == [2 * 256, 2 * 16384, 256]


NESTS = [matmul(512, 256, 384), CONV, elementwise(100_000)]


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_a_program_is_planned_for_the_stated_numbers(group, nest):
    """Where DMA is slower than stated, nobody has planned anew; where the LDM is smaller, tiles have to fit."""
    lone = replace(group, double_buffering=False)
    possible = replace(lone, dma_latency_s=5 * group.dma_latency_s, cpe_flops=2 * group.cpe_flops)
    program, there = plan(nest, lone), plan(nest, replace(possible, stated=lone))
    assert (there.tiles, there.order) == (program.tiles, program.order)
    assert plan(nest, possible).seconds <= there.seconds
    assert plan(nest, replace(lone, stated=lone)).seconds == program.seconds
    smaller = replace(lone, ldm_B=0.9 * program.ldm_B)
    assert plan(nest, replace(smaller, stated=lone)).ldm_B <= smaller.ldm_B


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest.name)
def test_so_is_one_of_all_cpes_together(group, nest):
    possible = replace(group, dma_latency_s=5 * group.dma_latency_s, cpe_flops=2 * group.cpe_flops)
    there_s = register_communication(nest, replace(possible, stated=group)).total_s
    assert register_communication(nest, possible).total_s <= there_s * (1 + 1e-12)
    same_s = register_communication(nest, replace(group, stated=group)).total_s
    assert same_s == register_communication(nest, group).total_s


def test_single_buffers_where_larger_tiles_are_faster(group):
    """A lone CPE waits for its start-ups, not for the controller, so long runs beat overlap where there is no work."""
    lone = replace(group, cpes=1, mesh_columns=1)
    copy = elementwise(100_000, flops=0)
    assert not plan(copy, lone).group.double_buffering
    assert plan(elementwise(100_000, flops=100), lone).group.double_buffering


def test_classes_change_when_a_whole_range_is_buffered():
    ones = dict.fromkeys(CONV.loops, 1)
    first = classify(CONV, ones)
    assert (first["ow"], first["kw"], first["kh"]) == (
        VariableClass.SIZE,
        VariableClass.SIZE,
        VariableClass.NUMBER,
    )
    # The weights' rows are buffered: kh sizes W, but still only numbers X.
    assert classify(CONV, ones | {"kw": 11})["kh"] is VariableClass.COMPOUND
    assert classify(CONV, ones | {"kw": 11, "ow": 55})["kh"] is VariableClass.SIZE
    assert classify(CONV, dict(CONV.loops))["oc"] is VariableClass.SIZE


def test_first_fit_falls_back_to_the_variable_before():
    assert first_fit(elementwise(1000), 511) == {"i": 32}
    assert first_fit(matmul(1, 1024, 1024), 600) == {"m": 1, "n": 64, "k": 1}
    # Both sizevars of a convolution are set at once; kw is at its floor before ow is halved.
    conv = convolution(channels=1, filters=1, size=(1, 200), kernel=(1, 100))
    assert first_fit(conv, 4 * 70) == {**dict.fromkeys(conv.loops, 1), "ow": 32, "kw": 1}


def test_moves_by_hand():
    nest = matmul(4, 6, 8)
    counts = trips(nest, {"m": 2, "n": 2, "k": 2})
    assert counts == {"m": 2, "n": 3, "k": 4}
    by_name = {t.name: t for t in nest.tensors}
    assert moves(by_name["A"], ("m", "k", "n"), counts) == 8
    assert moves(by_name["A"], ("n", "m", "k"), counts) == 24
    assert moves(by_name["C"], ("m", "n", "k"), counts) == 6
    assert moves(by_name["C"], ("k", "m", "n"), counts) == 24


def test_contiguous_rows_merge():
    nest = matmul(8, 10, 12)
    b = nest.inputs[1]
    part = blocks(nest, b, {"m": 1, "n": 5, "k": 6})
    assert (part.count, part.size_B, part.strided) == (6, 20, True)
    rows = blocks(nest, b, {"m": 1, "n": 10, "k": 6})
    assert (rows.count, rows.size_B, rows.strided) == (1, 240, False)


def test_tiles_at_the_end_of_a_range_count_with_their_size():
    nest = elementwise(10)
    run = blocks(nest, nest.inputs[0], {"i": 4})
    assert run.size_B == pytest.approx(4 * 10 / 3)


def test_partial_sums_come_back(group):
    # With k outermost, C is put for each of its tiles and got again for each but the first.
    from simsched.hwmodels.ldm.times import transfers

    nest = matmul(4, 4, 4)
    c = transfers(nest, {"m": 2, "n": 2, "k": 2}, ("k", "m", "n"), group, 1)[-1]
    assert (c.moves, c.puts, c.gets) == (8, 8, 4)


def test_seconds_by_hand(group):
    """64 x 1000 elements, all fitting: one get, one put, no overlap."""
    made = plan(elementwise(64_000), group)
    get_s, put_s = (f(4000, 64, strided=False) for f in (group.get_s, group.put_s))
    compute_s = 1000 / (group.cpe_flops * group.compiled_share)
    assert made.times.dma_s == pytest.approx(get_s + put_s)
    assert made.times.hidden_s == 0
    assert made.seconds == pytest.approx(get_s + put_s + compute_s + group.spawn_join_s)


def test_overlap_by_hand(group):
    """Two operands of 64 x 100,000 elements: all but the first gets and the last put hide the computation."""
    made = plan(elementwise(6_400_000, operands=2, flops=20), group)
    assert made.group.double_buffering
    steps = made.transfers[0].moves
    assert steps > 2
    assert made.times.hidden_s == pytest.approx(made.times.compute_s * (steps - 1) / steps)


def test_single_elements_go_past_the_ldm(group):
    made = plan(matmul(64, 1, 1), group)
    assert all(moved.by_gload for moved in made.transfers)
    assert made.times.gload_s == pytest.approx(3 * group.gload_s(64))
    assert made.times.dma_s == 0


def test_more_ldm_costs_no_time(group):
    """With all in one tile nothing would be left to overlap; smaller tiles than fit are searched, too."""
    nest = elementwise(64 * 2000, flops=50)
    small, large = (plan(nest, replace(group, ldm_B=size_B)) for size_B in (8 * 1024, 64 * 1024))
    assert large.seconds <= small.seconds
    assert large.transfers[0].moves > 1


def test_what_cannot_fit_is_refused(group):
    with pytest.raises(NestError, match="one element of each tensor takes 12 B of LDM; there are 8"):
        plan(matmul(2, 2, 2), replace(group, ldm_B=8))


def test_table(group):
    made = plan(matmul(1, 4096, 9216), group)
    table = made.table().set_index("tensor")
    assert list(table.index) == ["A", "B", "C"]
    assert table.loc["B", "classes"] == "n sizevar, k compvar"
    rows, columns = made.tiles["k"], made.tiles["n"]
    assert table.loc["B", "tile"] == f"{rows} x {columns}"
    assert table.loc["B", "bytes"] == 4 * 4096 * 9216
    assert table.loc["B", "moves"] == 9216 / rows * 64 / columns
    assert table.loc["C", "within"] == ""  # all of a CPE's C is one tile
    assert table["ldm_B"].sum() == made.ldm_B
    assert table["seconds"].sum() == pytest.approx(made.times.dma_s + made.times.gload_s)


def test_picture(group):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    made = plan(CONV, group)
    ax = made.draw()
    assert ax.get_xlim()[1] >= 64
    filled = [bar for bar in ax.patches[1:] if bar.get_height()]
    assert sum(bar.get_width() for bar in filled) == pytest.approx(made.ldm_B / 1024)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text.split()[0] for text in texts] == ["X", "W", "Y"]
    own = plt.figure().add_subplot()
    assert made.draw(own) is own
    plt.close("all")
