"""Tasks a second of static list schedulers: the plan alone, on the compiled module.

    python benchmarks/planners.py [--repeats N] [--bars]

100,000 tasks in layers of 256 with three predecessors each, random bytes on edges, 64 executors of one kind, each a
place of its own. Figures are medians; pairs and lookahead are for smaller graphs and are not measured. --bars fails
where a goal is missed.
"""

from __future__ import annotations

import argparse

import numpy as np
from bars import Bar
from graphs import layered
from measure import RATE_HEADING, Spread, seconds, where

import simsched as ss
from simsched.policy.platform import Platform

TASKS, EXECUTORS = 100_000, 64
POLICIES = (
    "heft", "cpop", "peft", "mcp", "hlfet", "t-level", "linear-clustering", "dsc",
)  # fmt: skip
#: Least tasks a second of those that have a goal.
GOALS = {"heft": 300_000, "hlfet": 1_000_000, "mcp": 1_000_000, "t-level": 1_000_000}


def platform() -> Platform:
    """Return what is planned: messages of about 1 ms, tasks of about 1 s."""
    graph, apart = layered(TASKS), 1.0 - np.eye(EXECUTORS)
    return Platform(
        successors=graph.successors,
        kind_seconds=graph.durations_s[:, None].copy(),
        kind_of=np.zeros(EXECUTORS, np.int32),
        place_of=np.arange(EXECUTORS, dtype=np.int32),
        edge_bytes=np.random.default_rng(0).uniform(0, 2e6, graph.n_edges),
        latency_s=1e-6 * apart,
        s_per_B=1e-9 * apart,
    )


def main() -> None:
    """Print the table; fail where a goal is missed, with --bars."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--bars", action="store_true", help="also the goals")
    given = parser.parse_args()
    print(where())
    known, met = platform(), True
    print(f"\n{'policy':<18}{RATE_HEADING}   ({TASKS} tasks, {EXECUTORS} executors)")
    for name in POLICIES:
        policy = ss.policy(name)
        assert isinstance(policy, ss.PlannedPolicy)
        plan = policy.plan
        spread = Spread([seconds(lambda: plan(known, 0)) for _ in range(given.repeats)])  # noqa: B023 - at once
        print(f"{name:<18}{spread.rate(TASKS)}")
        if given.bars and name in GOALS:
            bar = Bar(f"tasks/s of {name}", TASKS / spread.median, GOALS[name], True)
            met &= bar.met
            print(f"{'pass' if bar.met else 'FAIL'}  {bar.what:<30} at least {bar.limit:,}")
    if not met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
