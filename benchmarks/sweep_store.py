"""Stores of large sweeps: what a point costs at 10,000 points and at 100,000, resuming at half, and queries.

    python benchmarks/sweep_store.py [--points N] [--bars]

Each sweep runs in a process of its own, of two threads: a graph of four tasks on a Knights Landing with noise, four
policies by five layouts by seeds, so that rows and their store are as large a share as they can be. It is interrupted
at half of its points and run again to its end; then pandas, DuckDB and `simsched.sweep.results` read it. A second table
has what a store takes whose rows came in a thousand parts, as after a day. CPU seconds are those of the process, of all
threads. --bars ends with the project's goals and fails where one is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bars import Bar
from measure import fresh, memory, where

import simsched as ss
from simsched.sweep import results, store as stores
from simsched.sweep.replaying import Replayer

POLICIES = ["critical-path", "fifo", "fifo[order=random]", "wavefront"]
LAYOUTS = ["8x8", "16x4", "32x2", "64x1", "4x16"]
#: Parts in which the rows of the second table come.
PARTS = 1000
QUERY = """SELECT policy, layout, count(*), avg(makespan_s), quantile_cont(makespan_s, 0.95)
FROM '{file}' WHERE error IS NULL GROUP BY ALL ORDER BY ALL"""
#: What figures are.
NAMES = {
    "points": "points",
    "cpu_us": "CPU us a point",
    "replay_us": "of which the replay, median",
    "files": "files and folders before the end",
    "half_s": "s to read these rows",
    "resume_s": "s before a resumed run replays",
    "B": "bytes a point",
    "peak_MB": "peak MB",
    "results_s": "s of results()",
    "pandas_s": "s of a query by pandas",
    "duckdb_s": "s of a query by DuckDB",
}
#: Figure by name.
Figures = dict[str, float]


def sweep_of(points: int) -> ss.Sweep:
    """Return the sweep of so many points, or a few less."""
    graph = ss.TaskGraph.from_edges([1.0, 2.0, 3.0, 4.0], [(0, 2), (1, 2)])
    seeds = range(points // (len(POLICIES) * len(LAYOUTS)))
    return ss.Sweep([graph], ["knl-7250"], POLICIES, LAYOUTS, seeds, noises=[0.1])


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call on the wall, and those of this process's CPUs."""
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - cpu


def read_s(store: Path) -> float:
    """Return the seconds on the wall that all rows of a store take, the least of three times."""
    return min(timed(lambda: results(store))[0] for _ in range(3))


def run_until(sweep: ss.Sweep, store: Path, points: int) -> None:
    """Run a sweep until so many points are done, and interrupt it."""
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if done >= points:
            raise KeyboardInterrupt

    try:
        sweep.run(store, workers=2, progress=count)
    except KeyboardInterrupt:
        return


def in_parts(sweep: ss.Sweep, store: Path, parts: int) -> None:
    """Write a store of rows that came in so many parts; all have one outcome, and a point is missing."""
    outcome, numbers = Replayer(sweep).outcome(0), range(len(sweep) - 1)
    with stores.opened(store, sweep) as opened:
        for part in range(parts):
            opened.add({**outcome, "point": number} for number in numbers[part::parts])
            opened.flush()


def size_B(store: Path) -> int:
    """Return the bytes of all files of a store."""
    return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


def readings(store: Path) -> Figures:
    """Return the seconds on the wall that queries take."""
    import pandas as pd

    file = store / "results.parquet"

    def by_pandas() -> object:
        frame = pd.read_parquet(file, columns=["policy", "layout", "error", "makespan_s"])
        good = frame[frame["error"].isna()]
        return good.groupby(["policy", "layout"])["makespan_s"].agg(
            ["size", "mean", lambda x: x.quantile(0.95)]
        )

    found = {"results_s": read_s(store)}
    found["pandas_s"] = min(timed(by_pandas)[0] for _ in range(3))
    if find_spec("duckdb"):
        import duckdb

        found["duckdb_s"] = min(
            timed(lambda: duckdb.sql(QUERY.format(file=file)).fetchall())[0] for _ in range(3)
        )
    return found


def whole(points: int) -> Figures:
    """Return what a sweep takes that is interrupted at half."""
    sweep = sweep_of(points)
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store"
        _, first_s = timed(lambda: run_until(sweep, store, len(sweep) // 2))
        files, half_s = len(list(store.rglob("*"))), read_s(store)
        # The first report is that of the points of the store, before anything is replayed.
        resume_s, resume_cpu_s = timed(lambda: run_until(sweep, store, 1))
        _, second_s = timed(lambda: sweep.run(store, workers=2))
        frame = results(store)
        assert frame["point"].tolist() == list(range(len(sweep)))
        assert frame["error"].isna().all()
        return {
            "points": len(sweep), "cpu_us": 1e6 * (first_s + second_s - resume_cpu_s) / len(sweep),
            "replay_us": 1e6 * frame["replay_s"].median(), "files": files, "half_s": half_s, "resume_s": resume_s,
            "B": size_B(store) / len(sweep), "peak_MB": memory("VmHWM") / 1e6,
            **readings(store),
        }  # fmt: skip


def parted(points: int) -> Figures:
    """Return what a store takes whose rows came in many parts."""
    sweep = sweep_of(points)
    stores.LEAST_S = stores.MOST_S = float("inf")
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store"
        _, cpu_s = timed(lambda: in_parts(sweep, store, PARTS))
        return {
            "points": len(sweep), "cpu_us": 1e6 * cpu_s / len(sweep), "files": len(list(store.rglob("*"))),
            "half_s": read_s(store), "resume_s": timed(lambda: run_until(sweep, store, 1))[0],
            "B": size_B(store) / len(sweep), "peak_MB": memory("VmHWM") / 1e6,
        }  # fmt: skip


MEASURED: dict[str, Callable[[int], Figures]] = {"whole": whole, "parted": parted}


def measured(what: str, points: int) -> Figures:
    """Return figures that a process of its own finds, so that its memory is its own."""
    return fresh([sys.executable, __file__, "--points", str(points), "--measure", what])


def show(title: str, columns: list[Figures]) -> None:
    """Print a table: a row a figure."""
    print(f"\n{title}")
    for key, what in NAMES.items():
        if key in columns[0]:
            print(f"{what:<34}" + "".join(f"{column[key]:>12.6g}" for column in columns), flush=True)


def goals(few: Figures, many: Figures, parts: Figures) -> list[Bar]:
    """Return the goals and what was found."""
    growth_kB = 1e3 * (many["peak_MB"] - few["peak_MB"]) / (many["points"] - few["points"])
    bars = [
        Bar("CPU s a point with ten times as many, over those with few", many["cpu_us"] / few["cpu_us"], 1.15, False),
        Bar("bytes a point of the finished store", many["B"], 200, False),
        Bar("kB of memory a further point", growth_kB, 5, False),
        *(Bar(f"s before a resumed run replays, {n}", one["resume_s"], 1, False)
          for n, one in (("half done", many), (f"{PARTS} parts written", parts))),
        Bar(f"files and folders, {PARTS} parts written", parts["files"], 50, False),
        Bar(f"s to read all rows, {PARTS} parts written", parts["half_s"], 1, False),
        Bar("s of results()", many["results_s"], 1, False),
        Bar("s of a query by pandas", many["pandas_s"], 1, False),
    ]  # fmt: skip
    if "duckdb_s" in many:
        return [*bars, Bar("s of a query by DuckDB", many["duckdb_s"], 1, False)]
    print("\nDuckDB is not installed, and its query not measured: pip install duckdb")
    return bars


def main(given: argparse.Namespace) -> bool:
    """Print all tables; return whether the goals hold."""
    print(where())
    few, many = measured("whole", given.points // 10), measured("whole", given.points)
    show("a sweep, interrupted at half, and run to its end", [few, many])
    parts = measured("parted", given.points)
    show(f"rows written in {PARTS} parts", [parts])
    bars = goals(few, many, parts)
    for bar in bars if given.bars else ():
        side = "at least" if bar.at_least else "at most"
        print(f"{'pass' if bar.met else 'FAIL'}  {bar.what:<62} {bar.figure:>8.2f}, {side} {bar.limit:g}")
    return not given.bars or all(bar.met for bar in bars)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--measure", choices=list(MEASURED), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(MEASURED[arguments.measure](arguments.points)))
    else:
        sys.exit(not main(arguments))
