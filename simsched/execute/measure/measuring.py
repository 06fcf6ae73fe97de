"""`measure()`: a machine file of the host, from two minutes of measurements."""

import os
from collections.abc import Callable
from time import monotonic
from typing import Any

from simsched.costs.fitting import CalibratedModel
from simsched.document.result import Result
from simsched.errors import EngineError
from simsched.execute.calibrate.calibrating import calibrated, deciding_cases
from simsched.execute.calibrate.measuring import calibration_of, grid_cases
from simsched.execute.calibrate.spreads import with_spreads
from simsched.execute.measure.measured import Measured
from simsched.execute.measure.probes import Probes, counts
from simsched.execute.measure.sizes import sizes_graphs
from simsched.execute.run.execution import Execution
from simsched.execute.run.prepared import PRECISION, Settings
from simsched.execute.run.run import Case, interleaved
from simsched.execute.run.threads import cpus_of
from simsched.machine import Machine, machine as machine_of
from simsched.progress import shows_progress
from simsched.spec import parse_path

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
        If the compiled module is missing, the host does not let threads run, or `machine` is another variation.

    Examples
    --------
    >>> import simsched as ss
    >>> measured = ss.measure(repeats=1, limit_s=0.0)
    >>> measured.machine.n_cores == ss.machine("host").n_cores, measured.machine.clocks.nominal_Hz > 1e8
    (True, True)
    """
    began, host = monotonic(), _own_host(machine)
    tick: Callable[[int], object] = progress or (lambda _: None)
    probes = Probes(cpus_of(host)[: host.n_cores], host.structure.domain_of, stream_B(host), tick)
    clocks, streams, lines = probes.clocks(), probes.streams(), probes.lines()
    model = _by_size(machine, host, repeats, began + limit_s, tick)
    return Measured(host, model, _table(clocks), _table(streams), _table(lines), monotonic() - began)


def _own_host(machine: str) -> Machine:
    """Return this host; the machine file of a part of it would be that of all its cores."""
    if parse_path(machine).name != "host" or parse_path(machine).params.keys() - {"core", "like"}:
        raise EngineError(
            f"machine is {machine!r}; expected 'host', 'host[core=NAME]' or 'host[like=NAME]'. To measure a part of "
            "it: taskset -c 0-3"
        )
    return machine_of(machine)


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
