"""How good the layouts are that nobody gave: by the estimate, and by the few replays of `layout="best"`.

    python benchmarks/default_layouts.py [--every 7] [--jobs 2] [--bars]

Each case is a workload, a machine, a number of its cores (an eighth to twice as many as it has) and a policy. It is
replayed under every layout: all pairs of executors and cores within the machine, above 16 in steps of 6 %; for corun,
caps on both numbers in steps of 40 %, which need not fit side by side. `--every N` takes every Nth case of a shuffled
list, all of which take some 20 minutes on two cores; with `--bars` the exit status says whether all goals hold.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

import simsched as ss
from simsched.plugins import registered
from simsched.replay.policy_checks import is_of_one_kind

POLICIES = ("critical-path", "fifo", "wavefront", "corun")
SHARES = (0.125, 0.25, 0.5, 1, 2)
#: Goals: how much longer than the best of all layouts, in the median and at worst; and replays of a search.
ESTIMATE, BEST, REPLAYS = (1.10, 1.30), (1.01, 1.05), 15


class Case(NamedTuple):
    """What is replayed."""

    workload: str
    machine: str
    policy: str


class Found(NamedTuple):
    """Makespans over the shortest of all layouts, and replays of the search."""

    case: Case
    estimate: float
    best: float
    replays: int
    layouts: tuple[str, str, str]


@cache
def graph_of(workload: str) -> ss.TaskGraph:
    """Return a workload's graph, made once a process."""
    return ss.workload(workload)


def cases() -> Iterator[Case]:
    """Yield all cases."""
    machines = sorted(set(registered("machines")) - {"host"})
    for workload, machine, policy in product(sorted(registered("workloads")), machines, POLICIES):
        whole = ss.machine(machine)
        tiles = dict.fromkeys(max(1, round(whole.n_tiles * share)) for share in SHARES)
        for count in tiles:
            yield Case(workload, f"{machine}[cores={count * whole.cores_per_tile}]", policy)


def steps(most: int, growth: float, dense: int) -> list[int]:
    """Return numbers up to `most`: all up to `dense`, then in steps of a ratio, and every `most // k`."""
    found = {*range(1, min(dense, most) + 1), most}
    number = float(dense)
    while number < most:
        found.add(int(number))
        number *= growth
    return sorted(found)


def every_layout(machine: ss.Machine, policy: str) -> list[ss.Layout]:
    """Return all layouts of a policy on a machine, in steps; no team has cores of several kinds."""
    most, rule = machine.n_cores, ss.policy(policy)
    if policy == "corun":
        return [ss.Layout(k, width) for k, width in product(steps(most, 1.4, 3), repeat=2)]
    fine = sorted({*steps(most, 1.06, 16), *(layout.width for layout in ss.Layout.filling(most))})
    fitting = (ss.Layout(k, width) for k, width in product(fine, repeat=2) if k * width <= most)
    return [layout for layout in fitting if is_of_one_kind(rule, machine, layout)]


def checked(case: Case) -> Found:
    """Return what the estimate and the search are worth in one case."""
    graph, machine, costs = graph_of(case.workload), ss.machine(case.machine), ss.CostModel()
    finished: list[int] = []

    def replay(layout: ss.Layout | str | None) -> ss.Schedule:
        return ss.simulate(graph, machine, case.policy, layout, costs, progress=finished.append)

    estimated = replay(None)
    finished.clear()
    best = replay("best")
    replays = sum(finished) // graph.n_tasks
    every = {str(layout): replay(layout).makespan_s for layout in every_layout(machine, case.policy)}
    every |= {schedule.layout: schedule.makespan_s for schedule in (estimated, best)}
    shortest = min(every, key=every.__getitem__)
    ratios = estimated.makespan_s / every[shortest], best.makespan_s / every[shortest]
    return Found(case, *ratios, replays, (estimated.layout, best.layout, shortest))


def line(what: str, ratios: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    """Return quantiles of ratios as a line."""
    middle, high, most = np.quantile(ratios, [0.5, 0.9, 1]) - 1
    beyond = (int((ratios > limit).sum()) for limit in (ESTIMATE[1], BEST[1]))
    return f"{what:<28} {middle:8.2%} {high:8.2%} {most:8.2%}" + "".join(f" {count:8}" for count in beyond)


def report(found: list[Found]) -> bool:
    """Print tables; return whether all goals hold."""
    print(
        f"\n{'longer than the best of all':<28} {'median':>8} {'90 %':>8} {'worst':>8} {'> 30 %':>8} {'> 5 %':>8}"
    )
    for policy in POLICIES:
        some = [one for one in found if one.case.policy == policy]
        for what, column in (("estimate", "estimate"), ("best", "best")):
            print(line(f"{policy}, {what}", np.array([getattr(one, column) for one in some])))
    estimates, searched = (np.array([getattr(one, what) for one in found]) for what in ("estimate", "best"))
    print(line("all, estimate", estimates))
    print(line("all, best", searched))
    replays = np.array([one.replays for one in found])
    print(f"replays of a search: {replays.mean():.1f} in the mean, {replays.max()} at most")
    for what in ("estimate", "best"):
        print(f"\nthe worst by {what} (layout by estimate, by search, best of all):")
        for one in sorted(found, key=lambda one: -getattr(one, what))[:8]:
            print(f"  {getattr(one, what) - 1:7.1%}  {' '.join(one.case):<55} {', '.join(one.layouts)}")
    goals = [
        ("estimate, median", float(np.median(estimates)), ESTIMATE[0]),
        ("estimate, worst", float(estimates.max()), ESTIMATE[1]),
        ("best, median", float(np.median(searched)), BEST[0]),
        ("best, worst", float(searched.max()), BEST[1]),
        ("replays, most", float(replays.max()), REPLAYS),
    ]
    print()
    for what, figure, limit in goals:
        print(f"{'pass' if figure <= limit else 'FAIL'}  {what:<20} {figure:8.3f}, at most {limit:g}")
    return all(figure <= limit for _, figure, limit in goals)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--every", type=int, default=1, help="take every Nth case")
    parser.add_argument("--jobs", type=int, default=None, help="processes; default: one a CPU")
    parser.add_argument("--bars", action="store_true", help="exit with 1 if a goal is missed")
    options = parser.parse_args()
    asked = list(cases())
    random.Random(0).shuffle(asked)  # noqa: S311 - nothing secret
    asked = asked[:: options.every]
    with ProcessPoolExecutor(options.jobs) as pool:
        found = list(tqdm(pool.map(checked, asked), total=len(asked), desc="cases"))
    met = report(found)
    return 0 if met or not options.bars else 1


if __name__ == "__main__":
    sys.exit(main())
