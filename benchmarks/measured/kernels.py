"""Matrix products and convolutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

import simsched as ss
from measured.table import KERNEL_BAR, Table, Tables, read, team
from simsched.costs.kernels import Convolution, convolution_s, gemm_s, loop_s, parameters

#: Threads that DeepBench ran with (its results say so).
GEMM_THREADS, CONVOLUTION_THREADS = 66, 64
#: The library that it measured.
LIBRARY = "mkl"
#: Size up to which three matrices are in the caches, and threads up to which a region's start does not show.
CACHED, FEW = 128, 4
KINDS = {"forward": "Conv2D", "data": "Conv2DBackpropInput", "weights": "Conv2DBackpropFilter"}
DIRECTIONS = {"forward": "fwd_ms", "data": "bwd_inputs_ms", "weights": "bwd_params_ms"}


def square_products(folder: Path) -> Tables:
    """MKL's square products, FP32 and FP64."""
    frame = read(folder, "knl7250_mkl_gemm_square_68t.csv")
    rows = []
    for row in frame.itertuples():
        size_B = 4 if row.precision == "fp32" else 8
        seconds = gemm_s(row.N, row.N, row.N, team("knl-7250", row.threads), size_B)
        rows.append((f"{row.precision}, {row.N}", row.seconds, seconds))
    yield Table.of("MKL square products, 68 threads, KNL 7250", "s", KERNEL_BAR, rows)


def products(folder: Path) -> Tables:
    """DeepBench's matrix products."""
    frame = read(folder, "knl7250_deepbench_gemm.csv")
    running = team("knl-7250", GEMM_THREADS)
    rows = [
        (
            f"{row.M} x {row.N} x {row.K} {row.transA}{row.transB}",
            row.time_ms * 1e-3,
            gemm_s(row.M, row.N, row.K, running),
        )
        for row in frame.itertuples()
    ]
    shapes = [f"{row.M}x{row.K};{row.K}x{row.N}" for row in frame.itertuples()]
    found = by_default("MatMul", shapes, GEMM_THREADS)
    yield Table.of("DeepBench products, 66 threads, KNL 7250", "s", KERNEL_BAR, rows, default=found)


def convolutions(folder: Path) -> Tables:
    """DeepBench's convolutions: forward, gradients of data and of weights."""
    frame = read(folder, "knl7250_deepbench_conv.csv")
    running, params = team("knl-7250", CONVOLUTION_THREADS), parameters(LIBRARY)
    for direction, column in DIRECTIONS.items():
        timed = frame[frame[column].notna()]
        rows = [
            (label(row), getattr(row, column) * 1e-3, convolution_s(shape(row), running, direction, params))
            for row in timed.itertuples()
        ]
        found = by_default(
            KINDS[direction], [written(shape(row)) for row in timed.itertuples()], CONVOLUTION_THREADS
        )
        name = f"DeepBench convolutions, {direction}, 64 threads, KNL 7250"
        yield Table.of(name, "s", KERNEL_BAR, rows, default=found)


def by_default(kind: str, shapes: list[str], threads: int) -> npt.NDArray[np.float64]:
    """Return the seconds of ops by `simulate`, without any choice but the layout of one team, and the library."""
    graph = ss.TaskGraph.from_edges([np.nan] * len(shapes), kinds=kind, shapes=shapes)
    costs = ss.CostModel(library=LIBRARY)
    schedule = ss.simulate(graph, "knl-7250", "sequential", f"1x{threads}", costs=costs)
    return schedule.finish_s - schedule.start_s


def written(convolution: Convolution) -> str:
    """Return a convolution as a graph has it: images and filters as TensorFlow orders them."""
    one = convolution
    return (
        f"{one.batch}x{one.height}x{one.width}x{one.channels};"
        f"{one.filter_height}x{one.filter_width}x{one.channels}x{one.filters};"
        f"{one.batch}x{one.out_height}x{one.out_width}x{one.filters};"
        f"stride={one.stride[0]}x{one.stride[1]};padding={one.padding[0]}x{one.padding[1]}"
    )


def shape(row: tuple) -> Convolution:
    """Return the convolution of a row."""
    return Convolution(
        row.N, row.C, row.H, row.W, row.K, row.R_filter_h, row.S_filter_w,
        stride=(row.stride_h, row.stride_w), padding=(row.pad_h, row.pad_w),
    )  # fmt: skip


def label(row: tuple) -> str:
    """Return the name of a row."""
    return (
        f"{row.N} x {row.C} x {row.H} x {row.W}, {row.K} of {row.R_filter_h} x {row.S_filter_w}, "
        f"stride {row.stride_h}, padding {row.pad_h}"
    )


def plain_loops(folder: Path) -> Tables:
    """Plain loops on a 7250: a matrix times a vector by one thread, and products of matrices, whole and in tiles."""
    frame, rows = read(folder, "knl7250_csc746_dgemv_nested_by_threads.csv"), []
    for row in frame[frame.variant.str.startswith("Basic") & (frame.threads == 1)].itertuples():
        seconds = loop_s(row.N**2, row.N, team("knl-7250", 1))
        rows.append((f"{row.author} {row.variant}, {row.N} x {row.N}", row.seconds, seconds))
    products = read(folder, "knl7250_csc746b_dgemm_by_threads.csv")
    plain = (products.kernel == "basic-omp") & (products.N == CACHED)
    for row in products[
        (plain | (products.kernel == "blocked-omp")) & (products.threads <= FEW)
    ].itertuples():
        length = CACHED if row.kernel == "basic-omp" else int(row.block)
        seconds = loop_s(row.N**3, length, team("knl-7250", row.threads))
        what = f"{row.kernel}, {row.N}, loops of {length}, {row.threads} threads, {row.likwid_group}"
        rows.append((what, row.region_max_s, seconds))
    yield Table.of("plain loops and tiles, KNL 7250", "s", KERNEL_BAR, rows, "fit")


MAKERS = (square_products, products, plain_loops, convolutions)
