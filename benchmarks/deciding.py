"""Tasks a second of policies written in Python, as users write them, on the compiled engine.

    python benchmarks/deciding.py [--repeats N] [--bars]

100,000 tasks of 0.5 to 1.5 s on 64 one-core workers: in layers of 256, three predecessors each, and all ready at
once. The policies take turns, figures are medians; tasks/s counts the engine's time, with the policy's own. --bars
ends with the project's goals and fails where one is missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from bars import Bar
from contenders import ours
from graphs import layered
from measure import RATE_HEADING, Spread, where

import simsched as ss
from simsched.policy import Problem
from simsched.policy.problem import View

TASKS = 100_000
#: Of a policy that starts the first ready task, one a decision.
LEAST_RATE = 150_000

#: Seconds a task of every repeat, by policy.
Table = dict[str, list[float]]


class FirstReady(ss.Policy):
    """One start a decision."""

    name = "one start"

    def decide(self, view: View) -> Iterator[ss.Start]:
        """Start the first ready task."""
        if view.ready and view.idle_cores:
            yield ss.Start(view.ready[0])


class WhileIdle(ss.Policy):
    """All starts of an instant from one generator."""

    name = "all starts"

    def decide(self, view: View) -> Iterator[ss.Start]:
        """Start tasks while cores are idle."""
        while view.ready and view.idle_cores:
            yield ss.Start(view.ready[0])


class ListOfStarts(ss.Policy):
    """All starts of an instant in a list."""

    name = "a list"

    def decide(self, view: View) -> list[ss.Start]:
        """Return as many starts as there are idle cores."""
        return [ss.Start(task) for task in view.ready[: len(view.idle_cores)]]


class CoreByCore(ss.Policy):
    """Cores that the policy names."""

    name = "named cores"

    def decide(self, view: View) -> Iterator[ss.Start]:
        """Start a task on each idle core."""
        for core in view.idle_cores:
            if view.ready:
                yield ss.Start(view.ready[0], cores=(core,))


class HighestLevel(ss.Policy):
    """A queue of the policy's own, filled with what is newly ready."""

    name = "own queue"

    def prepared(self, problem: Problem) -> ss.Policy:
        """Return one with an empty queue."""
        return _Queue((-problem.levels).tolist())


@dataclass(frozen=True, eq=False)
class _Queue(ss.Policy):
    rank: list[float]
    heap: list[tuple[float, int]] = field(default_factory=list)

    def decide(self, view: View) -> Iterable[ss.Start]:
        """Start the tasks of the highest level."""
        for task in view.newly_ready:
            heappush(self.heap, (self.rank[task], task))
        for _ in view.idle_cores:
            if self.heap:
                yield ss.Start(heappop(self.heap)[1])


POLICIES: list[type[ss.Policy]] = [FirstReady, WhileIdle, ListOfStarts, CoreByCore, HighestLevel]


def measure(repeats: int) -> dict[str, Table]:
    """Return the engine's own seconds a task of each policy, where few and where all tasks are ready at once."""
    seconds_s = np.random.default_rng(1).uniform(0.5, 1.5, TASKS)
    graphs = {"layers of 256": layered(TASKS), "all ready at once": ss.TaskGraph.from_edges(seconds_s)}
    result: dict[str, Table] = {about: {policy.name: [] for policy in POLICIES} for about in graphs}
    for _ in range(repeats):
        for about, graph in graphs.items():
            for policy in POLICIES:
                with ours.watched("native") as calls:
                    ss.simulate(graph, "generic[cores=64]", policy, engine="native")
                result[about][policy.name].append(calls.seconds / TASKS)
    return result


def main() -> None:
    """Print the tables; fail where a goal is missed, with --bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bars", action="store_true", help="also the goals")
    given = parser.parse_args()
    print(where())
    met = True
    for about, table in measure(given.repeats).items():
        print(f"\n{'policy':<12}{RATE_HEADING}   ({TASKS} tasks, 64 workers, {about})")
        for name, values in table.items():
            print(f"{name:<12}{Spread(values).rate(1)}")
        rate = 1 / Spread(table[FirstReady.name]).median
        bar = Bar(f"tasks/s of one start a decision, {about}", rate, LEAST_RATE, True)
        met &= bar.met
        if given.bars:
            print(
                f"{'pass' if bar.met else 'FAIL'}  {bar.what:<60} {bar.figure:>11,.0f}, at least {bar.limit:,}"
            )
    if given.bars and not met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
