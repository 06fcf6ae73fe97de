"""Tasks a second, memory and makespan of the replay engines and of others, on the same graphs in the same run.

    python benchmarks/engines.py [--sizes N ...] [--repeats N] [--growth] [--bars] [--json FILE]

Layers of 256 tasks, three predecessors each, 0.5 to 1.5 s; 64 one-core workers, the highest level first. Three
tables: running tasks share nothing; one memory's bandwidth; or all that those of a Knights Landing do. Every run is a
process of its own, the contenders take turns, figures are medians. tasks/s counts the engine's own time on a graph
that is already built; for simsched also the whole `simulate()` call, and that with the schedule's table of tasks.
Bytes are the highest memory above what the process held with its inputs and libraries loaded. --growth adds how
simsched scales with tasks, workers, bytes and threads; --bars ends with the project's goals and fails where one is
missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bars
import growth
import problem
from contenders import by_hand, compiled, ours
from graphs import layered
from measure import RATE_HEADING, Memory, Spread, fresh, seconds, where

import simsched as ss
from simsched.spec import Engine

SIZES = [1_000, 10_000, 100_000, 1_000_000]
WORKERS = 64
BUDGET_S = 20.0
DIGITS = ".12g"

Runs = list[dict[str, float]]


#: Of its time each task is bound by the memory for this share at least. Where all ask for the same, SimGrid can, too.
LEAST = {"bandwidth": 1.0, "everything": 0.1}


def run_ours(engine: Engine, sharing: ours.Sharing, path: Path) -> dict[str, float]:
    """Replay a problem with simsched in this process."""
    graph, workers = problem.read(path)
    if sharing in LEAST:
        graph = ours.with_bytes(graph, LEAST[sharing])
    _ = ours.simulate(layered(512), workers, engine).tasks  # loads libraries
    used = Memory()
    with ours.watched(engine) as calls:
        begin = time.perf_counter()
        schedule = ours.simulate(graph, workers, engine, sharing)
        call_s = time.perf_counter() - begin
    peak_B = used.peak()
    table_s = seconds(lambda: schedule.tasks)
    return {
        "engine_s": calls.seconds, "call_s": call_s, "table_s": call_s + table_s,
        "peak_B": peak_B, "table_peak_B": used.peak(), "makespan_s": schedule.makespan_s,
    }  # fmt: skip


def run_by_hand(path: Path) -> dict[str, float]:
    """Replay a problem with the hand-written SimPy loop in this process."""
    graph, workers = problem.read(path)
    levels = graph.levels().tolist()
    used, begin = Memory(), time.perf_counter()
    makespan_s = by_hand.makespan_s(graph, levels, workers)
    return {"engine_s": time.perf_counter() - begin, "peak_B": used.peak(), "makespan_s": makespan_s}


def contenders(folder: Path) -> dict[str, list[str] | str]:
    """Return of each contender its command, to which a problem is added, or why there is none."""
    here = [sys.executable, __file__, "--contender"]
    install = "not measured; on Debian: apt-get install "
    python = compiled.simgrid_python()
    return {
        "bare C++ loop": compiled.build("bare.cpp", folder) or install + "g++",
        **ours_only("nothing"),
        "SimPy by hand": [*here, "by-hand"],
        "SimGrid C++": compiled.build("simgrid_app.cpp", folder, "simgrid") or install + "g++ libsimgrid-dev",
        "SimGrid Python": [*python] if python else install + "python3-simgrid",
        "SimGrid Python, sleeps": [*python, "--sleep"] if python else install + "python3-simgrid",
    }


def sharing(folder: Path) -> dict[str, list[str] | str]:
    """Return those contenders that know shared bandwidth, told to use it."""
    known = contenders(folder)
    simgrid = known["SimGrid C++"]
    return {
        **ours_only("bandwidth"),
        "SimGrid C++": [*simgrid, "--share"] if isinstance(simgrid, list) else simgrid,
    }


def ours_only(sharing: ours.Sharing) -> dict[str, list[str] | str]:
    """Return simsched's engines, told what running tasks share."""
    here = [sys.executable, __file__, "--sharing", sharing, "--contender"]
    return {f"simsched {engine}": [*here, engine] for engine in ("native", "simpy")}


def measure(commands: dict[str, list[str]], path: Path, repeats: int) -> dict[str, Runs]:
    """Run every contender on a problem, in turns."""
    runs: dict[str, Runs] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            runs[name].append(fresh([*command, str(path)]))
    makespans = {f"{run['makespan_s']:{DIGITS}}" for each in runs.values() for run in each}
    assert len(makespans) == 1, f"makespans differ: {makespans}"
    return runs


def row(name: str, n: int, runs: Runs) -> str:
    """Return a line of the table."""

    def rate(key: str) -> str:
        return f"{n / Spread([run[key] for run in runs]).median:,.0f}" if key in runs[0] else ""

    def per_task(key: str) -> str:
        return f"{Spread([run[key] for run in runs]).median / n:,.0f}" if key in runs[0] else ""

    return (
        f"{n:>9} {name:<23}{Spread([run['engine_s'] for run in runs]).rate(n)} "
        f"{rate('call_s'):>11} {rate('table_s'):>11} {per_task('peak_B'):>7} {per_task('table_peak_B'):>8} "
        f"{runs[0]['makespan_s']:>16{DIGITS}}"
    )


HEADING = (
    f"{'tasks':>9} {'contender':<23}{RATE_HEADING} {'simulate()':>11} {'and table':>11} {'B/task':>7} "
    f"{'w. table':>8} {'makespan_s':>16}"
)


def race(
    known: dict[str, list[str] | str], sizes: list[int], repeats: int, budget_s: float, folder: Path
) -> dict[int, dict[str, Runs]]:
    """Print the table and return its runs."""
    results: dict[int, dict[str, Runs]] = {}
    slowness: dict[str, float] = {}
    print(f"\n{HEADING}")
    for n in sizes:
        path = folder / f"layered-{n}.problem"
        problem.write(layered(n), WORKERS, path)
        # A contender that took half of the budget for a tenth of the tasks is not asked again.
        late = {name: n * each for name, each in slowness.items() if n * each > budget_s}
        commands = {k: c for k, c in known.items() if not isinstance(c, str) and k not in late}
        results[n] = measure(commands, path, repeats)
        path.unlink()
        for name, command in known.items():
            if name in commands:
                print(row(name, n, results[n][name]), flush=True)
                slowness[name] = Spread([run["engine_s"] for run in results[n][name]]).median / n
            else:
                reason = (
                    command
                    if isinstance(command, str)
                    else f"about {late[name]:.0f} s a run, over the budget"
                )
                print(f"{n:>9} {name:<23}  {reason}")
        print()
    return results


def main() -> None:
    """Print the tables; fail where makespans differ or, with --bars, where a goal is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--budget", type=float, default=BUDGET_S, help="seconds a run that a contender may take"
    )
    parser.add_argument(
        "--growth", action="store_true", help="also growth with tasks, workers, bytes and threads"
    )
    parser.add_argument(
        "--bars", action="store_true", help="also the goals; needs 1000000 tasks, implies --growth"
    )
    parser.add_argument("--json", type=Path, help="file for every single measurement")
    parser.add_argument("--contender", help=argparse.SUPPRESS)
    parser.add_argument("--sharing", default="nothing", help=argparse.SUPPRESS)
    parser.add_argument("path", type=Path, nargs="?", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.contender:
        by_hand_too = given.contender == "by-hand"
        run = run_by_hand(given.path) if by_hand_too else run_ours(given.contender, given.sharing, given.path)
        print(json.dumps(run))
        return
    print(f"{where()}\nsimsched {ss.__version__}; medians of {given.repeats} runs in turns", flush=True)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = sorted(given.sizes), given.repeats, given.budget, folder
        results["race"] = race(contenders(folder), *rules)
        print("The same with the memory bandwidth of 16 cores, shared by tasks that fill a core's each:")
        results["sharing"] = race(sharing(folder), *rules)
        print("The same on a Knights Landing, by tasks that keep 0.1 to 1 of a core's bandwidth busy:")
        results["everything"] = race(ours_only("everything"), *rules)
    print(ours.check_events(layered(2_000)))
    if given.growth or given.bars:
        results["growth"] = growth.tables(given.repeats)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    if given.bars and not bars.check(results["race"], results["sharing"], results["growth"]):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
