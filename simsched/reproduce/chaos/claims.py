"""What CHAOS's numbers say in words, and whether the simulation agrees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

from simsched.reproduce.system import Predicted, Verdict

NETWORKS = ("small", "medium", "large")


def _larger_scale_better(predicted: Predicted) -> Verdict:
    speedups = [
        [
            predicted("Table 6", "speed-up over one thread", network=n, threads=t, layer="conv backward")
            for n in NETWORKS
        ]
        for t in (15, 60)
    ]
    found = "; ".join(" < ".join(f"{s:.2f}" for s in row) for row in speedups)
    return all(row == sorted(row) for row in speedups), found


def _gains_shrink(predicted: Predicted) -> Verdict:
    gains = []
    for network in NETWORKS:
        few, many = (
            predicted(
                "Table 6", "speed-up over one thread", network=network, threads=t, layer="conv backward"
            )
            for t in (60, 240)
        )
        gains.append(many / few)
    return all(1 < gain < 2 for gain in gains), " ".join(f"{gain:.3f}" for gain in gains)


def _all_threads_are_fastest(predicted: Predicted) -> Verdict:
    hours = [predicted("Fig. 5, 8", "time", network="large", threads=t) for t in (1, 15, 30, 60, 244)]
    return hours == sorted(hours, reverse=True), " > ".join(f"{h:.3g}" for h in hours) + " h"


def _beyond_240(predicted: Predicted) -> Verdict:
    times = {
        n: [predicted("Table 8", "predicted time", network=n, threads=t) for t in (480, 960, 1920, 3840)]
        for n in ("small", "large")
    }
    gains = {n: [a / b for a, b in pairwise(row)] for n, row in times.items()}
    holds = all(row == sorted(row, reverse=True) and row[-1] > 1 for row in gains.values())
    return holds, "; ".join(f"{n} {' '.join(f'{g:.2f}' for g in row)}" for n, row in gains.items())


VERDICTS: Mapping[str, Callable[[Predicted], Verdict]] = {
    "larger_scale_better": _larger_scale_better,
    "gains_shrink": _gains_shrink,
    "all_threads_are_fastest": _all_threads_are_fastest,
    "beyond_240": _beyond_240,
}
