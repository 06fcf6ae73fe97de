"""How simsched's compiled engine grows: with tasks, with workers, with bytes, and with threads that replay at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from contenders import ours
from graphs import layered, layered_edges
from measure import RATE_HEADING, Spread, seconds

import simsched as ss

TASKS = [10_000, 30_000, 100_000, 300_000, 1_000_000]
WORKERS = [64, 256, 1_024, 4_096]
THREADS = [1, 2]
THREAD_TASKS = [100_000, 1_000_000]
#: At least so many tasks are replayed for one figure, so that small graphs are not lost in the clock's noise.
ENOUGH = 300_000
#: Bytes of an edge in the mean; none where all that is shared is what tasks do beside them.
EDGE_B = [0, 10**6, 10**9]
DATA_TASKS = 30_000
#: Wide enough that 4,096 workers all have something to do.
WIDE = 16_384


class Variant(NamedTuple):
    """A way to replay that the tables compare.

    `sharing`: what tasks share. `least`: then each is bound by the memory for this share of its time at least.
    """

    name: str
    sharing: ours.Sharing = "nothing"
    least: float = 1.0


#: What a rule of the engine costs is a line here: each variant runs in turns with the others. Where tasks ask for
#: different bandwidths every event changes the rates of all that run, which is as slow as sharing gets.
VARIANTS = [
    Variant("sharing off"),
    Variant("sharing, alike", "bandwidth"),
    Variant("sharing, mixed", "bandwidth", 0.1),
    Variant("everything", "everything", 0.1),
]

Table = dict[str, dict[int, list[float]]]


def tables(repeats: int) -> dict[str, Table]:
    """Print four tables; return seconds a task, by variant and number, of every repeat."""
    graphs = {n: layered(n) for n in TASKS}
    wide = layered(TASKS[-1], width=WIDE)
    by_tasks = sweep({n: (graph, 64) for n, graph in graphs.items()}, repeats)
    show("tasks", by_tasks, "64 workers, layers of 256")
    by_workers = sweep({workers: (wide, workers) for workers in WORKERS}, repeats)
    show("workers", by_workers, f"{wide.n_tasks} tasks, layers of {WIDE}")
    threads = by_threads({n: graphs[n] for n in THREAD_TASKS}, repeats)
    data = by_bytes(repeats)
    return {"tasks": by_tasks, "workers": by_workers, "threads": threads, "data": data}


def sweep(cases: dict[int, tuple[ss.TaskGraph, int]], repeats: int) -> Table:
    """Return seconds a task of each variant on each graph and number of workers, measured in turns."""
    result: Table = {variant.name: {n: [] for n in cases} for variant in VARIANTS}
    for _ in range(repeats):
        for n, (graph, workers) in cases.items():
            for variant in VARIANTS:
                result[variant.name][n].append(seconds_a_task(graph, workers, variant))
    return result


def seconds_a_task(graph: ss.TaskGraph, workers: int, variant: Variant) -> float:
    """Return the engine's own seconds a task, of as many replays as are enough."""
    times = -(-ENOUGH // graph.n_tasks)
    dressed = graph if variant.sharing == "nothing" else ours.with_bytes(graph, variant.least)
    with ours.watched("native") as calls:
        for _ in range(times):
            ours.simulate(dressed, workers, "native", variant.sharing)
    return calls.seconds / times / graph.n_tasks


def by_bytes(repeats: int) -> Table:
    """Print and return what bytes on edges cost on a mesh of 64 workers, beside all that tasks share without them."""
    plain, edges = ours.with_bytes(layered(DATA_TASKS), 0.1), layered_edges(DATA_TASKS)
    factors = np.random.default_rng(3).uniform(0.5, 1.5, len(edges))
    result: Table = {mode: {size_B: [] for size_B in EDGE_B} for mode in ("read", "sent")}
    graphs = {
        size_B: ss.TaskGraph.from_edges(plain.durations_s, edges, edge_bytes=size_B * factors)
        if size_B
        else plain
        for size_B in EDGE_B
    }
    for _ in range(repeats):
        for mode, column in result.items():
            for size_B, values in column.items():
                machine = f"knl-7250[contention=true,data={mode if size_B else 'none'}]"
                with ours.watched("native") as calls:
                    ss.simulate(graphs[size_B], machine, "critical-path", "64x1", runtime=ss.RuntimeProfile())
                values.append(at_once(1, calls.again, ENOUGH // DATA_TASKS) / DATA_TASKS)
    show("bytes", result, f"{DATA_TASKS} tasks, 64 workers of a mesh, bytes an edge")
    return result


def by_threads(graphs: dict[int, ss.TaskGraph], repeats: int) -> Table:
    """Print and return what two threads do that replay one graph at once; seconds a task of both together."""
    result: Table = {f"{n} tasks": {threads: [] for threads in THREADS} for n in graphs}
    for n, graph in graphs.items():
        with ours.watched("native") as calls:
            ours.simulate(graph, 64, "native")
        for _ in range(repeats):
            for threads in THREADS:
                passed = at_once(threads, calls.again, max(2, 1_000_000 // n))
                result[f"{n} tasks"][threads].append(passed / n)
    show("threads", result, "engine alone, all threads together")
    return result


def at_once(threads: int, run: Callable[[], object], times: int) -> float:
    """Return seconds a call, of all threads together, when each makes `times` of them."""

    def several(_: int) -> None:
        for _ in range(times):
            run()

    with ThreadPoolExecutor(threads) as pool:
        passed = seconds(lambda: list(pool.map(several, range(threads))))
    return passed / times / threads


def show(what: str, table: Table, about: str) -> None:
    """Print a table; the last column compares with its first line."""
    print(f"\n{what:>9} {'':<15}{RATE_HEADING} {'to first':>9}   ({about})")
    for name, column in table.items():
        first = Spread(next(iter(column.values()))).median
        for number, values in column.items():
            spread = Spread(values)
            print(f"{number:>9} {name:<15}{spread.rate(1)} {first / spread.median:>9.2f}", flush=True)
