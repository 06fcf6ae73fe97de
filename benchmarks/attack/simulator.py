"""Both engines beside the simulator that was written from docs/semantics.md alone, on machines with much to share.

    python benchmarks/attack/simulator.py [--seeds FIRST LAST] [--examples N] [--jobs N] [--bars]

The simulator and the comparison are those of `tests/replay/test_page.py`, which takes 80 cases of any kind. Here,
each case has a machine with tiles, hardware threads, several domains or an interconnect, and at least one effect of
running tasks on each other.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import HealthCheck, Phase, given, seed as seeded, settings
from verdict import Bar, verdict

from simsched.machine import Machine
from simsched.testing.equivalence import LIMITS, cases

sys.path.insert(0, str(Path(__file__).parents[2]))
page = importlib.import_module("tests.replay.test_page")

#: Properties of a case's machine that are counted.
FEATURES = {
    "tiles that are shared": lambda machine: machine.effects.share_tiles and machine.cores_per_tile > 1,
    "SMT": lambda machine: machine.effects.share_cores and machine.smt > 1,
    "interconnect": lambda machine: machine.effects.share_interconnect,
    "several domains": lambda machine: machine.n_domains > 1,
    "remote memory": lambda machine: machine.effects.remote_memory and machine.n_domains > 1,
    "bandwidth": lambda machine: machine.effects.share_bandwidth,
    "data that move": lambda machine: machine.data is not None,
}
#: Cases of the goals.
CASES, EACH = 5_000, 500


class Found(NamedTuple):
    """What a seed's cases had, and how the first one that differs does."""

    seed: int
    cases: int
    features: Counter[str]
    said: str


def is_rich(machine: Machine) -> bool:
    """Return whether running tasks share more than one memory's bandwidth."""
    effects = machine.effects
    structured = machine.cores_per_tile > 1 or machine.smt > 1 or machine.n_domains > 1
    return structured and (
        effects.share_tiles or effects.share_cores or effects.share_interconnect or effects.remote_memory
    )


def compared(seed: int, examples: int) -> Found:
    """Compare so many cases on both engines."""
    features: Counter[str] = Counter()
    count = 0

    @seeded(seed)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(cases(LIMITS).filter(lambda case: is_rich(case["machine"])))
    def suite(case: dict[str, Any]) -> None:
        nonlocal count
        for engine in ("native", "simpy"):
            page.check(case, engine)
        count += 1
        features.update(name for name, has in FEATURES.items() if has(case["machine"]))

    try:
        suite()
    except Exception as error:  # whatever breaks is a verdict
        return Found(
            seed,
            count,
            features,
            "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])]),
        )
    return Found(seed, count, features, "")


def main(given_: argparse.Namespace) -> list[Bar]:
    """Print the table; return the goals."""
    begin = time.perf_counter()
    features: Counter[str] = Counter()
    total = differing = 0
    with ProcessPoolExecutor(given_.jobs) as pool:
        for found in pool.map(compared, range(*given_.seeds), repeat(given_.examples)):
            print(f"seed {found.seed:>4} {found.cases:>7}  {found.said or 'as the page says'}", flush=True)
            total, differing, features = (
                total + found.cases,
                differing + bool(found.said),
                features + found.features,
            )
    print(f"{total} cases on both engines in {time.perf_counter() - begin:.0f} s, of which have")
    for name in FEATURES:
        print(f"  {name:<24} {features[name]:>7}")
    return [
        Bar("cases", total, CASES, True),
        *(Bar(f"cases with {name}", features[name], EACH, True) for name in FEATURES),
        Bar("seeds with a case that differs from the page", differing, 0, False),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(0, 20), help="first, and the one after the last"
    )
    parser.add_argument("--examples", type=int, default=500, help="cases per seed")
    parser.add_argument("--jobs", type=int, help="processes at a time")
    parser.add_argument("--bars", action="store_true")
    arguments = parser.parse_args()
    verdict(main(arguments), arguments.bars)
