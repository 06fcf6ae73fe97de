"""The parameters fitted again without a third of the rows, and how well that third is then met."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from measured.kernels import CONVOLUTION_THREADS, DIRECTIONS, GEMM_THREADS, LIBRARY, shape
from measured.streams import CALLS, MODES, STREAM, corner_rows, socket_rows
from measured.table import Row, machine, read
from simsched.costs.kernels import Stream, Team, convolution_s, gemm_s, parameters, stream_s
from simsched.machine import Machine

FOLDS = 3
#: Logarithmic error from which on a row counts linearly, not squared, in a fit.
OUTLIER = 0.1

Values = npt.NDArray[np.float64]
Model = Callable[[Values], Values]
Rows = Callable[[Path, Machine], Iterator[Row]]


def left_out(folder: Path) -> Iterator[tuple[str, float, float]]:
    """Return each table's name, median and 90th percentile of the absolute error on rows not fitted to."""
    for name, errors in signed(folder):
        yield name, float(np.median(np.abs(errors))), float(np.quantile(np.abs(errors), 0.9))


def signed(folder: Path) -> Iterator[tuple[str, Values]]:
    """Return each table's name, and modelled over measured, less 1, of its rows, where they were not fitted to."""
    yield from (*_products(folder), *_convolutions(folder), *_triads(folder), *_saturations(folder))


def errors_left_out(
    model: Model, measured: Values, start: Sequence[float], groups: Sequence[object]
) -> Values:
    """Return each row's relative error where its group was left out of the fit.

    Parameters
    ----------
    model : callable
        Modelled values of all rows from parameters.
    measured : float64 array, shape (n,)
    start : sequence of float
        Parameters to start from, above 0.
    groups : sequence, length n
        Rows of one group (one shape) are left out together.
    """
    order = {group: i for i, group in enumerate(np.random.default_rng(0).permutation(sorted(set(groups))))}
    fold = np.array([order[group] % FOLDS for group in groups])
    errors = np.empty(len(measured))
    for i in range(FOLDS):
        kept = fold != i
        fit = least_squares(
            lambda steps, kept=kept: np.log(model(np.array(start) * np.exp(steps)) / measured)[kept],
            np.zeros(len(start)), loss="soft_l1", f_scale=OUTLIER,
        )  # fmt: skip
        errors[~kept] = (model(np.array(start) * np.exp(fit.x)) / measured - 1)[~kept]
    return errors


def _products(folder: Path) -> Iterator[tuple[str, Values]]:
    frame = read(folder, "knl7250_deepbench_gemm.csv")
    params, chip = parameters(), machine("knl-7250")

    def model(values: Values) -> Values:
        running = Team(replace(chip, core_flops=values[0], peak_flops=np.inf), GEMM_THREADS)
        own = replace(params, gemm=replace(params.gemm, inner_barriers=values[1]))
        return np.array([gemm_s(row.M, row.N, row.K, running, params=own) for row in frame.itertuples()])

    start = [chip.core_flops, params.gemm.inner_barriers]
    groups = [f"{row.M} {row.N} {row.K}" for row in frame.itertuples()]
    yield "DeepBench products", errors_left_out(model, frame.time_ms.to_numpy() * 1e-3, start, groups)


def _convolutions(folder: Path) -> Iterator[tuple[str, Values]]:
    frame = read(folder, "knl7250_deepbench_conv.csv")
    params, running = parameters(LIBRARY), Team(machine("knl-7250"), CONVOLUTION_THREADS)
    names = (
        "efficiency", "weights_efficiency", "channel_walk", "strided", "weights_strided", "weights_walk",
        "weights_blocks", "scatter",
    )  # fmt: skip
    rows = [
        (direction, shape(row), getattr(row, column) * 1e-3)
        for direction, column in DIRECTIONS.items()
        for row in frame[frame[column].notna()].itertuples()
    ]

    def model(values: Values) -> Values:
        own = replace(
            params, convolution=replace(params.convolution, **dict(zip(names, values, strict=True)))
        )
        return np.array([convolution_s(conv, running, direction, own) for direction, conv, _ in rows])

    start = [getattr(params.convolution, name) for name in names]
    measured = np.array([seconds for _, _, seconds in rows])
    errors = errors_left_out(model, measured, start, [str(replace(conv, batch=1)) for _, conv, _ in rows])
    for direction in DIRECTIONS:
        yield f"DeepBench convolutions, {direction}", errors[[row[0] == direction for row in rows]]


def _saturations(folder: Path) -> Iterator[tuple[str, Values]]:
    """Fit bandwidth of a core, of all, and sharpness, without a third of the rows."""
    for name, rows, chip in (
        ("stream, Knights Corner", corner_rows, machine("knc-7120p")),
        ("streams of a socket, Xeon", socket_rows, machine("xeon-8160x2")),
    ):
        memory, measured = chip.memory, np.array([row[1] for row in rows(folder, chip)])

        def model(values: Values, rows: Rows = rows, chip: Machine = chip) -> Values:
            core, most, sharpness = values
            fitted = replace(chip.memory, core_bandwidth_Bps=core, bandwidth_Bps=most, sharpness=sharpness)
            return np.array([row[2] for row in rows(folder, replace(chip, memory=fitted))])

        start = [memory.core_bandwidth_Bps, memory.bandwidth_Bps, memory.sharpness]
        yield name, errors_left_out(model, measured, start, list(range(len(measured))))


def _triads(folder: Path) -> Iterator[tuple[str, Values]]:
    frame = read(folder, "knl7250_triad_by_threads_size.csv")
    chips = {name: machine(f"knl-7250[memory={mode}]") for name, mode in MODES.items()}
    names, params = list(dict.fromkeys(frame.memory)), parameters()
    first = chips[names[0]]
    lines = ("fork_join_s", "fork_join_per_thread_s", "barrier_s", "barrier_per_thread_s")

    def changed(values: Values, name: str) -> Machine:
        b, most = values[6 + 2 * names.index(name) :][:2]
        chip = chips[name]
        return replace(
            chip,
            l2_bandwidth_Bps=values[0],
            runtime=replace(chip.runtime, **dict(zip(lines, values[1:5], strict=True))),
            memory=replace(chip.memory, core_bandwidth_Bps=b, bandwidth_Bps=most),
        )

    def model(values: Values) -> Values:
        fitted = {name: changed(values, name) for name in names}
        own = replace(params, stream=replace(params.stream, team_creation=values[5]))
        return np.array([
            stream_s(
                Stream(row.elements, *STREAM["triad"]),
                Team(first_of, row.threads, -(-row.threads // first_of.n_cores), min(row.threads, first_of.n_tiles)),
                barriers=int(row.omp_for_end == "barrier"),
                calls_a_team=CALLS if row.first_touch == "without first touch" else 0,
                params=own,
            )
            for row in frame.itertuples()
            for first_of in (fitted[row.memory],)
        ])  # fmt: skip

    start = [
        first.l2_bandwidth_Bps,
        *(getattr(first.runtime, name) for name in lines),
        params.stream.team_creation,
    ]
    for name in names:
        start += [chips[name].core_bandwidth_Bps, chips[name].bandwidth_Bps]
    measured = frame.total_ms_10000_calls.to_numpy() * 1e-3 / CALLS
    yield "triads", errors_left_out(model, measured, start, list(range(len(frame))))
