"""The kernel model, computed by hand on a small machine; its properties; and what it says of published ops."""

import runpy
import sys
from dataclasses import fields, replace
from functools import cache
from math import inf
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import simsched as ss
from simsched.costs.kernels import (
    Convolution,
    Stream,
    Team,
    convolution_s,
    elementwise_s,
    gemm_s,
    parameters,
    stream_Bps,
    stream_s,
)
from simsched.errors import CostError
from simsched.machine import Memory, RuntimeProfile

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT.parent / "shared" / "measurements"

GEMM = (48, 80, 96)
CONV = Convolution(4, 32, 20, 20, 48, 3, 3, stride=(2, 2), padding=(1, 1))
DENSE = Convolution(4, 32, 6, 6, 48, 3, 3, padding=(1, 1))
TALL = Convolution(2, 64, 100, 1, 64, 5, 1, padding=(2, 0))
#: One output of four blocks, of a filter smaller than the image.
TINY = Convolution(2, 32, 3, 3, 256, 2, 2, stride=(2, 2))
#: Direct kernels only.
OLD = parameters("mkl")


@cache
def base():
    return ss.machine("knl-7250[cores=8]")


def small(**changes):
    """8 cores of 1 GFLOP/s in tiles of two; 3 GB/s named (4 GB/s moved) a core, 12 (16) in all."""
    runtime = RuntimeProfile(
        fork_join_s=1e-6,
        fork_join_per_thread_s=1e-7,
        barrier_s=1e-5,
        barrier_per_thread_s=1e-6,
        team_creation_s=1e-3,
        team_creation_per_thread_s=1e-4,
        unpinned_region=2.0,
    )
    numbers = {
        "core_flops": 1e9,
        "memory": Memory("m", core_bandwidth_Bps=3e9, bandwidth_Bps=12e9, sharpness=inf),
        "l2_B": 1e4,
        "l2_bandwidth_Bps": 40e9,
        "memory_throughput": (1.0, 1.5, 1.5, 1.5),
        "runtime": runtime,
    }
    return replace(base(), **{**numbers, **changes})


def exact(value):
    return pytest.approx(value, rel=1e-12)


# Regions


def test_a_region_forks_joins_and_waits_at_its_barriers():
    team = Team(small(), 4)
    assert team.region_s(0) == exact(1e-6 + 4e-7)
    assert team.region_s() == exact(1.4e-6 + 1.4e-5)
    assert team.region_s(2) == exact(1.4e-6 + 2.8e-5)
    assert replace(team, pinned=False).region_s() == exact(2 * 1.54e-5)
    assert Team(small(), 1).region_s() == 0


# Streams


def test_a_stream_from_memory_moves_its_store_twice():
    stream = Stream(1e6, reads=2, writes=1)  # 24 MB named, 32 MB moved
    assert stream_Bps(stream, Team(small(), 1)) == exact(3e9)
    assert stream_Bps(stream, Team(small(), 8)) == exact(12e9)
    assert stream_Bps(replace(stream, fetches_stores=False), Team(small(), 1)) == exact(4e9)
    # A copy names two arrays and moves three.
    assert stream_Bps(Stream(1e6, 1, 1), Team(small(), 1)) == exact(4e9 * 2 / 3)


def test_a_stream_pays_for_its_region_and_finds_what_fits_in_the_caches():
    machine, share = small(), (20_000 / 24_000) ** parameters().stream.reuse_falloff
    team = Team(machine, 4)  # two tiles: 20 kB, 80 GB/s
    assert stream_s(Stream(500, 2, 1), team) == exact(1.54e-5 + 12_000 / 80e9)
    partly = (1 - share) * 32_000 / 16e9 + share * 24_000 / 80e9
    assert stream_s(Stream(1000, 2, 1), team, barriers=0) == exact(1.4e-6 + partly)
    assert stream_s(Stream(500, 2, 1), team, resident=False) == exact(1.54e-5 + 16_000 / 16e9)
    # One tile for two cores, or one for each.
    assert stream_s(Stream(500, 2, 1), Team(machine, 2), barriers=0) > stream_s(
        Stream(500, 2, 1), Team(machine, 2, tiles=2), barriers=0
    )


def test_machines_without_a_known_l2_stream_from_memory():
    for unknown in ({"l2_B": None}, {"l2_bandwidth_Bps": None}):
        assert stream_s(Stream(500, 2, 1), Team(small(**unknown), 1)) == exact(16_000 / 4e9)


def test_ways_of_a_core_reach_what_the_machine_says_of_them():
    assert stream_Bps(Stream(1e6, 2, 1), Team(small(), 2, ways=2)) == exact(4.5e9)


def test_code_that_is_slower_than_the_memory_sets_the_pace():
    own = Stream(1e6, 2, 1, core_Bps=1e9)
    assert stream_Bps(own, Team(small(), 1)) == exact(1e9)
    assert stream_Bps(own, Team(small(), 4)) == exact(4e9)
    assert stream_Bps(replace(own, core_Bps=1e12), Team(small(), 8)) == exact(12e9)


def test_teams_that_run_at_once_share_the_memory():
    assert stream_Bps(Stream(1e6, 2, 1), Team(small(), 1, executors=8)) == exact(12e9 / 8)


def test_the_first_region_creates_the_team():
    once, factor = Stream(500, 2, 1), parameters().stream.team_creation
    difference = stream_s(once, Team(small(), 4), calls_a_team=10) - stream_s(once, Team(small(), 4))
    assert difference == pytest.approx(factor * (1e-3 + 4e-4) / 10, rel=1e-9)


# Matrix products


def test_a_product_on_one_thread_takes_its_operations_and_its_bytes():
    flops, moved = 2 * 16 * 64 * 100, 4 * (16 * 100 + 100 * 64 + 2 * 16 * 64)
    assert gemm_s(16, 64, 100, Team(small(), 1)) == exact(flops / 1e9 + moved / 4e9)


def test_rows_are_padded_to_whole_vectors():
    moved = 4 * (17 * 100 + 100 * 64 + 2 * 17 * 64)
    assert gemm_s(17, 64, 100, Team(small(), 1)) == exact(2 * 32 * 64 * 100 / 1e9 + moved / 4e9)
    # FP64: half the rate, eight to a vector.
    moved = 8 * (17 * 100 + 100 * 64 + 2 * 17 * 64)
    assert gemm_s(17, 64, 100, Team(small(), 1), element_B=8) == exact(
        2 * 24 * 64 * 100 / 0.5e9 + moved / 4e9
    )


def test_three_blocks_take_two_threads_as_long_as_four():
    flops, moved = 2 * 48 * 64 * 100, 4 * (48 * 100 + 100 * 64 + 2 * 48 * 64)
    region = 1e-6 + 2e-7 + 2 * (1e-5 + 2e-6)
    assert gemm_s(48, 64, 100, Team(small(), 2)) == exact(region + flops * 4 / 3 / 2e9 + moved / 8e9)


def test_threads_without_a_block_do_nothing():
    assert gemm_s(48, 64, 100, Team(small(), 8)) == gemm_s(48, 64, 100, Team(small(), 3))


# Convolutions


def test_a_convolution_knows_its_size():
    assert (CONV.out_height, CONV.out_width, CONV.taps) == (10, 10, 9)
    assert CONV.flops == 2 * 4 * 48 * 100 * 32 * 9
    assert (CONV.input_B, CONV.output_B, CONV.weights_B) == (
        4 * 4 * 32 * 400,
        4 * 4 * 48 * 100,
        4 * 48 * 32 * 9,
    )


def test_forward_by_hand():
    own = parameters().convolution
    # 4 images x 3 blocks of 16 filters x 10 rows on 8 threads: 120 pieces, 15 each; 10 of 12 outputs in flight.
    slow = (1 + own.strided) * (1 + own.channel_walk * 32 / 9000) / (own.efficiency * 10 / 12)
    assert convolution_s(CONV, Team(small(), 8), params=OLD) == exact(1.8e-6 + CONV.flops / 8e9 * slow)
    # Three blocks are in flight at once.
    assert convolution_s(CONV, Team(small(), 8)) == exact(1.8e-6 + CONV.flops / 8e9 * slow * 10 / 12)


def test_narrow_outputs_by_hand():
    """A filter along a column took 12 times as long as one along a row, and 1x1 images 12 times their product."""
    own = parameters().convolution
    # Columns are copied: 16 operations an element, which 64 filters use.
    each = TALL.flops / 1e9
    assert convolution_s(TALL, Team(small(), 1)) == exact(each * (1 + own.copy / 128))
    assert convolution_s(TALL, Team(small(), 1), params=OLD) > 10 * each
    wide = replace(TALL, height=1, width=100, filter_height=1, filter_width=5, padding=(0, 2))
    assert convolution_s(wide, Team(small(), 1)) == exact(
        each * (1 + own.channel_walk * 64 / 5000) / own.efficiency
    )
    # One row of 100 outputs is cut into 9 pieces of 12: 72 of the 8 blocks, against 800 of the column.
    assert convolution_s(wide, Team(small(), 8)) < convolution_s(TALL, Team(small(), 8))
    # One output: four blocks in flight of the twelve needed.
    assert convolution_s(TINY, Team(small(), 1)) == exact(TINY.flops / 1e9 * (1 + own.copy / 512) * 3)
    pointwise = Convolution(256, 512, 1, 1, 512, 1, 1)
    for direction in ("forward", "data"):
        seconds = convolution_s(pointwise, Team(small(), 1), direction)
        assert seconds == pytest.approx(gemm_s(256, 512, 512, Team(small(), 1)), rel=0.15)
    # What is wide takes what it took.
    usual = replace(DENSE, height=56, width=56)
    assert convolution_s(usual, Team(small(), 8)) == convolution_s(usual, Team(small(), 8), params=OLD)


def test_a_convolution_waits_for_its_bytes_where_these_take_longer():
    moved = CONV.input_B + 2 * CONV.output_B + CONV.weights_B
    fast = small(core_flops=inf, l2_B=None)
    assert convolution_s(CONV, Team(fast, 8)) == exact(1.8e-6 + moved / 16e9)
    moved = 2 * CONV.weights_B + CONV.output_B + CONV.input_B
    assert convolution_s(CONV, Team(fast, 8), "weights") == exact(1.8e-6 + moved / 16e9)


def test_the_data_gradient_by_hand():
    own = parameters().convolution
    # 4 images x 2 blocks of 16 channels x 6 rows: 48 pieces on 5 threads, 10 for the most loaded.
    slow = (1 + own.channel_walk * 48 / 9000) / (own.efficiency * 6 / 12)
    expected = 1.5e-6 + DENSE.flops / (5e9 * 48 / 50) * slow
    assert convolution_s(DENSE, Team(small(), 5), "data", OLD) == exact(expected)


def test_a_strided_data_gradient_divides_as_others():
    """It kept as many threads busy as there were images, whatever the library."""
    own = parameters().convolution
    # 4 images x 2 blocks of 16 channels x 20 rows on 8 threads; 10 outputs of two blocks in flight.
    slow = (1 + own.strided) * (1 + own.channel_walk * 48 / 9000) / own.efficiency
    assert convolution_s(CONV, Team(small(), 8), "data") == exact(1.8e-6 + CONV.flops / 8e9 * slow)


def test_an_old_strided_data_gradient_runs_one_image_a_thread():
    own = parameters().convolution
    # Of each image 10 x 10 outputs, from 9 positions of 32 channels each, are added one by one.
    each = CONV.flops / 4 + own.scatter * 100 * 9 * 32
    assert convolution_s(CONV, Team(small(), 8), "data", OLD) == exact(1.4e-6 + each / 1e9)
    assert convolution_s(CONV, Team(small(), 3), "data", OLD) == exact(1.3e-6 + 2 * each / 1e9)
    pointwise = Convolution(4, 32, 20, 20, 48, 1, 1, stride=(2, 2))
    assert convolution_s(pointwise, Team(small(), 4), "data", OLD) < convolution_s(
        replace(pointwise, padding=(1, 1)), Team(small(), 4), "data", OLD
    )


def test_the_weights_gradient_by_hand():
    own = parameters().convolution
    # 4 images x 3 x 2 pairs of blocks of channels: 24 pieces on 7 threads, 4 for the most loaded.
    slow = 1 + own.weights_walk / (9 * 100) + own.weights_blocks * (16 / 32 + 16 / 48)
    expected = (
        1.7e-6 + CONV.flops / (7e9 * 24 / 28) * (1 + own.weights_strided) * slow / own.weights_efficiency
    )
    assert convolution_s(CONV, Team(small(), 7), "weights") == exact(expected)


# Properties

sizes = st.integers(1, 300)
threads = st.integers(1, 8)


@given(sizes, sizes, sizes, threads)
def test_products_take_longer_with_more_operations_and_never_with_a_better_machine(m, n, k, w):
    seconds = gemm_s(m, n, k, Team(small(), w))
    assert seconds > 0
    assert gemm_s(m, n, k + 1, Team(small(), w)) > seconds
    assert gemm_s(m, n, k, Team(small(core_flops=2e9), w)) < seconds
    assert gemm_s(m, n, k, Team(small(memory=Memory("m", 6e9, 24e9)), w)) < seconds


@given(sizes, st.integers(0, 3), st.integers(1, 2), threads, st.booleans())
def test_streams_take_longer_with_more_elements_and_never_with_a_better_machine(n, reads, writes, w, fetches):
    stream = Stream(n * 1000, reads, writes, fetches_stores=fetches)
    seconds = stream_s(stream, Team(small(), w))
    assert seconds > 0
    assert stream_s(replace(stream, elements=n * 1000 + 1000), Team(small(), w)) > seconds
    assert stream_s(stream, Team(small(memory=Memory("m", 6e9, 24e9)), w)) <= seconds
    assert stream_s(stream, Team(small(l2_bandwidth_Bps=80e9), w)) <= seconds


@given(
    st.integers(1, 8), st.integers(1, 100), st.integers(3, 30), st.integers(1, 100), threads,
    st.sampled_from(["forward", "data", "weights"]),
)  # fmt: skip
def test_convolutions_never_take_longer_on_a_better_machine(batch, channels, size, filters, w, direction):
    convolution = Convolution(batch, channels, size, size, filters, 3, 3)
    seconds = convolution_s(convolution, Team(small(), w), direction)
    assert seconds > 0
    assert convolution_s(convolution, Team(small(core_flops=2e9), w), direction) <= seconds
    assert convolution_s(convolution, Team(small(memory=Memory("m", 6e9, 24e9)), w), direction) <= seconds


@given(st.integers(1, 10_000), st.integers(1, 8))
def test_elementwise_ops_never_take_longer_with_fewer_elements(elements, w):
    assert 0 < elementwise_s(elements, Team(small(), w)) <= elementwise_s(2 * elements, Team(small(), w))


def _answers(params):
    machine = small()
    old = replace(params, library=replace(params.library, direct_only=True))
    return [
        *(gemm_s(*GEMM, Team(machine, w), params=params) for w in (1, 2, 3, 8)),
        *(
            convolution_s(c, Team(machine, 7), d, params)
            for c in (CONV, DENSE, TALL, TINY)
            for d in ("forward", "data", "weights")
        ),
        convolution_s(CONV, Team(machine, 7), "data", old),
        convolution_s(Convolution(4, 32, 20, 20, 32, 3, 3, groups=32), Team(machine, 7), params=params),
        elementwise_s(10_000, Team(machine, 7), params=params),
        stream_s(Stream(1500, 2, 1), Team(machine, 4), calls_a_team=10, params=params),
    ]


@pytest.mark.parametrize("part", ["library", "stream", "gemm", "convolution"])
def test_every_parameter_changes_a_result(part):
    params = parameters()
    before = _answers(params)
    own = getattr(params, part)
    for field in fields(own):
        value = getattr(own, field.name)
        if field.name in ("name", "by_shape", "curves"):
            continue
        other = not value if isinstance(value, bool) else 2 * value
        changed = replace(params, **{part: replace(own, **{field.name: other})})
        assert _answers(changed) != before, field.name


# Published ops and measured tables


@pytest.mark.parametrize(
    ("seconds", "saturates_at"),
    [
        (lambda team: gemm_s(64, 512, 512, team, params=parameters("tensorflow-1.9")), 8),
        (lambda team: elementwise_s(32_768, team, params=parameters("tensorflow-1.9"), resident=False), 16),
    ],
)
def test_graphis_small_ops_saturate_where_published_and_gain_from_running_side_by_side(seconds, saturates_at):
    machine = ss.machine("knl-7250")
    at = {w: seconds(Team(machine, w)) for w in (1, 2, 4, 8, 16, 32, 64)}
    best = min(at.values())
    assert next(w for w, s in at.items() if s <= 1.1 * best) == saturates_at
    together = 64 / seconds(Team(machine, 1, executors=64))
    assert together / (1 / at[64]) > 6


def _measured(patch, *arguments):
    """Be `python benchmarks/measured.py`, and return its exit status."""
    patch.syspath_prepend(ROOT / "benchmarks")
    patch.setattr(sys, "argv", ["measured.py", *map(str, arguments)])
    with pytest.raises(SystemExit) as done:
        runpy.run_path(str(ROOT / "benchmarks" / "measured.py"), run_name="__main__")
    return done.value.code


@pytest.mark.skipif(not MEASURED.is_dir(), reason="the measured tables are not here")
def test_measured_tables_are_met_within_the_bars(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "rows.csv", tmp_path / "measured.png"
    status = _measured(monkeypatch, "--csv", out, "--shared", MEASURED, "--picture", picture)
    said = capsys.readouterr().out
    assert status == 0, said[-3000:]
    assert "MISSED" not in said
    assert len(out.read_text().splitlines()) > 1000


def test_the_benchmark_says_when_there_are_no_measured_tables(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    assert _measured(monkeypatch, "--shared", tmp_path / "none") == 2
    assert "--shared PATH" in capsys.readouterr().err


# Errors


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: Team(small(), 0), "threads is 0"),
        (lambda: Team(small(), 9), "do not fit"),
        (lambda: Team(small(), 4, executors=3), "3 teams of 4 cores do not fit"),
        (lambda: Team(small(), 2, ways=5), "has 4"),
        (lambda: Team(small(), 2, tiles=3), "3 tiles do not hold 2 cores"),
        (lambda: gemm_s(0, 1, 1, Team(small(), 1)), "every size must be at least 1"),
        (lambda: gemm_s(1, 1, 1, Team(small(), 1), element_B=2), "elements of 2 bytes"),
        (lambda: elementwise_s(0, Team(small(), 1)), "3 arrays of 0 elements"),
        (lambda: Stream(0, 1, 1), "expected above 0"),
        (lambda: Stream(1, 0, 0), "at least one"),
        (lambda: Stream(1, 1, 1, core_Bps=0.0), "core_Bps is 0"),
        (lambda: stream_s(Stream(1, 1, 1), Team(small(), 1), barriers=-1), "-1 barriers"),
        (lambda: stream_s(Stream(1, 1, 1), Team(small(), 1), calls_a_team=-1), "-1 calls per team"),
        (lambda: Convolution(1, 1, 4, 4, 0, 1, 1), "filters of a convolution is 0"),
        (lambda: Convolution(1, 1, 4, 4, 1, 5, 1), "does not fit"),
        (lambda: Convolution(1, 1, 4, 4, 1, 1, 1, stride=(0, 1)), "stride"),
        (lambda: convolution_s(CONV, Team(small(), 1), "sideways"), "none of forward"),
        (lambda: parameters("onedn"), "did you mean onednn. there are onednn, mkl"),
    ],
)
def test_impossible_kernels_are_refused(ask, message):
    with pytest.raises(CostError, match=message):
        ask()
