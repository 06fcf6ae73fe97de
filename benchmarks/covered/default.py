"""Measured ops beside what `simulate` takes for them, but for their library, sampled as `predict` samples it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measured.kernels import (
    CONVOLUTION_THREADS,
    DIRECTIONS,
    GEMM_THREADS,
    KINDS,
    LIBRARY,
    label,
    shape,
    written,
)
from measured.table import machine, read

import simsched as ss
from covered.group import Case, Group, Values, sigma_of
from simsched.intervals import spread
from simsched.study.uncertain import MachineNumbers

SAMPLES = 200


def groups(folder: Path) -> Iterator[Group]:
    """Yield DeepBench's matrix products, then its convolutions by shape, and as if only their work were known."""
    for name, graph, measured_s, threads in _ops(folder):
        every = _sampled_s(graph, threads)
        ends = [spread(of_task) for of_task in every.T]
        yield Group(name, [
            Case(graph.task_name(task), measured, point, min(end.low, point), max(end.high, point))
            for task, (measured, point, end) in enumerate(zip(measured_s, every[0], ends, strict=True))
        ])  # fmt: skip


def sigmas(folder: Path) -> Iterator[tuple[str, float, float, int]]:
    """Yield name, standard deviation of the errors, that of the samples, and the number of ops of each group."""
    for name, graph, measured_s, threads in _ops(folder):
        every = np.log(_sampled_s(graph, threads))
        yield (
            name,
            sigma_of(np.log(measured_s) - every[0]),
            float(np.median(every.std(axis=0))),
            len(measured_s),
        )


def _ops(folder: Path) -> Iterator[tuple[str, ss.TaskGraph, Values, int]]:
    """Yield the name, graph, measured seconds and threads of each group."""
    products = read(folder, "knl7250_deepbench_gemm.csv")
    graph = ss.TaskGraph.from_edges(
        [np.nan] * len(products), kinds="MatMul",
        shapes=[f"{row.N}x{row.K};{row.K}x{row.M}" for row in products.itertuples()],
        names=[f"{row.M} x {row.N} x {row.K}" for row in products.itertuples()],
        flops=2.0 * products.M * products.N * products.K,
        bytes_B=4.0 * (products.M * products.K + products.K * products.N + products.M * products.N),
    )  # fmt: skip
    yield "by default: matrix products", graph, products.time_ms.to_numpy() * 1e-3, GEMM_THREADS
    frame = read(folder, "knl7250_deepbench_conv.csv")
    for direction, column in DIRECTIONS.items():
        timed = frame[frame[column].notna()]
        every = [shape(row) for row in timed.itertuples()]
        of_shape, of_work = (
            ss.TaskGraph.from_edges(
                [np.nan] * len(timed), kinds=KINDS[direction], names=[label(row) for row in timed.itertuples()],
                shapes=shapes, flops=[one.flops for one in every],
                bytes_B=[float(one.input_B + one.weights_B + one.output_B) for one in every],
            ) for shapes in ([written(one) for one in every], None)
        )  # fmt: skip
        measured_s = timed[column].to_numpy() * 1e-3
        yield f"by default: convolutions, {direction}", of_shape, measured_s, CONVOLUTION_THREADS
        name = f"by default: convolutions of known FLOPs and bytes, {direction}"
        yield name, of_work, measured_s, CONVOLUTION_THREADS


def _sampled_s(graph: ss.TaskGraph, threads: int) -> Values:
    """Return seconds of every op, as they are and then as sampled, shape (samples, n)."""
    chip, costs = machine("knl-7250"), ss.CostModel(library=LIBRARY)
    numbers = MachineNumbers.of(chip)
    sampled = [
        costs.sampled(np.random.default_rng([seed, 1]))
        .on(graph, numbers.sampled(chip, seed))
        .seconds(threads)
        for seed in range(1, SAMPLES)
    ]
    return np.array([costs.on(graph, chip).seconds(threads), *sampled])
