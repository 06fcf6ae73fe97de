"""Proven optima of the Standard Task Graph set: how many close, whether published ones agree, how far policies are.

    python benchmarks/optimum.py FOLDER [--bars] [--tasks 50] [--limit 20] [--workers 2]

FOLDER holds `optima.csv` (tasks, graph, processors, optimal_makespan) and the graphs it names, unpacked. Where a
published number is below the proven optimum, it is put to two tests that know nothing of CP-SAT: whether Fernandez and
Bussell's bound, which is arithmetic, is above it; and whether another solver, HiGHS, finds no schedule so short.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from second_solver import impossible

import simsched as ss

POLICIES = (
    "critical-path",
    "corun",
    "wavefront",
    "fifo",
    "fifo[order=lifo]",
    "fifo[order=random]",
    "sequential",
)
#: Seconds for the other solver.
SECOND_S = 60.0


class Case(NamedTuple):
    """A graph, and what is published of it."""

    path: Path
    name: str
    cores: int
    published: float


class Result(NamedTuple):
    """What came out."""

    case: Case
    optimum_s: float
    bound_s: float
    status: str
    solver_s: float
    makespans_s: tuple[float, ...]

    @property
    def closed(self) -> bool:
        """Whether the optimum is proven."""
        return self.status == "optimal"


def cases(folder: Path, tasks: str) -> Iterator[Case]:
    """Yield the published rows of graphs of so many tasks."""
    with (folder / "optima.csv").open() as file:
        for row in csv.DictReader(file):
            if row["tasks"] == tasks:
                name = row["graph"]
                yield Case(folder / name, name, int(row["processors"]), float(row["optimal_makespan"]))


def solved(case: Case, limit_s: float) -> Result:
    """Search the optimum of a case, and replay it under every policy."""
    graph, machine = ss.load(case.path), f"generic[cores={case.cores}]"
    found = ss.optimum(graph, machine, (case.cores, 1), limit_s=limit_s)
    makespans = tuple(ss.simulate(graph, machine, policy).makespan_s for policy in POLICIES)
    return Result(case, found.makespan_s, found.bound_s, found.status, found.solver_s, makespans)


def refuted(case: Case) -> str:
    """Return what shows, without CP-SAT, that a published number is below all makespans; nothing where nothing does."""
    graph = ss.load(case.path)
    bound_s = ss.bounds(graph, f"generic[cores={case.cores}]", thorough=True).fernandez_bussell_s
    if bound_s > case.published + 1e-6:
        return f"Fernandez-Bussell bound {bound_s:g}"
    return "HiGHS: infeasible" if impossible(graph, case.cores, int(case.published), SECOND_S) else ""


def report(results: list[Result], taken_s: float) -> bool:
    """Print the tables; return whether all goals are met."""
    closed = [one for one in results if one.closed]
    agreed = [one for one in closed if one.optimum_s == one.case.published]
    below = [one for one in closed if one.optimum_s < one.case.published]
    above = [one for one in closed if one.optimum_s > one.case.published]
    solver_s = np.array([one.solver_s for one in results])
    print(f"{len(results)} cases, {len(closed)} closed: {len(agreed)} as published, {len(above)} above, {len(below)} "
          f"below; {taken_s:.0f} s, median {np.median(solver_s):.2f} s, longest {solver_s.max():.1f} s\n")  # fmt: skip
    evidence = {one: refuted(one.case) for one in above}
    for one, shown in evidence.items():
        print(f"{one.case.name:<18} on {one.case.cores:>2}: published {one.case.published:g}, proven "
              f"{one.optimum_s:g}; {shown or 'by CP-SAT alone'}")  # fmt: skip
    for one in (one for one in results if not one.closed):
        print(f"{one.case.name:<18} on {one.case.cores:>2}: open, {one.bound_s:g} to {one.optimum_s:g}")
    beaten = print_policies(results)
    shown = sum(map(bool, evidence.values()))
    print(f"\n{len(above)} published numbers are below the optimum, {shown} of them shown so without CP-SAT")
    return not beaten and not below


def print_policies(results: list[Result]) -> int:
    """Print each policy's distance from the best known bound; return how often one was below it."""
    makespans = np.array([one.makespans_s for one in results])
    bound = np.array([one.bound_s for one in results])
    gaps = makespans / bound[:, None] - 1
    print(f"\n{'policy':<20} {'optimal':>8} {'mean':>7} {'p90':>7} {'worst':>7} {'below':>6}")
    for policy, column in zip(POLICIES, gaps.T, strict=True):
        print(f"{policy:<20} {(np.abs(column) <= 1e-9).sum():>8} {column.mean():>7.2%} "
              f"{np.percentile(column, 90):>7.2%} {column.max():>7.2%} {(column < -1e-9).sum():>6}")  # fmt: skip
    return int((gaps < -1e-9).sum())


def main() -> None:
    """Run all cases and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--bars", action="store_true", help="exit with 1 where a goal is missed")
    parser.add_argument("--tasks", default="50")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for each case")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    begun, found = perf_counter(), list(cases(chosen.folder, chosen.tasks))
    with ProcessPoolExecutor(chosen.workers) as pool:
        results = list(pool.map(solved, found, [chosen.limit] * len(found)))
    met = report(results, perf_counter() - begun)
    if chosen.bars:
        print(
            f"{'pass' if met else 'FAIL'}  no policy below a proven bound, no proven optimum above a known schedule"
        )
        raise SystemExit(not met)


if __name__ == "__main__":
    main()
