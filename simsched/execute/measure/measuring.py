"""`measure()`: a machine file of the host, from two minutes of measurements; the sizes that it measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from time import monotonic
from typing import Any

import numpy as np
import numpy.typing as npt

from simsched.costs.fitting import CalibratedModel
from simsched.document.result import Result
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import calibrated, deciding_cases, with_spreads
from simsched.execute.calibrate.measuring import calibration_of, grid_cases
from simsched.execute.kernels.module import module
from simsched.execute.measure.measured import Measured
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import GRACE_S, PRECISION, Settings
from simsched.execute.run.run import Case, interleaved
from simsched.execute.run.threads import cpus_of
from simsched.graph import TaskGraph
from simsched.intervals import Interval
from simsched.machine import Machine, machine as machine_of
from simsched.progress import shows_progress
from simsched.spec import parse_path

Seconds = npt.NDArray[np.float64]
Cores = npt.NDArray[np.integer[Any]]
#: Rounds of each stream, and of the other probes.
STREAM_ROUNDS, ROUNDS = 16, 40
#: Additions of a round: some tenths of a millisecond.
ADDITIONS = 1_000_000
#: Returns of a cache line in a round.
RETURNS = 400
#: Pairs of cores of which cache lines are timed.
MOST_PAIRS = 120
#: Bytes of an element of a triad: two are read, one is written.
TRIAD_B = 24
TIMEOUT_S = 60.0


def undisturbed(seconds: npt.ArrayLike) -> Interval:
    """Return the typical seconds of some rounds, and their range: lower quartile, least, median.

    Whatever else a host does makes rounds longer, never shorter.

    Examples
    --------
    >>> undisturbed([1.0, 1.0, 1.1, 1.2, 9.0])
    Interval(middle=1.0, low=1.0, high=1.1)
    """
    least, quartile, median = np.quantile(np.asarray(seconds, np.float64), [0.0, 0.25, 0.5])
    return Interval(float(quartile), float(least), float(median))


def _rate(amount: float, seconds: Interval) -> dict[str, float]:
    return {"middle": amount / seconds.middle, "low": amount / seconds.high, "high": amount / seconds.low}


@dataclass(frozen=True, eq=False)
class Probes:
    """Probes of a host's cores.

    Parameters
    ----------
    cpus : sequence of int
        The system's CPU of each core.
    domain_of : int array, shape (cores,)
        Memory domain of each core.
    stream_B : float
        Bytes of the arrays of all streams of a domain together: several times its caches.
    progress : callable
        Called with 1 after every measurement.

    Examples
    --------
    >>> import os
    >>> cpu = min(os.sched_getaffinity(0))
    >>> probes = Probes([cpu], np.zeros(1, np.int32), 3e6, lambda n: None)
    >>> (row,) = probes.clocks()
    >>> row["busy"], row["clock_Hz"] > 1e8
    (1, True)
    """

    cpus: Sequence[int]
    domain_of: Cores
    stream_B: float
    progress: Callable[[int], object]

    def clocks(self) -> list[dict[str, Any]]:
        """Return a row for each number of busy cores: busy, clock_Hz, low_Hz, high_Hz."""
        crew, rows = self._crew(range(len(self.cpus))), []
        for busy in counts(len(self.cpus)):
            begin, end = _timed(module().addition_times, crew, busy, ADDITIONS, ROUNDS)
            # Of each core the typical round, and of these the slowest core.
            found = [undisturbed(one) for one in (end - begin).reshape(busy, ROUNDS)]
            rate = _rate(ADDITIONS, max(found, key=lambda one: one.middle))
            rows.append(
                {"busy": busy, **{f"{_named(name, 'clock')}_Hz": value for name, value in rate.items()}}
            )
            self.progress(1)
        return rows

    def streams(self) -> list[dict[str, Any]]:
        """Return a row for each set of cores: domain, home, cores, and the triad's rate_Bps, low_Bps, high_Bps.

        The first domain by numbers of its cores; one of its cores on the memory of each of up to three others, and all
        of its cores on those of all others; all domains together. `domain` and `home` are -1 for all of them.
        """
        domains = list(dict.fromkeys(self.domain_of.tolist()))
        first = np.flatnonzero(self.domain_of == domains[0])
        rows = [self._stream(domains[0], domains[0], first[:count]) for count in counts(len(first))]
        others = [np.flatnonzero(self.domain_of == home)[:1] for home in domains[1:]]
        rows += [
            self._stream(domains[0], home, first[:1], writers)
            for home, writers in zip(domains[1:4], others[:3], strict=True)
        ]
        if others:
            rows.append(self._stream(domains[0], -1, first, np.concatenate(others)))
            rows.append(self._stream(-1, -1, np.arange(len(self.cpus))))
        return rows

    def lines(self) -> list[dict[str, Any]]:
        """Return a row for each pair of cores: first, second, line_s (one way), low_s, high_s."""
        rows = []
        for first, second in pairs(len(self.cpus)):
            begin, end = _timed(module().return_times, self._crew([first, second]), RETURNS, ROUNDS)
            # The first worker waits for each return: half of it is one way.
            way = undisturbed((end - begin)[:ROUNDS] / (2 * RETURNS))
            rows.append(
                {"first": first, "second": second, "line_s": way.middle, "low_s": way.low, "high_s": way.high}
            )
            self.progress(1)
        return rows

    @property
    def steps(self) -> int:
        """Number of measurements."""
        domains, n = len(set(self.domain_of.tolist())), len(self.cpus)
        first = int(np.sum(self.domain_of == self.domain_of[0]))
        streams = len(counts(first)) + min(domains - 1, 3) + 2 * (domains > 1)
        return len(counts(n)) + len(pairs(n)) + streams

    def _stream(
        self, domain: int, home: int, cores: Cores, writers: Cores | Sequence[int] = ()
    ) -> dict[str, Any]:
        """Return the row of some cores, whose arrays `writers` write first, in turns; each its own by default."""
        n, used = len(cores), len(set(self.domain_of[cores].tolist()))
        each = int(used * self.stream_B / TRIAD_B / n)
        crew = self._crew([*map(int, cores), *map(int, writers)])
        elements = [each] * n + [0] * len(writers)
        turns = [n + core % len(writers) for core in range(n)] if len(writers) else range(n)
        placed = [*turns, *range(n, len(elements))]
        begin, end = _timed(module().triad_times, crew, placed, elements, STREAM_ROUNDS)
        shape = (len(elements), STREAM_ROUNDS)
        begin, end = begin.reshape(shape)[:n], end.reshape(shape)[:n]
        # The first round finds nothing in the caches, and pages that were just written.
        rounds_s = (end.max(axis=0) - begin.min(axis=0))[1:]
        rate = _rate(TRIAD_B * each * n, undisturbed(rounds_s))
        self.progress(1)
        named = {f"{_named(name, 'rate')}_Bps": value for name, value in rate.items()}
        return {"domain": domain, "home": home, "cores": n, **named}

    def _crew(self, cores: Sequence[int] | range) -> Any:
        try:
            return module().Crew([[self.cpus[core]] for core in cores])
        except RuntimeError as error:
            raise EngineError(f"no threads to measure with: {error}") from error


def _named(name: str, middle: str) -> str:
    return middle if name == "middle" else name


def _timed(probe: Callable[..., Any], *arguments: Any) -> tuple[Seconds, Seconds]:
    """Return when each worker began and ended each round, in seconds."""
    try:
        begin_ns, end_ns = probe(*arguments, TIMEOUT_S, GRACE_S)
    except RuntimeError as error:
        raise EngineError(f"the host could not be measured: {error}") from error
    return begin_ns * 1e-9, end_ns * 1e-9


def counts(most: int) -> list[int]:
    """Return numbers of cores to measure: 1, 2, 4, ... and all.

    Examples
    --------
    >>> counts(12), counts(1)
    ([1, 2, 4, 8, 12], [1])
    """
    return [*(2**k for k in range(most.bit_length()) if 2**k < most), most]


def pairs(n_cores: int) -> list[tuple[int, int]]:
    """Return the pairs of cores to measure: all, or of many cores those of the first and of neighbours, evenly chosen.

    Examples
    --------
    >>> pairs(3), len(pairs(192)) <= MOST_PAIRS
    ([(0, 1), (0, 2), (1, 2)], True)
    """
    every = list(combinations(range(n_cores), 2))
    if len(every) <= MOST_PAIRS:
        return every
    some = dict.fromkeys([(0, k) for k in range(1, n_cores)] + [(k, k + 1) for k in range(0, n_cores - 1, 2)])
    step = -(-len(some) // MOST_PAIRS)
    return list(some)[::step]


#: Rows, inner dimension and columns of matrix products.
PRODUCTS = (
    *product((16, 48, 160), (48, 160, 400), (48, 160, 400)),
    (96, 96, 96), (256, 256, 256), (480, 480, 480),
)  # fmt: skip
#: Element-wise kinds with the arrays that each reads and its operations for an element, and their sizes.
POINTWISE = {"add": 2, "mul": 2, "sigmoid": 1, "tanh": 1, "Relu": 1, "gelu": 1, "softmax": 1}
ROWS = ((16, 48), (24, 160), (48, 300), (80, 400), (160, 600), (400, 900))
#: Batch, channels, height and width (alike) of images, and the size of the filter.
CONVOLUTIONS = (
    (1, 16, 14, 1), (2, 24, 12, 3), (4, 16, 20, 3), (2, 48, 14, 3), (4, 48, 10, 5), (8, 24, 14, 1), (2, 64, 28, 3),
    (4, 40, 16, 5), (8, 48, 20, 3),
)  # fmt: skip


Row = tuple[str, str, float, float]
#: Elements of all arrays of a graph, or of its only op, and how often each op runs: operands are then in caches, as a
#: network's are, and the graph is short, as quiet moments of a shared host are.
ELEMENTS, TIMES = 4e5, 3


def sizes_graphs() -> list[TaskGraph]:
    """Return graphs of products, element-wise ops and convolutions of many sizes, all independent.

    None has the sizes of a common layer. Operations are a multiplication and an addition in products, and one for each
    element elsewhere; bytes are those of every array once.

    Examples
    --------
    >>> graphs = sizes_graphs()
    >>> sum(graph.n_edges for graph in graphs), sorted({kind for graph in graphs for kind in graph.kinds.labels})[:3]
    (0, ['Conv', 'MatMul', 'Relu'])
    """
    rows = [*map(_product, PRODUCTS), *_pointwise(), *map(_convolution, CONVOLUTIONS)]
    groups: list[list[Row]] = [[]]
    # Every kind is in several graphs, in the company of others.
    for row in sorted(rows, key=lambda row: row[3]):
        if groups[-1] and sum(other[3] for other in groups[-1]) + row[3] > ELEMENTS:
            groups.append([])
        groups[-1].append(row)
    return [_graph(f"sizes {number}", group * TIMES) for number, group in enumerate(groups)]


def _graph(name: str, rows: list[Row]) -> TaskGraph:
    kinds, shapes, flops, elements = zip(*rows, strict=True)
    return TaskGraph.from_edges(
        np.full(len(rows), np.nan),
        kinds=kinds,
        shapes=shapes,
        flops=flops,
        bytes_B=[4.0 * n for n in elements],
        name=name,
    )


def _product(sizes: tuple[int, int, int]) -> Row:
    m, k, n = sizes
    return "MatMul", f"{m}x{k};{k}x{n}", 2.0 * m * k * n, float(m * k + k * n + m * n)


def _pointwise() -> list[Row]:
    return [
        (kind, ";".join([f"{m}x{n}"] * reads), float(m * n), float((reads + 1) * m * n))
        for (kind, reads), (m, n) in product(POINTWISE.items(), ROWS)
    ]


def _convolution(sizes: tuple[int, int, int, int]) -> Row:
    batch, channels, size, kernel = sizes
    pixels, weights = batch * size * size, channels * channels * kernel * kernel
    shape = f"{batch}x{channels}x{size}x{size};{channels}x{channels}x{kernel}x{kernel}"
    return "Conv", shape, 2.0 * pixels * weights, float(2 * pixels * channels + weights)


#: Bytes of a domain's arrays over those of its caches, and the fewest.
OVER_CACHES, LEAST_STREAM_B = 4.0, 64e6
#: Share of the system's memory that all arrays take at most.
MOST_OF_MEMORY = 0.125
#: Factor by which runs may take longer to be undisturbed.
PATIENCE = 4.0
#: Graphs of sizes are measured in steps of so many, so that the first ones have small and large ops.
STRIDE = 4


@shows_progress
def measure(
    machine: str = "host",
    repeats: int = 10,
    *,
    limit_s: float = 120.0,
    progress: Callable[[int], object] | None = None,
) -> Measured:
    """Measure this host, in at most two minutes, and return it as a machine.

    Measured are clocks by the number of busy cores, triads by cores and memory domains, the way of a cache line between
    pairs of cores, fork and join of teams, and matrix products, element-wise ops and convolutions by size. Only CPUs
    that this process may use are measured (`taskset`, cpusets, a container's quota); other numbers are those of `host`.

    Parameters
    ----------
    machine : str
        `host`, or `host[core=NAME]` or `host[like=NAME]`, with a core or a machine for what is not measured.
    repeats : int
        Runs of all ops on each width.
    limit_s : float
        Seconds after which no further sizes of ops are measured.
    progress : callable, optional
        Called with 1 after every measurement.

    Returns
    -------
    Measured
        Its `table` compares the numbers with those of `host`, `plot` draws them, `save` writes the machine file;
        `machine` and `costs` are for `simulate`.

    Raises
    ------
    EngineError
        If the compiled module is missing, the host does not let threads run, `machine` is another variation, or the
        limit is negative.

    Examples
    --------
    >>> import simsched as ss
    >>> measured = ss.measure(repeats=1, limit_s=0.0)
    >>> measured.machine.n_cores == ss.machine("host").n_cores, measured.machine.clocks.nominal_Hz > 1e8
    (True, True)
    """
    if parse_path(machine).name != "host" or parse_path(machine).params.keys() - {"core", "like"}:
        raise EngineError(
            f"machine is {machine!r}; expected 'host', 'host[core=NAME]' or 'host[like=NAME]'. To measure a part of "
            "it: taskset -c 0-3"
        )
    if not limit_s >= 0:
        raise EngineError(f"limit_s is {limit_s}; expected seconds, at least 0")
    began, host = monotonic(), machine_of(machine)
    tick: Callable[[int], object] = progress or (lambda _: None)
    probes = Probes(cpus_of(host)[: host.n_cores], host.structure.domain_of, stream_B(host), tick)
    clocks, streams, lines = probes.clocks(), probes.streams(), probes.lines()
    model = _by_size(machine, host, repeats, began + limit_s, tick)
    return Measured(host, model, _table(clocks), _table(streams), _table(lines), monotonic() - began)


def _by_size(
    machine: str, host: Machine, repeats: int, end: float, tick: Callable[[int], object]
) -> CalibratedModel:
    """Return the seconds of ops by size, of as many sizes as there is time for; the smallest ones first and always."""
    settings = Settings(machine=machine, precision=PRECISION, patience=PATIENCE)
    graphs, widths = sizes_graphs(), counts(host.n_threads)
    order = [graph for start in range(STRIDE) for graph in graphs[start::STRIDE]]
    deciding = deciding_cases(graphs[:1], [(1, host.n_threads)])
    runs: list[tuple[Case, Execution]] = []
    for place, graph in enumerate(order):
        if runs and monotonic() > end:
            break
        cases = grid_cases([graph], host, widths) + (deciding if place == 0 else [])
        runs += zip(cases, interleaved(cases, repeats, settings, tick), strict=True)
    fixed = [pair for pair in runs if pair[0] not in deciding]
    ops = with_spreads(calibrated(fixed).ops, fixed)
    return calibration_of(ops, runs, host, f"{len(ops)} ops of many sizes, widths {widths}").cost_model()


def cases_again(measured: Measured) -> list[Case]:
    """Return the cases of some of the sizes, to be measured again."""
    shapes = {one.op.shape for one in measured.calibration.ops}
    graphs = [graph for graph in sizes_graphs()[::STRIDE] if shapes.issuperset(graph.shapes.labels)]
    return grid_cases(graphs, measured.host, counts(measured.host.n_threads))


def ratios_again(measured: Measured, runs: Sequence[tuple[Case, Execution]]) -> list[tuple[int, float]]:
    """Return, of each op in runs of `cases_again`, the width and the seconds over those of `measured`."""
    before = {
        (one.op, point.width): point.seconds for one in measured.calibration.ops for point in one.points
    }
    again = ((one.op, point) for one in calibrated(runs).ops for point in one.points)
    # Ops of other kinds with the same shapes may not have been measured.
    return [(at.width, at.seconds / before[op, at.width]) for op, at in again if (op, at.width) in before]


def stream_B(host: Machine) -> float:
    """Return the bytes of the arrays of a domain's streams.

    Examples
    --------
    >>> import simsched as ss
    >>> stream_B(ss.machine("generic")) >= 1e6
    True
    """
    caches: dict[str, Any] = host.content.get("caches", {})
    l3_B = caches["l3"]["value"] * 1024 if "l3" in caches else 0.0
    wanted_B = max(OVER_CACHES * l3_B, LEAST_STREAM_B)
    memory_B = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(wanted_B, MOST_OF_MEMORY * memory_B / host.n_domains)


def _table(rows: list[dict[str, Any]]) -> Result:
    # A host of one core has no pairs of them.
    return Result.of(rows or [{"first": 0, "second": 0, "line_s": float("nan")}][:0])
