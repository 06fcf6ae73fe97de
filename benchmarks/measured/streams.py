"""Streams and parallel regions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import simsched as ss
from measured.table import BANDWIDTH_BAR, Row, Table, Tables, machine, read, team
from simsched.costs.kernels import Stream, Team, stream_Bps, stream_s
from simsched.machine import Machine

#: Arrays that each kernel reads and writes.
STREAM = {"copy": (1, 1), "scale": (1, 1), "mul": (1, 1), "add": (2, 1), "triad": (2, 1)}
#: The same for the kernels of kerncraft; of the last two, what is written is read anyway.
KERNCRAFT = {"load": (1, 0), "copy": (1, 1), "triad": (3, 1), "daxpy": (2, 1), "update": (1, 1)}
IN_PLACE = ("daxpy", "update")
MODES = {"DDR": "ddr", "DRAM": "ddr", "MCDRAM": "mcdram", "MCDRAM-as-cache": "cache"}
CLUSTERS = {"a2a": "a2a", "quad": "quadrant", "snc4": "snc4"}
#: Calls that the triads' times are averaged over.
CALLS = 10_000
LARGE = 1e9
#: Elements of a triad's arrays, of 8 B, from which on the caches hold nothing of them.
BEYOND_CACHES = 1 << 22
#: Threads of the 7210 from which on memory, and not only the code, sets the pace.
MANY = 32


def triads(folder: Path) -> Tables:
    """Triads of a 7250: threads, size of the arrays, memory mode, barrier, team created before or not."""
    frame = read(folder, "knl7250_triad_by_threads_size.csv")
    rows, large, replayed = [], [], []
    for row in frame.itertuples():
        spec = f"knl-7250[memory={MODES[row.memory]}]"
        # 16 and 34 threads ran one a tile.
        tiles = min(row.threads, machine(spec).n_tiles)
        seconds = stream_s(
            Stream(row.elements, *STREAM["triad"]),
            team(spec, row.threads, tiles=tiles),
            barriers=int(row.omp_for_end == "barrier"),
            calls_a_team=CALLS if row.first_touch == "without first touch" else 0,
        )
        what = f"{row.memory} {row.threads} threads, {row.elements} elements, {row.omp_for_end}, {row.first_touch}"
        rows.append((what, row.total_ms_10000_calls * 1e-3 / CALLS, seconds))
        if row.threads >= machine(spec).n_cores and row.elements >= BEYOND_CACHES:
            large.append(rows[-1])
            replayed.append(
                sum_s(f"knl-7250[memory={MODES[row.memory]},smt=4]", row.threads, 2 * row.elements)
            )
    yield Table.of("triads, KNL 7250", "s", BANDWIDTH_BAR, rows)
    name = "triads of 68 and 272 threads beyond the caches, KNL 7250"
    yield Table.of(name, "s", BANDWIDTH_BAR, large, default=np.array(replayed))


def sum_s(spec: str, threads: int, elements: int, placement: str = "compact") -> float:
    """Return the seconds of a sum of FP32 arrays, which reads and writes as a triad does, by `simulate`."""
    graph = ss.TaskGraph.from_edges([np.nan], kinds="Add", shapes=f"{elements};{elements}")
    policy = f"sequential[placement={placement}]"
    return ss.simulate(graph, spec, policy, layout=f"1x{threads}").makespan_s


def empty_regions(folder: Path) -> Tables:
    """Empty parallel regions of threads that are not pinned."""
    frame = read(folder, "knl7250_openmp_empty_region.csv")
    rows = [
        (
            f"{row.threads} threads",
            row.us_per_parallel_region * 1e-6,
            team("knl-7250", row.threads, pinned=False).region_s(),
        )
        for row in frame.itertuples()
    ]
    yield Table.of("empty parallel regions, not pinned, KNL 7250", "s", BANDWIDTH_BAR, rows)


def overheads(folder: Path) -> Tables:
    """Fixed costs of pinned regions, barriers, creation of teams; rates in L2; derived from other tables."""
    frame = read(folder, "derived_knl7250_overheads.csv")
    frame = frame[frame.threads.astype(str).str.isdigit()]
    rows = [row for line in frame.itertuples() if (row := _overhead(line)) is not None]
    yield Table.of("regions, barriers, first regions (derived), KNL 7250", "s", BANDWIDTH_BAR, rows)
    rates = frame[frame.quantity == "L2_resident_triad_GBs"]
    yield Table.of(
        "triads in L2 (derived), KNL 7250", "B/s", BANDWIDTH_BAR, map(_l2_rate, rates.itertuples())
    )


def _overhead(line: tuple) -> Row | None:
    threads, what = int(line.threads), f"{line.quantity}, {line.threads} threads, {line.condition}"
    alone = team("knl-7250", threads, tiles=min(threads, machine("knl-7250").n_tiles))
    if line.quantity == "region_fixed_cost_us":
        return what, float(line.value) * 1e-6, alone.region_s(0 if line.condition.endswith("nowait") else 1)
    if line.quantity == "one_barrier_us":
        return what, float(line.value) * 1e-6, alone.region_s(1) - alone.region_s(0)
    if line.quantity == "first_region_excess_ms" and threads > 1:
        runtime = alone.machine.runtime
        middle = float(line.value.split("/")[1])
        return what, middle * 1e-3, runtime.team_creation_s + threads * runtime.team_creation_per_thread_s
    # Left out: nested regions of one thread, a first region of one, and what nobody explains.
    return None


def _l2_rate(line: tuple) -> Row:
    threads = int(line.threads)
    alone = team("knl-7250", threads, tiles=min(threads, machine("knl-7250").n_tiles))
    stream = Stream(int(line.condition.split()[0].removeprefix("N=")), *STREAM["triad"])
    rate = stream.named_B / (stream_s(stream, alone) - alone.region_s())
    return f"{threads} threads, {line.condition}", float(line.value) * 1e9, rate


def streams_7210(folder: Path) -> Tables:
    """Streams of a 7210 by threads and mode; the kernel's own rate on one thread is given."""
    frame = read(folder, "knl7210_rdtscp_stream_by_threads_modes.csv")
    one = frame[frame.threads == 1].set_index(["mode", "memory", "op"]).MB_s
    timed, rows = frame[frame.threads > 1], []
    for row in timed.itertuples():
        cluster, use = row.mode.split("-")
        mode = "cache" if use == "cache" else MODES[row.memory]
        running = team(f"knl-7210[memory={mode},cluster={CLUSTERS[cluster]}]", row.threads)
        own = Stream(
            LARGE,
            *STREAM[row.op],
            # The library's copy streams its stores; behind MCDRAM as cache they fetch their line all the same.
            fetches_stores=row.op != "copy" or use == "cache",
            core_Bps=one[row.mode, row.memory, row.op] * 1e6,
        )
        what = f"{row.mode} {row.memory} {row.op}, {row.threads} threads"
        rows.append((what, row.MB_s * 1e6, stream_Bps(own, _on_one_node(running))))
    note = "given: each kernel's rate on one thread; with SNC-4 all data lie in one of the four nodes"
    few = [row for row, threads in zip(rows, timed.threads, strict=True) if threads < MANY]
    yield Table.of("streams by 2-16 threads and mode, KNL 7210", "B/s", BANDWIDTH_BAR, few, note)
    many = [row for row, threads in zip(rows, timed.threads, strict=True) if threads >= MANY]
    yield Table.of("streams by 32-256 threads and mode, KNL 7210", "B/s", BANDWIDTH_BAR, many, note)


def _on_one_node(running: Team) -> Team:
    """Return the team with all its data in one memory domain, which all its threads share."""
    chip = running.machine
    part = replace(chip.memory, bandwidth_Bps=chip.memory.bandwidth_Bps / chip.n_domains)
    return replace(
        running,
        machine=replace(chip, memory=part, structure=replace(chip.structure, cluster="quadrant")),
    )


#: BabelStream's own implementations; the others are STREAM itself, whose stores stream.
OWN = ("acc-pgi-kernel", "kokkos-intel-128threads", "ocl", "omp-intel", "raja-intel", "sycl")


def babelstream(folder: Path) -> Tables:
    """BabelStream's implementations on a 7210; the triad of each is given."""
    frame = read(folder, "knl7210_babelstream_v2.csv")
    triad = frame[frame.kernel == "Triad"].set_index("implementation").MB_s
    running, rows = team("knl-7210", 64), []
    for row in frame[frame.kernel != "Triad"].itertuples():
        fetches = row.implementation in OWN
        own, given = (
            stream_Bps(Stream(LARGE, *STREAM[kernel], fetches_stores=fetches), running)
            for kernel in (row.kernel.lower(), "triad")
        )
        what = f"{row.implementation} {row.kernel}"
        rows.append((what, row.MB_s * 1e6, triad[row.implementation] * 1e6 * own / given))
    note = "given: the implementation's triad"
    yield Table.of("BabelStream's implementations, KNL 7210", "B/s", BANDWIDTH_BAR, rows, note)


def knights_corner(folder: Path) -> Tables:
    """Streams of a Knights Corner, four threads a core."""
    rows = corner_rows(folder, machine("knc-7120p"))
    found = corner_by_default(folder)
    yield Table.of("stream by threads, Knights Corner", "B/s", BANDWIDTH_BAR, rows, default=found)


def corner_by_default(folder: Path) -> npt.NDArray[np.float64]:
    """Return the same by `simulate`, of teams on all four threads of their cores."""
    threads = read(folder, "knc_phibenchmark_bandwidth_by_threads.csv").threads_compact
    elements = int(LARGE) // 10
    seconds = [sum_s("knc-7120p[smt=4]", each, elements, "dense") for each in threads]
    return 12 * elements / np.array(seconds)


def corner_rows(folder: Path, chip: Machine) -> Iterator[Row]:
    """Return the streams of a Knights Corner on a chip alike."""
    frame = read(folder, "knc_phibenchmark_bandwidth_by_threads.csv")
    for row in frame.itertuples():
        running = Team(chip, row.threads_compact, chip.smt_ways)
        yield f"{row.threads_compact} threads", row.MB_s * 1e6, stream_Bps(Stream(LARGE, 2, 1), running)


def skylake(folder: Path) -> Tables:
    """Streams from memory by the cores of one socket."""
    rows = socket_rows(folder, machine("xeon-8160x2"))
    yield Table.of("streams by cores of a socket, Xeon (8174 for 8160)", "B/s", BANDWIDTH_BAR, rows)
    note = "given: the compilers of two vendors stream their stores, GCC does not; 20 and 28 cores a socket"
    yield Table.of("STREAM on two sockets, Xeons", "B/s", BANDWIDTH_BAR, _two_sockets(folder), note)


def _two_sockets(folder: Path) -> Iterator[Row]:
    for row in read(folder, "skx_uob_stream.csv").itertuples():
        streaming = not row.compiler.startswith("gcc")
        kernel = Stream(LARGE, *STREAM[row.kernel.lower()], fetches_stores=not streaming)
        running = team(f"xeon-8160x2[cores={row.threads}]", row.threads)
        what = f"{row.machine} {row.compiler} {row.kernel}, {row.threads} threads"
        yield what, row.MB_s * 1e6, stream_Bps(kernel, running)


def socket_rows(folder: Path, chip: Machine) -> Iterator[Row]:
    """Return the streams from memory by the cores of one socket, on a chip alike."""
    frame = read(folder, "skx8174_kerncraft_bandwidth_by_cores.csv")
    for row in frame[frame.level == "MEM"].itertuples():
        kernel = Stream(LARGE, *KERNCRAFT[row.kernel], fetches_stores=row.kernel not in IN_PLACE)
        running = Team(chip, row.cores * row.threads_per_core, row.threads_per_core)
        what = f"{row.kernel}, {row.cores} cores, {row.threads_per_core} threads a core"
        yield what, row.GBps * 1e9, stream_Bps(kernel, running)


MAKERS = (triads, empty_regions, overheads, streams_7210, babelstream, knights_corner, skylake)
