"""What a recorded run lost to executors that stayed away: python benchmarks/absences.py TRACE [--order lifo].

Prints the stretches in which a lane ran nothing although tasks were ready, and replays the recording with them: one
executor less for as long, from when it happened. That is no prediction, as the stretches come from the very run: it
says whether they are what is missing in a replay without them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import simsched as ss
from simsched.units import format_time

#: Shorter stretches are left out: threads need some time to wake up.
LEAST_S = 100e-6


class Stretch(NamedTuple):
    """A lane that ran nothing from `begin_s` to `end_s`, while something was ready for `ready_s` of it."""

    lane: int
    begin_s: float
    end_s: float
    ready_s: float


@dataclass(frozen=True)
class WithAbsences(ss.RankPolicy):
    """First or last come, with tasks on a thread of its own that wait until an executor goes away.

    Parameters
    ----------
    order : {"fifo", "lifo"}
        Of the queue.
    waits : tuple of int
        The tasks that wait.
    """

    name = "with-absences"
    queue = "shared"

    order: str = "lifo"
    waits: tuple[int, ...] = ()

    @property
    def discipline(self) -> str:
        """The order."""
        return self.order

    def shortcuts(self, problem: ss.policy.Problem) -> ss.Shortcuts:
        """Return the waiting tasks, on the machine's last core."""
        waits = np.isin(np.arange(problem.graph.n_tasks), self.waits)
        last = np.array([problem.machine.n_cores - 1], np.int32)
        return ss.Shortcuts(apart=waits, inline=np.zeros_like(waits), singles=last)


def stretches(run: ss.Schedule) -> list[Stretch]:
    """Return the stretches, by begin, in which a task was ready for at least half of the time."""
    first_s, last_s = run.start_s.min(), run.finish_s.max()
    found = []
    for lane in range(run.n_cores):
        own = run.start_order[run.executor[run.start_order] == lane]
        begins, ends = np.append(first_s, run.finish_s[own]), np.append(run.start_s[own], last_s)
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            if end - begin >= LEAST_S and (ready_s := waited_s(run, begin, end)) >= (end - begin) / 2:
                found.append(Stretch(lane, begin - first_s, end - first_s, ready_s))
    return sorted(found, key=lambda one: one.begin_s)


def waited_s(run: ss.Schedule, begin_s: float, end_s: float) -> float:
    """Return for how long of a stretch at least one task was ready and not started."""
    since, until = np.maximum(run.ready_s, begin_s), np.minimum(run.start_s, end_s)
    waiting = until > since
    total, covered = 0.0, begin_s
    for a, b in sorted(zip(since[waiting].tolist(), until[waiting].tolist(), strict=True)):
        total += max(b - max(a, covered), 0.0)
        covered = max(b, covered)
    return total


def replayed_s(run: ss.Schedule, away: list[Stretch], order: str, start_s: float) -> float:
    """Return when the last task of a run finishes if executors go away when they did."""
    n = run.graph.n_tasks
    waits = tuple(range(n, n + len(away)))
    begins = [0.0, *(one.begin_s for one in away)]
    seconds = [*run.alone_s, *np.diff(begins), *(one.end_s - one.begin_s for one in away)]
    successors = run.graph.successors
    edges = [*zip(successors.sources().tolist(), successors.indices.tolist(), strict=True)]
    edges += [(wait, wait + len(away)) for wait in waits] + [(wait, wait + 1) for wait in waits[:-1]]
    graph = ss.TaskGraph.from_edges(seconds, edges)
    machine = f"generic[cores={run.n_cores + 1}]"
    policy, runtime = WithAbsences(order=order, waits=waits), ss.RuntimeProfile(pop_s=start_s)
    schedule = ss.simulate(graph, machine, policy, (run.n_cores, 1), runtime=runtime)
    return float(schedule.finish_s[:n].max())


def main() -> None:
    """Print the stretches, and the replays with them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trace", type=Path)
    parser.add_argument("--order", choices=["fifo", "lifo"], default="lifo")
    options = parser.parse_args()
    own = ss.replay_recorded(ss.load(options.trace), f"fifo[order={options.order}]")
    run = own.recorded
    away = stretches(run)
    for one in away:
        print(
            f"{run.lane_names[one.lane]}: away from {format_time(one.begin_s)} to {format_time(one.end_s)}, "
            f"tasks were ready for {format_time(one.ready_s)}"
        )
    print(f"together {format_time(sum(one.ready_s for one in away))} of {format_time(run.makespan_s)}")
    for what, start_s, error in (
        ("without overheads", 0.0, own.plain_error),
        ("with them", own.overheads.pop_s or 0.0, own.calibrated_error),
    ):
        with_them = replayed_s(run, away, options.order, start_s) / run.makespan_s - 1
        print(f"{what:<18} {error:+.2%}; with executors that go away {with_them:+.2%}")


if __name__ == "__main__":
    main()
