"""Rules by which each published system runs a job: its policy, its parts of the batch, the layouts it may choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from simsched.graph import TaskGraph
from simsched.policies.corun import CoRun
from simsched.policy import Layout
from simsched.reproduce.crossed.jobs import Column


@dataclass(frozen=True, eq=False)
class Choice:
    """One way to run a job.

    Parameters
    ----------
    graph : callable
        Returns the tasks.
    parts : int
        Into how many the batch is cut.
    ways : int
        Hardware threads of a core in use.
    policy : str
    layout : Layout or None
    """

    graph: Callable[[int], TaskGraph]
    parts: int
    ways: int
    policy: str
    layout: Layout | None


#: Yields all ways in which a system may run a job.
Rule = Callable[["Column"], Iterator[Choice]]


def graphi(column: Column) -> Iterator[Choice]:
    """Critical path first: 1, 2, 4, ... executors of equal teams; two cores are the scheduler's."""
    machine = column.machine
    # A core group of Sunway has a management core in addition to the 64 that compute.
    reserved = 0 if "ldm" in machine.tables else 2
    policy = f"critical-path[small_s=1e-06,reserved={reserved}]"
    for ways in sorted({1, machine.smt_ways}):
        threads = max(machine.n_cores - reserved, 0) * ways
        for k in (2**i for i in range(threads.bit_length())):
            yield Choice(column.ops, 1, ways, policy, Layout(k, threads // k))


def concurrency_control(column: Column) -> Iterator[Choice]:
    """Strategies 1 to 4 on two threads a core, or 1 to 3 on all: widths and co-running as the rules say."""
    most = column.machine.smt_ways
    if most > 1:
        yield _corun(column, CoRun(per_kind=True, fill=True, smt=True), 2)
    yield _corun(column, CoRun(per_kind=True, fill=True), most)


def _corun(column: Column, rule: CoRun, ways: int) -> Choice:
    return Choice(column.ops, 1, ways, str(rule), rule.no_cap(column.machine.varied({"smt": ways})))


def swtvm(column: Column) -> Iterator[Choice]:
    """One op after another, on all cores or on those of one memory domain."""
    machine = column.machine
    for ways in sorted({1, machine.smt_ways}):
        for cores in sorted({machine.n_cores, machine.n_cores // machine.n_domains}):
            yield Choice(column.ops, 1, ways, "sequential", Layout(1, cores * ways))


def chaos(column: Column) -> Iterator[Choice]:
    """One worker per hardware thread takes the next part of the batch, runs it alone and updates the parameters."""
    machine, samples = column.machine, column.job.samples
    for parts in column.divisors:
        for ways in sorted({1, machine.smt_ways}):
            fits = machine.n_cores * ways
            # More threads than parts would only leave threads idle.
            if ways == 1 or parts * samples > machine.n_cores:
                workers = Layout(min(fits, parts * samples), 1)
                yield Choice(column.batches, parts, ways, "data-parallel", workers)


def wpar(column: Column) -> Iterator[Choice]:
    """Tasks on one thread each, diagonal by diagonal: cells of recurrent networks, else ops; of parts of the batch."""
    cores, most = column.machine.n_cores, column.machine.smt_ways
    for parts in column.divisors:
        for workers in sorted({cores * most, *(cores // 4**i for i in range(4) if cores >= 4**i)}):
            ways = most if workers > cores else 1
            yield Choice(column.cells, parts, ways, "wavefront", Layout(workers, 1))


#: By system, in the order of the papers' years.
RULES: Mapping[str, Rule] = {
    "graphi": graphi,
    "concurrency-control": concurrency_control,
    "swtvm": swtvm,
    "chaos": chaos,
    "wpar": wpar,
}
