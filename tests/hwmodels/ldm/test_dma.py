"""DMA curves: by hand, and held-out block sizes of the measured streams."""

import csv
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean, median

import pytest

from simsched.errors import MachineError
from simsched.hwmodels.ldm import DmaCurve
from simsched.hwmodels.ldm.group import growing

TABLE = Path(__file__).parents[4] / "shared/measurements/sw26010_swcandle_dma_stream.csv"


def test_gets_and_puts_by_hand():
    # A get of 100 B takes 1 s and a put 3 s, of 300 B 2 s and 4 s.
    curve = DmaCurve((100.0, 300.0), (200 / 4, 600 / 6), (300 / 5, 900 / 8))
    assert [curve.get_s(b) for b in (100, 200, 300, 500)] == pytest.approx([1, 1.5, 2, 3])
    assert curve.put_s(10) == pytest.approx(3)  # a start-up remains
    assert curve.stream_Bps(200, 1, 1) == pytest.approx(400 / (1.5 + 3.5))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((8.0,), (1.0,), (1.0,)), "at least 2"),
        (((8.0, 16.0), (1.0,), (1.0, 1.0)), "as many of each"),
        (((8.0, 8.0), (1.0, 1.0), (1.1, 1.1)), "do not ascend"),
        (((8.0, 16.0), (1.0, 0.0), (1.1, 1.1)), "zero"),
        (((8.0, 16.0), (1.0, 1.0), (9.0, 9.0)), "contradict"),
    ],
)
def test_impossible_curves_are_refused(arguments, message):
    with pytest.raises(MachineError, match=message):
        DmaCurve(*arguments)


@pytest.mark.parametrize("kind", ["dma_contiguous", "dma_strided"])
def test_held_out_points_of_the_machine_file(group, kind):
    curve = getattr(group, kind)
    errors = []
    for out in range(1, len(curve.block_B) - 1):
        size = curve.block_B[out]
        rest = _curve(
            (b, c, a)
            for b, c, a in zip(curve.block_B, curve.copy_Bps, curve.add_Bps, strict=True)
            if b != size
        )
        errors.append(abs(rest.stream_Bps(size, 1, 1) / curve.copy_Bps[out] - 1))
    assert median(errors) < 0.15


def _curve(points):
    return DmaCurve(*zip(*sorted(points), strict=True))


def _rows(access):
    if not TABLE.exists():
        pytest.skip("the measured tables are not here")
    with TABLE.open() as file:
        rows = [row for row in csv.DictReader(file) if row["dma_mode"] == "PE" and row["access"] == access]
    return [(float(r["block_bytes"]), 1e6 * float(r["copy_MBps"]), 1e6 * float(r["add_MBps"])) for r in rows]


@pytest.mark.parametrize("access", ["cont", "strided"])
@pytest.mark.parametrize("all_of_a_size", [False, True])
def test_leave_one_out_over_the_measured_streams(access, all_of_a_size):
    """Each row, or all rows of its block size, are predicted from the others."""
    rows = _rows(access)
    errors = {"copy": [], "add": []}
    for out, (size, copy, add) in enumerate(rows):
        kept = [row for i, row in enumerate(rows) if (row[0] != size if all_of_a_size else i != out)]
        sizes = {row[0] for row in kept}
        curve = _curve(
            (b, *(geometric_mean([row[i] for row in kept if row[0] == b]) for i in (1, 2))) for b in sizes
        )
        errors["copy"].append(abs(curve.stream_Bps(size, 1, 1) / copy - 1))
        errors["add"].append(abs(curve.stream_Bps(size, 2, 1) / add - 1))
    assert median(errors["copy"]) < 0.15
    assert median(errors["add"]) < 0.15


@pytest.mark.parametrize("kind", ["dma_contiguous", "dma_strided"])
def test_more_bytes_never_take_less_time_nor_a_lower_rate(group, kind):
    """Of every size, aligned or not, alone and with others."""
    curve = getattr(group, kind)
    strided = kind == "dma_strided"
    moves = [curve.get_s, curve.put_s]
    moves += [lambda b, n=n: group.get_s(b, n, strided=strided) for n in (1, 7, 64)]
    moves += [lambda b, n=n: group.put_s(b, n, strided=strided) for n in (1, 7, 64)]
    sizes = [*(i / 4 for i in range(1, 400)), *range(100, 4000, 7), *range(4000, 70_000, 501)]
    for seconds in moves:
        taken = [seconds(size) for size in sizes]
        assert taken == sorted(taken)
        rates = [size / time for size, time in zip(sizes, taken, strict=True)]
        assert all(after >= before * (1 - 1e-9) for before, after in pairwise(rates))


@pytest.mark.parametrize(
    ("sizes", "seconds", "expected"),
    [
        ((1.0, 4.0), (2.0, 3.0), [(1, 2), (4, 3)]),
        ((1.0, 4.0), (8.0, 2.0), [(2, 4)]),  # falls
        ((1.0, 4.0), (1.0, 9.0), [(2, 3)]),  # grows more than the size
        # The second and third become (4, 8), which the first contradicts in turn.
        ((1.0, 2.0, 8.0, 64.0), (9.0, 16.0, 4.0, 16.0), [(16 ** (1 / 3), 576 ** (1 / 3)), (64, 16)]),
    ],
)
def test_contradicting_points_are_taken_together(sizes, seconds, expected):
    found = growing(sizes, seconds)
    assert len(found) == len(expected)
    for point, want in zip(found, expected, strict=True):
        assert point == pytest.approx(want)


def test_a_single_point_left_is_a_rate_and_a_least_time():
    """Gets of 2 s and 1 s: one of 1.4 s for the mean size, the same below it, in proportion above."""
    curve = DmaCurve((100.0, 200.0), (200 / 3, 400 / 4), (300 / 5, 600 / 5))
    assert len(curve.gets) == 1
    at = curve.gets[0][0]
    assert [curve.get_s(size) for size in (1.0, at, 2 * at)] == pytest.approx([2**0.5, 2**0.5, 2 * 2**0.5])


def test_fewer_cpes_share_the_controller(group):
    """Alone a CPE is faster than among 64, but draws no more than it can; the aggregate grows with the CPEs."""
    for size in (64, 1024, 8192):
        alone, all_ = (group.get_s(size, cpes, strided=False) for cpes in (1, 64))
        assert size / alone <= group.dma_cpe_Bps
        assert alone < all_
        rates = [c * size / group.get_s(size, c, strided=False) for c in (1, 2, 4, 8, 16, 32, 64)]
        assert rates == sorted(rates)


def test_gload_by_hand(group):
    assert group.gload_s(1) == pytest.approx(82.8e-9)
    assert group.gload_s(64) == pytest.approx(64 * 8 / 1.5e9)
