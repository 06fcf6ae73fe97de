"""How many recorded starts are in order under the runtime's own policy, and how far the makespan is off.

    python benchmarks/runtimes.py [--bars] [--frameworks FOLDER]

The recordings of the project, and of ../shared/samples where these are. The bar: 90 % of the starts on one worker, of
StarPU, Nanos++, ONNX Runtime, PyTorch's inter-op pool and TensorFlow. docs/policies.md has the table.
"""

from __future__ import annotations

import argparse
import sys
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from settings import (
    OWN,
    SAMPLES,
    Recorded,
    of_frameworks,
    of_project,
    of_samples,
    of_second_host,
    of_sixteen_cores,
)

import simsched as ss

BAR = 0.9
#: Systems whose recordings of the project have it.
BARRED = ("starpu", "onnxruntime", "pytorch-interop")


def in_order(replayed: ss.Schedule, recorded: ss.Schedule) -> float:
    """Return the longest common sequence of starts, over their number."""
    place = np.empty(recorded.graph.n_tasks, np.int64)
    place[np.lexsort((recorded.finish_s, recorded.start_s))] = np.arange(len(place))
    ends: list[int] = []
    for one in place[replayed.start_order].tolist():
        at = bisect_left(ends, one)
        ends[at : at + 1] = [one]
    return len(ends) / len(place)


def of_host(name: str, recordings: Iterable[Recorded]) -> bool:
    """Print the median share of each runtime and number of workers of a host; return whether a bar is missed."""
    shares: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for one in recordings:
        found = ss.replay_recorded(one.graph, one.policy)
        shares[one.runtime, one.policy, one.name.split()[-1]].append(
            (in_order(found.plain, found.recorded), found.calibrated_error)
        )
    missed = False
    for (runtime, policy, workers), several in sorted(shares.items()):
        share, error = (
            np.median([pair[0] for pair in several]),
            np.median(np.abs([pair[1] for pair in several])),
        )
        missed |= workers == "1" and any(system in policy for system in BARRED) and share < BAR
        print(f"{f'{name}, {runtime}':36} {policy:30} {workers} workers {share:7.1%} in order, {error:.1%}")
    return bool(missed)


def main() -> int:
    """Print the table; return 1 where --bars is given and a recording on one worker misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("samples", nargs="?", type=Path, default=SAMPLES)
    parser.add_argument("--bars", action="store_true", help="fail where the bar is missed")
    parser.add_argument(
        "--frameworks", type=Path, default=OWN / "frameworks", help="recordings of frameworks"
    )
    options = parser.parse_args()
    missed = int(of_host("own recordings", of_project())) + int(of_host("second host", of_second_host()))
    missed += int(of_host("sixteen cores", of_sixteen_cores()))
    if options.frameworks.is_dir():
        missed += int(of_host("frameworks", of_frameworks("", options.frameworks)))
    for one in of_samples(options.samples) if options.samples.is_dir() else ():
        if not one.policy.startswith("runtime"):
            continue
        found = ss.replay_recorded(one.graph, one.policy)
        share = in_order(found.plain, found.recorded)
        lanes = found.recorded.n_cores
        missed += lanes == 1 and share < BAR
        print(
            f"{one.name:36} {one.policy:30} {lanes} workers {share:7.1%} in order, {found.calibrated_error:+.1%}"
        )
    return int(options.bars and missed > 0)


if __name__ == "__main__":
    sys.exit(main())
